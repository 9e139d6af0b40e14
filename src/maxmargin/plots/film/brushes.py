"""What the panels of a film are drawn with: lines and arrows that move, and few colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from maxmargin.plots.style import BLACK, COLOURS, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEP, CONE = COLOURS[2], "#F8F3AA"  # what is added to w; where w has all rows right, as in w-space


def inches(ax: Axes) -> np.ndarray:
    """Width and height of the axes."""
    frame, figure = ax.get_position(), cast("Figure", ax.figure)
    return np.asarray([frame.width, frame.height] * figure.get_size_inches())


def place(ax: Axes, box: np.ndarray, equal: bool) -> np.ndarray:
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


def line(ax: Axes, **style: Any) -> Any:
    """A line or markers, moved by ``set_data``."""
    (made,) = ax.plot([], [], animated=True, scalex=False, scaley=False, **style)
    return made


def arrow(ax: Axes, colour: str, width: float) -> Any:
    """An arrow, moved by :func:`aim`."""
    from matplotlib.patches import FancyArrowPatch

    made: Any = FancyArrowPatch(
        (0, 0), (1, 1), arrowstyle="-|>", color=colour, lw=width, shrinkA=0, shrinkB=0, animated=True,
    )  # fmt: skip
    made.width, made.head = width, 9.0 + 2.0 * width
    ax.add_patch(made)
    return made


def aim(arrow: Any, tail: np.ndarray, tip: np.ndarray, visible: bool = True) -> None:
    """Point an arrow; one too short to be seen is not drawn."""
    pixels = arrow.axes.transData.transform([tail, tip])
    points = float(np.linalg.norm(pixels[1] - pixels[0])) * 72.0 / arrow.figure.dpi
    arrow.set_visible(visible and points > 2.0)
    arrow.set_mutation_scale(min(arrow.head, 1.2 * points))
    arrow.set_linewidth(min(arrow.width, 0.2 * points))
    arrow.set_positions(tuple(tail), tuple(tip))


def put_words(text: Any, towards: np.ndarray, points: np.ndarray) -> None:
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

    shades = [[255, 255, 255], mix(CONE, CONE, 0)]
    shades += [mix(c, "#FFFFFF", k / 24) for c in (BLACK, GREY, *COLOURS[:3]) for k in range(23)]
    shades += [mix(c, d, k / 8) for c in COLOURS[:3] for d in (BLACK, CONE) for k in range(1, 8)]
    shades += [mix(BLACK, CONE, k / 12) for k in range(12)]
    flat = [v for shade in shades[:256] for v in shade]
    return flat + [255] * (768 - len(flat))
