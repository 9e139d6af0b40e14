"""Why no plane separates two classes: two convex combinations that are the same point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Witness"]


@dataclass(frozen=True)
class Witness:
    """Rows of both classes whose weighted means meet, here to rounding.

    If w·x + b were positive on one class and negative on the other, it would be both at the common
    point. Through the origin (``fit_intercept=False``) it is not the means that meet but the weighted
    sums, and all weights together add to one.

    Attributes
    ----------
    positive, negative : array of int
        Training rows of the class that counts as +1, and of the other side: at most d + 2 in all.
    positive_weights, negative_weights : array of float
        Their weights: ≥ 0, and 1 in sum for each class.
    point : array
        The common point.
    distance : float
        How far the two combinations are apart: rounding.
    """

    positive: np.ndarray
    positive_weights: np.ndarray
    negative: np.ndarray
    negative_weights: np.ndarray
    point: np.ndarray
    distance: float

    def __str__(self) -> str:
        return (
            f"{len(self.positive)} rows of the one class and {len(self.negative)} of the other have "
            f"weighted means that meet (distance {self.distance:.1e})"
        )
