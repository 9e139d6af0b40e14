"""The box of a picture: what it shows of the plane, and the parts of lines and strips inside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.plots.data import View
from maxmargin.plots.style import plain, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EMPTY_BORDER = 0.08  # share of the picture left free around the points
MAX_ASPECT = 4.0  # a picture longer than this, against its width, is drawn with unequal units
TICK_COUNTS = 7, 5  # along an axis, and if their numbers are longer than
TICK_LETTERS = 4
NAME_LETTERS = 30  # of a name that fit along an axis
LINE_HEIGHT = 0.18  # inches of a line of words


@dataclass(frozen=True)
class Frame:
    """What is shown: ``box`` is [[x0, x1], [y0, y1]]."""

    box: np.ndarray
    equal: bool  # one unit is as long across as up, so right angles are seen
    fixed: tuple[float | None, float | None] = (None, None)  # the value of a constant coordinate
    lanes: bool = False  # one feature: the height tells classes apart and means nothing

    def fit(self, ax: Axes) -> None:
        """Make the figure so large that the picture, its names and its key fill it."""
        width, height = 5.2, 4.1
        if self.equal:
            across, up = np.ptp(self.box, axis=1)
            width = float(np.clip(height * across / up, 3.2, width))
            height = float(np.clip(width * up / across, 2.0, height))
        key, side = ax.get_legend(), 0.0
        if key is not None:
            extent = key.get_window_extent()
            side = extent.width / ax.figure.dpi + 0.2
            height = max(height, extent.height / ax.figure.dpi)
        beside = 0.8 + LINE_HEIGHT * ax.get_ylabel().count("\n")
        lines = sum(text.get_text().count("\n") + 1 for text in ax.texts if text.get_text())
        above = 0.9 + LINE_HEIGHT * (lines + ax.get_xlabel().count("\n"))
        ax.figure.set_size_inches(width + beside + side, height + above)  # type: ignore[union-attr]

    @property
    def scale(self) -> np.ndarray:
        """Lengths that look the same: one side of the picture, or the shorter for equal units."""
        size = np.ptp(self.box, axis=1)
        return np.full(2, size.min()) if self.equal else size

    def apply(self, ax: Axes, names: tuple[str, str]) -> None:
        """Set limits, units, ticks and names of the axes."""
        ax.set(xlim=self.box[0], ylim=self.box[1])
        ax.set_xlabel(plain(wrapped(names[0], NAME_LETTERS + 10)))
        ax.set_ylabel("" if self.lanes else plain(wrapped(names[1], NAME_LETTERS)))
        ax.set_aspect("equal" if self.equal else "auto", adjustable="box")
        ax.set_anchor("NW")  # the layout then leaves room for title and key, which follow the picture
        for axis, value in zip((ax.xaxis, ax.yaxis), self.fixed, strict=True):
            if value is not None:
                axis.set_ticks([value])
            else:
                _set_ticks(axis)
        if self.lanes:
            ax.set_yticks([])


def _set_ticks(axis: Any) -> None:
    """Set about seven ticks, or five if their numbers are long."""
    from matplotlib.ticker import MaxNLocator

    for count in TICK_COUNTS:
        axis.set_major_locator(MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]))
        if (
            max(map(len, axis.get_major_formatter().format_ticks(axis.get_majorticklocs())))
            <= TICK_LETTERS
        ):
            return


def frame_points(flat: np.ndarray, view: View, largest: np.ndarray) -> Frame:
    """Choose the box around points: all of them, with some room, a constant coordinate in the middle.

    ``largest`` is the largest |x| of each feature. Differences as small as its rounding are none: the
    picture does not zoom into them.
    """
    low, high = flat.min(axis=0), flat.max(axis=0)
    size, middle = high - low, 0.5 * low + 0.5 * high
    grain = 1e-12 * (np.abs(view.axes) @ largest) + 1e-300
    constant = size <= grain
    for k in np.flatnonzero(constant):
        other = float(size[1 - k])
        size[k] = 0.2 * abs(middle[k]) if abs(middle[k]) > grain[k] else 0.3 * other or 1.0
    if len(largest) == 1:
        across = (EMPTY_BORDER + 0.5) * float(size[0])
        box = [[middle[0] - across, middle[0] + across], [-1.0, 1.0]]
        return Frame(np.array(box), False, lanes=True)
    equal = bool(size.max() <= MAX_ASPECT * size.min())
    half = 0.5 * size + EMPTY_BORDER * (size.max() if equal else size)
    first, second = (float(m) if still else None for m, still in zip(middle, constant, strict=True))
    fixed = (None, None) if view.projected else (first, second)
    return Frame(np.array([middle - half, middle + half]).T, equal, fixed)


def one_step(v: np.ndarray) -> np.ndarray:
    """The shortest step that adds one to v·u, also if v is so small that its square is nought."""
    most = float(np.abs(v).max())
    unit = v / most
    return np.asarray(unit / float(unit @ unit) / most)


def box_line(v: np.ndarray, c: float, box: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The part of the line v·u + c = 0 inside a box [[x0, x1], [y0, y1]]: xs and ys, or None."""
    ends = []
    for k, other in ((0, 1), (1, 0)):
        if v[other] == 0.0:
            continue
        for value in box[k]:
            u = np.empty(2)
            u[k], u[other] = value, -(c + v[k] * value) / v[other]
            slack = 1e-9 * float(np.ptp(box[other]))
            if box[other, 0] - slack <= u[other] <= box[other, 1] + slack:
                ends.append(u)
    if len(ends) < 2:
        return None
    size = np.ptp(box, axis=1)
    along = np.array([-v[1], v[0]]) / np.abs(v).max()
    ends.sort(key=lambda u: float(along @ u))
    if np.all(np.abs(ends[-1] - ends[0]) <= 1e-9 * size):  # it touches a corner
        return None
    pair = np.array([ends[0], ends[-1]])
    return pair[:, 0], pair[:, 1]


