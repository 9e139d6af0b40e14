"""Make Σ α_i y_i = 0 by a small correction within the bounds."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["balanced", "excess_of", "to_scale"]

FEW = 5_000  # so many are added up exactly
LITTLE = 1e-12  # an excess that one row can take alone


def balanced(alpha: np.ndarray, y: np.ndarray, C: np.ndarray, others: float = 0.0) -> np.ndarray:
    """Take from the heavier side, from its free rows if they suffice; ``others``: the rows left out."""
    excess = excess_of(alpha, y, others)
    if excess == 0.0:
        return alpha
    alpha = alpha.copy()
    if abs(excess) > LITTLE * float(alpha.sum()):
        side = (alpha > 0.0) & (y * excess > 0.0)
        free = side & (alpha < C)
        if float(alpha[free].sum()) > 2.0 * abs(excess):
            side = free
        total = float(alpha[side].sum())
        if total > 0.0:
            alpha[side] *= max(1.0 - abs(excess) / total, 0.0)
        excess = excess_of(alpha, y, others)
    if excess:  # what is left is rounding: one row takes it, and the others keep their last digits
        side = np.where((y * excess > 0.0) & (alpha < C), alpha, 0.0)
        largest = int(np.argmax(side))
        if side[largest] > abs(excess):
            alpha[largest] -= abs(excess)
    return alpha


def excess_of(alpha: np.ndarray, y: np.ndarray, others: float) -> float:
    """Σ α_i y_i, with that of the rows left out."""
    some = np.flatnonzero(alpha)
    signed = alpha[some] * y[some]
    return (math.fsum(signed) if len(some) <= FEW else float(signed.sum())) + others


def to_scale(alpha: np.ndarray, factor: float, uneven: bool) -> np.ndarray:
    """Multiply by a factor that is 1 up to rounding, unless it is nothing but rounding.

    The dual value feels the square of what is left. Where features differ much in scale, the rounding of
    a product is felt more.
    """
    return alpha if abs(factor - 1.0) <= (1e-6 if uneven else 1e-12) else alpha * factor
