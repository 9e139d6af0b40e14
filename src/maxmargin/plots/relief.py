"""A landscape of risk drawn: its isocontours, or its surface, with the creases and a path on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxmargin.plots.arrows import draw_path, thin_path
from maxmargin.plots.cone import CONE, draw_cone
from maxmargin.plots.keys import is_narrow
from maxmargin.plots.landscape import Landscape, unit
from maxmargin.plots.solid import name_axes, solids
from maxmargin.plots.style import BLACK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ReliefArtists", "draw_contours", "draw_surface"]

LEVELS = 12
CREASES = 120  # creases that are drawn, at most
MARKS = 60  # steps of a path on the surface that have a marker each
BLUES, ROUTE = "Blues", "#D55E00"
RIGHT = "R = 0: all points right"


class ReliefArtists(NamedTuple):
    """The contours or the surface, the creases, the cone where R = 0, and the path."""

    ground: Any
    creases: Any
    cone: Any
    path: Any


def draw_contours(ax: Axes, land: Landscape, path: np.ndarray, r: float) -> ReliefArtists:
    """Draw the isocontours of R in the square of half width r."""
    from matplotlib.ticker import MaxNLocator

    U, V, R = land.fan(np.array([0.0, 3.0 * r]), 2_000)
    top = float(land.risk([[x, y] for x in (-r, r) for y in (-r, r)]).max())  # R is convex
    levels = MaxNLocator(LEVELS).tick_values(0.0, top or 1.0)
    ax.contourf(U, V, R, levels=levels, cmap=BLUES, alpha=0.75, zorder=0)
    contours = ax.contour(U, V, R, levels=levels[1:], colors=BLACK, linewidths=0.6, zorder=1)
    cone: Any = draw_cone(ax, land.cone, r)
    if cone is not None:
        cone.set(alpha=0.9, zorder=1.5, label=RIGHT)
    creases = _draw_creases(ax, land, 3.0 * r, flat=True)
    walked = draw_path(ax, path, ROUTE)
    if len(path):
        ax.plot(*path[-1], "*", color=ROUTE, mec=BLACK, ms=13, label="last w", zorder=6)
    some = list(contours.levels)[1::3]
    if some:
        ax.clabel(contours, levels=some, fmt="%g", fontsize=8)
    ax.set(xlim=(-r, r), ylim=(-r, r))
    ax.set_aspect("equal", adjustable="box")
    return ReliefArtists(contours, creases, cone, walked)


def draw_surface(
    ax: Any, land: Landscape, path: np.ndarray, r: float, names: tuple[str, ...]
) -> ReliefArtists:
    """Draw R as a surface over the disc of radius r, on axes w₁ and w₂ of these names."""
    U, V, R = land.fan(np.linspace(0.0, r, LEVELS + 1), CREASES)
    look = {"rstride": 1, "cstride": 1, "lw": 0, "alpha": 0.8}
    surface = ax.plot_surface(U, V, R, cmap=BLUES, vmin=-0.25 * float(R.max()), **look)
    for ring in range(2, LEVELS + 1, 2):
        ax.plot(U[ring], V[ring], R[ring], color=BLACK, lw=0.4, alpha=0.5)
    cone = None
    if land.cone is not None:
        floor = r * np.vstack([np.zeros(2), unit(np.linspace(*land.cone, 24))])
        corners = np.column_stack([floor, np.zeros(len(floor))])
        cone = solids().Poly3DCollection([corners], facecolors=CONE, alpha=0.9, zorder=5)
        ax.add_collection3d(cone)
        ax.plot([], [], [], "s", color=CONE, ms=9, label=RIGHT)
    creases = _draw_creases(ax, land, r, flat=False)
    walked = None
    if len(path):
        some, label = thin_path(path) if len(path) > 1 else (path, "w")
        few = len(some) <= MARKS
        (walked,) = ax.plot(*some.T, land.risk(some), color=ROUTE, marker=".", label=label)
        walked.set(zorder=10, lw=1.6 if few else 0.7, markevery=1 if few else [0, len(some) - 1])
    ax.computed_zorder = False
    name_axes(ax, (*names, "R"))
    ax.set_box_aspect(None, zoom=0.76 if is_narrow(ax) else 0.93)
    ax.view_init(elev=32, azim=float(np.degrees(land.valley)) + 25.0)  # into the valley
    return ReliefArtists(surface, creases, cone, walked)


def _draw_creases(ax: Any, land: Landscape, r: float, *, flat: bool) -> Any:
    circle = unit(land.crease_angles(CREASES))
    ends = r * (circle if flat else np.column_stack([circle, land.risk(circle)]))
    segments = [np.array([np.zeros_like(end), end]) for end in ends]
    few = len(ends) <= 24
    look = {"colors": BLACK, "linewidths": 1.2 if few else 0.4, "alpha": 1.0 if few else 0.4}
    if flat:
        from matplotlib.collections import LineCollection

        creases = LineCollection(segments, linestyles="--", zorder=2, **look)
        ax.add_collection(creases)
    else:
        creases = solids().Line3DCollection(segments, zorder=6, **look)
        ax.add_collection3d(creases)
    shown = "creases x·w = 0" if len(land.A) <= CREASES else f"{CREASES} of the creases"
    ax.plot([], [], *([] if flat else [[]]), color=BLACK, ls="--" if flat else "-", label=shown)
    return creases
