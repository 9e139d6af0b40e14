"""The soft or hard margin on the rows at hand, and what it shares between the methods that solve it.

On rows a_i with margins m_i = a_i·w + y_i b,

    minimise  ½‖w‖² − v₀·w − s₀ b + Σ C_i max(0, 1 − m_i),              C_i = ∞: m_i ≥ 1 must hold,

where v₀ = Σ α_j a_j and s₀ = Σ α_j y_j stand for rows left out, whose multipliers are fixed at 0 or C.
Multipliers within their bounds that balance, s₀ + Σ α_i y_i = 0, give the lower bound

    Σ α_i + Σ α_j − ½‖v‖²,      v = v₀ + Σ α_i a_i;      of a hard margin  ½ (Σ α_i)²/‖v‖².

A Newton step solves a system with D + Zᵀ Θ Z, where Z has the rows (a_i, y_i), D = diag(1, …, 1, 0) and
Θ is diagonal; or, with fewer rows than features, with A Aᵀ + Θ⁻¹.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from maxmargin.rows import Rows
from maxmargin.solvers.margin.coordinates import Frame
from maxmargin.solvers.margin.tasks import MarginPoint, balanced, dual_value, scaled_up, to_scale

MAX_ORDER = 4_000  # of a matrix that is factorised: 128 MB, half a second
MEETING_DISTANCE = 1e-10  # |v_j| against Σα max|a_ij| below which the hulls of a hard margin may meet
FIRST_RIDGE, MAX_RIDGE = 1e-15, 1e-6  # added to a diagonal of ones, if there is no factor without


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
