"""Regions of several classes in the plane of a picture, and the points that they do not speak for.

A picture of more than two features is a cut through x-space. The regions in it are exact for points of
the cut; a point off the cut is drawn over it, and the model may decide otherwise about it.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.plots.data import Points
from maxmargin.plots.style import BLACK, class_styles
from maxmargin.plots.view import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["cut_words", "draw_regions", "off_cut", "said_in_cut"]

GRID = 300  # points along a side where regions are told apart


def said_in_cut(predict: Any, view: View, u: np.ndarray) -> np.ndarray:
    """What the model says at places of the picture."""
    with warnings.catch_warnings():  # these rows are made here: they have no names
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(predict(view.whole(u)))


def off_cut(predict: Any, view: View, points: Points, said: np.ndarray) -> np.ndarray:
    """Which points lie in the region of another class than the model says of them."""
    flat = view.flat(points.X)
    if points.X.shape[1] <= 2:
        return np.zeros(len(flat), dtype=bool)
    return np.asarray(said_in_cut(predict, view, flat) != said)


def draw_regions(ax: Axes, predict: Any, view: View, points: Points, box: np.ndarray) -> Any:
    """Shade the regions and draw their borders."""
    from matplotlib.colors import ListedColormap

    across = [np.linspace(side[0], side[1], GRID) for side in box]
    u = np.stack(np.meshgrid(*across), axis=-1).reshape(-1, 2)
    labels = said_in_cut(predict, view, u)
    codes = np.searchsorted(points.classes, labels).reshape(GRID, GRID)
    styles = class_styles(points.labels)
    regions = ax.pcolormesh(
        *across,
        codes,
        cmap=ListedColormap([s.colour for s in styles]),
        vmin=-0.5,
        vmax=len(styles) - 0.5,
        alpha=0.18,
        shading="nearest",
        rasterized=True,
        zorder=0,
    )
    for code in np.unique(codes)[
        :-1
    ]:  # one border for each region: levels between codes would double it
        ax.contour(*across, codes == code, levels=[0.5], colors=BLACK, linewidths=0.8, zorder=1)
    return regions


def cut_words(view: View, machine: Hashable = None) -> tuple[str, str]:
    """The name of the first axis, and how the plane was cut; ``machine`` is whose w it follows."""
    if view.sliced:
        return view.names[0], f"{view.cut}; rows of other slices are drawn over it"
    if not view.projected or machine is None:
        return view.names[0], ""
    return f"along w of {machine}", f"{view.cut}: regions as in it, rows projected onto it"
