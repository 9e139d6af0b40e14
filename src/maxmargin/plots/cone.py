"""The weights that are right for all points, of planes through the origin: a cone between two lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CONE", "bounding_rows", "draw_cone", "find_cone"]

CONE = "#F0E442"  # where the weights are right: yellow, the one colour no class has


def find_cone(A: np.ndarray) -> tuple[float, float] | None:
    """The angles between which w has a·w > 0 for all rows a, or None."""
    rows = bounding_rows(A)
    if not rows:
        return None
    last, first = (float(np.arctan2(A[i, 1], A[i, 0])) for i in rows)
    start = last - np.pi / 2
    return start, start + np.pi - (last - first) % (2 * np.pi)


def bounding_rows(A: np.ndarray) -> list[int]:
    """The rows between which all others lie, in less than half a turn: their lines bound the cone."""
    if not np.all(np.any(A != 0, axis=1)):
        return []
    angles = np.arctan2(A[:, 1], A[:, 0])
    order = np.argsort(angles)
    gaps = np.diff(np.append(angles[order], angles[order[0]] + 2 * np.pi))
    widest = int(np.argmax(gaps))
    last, first = int(order[widest]), int(order[(widest + 1) % len(order)])
    middle = angles[first] + 0.5 * ((angles[last] - angles[first]) % (2 * np.pi))
    w = np.array([np.cos(middle), np.sin(middle)])
    return [last, first] if np.all(A @ w > 1e-12 * np.abs(A).max(axis=1)) else []


def draw_cone(ax: Axes, cone: tuple[float, float] | None, r: float) -> Any:
    """Shade the cone, out to beyond the picture."""
    if cone is None:
        return None
    arc = np.linspace(*cone, 24)
    corners = 3 * r * np.vstack([np.zeros(2), np.column_stack([np.cos(arc), np.sin(arc)])])
    (patch,) = ax.fill(*corners.T, color=CONE, alpha=0.45, lw=0, label="all points right", zorder=0)
    return patch
