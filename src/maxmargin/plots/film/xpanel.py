"""x-space in a film: the points stay; the boundary, the arrows and the row in hand move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.plots.box import box_line
from maxmargin.plots.data import Points
from maxmargin.plots.film.brushes import STEP, aim, arrow, inches, legend_above, line, place, put_words
from maxmargin.plots.film.captions import Still, plain_sign, short
from maxmargin.plots.style import BLACK, GREY, class_styles, plain, point_size
from maxmargin.plots.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["XPanel"]

FAR = 2.5  # times its size that the picture may grow to show zero
UNLIKE = 20.0  # ratio of the features' ranges beyond which lengths cannot be true both ways
CROSSES = 2_000  # points among which the misclassified ones are marked, at most
ROOM = 0.08  # share of the picture left free around the points
LONGEST = 0.38  # of the picture: the longest w so far
ABOVE = 0.2  # of the picture: how far above its one line of points w is drawn
WAYS = "→↗↑↖←↙↓↘"  # by eighths of a turn


class XPanel:
    """x-space: points, boundary before and after, w with what is added to it, rows in hand.

    Attributes
    ----------
    moving : dict of str to artist
        "boundary", "old boundary", "ring", "wrong", "w", "old w", "step", and "outside", the words that
        say where the boundary is if it is not to be seen.
    """

    def __init__(self, ax: Axes, points: Points, view: View, bias: bool) -> None:
        self.ax, self.points, self.view = ax, points, view
        self.flat = view.flat(points.X)
        self.box = self._choose_box(bias)
        self.unit = np.ptp(self.box, axis=1) / inches(ax)  # where the axes have different units
        self.unit /= self.unit.max()
        self.moving: dict[str, Any] = {}
        self.crosses = len(self.flat) <= CROSSES
        handles = self._draw_points()
        handles += self._make_moving()
        legend_above(ax, handles, columns=4)
        ax.set_xlabel(plain(short(view.names[0], 40)), labelpad=2)
        ax.set_ylabel(plain(short(view.names[1], 28)), labelpad=2)
        self.one_line = not view.names[1]  # one feature: the height means nothing
        if self.one_line:
            ax.set_yticks([])

    def _choose_box(self, bias: bool) -> np.ndarray:
        low, high = self.flat.min(axis=0), self.flat.max(axis=0)
        size = high - low
        size[size == 0] = 0.2 * size.max() or 1.0
        if len(self.view.at) <= 2:  # a boundary with no or a small bias passes near zero
            wide = np.maximum(high, 0.0) - np.minimum(low, 0.0)
            if not bias or np.all(wide <= FAR * size):
                low, high, size = np.minimum(low, 0.0), np.maximum(high, 0.0), np.maximum(wide, size)
        middle, half = 0.5 * (low + high), (0.5 + ROOM) * size
        equal = not self.view.sliced and size.max() <= UNLIKE * size.min()
        return place(self.ax, np.stack([middle - half, middle + half], axis=1), equal)

    def _draw_points(self) -> list[Any]:
        from matplotlib.lines import Line2D

        area, alpha = point_size(len(self.flat))
        handles: list[Any] = []
        for code, style in enumerate(class_styles(self.points.labels)):
            mine = self.flat[self.points.codes == code]
            self.ax.scatter(
                mine[:, 0], mine[:, 1], s=area, c=style.colour, marker=style.marker, alpha=alpha, lw=0
            )
            sign = "+1" if code == 1 else "−1"
            same = plain_sign(style.label) == sign
            name = plain(sign if same else f"{sign}: {short(style.label, 13)}")
            handles.append(Line2D([], [], ls="", marker=style.marker, color=style.colour, label=name))
        return handles

    def _make_moving(self) -> list[Any]:
        from matplotlib.lines import Line2D
        from matplotlib.patheffects import withStroke

        ax, side = self.ax, point_size(len(self.flat))[0] ** 0.5
        dashed: Any = (0, (4, 3))
        self.moving = {
            "old boundary": line(ax, color=GREY, lw=1.3, ls=dashed),
            "boundary": line(ax, color=BLACK, lw=1.8),
            "wrong": line(ax, color=BLACK, ls="", marker="x", ms=max(2.0, 0.8 * side), mew=0.9),
            "ring": line(ax, color=BLACK, ls="", marker="o", mfc="none"),
            "old w": arrow(ax, GREY, 1.6),
            "step": arrow(ax, STEP, 3.4),
            "w": arrow(ax, BLACK, 1.8),
            "outside": ax.text(
                0.5, 0.5, "", size=9, color=BLACK, transform=ax.transAxes, animated=True,
                bbox={"boxstyle": "round", "fc": "white", "ec": GREY, "lw": 0.6},
            ),
        }  # fmt: skip
        self.moving["ring"].set_path_effects([withStroke(linewidth=3.4, foreground="white")])
        ring: dict[str, Any] = {"marker": "o", "ms": 9, "mfc": "none", "mew": 1.6}
        handles = [
            Line2D([], [], ls="", color=BLACK, label="in hand", **ring),
            Line2D([], [], color=BLACK, lw=1.8, label="boundary"),
            Line2D([], [], color=GREY, lw=1.3, ls=dashed, label="before"),
            Line2D([], [], color=BLACK, lw=1.8, marker=">", ms=5, markevery=[1], label="w"),
            Line2D([], [], color=STEP, lw=3.0, label="added to w"),
        ]
        if self.crosses:
            cross = Line2D([], [], ls="", marker="x", ms=5, color=BLACK, label="wrong now")
            handles.insert(1, cross)
        return handles

    def length(self, v: np.ndarray) -> float:
        """How long a w is drawn, but for a factor that is the same for all."""
        return float(np.linalg.norm(v * self.unit))

    def move(self, frame: Still, old: np.ndarray, new: np.ndarray, reach: float) -> None:
        """Show a frame; a w of length ``reach`` is as long as arrows may be."""
        moving = self.moving
        for name, z in (("old boundary", frame.before), ("boundary", frame.after)):
            ends = self._ends(z)
            moving[name].set_data(*(([], []) if ends is None else ends))
        moving["old boundary"].set_visible(frame.update)
        self._say_where(frame.after)
        moving["wrong"].set_data(*self.flat[frame.wrong if self.crosses else []].T)
        held, side = frame.rows, point_size(len(self.flat))[0] ** 0.5
        moving["ring"].set_data(*self.flat[held if len(held) == 1 or self.crosses else []].T)
        moving["ring"].set(ms=side + (8 if len(held) == 1 else 4), mew=2.0 if len(held) == 1 else 1.2)
        # w, what is added, and their sum; in different units normal to the boundary as seen.
        scale = LONGEST * (np.ptp(self.box, axis=1) / self.unit).min() / reach * self.unit**2
        foot = self._foot(frame.after, scale * np.array([old, new]))
        aim(moving["w"], foot, foot + scale * new)
        aim(moving["old w"], foot, foot + scale * old, frame.update)
        aim(moving["step"], foot + scale * old, foot + scale * new, frame.update)

    def _ends(self, z: np.ndarray) -> Any:
        v, c = self.view.plane(z[:-1], z[-1])
        return box_line(v, c, self.box) if np.any(v) else None

    def _foot(self, z: np.ndarray, tips: np.ndarray) -> np.ndarray:
        """Where arrows begin: on the boundary near the middle; in the middle, if they would leave."""
        middle = np.asarray(self.box.mean(axis=1))
        if self.one_line:
            middle[1] += ABOVE * float(np.ptp(self.box[1]))  # above the points
        ends = self._ends(z)
        if ends is None:
            return middle
        a, b = np.array(ends).T
        along = (b - a) / self.unit
        share = float((middle - a) / self.unit @ along) / float(along @ along)
        foot = a + float(np.clip(share, 0.08, 0.92)) * (b - a)
        inside = np.all((foot + tips > self.box[:, 0]) & (foot + tips < self.box[:, 1]))
        return np.asarray(foot) if inside else middle

    def _say_where(self, z: np.ndarray) -> None:
        """Words in place of a boundary that is not to be seen."""
        words, towards = "", np.array([0.0, 1.0])
        v, c = self.view.plane(z[:-1], z[-1])
        if not np.any(z[:-1]):
            words = "no boundary: w = 0"
        elif not np.any(v):
            words = "no boundary in this slice"
        elif self._ends(z) is None:
            towards = -np.sign(float(v @ self.box.mean(axis=1)) + c) * v * self.unit  # as seen
            eighth = round(float(np.arctan2(towards[1], towards[0])) / (np.pi / 4)) % 8
            words = f"the boundary is outside {WAYS[eighth]}"
        said = self.moving["outside"]
        said.set(text=words, visible=bool(words))
        if words:
            put_words(said, towards, self.ax.transData.transform(self.flat))
