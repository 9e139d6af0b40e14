"""The plane of separable classes for the user: in doubles if they suffice, with bounds on the margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from maxmargin.solvers.exact.bounds import attained, not_exceeded, root
from maxmargin.solvers.exact.doubles import nearest, to_doubles
from maxmargin.solvers.exact.guess import Guess
from maxmargin.solvers.exact.optimum import exact_hard_margin
from maxmargin.solvers.exact.signs import signs
from maxmargin.solvers.exact.verdict import Finding
from maxmargin.solvers.exact.whole import ExactRows, Number, as_integers
from maxmargin.solvers.margin.frame import draw

__all__ = ["Separated", "separated", "uniform", "within_reach"]

EXACTLY = 60  # features of data whose largest margin is found in rational numbers, if need be,
BITS = 16_000  # and how many digits its rows may have, times the number of features


class Separated(NamedTuple):
    """A plane and bounds on the largest margin."""

    w: np.ndarray
    b: float
    plane: Sequence[Number]  # in the coordinates of the exact rows
    doubles: bool  # w and b are that plane exactly
    lower: float
    upper: float


def uniform(rows: ExactRows) -> ExactRows:
    """The same rows with all columns scaled alike, so that lengths are in proportion."""
    alike = np.full(rows.d, int(rows.exponents.max()), dtype=np.int64)
    return ExactRows(rows.given, rows.y, rows.pad, alike, deadline=rows.deadline)


def separated(rows: ExactRows, finding: Finding, tol: float) -> Separated:
    """Turn the finding that the rows are separable into numbers for the user."""
    assert finding.plane is not None
    guess = finding.guess
    if guess is not None and len(guess.w) and finding.signs is not None:
        lower = attained(rows, finding.plane, finding.signs)
        upper = not_exceeded(rows, guess.support.tolist(), guess.alpha.tolist())
        if upper <= (1.0 + tol) * lower or not within_reach(rows):
            return Separated(guess.w, guess.b if rows.pad else 0.0, finding.plane, True, lower, upper)
    best: list[int] | None = None
    if within_reach(rows):
        best, upper = _largest_margin(rows, guess)
    else:
        upper = _some_bound(rows, finding)
    for plane in (p for p in (best, finding.plane) if p is not None):
        found = to_doubles(rows, plane)
        if found is not None:
            (w, b), exact, answer = found
            return Separated(w, b, exact, True, attained(rows, exact, answer), upper)
    plane = best or finding.plane
    w, b = nearest(rows, plane)
    return Separated(w, b, plane, False, attained(rows, plane, signs(rows, plane)), upper)


def within_reach(rows: ExactRows) -> bool:
    """Whether the largest margin can be found in rational numbers without undue effort."""
    if rows.D > EXACTLY:
        return False
    some = uniform(rows).whole(draw(rows.n, 20).tolist())
    return max(v.bit_length() for ints, _ in some for v in ints) * rows.D <= BITS


def _some_bound(rows: ExactRows, finding: Finding) -> float:
    """A bound on the margin from the multipliers of a guess, and from the rows next to the plane."""
    upper, guess = math.inf, finding.guess
    if guess is not None:
        upper = not_exceeded(rows, guess.support.tolist(), guess.alpha.tolist())
    values = finding.signs.values if finding.signs is not None else np.zeros(rows.n)
    sides = [np.flatnonzero(rows.y == s) for s in (1.0, -1.0)]
    nearest_rows = [int(side[np.argmin(values[side])]) for side in sides if len(side)]
    return min(upper, not_exceeded(rows, nearest_rows, [1.0] * len(nearest_rows)))


def _largest_margin(rows: ExactRows, guess: Guess | None) -> tuple[list[int], float]:
    """The exact optimum as a plane of these rows, and its margin, rounded up."""
    alike = uniform(rows)
    k = alike.powers[0]
    start = {} if guess is None else dict(zip(guess.support.tolist(), guess.alpha.tolist(), strict=True))
    point = exact_hard_margin(alike, start)
    w = [v / Fraction(2) ** k for v in point.w]  # in the user's coordinates
    square = sum((v * v for v in w), Fraction(0))
    z = [v * Fraction(2) ** e for v, e in zip(w, rows.powers, strict=True)]
    return as_integers([*z, point.b] if rows.pad else z), root(1 / square, up=True)
