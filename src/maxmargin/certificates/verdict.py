"""What a separability verdict says, in numbers and in words.

The hard margin in rational numbers, with its proof.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxmargin.certificates.proof import Proof
from maxmargin.core.errors import InputError, Witness, listed, plural

STATISTICIAN = {
    "separable": "complete separation",
    "touching": "quasi-complete separation",
    "overlapping": "no separation",
    "undecided": "not known",
}
MAX_NAMED_FEATURES = 8  # features that are named in a sentence
WIDE_BOUNDS = 100.0  # bounds on the margin farther apart say nothing
LAST_DIGITS = 1e-12  # relative distance below which a verdict rests on the last digits of the data
MAX_PRINTED_EFFORT = 1 << 16  # n D² up to which the directions of all coefficients are printed


class Work(NamedTuple):
    """How the verdict was reached: how much in floating point, and how much in exact arithmetic."""

    passes: int  # over the data in floating point, looking for a plane
    rows_filtered: int  # rows whose side of the plane the floating-point error bound decides
    rows_exact: int  # rows whose side was decided in integers
    pivots: int  # steps of the simplex method in integers
    bits: int = 0  # of the longest whole number: a determinant, a weight or a coefficient

    def __str__(self) -> str:
        parts = []
        if self.rows_filtered:
            many = plural(self.rows_filtered, "row", ",")
            parts.append(f"{many} decided by floating point within its error bound")
        if self.rows_exact:
            many = f"{self.rows_exact:,}" if parts else plural(self.rows_exact, "row", ",")
            parts.append(f"{many} in integers")
        if self.pivots:
            parts.append(f"{plural(self.pivots, 'step', ',')} of the simplex method in integers")
        if self.bits:
            parts.append(f"numbers of up to {plural(self.bits, 'bit', ',')}")
        return ", ".join(parts) or "all in integers"


class Precision(NamedTuple):
    """How far a verdict is from the last digits of its data."""

    distance: float | None  # least |w·x + b| as a share of Σ |w_j x_j| + |b|, of rows not on the plane
    row: int | None  # the row that has it
    numerical_rank: int | None  # of the rows (x, 1), to rounding
    rank: int | None  # exactly
    dependent: tuple[str, ...]  # columns that depend on others to rounding, but not exactly

    @property
    def rests_on_last_digits(self) -> bool:
        """Whether rounding of the data may have made the verdict."""
        return bool(self.dependent) or (self.distance is not None and self.distance < LAST_DIGITS)


class OnDemand(NamedTuple):
    """What a verdict finds when it is asked for, from its data."""

    precision: Callable[[], Precision]
    directions: Callable[[], dict[str, int]] | None = None
    effort: float = math.inf  # of the directions, n D²


@dataclass(frozen=True)
class Verdict:
    """Whether a plane separates two classes, with the proof.

    Attributes
    ----------
    kind : str
        "separable": some plane has every row strictly on its side ("complete separation").
        "touching": none has, but one has no row on the wrong side, and not all rows on it
        ("quasi-complete separation"). "overlapping": every plane has a row on the wrong side, or
        contains all. "undecided": the time ended before one of these was proven.
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
        If not separable: at most d + 2 rows whose weighted means are the same point, exactly. An
        undecided verdict with a witness is "touching" or "overlapping".
    on_plane : array of int
        If touching: the rows on the plane.
    negative, positive : labels
        The two classes; ``negative`` is None for "all others".
    rank : int
        If overlapping: the dimension of the span of all rows (x, 1), without an intercept of x.
    proof : Proof or None
        To be verified, saved and loaded. None if undecided.
    work : Work
        How much was done in exact arithmetic: rows, steps of the simplex method (``pivots``), and the
        ``bits`` of the largest number in them.
    features : tuple of str
        Names of the features.
    likely_separable : bool or None
        If undecided: what floating point says, without proof; None if it had no answer either.

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
    proof: Proof | None
    work: Work
    features: tuple[str, ...]
    likely_separable: bool | None = None
    on_demand: OnDemand | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "precision": self.precision, "on_demand": None}  # which holds the data

    @cached_property
    def precision(self) -> Precision | None:
        """How far the verdict is from the last digits of the data; None if undecided.

        The least relative ``distance`` of a ``row`` that is not on the plane, the ``numerical_rank``
        beside the exact ``rank``, and the columns that are ``dependent`` on others to rounding. Of rows
        in memory it is measured when it is first asked for, or when the verdict is copied.
        """
        return None if self.on_demand is None else self.on_demand.precision()

    @property
    def separable(self) -> bool:
        """Whether some plane has every row strictly on its side."""
        return self.kind == "separable"

    @property
    def undecided(self) -> bool:
        """Whether the time ended before there was a proof."""
        return self.kind == "undecided"

    @property
    def knows_directions(self) -> bool:
        """Whether ``infinite`` is known, or found at once."""
        known = self.w is None or "infinite" in self.__dict__
        return known or (self.on_demand is not None and self.on_demand.effort <= MAX_PRINTED_EFFORT)

    @property
    def statistical_name(self) -> str:
        """The word for it in logistic regression (Albert and Anderson 1984)."""
        return STATISTICIAN[self.kind]

    @cached_property
    def infinite(self) -> dict[str, int]:
        """Coefficients of a logistic regression that run to infinity: 1, −1, or 0 for either sign.

        The likelihood of separable and touching classes rises without end, in many directions perhaps.
        A coefficient that is positive in some and negative in none runs to +∞ (1), and so on; if both
        occur, it may run either way (0). Those that are not named are finite. The intercept is called
        "intercept", or "(intercept)" beside a feature of that name. This takes one more verdict for each
        coefficient when it is first asked for, and needs the data in memory: a verdict that was saved,
        or is about partitions, raises :class:`maxmargin.InputError`.
        """
        if self.w is None:
            return {}
        if self.on_demand is None or self.on_demand.directions is None:
            raise InputError(
                "infinite needs the data of the verdict in memory. Got a verdict that was copied or "
                "loaded, or about rows of a file or in partitions. Ask separability(X, y) about rows in "
                "memory."
            )
        return self.on_demand.directions()

    def __str__(self) -> str:
        lines = [f"{self.kind.capitalize()} ({self.statistical_name}): {self._what()}"]
        lines += [f"· {line}" for line in self._details()]
        lines += [f"· Exactness: {self.work}."] * (self.kind != "undecided")
        return "\n".join([textwrap.fill(line, 100, subsequent_indent="  ") for line in lines])

    def _what(self) -> str:
        other = "all others" if self.negative is None else repr(self.negative)
        pair = f"{self.positive!r} and {other}"
        if self.kind == "separable":
            return f"a plane has all rows of {pair} strictly on its two sides."
        if self.kind == "touching":
            return f"no plane separates {pair} strictly, but one has no row on the wrong side."
        if self.kind == "overlapping":
            return f"no plane separates {pair}, not even with rows on it."
        if self.witness is not None:
            return (
                f"no plane separates {pair} strictly; the time ended before it was clear if they touch."
            )
        return f"the time ended before there was a proof about {pair}."

    def _details(self) -> list[str]:
        details = []
        if self.kind == "undecided" and self.likely_separable is not None:
            seen = "a plane separates them" if self.likely_separable else "they are not separable"
            details.append(f"In floating point {seen}; the proof is not finished.")
        if self.margin is not None:
            low, high = self.margin
            if self.kind == "undecided":
                details.append(f"No plane has a margin of more than {high:.9g}.")
            elif high <= WIDE_BOUNDS * low:
                details.append(f"The largest margin is at least {low:.9g} and at most {high:.9g}.")
        if not self.plane_is_exact and self.w is not None:
            details.append("The plane needs more digits than doubles have: w and b are rounded.")
        if self.kind == "touching":
            rows = plural(len(self.on_plane), "row")
            details.append(f"On the plane: {rows} ({listed(self.on_plane, MAX_NAMED_FEATURES)}).")
        if self.witness is not None:
            details.append(f"Witness: {self.witness}.")
        if self.kind != "undecided":
            details.append(f"Logistic regression: {self._logistic()}")
        return details + self._last_digits()

    def _last_digits(self) -> list[str]:
        """What is said of rounding in the data."""
        p, said = self.precision, list[str]()
        if p is None:
            return said
        if p.distance is not None:
            share = f"|w·x + b| is {p.distance:.2g} of Σ |w_j x_j| + |b|"
            said.append(f"Nearest row that is not on the plane: {p.row}, where {share}.")
        if p.dependent:
            shown = listed(p.dependent, MAX_NAMED_FEATURES)
            said.append(f"Numerical rank {p.numerical_rank}, exact rank {p.rank}. To rounding, {shown}.")
        if not p.rests_on_last_digits or self.proof is None:
            return said
        if p.distance is not None and p.distance < LAST_DIGITS:
            then = "with such rows on the plane the classes would touch at best"
            if self.kind == "touching":
                then = "with such rows on the plane fewer would be on the right side, or none"
        elif self.kind == "overlapping":
            then = (
                "if these columns depended on the others exactly, the coefficients would not be unique"
            )
        else:
            then = "if these columns depended on others exactly, it could be another"
        judged = (
            "the decimals as written" if "numbers" in self.proof.content else "the doubles as stored"
        )
        said.append(f"This verdict rests on the last digits of the data: it holds for {judged}; {then}.")
        return said

    def _logistic(self) -> str:
        assert self.proof is not None
        if self.kind == "overlapping":
            if self.rank is not None and self.rank < self.proof.dimension:
                return (
                    "the maximum-likelihood fit exists, but its coefficients are not unique, since "
                    f"the features are linearly dependent (rank {self.rank} of {self.proof.dimension})."
                )
            return "the maximum-likelihood coefficients are finite and unique."
        none = "the likelihood has no maximum."
        if self.knows_directions:
            run = _running(self.infinite, "These coefficients run to infinity")
            rest = " All others are finite." if len(self.infinite) < self.proof.dimension else ""
            return f"{none} {run}{rest}"
        assert self.w is not None and self.b is not None
        along = dict(
            zip((*self.features, "intercept"), np.sign([*self.w, self.b]).tolist(), strict=True)
        )
        signs = {name: int(sign) for name, sign in along.items() if sign}
        more = "Only the rows on the plane tell about the others." if self.kind == "touching" else ""
        run = _running(signs, "Along this plane the coefficients run to infinity")
        return f"{none} {run} {more}".rstrip()


def _running(signs: Mapping[str, int], what: str) -> str:
    words = {1: "+∞", -1: "−∞", 0: "+∞ or −∞"}
    shown = [f"{name} ({words[sign]})" for name, sign in list(signs.items())[:MAX_NAMED_FEATURES]]
    more = f" and {len(signs) - MAX_NAMED_FEATURES} more" if len(signs) > MAX_NAMED_FEATURES else ""
    return f"{what}: {', '.join(shown)}{more}."


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
    def undecided(self) -> bool:
        """Whether the time ended before there was a proof for every class against the rest."""
        return any(verdict.undecided for verdict in self.rest.values())

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
    return ", ".join([f"{kinds.count(kind)} {kind}" for kind in STATISTICIAN if kind in kinds])


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
