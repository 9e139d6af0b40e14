"""Multipliers of all rows in a few numbers: a rule for most, values for some.

Rows far from the margin have α_i = 0 or C_i by their side. So a plane, a width δ and what is known of
the rows near the margin say what every α_i is, and a partition can compute its own:

    α_i = φ C_i clip(½ + (1 − m_i)/2δ_i, 0, 1),      δ_i = δ s_i

with the scale s_i of the row (see :mod:`maxmargin.solvers.remote.gauge`). The factors φ ≤ 1, one for
each sign of y_i, make Σ α_i y_i = 0. Of rows that were solved for, the share α_i/C_i is given instead;
for a hard margin, where there is no rule, the α_i that are not zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.solvers.margin.frame import Frame
from maxmargin.solvers.remote.gauge import Gauge

__all__ = ["Given", "Multipliers", "Plane", "Rule", "multipliers_of", "ramp", "widths_of"]


class Plane(NamedTuple):
    """A plane in the coordinates of the solver."""

    w: np.ndarray
    b: float


class Rule(NamedTuple):
    """The multipliers of rows that are far from the margin, or of all."""

    plane: Plane
    width: float  # zero if every row near the margin is given
    gauge: Gauge
    plus: float = 1.0
    minus: float = 1.0


class Given(NamedTuple):
    """Multipliers of some rows of a partition by their places, or shares of their bounds."""

    places: np.ndarray
    values: np.ndarray

    def among(self, numbers: np.ndarray) -> Given:
        """Those of a stretch of rows."""
        inside = (self.places >= numbers[0]) & (self.places <= numbers[-1])
        return Given(self.places[inside], self.values[inside])


class Multipliers(NamedTuple):
    """A rule, or None for zeros, and what is given for each partition."""

    rule: Rule | None
    given: list[Given | None]


def multipliers_of(
    frame: Frame, C: np.ndarray, numbers: np.ndarray, rule: Rule | None, given: Given | None
) -> np.ndarray:
    """α_i for all rows of a partition, whose places there are ``numbers``."""
    if rule is None:
        alpha, bounds = np.zeros(frame.n), np.ones(frame.n)
    else:
        r = 1.0 - frame.values(*rule.plane)
        share = r > 0.0
        if rule.width:
            share = ramp(r, widths_of(rule.width, rule.gauge.scales(frame)))
        alpha = share * C * np.where(frame.y > 0.0, rule.plus, rule.minus)
        bounds = C
    if given is not None:
        where = np.searchsorted(numbers, given.places)
        alpha[where] = given.values * bounds[where]
    return np.asarray(alpha)


def widths_of(width: float, scales: np.ndarray) -> np.ndarray:
    """δ_i = δ s_i; all infinite if δ is."""
    return np.full(len(scales), np.inf) if width == np.inf else width * scales


def ramp(r: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The slope of the hinge, 0 to 1, smoothed over −δ_i … δ_i."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.clip(0.5 + r / (2.0 * widths), 0.0, 1.0)
    return np.where(r > widths, 1.0, np.where(r < -widths, 0.0, share))
