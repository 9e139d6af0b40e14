"""Arrows in the space of weights: the path of w, step by step, and w itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.core.phrases import count
from maxmargin.plots.style import BLACK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_arrow", "draw_arrows", "draw_path", "thin_path"]

ARROWS = 60  # steps of a path up to which each is an arrow
CORNERS = 500  # steps that are drawn, at most: more would cover the picture


def draw_path(ax: Axes, path: np.ndarray, colour: str) -> Any:
    """Draw the weights one after another: arrows if they are few, a line if many."""
    if len(path) < 2:
        return None
    ax.plot(*path[0], marker="o", mfc="white", mec=colour, ms=6, ls="", label="start", zorder=5)
    some, label = thin_path(path)
    if len(path) > ARROWS:
        opacity = 0.8 if len(some) == len(path) else 0.4
        (line,) = ax.plot(*some.T, color=colour, lw=0.7, alpha=opacity, label=label, zorder=4)
        return line
    ax.plot([], [], color=colour, marker=">", ms=4, lw=1.0, label=label)
    return draw_arrows(ax, path[:-1], np.diff(path, axis=0), colour, zorder=4)


def thin_path(path: np.ndarray) -> tuple[np.ndarray, str]:
    """The weights to draw of a path, with its end, and what the key says: all, or every so many."""
    steps = len(path) - 1
    label = f"path of w, {count(steps, 'step', ',')}"
    if steps <= CORNERS:
        return path, label
    every = -(-steps // CORNERS)
    return np.vstack([path[:-1:every], path[-1:]]), f"{label},\none in {every} drawn"


def draw_arrows(ax: Axes, feet: np.ndarray, moves: np.ndarray, colours: Any, zorder: float) -> Any:
    """Arrows in the units of the axes."""
    return ax.quiver(
        *feet.T,
        *moves.T,
        color=colours,
        angles="xy",
        scale_units="xy",
        scale=1.0,
        width=0.0045,
        headwidth=5.5,
        headlength=6.5,
        headaxislength=6.0,
        minlength=0.0,
        zorder=zorder,
    )


def draw_arrow(ax: Axes, tip: np.ndarray, label: str) -> Any:
    """An arrow from the origin."""
    arrow = {"arrowstyle": "-|>", "color": BLACK, "lw": 2.2, "shrinkA": 0, "shrinkB": 0}
    ax.plot([], [], color=BLACK, marker=">", ms=6, lw=2.2, label=label)
    return ax.annotate("", xy=tuple(tip), xytext=(0, 0), arrowprops=arrow, zorder=6)
