"""Why no plane separates two classes: two convex combinations that are the same point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.core.errors import count


@dataclass(frozen=True)
class Witness:
    """Rows of both classes whose weighted means are the same point, exactly.

    If w·x + b were positive on one class and negative on the other, it would be both at the common
    point. Through the origin (``fit_intercept=False``) it is not the means that are equal but the
    weighted sums, and all weights together add to one.

    Attributes
    ----------
    positive, negative : array of int
        Training rows of the class that counts as +1, and of the other side: at most d + 2 in all.
    positive_weights, negative_weights : arrays of Fraction
        Their weights: > 0, and 1 in sum for each class (through the origin: for both together).
    point : array
        The common point, rounded to doubles.

    Examples
    --------
    The middle point is halfway between the others:

    >>> import maxmargin as mm
    >>> witness = mm.separability([[0.0], [1.0], [2.0]], [0, 1, 0]).witness
    >>> witness.negative.tolist(), witness.negative_weights.tolist(), witness.point.tolist()
    ([0, 2], [Fraction(1, 2), Fraction(1, 2)], [1.0])
    """

    positive: np.ndarray
    positive_weights: np.ndarray
    negative: np.ndarray
    negative_weights: np.ndarray
    point: np.ndarray
    means: bool = True  # False through the origin

    @property
    def rows(self) -> np.ndarray:
        """All rows, sorted."""
        return np.sort(np.concatenate([self.positive, self.negative]))

    def __str__(self) -> str:
        ours, others = len(self.positive), len(self.negative)
        if not self.means:
            return f"the weighted sums of {ours} and {others} rows of the two classes are equal, exactly"
        return (
            f"{count(ours, 'row')} of the one class and {others} of the other have weighted means that "
            "are the same point, exactly"
        )
