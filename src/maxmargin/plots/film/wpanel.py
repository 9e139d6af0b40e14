"""w-space in a film: rows are lines; w walks among them into the cone where all rows are right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.plots.box import box_line
from maxmargin.plots.cone import find_cone
from maxmargin.plots.data import Points
from maxmargin.plots.film.brushes import CONE, STEP, aim, arrow, legend_above, line, place
from maxmargin.plots.film.captions import Still, short
from maxmargin.plots.runs import weight_names
from maxmargin.plots.style import BLACK, GREY, class_styles, plain
from maxmargin.plots.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["WPanel"]

LINES = 200  # rows drawn as lines, at most
ROOM = 1.12  # half the side of the picture against the longest w


class WPanel:
    """w-space of two features without bias: lines, cone, and the path of w.

    Attributes
    ----------
    moving : dict of str to artist
        "line", of the row in hand; "path", "w now" and "w step".
    """

    def __init__(self, ax: Axes, points: Points, view: View, batch: bool = False) -> None:
        self.ax, self.points = ax, points
        self.flat = view.flat(points.X)
        self.colours = [style.colour for style in class_styles(points.labels)]
        handles = self._draw_cone() + self._draw_lines(batch)
        self.moving = {
            "line": line(ax, color=BLACK, lw=2.6),
            "path": line(ax, color=BLACK, lw=0.7, marker=".", ms=3.5, alpha=0.5),
            "w step": arrow(ax, STEP, 3.4),
            "w now": line(ax, color=BLACK, ls="", marker="o", ms=6.5, mec="white", mew=1.0),
        }
        legend_above(ax, handles, columns=3)
        cut = replace(points, names=tuple(short(name, 18) for name in points.names))
        first, second = weight_names(cut) if view.axes[0, 0] else reversed(weight_names(cut))
        ax.set_xlabel(plain(first), labelpad=2)
        ax.set_ylabel(plain(second), labelpad=2)

    def _draw_cone(self) -> list[Any]:
        from matplotlib.patches import Patch, Wedge

        cone = find_cone(self.points.signs[:, None] * self.flat)
        self.cone: Any = None
        if cone is None:
            return [Patch(fc="none", ec="none", label="no w has all right")]
        self.cone = Wedge((0, 0), 1.0, *np.degrees(cone), color=CONE, lw=0, zorder=0)
        self.ax.add_patch(self.cone)
        return [Patch(fc=CONE, ec=GREY, lw=0.8, label="all points right")]

    def _draw_lines(self, batch: bool) -> list[Any]:
        from matplotlib.collections import LineCollection
        from matplotlib.lines import Line2D

        n = len(self.flat)
        some = np.unique(np.linspace(0, n - 1, min(n, LINES)).astype(int))
        some = some[np.any(self.flat[some] != 0, axis=1)]
        along = np.stack([-self.flat[some, 1], self.flat[some, 0]], axis=1)
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        self.along = np.stack([-along, along], axis=1)
        self.lines = LineCollection(
            list(self.along),
            colors=[self.colours[c] for c in self.points.codes[some]],
            linewidths=0.9,
            alpha=max(0.25, min(0.8, 12.0 / max(len(some), 1))),
            zorder=1,
        )
        self.ax.add_collection(self.lines, autolim=False)
        self.ax.plot(0, 0, marker="+", color=GREY, ms=7)
        share = "" if n <= LINES else f", {len(some)} drawn"
        bold = [Line2D([], [], color=BLACK, lw=2.6, label="… of the row in hand")]
        return [
            Line2D([], [], color=BLACK, lw=0.9, label=f"x·w = 0 of a row{share}"),
            *([] if batch else bold),  # where all wrong rows are in hand, none is
            Line2D([], [], color=STEP, lw=3.4, label="added to w"),
            Line2D([], [], color=BLACK, ls="", marker="o", ms=6, label="w"),
            Line2D([], [], color=BLACK, lw=0.9, marker=".", ms=4, alpha=0.6, label="its path"),
        ]

    def grow(self, reach: float) -> None:
        """Make room for a w of length ``reach``."""
        side = ROOM * reach
        self.side = side
        place(self.ax, np.array([[-side, side], [-side, side]]), equal=True)
        self.lines.set_segments(list(4 * side * self.along))
        if self.cone is not None:
            self.cone.set_radius(4 * side)

    def move(self, frame: Still, old: np.ndarray, new: np.ndarray, path: list[np.ndarray]) -> None:
        """Show a frame."""
        self.moving["path"].set_data(*np.array(path).T)
        self.moving["path"].set_markersize(3.5 if len(path) <= 20 else 2.0)
        self.moving["w now"].set_data([new[0]], [new[1]])
        aim(self.moving["w step"], old, new, frame.update)
        ends = None
        if len(frame.rows) == 1 and np.any(self.flat[frame.rows[0]]):
            box = np.array([[-4 * self.side, 4 * self.side], [-2 * self.side, 2 * self.side]])
            ends = box_line(self.flat[frame.rows[0]], 0.0, box)
            self.moving["line"].set_color(self.colours[self.points.codes[frame.rows[0]]])
        self.moving["line"].set_data(*(([], []) if ends is None else ends))
