"""Multipliers of all rows in a few numbers: a rule for most, values for some.

Rows far from the margin have α_i = 0 or C_i by their side. So a plane, a width δ and what is known of
the rows near the margin say what every α_i is, and a partition can compute its own:

    α_i = φ C_i clip(½ + (1 − m_i)/2δ, 0, 1).

The factors φ ≤ 1, one for each sign of y_i, make Σ α_i y_i = 0. Where the rows with |1 − m_i| ≤ δ were
solved for, the share α_i/C_i of each group of equal rows is given instead; for a hard margin, where
there is no rule, the α_i that are not zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.solvers.frame import Frame
from maxmargin.solvers.remote.alike import alike

__all__ = ["Given", "Multipliers", "Plane", "Rule", "multipliers_of", "ramp"]


class Plane(NamedTuple):
    """A plane in the coordinates of the solver."""

    w: np.ndarray
    b: float


class Rule(NamedTuple):
    """The multipliers of rows that are far from the margin, or of all."""

    plane: Plane
    width: float
    plus: float = 1.0
    minus: float = 1.0


class Given(NamedTuple):
    """Multipliers of some rows of a partition by their places, or shares of groups near the margin."""

    places: np.ndarray | None
    values: np.ndarray


class Multipliers(NamedTuple):
    """A rule, or None for zeros, and what is given for each partition."""

    rule: Rule | None
    given: list[Given | None]


def multipliers_of(
    frame: Frame, C: np.ndarray, numbers: np.ndarray, rule: Rule | None, given: Given | None
) -> np.ndarray:
    """α_i for all rows of a partition, whose places there are ``numbers``."""
    if rule is None:
        alpha = np.zeros(frame.n)
        if given is not None and given.places is not None:
            alpha[np.searchsorted(numbers, given.places)] = given.values
        return alpha
    r = 1.0 - frame.values(*rule.plane)
    alpha = ramp(r, rule.width) * C * np.where(frame.y > 0.0, rule.plus, rule.minus)
    if given is not None:
        inside = np.flatnonzero(np.abs(r) <= rule.width)
        groups = alike(frame.rows.select(inside), frame.y[inside])
        alpha[inside] = given.values[groups.group] * C[inside]
    return np.asarray(alpha)


def ramp(r: np.ndarray, width: float) -> np.ndarray:
    """The slope of the hinge, 0 to 1, smoothed over −δ … δ."""
    if width == np.inf:
        return np.full(len(r), 0.5)
    share = np.clip(0.5 + r / (2.0 * width), 0.0, 1.0)
    return np.where(r > width, 1.0, np.where(r < -width, 0.0, share))
