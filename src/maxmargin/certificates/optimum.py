"""The hard margin in rational numbers, with its proof."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maxmargin.certificates.proof import Proof

__all__ = ["ExactOptimum"]


@dataclass(frozen=True, repr=False)
class ExactOptimum:
    """The exact optimum of the hard margin: min ½‖w‖² subject to y_i (w·x_i + b) ≥ 1.

    Attributes
    ----------
    w : tuple of Fraction
        The weights.
    b : Fraction
        The bias.
    alpha : dict
        The multipliers α_i > 0 by training row, with w = Σ α_i y_i x_i and Σ α_i y_i = 0.
    squared_margin : Fraction
        The square of the largest margin, 1/‖w‖².
    proof : Proof
        The KKT conditions, to be verified, saved and loaded.
    solves : int
        How many systems of equations were solved in rational numbers.
    rows_exact : int
        Rows whose constraint was checked in integers; floating point within its error bound decided
        the others.

    Examples
    --------
    >>> import maxmargin as mm
    >>> best = mm.HardMarginSVC().prove([[0, 0], [1, 2], [4, 3]], [0, 0, 1])
    >>> best.w, best.b, best.squared_margin
    ((Fraction(3, 5), Fraction(1, 5)), Fraction(-2, 1), Fraction(5, 2))
    """

    w: tuple[Fraction, ...]
    b: Fraction
    alpha: Mapping[int, Fraction]
    squared_margin: Fraction
    proof: Proof
    solves: int
    rows_exact: int

    @property
    def support(self) -> np.ndarray:
        """The training rows with α_i > 0."""
        return np.array(sorted(self.alpha), dtype=np.int64)

    @property
    def margin(self) -> float:
        """The largest margin as a double."""
        # A quotient of many digits at once, so that neither part overflows.
        p, q = self.squared_margin.numerator, self.squared_margin.denominator
        shift = 2 * max(0, 64 + (q.bit_length() - p.bit_length()) // 2)
        try:
            return math.isqrt((p << shift) // q) / (1 << shift // 2)
        except OverflowError:
            return math.inf

    def _shown(self) -> str:
        if 0.0 < self.margin < math.inf:
            return f"{self.margin:.15g}"
        p, q = self.squared_margin.numerator, self.squared_margin.denominator
        return f"about 2^{(p.bit_length() - q.bit_length()) // 2}, beyond the range of doubles"

    def __repr__(self) -> str:
        return f"ExactOptimum(margin={self.margin!r}, support={sorted(self.alpha)})"

    def __str__(self) -> str:
        p, q = self.squared_margin.numerator, self.squared_margin.denominator
        bits = p.bit_length() + q.bit_length()
        exact = f"a fraction of some {int(0.30103 * bits)} digits" if bits > 200 else f"{p}/{q}"
        return (
            f"Exact hard margin: the largest margin is {self._shown()}, its square {exact}; "
            f"{len(self.alpha)} support vectors, every condition checked in exact arithmetic."
        )
