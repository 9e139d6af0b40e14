"""The last digits on many features: solve for the free multipliers, see which leave, which join, repeat.

If the rows on the margin were known, their multipliers would solve a linear system: m_i = 1 for each of
them, Σ α_i y_i = 0, all others at their bounds. So guess them by the multipliers that coordinate descent
left between their bounds; solve; let go the rows whose multiplier left its bounds, and take in the rows
on the wrong side of the margin (the primal-dual active set method of Hintermüller, Ito and Kunisch 2003,
which is Newton's method on the optimality conditions).

At first the system is not formed. Conjugate residuals (Stiefel 1955) make Σ (1 − m_i)² smaller with
every step, each two products with the rows on the margin. Where that leads no further, and the rows are
not too many, it is factorised (:mod:`maxmargin.solvers.margin.factorised`). Each round gives a plane and
multipliers: the plane is worth trying even if some multipliers are outside their bounds, and the
multipliers even if they are only brought back inside. The best of both make the gap.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin.kernels.descent import add_rows, dots
from maxmargin.solvers.margin.duel import Duel
from maxmargin.solvers.margin.factorised import Factorised
from maxmargin.solvers.margin.passes import Budget, MarginPoint

__all__ = ["settle"]

ROUNDS = 50
STEPS = 200  # of conjugate residuals in a round
LESS = 0.03  # the residual a round leaves, against the one it found
SPARE = 0.2  # or the part of the tolerance it may take
BAD = 4  # rounds without a better gap
FLAT = 1e-13  # curvature, against the largest there is, that is nothing but rounding
ENDLESS = Budget()


def settle(
    duel: Duel,
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
    face = (x > 0.0) & (x < duel.C)
    bad, direct = 0, None
    for _ in range(ROUNDS):
        budget.go_on()
        F = np.flatnonzero(face)
        if not len(F):
            break
        if direct is None:
            _solve(duel, x, w, F, best.primal, tol, budget)
        elif not direct.solve(x, w, F):
            break
        point, f = duel.measure(w, x)
        before = best.gap
        best = best.joined(point)
        if best.gap <= tol or budget.ended(best):
            return best, True
        bad = bad + 1 if not best.gap < 0.9 * before else 0
        if not np.isfinite(float(w @ w)):
            break
        if bad >= BAD:
            if direct is not None or not factorise:
                break
            direct, bad = Factorised(duel), 0
        b = float(np.mean(duel.y[F] - f[F])) if duel.pad else 0.0
        m = duel.y * (f + b)
        inside = np.clip(x, 0.0, duel.C)
        leave = face & ((x <= 0.0) | (x >= duel.C))
        join = ~face & np.where(x >= duel.C, m > 1.0, m < 1.0)
        w = duel.moved(w, x, inside)
        x = inside
        face = (face & ~leave) | join
    return best, False


def _solve(
    duel: Duel,
    x: np.ndarray,
    w: np.ndarray,
    F: np.ndarray,
    primal: float,
    tol: float,
    budget: Budget = ENDLESS,
) -> None:
    """Move the multipliers of the rows F, and w with them, to where these rows have margin 1."""
    rows, y, k = duel.rows.arrays, duel.y[F], len(F)
    u, out = np.zeros(duel.d), np.empty(k)
    unit = float(duel.q[F].max()) or 1.0  # K is divided by it: its products stay within range

    def project(r: np.ndarray) -> np.ndarray:
        return r - y * (float(y @ r) / k) if duel.pad else r

    def product(p: np.ndarray) -> np.ndarray:
        u[:] = 0.0
        add_rows(rows, F, p * y, u)
        dots(rows, F, u, out)
        duel.visits += 2 * k
        return project(y * out) / unit

    def size(r: np.ndarray) -> float:
        """About what the residual adds to the relative gap."""
        if duel.hard or not math.isfinite(primal):
            return 2.0 * float(np.max(np.abs(r)))
        return float(duel.C[F] @ np.abs(r)) / primal

    if duel.pad:  # what is missing in the balance is shared
        share = y * (-float(x @ duel.y) / k)
        x[F] += share
        duel.add(F, share, w)
    dots(rows, F, w, out)
    r = project(1.0 - y * out)
    goal = max(SPARE * tol, LESS * size(r))
    if size(r) <= goal:
        return
    Kr = product(r)
    p, Kp, rKr = r.copy(), Kr.copy(), float(r @ Kr)
    moved = np.zeros(k)
    for _ in range(STEPS):
        length = float(Kp @ Kp)
        if not (rKr > FLAT * float(r @ r) and length > 0.0):
            break
        t = rKr / length
        moved += (t / unit) * p
        r -= t * Kp
        if size(r) <= goal or budget.is_up(duel.passes):
            break
        Kr = product(r)
        new = float(r @ Kr)
        p = r + (new / rKr) * p
        Kp = Kr + (new / rKr) * Kp
        rKr = new
    x[F] += moved
    duel.add(F, moved, w)
