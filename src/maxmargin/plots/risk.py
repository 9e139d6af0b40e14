"""The perceptron risk R(w) = Σ −y_i x_i·w over the misclassified points, as a landscape over w-space.

R is linear between the lines x_i·w = 0 and has a crease at each; R(sw) = s R(w) for s ≥ 0. So it is
known from its values on a circle, and on a fan of triangles whose rays include the creases it is drawn
without error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.params import check_choice
from maxmargin.core.trace import Trace
from maxmargin.plots.data import Points
from maxmargin.plots.style import BLACK, axes, legend
from maxmargin.plots.wspace import (
    CONE,
    draw_cone,
    draw_path,
    find_cone,
    read_flat,
    read_path,
    read_run,
    trace_path,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RiskDisplay", "perceptron_risk"]

KINDS = ("contour", "surface")
LEVELS = 12
RAYS = 360  # rays of the fan besides the creases
CREASES = 120  # creases that are drawn, at most
BLOCK = 1 << 22  # numbers at a time
COLOURS, ROUTE = "Blues", "#D55E00"


@dataclass
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
        cls, X: Any, y: Any, *, kind: str = "contour", path: Any = None, ax: Axes | None = None
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
        ax : matplotlib Axes, optional
            Where to draw, with ``projection="3d"`` for a surface; default a new figure.
        """
        return cls(read_flat(X, y), check_choice("kind", kind, KINDS), read_path(path)).plot(ax)

    @classmethod
    def from_trace(
        cls, trace: Trace, X: Any, y: Any, *, kind: str = "contour", ax: Axes | None = None
    ) -> Self:
        """Draw R with the path of a recorded run."""
        return cls.from_points(X, y, kind=kind, path=trace_path(trace), ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, kind: str = "contour", ax: Axes | None = None
    ) -> Self:
        """Draw R with the path of a perceptron fitted with ``record=True`` and without bias.

        Without a record, only the weights it ended with are shown.
        """
        points, path, w = read_run(estimator, X, y)
        title = f"Perceptron risk R(w), {type(estimator).__name__}"
        return cls(
            points, check_choice("kind", kind, KINDS), path if len(path) else w[None], title
        ).plot(ax)

    @property
    def normals(self) -> np.ndarray:
        """y_i x_i, pre-multiplied rows."""
        return np.asarray(self.points.signs[:, None] * self.points.X)

    @property
    def reach(self) -> float:
        """Half the width of the picture; without weights to show, the scale means nothing."""
        return 1.15 * float(np.max(np.abs(self.path), initial=0.0)) or 1.0

    def risk(self, W: Any) -> np.ndarray:
        """Return R(w) for each row of W."""
        return perceptron_risk(self.normals, np.asarray(W, dtype=np.float64))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        self.surface_: Any = None
        self.contours_: Any = None
        self.creases_: Any = None
        if self.kind == "surface":
            self.ax_ = ax = axes(ax, subplot_kw={"projection": "3d"}, figsize=(7.0, 6.0))
            if ax.name != "3d":
                raise InputError(
                    'ax must be three-dimensional for kind="surface". Got flat axes instead. '
                    'Make them with plt.subplots(subplot_kw={"projection": "3d"}).'
                )
            self._draw_surface(ax)
        else:
            self.ax_ = ax = axes(ax)
            self._draw_contours(ax)
        ax.set(xlabel="w₁", ylabel="w₂", title=self.title)
        ax.locator_params(nbins=6)
        legend_below(ax) if self.kind == "surface" else legend(ax)
        return self

    def crease_angles(self, most: int = CREASES) -> np.ndarray:
        """Where the lines x_i·w = 0 meet the circle, both ends of each, sorted."""
        real = self.points.X[np.any(self.points.X != 0, axis=1)]
        some = real[np.linspace(0, len(real) - 1, min(len(real), most)).astype(int)]
        ends = np.arctan2(some[:, 0], -some[:, 1])
        return np.unique(np.append(ends, np.where(ends > 0, ends - np.pi, ends + np.pi)))

    def _fan(self, radii: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """w₁, w₂ and R on rays that include the creases; exact on each ray, since R is linear there."""
        rays = np.append(np.linspace(-np.pi, np.pi, RAYS + 1), self.crease_angles(most))
        angles = np.unique(rays)
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        height = self.risk(circle)
        return np.outer(radii, circle[:, 0]), np.outer(radii, circle[:, 1]), np.outer(radii, height)

    def _draw_contours(self, ax: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        r = self.reach
        U, V, R = self._fan(np.array([0.0, 3.0 * r]), 2_000)
        top = float(self.risk([[x, y] for x in (-r, r) for y in (-r, r)]).max())  # R is convex
        levels = MaxNLocator(LEVELS).tick_values(0.0, top or 1.0)
        ax.contourf(U, V, R, levels=levels, cmap=COLOURS, alpha=0.75, zorder=0)
        self.contours_ = ax.contour(U, V, R, levels=levels[1:], colors=BLACK, linewidths=0.6, zorder=1)
        self.contours_.set(rasterized=len(self.points.X) > 5_000)
        self.cone_: Any = draw_cone(ax, find_cone(self.normals), r)
        if self.cone_ is not None:
            self.cone_.set(alpha=0.9, zorder=1.5, label="R = 0: all points right")
        self._draw_creases(ax, 3.0 * r, flat=True)
        self.path_: Any = draw_path(ax, self.path, ROUTE)
        if len(self.path):
            ax.plot(*self.path[-1], "*", color=ROUTE, mec=BLACK, ms=13, label="last w", zorder=6)
        _label(ax, self.contours_)
        ax.set(xlim=(-r, r), ylim=(-r, r))
        ax.set_aspect("equal", adjustable="box")

    def _draw_surface(self, ax: Any) -> None:
        r = self.reach
        U, V, R = self._fan(np.linspace(0.0, r, LEVELS + 1), CREASES)
        self.surface_ = ax.plot_surface(
            U, V, R, cmap=COLOURS, vmin=-0.25 * float(R.max()), rstride=1, cstride=1, lw=0, alpha=0.8
        )
        for ring in range(2, LEVELS + 1, 2):
            ax.plot(U[ring], V[ring], R[ring], color=BLACK, lw=0.4, alpha=0.5)
        self.cone_ = None
        cone = find_cone(self.normals)
        if cone is not None:
            arc = np.linspace(*cone, 24)
            floor = r * np.vstack([np.zeros(2), np.column_stack([np.cos(arc), np.sin(arc)])])
            corners = np.column_stack([floor, np.zeros(len(floor))])
            self.cone_ = solids().Poly3DCollection([corners], facecolors=CONE, alpha=0.9, zorder=5)
            ax.add_collection3d(self.cone_)
            ax.plot([], [], [], "s", color=CONE, ms=9, label="R = 0: all points right")
        self._draw_creases(ax, r, flat=False)
        self.path_ = None
        if len(self.path):
            heights = self.risk(self.path)
            steps = len(self.path) - 1
            label = f"path of w, {steps} step{'s' * (steps != 1)}" if steps else "w"
            (self.path_,) = ax.plot(*self.path.T, heights, color=ROUTE, marker=".", lw=1.6, label=label)
            self.path_.set(zorder=10, markevery=1 if steps <= 60 else [0, steps])
        ax.computed_zorder = False
        ax.set_zlabel("R(w)", labelpad=10)
        ax.set_box_aspect(None, zoom=0.88)
        ax.view_init(elev=32, azim=self._azimuth())

    def _azimuth(self) -> float:
        """Look from where R is lowest, into the valley."""
        angles = np.linspace(-np.pi, np.pi, RAYS + 1)
        low = self.risk(np.column_stack([np.cos(angles), np.sin(angles)]))
        cone = find_cone(self.normals)
        middle = 0.5 * (cone[0] + cone[1]) if cone else angles[int(np.argmin(low))]
        return float(np.degrees(middle)) + 25.0

    def _draw_creases(self, ax: Any, r: float, *, flat: bool) -> None:
        angles = self.crease_angles()
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        ends = r * (circle if flat else np.column_stack([circle, self.risk(circle)]))
        segments = [np.array([np.zeros_like(end), end]) for end in ends]
        few = len(ends) <= 24
        look = {"colors": BLACK, "linewidths": 1.2 if few else 0.4, "alpha": 1.0 if few else 0.4}
        if flat:
            from matplotlib.collections import LineCollection

            self.creases_ = LineCollection(segments, linestyles="--", zorder=2, **look)
            ax.add_collection(self.creases_)
        else:
            self.creases_ = solids().Line3DCollection(segments, zorder=6, **look)
            ax.add_collection3d(self.creases_)
        shown = "creases x·w = 0" if len(self.points.X) <= CREASES else f"{CREASES} of the creases"
        ax.plot([], [], *([] if flat else [[]]), color=BLACK, ls="--" if flat else "-", label=shown)


def perceptron_risk(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return R(w) = Σ max(0, −a·w) over the rows a of A, for each row of W."""
    step = max(1, BLOCK // max(1, len(A)))
    parts = [np.maximum(0.0, -(W[k : k + step] @ A.T)).sum(axis=1) for k in range(0, len(W), step)]
    return np.concatenate(parts) if parts else np.empty(0)


def solids() -> Any:
    """Matplotlib's artists in three dimensions, which have no types."""
    from mpl_toolkits.mplot3d import art3d  # type: ignore[import-untyped]

    return art3d


def legend_below(ax: Axes) -> None:
    """A legend under a picture in three dimensions, which has no room beside it."""
    handles, _ = ax.get_legend_handles_labels()
    columns = min(3, len(handles))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=columns, frameon=False, fontsize=9)


def _label(ax: Axes, contours: Any) -> None:
    """Values on every third contour."""
    some = contours.levels[1::3]
    if len(some):
        ax.clabel(contours, levels=some, fmt="%g", fontsize=8)
