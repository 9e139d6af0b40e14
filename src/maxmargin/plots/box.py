"""The box of a picture: what it shows of the plane, and the parts of lines and strips inside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.plots.style import plain, wrapped
from maxmargin.plots.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Frame", "box_line", "box_strip", "frame_points", "one_step"]

ROOM = 0.08  # share of the picture left free around the points
LONG = 4.0  # a picture longer than this, against its width, is drawn with unequal units
MANY, FEW = 7, 5  # ticks along an axis, and if their numbers are longer than
SHORT = 4  # letters at most
LETTERS = 30  # of a name that fit along an axis
LINE = 0.18  # inches of a line of words


@dataclass(frozen=True)
class Frame:
    """What is shown: ``box`` is [[x0, x1], [y0, y1]]."""

    box: np.ndarray
    equal: bool  # one unit is as long across as up, so right angles are seen
    fixed: tuple[float | None, float | None] = (None, None)  # the value of a constant coordinate
    lanes: bool = False  # one feature: the height tells classes apart and means nothing

    def fit(self, ax: Axes) -> None:
        """Make the figure so large that the picture, its names and its key fill it."""
        width, height = 5.2, 4.1
        if self.equal:
            across, up = np.ptp(self.box, axis=1)
            width = float(np.clip(height * across / up, 3.2, width))
            height = float(np.clip(width * up / across, 2.0, height))
        key, side = ax.get_legend(), 0.0
        if key is not None:
            extent = key.get_window_extent()
            side = extent.width / ax.figure.dpi + 0.2
            height = max(height, extent.height / ax.figure.dpi)
        beside = 0.8 + LINE * ax.get_ylabel().count("\n")
        lines = sum(text.get_text().count("\n") + 1 for text in ax.texts if text.get_text())
        above = 0.9 + LINE * (lines + ax.get_xlabel().count("\n"))
        ax.figure.set_size_inches(width + beside + side, height + above)  # type: ignore[union-attr]

    @property
    def scale(self) -> np.ndarray:
        """Lengths that look the same: one side of the picture, or the shorter for equal units."""
        size = np.ptp(self.box, axis=1)
        return np.full(2, size.min()) if self.equal else size

    def apply(self, ax: Axes, names: tuple[str, str]) -> None:
        """Set limits, units, ticks and names of the axes."""
        ax.set(xlim=self.box[0], ylim=self.box[1])
        ax.set_xlabel(plain(wrapped(names[0], LETTERS + 10)))
        ax.set_ylabel("" if self.lanes else plain(wrapped(names[1], LETTERS)))
        ax.set_aspect("equal" if self.equal else "auto", adjustable="box")
        ax.set_anchor("NW")  # the layout then leaves room for title and key, which follow the picture
        for axis, value in zip((ax.xaxis, ax.yaxis), self.fixed, strict=True):
            if value is not None:
                axis.set_ticks([value])
            else:
                _set_ticks(axis)
        if self.lanes:
            ax.set_yticks([])


def _set_ticks(axis: Any) -> None:
    """Set about seven ticks, or five if their numbers are long."""
    from matplotlib.ticker import MaxNLocator

    for count in (MANY, FEW):
        axis.set_major_locator(MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]))
        if max(map(len, axis.get_major_formatter().format_ticks(axis.get_majorticklocs()))) <= SHORT:
            return


def frame_points(flat: np.ndarray, view: View, largest: np.ndarray) -> Frame:
    """Choose the box around points: all of them, with some room, a constant coordinate in the middle.

    ``largest`` is the largest |x| of each feature. Differences as small as its rounding are none: the
    picture does not zoom into them.
    """
    low, high = flat.min(axis=0), flat.max(axis=0)
    size, middle = high - low, 0.5 * low + 0.5 * high
    grain = 1e-12 * (np.abs(view.axes) @ largest) + 1e-300
    constant = size <= grain
    for k in np.flatnonzero(constant):
        other = float(size[1 - k])
        size[k] = 0.2 * abs(middle[k]) if abs(middle[k]) > grain[k] else 0.3 * other or 1.0
    if len(largest) == 1:
        across = ROOM * float(size[0]) + 0.5 * float(size[0])
        return Frame(
            np.array([[middle[0] - across, middle[0] + across], [-1.0, 1.0]]), False, lanes=True
        )
    equal = bool(size.max() <= LONG * size.min())
    half = 0.5 * size + ROOM * (size.max() if equal else size)
    first, second = (float(m) if still else None for m, still in zip(middle, constant, strict=True))
    fixed = (None, None) if view.projected else (first, second)
    return Frame(np.array([middle - half, middle + half]).T, equal, fixed)


def one_step(v: np.ndarray) -> np.ndarray:
    """The shortest step that adds one to v·u, also if v is so small that its square is nought."""
    most = float(np.abs(v).max())
    unit = v / most
    return np.asarray(unit / float(unit @ unit) / most)


def box_line(v: np.ndarray, c: float, box: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The part of the line v·u + c = 0 inside a box [[x0, x1], [y0, y1]]: xs and ys, or None."""
    ends = []
    for k, other in ((0, 1), (1, 0)):
        if v[other] == 0.0:
            continue
        for value in box[k]:
            u = np.empty(2)
            u[k], u[other] = value, -(c + v[k] * value) / v[other]
            slack = 1e-9 * float(np.ptp(box[other]))
            if box[other, 0] - slack <= u[other] <= box[other, 1] + slack:
                ends.append(u)
    if len(ends) < 2:
        return None
    size = np.ptp(box, axis=1)
    along = np.array([-v[1], v[0]]) / np.abs(v).max()
    ends.sort(key=lambda u: float(along @ u))
    if np.all(np.abs(ends[-1] - ends[0]) <= 1e-9 * size):  # it touches a corner
        return None
    pair = np.array([ends[0], ends[-1]])
    return pair[:, 0], pair[:, 1]


def box_strip(v: np.ndarray, c: float, box: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The corners of {u in the box: |v·u + c| ≤ 1}: xs and ys, or None."""
    corners = np.array([[x, y] for x in box[0] for y in box[1]])[[0, 1, 3, 2]]
    for normal, offset in ((v, c + 1.0), (-v, 1.0 - c)):
        corners = _clip(corners, normal, offset)
        if len(corners) < 3:
            return None
    return corners[:, 0], corners[:, 1]


def _clip(corners: np.ndarray, v: np.ndarray, c: float) -> np.ndarray:
    """The part of a convex polygon where v·u + c ≥ 0 (Sutherland and Hodgman 1974)."""
    kept: list[np.ndarray] = []
    for p, q in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        f, g = float(v @ p) + c, float(v @ q) + c
        if f >= 0:
            kept.append(p)
        if f * g < 0:
            kept.append(p + f / (f - g) * (q - p))
    return np.array(kept).reshape(-1, 2)
