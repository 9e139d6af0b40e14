"""Weight space in three dimensions: each row a plane, the feasible region behind all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.plots.cone import CONE
from maxmargin.plots.keys import is_narrow, title
from maxmargin.plots.polytope import cut_body
from maxmargin.plots.solid import name_axes, solids
from maxmargin.plots.style import BLACK, GREY
from maxmargin.plots.weightspace import WeightSpace

__all__ = ["PlaneArtists", "draw_planes"]

PLANES = 6  # rows that are drawn, at most


class PlaneArtists(NamedTuple):
    """The planes by row, the feasible region, the optimum, and where ‖w‖ is as there."""

    planes: dict[int, Any]
    region: Any
    optimum: Any
    rim: Any


def draw_planes(ax: Any, space: WeightSpace) -> PlaneArtists:
    """Draw the constraint planes, the feasible region, and the optimum nearest to the axis w = 0."""
    shape, box = solids().Poly3DCollection, space.box
    planes: dict[int, Any] = {}
    for row in sorted(space.rows[:PLANES].tolist()):
        sheet = [corners for tag, corners in cut_body(space.constraints[[row]], box) if tag == 0]
        if not sheet:  # it passes by the picture
            continue
        colour, way = space.look(row)
        planes[int(row)] = plane = shape(sheet, alpha=0.16, facecolors=colour)
        plane.set(edgecolors=colour, linewidths=1.0, linestyles=way)
        ax.add_collection3d(plane)
        ax.plot([], [], [], color=colour, ls=way, lw=2, label=space.row_name(row))
    region = None
    if space.faces:
        region = shape(_even([ring for _, ring in space.faces]), facecolors=CONE, alpha=0.4)
        region.set(edgecolors=BLACK, linewidths=0.7)
        ax.add_collection3d(region)
        ax.plot([], [], [], "s", color=CONE, ms=9, label="feasible")
    optimum, rim = _draw_optimum(ax, space)
    ax.set(xlim=box[0], ylim=box[1], zlim=box[2])
    name_axes(ax, space.names)
    at = ", ".join(f"{v:.3g}" for v in space.tidy).replace("-", "−")
    title(ax, f"Weight space\noptimum ({at})")
    ax.set_box_aspect((1, 1, 1), zoom=0.85 if is_narrow(ax) else 0.95)
    ax.view_init(elev=18, azim=_azimuth(space.w))
    return PlaneArtists(planes, region, optimum, rim)


def _draw_optimum(ax: Any, space: WeightSpace) -> tuple[Any, Any]:
    """The optimum, its distance from the axis w = 0, and the circle of that distance."""
    w, b = space.w, space.b
    ax.plot([0, 0], [0, 0], space.box[2], color=GREY, lw=1.2, ls=":", label="w = 0")
    length, turn = float(np.linalg.norm(w)), np.linspace(0, 2 * np.pi, 121)
    ring = length * np.cos(turn), length * np.sin(turn)
    (rim,) = ax.plot(*ring, b, color=BLACK, ls="--", lw=1.0, label=f"‖w‖ = {length:.3g}")
    ax.plot([0, w[0]], [0, w[1]], [b, b], color=BLACK, lw=1.2)
    (optimum,) = ax.plot(*([c] for c in (*w, b)), "*", color=BLACK, ms=13)
    optimum.set(label="optimum", zorder=10)
    return optimum, rim


def _azimuth(w: np.ndarray) -> float:
    """Look from the side of the axis w = 0, off the direction of w, and along no axis."""
    wanted = float(np.degrees(np.arctan2(-w[1], -w[0]))) + 50.0
    diagonal = 90.0 * np.floor(wanted / 90.0) + 45.0
    return float(diagonal + np.clip(wanted - diagonal, -15.0, 15.0))


def _even(rings: list[np.ndarray]) -> list[np.ndarray]:
    """Rings of as many corners each: matplotlib fills up shorter ones with whatever is in memory."""
    most = max(map(len, rings))
    return [np.vstack([ring, np.repeat(ring[-1:], most - len(ring), axis=0)]) for ring in rings]
