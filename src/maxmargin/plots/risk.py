"""The perceptron risk R(w) as a landscape over w-space, and the way of a run down it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from maxmargin.core.history import Trace
from maxmargin.core.parameters import check_choice
from maxmargin.plots.data import Points
from maxmargin.plots.geometry import CONE, draw_cone, find_cone
from maxmargin.plots.runs import (
    draw_path,
    read_flat,
    read_path,
    read_run,
    thin_path,
    trace_path,
    weight_names,
)
from maxmargin.plots.style import (
    BLACK,
    axes,
    is_narrow,
    key,
    key_below,
    name_axes,
    solid_axes,
    solids,
    title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The perceptron risk R(w) = Σ −y_i x_i·w over the misclassified points, as a function on the plane.
#
# R is linear between the lines x_i·w = 0 and has a crease at each; R(sw) = s R(w) for s ≥ 0. So it is
# known from its values on a circle, and on a fan of triangles whose rays include the creases it is drawn
# without error.

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


# A landscape of risk drawn: its isocontours, or its surface, with the creases and a path on it.

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


KINDS = ("contour", "surface")


@dataclass(repr=False)
class RiskDisplay:
    """The perceptron risk over the space of weights, and a path down it.

    Made by :meth:`from_points`, :meth:`from_trace` or :meth:`from_estimator`, of two classes in two
    features and planes through the origin. The creases are the lines x_i·w = 0; in the yellow cone
    all points are right and R = 0.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    surface_, contours_ : artists or None
        The surface in three dimensions, or the isocontours.
    creases_ : artist
        The lines of the points, on the surface or in the plane.
    cone_, path_ : artists or None
        The cone where R = 0, and the path of w.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.risk import RiskDisplay
    >>> X, y = [[2, 5], [-4, -2], [4, -4]], [1, -1, -1]
    >>> model = mm.BatchPerceptron(0.1, fit_intercept=False, record=True)
    >>> model = model.fit(X, y, coef_init=[[2, -3]])
    >>> display = RiskDisplay.from_estimator(model, X, y)
    >>> display.risk([[2, -3], [1, 4]]).tolist()
    [31.0, 0.0]
    """

    points: Points
    kind: str = "contour"
    path: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    title: str = "Perceptron risk R(w)"

    @classmethod
    def from_points(
        cls,
        X: Any,
        y: Any,
        *,
        kind: str = "contour",
        path: Any = None,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw R for the points X, y.

        Parameters
        ----------
        X, y : array-like
            Points in two features, and labels of two classes.
        kind : "contour" or "surface", default "contour"
            Isocontours, or the surface in three dimensions.
        path : array-like of shape (steps, 2), optional
            Weights one after another.
        names : sequence of str, optional
            Names of the features, beside their weights; default those of a data frame.
        ax : matplotlib Axes, optional
            Where to draw, with ``projection="3d"`` for a surface; default a new figure.
        """
        check_choice("kind", kind, KINDS)
        return cls(read_flat(X, y, names=names), kind, read_path(path)).plot(ax)

    @classmethod
    def from_trace(
        cls,
        trace: Trace,
        X: Any,
        y: Any,
        *,
        kind: str = "contour",
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw R with the path of a recorded run."""
        return cls.from_points(X, y, kind=kind, path=trace_path(trace), names=names, ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        kind: str = "contour",
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw R with the path of a perceptron fitted with ``record=True`` and without bias.

        Without a record, only the weights it ended with are shown.
        """
        check_choice("kind", kind, KINDS)
        points, path, w = read_run(estimator, X, y, names)
        heading = f"Perceptron risk R(w), {type(estimator).__name__}"
        return cls(points, kind, path if len(path) else w[None], heading).plot(ax)

    @cached_property
    def land(self) -> Landscape:
        """R, from the rows y_i x_i."""
        return Landscape(np.asarray(self.points.signs[:, None] * self.points.X))

    @property
    def reach(self) -> float:
        """Half the width of the square, or the radius of the disc under a surface.

        Without weights to show, the scale means nothing.
        """
        sizes = np.abs(self.path)
        if self.kind == "surface":
            sizes = np.linalg.norm(self.path, axis=1)
        return 1.15 * float(np.max(sizes, initial=0.0)) or 1.0

    def risk(self, W: Any) -> np.ndarray:
        """Return R(w) for each row of W."""
        return self.land.risk(W)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        self.surface_: Any = None
        self.contours_: Any = None
        if self.kind == "surface":
            self.ax_ = ax = solid_axes(ax, "surface", (7.0, 6.0))
            shown = draw_surface(ax, self.land, self.path, self.reach, weight_names(self.points))
            self.surface_ = shown.ground
        else:
            self.ax_ = ax = axes(ax)
            shown = draw_contours(ax, self.land, self.path, self.reach)
            self.contours_ = shown.ground
            across, up = weight_names(self.points)
            ax.set(xlabel=across, ylabel=up)
            ax.locator_params(nbins=6)
        self.creases_: Any = shown.creases
        self.cone_: Any = shown.cone
        self.path_: Any = shown.path
        title(ax, self.title)
        key_below(ax, drop=0.1) if self.kind == "surface" else key(ax)
        return self
