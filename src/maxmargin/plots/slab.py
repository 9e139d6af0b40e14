"""The boundary and the slab between its two edges; where it is too thin to be seen, a zoom on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.plots.geometry import Frame, box_line, box_strip
from maxmargin.plots.marks import draw_crosses, draw_points, draw_slack, ring_sizes, thin_out
from maxmargin.plots.style import BLACK, ClassStyle, point_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Zoom", "along_boundary", "draw_slab", "draw_zoom", "is_thin", "make_room"]

THIN = 0.02  # of the picture: a slab that is not seen
SQUARE = 1.5  # a longer picture with a thin slab is drawn with unequal units, to have room for the zoom
WIDE, HIGH = 0.36, 0.32  # of the picture: the zoom
AROUND = ((0.03, 0.03), (0.10, 0.08))  # free to the left and right, below and above it, for its words
GROW = (0.0, 0.08, 0.16, 0.25, 0.4, 0.6, 0.75)  # of the picture: room that is made for it
REACH = 3.0  # the zoom shows |f(x)| up to this


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


def is_thin(v: np.ndarray, c: float, box: np.ndarray) -> bool:
    """Whether the slab |v·u + c| ≤ 1 is in the picture and thinner than two parts in a hundred."""
    width = 2.0 / float(np.linalg.norm(v * np.ptp(box, axis=1)))
    return width < THIN and box_line(v, c, box) is not None


def make_room(flat: np.ndarray, v: np.ndarray, c: float, frame: Frame) -> tuple[Frame, Zoom]:
    """Choose the corner for a zoom: one without points, if need be in a larger picture."""
    size = np.ptp(frame.box, axis=1)
    if size.max() > SQUARE * size.min():
        frame = replace(frame, equal=False)
    best: tuple[Frame, Zoom] | None = None
    least = np.inf
    corners = ((1, 1), (0, 1), (1, 0), (0, 0))
    for more, higher in [(g, 0.0) for g in GROW] + [(g, g) for g in GROW[1:]]:
        for right, top in corners:
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
    size = np.ptp(box, axis=1)
    starts = []
    for far, share, (before, after) in zip((right, top), (WIDE, HIGH), AROUND, strict=True):
        starts.append(1.0 - share - after if far else before)
    taken = [
        [start - before, start + share + after]
        for start, share, (before, after) in zip(starts, (WIDE, HIGH), AROUND, strict=True)
    ]
    return Zoom((*starts, WIDE, HIGH), box[:, :1] + size[:, None] * np.array(taken))  # type: ignore[arg-type]


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
    near = np.abs(place[:, 0]) <= REACH
    judged = place[inside if np.count_nonzero(inside) > 1 else near, 1]
    if not len(judged):
        judged = place[:, 1]
    low, high = float(judged.min()), float(judged.max())
    room = 0.12 * (high - low) or 0.5
    near &= (place[:, 1] >= low - room) & (place[:, 1] <= high + room)
    shown = place[near]
    inset.axvspan(-1.0, 1.0, color=BLACK, alpha=0.06, lw=0, zorder=0)
    for level, width, style in ((-1.0, 0.9, "--"), (0.0, 1.5, "-"), (1.0, 0.9, "--")):
        inset.axvline(level, color=BLACK, lw=width, ls=style, zorder=2)
    draw_points(inset, shown, codes[near], styles, opacity=0.9)
    if len(alpha) and np.any(alpha > 0):
        rows = thin_out(np.flatnonzero(near & (alpha > 1e-9 * alpha.max())))
        sizes = 0.6 * ring_sizes(alpha[rows], float(alpha.max()), point_size(len(shown))[0])
        x, y = place[rows].T
        inset.scatter(x, y, s=sizes, fc="none", ec=BLACK, lw=0.8, zorder=4)
    if slack is not None and len(slack):
        signs = np.where(codes[near] == 1, 1.0, -1.0)
        draw_slack(inset, shown, slack[near], signs, np.array([1.0, 0.0]))
    if wrong is not None:
        draw_crosses(inset, shown, wrong[near])
    inset.set(xlim=(-REACH, REACH), ylim=(low - room, high + room), yticks=[])
    inset.set_xticks([-1.0, 0.0, 1.0], ["−1", "0", "1"], fontsize=8)
    inset.set_title(title, fontsize=9, pad=3)
    return inset
