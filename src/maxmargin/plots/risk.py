"""The perceptron risk R(w) as a landscape over w-space, and the way of a run down it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maxmargin.core.params import check_choice
from maxmargin.core.trace import Trace
from maxmargin.plots.data import Points
from maxmargin.plots.keys import key, key_below, title
from maxmargin.plots.landscape import Landscape
from maxmargin.plots.relief import draw_contours, draw_surface
from maxmargin.plots.runs import read_flat, read_path, read_run, trace_path, weight_names
from maxmargin.plots.solid import solid_axes
from maxmargin.plots.style import axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RiskDisplay"]

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
