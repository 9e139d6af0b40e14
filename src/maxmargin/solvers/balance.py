"""Make Σ α_i y_i = 0 by a small correction within the bounds."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["balanced", "to_scale"]

ROUNDING = 4e-16
FEW = 5_000  # so many are added up exactly


def balanced(alpha: np.ndarray, y: np.ndarray, C: np.ndarray, others: float = 0.0) -> np.ndarray:
    """Take from the heavier side, from its free rows if they suffice; ``others``: the rows left out."""
    some = np.flatnonzero(alpha)
    signed = alpha[some] * y[some]
    excess = (math.fsum(signed) if len(some) <= FEW else float(signed.sum())) + others
    if abs(excess) <= ROUNDING * float(alpha.sum()):
        return alpha  # a correction would only add rounding of its own
    side = (alpha > 0.0) & (y * excess > 0.0)
    free = side & (alpha < C)
    if float(alpha[free].sum()) > 2.0 * abs(excess):
        side = free
    total = float(alpha[side].sum())
    alpha = alpha.copy()
    if total > 0.0:
        alpha[side] *= max(1.0 - abs(excess) / total, 0.0)
    return alpha


def to_scale(alpha: np.ndarray, factor: float, uneven: bool) -> np.ndarray:
    """Multiply by a factor that is 1 up to rounding, unless it is nothing but rounding.

    The dual value feels the square of what is left. Where features differ much in scale, the rounding of
    a product is felt more.
    """
    return alpha if abs(factor - 1.0) <= (1e-6 if uneven else 1e-12) else alpha * factor
