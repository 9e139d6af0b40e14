"""A section of weight space at one w₁: lines in (w₂, b), the feasible part, and where ‖w‖ is least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxmargin.plots.box import box_line
from maxmargin.plots.cone import CONE
from maxmargin.plots.keys import title
from maxmargin.plots.polytope import NEAR, cut_polygon, least_first
from maxmargin.plots.style import BLACK
from maxmargin.plots.weightspace import WeightSpace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SectionArtists", "draw_section"]

SAME = 1e-6  # of the picture, between lines that look like one
WIDER = 5  # times a section is doubled in search of something feasible


class SectionArtists(NamedTuple):
    """The lines by row, the feasible part, the optimum or the nearest weights, and the rim."""

    planes: dict[int, Any]
    region: Any
    optimum: Any
    nearest: Any
    rim: Any


def draw_section(ax: Axes, space: WeightSpace, w1: float) -> SectionArtists:
    """Draw the section at w1, with the optimum if it lies there."""
    A = space.constraints
    A, c = A[:, 1:], A[:, 0] * w1 - 1.0  # feasible: A (w₂, b) + c ≥ 0
    box, corners = _frame(space, A, c)
    region = None
    if len(corners):
        (region,) = ax.fill(*corners.T, color=CONE, lw=0, label="feasible", zorder=0)
    lines = _draw_lines(ax, space, A, c, box)
    rim = _draw_rim(ax, float(space.w @ space.w), w1)
    optimum = nearest = None
    if abs(w1 - space.w[0]) <= NEAR * float(np.linalg.norm(space.w)):
        (optimum,) = ax.plot(space.w[1], space.b, "*", color=BLACK, ms=14, label="optimum", zorder=5)
    elif len(corners):
        point = least_first(corners)
        label = f"least ‖w‖ here: {float(np.hypot(w1, point[0])):.3g}"
        (nearest,) = ax.plot(*point, "D", mfc="white", mec=BLACK, ms=8, label=label, zorder=5)
    first, across, up = space.names
    ax.set(xlim=box[0], ylim=box[1], xlabel=across, ylabel=up)
    at = float(space.tidy[0]) if w1 == space.w[0] else w1
    title(
        ax,
        f"Section at {first} = {at:.4g}".replace("-", "−")
        + ("" if len(corners) else ": nothing feasible here"),
    )
    return SectionArtists(lines, region, optimum, nearest, rim)


def _draw_lines(
    ax: Axes, space: WeightSpace, A: np.ndarray, c: np.ndarray, box: np.ndarray
) -> dict[int, Any]:
    """The lines by row; rows that meet the section in the same line share it, and its entry."""
    shared: list[tuple[np.ndarray, list[int]]] = []
    for row in sorted(space.rows.tolist()):
        ends = box_line(A[row], c[row], box)
        if ends is None:
            continue
        place = np.array(ends) / np.ptp(box, axis=1)[:, None]
        same = [rows for other, rows in shared if np.allclose(place, other, rtol=0, atol=SAME)]
        same = [rows for rows in same if space.points.codes[rows[0]] == space.points.codes[row]]
        same[0].append(row) if same else shared.append((place, [row]))
    lines: dict[int, Any] = {}
    for _, rows in shared:
        colour, way = space.look(rows[0])
        ends = box_line(A[rows[0]], c[rows[0]], box)
        assert ends is not None  # as above
        (line,) = ax.plot(*ends, color=colour, ls=way, lw=1.8, label=space.row_name(*rows), zorder=2)
        lines.update(dict.fromkeys(rows, line))
    return lines


def _draw_rim(ax: Axes, square: float, w1: float) -> Any:
    """Two lines where ‖w‖² is as at the optimum, if the section is near enough."""
    across = square - w1 * w1
    if across < -NEAR * square:
        return None
    half = max(across, 0.0) ** 0.5
    look: dict[str, Any] = {"color": BLACK, "ls": ":", "lw": 1.0, "zorder": 1}
    return [ax.axvline(half, label=f"‖w‖ = {square**0.5:.3g}", **look), ax.axvline(-half, **look)]


def _frame(space: WeightSpace, A: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a section shows, and the corners of its feasible part.

    It is wider than the usual box if that part is far away, and closer if it is small and all in
    view.
    """
    box = space.box[1:]
    corners = cut_polygon(A, c, box)
    for _ in range(WIDER):
        if len(corners):
            break
        box = box + np.outer(np.ptp(box, axis=1), [-0.5, 0.5])
        corners = cut_polygon(A, c, box)
    if len(corners):
        low, high = corners.min(axis=0), corners.max(axis=0)
        room = np.maximum(0.75 * (high - low), 0.05 * np.ptp(box, axis=1))  # not into rounding
        if np.all(low - room > box[:, 0]) and np.all(high + room < box[:, 1]):
            box = np.column_stack([low - room, high + room])
    return box, corners
