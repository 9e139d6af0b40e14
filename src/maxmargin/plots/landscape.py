"""The perceptron risk R(w) = Σ −y_i x_i·w over the misclassified points, as a function on the plane.

R is linear between the lines x_i·w = 0 and has a crease at each; R(sw) = s R(w) for s ≥ 0. So it is
known from its values on a circle, and on a fan of triangles whose rays include the creases it is drawn
without error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.plots.cone import find_cone

__all__ = ["Landscape", "perceptron_risk"]

RAYS = 360  # rays of the fan besides the creases
BLOCK = 1 << 22  # numbers at a time


def perceptron_risk(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return R(w) = Σ max(0, −a·w) over the rows a of A, for each row of W."""
    step = max(1, BLOCK // max(1, len(A)))
    parts = [np.maximum(0.0, -(W[k : k + step] @ A.T)).sum(axis=1) for k in range(0, len(W), step)]
    return np.concatenate(parts) if parts else np.empty(0)


@dataclass(frozen=True)
class Landscape:
    """R over the plane of weights, for rows a_i = y_i x_i."""

    A: np.ndarray

    def risk(self, W: Any) -> np.ndarray:
        """R(w) for each row of W."""
        return perceptron_risk(self.A, np.asarray(W, dtype=np.float64))

    @property
    def cone(self) -> tuple[float, float] | None:
        """The angles between which R = 0 since all points are right, or None."""
        return find_cone(self.A)

    def crease_angles(self, most: int) -> np.ndarray:
        """Where the lines x_i·w = 0 meet the circle, both ends of each, sorted."""
        real = self.A[np.any(self.A != 0, axis=1)]
        some = real[np.linspace(0, len(real) - 1, min(len(real), most)).astype(int)]
        ends = np.arctan2(some[:, 0], -some[:, 1])
        return np.unique(np.append(ends, np.where(ends > 0, ends - np.pi, ends + np.pi)))

    def fan(self, radii: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """w₁, w₂ and R on rays that include the creases; exact on each ray, since R is linear there."""
        rays = np.append(np.linspace(-np.pi, np.pi, RAYS + 1), self.crease_angles(most))
        circle = unit(np.unique(rays))
        height = self.risk(circle)
        return np.outer(radii, circle[:, 0]), np.outer(radii, circle[:, 1]), np.outer(radii, height)

    @property
    def valley(self) -> float:
        """The angle at which R is lowest; in the middle of the cone if there is one."""
        if self.cone is not None:
            return 0.5 * sum(self.cone)
        angles = np.linspace(-np.pi, np.pi, RAYS + 1)
        return float(angles[int(np.argmin(self.risk(unit(angles))))])


def unit(angles: np.ndarray) -> np.ndarray:
    """Points of the unit circle."""
    return np.column_stack([np.cos(angles), np.sin(angles)])
