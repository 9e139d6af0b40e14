"""How far the margin of each row may still move: rows differ, so each has a scale of its own.

If z = (w, b) is off by e, and the objective bends like M = D + H near its minimum, then e is likely as
large as eᵀMe allows, and m_i moves by (a_i, y_i)·e. So the scale of row i is s_i = ‖(a_i, y_i)‖ in the
norm of M⁻¹; an outlier has a large one, and features in other units change nothing. A partition
estimates s_i from a few random directions with the covariance M⁻¹ that it is told.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg

from maxmargin.solvers.margin.frame import Frame
from maxmargin.solvers.margin.multipliers import FOR_ONE
from maxmargin.solvers.threads import one_thread

__all__ = ["Gauge", "bent", "factor", "gauge_of", "plain_gauge", "root_mean_square"]

DIRECTIONS = 6  # with the plane and its step eight columns of a product
FAINT = 1e-13  # of the diagonal: what is added to a matrix that rounding made singular
SMALLEST = 1e-300


class Gauge(NamedTuple):
    """Directions (Δw, Δb) of the size of an error, one per column; none for very many features."""

    W: np.ndarray
    b: np.ndarray

    def scales(self, frame: Frame) -> np.ndarray:
        """s_i of every row: the root mean square along the directions, or ‖(a_i, y_i)‖."""
        if not len(self.b):
            lengths = frame.rows.square_lengths()
            return np.sqrt((lengths if frame.ready else lengths / frame.scene.scale**2) + frame.pad)
        if frame.ready:
            return root_mean_square(frame.rows.times(self.W) + frame.bias[:, None] * self.b)
        V = self.W / frame.scene.scale
        shift = frame.pad * self.b - frame.scene.centre @ V
        return root_mean_square(frame.rows.times(V) + shift)

    def change(self, M: np.ndarray) -> float:
        """How much larger scales by this gauge are than by the matrix M."""
        Z = np.vstack([self.W, self.b])
        return math.sqrt(float(np.einsum("ij,ij->", Z, M @ Z)) / Z.size)


def root_mean_square(F: np.ndarray) -> np.ndarray:
    """Of the rows of a matrix."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", F, F) / F.shape[1]))


def gauge_of(M: np.ndarray, pad: float) -> Gauge:
    """Random directions with covariance M⁻¹, always the same draw."""
    unit, L = factor(M)
    normal = np.random.default_rng(0).normal(size=(len(M), DIRECTIONS))
    Z = linalg.solve_triangular(L, normal, lower=True, trans="T") / unit[:, None]
    return Gauge(np.ascontiguousarray(Z[:-1]), Z[-1] * pad)


def bent(Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Σ weight_i z_i z_iᵀ."""
    with one_thread(Z.size <= FOR_ONE):
        S = Z * np.sqrt(weight)[:, None]
        return np.asarray(S.T @ S)


def plain_gauge(d: int) -> Gauge:
    """No directions: rows are measured by their lengths."""
    return Gauge(np.empty((d, 0)), np.empty(0))


def factor(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M = (U L)(U L)ᵀ with a diagonal U and a triangular L; M is positive definite up to rounding."""
    unit = np.sqrt(np.maximum(M.diagonal(), SMALLEST))
    K = M / unit / unit[:, None]
    faint = 0.0
    while True:
        try:
            return unit, linalg.cholesky(K + faint * np.eye(len(K)), lower=True)
        except linalg.LinAlgError:
            faint = max(10.0 * faint, FAINT)
