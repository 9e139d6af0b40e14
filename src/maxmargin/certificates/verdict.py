"""What a separability verdict says, in numbers and in words.

The hard margin in rational numbers, with its proof.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from maxmargin.certificates.proof import Proof
from maxmargin.core.errors import count, some
from maxmargin.core.witness import Witness

STATISTICIAN = {
    "separable": "complete separation",
    "touching": "quasi-complete separation",
    "overlapping": "no separation",
}
NAMED = 8  # features that are named in a sentence


class Work(NamedTuple):
    """How the verdict was reached: how much in floating point, and how much in exact arithmetic."""

    passes: int  # over the data in floating point, looking for a plane
    rows_filtered: int  # rows whose side of the plane the floating-point error bound decides
    rows_exact: int  # rows whose side was decided in integers
    pivots: int  # steps of the simplex method in integers

    def __str__(self) -> str:
        parts = []
        if self.rows_filtered:
            many = count(self.rows_filtered, "row", ",")
            parts.append(f"{many} decided by floating point within its error bound")
        if self.rows_exact:
            many = f"{self.rows_exact:,}" if parts else count(self.rows_exact, "row", ",")
            parts.append(f"{many} in integers")
        if self.pivots:
            parts.append(f"{self.pivots:,} steps of the simplex method in integers")
        return ", ".join(parts) or "all in integers"


@dataclass(frozen=True)
class Verdict:
    """Whether a plane separates two classes, with the proof.

    Attributes
    ----------
    kind : str
        "separable": some plane has every row strictly on its side ("complete separation").
        "touching": none has, but one has no row on the wrong side, and not all rows on it
        ("quasi-complete separation"). "overlapping": every plane has a row on the wrong side, or
        contains all.
    w, b : array and float, or None
        The plane, as doubles: w·x + b > 0 on the class ``positive``. Proven for every row if
        ``plane_is_exact``; otherwise the exact plane, in fractions, is in the proof, and these are the
        nearest doubles. None if the classes overlap.
    plane_is_exact : bool
        Whether w and b themselves, as doubles, are the proven plane.
    margin : (float, float) or None
        Certified bounds on the largest margin: what the proven plane attains, rounded down, and what no
        plane exceeds, rounded up. None if the classes are not separable.
    witness : Witness or None
        If not separable: at most d + 2 rows whose weighted means are the same point, exactly.
    on_plane : array of int
        If touching: the rows on the plane.
    negative, positive : labels
        The two classes; ``negative`` is None for "all others".
    rank : int
        If overlapping: the dimension of the span of all rows (x, 1), without an intercept of x.
    proof : Proof
        To be verified, saved and loaded.
    work : Work
        How much was done in exact arithmetic.
    features : tuple of str
        Names of the features.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0, 0], [1, 2], [4, 3]], ["no", "no", "yes"]
    >>> verdict = mm.separability(X, y)
    >>> verdict.kind, verdict.positive, verdict.proof.verify(X, y)
    ('separable', 'yes', True)
    >>> verdict.margin[0] <= 2.5**0.5 <= verdict.margin[1]
    True
    """

    kind: str
    w: np.ndarray | None
    b: float | None
    plane_is_exact: bool
    margin: tuple[float, float] | None
    witness: Witness | None
    on_plane: np.ndarray
    negative: Hashable
    positive: Hashable
    rank: int | None
    proof: Proof
    work: Work
    features: tuple[str, ...]

    @property
    def separable(self) -> bool:
        """Whether some plane has every row strictly on its side."""
        return self.kind == "separable"

    @property
    def statistical_name(self) -> str:
        """The word for it in logistic regression (Albert and Anderson 1984)."""
        return STATISTICIAN[self.kind]

    @property
    def infinite(self) -> dict[str, int]:
        """Features whose logistic-regression coefficients run to infinity, with the sign.

        They are those with a nonzero weight in the plane; the intercept is called "intercept".
        """
        if self.w is None or self.b is None:
            return {}
        found = {name: int(np.sign(v)) for name, v in zip(self.features, self.w, strict=True) if v}
        if self.b:
            found["intercept"] = int(np.sign(self.b))
        return found

    def __str__(self) -> str:
        lines = [f"{self.kind.capitalize()} ({self.statistical_name}): {self._what()}"]
        lines += [f"· {line}" for line in (*self._details(), f"Exactness: {self.work}.")]
        filled = (textwrap.fill(line, 100, subsequent_indent="  ") for line in lines)
        return "\n".join(filled)

    def _what(self) -> str:
        other = "all others" if self.negative is None else repr(self.negative)
        pair = f"{self.positive!r} and {other}"
        if self.kind == "separable":
            return f"a plane has all rows of {pair} strictly on its two sides."
        if self.kind == "touching":
            return f"no plane separates {pair} strictly, but one has no row on the wrong side."
        return f"no plane separates {pair}, not even with rows on it."

    def _details(self) -> list[str]:
        details = []
        if self.margin is not None:
            low, high = self.margin
            details.append(f"The largest margin is at least {low:.9g} and at most {high:.9g}.")
        if not self.plane_is_exact and self.w is not None:
            details.append("The plane needs more digits than doubles have: w and b are rounded.")
        if self.kind == "touching":
            rows = count(len(self.on_plane), "row")
            details.append(f"On the plane: {rows} ({some(self.on_plane, NAMED)}).")
        if self.witness is not None:
            details.append(f"Witness: {self.witness}.")
        details.append(f"Logistic regression: {self._logistic()}")
        return details

    def _logistic(self) -> str:
        if self.kind == "overlapping":
            if self.rank is not None and self.rank < self.proof.dimension:
                return (
                    "the maximum-likelihood fit exists, but its coefficients are not unique, since "
                    f"the features are linearly dependent (rank {self.rank} of {self.proof.dimension})."
                )
            return "the maximum-likelihood coefficients are finite and unique."
        signs = self.infinite
        few = [f"{name} ({'+' if sign > 0 else '−'}∞)" for name, sign in list(signs.items())[:NAMED]]
        more = f" and {len(signs) - NAMED} more" if len(signs) > NAMED else ""
        run = f"run to infinity: {', '.join(few)}{more}."
        if self.kind == "separable":
            return f"the likelihood has no maximum. Along this plane the coefficients {run}"
        return (
            f"the likelihood has no maximum. Along the plane these coefficients {run} Only the rows on "
            "the plane tell about the others."
        )


@dataclass(frozen=True)
class MulticlassVerdict:
    """Which classes are separable from the rest, and which pairs from each other.

    Attributes
    ----------
    rest : dict
        The verdict of each class against all others, by label.
    pairs : dict
        The verdict of each pair of classes, by (smaller label, larger label).

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> verdict = mm.separability(*load_iris(return_X_y=True))
    >>> {label: one.kind for label, one in verdict.rest.items()}
    {0: 'separable', 1: 'overlapping', 2: 'overlapping'}
    >>> verdict.pairs[0, 1].separable, verdict.pairwise_separable
    (True, False)
    """

    rest: Mapping[Hashable, Verdict]
    pairs: Mapping[tuple[Hashable, Hashable], Verdict]

    @property
    def separable(self) -> bool:
        """Whether every class is separable from the rest."""
        return all(verdict.separable for verdict in self.rest.values())

    @property
    def pairwise_separable(self) -> bool:
        """Whether every pair of classes is separable."""
        return all(verdict.separable for verdict in self.pairs.values())

    def __str__(self) -> str:
        lines = [f"{len(self.rest)} classes against the rest: {_count(self.rest)}"]
        lines += [f"· {label!r}: {verdict.kind}" for label, verdict in self.rest.items()]
        lines.append(f"{len(self.pairs)} pairs of classes: {_count(self.pairs)}")
        bad = {pair: v for pair, v in self.pairs.items() if not v.separable}
        lines += [f"· {a!r} and {b!r}: {verdict.kind}" for (a, b), verdict in bad.items()]
        return "\n".join(lines)


def _count(verdicts: Mapping[Hashable, Verdict] | Mapping[tuple[Hashable, Hashable], Verdict]) -> str:
    kinds = [verdict.kind for verdict in verdicts.values()]
    parts = (f"{kinds.count(kind)} {kind}" for kind in STATISTICIAN if kind in kinds)
    return ", ".join(parts)


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
