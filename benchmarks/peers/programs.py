"""Contestants that solve programs: quadratic ones for the margins, linear ones for separability.

The variables are z = (w, b), and ξ for the soft margin. The matrices are made beforehand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import maxmargin as mm
from benchmarks.peers.measure import Plane, Problem
from benchmarks.peers.online import Contest


def padded(problem: Problem) -> Any:
    """The rows a_i = y_i (x_i, 1)."""
    y = problem.y.astype(np.float64)
    if sparse.issparse(problem.X):
        return sparse.csc_matrix(sparse.diags(y) @ sparse.hstack([problem.X, np.ones((len(y), 1))]))
    return y[:, None] * np.hstack([problem.X, np.ones((len(y), 1))])


def program(problem: Problem) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Minimise ½ v·Pv + q·v subject to Gv ≤ −1 and v ≥ lower, with v = z or v = (z, ξ)."""
    A, (n, d) = padded(problem), problem.X.shape
    curved = np.append(np.full(d, float(problem.kind != "separability")), 0.0)
    free = np.full(d + 1, -np.inf)
    if problem.kind != "soft":
        return sparse.diags(curved, format="csc"), np.zeros(d + 1), -A, free
    P = sparse.diags(np.append(curved, np.zeros(n)), format="csc")
    q = np.append(np.zeros(d + 1), np.full(n, problem.C))
    G = sparse.csc_matrix(-sparse.hstack([A, sparse.eye(n)]))
    return P, q, G, np.append(free, np.zeros(n))


def piqp(problem: Problem) -> Contest:
    """PIQP: dense for the hard margin of dense rows, sparse otherwise."""
    import piqp as library

    P, q, G, lower = program(problem)
    n, d = problem.X.shape
    dense = not sparse.issparse(G)
    if dense:
        P = P.toarray()

    def work() -> Any:
        solver = library.DenseSolver() if dense else library.SparseSolver()
        if problem.effort is not None:
            for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
                setattr(solver.settings, name, problem.effort)
        most, least = np.full(len(q), np.inf), np.full(n, -np.inf)
        solver.setup(P, q, None, None, G, least, -np.ones(n), lower, most)
        solver.solve()
        return solver.result.x

    return work, lambda v: Plane(np.array(v[:d]), float(v[d]))


def clarabel(problem: Problem) -> Contest:
    """Clarabel."""
    import clarabel as library

    P, q, G, lower = program(problem)
    n, d = problem.X.shape
    bounded = np.flatnonzero(np.isfinite(lower))
    shape = (len(bounded), len(q))
    signs = sparse.csc_matrix((-np.ones(len(bounded)), (np.arange(len(bounded)), bounded)), shape=shape)
    A = sparse.vstack([sparse.csc_matrix(G), signs], format="csc")
    right = np.append(-np.ones(n), np.zeros(len(bounded)))
    settings = library.DefaultSettings()
    settings.verbose = False
    if problem.effort is not None:
        for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
            setattr(settings, name, problem.effort)

    def work() -> Any:
        cone = [library.NonnegativeConeT(len(right))]
        return library.DefaultSolver(P, q, A, right, cone, settings).solve()

    def plane(found: Any) -> Plane:
        v, status = np.array(found.x), str(found.status)
        if problem.kind == "separability":
            return _answer(v, {"Solved": True, "PrimalInfeasible": False}.get(status), status)
        return Plane(v[:d], float(v[d]))

    return work, plane


def highs(problem: Problem) -> Contest:
    """HiGHS through SciPy: any plane with y_i (w·x_i + b) ≥ 1, or none."""
    from scipy.optimize import linprog

    _, q, G, _ = program(problem)
    free, right = [(None, None)] * len(q), -np.ones(len(problem.y))

    def plane(found: Any) -> Plane:
        answer = {0: True, 2: False}.get(found.status)
        return _answer(found.x, answer, f"status {found.status}")

    return lambda: linprog(q, A_ub=G, b_ub=right, bounds=free, method="highs"), plane


def ours(problem: Problem) -> Contest:
    """Our verdict, with its proof."""

    def plane(verdict: Any) -> Plane:
        if not verdict.separable:
            return Plane(None, verdict=f"{verdict.kind}, proven")
        return Plane(verdict.w, verdict.b, verdict="separable, proven")

    return lambda: mm.separability(problem.X, problem.y), plane


def _answer(v: Any, separable: bool | None, status: str) -> Plane:
    if separable is None:
        return Plane(None, verdict=f"no answer ({status})")
    if not separable:
        return Plane(None, verdict="not separable")
    return Plane(np.asarray(v[:-1]), float(v[-1]), verdict="separable")
