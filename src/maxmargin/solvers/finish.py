"""The last digits: solve the optimality conditions of the band exactly, once it is the right one.

If B is the free support, the optimum is the solution of a linear system: with w = Σ α_i a_i,

    a_i·w + y_i b = 1  for i in B,        Σ α_i y_i = 0,

the other multipliers fixed at their bounds. Solved for corrections δα and δb, with the residuals
computed anew each time, it reaches the precision of the data. If a multiplier leaves its bounds, B was
not the free support yet.
"""

from __future__ import annotations

import numpy as np

from maxmargin.solvers.frame import Frame

__all__ = ["finish"]

LARGE = 2_000  # rows of a band that is solved
SMALL = 100  # so many in any case, even if they depend on each other
TIMES = 3  # refinements


def finish(
    frame: Frame,
    band: np.ndarray,
    alpha: np.ndarray,
    C: np.ndarray,
    v: np.ndarray,
    s: float,
    b: float,
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Return (α, v, b) with the band solved, or None if it is not the free support."""
    k = len(band)
    if not 0 < k <= max(frame.d + 1, SMALL) or k > LARGE:
        return None
    A, y = frame.take(band), frame.bias[band]
    size = k + 1 if frame.pad else k
    M = np.zeros((size, size))
    M[:k, :k] = A @ A.T
    if frame.pad:
        # In units of the rows, so that both blocks are of one size.
        unit = np.sqrt(float(np.mean(np.diag(M)[:k]))) or 1.0
        M[:k, k] = M[k, :k] = y * unit
    alpha = alpha.copy()
    for _ in range(TIMES):
        right = np.zeros(size)
        right[:k] = 1.0 - (A @ v + y * b)
        if frame.pad:
            right[k] = -s * unit
        step = _solve(M, right)
        new = alpha[band] + step[:k]
        if not (np.all(new >= 0.0) and np.all(new <= C[band])):
            return None
        v = v + (new - alpha[band]) @ A
        s += float((new - alpha[band]) @ y)
        alpha[band] = new
        if frame.pad:
            b += float(step[k]) * unit
    return alpha, v, b


def _solve(M: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve; if rows of the band depend on each other, by the shortest correction."""
    try:
        step = np.linalg.solve(M, right)
        if np.all(np.isfinite(step)) and np.allclose(M @ step, right, rtol=1e-6, atol=1e-9):
            return np.asarray(step)
    except np.linalg.LinAlgError:
        pass
    return np.asarray(np.linalg.lstsq(M, right, rcond=1e-12)[0])
