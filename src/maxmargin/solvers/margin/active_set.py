"""The last digits on many features: solve for the free multipliers, see which leave, which join, repeat.

If the rows on the margin were known, their multipliers would solve a linear system: m_i = 1 for each of
them, Σ α_i y_i = 0, all others at their bounds. So guess them by the multipliers that coordinate descent
left between their bounds; solve; let go the rows whose multiplier left its bounds, and take in the rows
on the wrong side of the margin (the primal-dual active set method of Hintermüller, Ito and Kunisch 2003,
which is Newton's method on the optimality conditions).

At first the system is not formed. Conjugate residuals (Stiefel 1955) make Σ (1 − m_i)² smaller with
every step, each two products with the rows on the margin. Where that leads no further, and the rows are
not too many, it is factorised (:class:`Factorised`). Each round gives a plane and multipliers: the plane
is worth trying even if some multipliers are outside their bounds, and the multipliers even if they are
only brought back inside. The best of both make the gap.

Thousands of rows that nearly depend on each other, as texts do, make the system so badly conditioned
that conjugate residuals come to no end. A few thousand rows have few enough inner products to be kept.
With K_ij = y_i y_j x_i·x_j over the rows F on the margin, the steps of α_F and b solve

    K δ + y β = r,     y·δ = −Σ α_i y_i,          r_i = 1 − m_i  (with b = 0),

by a Cholesky factor of K + ε I, whose ε lets rows that depend on each other pass; what it spoils is
mended by repeating the step with the residuals that are left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin.kernels.margin import add_rows, dots
from maxmargin.solvers.margin.coordinates import InnerProducts
from maxmargin.solvers.margin.dual_problem import DualProblem
from maxmargin.solvers.margin.tasks import Budget, MarginPoint


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    max_rounds: int = 50
    max_steps: int = 200  # of conjugate residuals in a round
    residual_share: float = 0.03  # the residual a round leaves, against the one it found,
    tolerance_share: float = 0.2  # or the part of the tolerance it may take
    max_bad_rounds: int = 4  # without a better gap
    rounding_curvature: float = 1e-13  # against the largest there is: nothing but rounding
    max_factorised_rows: int = 5_000  # whose inner products are kept: 200 MB, and as much for the factor
    ridge: float = 1e-9  # ε against the mean of ‖x_i‖²
    max_refinements: int = 6  # steps with one factor
    refined_residual: float = 1e-12  # largest one that is left alone
    refinement_share: float = 0.5  # by which a step must make it smaller, for another one


SETTINGS = Settings()


class Factorised:
    """Solves for the multipliers on the margin; knows the inner products of all rows met so far."""

    def __init__(self, dual_problem: DualProblem) -> None:
        self.dual_problem = dual_problem
        self._products = InnerProducts(dual_problem.n, SETTINGS.max_factorised_rows)

    def solve(self, x: np.ndarray, w: np.ndarray, F: np.ndarray) -> bool:
        """Move the multipliers x of the rows F, and w with them, to where these rows have margin 1.

        False if there are too many of them, or their matrix has no factor; nothing is moved then.
        """
        dual_problem, y, k = self.dual_problem, self.dual_problem.y[F], len(F)
        if k > SETTINGS.max_factorised_rows:
            return False
        K = self._inner(F) * (y[:, None] * y)
        K.flat[:: k + 1] += SETTINGS.ridge * (float(np.trace(K)) / k or 1.0)
        try:
            factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return False
        towards = cho_solve(factor, y, check_finite=False)
        out, before = np.empty(k), np.inf
        for _ in range(SETTINGS.max_refinements):
            dots(dual_problem.rows.arrays, F, w, out)
            dual_problem.visits += k
            r = 1.0 - y * out
            step = cho_solve(factor, r, check_finite=False)
            if dual_problem.pad:
                missing = -float(x @ dual_problem.y)
                beta = (float(y @ step) - missing) / float(y @ towards)
                step -= beta * towards
                r -= beta * y
            left = float(np.max(np.abs(r)))
            if left <= SETTINGS.refined_residual or not left <= SETTINGS.refinement_share * before:
                break
            before = left
            x[F] += step
            dual_problem.add(F, step, w)
        return True

    def _inner(self, F: np.ndarray) -> np.ndarray:
        """The inner products of the rows F; those of rows that are new are computed."""
        fresh = F[self._products.fresh(F)]
        if len(fresh):
            met = np.concatenate([*self._products.history, fresh])
            self._products.add(fresh, self.dual_problem.rows.inner(fresh, met))
            self.dual_problem.visits += len(met)
        return self._products.known(F)


ENDLESS = Budget()


def settle(
    dual_problem: DualProblem,
    x: np.ndarray,
    w: np.ndarray,
    best: MarginPoint,
    tol: float,
    budget: Budget,
    factorise: bool = False,
) -> tuple[MarginPoint, bool]:
    """Return the best point found, and whether that is the end (tol is reached, or the budget).

    ``factorise`` says that factors are worth their time, should conjugate residuals lead no further.
    """
    x, w = x.copy(), w.copy()
    face = (x > 0.0) & (x < dual_problem.C)
    bad, direct = 0, None
    for _ in range(SETTINGS.max_rounds):
        budget.go_on()
        F = np.flatnonzero(face)
        if not len(F):
            break
        if direct is None:
            _solve(dual_problem, x, w, F, best.primal, tol, budget)
        elif not direct.solve(x, w, F):
            break
        point, f = dual_problem.measure(w, x)
        before = best.gap
        best = best.joined(point)
        if best.gap <= tol or budget.ended(best):
            return best, True
        bad = bad + 1 if not best.gap < 0.9 * before else 0
        if not np.isfinite(float(w @ w)):
            break
        if bad >= SETTINGS.max_bad_rounds:
            if direct is not None or not factorise:
                break
            direct, bad = Factorised(dual_problem), 0
        b = float(np.mean(dual_problem.y[F] - f[F])) if dual_problem.pad else 0.0
        m = dual_problem.y * (f + b)
        inside = np.clip(x, 0.0, dual_problem.C)
        leave = face & ((x <= 0.0) | (x >= dual_problem.C))
        join = ~face & np.where(x >= dual_problem.C, m > 1.0, m < 1.0)
        w = dual_problem.moved(w, x, inside)
        x = inside
        face = (face & ~leave) | join
    return best, False


def _solve(
    dual_problem: DualProblem,
    x: np.ndarray,
    w: np.ndarray,
    F: np.ndarray,
    primal: float,
    tol: float,
    budget: Budget = ENDLESS,
) -> None:
    """Move the multipliers of the rows F, and w with them, to where these rows have margin 1."""
    rows, y, k = dual_problem.rows.arrays, dual_problem.y[F], len(F)
    u, out = np.zeros(dual_problem.d), np.empty(k)
    unit = float(dual_problem.q[F].max()) or 1.0  # K is divided by it: its products stay within range

    def project(r: np.ndarray) -> np.ndarray:
        return r - y * (float(y @ r) / k) if dual_problem.pad else r

    def product(p: np.ndarray) -> np.ndarray:
        u[:] = 0.0
        add_rows(rows, F, p * y, u)
        dots(rows, F, u, out)
        dual_problem.visits += 2 * k
        return project(y * out) / unit

    def size(r: np.ndarray) -> float:
        """About what the residual adds to the relative gap."""
        if dual_problem.hard or not math.isfinite(primal):
            return 2.0 * float(np.max(np.abs(r)))
        return float(dual_problem.C[F] @ np.abs(r)) / primal

    if dual_problem.pad:  # what is missing in the balance is shared
        share = y * (-float(x @ dual_problem.y) / k)
        x[F] += share
        dual_problem.add(F, share, w)
    dots(rows, F, w, out)
    r = project(1.0 - y * out)
    goal = max(SETTINGS.tolerance_share * tol, SETTINGS.residual_share * size(r))
    if size(r) <= goal:
        return
    Kr = product(r)
    p, Kp, rKr = r.copy(), Kr.copy(), float(r @ Kr)
    moved = np.zeros(k)
    for _ in range(SETTINGS.max_steps):
        length = float(Kp @ Kp)
        if not (rKr > SETTINGS.rounding_curvature * float(r @ r) and length > 0.0):
            break
        t = rKr / length
        moved += (t / unit) * p
        r -= t * Kp
        if size(r) <= goal or budget.is_up(dual_problem.passes):
            break
        Kr = product(r)
        new = float(r @ Kr)
        p = r + (new / rKr) * p
        Kp = Kr + (new / rKr) * Kp
        rKr = new
    x[F] += moved
    dual_problem.add(F, moved, w)
