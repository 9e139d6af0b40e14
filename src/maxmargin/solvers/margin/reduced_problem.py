"""The soft or hard margin on the rows at hand, and what it shares between the methods that solve it.

On rows a_i with margins m_i = a_i·w + y_i b,

    minimise  ½‖w‖² − v₀·w − s₀ b + Σ C_i max(0, 1 − m_i),              C_i = ∞: m_i ≥ 1 must hold,

where v₀ = Σ α_j a_j and s₀ = Σ α_j y_j stand for rows left out, whose multipliers are fixed at 0 or C.
Multipliers within their bounds that balance, s₀ + Σ α_i y_i = 0, give the lower bound

    Σ α_i + Σ α_j − ½‖v‖²,      v = v₀ + Σ α_i a_i;      of a hard margin  ½ (Σ α_i)²/‖v‖².

A Newton step solves a system with D + Zᵀ Θ Z, where Z has the rows (a_i, y_i), D = diag(1, …, 1, 0) and
Θ is diagonal; or, with fewer rows than features, with A Aᵀ + Θ⁻¹.

The last digits come from :func:`finish`, which solves the optimality conditions exactly. If B is the
free support, the optimum is the solution of a linear system in w, α_B and b,

    w − Σ_{i∈B} α_i a_i = Σ_{i∉B} α_i a_i,     a_i·w + y_i b = 1  (i in B),     Σ α_i y_i = 0,

the other multipliers fixed at their bounds. It is solved for corrections, with the residuals r₁, r₂ and
r₃ computed anew each time. With the rows Z = (A, c y) of the band and Zᵀ = Q R the corrections are

    Δα = R⁻¹ (R⁻ᵀ r₂ − Qᵀ (r₁, t)),    Δw = r₁ + Aᵀ Δα,    Δb = c t + c² r₃,    t such that y·Δα = r₃.

One factor serves all corrections, and no squares are formed: features may differ much in scale. Rows
that depend on others keep their multipliers. If a multiplier leaves its bounds, B was not the free
support yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgeqp3, dorgqr, dpotrf, dpotrs, dtrtrs

from maxmargin.rows import Rows
from maxmargin.solvers.margin.coordinates import Frame
from maxmargin.solvers.margin.tasks import MarginPoint, balanced, dual_value, scaled_up, to_scale

MAX_ORDER = 4_000  # of a matrix that is factorised: 128 MB, half a second
MEETING_DISTANCE = 1e-10  # |v_j| against Σα max|a_ij| below which the hulls of a hard margin may meet
FIRST_RIDGE, MAX_RIDGE = 1e-15, 1e-6  # added to a diagonal of ones, if there is no factor without


@dataclass(frozen=True)
class Settings:
    """What bounds the work of :func:`finish`; see each field."""

    max_products: int = 1 << 31  # k²d of a band of k rows: about a second
    max_dependent_rows: int = 100  # solved even if there are more than d + 1, on data with
    cheap_entries: int = 1 << 16  # entries at most
    max_precise_entries: int = 1 << 15  # of a band whose residuals are computed with more digits
    corrections: int = 3
    qr_block: int = 32  # columns of a factor at a time
    dependent: float = 1e-13  # share of what is new in a row, below which it depends on others


SETTINGS = Settings()
Solve = Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray, float]]


def is_affordable(rows: Frame | Rows) -> bool:
    """Whether the matrix of a Newton step, or of interior points, is small enough to be factorised."""
    return min(rows.n, rows.d) <= MAX_ORDER


@dataclass(frozen=True)
class Reduced:
    """The problem on the rows at hand."""

    frame: Frame
    C: np.ndarray
    v0: np.ndarray
    s0: float = 0.0
    fixed: float = 0.0  # Σ α_j of the rows left out
    unit: np.ndarray | None = None  # stiffness of the rows against σ, if it is not C_i
    meet: float = MEETING_DISTANCE

    @property
    def hard(self) -> bool:
        """Whether the constraints must hold."""
        return bool(np.isinf(self.C[0]))

    def worth(
        self, w: np.ndarray, b: float, m: np.ndarray, alpha: np.ndarray, v: np.ndarray
    ) -> MarginPoint:
        """A plane with its margins, and multipliers with their v: balanced, and both to scale."""
        frame = self.frame
        if frame.pad:
            fair = balanced(alpha, frame.bias, self.C, self.s0)
            if fair is not alpha:
                some = np.flatnonzero(fair != alpha)
                v = v + frame.weighted_sum_of(some, (fair - alpha)[some])
                alpha = fair
        total, length = float(alpha.sum()) + self.fixed, float(v @ v)
        excess = self.s0 + float(alpha @ frame.bias)
        dual = dual_value(total, length, excess, self.hard)
        if not self.hard:
            primal, t = scaled_up(float(w @ w), float(self.v0 @ w) + self.s0 * b, m, self.C)
            return MarginPoint(t * w, t * b, alpha, v, primal=primal + self.fixed, dual=dual)
        least, primal = float(m.min()), math.inf
        if least > 0.0:  # the plane separates: the nearest rows are brought to margin 1
            w, b = w / least, b / least
            primal = 0.5 * float(w @ w)
        meets = total > 0.0 and bool(np.all(np.abs(v) <= self.meet * total * frame.reach))
        if length > 0.0:
            alpha = to_scale(alpha, total / length, frame.scaling.uneven)
        return MarginPoint(w, b, alpha, v, primal=primal, dual=dual, meets=meets)


def normal_matrix(frame: Frame, which: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """D + Zᵀ Θ Z of some rows, of order d + 1."""
    d = frame.d
    H = np.zeros((d + 1, d + 1))
    for start in range(0, len(which), frame.chunk):
        part = slice(start, start + frame.chunk)
        Z = frame.with_bias(which[part])
        Z *= np.sqrt(theta[part])[:, None]
        H += Z.T @ Z
    H.flat[: d * (d + 1) : d + 2] += 1.0
    if not frame.pad:
        H[d, d] = 1.0
    return H


def cholesky(M: np.ndarray, ridge: float = 0.0) -> Callable[[np.ndarray], np.ndarray] | None:
    """A function that solves with M, whose diagonal is made 1 and then 1 + ridge; None if it cannot."""
    scale = 1.0 / np.sqrt(np.maximum(M.diagonal(), 1e-300))
    M *= scale
    M *= scale[:, None]
    M.flat[:: len(M) + 1] = 1.0 + ridge
    factor, failed = dpotrf(M.T, lower=1, overwrite_a=1)
    if failed:
        return None

    def solve(right: np.ndarray) -> np.ndarray:
        unit = scale if right.ndim == 1 else scale[:, None]
        return np.asarray(unit * dpotrs(factor, unit * right, lower=1)[0])

    return solve


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
