"""Convex pieces of the plane and of space, cut out of a box by half-planes and half-spaces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["NEAR", "Face", "cut_body", "cut_polygon", "cut_ring", "least_first"]

NEAR = 1e-9  # of the size of the picture: on a plane, not beyond it
Face = tuple[int, np.ndarray]  # which row it lies on (−1: the box), and its corners


def cut_ring(corners: np.ndarray, a: np.ndarray, c: float) -> np.ndarray:
    """The part of a convex polygon, in any space, where a·z + c ≥ 0 (Sutherland and Hodgman 1974)."""
    if not len(corners):
        return corners
    f = corners @ a + c
    kept: list[np.ndarray] = []
    for i, p in enumerate(corners):
        j = (i + 1) % len(corners)
        if f[i] >= 0:
            kept.append(p)
        if f[i] * f[j] < 0:
            kept.append(p + f[i] / (f[i] - f[j]) * (corners[j] - p))
    return np.array(kept).reshape(-1, corners.shape[1])


def cut_polygon(A: np.ndarray, c: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Corners of {u in the box: A u + c ≥ 0}, cut by the most violated row until none is."""
    corners = np.array([[x, y] for x in box[0] for y in box[1]])[[0, 1, 3, 2]]
    slack = NEAR * (np.abs(A) @ np.abs(box).max(axis=1) + np.abs(c))
    for _ in range(len(A)):
        worst = np.min(A @ corners.T, axis=1) + c + slack
        row = int(np.argmin(worst))
        if worst[row] >= 0:
            break
        corners = cut_ring(corners, A[row], float(c[row]))
        if len(corners) < 3:
            return np.empty((0, 2))
    return corners


def cut_body(A: np.ndarray, box: np.ndarray) -> list[Face]:
    """Faces of {z in the box: A z ≥ 1}, cut by the most violated row until none is."""
    size = np.ptp(box, axis=1)
    faces: list[Face] = [(-1, side) for side in _sides(box)]
    slack = NEAR * (np.abs(A) @ np.abs(box).max(axis=1) + 1.0)
    for _ in range(len(A)):
        corners = np.vstack([ring for _, ring in faces])
        worst = np.min(A @ corners.T, axis=1) - 1.0 + slack
        row = int(np.argmin(worst))
        if worst[row] >= 0:
            break
        faces = _cut_faces(faces, row, A[row], size)
        if not faces:
            break
    return faces


def _cut_faces(faces: Sequence[Face], row: int, a: np.ndarray, size: np.ndarray) -> list[Face]:
    """Cut a convex body by a·z ≥ 1, and close it where it was cut."""
    left = [(tag, cut_ring(ring, a, -1.0)) for tag, ring in faces]
    left = [(tag, ring) for tag, ring in left if len(ring) >= 3]
    if not left:
        return []
    corners = np.vstack([ring for _, ring in left])
    reach = float(np.abs(a) @ size)
    rim = corners[np.abs(corners @ a - 1.0) <= NEAR * reach]
    if len(rim) >= 3:
        left.append((row, _ordered(rim / size, a * size) * size))
    return left


def _ordered(rim: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Corners of a convex polygon in the plane with normal a, in order around it, each once."""
    middle = rim.mean(axis=0)
    first = np.eye(3)[int(np.argmin(np.abs(a)))]
    first = first - (first @ a) / (a @ a) * a
    second = np.cross(a, first)
    first, second = first / np.linalg.norm(first), second / np.linalg.norm(second)
    angles = np.arctan2((rim - middle) @ second, (rim - middle) @ first)
    ring = rim[np.argsort(angles)]
    new = np.linalg.norm(ring - np.roll(ring, 1, axis=0), axis=1) > NEAR
    return np.asarray(ring[new])


def _sides(box: np.ndarray) -> list[np.ndarray]:
    """The six sides of a box."""
    sides = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        for end in box[k]:
            side = np.empty((4, 3))
            side[:, k] = end
            side[:, i] = box[i][[0, 1, 1, 0]]
            side[:, j] = box[j][[0, 0, 1, 1]]
            sides.append(side)
    return sides


def least_first(corners: np.ndarray) -> np.ndarray:
    """The point of a convex polygon whose first coordinate is nearest to 0."""
    nearest = corners[int(np.argmin(np.abs(corners[:, 0])))]
    low, high = corners[corners[:, 0] <= 0], corners[corners[:, 0] > 0]
    if len(low) and len(high):  # it crosses 0: the middle of the crossing
        crossing = cut_ring(cut_ring(corners, np.array([1.0, 0.0]), 0.0), np.array([-1.0, 0.0]), 0.0)
        return np.asarray(crossing.mean(axis=0)) if len(crossing) else nearest
    level = corners[np.isclose(corners[:, 0], nearest[0], rtol=0, atol=NEAR * np.ptp(corners[:, 0]))]
    return np.asarray(level.mean(axis=0))
