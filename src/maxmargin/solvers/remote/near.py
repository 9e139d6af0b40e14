"""Rows of a partition near the margin, |r_i| ≤ δ_i, and the sums over those that are not sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.solvers.remote.gauge import bent
from maxmargin.solvers.remote.rounds import AT_HAND, View
from maxmargin.solvers.remote.rule import ramp

__all__ = ["Near", "Pulled", "pull"]

FEWEST = 256  # rows that are taken at a time: with fewer, adding up matrices is the work


class Near(NamedTuple):
    """Rows by number within the view, ascending."""

    rows: np.ndarray
    r: np.ndarray
    widths: np.ndarray  # δ_i
    scales: np.ndarray  # s_i
    key: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[Near]) -> Near:
        """Those of all blocks."""
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def some(self, which: np.ndarray) -> Near:
        """By place, or where it is true."""
        return Near(*(column[which] for column in self))

    def without(self, rows: np.ndarray) -> Near:
        """Those that are not among some rows, which are ascending too."""
        return self.some(~np.isin(self.rows, rows, assume_unique=True)) if len(rows) else self

    def nearest(self, most: int) -> Near:
        """No more than so many."""
        if len(self.rows) <= most:
            return self
        return self.some(np.sort(np.argpartition(np.abs(self.r) / self.scales, most)[:most]))

    def bend(self, C: np.ndarray) -> np.ndarray:
        """C_i/2δ_i, how much a row bends the smoothed objective along itself."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(C[self.rows] / (2.0 * self.widths))

    def shares(self, C: np.ndarray) -> np.ndarray:
        """The share of each row in the curvature."""
        return np.asarray(self.bend(C) * self.scales**2)


class Pulled(NamedTuple):
    """Sums over rows near the margin."""

    smooth: float  # Σ C_i h(r_i)
    alpha: np.ndarray  # Σ α_i by class, +1 first
    v: np.ndarray  # Σ α_i a_i likewise
    curvature: np.ndarray | None  # Σ C_i/2δ_i (a_i, y_i)(a_i, y_i)ᵀ, if there are rows


def pull(view: View, near: Near, bends: bool) -> Pulled:
    """Add up rows with their smoothed hinges; without a curvature if nothing ``bends``."""
    (frame, C, _), d = view, view.frame.d
    y = frame.y[near.rows]
    alpha = C[near.rows] * ramp(near.r, near.widths)
    sides = np.array([np.where(side, alpha, 0.0) for side in (y > 0.0, y < 0.0)])
    smooth = float(C[near.rows] @ _smooth(near.r, near.widths))
    if not bends or not len(near.rows):
        v = np.array([frame.pull_of(near.rows, side) for side in sides])
        return Pulled(smooth, sides.sum(axis=1), v, None)
    weight = near.bend(C)
    v, H = np.zeros((2, d)), np.zeros((d + 1, d + 1))
    length = max(FEWEST, AT_HAND // (d + 1))
    for start in range(0, len(near.rows), length):
        part = slice(start, start + length)
        A = np.column_stack([frame.take(near.rows[part]), frame.bias[near.rows[part]]])
        v += sides[:, part] @ A[:, :-1]
        H += bent(A, weight[part])
    return Pulled(smooth, sides.sum(axis=1), v, H)


def _smooth(r: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The smoothed hinge."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        band = (r + widths) ** 2 / (4.0 * widths)
    return np.asarray(np.where(np.abs(r) < widths, band, np.maximum(r, 0.0)))
