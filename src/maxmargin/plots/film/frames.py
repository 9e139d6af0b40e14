"""The frames of an animated run: what stays is drawn once, and what moves is laid over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from maxmargin.plots.artists import draw_points
from maxmargin.plots.data import Points, View
from maxmargin.plots.film.captions import Still, plain_sign, short
from maxmargin.plots.geometry import EMPTY_BORDER, box_line, find_cone
from maxmargin.plots.style import BLACK, COLOURS, GREY, class_styles, plain, point_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL import Image

STEP_COLOUR = COLOURS[2]  # what is added to w
CONE_COLOUR = "#F8F3AA"  # where w has all rows right: that of w-space, thinned
UPDATE_NAMES = {False: "update y·x", True: "update"}  # of one row, or of a batch


def inches(ax: Axes) -> np.ndarray:
    """Width and height of the axes."""
    frame, figure = ax.get_position(), cast("Figure", ax.figure)
    return np.asarray([frame.width, frame.height] * figure.get_size_inches())


def set_limits(ax: Axes, box: np.ndarray, equal: bool) -> np.ndarray:
    """Set the limits; with ``equal`` the box is widened until lengths are true both ways."""
    size = np.ptp(box, axis=1)
    if equal:
        wide, high = inches(ax)
        size = np.maximum(size, [size[1] * wide / high, size[0] * high / wide])
    middle = box.mean(axis=1)
    box = np.stack([middle - 0.5 * size, middle + 0.5 * size], axis=1)
    ax.set_xlim(*box[0])
    ax.set_ylim(*box[1])
    return box


def make_line(ax: Axes, **style: Any) -> Any:
    """A line or markers, moved by ``set_data``."""
    (made,) = ax.plot([], [], animated=True, scalex=False, scaley=False, **style)
    return made


def move_line(artist: Any, ends: tuple[np.ndarray, np.ndarray] | None) -> None:
    """Show a line between its ends, or no line."""
    artist.set_data(*(([], []) if ends is None else ends))


def make_arrow(ax: Axes, colour: str, width: float) -> Any:
    """An arrow, moved by :func:`point_arrow`."""
    from matplotlib.patches import FancyArrowPatch

    made: Any = FancyArrowPatch(
        (0, 0), (1, 1), arrowstyle="-|>", color=colour, lw=width, shrinkA=0, shrinkB=0, animated=True,
    )  # fmt: skip
    made.width, made.head = width, 9.0 + 2.0 * width
    ax.add_patch(made)
    return made


def point_arrow(arrow: Any, tail: np.ndarray, tip: np.ndarray, visible: bool = True) -> None:
    """Point an arrow; one too short to be seen is not drawn."""
    pixels = arrow.axes.transData.transform([tail, tip])
    points = float(np.linalg.norm(pixels[1] - pixels[0])) * 72.0 / arrow.figure.dpi
    arrow.set_visible(visible and points > 2.0)
    arrow.set_mutation_scale(min(arrow.head, 1.2 * points))
    arrow.set_linewidth(min(arrow.width, 0.2 * points))
    arrow.set_positions(tuple(tail), tuple(tip))


def place_words(text: Any, towards: np.ndarray, points: np.ndarray) -> None:
    """Move words to the edge that lies ``towards``, or to another where they cover no points."""
    places = [np.array([x, y]) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y]
    places.sort(key=lambda at: -float(at @ towards) / float(np.linalg.norm(at)))
    free = None
    for at in places:
        text.set(position=tuple(0.5 + 0.48 * at), ha=("left", "center", "right")[at[0] + 1])
        text.set(va=("bottom", "center", "top")[at[1] + 1])
        (x0, y0), (x1, y1) = text.get_window_extent().padded(12).get_points()
        x, y = points.T
        covered = int(np.count_nonzero((x0 < x) & (x < x1) & (y0 < y) & (y < y1)))
        if free is None or covered < free[0]:
            free = covered, text.get_position(), text.get_ha(), text.get_va()
        if not covered:
            return
    assert free is not None
    text.set(position=free[1], ha=free[2], va=free[3])


def legend_above(ax: Axes, handles: list[Any], columns: int) -> None:
    """A legend above the panel, where it covers nothing; smaller if it would be wider."""
    for size in (8.0, 7.5, 7.0, 6.5, 6.0):
        shown = ax.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, frameon=False,
            fontsize=size, handlelength=1.6, columnspacing=1.2, borderaxespad=0.2, labelspacing=0.25,
        )  # fmt: skip
        if shown.get_window_extent().x1 <= ax.get_window_extent().x1 + 0.05 * shown.figure.dpi:
            return


def palette() -> list[int]:
    """Every colour of the pictures in steps towards white, and towards black on the lines that cross."""

    def mix(a: str, b: str, share: float) -> list[int]:
        pair = [[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in (a, b)]
        return [round((1 - share) * p + share * q) for p, q in zip(*pair, strict=True)]

    shades = [[255, 255, 255], mix(CONE_COLOUR, CONE_COLOUR, 0)]
    shades += [mix(c, "#FFFFFF", k / 24) for c in (BLACK, GREY, *COLOURS[:3]) for k in range(23)]
    shades += [mix(c, d, k / 8) for c in COLOURS[:3] for d in (BLACK, CONE_COLOUR) for k in range(1, 8)]
    shades += [mix(BLACK, CONE_COLOUR, k / 12) for k in range(12)]
    flat = [v for shade in shades[:256] for v in shade]
    return flat + [255] * (768 - len(flat))


# w-space in a film: rows are lines; w walks among them into the cone where all rows are right.

MAX_DRAWN_LINES = 200  # rows drawn as lines, at most
WIDTH_AROUND_W = 1.12  # half the side of the picture against the longest w


class WPanel:
    """w-space of two features without bias: lines, cone, and the path of w.

    Attributes
    ----------
    moving : dict of str to artist
        "line", of the current row; "path", "w now" and "w step".
    """

    def __init__(self, ax: Axes, points: Points, view: View, batch: bool) -> None:
        self.ax, self.points = ax, points
        self.flat = view.flat(points.X)
        self.colours = [style.colour for style in class_styles(points.labels)]
        handles = self._draw_cone() + self._draw_lines(batch)
        self.moving = {
            "line": make_line(ax, color=BLACK, lw=2.6),
            "path": make_line(ax, color=BLACK, lw=0.7, marker=".", ms=3.5, alpha=0.5),
            "w step": make_arrow(ax, STEP_COLOUR, 3.4),
            "w now": make_line(ax, color=BLACK, ls="", marker="o", ms=6.5, mec="white", mew=1.0),
        }
        legend_above(ax, handles, columns=3)
        cut = replace(points, names=tuple(short(name, 18) for name in points.names))
        first, second = cut.weight_names if view.axes[0, 0] else reversed(cut.weight_names)
        ax.set_xlabel(plain(first), labelpad=2)
        ax.set_ylabel(plain(second), labelpad=2)

    def _draw_cone(self) -> list[Any]:
        from matplotlib.patches import Patch, Wedge

        cone = find_cone(self.points.signs[:, None] * self.flat)
        self.cone: Any = None
        if cone is None:
            return [Patch(fc="none", ec="none", label="no w has all right")]
        self.cone = Wedge((0, 0), 1.0, *np.degrees(cone), color=CONE_COLOUR, lw=0, zorder=0)
        self.ax.add_patch(self.cone)
        return [Patch(fc=CONE_COLOUR, ec=GREY, lw=0.8, label="all points right")]

    def _draw_lines(self, batch: bool) -> list[Any]:
        from matplotlib.collections import LineCollection
        from matplotlib.lines import Line2D

        n = len(self.flat)
        some = np.unique(np.linspace(0, n - 1, min(n, MAX_DRAWN_LINES)).astype(int))
        some = some[np.any(self.flat[some] != 0, axis=1)]
        along = np.stack([-self.flat[some, 1], self.flat[some, 0]], axis=1)
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        self.along = np.stack([-along, along], axis=1)
        colours = [self.colours[c] for c in self.points.codes[some]]
        opacity = max(0.25, min(0.8, 12.0 / max(len(some), 1)))
        look: dict[str, Any] = {"linewidths": 0.9, "alpha": opacity, "zorder": 1}
        self.lines = LineCollection(list(self.along), colors=colours, **look)
        self.ax.add_collection(self.lines, autolim=False)
        self.ax.plot(0, 0, marker="+", color=GREY, ms=7)
        share = "" if n <= MAX_DRAWN_LINES else f", {len(some)} drawn"
        bold = [Line2D([], [], color=BLACK, lw=2.6, label="… of the current row")]
        return [
            Line2D([], [], color=BLACK, lw=0.9, label=f"x·w = 0 of a row{share}"),
            *([] if batch else bold),  # a batch has no current row
            Line2D([], [], color=STEP_COLOUR, lw=3.4, label=UPDATE_NAMES[batch]),
            Line2D([], [], color=BLACK, ls="", marker="o", ms=6, label="w"),
            Line2D([], [], color=BLACK, lw=0.9, marker=".", ms=4, alpha=0.6, label="its path"),
        ]

    def grow(self, reach: float) -> None:
        """Make room for a w of length ``reach``."""
        side = WIDTH_AROUND_W * reach
        self.side = side
        set_limits(self.ax, np.array([[-side, side], [-side, side]]), equal=True)
        self.lines.set_segments(list(4 * side * self.along))
        if self.cone is not None:
            self.cone.set_radius(4 * side)

    def move(self, frame: Still, old: np.ndarray, new: np.ndarray, path: list[np.ndarray]) -> None:
        """Show a frame."""
        self.moving["path"].set_data(*np.array(path).T)
        self.moving["path"].set_markersize(3.5 if len(path) <= 20 else 2.0)
        self.moving["w now"].set_data([new[0]], [new[1]])
        point_arrow(self.moving["w step"], old, new, frame.update)
        ends = None
        if len(frame.rows) == 1 and np.any(self.flat[frame.rows[0]]):
            box = np.array([[-4 * self.side, 4 * self.side], [-2 * self.side, 2 * self.side]])
            ends = box_line(self.flat[frame.rows[0]], 0.0, box)
            self.moving["line"].set_color(self.colours[self.points.codes[frame.rows[0]]])
        move_line(self.moving["line"], ends)


# x-space in a film: the points stay; the boundary, the arrows and the current row move.

ZERO_RATIO = 2.5  # times its size that the picture may grow to show zero
MAX_UNIT_RATIO = 20.0  # ratio of the features' ranges beyond which lengths cannot be true both ways
MAX_MARKED_POINTS = 2_000  # points among which the misclassified ones are marked, at most
LONGEST_ARROW = 0.38  # of the picture: the longest w so far
ARROW_HEIGHT = 0.2  # of the picture: how far above its one line of points w is drawn
DIRECTIONS = "→↗↑↖←↙↓↘"  # by eighths of a turn


class XPanel:
    """x-space: points, boundary before and after, w with what is added to it, current rows.

    Attributes
    ----------
    moving : dict of str to artist
        "boundary", "old boundary", "ring", "wrong", "w", "old w", "step", and "outside", the words that
        say where the boundary is if it is not to be seen.
    """

    def __init__(self, ax: Axes, points: Points, view: View, bias: bool, batch: bool) -> None:
        self.ax, self.points, self.view = ax, points, view
        self.flat = view.flat(points.X)
        self.box = self._choose_box(bias)
        self.unit = np.ptp(self.box, axis=1) / inches(ax)  # where the axes have different units
        self.unit /= self.unit.max()
        self.moving: dict[str, Any] = {}
        self.crosses = len(self.flat) <= MAX_MARKED_POINTS
        handles = self._draw_points()
        handles += self._make_moving(batch)
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
            if not bias or np.all(wide <= ZERO_RATIO * size):
                low, high, size = np.minimum(low, 0.0), np.maximum(high, 0.0), np.maximum(wide, size)
        middle, half = 0.5 * (low + high), (0.5 + EMPTY_BORDER) * size
        equal = not self.view.sliced and size.max() <= MAX_UNIT_RATIO * size.min()
        return set_limits(self.ax, np.stack([middle - half, middle + half], axis=1), equal)

    def _draw_points(self) -> list[Any]:
        from matplotlib.lines import Line2D

        styles = class_styles(self.points.labels)
        draw_points(self.ax, self.flat, self.points.codes, styles)
        handles: list[Any] = []
        for code, style in enumerate(styles):
            sign = "+1" if code == 1 else "−1"
            same = plain_sign(style.label) == sign
            name = plain(sign if same else f"{sign}: {short(style.label, 13)}")
            handles.append(Line2D([], [], ls="", marker=style.marker, color=style.colour, label=name))
        return handles

    def _make_moving(self, batch: bool) -> list[Any]:
        from matplotlib.lines import Line2D
        from matplotlib.patheffects import withStroke

        ax, side = self.ax, point_size(len(self.flat))[0] ** 0.5
        self.moving = {
            "old boundary": make_line(ax, color=GREY, lw=1.3, ls=(0, (4, 3)), label="previous boundary"),
            "boundary": make_line(ax, color=BLACK, lw=1.8, label="boundary"),
            "wrong": make_line(ax, color=BLACK, ls="", marker="x", ms=max(2.0, 0.8 * side), mew=0.9),
            "ring": make_line(ax, color=BLACK, ls="", marker="o", mfc="none"),
            "old w": make_arrow(ax, GREY, 1.6),
            "step": make_arrow(ax, STEP_COLOUR, 3.4),
            "w": make_arrow(ax, BLACK, 1.8),
            "outside": ax.text(
                0.5, 0.5, "", size=9, color=BLACK, transform=ax.transAxes, animated=True,
                bbox={"boxstyle": "round", "fc": "white", "ec": GREY, "lw": 0.6},
            ),
        }  # fmt: skip
        self.moving["ring"].set_path_effects([withStroke(linewidth=3.4, foreground="white")])
        current = "current points" if batch else "current point"
        handles = [
            Line2D([], [], ls="", color=BLACK, marker="o", ms=9, mfc="none", mew=1.6, label=current),
            self.moving["boundary"],
            self.moving["old boundary"],
            Line2D([], [], color=BLACK, lw=1.8, marker=">", ms=5, markevery=[1], label="w"),
            Line2D([], [], color=STEP_COLOUR, lw=3.0, label=UPDATE_NAMES[batch]),
        ]
        if self.crosses:
            cross = Line2D([], [], ls="", marker="x", ms=5, color=BLACK, label="misclassified")
            handles.insert(1, cross)
        return handles

    def length(self, v: np.ndarray) -> float:
        """How long a w is drawn, but for a factor that is the same for all."""
        return float(np.linalg.norm(v * self.unit))

    def move(self, frame: Still, old: np.ndarray, new: np.ndarray, reach: float) -> None:
        """Show a frame; a w of length ``reach`` is as long as arrows may be."""
        moving = self.moving
        for name, z in (("old boundary", frame.before), ("boundary", frame.after)):
            move_line(moving[name], self._ends(z))
        moving["old boundary"].set_visible(frame.update)
        self._say_where(frame.after)
        moving["wrong"].set_data(*self.flat[frame.wrong if self.crosses else []].T)
        held, side = frame.rows, point_size(len(self.flat))[0] ** 0.5
        moving["ring"].set_data(*self.flat[held if len(held) == 1 or self.crosses else []].T)
        moving["ring"].set(ms=side + (8 if len(held) == 1 else 4), mew=2.0 if len(held) == 1 else 1.2)
        # w, what is added, and their sum; in different units normal to the boundary as seen.
        scale = LONGEST_ARROW * (np.ptp(self.box, axis=1) / self.unit).min() / reach * self.unit**2
        foot = self._foot(frame.after, scale * np.array([old, new]))
        point_arrow(moving["w"], foot, foot + scale * new)
        point_arrow(moving["old w"], foot, foot + scale * old, frame.update)
        point_arrow(moving["step"], foot + scale * old, foot + scale * new, frame.update)

    def _ends(self, z: np.ndarray) -> Any:
        v, c = self.view.plane(z[:-1], z[-1])
        return box_line(v, c, self.box) if np.any(v) else None

    def _foot(self, z: np.ndarray, tips: np.ndarray) -> np.ndarray:
        """Where arrows begin: on the boundary near the middle; in the middle, if they would leave."""
        middle = np.asarray(self.box.mean(axis=1))
        if self.one_line:
            middle[1] += ARROW_HEIGHT * float(np.ptp(self.box[1]))  # above the points
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
            words = f"the boundary is outside {DIRECTIONS[eighth]}"
        said = self.moving["outside"]
        said.set(text=words, visible=bool(words))
        if words:
            place_words(said, towards, self.ax.transData.transform(self.flat))


FIRST_FRAMES = 4  # frames that fit into w-space before it grows
GROWTH_FACTOR = 1.5  # how much it grows at a time
LINE_HEIGHT = 0.22  # inches between lines of the caption
LETTER_SIZE = 10.0  # their size; a line that is too wide for the picture is smaller
PICTURE_SIZES = {True: (9.0, 4.5, 3.9), False: (7.0, 5.6, 4.6)}  # inches: picture, panel, its height


class Painter:
    """Draws frames on one canvas: x-space, and w-space beside it if ``both``.

    Attributes
    ----------
    axes : list of Axes
        x-space, w-space.
    moving : dict of str to artist
        What changes from frame to frame, as in :class:`XPanel` and :class:`WPanel`.
    """

    def __init__(
        self, points: Points, view: View, both: bool, bias: bool, dpi: float, batch: bool = False
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.view = view
        self.caption = 0.2 + LINE_HEIGHT * (3 + bias)  # inches below the panels
        wide, self.each, self.high = PICTURE_SIZES[both]
        self.size = (wide, self.high + self.caption)
        self.figure = Figure(figsize=self.size, dpi=dpi, facecolor="white")
        self.canvas: Any = FigureCanvasAgg(self.figure)
        self.axes = [self._panel(k, 1 + both) for k in range(1 + both)]
        self.x_panel = XPanel(self.axes[0], points, view, bias, batch)
        self.w_panel = WPanel(self.axes[1], points, view, batch) if both else None
        self.moving = self.x_panel.moving | (self.w_panel.moving if self.w_panel else {})
        self.texts = [self._text(k) for k in range(3 + bias)]
        self.path: list[np.ndarray] = []
        self.reach = np.ones(2)  # lengths of w that fit into w-space and into x-space
        self._still: Any = None

    def _panel(self, place: int, many: int) -> Axes:
        wide, high = self.size
        left, right, low, top = 0.65, 0.2, 0.55, 0.62  # inches around the axes
        start = 0.5 * (wide - many * self.each) + place * self.each
        size = (self.each - left - right) / wide, (self.high - low - top) / high
        return self.figure.add_axes(((start + left) / wide, (self.caption + low) / high, *size))

    def _text(self, k: int) -> Any:
        """Line k of the caption."""
        place = 0.25 / self.size[0], (self.caption - 0.1 - LINE_HEIGHT * k) / self.size[1]
        weight = "bold" if k == 0 else "normal"
        return self.figure.text(
            *place, "", weight=weight, color=BLACK, va="center", animated=True, parse_math=False
        )

    @property
    def panels(self) -> tuple[int, int, int, int]:
        """Where the panels are, in dots from the upper left corner, without the caption."""
        free = 0.5 * (self.size[0] - len(self.axes) * self.each)
        corners = (free, 0.0, self.size[0] - free, self.high)
        left, top, right, bottom = (round(self.figure.dpi * inches) for inches in corners)
        return left, top, right, bottom

    def paint(self, frames: Sequence[Still]) -> Iterator[Image.Image]:
        """Draw frame after frame as images of few colours, which compress well."""
        from PIL import Image

        few = Image.new("P", (1, 1))
        few.putpalette(palette())
        self.path, self._still = [], None
        self.reach = np.max([self._lengths(frame) for frame in frames[:FIRST_FRAMES]], axis=0)
        self.reach[self.reach == 0] = 1.0
        for frame in frames:
            self.draw(frame)
            size, dots = self.canvas.get_width_height(), self.canvas.buffer_rgba()
            shown = Image.frombuffer("RGBA", size, dots, "raw", "RGBA", 0, 1)
            yield shown.convert("RGB").quantize(palette=few, dither=Image.Dither.NONE)

    def draw(self, frame: Still) -> None:
        """Draw one frame; w-space grows now and then, so that early steps are seen as well."""
        old, new = (self.view.axes @ z[:-1] for z in (frame.before, frame.after))
        if self.path and not np.array_equal(old, self.path[-1]):
            self.path += [np.full(2, np.nan), old]  # updates were left out
        self.path.append(new)
        while np.any(self._lengths(frame) > self.reach):
            self.reach, self._still = GROWTH_FACTOR * self.reach, None
        if self._still is None:
            if self.w_panel is not None:
                self.w_panel.grow(self.reach[0])
            self.canvas.draw()
            self._still = self.canvas.copy_from_bbox(self.figure.bbox)
        self.x_panel.move(frame, old, new, self.reach[1])
        if self.w_panel is not None:
            self.w_panel.move(frame, old, new, self.path)
        self.canvas.restore_region(self._still)
        for artist in self.moving.values():
            artist.axes.draw_artist(artist)
        for k, text in enumerate(self.texts):
            self._write(text, frame.lines[k] if k < len(frame.lines) else "")

    def _write(self, text: Any, line: str) -> None:
        text.set_text(line)
        for shrink in (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5):
            text.set_fontsize(LETTER_SIZE * shrink)
            if text.get_window_extent().x1 <= self.figure.bbox.x1 - 0.1 * self.figure.dpi:
                break
        self.figure.draw_artist(text)

    def _lengths(self, frame: Still) -> np.ndarray:
        """How long w is: as it is, and in x-space as drawn."""
        flat = [self.view.axes @ z[:-1] for z in (frame.before, frame.after)]
        both = [(float(np.linalg.norm(v)), self.x_panel.length(v)) for v in flat]
        return np.asarray(np.max(both, axis=0))