def box_strip(v: np.ndarray, c: float, box: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The corners of {u in the box: |v·u + c| ≤ 1}: xs and ys, or None."""
    corners = cut_ring(cut_ring(_corners(box), v, c + 1.0), -v, 1.0 - c)
    return (corners[:, 0], corners[:, 1]) if len(corners) > 2 else None


def _corners(box: np.ndarray) -> np.ndarray:
    """The four corners of a box of the plane, in order around it."""
    return np.array([[x, y] for x in box[0] for y in box[1]])[[0, 1, 3, 2]]


def hull(flat: np.ndarray) -> np.ndarray:
    """The corners of the convex hull of points of the plane, in order: one, two or more."""
    from scipy.spatial import ConvexHull, QhullError

    centred = flat - flat.mean(axis=0)
    reach = float(np.abs(centred).max())
    if reach == 0.0:
        return flat[:1]
    _, sizes, directions = np.linalg.svd(centred / reach, full_matrices=False)
    if len(sizes) > 1 and sizes[1] > 1e-12 * sizes[0]:
        try:
            return np.asarray(flat[ConvexHull(flat).vertices])
        except QhullError:  # too flat for it
            pass
    along = centred @ directions[0]
    return np.asarray(flat[[int(np.argmin(along)), int(np.argmax(along))]])


# Convex pieces of the plane and of space, cut out of a box by half-planes and half-spaces.

ON_PLANE = 1e-9  # of the size of the picture: on a plane, not beyond it
Face = tuple[int, np.ndarray]  # which row it lies on (−1: the box), and its corners


def cut_ring(corners: np.ndarray, a: np.ndarray, c: float) -> np.ndarray:
    """The part of a convex polygon, in any space, where a·z + c ≥ 0 (Sutherland and Hodgman 1974)."""
    f = corners @ a + c
    kept: list[np.ndarray] = []
    for p, q, at_p, at_q in zip(corners, np.roll(corners, -1, axis=0), f, np.roll(f, -1), strict=True):
        if at_p >= 0:
            kept.append(p)
        if at_p * at_q < 0:
            kept.append(p + at_p / (at_p - at_q) * (q - p))
    return np.array(kept).reshape(-1, corners.shape[1])


def cut_polygon(A: np.ndarray, c: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Corners of {u in the box: A u + c ≥ 0}, cut by the most violated row until none is."""
    corners = _corners(box)
    slack = ON_PLANE * (np.abs(A) @ np.abs(box).max(axis=1) + np.abs(c))
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
    slack = ON_PLANE * (np.abs(A) @ np.abs(box).max(axis=1) + 1.0)
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
    rim = corners[np.abs(corners @ a - 1.0) <= ON_PLANE * reach]
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
    new = np.linalg.norm(ring - np.roll(ring, 1, axis=0), axis=1) > ON_PLANE
    return np.asarray(ring[new])


def _sides(box: np.ndarray) -> list[np.ndarray]:
    """The six sides of a box."""
    sides = []
    for k in range(3):
        for end in box[k]:
            side = np.empty((4, 3))
            side[:, k] = end
            side[:, (k + 1) % 3] = box[(k + 1) % 3][[0, 1, 1, 0]]
            side[:, (k + 2) % 3] = box[(k + 2) % 3][[0, 0, 1, 1]]
            sides.append(side)
    return sides


def least_first(corners: np.ndarray) -> np.ndarray:
    """The point of a convex polygon whose first coordinate is nearest to 0."""
    first = corners[:, 0]
    nearest = corners[int(np.argmin(np.abs(first)))]
    if first.min() <= 0 < first.max():  # it crosses 0: the middle of the crossing
        crossing = cut_ring(cut_ring(corners, np.array([1.0, 0.0]), 0.0), np.array([-1.0, 0.0]), 0.0)
        return np.asarray(crossing.mean(axis=0)) if len(crossing) else nearest
    level = corners[np.isclose(first, nearest[0], rtol=0, atol=ON_PLANE * np.ptp(first))]
    return np.asarray(level.mean(axis=0))


# The weights that are right for all points, of planes through the origin: a cone between two lines.

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
    (w,) = on_circle(np.array([middle]))
    return [last, first] if np.all(A @ w > 1e-12 * np.abs(A).max(axis=1)) else []


def on_circle(angles: np.ndarray) -> np.ndarray:
    """Points of the unit circle."""
    return np.column_stack([np.cos(angles), np.sin(angles)])


def cone_corners(cone: tuple[float, float], r: float) -> np.ndarray:
    """The cone as a polygon of 25 corners, out to the distance r from the origin."""
    return r * np.vstack([np.zeros(2), on_circle(np.linspace(*cone, 24))])


def draw_cone(ax: Axes, cone: tuple[float, float] | None, r: float) -> Any:
    """Shade the cone, out to beyond the picture."""
    if cone is None:
        return None
    (patch,) = ax.fill(*cone_corners(cone, 3 * r).T, color=CONE, alpha=0.45, lw=0, zorder=0)
    patch.set_label("all points right")
    return patch
