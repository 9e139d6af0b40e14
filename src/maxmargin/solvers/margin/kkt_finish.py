"""The last digits: solve the optimality conditions of the band exactly, once it is the right one.

If B is the free support, the optimum is the solution of a linear system in w, α_B and b,

    w − Σ_{i∈B} α_i a_i = Σ_{i∉B} α_i a_i,     a_i·w + y_i b = 1  (i in B),     Σ α_i y_i = 0,

the other multipliers fixed at their bounds. It is solved for corrections, with the residuals r₁, r₂ and
r₃ computed anew each time. With the rows Z = (A, c y) of the band and Zᵀ = Q R the corrections are

    Δα = R⁻¹ (R⁻ᵀ r₂ − Qᵀ (r₁, t)),    Δw = r₁ + Aᵀ Δα,    Δb = c t + c² r₃,    t such that y·Δα = r₃.

One factor serves all corrections, and no squares are formed: features may differ much in scale. Rows
that depend on others keep their multipliers. If a multiplier leaves its bounds, B was not the free
support yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgeqp3, dorgqr, dtrtrs

from maxmargin.solvers.margin.reduced_problem import Reduced
from maxmargin.solvers.margin.tasks import MarginPoint


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    max_products: int = 1 << 31  # k²d of a band of k rows: about a second
    max_dependent_rows: int = 100  # solved even if there are more than d + 1, on data with
    cheap_entries: int = 1 << 16  # entries at most
    max_precise_entries: int = 1 << 15  # of a band whose residuals are computed with more digits
    corrections: int = 3
    qr_block: int = 32  # columns of a factor at a time
    dependent: float = 1e-13  # share of what is new in a row, below which it depends on others


SETTINGS = Settings()
Solve = Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray, float]]


def finish(problem: Reduced, band: np.ndarray, now: MarginPoint) -> MarginPoint | None:
    """Return the point with the band solved, or None if that is not the free support."""
    frame, C = problem.frame, problem.C
    k, d = len(band), frame.d
    few = SETTINGS.max_dependent_rows if frame.n * d <= SETTINGS.cheap_entries else 0
    if k * k * d > SETTINGS.max_products or not 0 < k <= max(d + 1, few):
        return None
    A, y, new = frame.take(band), frame.bias[band], now.alpha[band]
    w, b, alpha = now.w, now.b, now.alpha.copy()
    solve = _factorised(A, y, frame.pad)
    if solve is None:
        return None
    others = np.zeros(d) if problem.hard else now.v - new @ A  # hard margin: there are none
    rest = problem.s0 + float(alpha @ frame.bias) - float(new @ y)
    if A.size <= SETTINGS.max_precise_entries:
        A = A.astype(np.longdouble)
    for _ in range(SETTINGS.corrections):
        stationary = np.asarray(others + new @ A - w, dtype=np.float64)
        edges = np.asarray(1.0 - (A @ w + y * b), dtype=np.float64)
        dw, da, db = solve(stationary, edges, -(rest + float(new @ y)))
        w, b, new = w + dw, b + db, new + da
        if not (np.all(new >= 0.0) and np.all(new <= C[band])):  # or nan
            return None
    alpha[band] = new
    v = problem.v0 + frame.weighted_sum(alpha)
    return problem.worth(w, b, frame.margins(w, b), alpha, v)


def _factorised(A: np.ndarray, y: np.ndarray, pad: float) -> Solve | None:
    """A function from residuals r₁, r₂ and r₃ to corrections of w, α and b; None if all rows are 0."""
    c = float(np.sqrt(np.mean(np.einsum("ij,ij->i", A, A)))) or 1.0  # both blocks are of one size
    length = SETTINGS.qr_block * (len(A) + 1)
    R, order, tau, *_ = dgeqp3(np.column_stack([A, c * y]).T, lwork=length + 2 * len(A), overwrite_a=1)
    new = np.abs(R.diagonal())
    rank = int(np.count_nonzero(new > SETTINGS.dependent * new[0]))
    if not rank:
        return None
    Q = dorgqr(R[:, :rank], tau[:rank], lwork=length)[0]
    R, order = R[:rank, :rank], order[:rank] - 1
    towards = dtrtrs(R, Q[-1])[0]
    level = float(y[order] @ towards)

    def solve(r1: np.ndarray, r2: np.ndarray, r3: float) -> tuple[np.ndarray, np.ndarray, float]:
        step = dtrtrs(R, dtrtrs(R, r2[order], trans=1)[0] - r1 @ Q[:-1])[0]
        t = 0.0
        if pad:
            t = (float(y[order] @ step) - r3) / level
            step -= t * towards
        da = np.zeros(len(y))
        da[order] = step
        return r1 + da @ A, da, pad * (c * t + c * c * r3)

    return solve
