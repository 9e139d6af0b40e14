"""Weight space with a bias, (w₁, w₂, b): what the hard-margin machine searches, and where it ends.

Each training point is the plane y (w·x + b) = 1, and the feasible weights lie on one side of all of
them. The optimum is the feasible point with the least ‖w‖, the one nearest to the axis w = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError
from maxmargin.core.params import check_choice, check_number
from maxmargin.estimators.hardmargin import HardMarginSVC
from maxmargin.plots.data import Points, read_points
from maxmargin.plots.risk import legend_below, solids
from maxmargin.plots.style import BLACK, COLOURS, GREY, axes, legend
from maxmargin.plots.wspace import CONE, WAYS
from maxmargin.plots.xspace import box_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["WeightSpaceDisplay", "cut_body", "cut_polygon"]

KINDS = ("3d", "section")
MOST, PLANES = len(COLOURS), 6  # rows that are drawn in a section, and in three dimensions
WIDER = 5  # times a section is doubled in search of something feasible
NEAR = 1e-9  # of the size of the picture: on a plane, not beyond it
Face = tuple[int, np.ndarray]  # which row it lies on (−1: the box), and its corners


@dataclass
class WeightSpaceDisplay:
    """The constraints of the hard margin in (w₁, w₂, b), the feasible region and the optimum.

    Made by :meth:`from_estimator`, of a :class:`maxmargin.HardMarginSVC` with a bias, two classes and
    two features. Only rows that matter are drawn: those that bound the feasible region in the picture,
    of the support first, at most eight, each in its own colour.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    rows : array of int
        The training rows whose constraints are drawn, support of largest α first.
    planes_ : dict
        Their planes (in a section: lines), by row.
    region_ : artist or None
        The feasible region, as far as it is in the picture; None if no part of it is.
    optimum_ : artist or None
        The optimum; None in a section without it.
    nearest_ : artist or None
        In a section without the optimum: its feasible weights of least ‖w‖.
    rim_ : artist or list
        Where ‖w‖ is as at the optimum: a circle, or two lines across a section.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.weights import WeightSpaceDisplay
    >>> X, y = [[2, 5], [-4, -2], [4, -4]], [1, -1, -1]
    >>> model = mm.HardMarginSVC().fit(X, y)
    >>> display = WeightSpaceDisplay.from_estimator(model, X, y, kind="section")
    >>> sorted(display.planes_)
    [0, 1, 2]
    """

    points: Points
    w: np.ndarray
    b: float
    alpha: np.ndarray

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        kind: str = "3d",
        w1: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the weight space of a fitted hard-margin machine.

        Parameters
        ----------
        estimator : fitted HardMarginSVC
            With a bias, of two classes in two features.
        X, y : array-like
            Its training data.
        kind : "3d" or "section", default "3d"
            The planes in three dimensions, or a section at one w₁.
        w1 : float, optional
            Where to cut; default the w₁ of the optimum.
        ax : matplotlib Axes, optional
            Where to draw, with ``projection="3d"`` for planes; default a new figure.
        """
        check_is_fitted(estimator)
        points = read_points(X, y, estimator)
        flat = points.X.shape[1] == 2 and len(points.classes) == 2
        if not isinstance(estimator, HardMarginSVC) or not flat or not estimator.fit_intercept:
            raise InputError(
                "weight space is drawn for a HardMarginSVC with a bias, of two classes in two features. "
                f"Got {estimator!r} of {len(points.classes)} classes in "
                f"{points.X.shape[1]} features instead. XSpaceDisplay draws any linear classifier, "
                "WSpaceDisplay planes through the origin."
            )
        if len(estimator.dual_) != len(points.X):
            raise InputError(
                f"X must be the {len(estimator.dual_)} training rows. Got {len(points.X)} rows instead."
            )
        display = cls(points, estimator.coef_[0], float(estimator.intercept_[0]), estimator.dual_)
        return display.plot(ax, kind, w1)

    @cached_property
    def constraints(self) -> np.ndarray:
        """a_i = y_i (x_i, 1), one per row: feasible are the z = (w₁, w₂, b) with a_i·z ≥ 1."""
        padded = np.column_stack([self.points.X, np.ones(len(self.points.X))])
        return np.asarray(self.points.signs[:, None] * padded)

    @property
    def box(self) -> np.ndarray:
        """[low, high] of w₁, w₂ and b: the axis w = 0, the optimum, and as far again beyond it."""
        length = 1.25 * float(np.linalg.norm(self.w))
        # at 2w all b from 2b − 1 to 2b + 1 are feasible
        heights = [0.0, self.b, 2 * self.b - 1, 2 * self.b + 1]
        room = 0.08 * (max(heights) - min(heights))
        sides = [[w - length, w + length] for w in self.w]
        return np.array([*sides, [min(heights) - room, max(heights) + room]])

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows that matter: those that bound the region in the box, of the support first."""
        faces = {tag for tag, _ in cut_body(self.constraints, self.box) if tag >= 0}
        support = set(np.flatnonzero(self.alpha > 1e-9 * self.alpha.max()).tolist())
        bounding = sorted(faces & support, key=lambda row: (-self.alpha[row], row))
        near = sorted(faces - support, key=self._slack)
        return np.array([*bounding, *near][:MOST], dtype=np.int64)

    @property
    def _tidy(self) -> np.ndarray:
        """The weights and the bias for a title: what rounding left of a zero is a zero."""
        z = np.append(self.w, self.b)
        return np.where(np.abs(z) > 1e-12 * np.append([np.abs(self.w).max()] * 2, 1.0), z, 0.0)

    def _slack(self, row: int) -> float:
        return float(self.constraints[row] @ [*self.w, self.b])

    def plot(self, ax: Axes | None = None, kind: str = "3d", w1: float | None = None) -> Self:
        """Draw on ``ax``, or on a new figure: the planes, or a section at ``w1``."""
        check_choice("kind", kind, KINDS)
        self.planes_: dict[int, Any] = {}
        self.region_: Any = None
        self.optimum_: Any = None
        self.nearest_: Any = None
        self.rim_: Any = None
        if kind == "section":
            self.ax_ = ax = axes(ax)
            self._draw_section(ax, float(self.w[0]) if w1 is None else check_number("w1", w1))
            legend(ax)
            return self
        if w1 is not None:
            raise InputError(
                f'w1 must be left out for kind="3d". Got {w1!r} instead. Use kind="section".'
            )
        self.ax_ = ax = axes(ax, subplot_kw={"projection": "3d"}, figsize=(7.0, 6.5))
        if ax.name != "3d":
            raise InputError(
                'ax must be three-dimensional for kind="3d". Got flat axes instead. '
                'Make them with plt.subplots(subplot_kw={"projection": "3d"}).'
            )
        self._draw_planes(ax)
        legend_below(ax)
        return self

    def _draw_planes(self, ax: Any) -> None:
        shape, box = solids().Poly3DCollection, self.box
        for row in self.rows[:PLANES]:
            sheet = [corners for tag, corners in cut_body(self.constraints[[row]], box) if tag == 0]
            if not sheet:  # it passes by the picture
                continue
            colour, way = self._look(row)
            self.planes_[int(row)] = plane = shape(sheet, alpha=0.16, facecolors=colour)
            plane.set(edgecolors=colour, linewidths=1.0, linestyles=way)
            ax.add_collection3d(plane)
            ax.plot([], [], [], color=colour, ls=way, lw=2, label=self._name(row))
        faces = cut_body(self.constraints, box)
        if faces:
            self.region_ = shape([ring for _, ring in faces], facecolors=CONE, alpha=0.4)
            self.region_.set(edgecolors=BLACK, linewidths=0.7)
            ax.add_collection3d(self.region_)
            ax.plot([], [], [], "s", color=CONE, ms=9, label="feasible")
        ax.plot([0, 0], [0, 0], box[2], color=GREY, lw=1.2, ls=":", label="w = 0")
        length, turn = float(np.linalg.norm(self.w)), np.linspace(0, 2 * np.pi, 121)
        ring = length * np.cos(turn), length * np.sin(turn)
        label = f"‖w‖ = {length:.3g}"
        (self.rim_,) = ax.plot(*ring, self.b, color=BLACK, ls="--", lw=1.0, label=label)
        ax.plot([0, self.w[0]], [0, self.w[1]], [self.b, self.b], color=BLACK, lw=1.2)
        (self.optimum_,) = ax.plot(*([c] for c in (*self.w, self.b)), "*", color=BLACK, ms=13)
        self.optimum_.set(label="optimum", zorder=10)
        ax.set(xlim=box[0], ylim=box[1], zlim=box[2], xlabel="w₁", ylabel="w₂", zlabel="b")
        ax.locator_params(nbins=5)
        at = ", ".join(f"{v:.3g}" for v in self._tidy)
        ax.set_title(f"Weight space: optimum ({at})")
        ax.set_box_aspect((1, 1, 1), zoom=0.9)
        ax.view_init(elev=18, azim=self._azimuth())

    def _azimuth(self) -> float:
        """Look from the side of the axis w = 0, off the direction of w, and along no axis."""
        wanted = float(np.degrees(np.arctan2(-self.w[1], -self.w[0]))) + 50.0
        diagonal = 90.0 * np.floor(wanted / 90.0) + 45.0
        return float(diagonal + np.clip(wanted - diagonal, -15.0, 15.0))

    def _draw_section(self, ax: Axes, w1: float) -> None:
        A = self.constraints
        A, c = A[:, 1:], A[:, 0] * w1 - 1.0  # feasible: A (w₂, b) + c ≥ 0
        box, corners = self._frame(A, c)
        if len(corners):
            (self.region_,) = ax.fill(*corners.T, color=CONE, lw=0, label="feasible", zorder=0)
        for row in self.rows:
            ends = box_line(A[row], c[row], box)
            if ends is not None:
                colour, way = self._look(row)
                label = self._name(row)
                (line,) = ax.plot(*ends, color=colour, ls=way, lw=1.8, label=label, zorder=2)
                self.planes_[int(row)] = line
        square = float(self.w @ self.w)
        across = square - w1 * w1
        if across >= -NEAR * square:
            half = max(across, 0.0) ** 0.5
            label = f"‖w‖ = {square**0.5:.3g}"
            self.rim_ = [ax.axvline(half, color=BLACK, ls=":", lw=1.0, label=label, zorder=1)]
            self.rim_.append(ax.axvline(-half, color=BLACK, ls=":", lw=1.0, zorder=1))
        if abs(w1 - self.w[0]) <= NEAR * square**0.5:
            (self.optimum_,) = ax.plot(
                self.w[1], self.b, "*", color=BLACK, ms=14, label="optimum", zorder=5
            )
        elif len(corners):
            point = _least_first(corners)
            length = float(np.hypot(w1, point[0]))
            label = f"least ‖w‖ here: {length:.3g}"
            (self.nearest_,) = ax.plot(*point, "D", mfc="white", mec=BLACK, ms=8, label=label, zorder=5)
        ax.set(xlim=box[0], ylim=box[1], xlabel="w₂", ylabel="b")
        at = float(self._tidy[0]) if w1 == self.w[0] else w1
        ax.set_title(f"Section at w₁ = {at:.4g}" + ("" if len(corners) else ": nothing feasible here"))

    def _frame(self, A: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a section shows, and the corners of its feasible part.

        It is wider than the usual box if that part is far away, and closer if it is small and all in
        view.
        """
        box = self.box[1:]
        corners = cut_polygon(A, c, box)
        for _ in range(WIDER):
            if len(corners):
                break
            box = box + np.outer(np.ptp(box, axis=1), [-0.5, 0.5])
            corners = cut_polygon(A, c, box)
        if len(corners):
            low, high = corners.min(axis=0), corners.max(axis=0)
            room = np.maximum(0.75 * (high - low), 0.05 * np.ptp(box, axis=1))  # not into rounding
            if np.all(low - room > box[:, 0]) and np.all(high + room < box[:, 1]):
                box = np.column_stack([low - room, high + room])
        return box, corners

    def _look(self, row: int) -> tuple[str, str]:
        place = self.rows.tolist().index(row)
        code = int(self.points.codes[row])
        return COLOURS[place % len(COLOURS)], WAYS[1 - code]

    def _name(self, row: int) -> str:
        return f"row {row}: {self.points.labels[self.points.codes[row]]}"


def _least_first(corners: np.ndarray) -> np.ndarray:
    """The point of a convex polygon whose first coordinate is nearest to 0."""
    nearest = corners[int(np.argmin(np.abs(corners[:, 0])))]
    low, high = corners[corners[:, 0] <= 0], corners[corners[:, 0] > 0]
    if len(low) and len(high):  # it crosses 0: the middle of the crossing
        crossing = cut_ring(cut_ring(corners, np.array([1.0, 0.0]), 0.0), np.array([-1.0, 0.0]), 0.0)
        return np.asarray(crossing.mean(axis=0)) if len(crossing) else nearest
    level = corners[np.isclose(corners[:, 0], nearest[0], rtol=0, atol=NEAR * np.ptp(corners[:, 0]))]
    return np.asarray(level.mean(axis=0))


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
