"""Rows with few entries in thousands of columns, as factors of many levels are: what takes no cubes.

The violations of a plane are r_i = max(0, 1 − a_i·z). Where ½ Σ r_i² is least, its gradient is zero:

    Σ r_i a_i = 0  with r ≥ 0.

So either all violations are zero, and z separates, or the rows with r_i > 0 cancel; and every row that
no weakly separating plane must contain has a_i·z ≥ 1. A few Newton steps lead there, each of them a
sparse system. Weights are then made exact: all but those of a basis are rounded, and these follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.linalg import splu

from maxmargin.core.parameters import Deadline
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, Whole, as_integers
from maxmargin.solvers.exact.linear_algebra import WEIGHT_BITS, basis, cancel, solve_sparse

MAX_STEPS = 200  # of Newton's method: rarely more than ten where rows cancel
RIDGE = 1e-10  # of the diagonal, where columns depend on others
STATIONARY = 1e-9, 1e-5  # gradient against the largest violation: to end, and where steps are lost
SEPARATED = 0.5  # violations below it: all rows are on their sides
NO_VIOLATION = 1e-7, 1e-4, 1e-10  # against the largest, taken as zero
FIRST_ROWS = 256  # of rows that cancel, among which a few that do are looked for


class Violations(NamedTuple):
    """A plane, and by how much each row falls short of it."""

    z: np.ndarray
    r: np.ndarray


def least_violations(A: Any, start: np.ndarray, deadline: Deadline) -> Violations | None:
    """Minimise ½ Σ max(0, 1 − a_i·z)² by Newton's method; None if it does not come to its end."""
    order = np.argsort(np.bincount(A.indices, minlength=A.shape[1]), kind="stable")  # little fill
    A = sparse.csr_array(sparse.csc_array(A)[:, order])
    n, d = A.shape
    z, value = start[order], np.inf
    f = A @ z
    size = np.asarray(A.multiply(A).sum(axis=0)).ravel()
    ridge = sparse.diags_array(RIDGE * size + np.finfo(float).tiny, format="csc")
    for step in range(MAX_STEPS):
        deadline.check(doing=f"step {step} towards a plane, or rows that cancel")
        r = np.maximum(1.0 - f, 0.0)
        gradient = A.T @ r
        slope = float(np.max(np.abs(gradient), initial=0.0)) / max(float(r.max(initial=0.0)), 1e-300)
        stalled = 0.5 * float(r @ r) >= value * (1.0 - 1e-12)
        separated = float(r.max(initial=0.0)) < SEPARATED
        if slope <= STATIONARY[0] or stalled or separated:
            plane = np.empty(d)
            plane[order] = z
            r = np.zeros(n) if separated else r
            return Violations(plane, r) if separated or slope <= STATIONARY[1] else None
        value = 0.5 * float(r @ r)
        active = A[r > 0.0]
        H = sparse.csc_array(active.T @ active) + ridge
        try:
            factors = splu(
                sparse.csc_matrix(H),
                permc_spec="NATURAL",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        except RuntimeError:  # singular
            return None
        s = factors.solve(gradient)
        s += factors.solve(gradient - H @ s)
        change = A @ s
        t = lowest(f, change)
        z += t * s
        f += t * change
    return None


def lowest(f: np.ndarray, change: np.ndarray) -> float:
    """The t at which ½ Σ max(0, 1 − f_i − t change_i)² is least."""

    def slope(t: float) -> float:
        return -float(change @ np.maximum(1.0 - f - t * change, 0.0))

    low, high = 0.0, 1.0
    while slope(high) < 0.0 and high < 1e6:
        low, high = high, 2.0 * high
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0.0 else (low, middle)
    return high


def cancel_many(
    rows: ExactRows, support: np.ndarray, r: np.ndarray, free: Sequence[int]
) -> tuple[dict[int, int], dict[int, int]] | None:
    """Return λ_i > 0 near r_i on the support, and μ_i of any sign on free rows, that cancel exactly."""
    support = support[np.argsort(-r, kind="stable")]
    r = np.sort(r)[::-1] / float(r.max())
    which = np.concatenate([np.array(free, dtype=np.int64), support])
    chosen, columns = basis(rows.sparse_block(which), rows.deadline)
    held, place = set(chosen.tolist()), {j: k for k, j in enumerate(columns.tolist())}
    given = rows.integers(which.tolist())
    top = max(a.m for a in given)
    for bits in WEIGHT_BITS:
        rows.deadline.check(doing=f"exact weights of {len(which):,} rows that cancel")
        weights = [0] * len(free) + np.rint(np.ldexp(r, bits)).astype(np.int64).tolist()
        total: dict[int, int] = {}
        for k, (a, c) in enumerate(zip(given, weights, strict=True)):
            if c and k not in held:
                for j, v in a.entries():
                    total[j] = total.get(j, 0) + (c * v << top - a.m)
        M: list[dict[int, int]] = [{} for _ in place]  # an equation for each column of the basis
        for u, k in enumerate(chosen.tolist()):
            for j, v in given[k].entries():
                if v and j in place:
                    M[place[j]][u] = v
        sides = [{0: -total.get(j, 0)} for j in place]
        values: list[Number] = [0 if k in held else c << top for k, c in enumerate(weights)]
        solution = solve_sparse(M, sides, rows.deadline)
        for k, (numbers, scale) in zip(chosen.tolist(), solution, strict=True):
            values[k] = Fraction(numbers.get(0, 0) << given[k].m, scale)
        weights = as_integers(values)
        if min(weights[len(free) :]) >= 0 and _is_zero(given, weights):
            pairs = list(zip(which.tolist(), weights, strict=True))
            return {i: w for i, w in pairs[len(free) :] if w}, dict(pairs[: len(free)])
    return None


def cancel_few(rows: ExactRows, which: np.ndarray) -> dict[int, int]:
    """At most D + 1 of some rows that cancel together: the first that do, of those with rare columns."""
    A = rows.sparse_block(which)
    count = np.bincount(A.indices, minlength=A.shape[1])
    rarest = np.lexsort(
        (A.indices, count[A.indices], np.repeat(np.arange(len(which)), np.diff(A.indptr)))
    )
    order = np.argsort(A.indices[rarest][A.indptr[:-1]], kind="stable")
    size = FIRST_ROWS
    while True:
        some = order[:size]
        B = A[some]
        found = least_violations(B, np.zeros(B.shape[1]), rows.deadline) if size < len(which) else None
        if found is None or float(found.r.max()) > 1e-6:
            held = some if found is None else some[found.r > 1e-6 * float(found.r.max())]
            C = sparse.csc_array(sparse.vstack([A[held].T, np.ones((1, len(held)))]))
            right = np.append(np.zeros(A.shape[1]), 1.0)
            answer = linprog(np.zeros(len(held)), A_eq=C, b_eq=right, method="highs-ds")
            if answer.x is not None:
                support = which[held[answer.x > 1e-9]]
                weights = cancel(rows, support.tolist(), ())
                if weights is not None:
                    return weights[0]
            if found is None:
                return {}
        size *= 2


def _is_zero(given: Sequence[Whole], weights: Sequence[int]) -> bool:
    """Whether Σ weight_i a_i = 0."""
    top, total = max(a.m for a in given), dict[int, int]()
    for a, w in zip(given, weights, strict=True):
        if w:
            for j, v in a.entries():
                total[j] = total.get(j, 0) + (w * v << top - a.m)
    return not any(total.values())
