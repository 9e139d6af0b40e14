"""The perceptron risk R(w) as a landscape over w-space, and the way of a run down it.

R(w) = Σ −y_i x_i·w over the misclassified points is linear between the lines x_i·w = 0, has a crease at
each, and R(sw) = s R(w) for s ≥ 0. So it is known from its values on a circle, and on a fan of triangles
whose rays include the creases it is drawn without error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maxmargin.core.parameters import check_choice
from maxmargin.plots import style
from maxmargin.plots.artists import draw_path, thin_path
from maxmargin.plots.geometry import CONE, cone_corners, draw_cone, on_circle
from maxmargin.plots.style import BLACK
from maxmargin.plots.w_space import OriginPlanes, read_flat, read_path, read_run, set_square

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("contour", "surface")
FAN_RAYS = 360  # of the fan besides the creases
MAX_BLOCK_NUMBERS = 1 << 22  # numbers at a time
CONTOUR_LEVELS = 12
MAX_DRAWN_CREASES = 120  # that are drawn, at most
MAX_FAN_CREASES = 2_000  # that the contours are exact at, at most
MAX_MARKED_STEPS = 60  # of a path on the surface, up to which each has a marker
COLOUR_MAP, PATH_COLOUR = "Blues", "#D55E00"
ALL_RIGHT = "R = 0: all points right"


def perceptron_risk(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return R(w) = Σ max(0, −a·w) over the rows a of A, for each row of W."""
    step = max(1, MAX_BLOCK_NUMBERS // max(1, len(A)))
    parts = [np.maximum(0.0, -(W[k : k + step] @ A.T)).sum(axis=1) for k in range(0, len(W), step)]
    return np.concatenate(parts) if parts else np.empty(0)


@dataclass(repr=False)
class RiskDisplay(OriginPlanes):
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

    kind: str = "contour"
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
        return cls(read_flat(X, y, names=names), read_path(path), kind).plot(ax)

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
        return cls(points, path if len(path) else w[None], kind, heading).plot(ax)

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
        return perceptron_risk(self.normals, np.asarray(W, dtype=np.float64))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        nothing: Any = None
        self.surface_ = self.contours_ = self.cone_ = self.path_ = nothing
        if self.kind == "surface":
            self.ax_ = ax = style.solid_axes(ax, "surface", (7.0, 6.0))
            self._draw_surface(ax)
            style.title(ax, self.title)
            style.key_below(ax, drop=0.1)
        else:
            self.ax_ = ax = style.axes(ax)
            self._draw_contours(ax)
            style.title(ax, self.title)
            style.key(ax)
        return self

    def _draw_contours(self, ax: Axes) -> None:
        """The isocontours of R in a square."""
        from matplotlib.ticker import MaxNLocator

        r = self.reach
        U, V, R = self._fan(np.array([0.0, 3.0 * r]), MAX_FAN_CREASES)
        top = float(self.risk([[x, y] for x in (-r, r) for y in (-r, r)]).max())  # R is convex
        levels = MaxNLocator(CONTOUR_LEVELS).tick_values(0.0, top or 1.0)
        ax.contourf(U, V, R, levels=levels, cmap=COLOUR_MAP, alpha=0.75, zorder=0)
        self.contours_ = ax.contour(U, V, R, levels=levels[1:], colors=BLACK, linewidths=0.6, zorder=1)
        self.cone_ = draw_cone(ax, self.cone, r)
        if self.cone_ is not None:
            self.cone_.set(alpha=0.9, zorder=1.5, label=ALL_RIGHT)
        self._draw_creases(ax, 3.0 * r)
        self.path_ = draw_path(ax, self.path, PATH_COLOUR)
        if len(self.path):
            ax.plot(*self.path[-1], "*", color=PATH_COLOUR, mec=BLACK, ms=13, label="last w", zorder=6)
        some = list(self.contours_.levels)[1::3]
        if some:
            ax.clabel(self.contours_, levels=some, fmt="%g", fontsize=8)
        set_square(ax, r, self.points.weight_names)
        ax.locator_params(nbins=6)

    def _draw_surface(self, ax: Any) -> None:
        """R as a surface over a disc."""
        r = self.reach
        U, V, R = self._fan(np.linspace(0.0, r, CONTOUR_LEVELS + 1), MAX_DRAWN_CREASES)
        look = {"rstride": 1, "cstride": 1, "lw": 0, "alpha": 0.8}
        self.surface_ = ax.plot_surface(U, V, R, cmap=COLOUR_MAP, vmin=-0.25 * float(R.max()), **look)
        for ring in range(2, CONTOUR_LEVELS + 1, 2):
            ax.plot(U[ring], V[ring], R[ring], color=BLACK, lw=0.4, alpha=0.5)
        if self.cone is not None:
            floor = np.column_stack([cone_corners(self.cone, r), np.zeros(25)])
            self.cone_ = style.solids().Poly3DCollection([floor], facecolors=CONE, alpha=0.9, zorder=5)
            ax.add_collection3d(self.cone_)
            ax.plot([], [], [], "s", color=CONE, ms=9, label=ALL_RIGHT)
        self._draw_creases(ax, r)
        if len(self.path):
            some, label = thin_path(self.path) if len(self.path) > 1 else (self.path, "w")
            few = len(some) <= MAX_MARKED_STEPS
            (self.path_,) = ax.plot(*some.T, self.risk(some), color=PATH_COLOUR, marker=".", label=label)
            self.path_.set(zorder=10, lw=1.6 if few else 0.7)
            self.path_.set_markevery(1 if few else [0, len(some) - 1])
        ax.computed_zorder = False
        style.name_axes(ax, (*self.points.weight_names, "R"))
        ax.set_box_aspect(None, zoom=0.76 if style.is_narrow(ax) else 0.93)
        ax.view_init(elev=32, azim=float(np.degrees(self._valley())) + 25.0)  # into the valley

    def _draw_creases(self, ax: Any, r: float) -> None:
        from matplotlib.collections import LineCollection

        flat = self.kind == "contour"
        circle = on_circle(self._crease_angles(MAX_DRAWN_CREASES))
        ends = r * (circle if flat else np.column_stack([circle, self.risk(circle)]))
        segments = [np.array([np.zeros_like(end), end]) for end in ends]
        few = len(ends) <= 24
        look = {"colors": BLACK, "linewidths": 1.2 if few else 0.4, "alpha": 1.0 if few else 0.4}
        self.creases_: Any
        if flat:
            self.creases_ = LineCollection(segments, linestyles="--", zorder=2, **look)
            ax.add_collection(self.creases_)
        else:
            self.creases_ = style.solids().Line3DCollection(segments, zorder=6, **look)
            ax.add_collection3d(self.creases_)
        many = len(self.points.X) > MAX_DRAWN_CREASES
        shown = f"{MAX_DRAWN_CREASES} of the creases" if many else "creases x·w = 0"
        nowhere: list[list[float]] = [[]] * ends.shape[1]
        ax.plot(*nowhere, color=BLACK, ls="--" if flat else "-", label=shown)

    def _crease_angles(self, most: int) -> np.ndarray:
        """Where the lines x_i·w = 0 meet the circle, both ends of each, sorted."""
        real = self.normals[np.any(self.normals != 0, axis=1)]
        some = real[np.linspace(0, len(real) - 1, min(len(real), most)).astype(int)]
        ends = np.arctan2(some[:, 0], -some[:, 1])
        return np.unique(np.append(ends, np.where(ends > 0, ends - np.pi, ends + np.pi)))

    def _fan(self, radii: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """w₁, w₂ and R on rays that include the creases; exact on each ray, since R is linear there."""
        rays = np.append(np.linspace(-np.pi, np.pi, FAN_RAYS + 1), self._crease_angles(most))
        circle = on_circle(np.unique(rays))
        height = self.risk(circle)
        return np.outer(radii, circle[:, 0]), np.outer(radii, circle[:, 1]), np.outer(radii, height)

    def _valley(self) -> float:
        """The angle at which R is lowest; in the middle of the cone if there is one."""
        if self.cone is not None:
            return 0.5 * sum(self.cone)
        angles = np.linspace(-np.pi, np.pi, FAN_RAYS + 1)
        return float(angles[int(np.argmin(self.risk(on_circle(angles))))])
