"""The arrow of w: on the boundary, where it is seen, and where it hides few points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.plots.box import Frame, box_line, one_step
from maxmargin.plots.style import BLACK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_normal", "place_normal"]

SHARE = 0.16  # of the picture: the arrow of a direction
EDGE = 0.02  # of the picture: how near an arrow comes to its rim
PLACES = np.linspace(0.05, 0.95, 37)  # along the boundary
NEAR = 0.02  # of the picture: a point nearer to the arrow than this is hidden
SAMPLE = 3_000  # points that are looked at


def place_normal(
    v: np.ndarray,
    c: float,
    frame: Frame,
    flat: np.ndarray,
    *,
    near: np.ndarray | None = None,
    to_edge: bool = False,
    taken: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Find foot and tip of the arrow of v on the line v·u + c = 0, both inside the picture.

    It starts close to the middle of ``near`` (the support vectors), or else of the line that is seen;
    ``to_edge`` makes it end where v·u + c = 1; ``taken`` is a box that it stays out of. None if there is
    no such place.
    """
    ends = box_line(v, c, frame.box)
    if ends is None:
        return None
    begin, end = np.transpose(ends)
    step = one_step(v) if to_edge else _short(v, frame)
    size: np.ndarray = np.ptp(frame.box, axis=1)
    wish = 0.5
    if near is not None and len(near):
        line = (end - begin) / size
        share = (np.median(near, axis=0) - begin) / size @ line / (line @ line)
        wish = float(np.clip(share, 0.1, 0.9))
    points = flat[:: max(1, len(flat) // SAMPLE)] / size
    best, least = None, np.inf
    for place in PLACES:
        foot = begin + place * (end - begin)
        path = foot + np.linspace(0.0, 1.0, 9)[:, None] * step
        if not np.all(_inside(path, frame.box, EDGE * size)):
            continue
        if taken is not None and np.any(_inside(path, taken, 0.0 * size)):
            continue
        gaps = np.linalg.norm(points[:, None] - path[1:] / size, axis=2).min(axis=1)
        cost = abs(place - wish) + 0.03 * min(20, int(np.count_nonzero(gaps < NEAR)))
        if cost < least:
            best, least = (foot, foot + step), cost
    return best


def draw_normal(
    ax: Axes,
    v: np.ndarray,
    c: float,
    frame: Frame,
    flat: np.ndarray,
    *,
    margin: float | None = None,
    near: np.ndarray | None = None,
    taken: np.ndarray | None = None,
    thin: bool = False,
    sliced: bool = False,
) -> Any:
    """Draw w from the boundary to f(x) = 1 where that is in the picture, or else its direction."""
    options: dict[str, Any] = {"near": near, "taken": taken}
    found = None
    if margin is not None and not thin:
        found = place_normal(v, c, frame, flat, to_edge=True, **options)
    whole = found is not None or margin is None
    if found is None:
        found = place_normal(v, c, frame, flat, **options)
    if found is None:  # the boundary is outside, or in a corner
        step, middle = _short(v, frame), frame.box.mean(axis=1)
        found = middle - 0.5 * step, middle + 0.5 * step
    foot, tip = found
    arrow = ax.annotate(
        "",
        xy=(float(tip[0]), float(tip[1])),
        xytext=(float(foot[0]), float(foot[1])),
        arrowprops={"arrowstyle": "-|>", "color": BLACK, "lw": 1.6, "shrinkA": 0, "shrinkB": 0},
        zorder=7,
    )
    name = "w" if whole else "direction of w"
    name += " in this slice" if sliced else ""
    name += "" if margin is None else f", 1/‖w‖ = {margin:.3g}"
    name += "" if frame.equal or frame.lanes else "\n(axes not to scale)"
    ax.plot([], [], color=BLACK, marker=">", lw=1.6, ms=5, label=name)
    return arrow


def _short(v: np.ndarray, frame: Frame) -> np.ndarray:
    return np.asarray(SHARE * v / float(np.linalg.norm(v / frame.scale)))


def _inside(path: np.ndarray, box: np.ndarray, rim: np.ndarray) -> np.ndarray:
    return np.asarray(np.all((path >= box[:, 0] + rim) & (path <= box[:, 1] - rim), axis=1))
