"""What pictures share: points, support vectors, mistakes, slack, the boundary and its slab, arrows.

Where the slab is too thin to be seen, a zoom on it is drawn beside it.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.core.errors import plural
from maxmargin.plots import style
from maxmargin.plots.data import Points, View
from maxmargin.plots.geometry import Frame, box_line, box_strip, frame_points, one_step
from maxmargin.plots.style import BLACK, ClassStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RING_AREA = 260.0  # of the ring around the support vector of largest α, if there are no more than
MAX_LARGE_RINGS = 12  # of them
MAX_SLACK_SEGMENTS = 400  # that are drawn, at most
MAX_MARKED_ROWS = 400  # crosses and rings that are drawn, about
FADED_MARK = "#D2D2D2"
FADED_OPACITY = 0.25  # opacity of a point that is not where it is seen, against another


def label_words(label: Hashable) -> str:
    """A label as it stands in a key: a dollar is a dollar, and a leading underscore does not hide it."""
    text = style.plain(style.wrapped(label))
    return f" {text}" if text.startswith("_") else text


def draw_points(
    ax: Axes,
    flat: np.ndarray,
    codes: np.ndarray,
    styles: Sequence[ClassStyle],
    *,
    faded: np.ndarray | None = None,
    opacity: float = 1.0,
) -> dict[Hashable, Any]:
    """Draw one artist per class, by label; ``faded`` says which points are see-through."""
    from matplotlib.colors import to_rgba

    area, alpha = style.point_size(len(flat))
    alphas = np.full(len(flat), alpha * opacity)
    if faded is not None:
        alphas[faded] *= FADED_OPACITY
    drawn: dict[Hashable, Any] = {}
    for code, look in enumerate(styles):
        mine = codes == code
        shown = style.scatter(ax, flat[mine], s=area, c=look.colour, marker=look.marker, linewidths=0)
        shown.set(label=label_words(look.label), rasterized=len(flat) > 5_000, zorder=3)
        if faded is None:
            shown.set_alpha(alpha * opacity)
        else:
            shown.set_facecolor([to_rgba(look.colour, opaque) for opaque in alphas[mine]])
        drawn[look.label] = shown
    return drawn


def thin_out(rows: np.ndarray) -> np.ndarray:
    """So many of the rows as can be marked one by one."""
    return rows[:: -(-len(rows) // MAX_MARKED_ROWS)] if len(rows) else rows


def ring_sizes(alpha: np.ndarray, largest: float, area: float) -> np.ndarray:
    """Areas that grow with α by the same amount for the same α; many rings are smaller."""
    ring = RING_AREA * min(1.0, MAX_LARGE_RINGS / max(1, len(alpha))) ** 0.7
    return np.asarray(area + ring * alpha / largest)


def draw_rings(ax: Axes, flat: np.ndarray, alpha: np.ndarray) -> Any:
    """Ring the support vectors, the area in proportion to α; None if there are none."""
    if not len(alpha) or not np.any(alpha > 0):
        return None
    rows = np.flatnonzero(alpha > 1e-9 * alpha.max())
    some = thin_out(rows)
    share = f"\n({len(some):,} of {len(rows):,} drawn)" if len(some) < len(rows) else ""
    areas = ring_sizes(alpha[some], float(alpha.max()), style.point_size(len(flat))[0])
    rings = draw_circles(ax, flat[some], areas, f"support, area ∝ α{share}")
    if len(some) >= 200:
        rings.set(linewidths=0.4, alpha=0.5)
    return rings


def draw_circles(ax: Axes, places: np.ndarray, areas: Any, label: str = "") -> Any:
    """Draw a ring around each place."""
    rings = style.scatter(ax, places, s=areas, facecolors="none", edgecolors=BLACK, linewidths=1.0)
    rings.set(label=label, zorder=4)
    return rings


def draw_crosses(ax: Axes, flat: np.ndarray, wrong: np.ndarray) -> Any:
    """Cross the points that are misclassified; None if there are none."""
    rows = np.flatnonzero(wrong)
    if not len(rows):
        return None
    some = thin_out(rows)
    share = "" if len(some) == len(rows) else f"\n({len(some):,} of them drawn)"
    area, alpha = style.point_size(len(flat))
    crosses = style.scatter(ax, flat[some], s=max(area, 9.0), c=BLACK, marker="x", alpha=max(alpha, 0.5))
    crosses.set(linewidths=1.0 if len(flat) <= 5_000 else 0.6, zorder=5)
    crosses.set_label(f"misclassified: {len(rows):,}{share}")
    return crosses


def draw_slack(ax: Axes, flat: np.ndarray, slack: np.ndarray, signs: np.ndarray, v: np.ndarray) -> Any:
    """Draw segments from late points to their edge, in the direction of v; the longest of many."""
    from matplotlib.collections import LineCollection

    late = np.argsort(-slack, kind="stable")[:MAX_SLACK_SEGMENTS]
    late = late[slack[late] > 0]
    if not len(late) or not np.any(v):
        return None
    move = (signs[late] * slack[late])[:, None] * one_step(v)
    segments = list(np.stack([flat[late], flat[late] + move], axis=1))
    many = int(np.count_nonzero(slack > 0))
    drawn = LineCollection(segments, colors=BLACK, linewidths=0.6, alpha=0.45, zorder=2)
    drawn.set_label("slack ξ" + (f"\n(the largest {len(late)} of {many:,})" if many > len(late) else ""))
    ax.add_collection(drawn, autolim=False)
    return drawn


def faded_key(ax: Axes, count: int) -> Any:
    """Say in the key what faded points are."""
    (mark,) = ax.plot([], [], "o", color=FADED_MARK, ms=6, mew=0)
    mark.set_label(style.wrapped(f"faded: {count:,} off this cut, where the model decides otherwise"))
    return mark


# Regions of several classes in the plane of a picture, and the points that they do not speak for.
#
# A picture of more than two features is a cut through x-space. The regions in it are exact for points of
# the cut; a point off the cut is drawn over it, and the model may decide otherwise about it.

REGION_GRID = 300  # points along a side where regions are told apart


def predict_in_cut(predict: Any, view: View, u: np.ndarray) -> np.ndarray:
    """What the model says at places of the picture."""
    with warnings.catch_warnings():  # these rows are made here: they have no names
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(predict(view.whole(u)))


def off_cut(predict: Any, view: View, points: Points, predicted: np.ndarray) -> np.ndarray:
    """Which points lie in the region of another class than the model says of them."""
    flat = view.flat(points.X)
    if points.X.shape[1] <= 2:
        return np.zeros(len(flat), dtype=bool)
    return np.asarray(predict_in_cut(predict, view, flat) != predicted)


def draw_regions(ax: Axes, predict: Any, view: View, points: Points, box: np.ndarray) -> Any:
    """Shade the regions and draw their borders."""
    from matplotlib.colors import ListedColormap

    across = [np.linspace(side[0], side[1], REGION_GRID) for side in box]
    u = np.stack(np.meshgrid(*across), axis=-1).reshape(-1, 2)
    labels = predict_in_cut(predict, view, u)
    codes = np.searchsorted(points.classes, labels).reshape(REGION_GRID, REGION_GRID)
    styles = style.class_styles(points.labels)
    colours = ListedColormap([look.colour for look in styles])
    regions = ax.pcolormesh(*across, codes, cmap=colours, alpha=0.18, shading="nearest", zorder=0)
    regions.set(clim=(-0.5, len(styles) - 0.5), rasterized=True)
    # one border for each region: levels between codes would double it
    for code in np.unique(codes)[:-1]:
        ax.contour(*across, codes == code, levels=[0.5], colors=BLACK, linewidths=0.8, zorder=1)
    return regions


def cut_words(view: View, machine: Hashable = None) -> tuple[str, str]:
    """The name of the first axis, and how the plane was cut; ``machine`` is whose w it follows."""
    if view.sliced:
        return view.names[0], f"{view.cut}; rows of other slices are drawn over it"
    if not view.projected or machine is None:
        return view.names[0], ""
    return f"along w of {machine}", f"{view.cut}: regions as in it, rows projected onto it"


MIN_SLAB_WIDTH = 0.02  # of the picture: not seen
ZOOM_ASPECT = 1.5  # a longer picture with a zoom has unequal units, so that there is room for it
ZOOM_SIZE = 0.36, 0.32  # of the picture
ZOOM_RIM = ((0.03, 0.03), (0.10, 0.08))  # free to the left and right, below and above it, for its words
ROOM_STEPS = (0.0, 0.08, 0.16, 0.25, 0.4, 0.6, 0.75)  # of the picture: room that is made for it
ZOOM_REACH = 3.0  # it shows |f(x)| up to this


Line = tuple[np.ndarray, float]  # v and c of v·u + c = 0


@dataclass(frozen=True)
class Zoom:
    """Where the zoom is: ``bounds`` in shares of the picture, ``taken`` with its words, in data."""

    bounds: tuple[float, float, float, float]
    taken: np.ndarray


def draw_slab(
    ax: Axes, v: np.ndarray, c: float, box: np.ndarray, names: tuple[str, str], *, edges: bool = True
) -> tuple[Any, list[Any], Any]:
    """Draw v·u + c = 0 and, with ``edges``, = ±1 and what is between: boundary, edges, slab or None."""
    boundary, slab = None, None
    lines: list[Any] = []
    ends = box_line(v, c, box)
    if ends is not None:
        (boundary,) = ax.plot(*ends, color=BLACK, lw=1.8, label=names[0], zorder=2)
    else:
        ax.plot([], [], " ", label=f"{names[0]} is outside the picture")
    for level in (1.0, -1.0) if edges else ():
        ends = box_line(v, c - level, box)
        if ends is not None:
            (line,) = ax.plot(*ends, color=BLACK, lw=1.0, ls="--", zorder=2)
            line.set_label("_edge" if lines else names[1])
            lines.append(line)
    corners = box_strip(v, c, box) if edges else None
    if corners is not None:
        (slab,) = ax.fill(*corners, color=BLACK, alpha=0.06, lw=0, zorder=0)
    return boundary, lines, slab


def along_boundary(flat: np.ndarray, v: np.ndarray, c: float, box: np.ndarray) -> np.ndarray:
    """v·u + c of each point, and where it is along the boundary, in shares of the picture."""
    size = np.ptp(box, axis=1)
    along = np.array([-v[1], v[0]]) * size[::-1]
    return np.stack([flat @ v + c, flat / size @ along / np.linalg.norm(along)], axis=1)


class PlanePicture:
    """What displays of points and a plane share: the box, the zoom, and the words around them."""

    flat: np.ndarray  # where the points are drawn
    view: View

    def _open(self, ax: Axes | None, shown: np.ndarray, largest: np.ndarray, slab: Line | None) -> Axes:
        """Return axes for the places ``shown``, with room for a zoom if the slab is not to be seen."""
        frame, self._zoom = frame_points(shown, self.view, largest), None
        if slab is not None and _is_thin(*slab, frame.box):
            frame, self._zoom = make_room(self.flat, *slab, frame)
        self.frame, self.box, self._slab, self._new = frame, frame.box, slab, ax is None
        self.ax_ = style.axes(ax)
        self.inset_ax_: Any = None
        self.caption_: Any = None
        return self.ax_

    def _close(
        self,
        heading: str,
        across: str,
        words: str,
        codes: np.ndarray,
        styles: Sequence[ClassStyle],
        **rows: Any,
    ) -> None:
        """Name the axes, explain the artists, draw the zoom and lay out the figure."""
        ax = self.ax_
        self.frame.apply(ax, (across, self.view.names[1]))
        ax.set_title(heading)
        if words:
            self.caption_ = style.caption(ax, style.plain(words))
        style.key(ax)
        if self._zoom is not None:
            assert self._slab is not None
            place = along_boundary(self.flat, *self._slab, self.box)
            self.inset_ax_ = draw_zoom(ax, self._zoom, place, codes, styles, **rows)
        self.frame.fit(ax) if self._new else style.settle(ax)


def _is_thin(v: np.ndarray, c: float, box: np.ndarray) -> bool:
    """Whether the slab |v·u + c| ≤ 1 is in the picture and too thin to be seen."""
    if not np.any(v) or box_line(v, c, box) is None:
        return False
    return 2.0 / float(np.linalg.norm(v * np.ptp(box, axis=1))) < MIN_SLAB_WIDTH


def make_room(flat: np.ndarray, v: np.ndarray, c: float, frame: Frame) -> tuple[Frame, Zoom]:
    """Choose the corner for a zoom: one without points, if need be in a larger picture."""
    size = np.ptp(frame.box, axis=1)
    if size.max() > ZOOM_ASPECT * size.min():
        frame = replace(frame, equal=False)
    best: tuple[Frame, Zoom] | None = None
    least = np.inf
    for more, higher in [(g, 0.0) for g in ROOM_STEPS] + [(g, g) for g in ROOM_STEPS[1:]]:
        for right, top in ((1, 1), (0, 1), (1, 0), (0, 0)):
            box = frame.box.copy()
            box[0, right] += (1 if right else -1) * more * size[0]
            box[1, top] += (1 if top else -1) * higher * size[1]
            zoom = _corner(box, right, top)
            covered = np.all((flat > zoom.taken[:, 0]) & (flat < zoom.taken[:, 1]), axis=1)
            crossed = box_line(v, c, zoom.taken) is not None
            cost = 2.0 * np.count_nonzero(covered) + more + higher + 0.09 * crossed
            if cost < least:
                best, least = (replace(frame, box=box), zoom), cost
    assert best is not None
    return best


def _corner(box: np.ndarray, right: int, top: int) -> Zoom:
    before, after = np.transpose(ZOOM_RIM)
    start = np.where([right, top], 1.0 - np.array(ZOOM_SIZE) - after, before)
    taken = np.column_stack([start - before, start + ZOOM_SIZE + after])
    left, low = start.tolist()
    return Zoom((left, low, *ZOOM_SIZE), box[:, :1] + np.ptp(box, axis=1)[:, None] * taken)


def draw_zoom(
    ax: Axes,
    zoom: Zoom,
    place: np.ndarray,
    codes: np.ndarray,
    styles: Sequence[ClassStyle],
    *,
    alpha: np.ndarray,
    slack: np.ndarray | None = None,
    wrong: np.ndarray | None = None,
    title: str = "slab: f(x)",
) -> Axes:
    """Draw the slab across; ``place`` is what :func:`along_boundary` says."""
    inset = ax.inset_axes(zoom.bounds, zorder=6)
    inside = np.abs(place[:, 0]) <= 1.0 + 1e-6
    near = np.abs(place[:, 0]) <= ZOOM_REACH
    judged = place[inside if np.count_nonzero(inside) > 1 else near, 1]
    if not len(judged):
        judged = place[:, 1]
    low, high = float(judged.min()), float(judged.max())
    room = 0.12 * (high - low) or 0.5
    near &= (place[:, 1] >= low - room) & (place[:, 1] <= high + room)
    shown = place[near]
    inset.axvspan(-1.0, 1.0, color=BLACK, alpha=0.06, lw=0, zorder=0)
    for level, width, look in ((-1.0, 0.9, "--"), (0.0, 1.5, "-"), (1.0, 0.9, "--")):
        inset.axvline(level, color=BLACK, lw=width, ls=look, zorder=2)
    draw_points(inset, shown, codes[near], styles, opacity=0.9)
    if len(alpha) and np.any(alpha > 0):
        rows = thin_out(np.flatnonzero(near & (alpha > 1e-9 * alpha.max())))
        areas = 0.6 * ring_sizes(alpha[rows], float(alpha.max()), style.point_size(len(shown))[0])
        draw_circles(inset, place[rows], areas).set_linewidths(0.8)
    if slack is not None and len(slack):
        signs = np.where(codes[near] == 1, 1.0, -1.0)
        draw_slack(inset, shown, slack[near], signs, np.array([1.0, 0.0]))
    if wrong is not None:
        draw_crosses(inset, shown, wrong[near])
    inset.set(xlim=(-ZOOM_REACH, ZOOM_REACH), ylim=(low - room, high + room), yticks=[])
    inset.set_xticks([-1.0, 0.0, 1.0], ["−1", "0", "1"], fontsize=8)
    inset.set_title(title, fontsize=9, pad=3)
    return inset


# Arrows: w itself, and the path of w step by step.

MAX_ARROWS = 60  # of a path, up to which each is an arrow
MAX_DRAWN_STEPS = 500  # at most: more would cover the picture


def draw_path(ax: Axes, path: np.ndarray, colour: str) -> Any:
    """Draw the weights one after another: arrows if they are few, a line if many."""
    if len(path) < 2:
        return None
    ax.plot(*path[0], marker="o", mfc="white", mec=colour, ms=6, ls="", label="start", zorder=5)
    some, label = thin_path(path)
    if len(path) > MAX_ARROWS:
        opacity = 0.8 if len(some) == len(path) else 0.4
        (line,) = ax.plot(*some.T, color=colour, lw=0.7, alpha=opacity, label=label, zorder=4)
        return line
    ax.plot([], [], color=colour, marker=">", ms=4, lw=1.0, label=label)
    return draw_arrows(ax, path[:-1], np.diff(path, axis=0), colour, zorder=4)


def thin_path(path: np.ndarray) -> tuple[np.ndarray, str]:
    """The weights to draw of a path, with its end, and what the key says: all, or every so many."""
    steps = len(path) - 1
    label = f"path of w, {plural(steps, 'step', ',')}"
    if steps <= MAX_DRAWN_STEPS:
        return path, label
    every = -(-steps // MAX_DRAWN_STEPS)
    return np.vstack([path[:-1:every], path[-1:]]), f"{label},\none in {every} drawn"


def draw_arrows(ax: Axes, feet: np.ndarray, moves: np.ndarray, colours: Any, zorder: float) -> Any:
    """Arrows in the units of the axes."""
    units: Any = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "minlength": 0.0}
    shape: Any = {"width": 0.0045, "headwidth": 5.5, "headlength": 6.5, "headaxislength": 6.0}
    return ax.quiver(*feet.T, *moves.T, color=colours, zorder=zorder, **units, **shape)


def draw_arrow(
    ax: Axes, foot: Any, tip: Any, label: str = "", *, width: float = 2.2, zorder: float = 6
) -> Any:
    """Draw an arrow; with a label it is explained in the key."""
    arrow = {"arrowstyle": "-|>", "color": BLACK, "lw": width, "shrinkA": 0, "shrinkB": 0}
    if label:
        ax.plot([], [], color=BLACK, marker=">", ms=6, lw=width, label=label)
    return ax.annotate("", xy=tuple(tip), xytext=tuple(foot), arrowprops=arrow, zorder=zorder)
