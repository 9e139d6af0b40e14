"""More features than rows: work in n coordinates instead of d.

The optimal w is a combination of the rows, so nothing but their inner products matters. With the Gram
matrix K = X Xᵀ = L Lᵀ (pivoted Cholesky) the rows of L have the same inner products as those of X, and a
machine on L is the machine on X, in n coordinates. K is computed once, for all machines. L has half the
digits of X in its weakest directions, so what is found is finished, and checked, on X itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg.lapack import dpstrf

from maxmargin.rows import DenseRows
from maxmargin.solvers.margin.frame import Frame, Scene

__all__ = ["gram_frames", "inner_products", "worth_gram"]

MOST = 4_000  # rows; beyond, the matrix no longer pays
ROUNDING = 1e-13  # of K: pivots below this share of the largest entry are zero
BLUR = 1e-6  # relative precision of L in its weakest directions
COLUMNS = 1 << 20  # entries of X that are centred at a time


def worth_gram(frame: Frame) -> bool:
    """Whether there are so many more features than rows that their Gram matrix is the better data."""
    return 2 <= frame.n <= MOST and 2 * frame.n < frame.d and not frame.scene.uneven


def gram_frames(frames: Sequence[Frame]) -> list[Frame]:
    """Return the frames of the same machines in n coordinates."""
    K = inner_products(frames[0])
    L, order, rank, _ = dpstrf(K, tol=ROUNDING * float(np.max(np.diag(K))), lower=1)
    L = np.tril(L)[:, : max(rank, 1)]
    back = np.empty_like(L)
    back[order - 1] = L
    rows = DenseRows(np.ascontiguousarray(back))
    scene = Scene(np.zeros(rows.d), 1.0)
    return [Frame(rows, f.y, f.pad, scene, blur=BLUR) for f in frames]


def inner_products(frame: Frame) -> np.ndarray:
    """K = X̃ X̃ᵀ of the centred and scaled rows."""
    scene = frame.scene
    K = np.zeros((frame.n, frame.n))
    if frame.ready:
        A = frame.y[:, None] * frame.take(np.arange(frame.n))
        return np.asarray(A @ A.T)
    rows = frame.rows.between(0, frame.n)  # few enough to be reached at once
    if not isinstance(rows, DenseRows):
        X = rows.matrix  # type: ignore[attr-defined]
        across = np.asarray(X @ scene.centre)
        K = np.asarray((X @ X.T).toarray(), dtype=np.float64) - across - across[:, None]
        return np.asarray((K + float(scene.centre @ scene.centre)) / scene.scale**2)
    width = max(1, COLUMNS // frame.n)
    for start in range(0, frame.d, width):
        part = slice(start, start + width)
        B = rows.X[:, part] - scene.centre[part]
        B /= scene.scale
        K += B @ B.T
    return K
