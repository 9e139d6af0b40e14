"""What a plane and multipliers are worth: how far apart their values are, and which of two is better."""

from __future__ import annotations

import math

__all__ = ["as_good_a_bound", "as_good_a_plane", "relative_gap"]

TIE = 1e-13  # primal or dual values nearer than this share are equal


def relative_gap(primal: float, dual: float) -> float:
    """The gap as a share of the primal value; below zero by rounding only."""
    if not primal < math.inf:
        return math.inf
    return (primal - dual) / (primal or 1.0)


def as_good_a_plane(primal: float, best: float) -> bool:
    """Whether a plane of this primal value is no worse than the best one."""
    return not primal > best * (1.0 + TIE)


def as_good_a_bound(dual: float, best: float) -> bool:
    """Whether multipliers of this dual value are no worse than the best ones."""
    return dual >= best - TIE * abs(best)
