"""What a plane and multipliers are worth: how far apart their values are, and which of two is better."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["as_good_a_bound", "as_good_a_plane", "relative_gap", "scaled_up"]

TIE = 1e-13  # primal or dual values nearer than this share are equal
ROUNDING_SLACK = 1e-6  # slack up to which scaling the plane may be cheaper than paying for it


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


def scaled_up(square: float, linear: float, m: np.ndarray, C: np.ndarray) -> tuple[float, float]:
    """Return ½t²‖w‖² − t·linear + Σ C_i max(0, 1 − t m_i) for the better of two t, and this t ≥ 1.

    Rows on the margin miss it by rounding, and a large C makes much of that. A plane (t w, t b) with t
    just large enough for them costs next to nothing instead.
    """
    slack = np.maximum(1.0 - m, 0.0)
    plain = 0.5 * square - linear + float(C @ slack)
    slack[slack > ROUNDING_SLACK] = 0.0
    most = float(slack.max(initial=0.0))
    if most == 0.0:
        return plain, 1.0
    t = (1.0 + 4e-16) / (1.0 - most)
    lifted = 0.5 * t * t * square - t * linear + float(C @ np.maximum(1.0 - t * m, 0.0))
    return (lifted, t) if lifted < plain else (plain, 1.0)
