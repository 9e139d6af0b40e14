"""The last digits: solve the optimality conditions of the band exactly, once it is the right one.

If B is the free support, the optimum is the solution of a linear system in w, α_B and b,

    w − Σ_{i∈B} α_i a_i = Σ_{i∉B} α_i a_i,     a_i·w + y_i b = 1  (i in B),     Σ α_i y_i = 0,

the other multipliers fixed at their bounds. It is solved for corrections, with the residuals computed
anew each time: as it stands where it is small or features differ much in scale (no squares are formed),
with w eliminated otherwise. If a multiplier leaves its bounds, B was not the free support yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgesvx

from maxmargin.solvers.margin.coordinates import SETTINGS as COORDINATES
from maxmargin.solvers.margin.coordinates import Frame


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    max_rows: int = 2_000  # of a band that is solved
    max_dependent_rows: int = 100  # solved even if there are more than d + 1, on data with
    cheap_entries: int = 1 << 16  # entries at most
    max_singular_order: int = 150  # of a singular system that is solved, unless the margin is hard
    max_whole_order: int = 400  # of a system that is solved as it stands
    refinements: int = 3


SETTINGS = Settings()


Step = tuple[np.ndarray, np.ndarray, float]  # corrections of w, α_B and b
Solver = Callable[[np.ndarray, np.ndarray, float], Step | None]  # from the three residuals


class Reached(NamedTuple):
    """A point: w, b, all multipliers, Σ α_i a_i and Σ α_i y_i (rows left out included)."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    v: np.ndarray
    s: float


def finish(
    frame: Frame, band: np.ndarray, C: np.ndarray, state: Reached, least_squares: bool = True
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Return (w, b, α) with the band solved, or None if it is not the free support.

    A small singular system is solved by least squares, unless there are other ways to go on.
    """
    k, d = len(band), frame.d
    few = SETTINGS.max_dependent_rows if frame.n * d <= SETTINGS.cheap_entries else 0
    too_many = k > SETTINGS.max_rows or k * d > COORDINATES.max_densified_entries
    if too_many or not 0 < k <= max(d + 1, few):
        return None
    A, y = frame.take(band), frame.bias[band]
    whole = d + k < SETTINGS.max_whole_order or (frame.scaling.uneven and d + k < SETTINGS.max_rows)
    hard = bool(np.isinf(C[band[0]]))
    singular = hard or (least_squares and d + k < SETTINGS.max_singular_order)
    solve = _whole(A, y, frame.pad, singular) if whole else _eliminated(A, y, frame.pad)
    w, b, alpha, v, s = state
    new = alpha[band]
    others = np.zeros(d) if hard else v - new @ A  # hard margin: there are none
    rest = s - float(new @ y)
    if whole:
        A = A.astype(np.longdouble)  # for the residuals
    for _ in range(SETTINGS.refinements):
        stationary = np.asarray(others + new @ A - w, dtype=np.float64)
        edges = np.asarray(1.0 - (A @ w + y * b), dtype=np.float64)
        step = solve(stationary, edges, -(rest + float(new @ y)))
        if step is None:
            return None
        w, new, b = w + step[0], new + step[1], b + step[2]
        if not (np.all(new >= 0.0) and np.all(new <= C[band])):
            return None
    alpha = alpha.copy()
    alpha[band] = new
    return w, b, alpha


def _whole(A: np.ndarray, y: np.ndarray, pad: float, singular: bool) -> Solver:
    """The system as it stands, its rows and columns scaled by LAPACK.

    If it is singular, by least squares where that is asked for: it takes long for large ones.
    """
    k, d = A.shape
    size = d + k + 1
    M = np.zeros((size, size), order="F")
    M.flat[: d * (size + 1) : size + 1] = 1.0
    M[:d, d : d + k] = -A.T
    M[d : d + k, :d] = A
    M[d : d + k, -1] = M[-1, d : d + k] = y
    if not pad:
        M[-1, -1] = 1.0

    failed = 0  # then the matrix is singular, to rounding or exactly

    def solve(r1: np.ndarray, r2: np.ndarray, r3: float) -> Step | None:
        nonlocal failed
        right = np.concatenate([r1, r2, [r3 if pad else 0.0]])
        if not failed:
            result = dgesvx(M, right, fact="E")
            x, failed = result[7], result[-1]
        if failed and not singular:
            return None
        if failed:
            x = np.linalg.lstsq(M, right, rcond=1e-13)[0]
        x = np.ravel(x)
        if not np.all(np.isfinite(x)):
            return None
        return x[:d], x[d : d + k], float(x[-1]) * pad

    return solve


def _eliminated(A: np.ndarray, y: np.ndarray, pad: float) -> Solver:
    """The same without w: A Aᵀ in its place."""
    k = len(A)
    M = np.zeros((k + 1, k + 1))
    M[:k, :k] = A @ A.T
    unit = float(np.sqrt(np.mean(np.diag(M)[:k]))) or 1.0  # both blocks are of one size
    M[:k, k] = M[k, :k] = y * unit
    if not pad:
        M[k, k] = 1.0

    def solve(r1: np.ndarray, r2: np.ndarray, r3: float) -> Step | None:
        right = np.append(r2 - A @ r1, r3 * unit * pad)
        try:
            x = np.linalg.solve(M, right)
        except np.linalg.LinAlgError:
            return None
        if not np.all(np.isfinite(x)):
            return None
        return r1 + x[:k] @ A, x[:k], float(x[k]) * unit * pad

    return solve
