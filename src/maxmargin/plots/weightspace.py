"""The hard-margin problem as a region in (w₁, w₂, b): its constraints, which matter, its optimum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.plots.data import Points
from maxmargin.plots.polytope import Face, cut_body
from maxmargin.plots.runs import weight_names
from maxmargin.plots.style import COLOURS
from maxmargin.plots.wspace import WAYS

__all__ = ["WeightSpace"]

MOST = 8  # rows that are drawn, each in its own colour


@dataclass(frozen=True)
class WeightSpace:
    """Training points of two classes in two features, and the optimum with its multipliers."""

    points: Points
    w: np.ndarray
    b: float
    alpha: np.ndarray

    @cached_property
    def constraints(self) -> np.ndarray:
        """a_i = y_i (x_i, 1), one per row: feasible are the z = (w₁, w₂, b) with a_i·z ≥ 1."""
        padded = np.column_stack([self.points.X, np.ones(len(self.points.X))])
        return np.asarray(self.points.signs[:, None] * padded)

    @cached_property
    def box(self) -> np.ndarray:
        """[low, high] of w₁, w₂ and b: the axis w = 0, the optimum, and as far again beyond it."""
        length = 1.25 * float(np.linalg.norm(self.w))
        # at 2w all b from 2b − 1 to 2b + 1 are feasible
        heights = [0.0, self.b, 2 * self.b - 1, 2 * self.b + 1]
        room = 0.08 * (max(heights) - min(heights))
        sides = [[w - length, w + length] for w in self.w]
        return np.array([*sides, [min(heights) - room, max(heights) + room]])

    @cached_property
    def faces(self) -> list[Face]:
        """The sides of the feasible region, as far as it is in the box."""
        return cut_body(self.constraints, self.box)

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows that matter: those that bound the region in the box, of the support first."""
        bounding = {tag for tag, _ in self.faces if tag >= 0}
        support = set(np.flatnonzero(self.alpha > 1e-9 * self.alpha.max()).tolist())
        first = sorted(bounding & support, key=lambda row: (-self.alpha[row], row))
        near = sorted(bounding - support, key=self._value)
        return np.array([*first, *near][:MOST], dtype=np.int64)

    @property
    def tidy(self) -> np.ndarray:
        """The weights and the bias for a title: what rounding left of a zero is a zero."""
        z = np.append(self.w, self.b)
        return np.where(np.abs(z) > 1e-12 * np.append([np.abs(self.w).max()] * 2, 1.0), z, 0.0)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the axes."""
        return (*weight_names(self.points), "b")

    def look(self, row: int) -> tuple[str, str]:
        """The colour of a row, and the way of its line: by class."""
        place = sorted(self.rows.tolist()).index(row)
        return COLOURS[place % len(COLOURS)], WAYS[1 - int(self.points.codes[row])]

    def row_name(self, *rows: int) -> str:
        """Rows of one class in the key."""
        label = self.points.labels[self.points.codes[rows[0]]]
        return f"row{'s' * (len(rows) > 1)} {', '.join(map(str, rows))}: {label}"

    def _value(self, row: int) -> float:
        return float(self.constraints[row] @ [*self.w, self.b])
