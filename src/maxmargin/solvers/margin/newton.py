"""One Newton direction of the method of multipliers: three ways to the same vector.

With B the band and Z the rows (a_i, y_i) of it, the direction solves

    (D + Zᵀ Σ Z) (Δw, Δb) = −g,      D = diag(1, …, 1, 0),      Σ = diag(σ_i).

*Primal*, for more rows than features: Cholesky of this matrix of order d + 1. *Gram*, for fewer: with
u = Σ Z (Δw, Δb) it becomes Δw = −g_w − Aᵀu, (A Aᵀ + Σ⁻¹) u = −A g_w + y Δb and y·u = −g_b; but if the
features differ much in scale, the small ones would drown in A Aᵀ. *Conjugate gradients*, where both are
too large to be factorised.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.sparse.linalg import LinearOperator, cg

from maxmargin.solvers.margin.frame import TOO_WIDE, Frame
from maxmargin.solvers.margin.gram import inner_products

__all__ = ["MANY", "direction"]

MANY = 200  # features from which on inner products are kept
LARGE = 4_000  # order of the largest matrix that is factorised


def direction(
    frame: Frame,
    band: np.ndarray,
    sigma: np.ndarray,
    gw: np.ndarray,
    gb: float,
    least_squares: bool = True,
) -> tuple[np.ndarray, float]:
    """Return (Δw, Δb) for a band that is not empty.

    Where rounding makes the matrix indefinite, the step is one of least squares, which takes long for a
    large one, or a ``LinAlgError`` says so.
    """
    if min(len(band), frame.d) > LARGE:
        return _conjugate_gradients(frame, band, sigma, gw, gb)
    if len(band) <= frame.d and not (least_squares and frame.scene.uneven and frame.d <= LARGE):
        return _gram(frame, band, sigma, gw, gb, least_squares)
    return _primal(frame, band, sigma, gw, gb, least_squares)


def _primal(
    frame: Frame,
    band: np.ndarray,
    sigma: np.ndarray,
    gw: np.ndarray,
    gb: float,
    least_squares: bool = True,
) -> tuple[np.ndarray, float]:
    d = frame.d
    H = np.zeros((d + 1, d + 1))
    for start in range(0, len(band), frame.chunk):
        part = band[start : start + frame.chunk]
        Z = np.column_stack([frame.take(part), frame.bias[part]])
        Z *= np.sqrt(sigma[start : start + frame.chunk])[:, None]
        H += Z.T @ Z
    H.flat[: d * (d + 1) : d + 2] += 1.0
    if not frame.pad:
        H[d, d] = 1.0
    step = _solve(H, np.append(-gw, -gb), least_squares)
    return step[:d], float(step[d])


def _gram(
    frame: Frame,
    band: np.ndarray,
    sigma: np.ndarray,
    gw: np.ndarray,
    gb: float,
    least_squares: bool = True,
) -> tuple[np.ndarray, float]:
    y = frame.bias[band]
    if len(band) * frame.d > TOO_WIDE:  # sparse rows, never made dense
        part = frame.restricted(band)
        K = inner_products(part) * part.y * part.y[:, None]
        along, back = part.values(gw, 0.0), part.pull
    else:
        A = frame.take(band)
        K = frame.products.among(band, A) if frame.d >= MANY else A @ A.T
        along, back = A @ gw, partial(np.matmul, A.T)
    K.flat[:: len(K) + 1] += 1.0 / sigma
    P = _solve(K, np.column_stack([along, y]), least_squares)
    db = float((y @ P[:, 0] - gb) / (y @ P[:, 1])) if frame.pad else 0.0
    return -gw + back(P[:, 0] - P[:, 1] * db), db


def _solve(M: np.ndarray, rhs: np.ndarray, least_squares: bool) -> np.ndarray:
    """Solve with a positive definite matrix; if rounding made it indefinite, in the least-squares sense.

    Cholesky does not mind features of very different scale; for least squares the diagonal is made 1.
    """
    diagonal = M.diagonal().copy()
    _, x, failed = dposv(M.T, rhs, overwrite_a=1)  # in place: the transpose is in LAPACK's order
    if not failed:
        return np.asarray(x)
    if not least_squares:
        raise np.linalg.LinAlgError
    M = np.triu(M, 1)  # what LAPACK has left
    M = M + M.T + np.diag(diagonal)
    D = 1.0 / np.sqrt(np.maximum(np.diag(M), 1e-300))
    rows = D if rhs.ndim == 1 else D[:, None]
    return np.asarray(np.linalg.lstsq(M * D * D[:, None], rhs * rows, rcond=1e-14)[0] * rows)


def _conjugate_gradients(
    frame: Frame, band: np.ndarray, sigma: np.ndarray, gw: np.ndarray, gb: float
) -> tuple[np.ndarray, float]:
    part = frame.restricted(band)
    d = frame.d

    def product(z: np.ndarray) -> np.ndarray:
        u = sigma * part.values(z[:d], float(z[d]))
        tail = float(part.bias @ u) if frame.pad else float(z[d])
        return np.append(z[:d] + part.pull(u), tail)

    H = LinearOperator((d + 1, d + 1), matvec=product, dtype=np.float64)
    g = np.append(-gw, -gb)
    step, _ = cg(H, g, rtol=1e-3, maxiter=200)
    return step[:d], float(step[d])
