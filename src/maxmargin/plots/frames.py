"""The frames of an animated run: what stays is drawn once, and what moves is laid over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.plots.captions import Frame, short
from maxmargin.plots.data import Points
from maxmargin.plots.style import BLACK, COLOURS, GREY, class_styles, point_size
from maxmargin.plots.view import View
from maxmargin.plots.wspace import find_cone
from maxmargin.plots.xspace import box_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from PIL import Image

__all__ = ["Painter"]

STEP, CONE = COLOURS[2], "#D3EBE2"  # what is added to w; where w should be
EARLY = 4  # frames that fit into w-space before it grows
GROWTH = 1.5  # how much it grows at a time
LINES = 200  # rows drawn as lines in w-space, at most
FAR = 2.5  # times its size that the picture may grow to show zero
UNLIKE = 20.0  # ratio of the features' ranges beyond which lengths cannot be true both ways
CROSSES = 2_000  # points among which the misclassified ones are marked, at most
ROOM = 0.08  # share of the picture left free around the points
LINE = 0.22  # inches between lines of the caption
SHAPE = {True: (9.0, 4.5, 3.9), False: (7.0, 5.6, 4.6)}  # inches: picture, panel, its height; two or one


class Painter:
    """Draws frames on one canvas: x-space, and w-space beside it if ``both``.

    Attributes
    ----------
    axes : list of Axes
        x-space, w-space.
    moving : dict of str to artist
        What changes from frame to frame: "boundary", "old boundary", "ring", "wrong", "w", "old w",
        "step", and in w-space "path", "line", "w now", "w step".
    """

    def __init__(self, points: Points, view: View, both: bool, bias: bool, dpi: float) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.points, self.view, self.both = points, view, both
        self.caption = 0.2 + LINE * (3 + bias)  # inches below the panels
        wide, self.each, self.high = SHAPE[both]
        self.size = (wide, self.high + self.caption)
        self.figure = Figure(figsize=self.size, dpi=dpi, facecolor="white")
        self.canvas: Any = FigureCanvasAgg(self.figure)
        self.flat = view.flat(points.X)
        self.moving: dict[str, Any] = {}
        self.axes = [self._panel(k, 1 + both) for k in range(1 + both)]
        self._draw_x_space(self.axes[0], bias)
        if both:
            self._draw_w_space(self.axes[1])
        self.texts = [
            self.figure.text(
                0.25 / self.size[0],
                (self.caption - 0.1 - LINE * k) / self.size[1],
                "",
                size=10,
                weight="bold" if k == 0 else "normal",
                color=BLACK,
                va="center",
                animated=True,
                parse_math=False,
            )
            for k in range(3 + bias)
        ]
        self.path: list[np.ndarray] = []
        self.reach = np.ones(2)  # lengths of w that fit into w-space and into x-space
        self._still: Any = None

    @property
    def panels(self) -> tuple[int, int, int, int]:
        """Where the panels are, in dots from the upper left corner, without the caption."""
        free = 0.5 * (self.size[0] - len(self.axes) * self.each)
        corners = (free, 0.0, self.size[0] - free, self.high)
        left, top, right, bottom = (round(self.figure.dpi * inches) for inches in corners)
        return left, top, right, bottom

    def paint(self, frames: Sequence[Frame]) -> Iterator[Image.Image]:
        """Draw frame after frame as images of few colours, which compress well."""
        from PIL import Image

        palette = Image.new("P", (1, 1))
        palette.putpalette(_palette())
        self.path, self._still = [], None
        self.reach = np.max([self._lengths(frame) for frame in frames[:EARLY]], axis=0)
        self.reach[self.reach == 0] = 1.0
        for frame in frames:
            self.draw(frame)
            size, dots = self.canvas.get_width_height(), self.canvas.buffer_rgba()
            shown = Image.frombuffer("RGBA", size, dots, "raw", "RGBA", 0, 1)
            yield shown.convert("RGB").quantize(palette=palette, dither=Image.Dither.NONE)

    def draw(self, frame: Frame) -> None:
        """Draw one frame; w-space grows now and then, so that early steps are seen as well."""
        old, new = (self.view.axes @ z[:-1] for z in (frame.before, frame.after))
        if self.path and not np.array_equal(old, self.path[-1]):
            self.path += [np.full(2, np.nan), old]  # updates were left out
        self.path.append(new)
        while np.any(self._lengths(frame) > self.reach):
            self.reach, self._still = GROWTH * self.reach, None
        if self._still is None:
            if self.both:
                side = 1.12 * self.reach[0]
                self._place(self.axes[1], np.array([[-side, side], [-side, side]]), equal=True)
                self.lines.set_segments(list(4 * side * self.along))
                if self.cone is not None:
                    self.cone.set_radius(4 * side)
            self.canvas.draw()
            self._still = self.canvas.copy_from_bbox(self.figure.bbox)
        self._move_x_space(frame, old, new)
        if self.both:
            self._move_w_space(frame, old, new)
        self.canvas.restore_region(self._still)
        for artist in self.moving.values():
            artist.axes.draw_artist(artist)
        for k, text in enumerate(self.texts):
            line = frame.lines[k] if k < len(frame.lines) else ""
            text.set_text(line)
            for shrink in (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5):
                text.set_fontsize(10.0 * shrink)
                if text.get_window_extent().x1 <= self.figure.bbox.x1 - 0.1 * self.figure.dpi:
                    break
            self.figure.draw_artist(text)

    def _lengths(self, frame: Frame) -> np.ndarray:
        """How long w is: as it is, and in x-space as drawn."""
        flat = np.array([self.view.axes @ z[:-1] for z in (frame.before, frame.after)])
        return np.array([np.linalg.norm(v, axis=1).max() for v in (flat, flat * self.unit)])

    def _panel(self, place: int, many: int) -> Axes:
        wide, high = self.size
        left, right, low, top = 0.65, 0.2, 0.55, 0.62  # inches around the axes
        free = 0.5 * (wide - many * self.each)
        return self.figure.add_axes(
            (
                (free + place * self.each + left) / wide,
                (self.caption + low) / high,
                (self.each - left - right) / wide,
                (self.high - low - top) / high,
            )
        )

    def _place(self, ax: Axes, box: np.ndarray, equal: bool) -> np.ndarray:
        """Set the limits; with ``equal`` the box is widened until lengths are true both ways."""
        size = np.ptp(box, axis=1)
        if equal:
            frame = ax.get_position()
            shape = frame.width * self.size[0] / (frame.height * self.size[1])
            size = np.maximum(size, [size[1] * shape, size[0] / shape])
        middle = box.mean(axis=1)
        box = np.stack([middle - 0.5 * size, middle + 0.5 * size], axis=1)
        ax.set_xlim(*box[0])
        ax.set_ylim(*box[1])
        return box

    def _draw_x_space(self, ax: Axes, bias: bool) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patheffects import withStroke

        low, high = self.flat.min(axis=0), self.flat.max(axis=0)
        size = high - low
        size[size == 0] = 0.2 * size.max() or 1.0
        if len(self.view.at) <= 2:  # a boundary with no or a small bias passes near zero
            wide = np.maximum(high, 0.0) - np.minimum(low, 0.0)
            if not bias or np.all(wide <= FAR * size):
                low, high, size = np.minimum(low, 0.0), np.maximum(high, 0.0), np.maximum(wide, size)
        middle, half = 0.5 * (low + high), (0.5 + ROOM) * size
        equal = not self.view.sliced and size.max() <= UNLIKE * size.min()
        self.box = self._place(ax, np.stack([middle - half, middle + half], axis=1), equal)
        frame = ax.get_position()
        inches = np.array([frame.width * self.size[0], frame.height * self.size[1]])
        self.unit = np.ptp(self.box, axis=1) / inches
        self.unit /= self.unit.max()
        area, alpha = point_size(len(self.flat))
        handles: list[Any] = []
        for code, style in enumerate(class_styles(self.points.labels)):
            mine = self.points.codes == code
            ax.scatter(
                self.flat[mine, 0],
                self.flat[mine, 1],
                s=area,
                c=style.colour,
                marker=style.marker,
                alpha=alpha,
                linewidths=0,
            )
            sign = "+1" if code == 1 else "−1"
            plain = str(style.label).replace("-", "−") == sign.lstrip("+")
            name = sign if plain else f"{sign}: {short(style.label, 10)}"
            handles.append(
                Line2D([], [], ls="", marker=style.marker, color=style.colour, label=_plain(name))
            )
        self.moving |= {
            "old boundary": _line(ax, color=GREY, lw=1.3, ls=(0, (4, 3))),
            "boundary": _line(ax, color=BLACK, lw=1.8),
            "wrong": _line(ax, color=BLACK, ls="", marker="x", ms=max(2.0, 0.8 * area**0.5), mew=0.9),
            "ring": _line(ax, color=BLACK, ls="", marker="o", ms=area**0.5 + 8, mfc="none", mew=2.0),
            "old w": _arrow(ax, GREY, 1.6),
            "step": _arrow(ax, STEP, 3.4),
            "w": _arrow(ax, BLACK, 1.8),
        }
        self.moving["ring"].set_path_effects([withStroke(linewidth=3.4, foreground="white")])
        handles += [
            Line2D([], [], ls="", marker="o", ms=9, mfc="none", color=BLACK, mew=1.6, label="in hand"),
            Line2D([], [], color=BLACK, lw=1.8, label="boundary"),
            Line2D([], [], color=GREY, lw=1.3, ls=(0, (4, 3)), label="before"),
            Line2D([], [], color=BLACK, lw=1.8, marker=">", ms=5, markevery=[1], label="w"),
            Line2D([], [], color=STEP, lw=3.0, label="added to w"),
        ]
        self.crosses = len(self.flat) <= CROSSES
        if self.crosses:
            handles.insert(3, Line2D([], [], ls="", marker="x", ms=5, color=BLACK, label="wrong now"))
        _legend(ax, handles, columns=4)
        ax.set_xlabel(_plain(self.view.names[0]), labelpad=2)
        ax.set_ylabel(_plain(self.view.names[1]), labelpad=2)

    def _draw_w_space(self, ax: Axes) -> None:
        from matplotlib.collections import LineCollection
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch, Wedge

        A = self.points.signs[:, None] * self.flat
        cone = find_cone(A)
        handles: list[Any] = []
        self.cone: Any = None
        if cone is not None:
            self.cone = Wedge((0, 0), 1.0, *np.degrees(cone), color=CONE, lw=0, zorder=0)
            ax.add_patch(self.cone)
            handles.append(Patch(fc=CONE, ec=STEP, lw=0.8, label="feasible w"))
        some = np.unique(np.linspace(0, len(A) - 1, min(len(A), LINES)).astype(int))
        some = some[np.any(A[some] != 0, axis=1)]
        along = np.stack([-A[some, 1], A[some, 0]], axis=1)
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        styles = class_styles(self.points.labels)
        self.along = np.stack([-along, along], axis=1)
        self.lines = LineCollection(
            list(self.along),
            colors=[styles[c].colour for c in self.points.codes[some]],
            linewidths=0.9,
            alpha=max(0.25, min(0.8, 12.0 / max(len(some), 1))),
            zorder=1,
        )
        ax.add_collection(self.lines, autolim=False)
        ax.plot(0, 0, marker="+", color=GREY, ms=7)
        self.moving |= {
            "line": _line(ax, color=BLACK, lw=2.6),
            "path": _line(ax, color=BLACK, lw=0.7, marker=".", ms=3.5, alpha=0.5),
            "w step": _arrow(ax, STEP, 3.4),
            "w now": _line(ax, color=BLACK, ls="", marker="o", ms=6.5, mec="white", mew=1.0),
        }
        handles += [
            Line2D([], [], color=BLACK, lw=2.6, label="x·w = 0, x in hand"),
            Line2D([], [], color=STEP, lw=3.4, label="added to w"),
            Line2D([], [], color=BLACK, ls="", marker="o", ms=6, label="w"),
            Line2D([], [], color=BLACK, lw=0.9, marker=".", ms=4, alpha=0.6, label="its path"),
        ]
        _legend(ax, handles, columns=3)
        first, second = ("w₁", "w₂") if self.view.axes[0, 0] else ("w₂", "w₁")
        ax.set_xlabel(first, labelpad=2)
        ax.set_ylabel(second, labelpad=2)

    def _move_x_space(self, frame: Frame, old: np.ndarray, new: np.ndarray) -> None:
        for name, z in (("old boundary", frame.before), ("boundary", frame.after)):
            v, c = self.view.plane(z[:-1], z[-1])
            ends = box_line(v, c, self.box) if np.any(v) else None
            self.moving[name].set_data(*(([], []) if ends is None else ends))
        self.moving["old boundary"].set_visible(frame.update)
        marked = frame.wrong if self.crosses else frame.wrong[:0]
        self.moving["wrong"].set_data(*self.flat[marked].T)
        held = self.flat[[frame.row]] if frame.row >= 0 else np.empty((0, 2))
        self.moving["ring"].set_data(*held.T)
        # w, what is added, and their sum, drawn from a point of the boundary near the middle.
        middle, size = self.box.mean(axis=1), np.ptp(self.box, axis=1)
        foot = middle
        v, c = self.view.plane(frame.after[:-1], frame.after[-1])
        if np.any(v):
            foot = middle - (float(v @ middle) + c) / float(v @ v) * v
            if np.any(np.abs(foot - middle) > 0.4 * size):
                foot = middle
        # Where the axes have different units, w is drawn so that it is normal to the boundary as seen.
        scale = 0.38 * (size / self.unit).min() / self.reach[1] * self.unit**2
        _aim(self.moving["w"], foot, foot + scale * new)
        _aim(self.moving["old w"], foot, foot + scale * old, frame.update)
        _aim(self.moving["step"], foot + scale * old, foot + scale * new, frame.update)

    def _move_w_space(self, frame: Frame, old: np.ndarray, new: np.ndarray) -> None:
        self.moving["path"].set_data(*np.array(self.path).T)
        self.moving["path"].set_markersize(3.5 if len(self.path) <= 20 else 2.0)
        self.moving["w now"].set_data([new[0]], [new[1]])
        _aim(self.moving["w step"], old, new, frame.update)
        x = self.flat[frame.row] if frame.row >= 0 else np.zeros(2)
        ends = None
        if np.any(x):
            side = 1.5 * self.reach[0]
            ends = box_line(x, 0.0, np.array([[-4 * side, 4 * side], [-side, side]]))
            colour = class_styles(self.points.labels)[self.points.codes[frame.row]].colour
            self.moving["line"].set_color(colour)
        self.moving["line"].set_data(*(([], []) if ends is None else ends))


def _plain(text: str) -> str:
    return text.replace("$", r"\$")


def _line(ax: Axes, **style: Any) -> Any:
    (line,) = ax.plot([], [], animated=True, scalex=False, scaley=False, **style)
    return line


def _arrow(ax: Axes, colour: str, width: float) -> Any:
    from matplotlib.patches import FancyArrowPatch

    arrow: Any = FancyArrowPatch(
        (0, 0), (1, 1), arrowstyle="-|>", color=colour, lw=width, shrinkA=0, shrinkB=0, animated=True,
    )  # fmt: skip
    arrow.width, arrow.head = width, 9.0 + 2.0 * width
    ax.add_patch(arrow)
    return arrow


def _aim(arrow: Any, tail: np.ndarray, tip: np.ndarray, visible: bool = True) -> None:
    """Point an arrow; one too short to be seen is not drawn."""
    pixels = arrow.axes.transData.transform([tail, tip])
    points = float(np.linalg.norm(pixels[1] - pixels[0])) * 72.0 / arrow.figure.dpi
    arrow.set_visible(visible and points > 2.0)
    arrow.set_mutation_scale(min(arrow.head, 1.2 * points))
    arrow.set_linewidth(min(arrow.width, 0.2 * points))
    arrow.set_positions(tuple(tail), tuple(tip))


def _legend(ax: Axes, handles: list[Any], columns: int) -> None:
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, frameon=False,
        fontsize=8, handlelength=1.6, columnspacing=1.2, borderaxespad=0.2, labelspacing=0.25,
    )  # fmt: skip


def _palette() -> list[int]:
    """Every colour of the pictures in steps towards white, and towards black on the lines that cross."""

    def mix(a: str, b: str, share: float) -> list[int]:
        pair = [[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in (a, b)]
        return [round((1 - share) * p + share * q) for p, q in zip(*pair, strict=True)]

    shades = [[255, 255, 255], mix(CONE, CONE, 0)]
    shades += [mix(c, "#FFFFFF", k / 24) for c in (BLACK, GREY, *COLOURS[:3]) for k in range(23)]
    shades += [mix(c, d, k / 8) for c in COLOURS[:3] for d in (BLACK, CONE) for k in range(1, 8)]
    shades += [mix(BLACK, CONE, k / 12) for k in range(12)]
    flat = [v for shade in shades[:256] for v in shade]
    return flat + [255] * (768 - len(flat))
