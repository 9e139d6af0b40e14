"""w-space: weights are points, and training points are lines that say on which side w must be.

For planes through the origin in two features, x and w change places: w·x = 0 is a line of x's for a
given w, and a line of w's for a given x. The weights that are right for all points form a cone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError
from maxmargin.core.history import Trace
from maxmargin.plots import style
from maxmargin.plots.artists import draw_arrow, draw_arrows, draw_path
from maxmargin.plots.data import Points, not_linear, read_points
from maxmargin.plots.geometry import bounding_rows, box_line, draw_cone, find_cone
from maxmargin.plots.style import BLACK, COLOURS, LINE_STYLES, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_COLOURED_POINTS = 8  # up to which each has its own colour
MAX_DRAWN_LINES = 120  # at most
ORIGIN: dict[str, Any] = {"marker": "+", "color": BLACK, "ms": 9, "mew": 1.2, "zorder": 3}


@dataclass(repr=False)
class OriginPlanes:
    """Planes through the origin in two features: the lines x·w = 0 of points, and the path of w."""

    points: Points
    path: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))

    @classmethod
    def from_trace(cls, trace: Trace, X: Any, y: Any, **options: Any) -> Self:
        """Draw the path of a recorded run; ``options`` are those of :meth:`from_points`."""
        return cls.from_points(X, y, path=trace_path(trace), **options)  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def normals(self) -> np.ndarray:
        """y_i x_i: the side of each line where w is right."""
        return np.asarray(self.points.signs[:, None] * self.points.X)

    @cached_property
    def cone(self) -> tuple[float, float] | None:
        """From which angle to which w is right for all points, or None."""
        return find_cone(self.normals)


def read_flat(X: Any, y: Any, estimator: Any = None, names: Sequence[str] | None = None) -> Points:
    """Two classes in two features, or a sentence on what to draw instead."""
    points = read_points(X, y, estimator, names)
    if points.X.shape[1] != 2 or len(points.classes) != 2:
        raise InputError(
            "w-space is drawn for two classes in two features. "
            f"Got {len(points.classes)} classes in {points.X.shape[1]} features instead. "
            "XSpaceDisplay draws any number of them."
        )
    return points


def read_run(
    estimator: Any, X: Any, y: Any, names: Sequence[str] | None = None
) -> tuple[Points, np.ndarray, np.ndarray]:
    """The points, the path (if recorded) and the weights of a classifier through the origin."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "coef_"):
        raise not_linear(estimator)
    points = read_flat(X, y, estimator, names)
    w, b = np.asarray(estimator.coef_, dtype=np.float64), np.ravel(estimator.intercept_)
    if getattr(estimator, "fit_intercept", True) and np.any(b):
        raise _with_bias(f"{type(estimator).__name__} with the bias {b[0]:.3g}")
    trace = getattr(estimator, "trace_", None)
    path = trace_path(trace) if isinstance(trace, Trace) else np.empty((0, 2))
    return points, path, w[0]


def trace_path(trace: Trace) -> np.ndarray:
    """All w of a run without bias."""
    Z = trace.weights
    if Z.shape[1] != 3 or np.any(Z[:, -1]):
        raise _with_bias(f"a trace of {Z.shape[1] - 1} weights and a bias")
    return np.asarray(Z[:, :2])


def read_path(path: Any) -> np.ndarray:
    """Weights one step after another, or none."""
    walked = np.empty((0, 2)) if path is None else np.asarray(path, dtype=np.float64)
    if walked.ndim != 2 or walked.shape[1] != 2 or not np.all(np.isfinite(walked)):
        raise InputError(
            "path must hold finite weights (w₁, w₂), one row per step. "
            f"Got an array of shape {walked.shape} instead. For a trace use from_trace."
        )
    return walked


def set_square(ax: Axes, r: float, names: Sequence[str]) -> None:
    """Show the square of half width r around the origin, with these names of the axes."""
    ax.set(xlim=(-r, r), ylim=(-r, r), xlabel=style.plain(names[0]), ylabel=style.plain(names[1]))
    ax.set_aspect("equal", adjustable="box")


def _with_bias(given: str) -> InputError:
    return InputError(
        "w-space is drawn for planes through the origin in two features. "
        f"Got {given} instead. Fit with fit_intercept=False; with a bias, WeightSpaceDisplay draws "
        "(w₁, w₂, b) of a hard-margin machine."
    )


@dataclass(repr=False)
class WSpaceDisplay(OriginPlanes):
    """Training points as lines in the space of weights, the feasible cone, and the path of w.

    Made by :meth:`from_estimator`, :meth:`from_trace` or :meth:`from_points`, of two classes in two
    features and planes through the origin. Each point x is the line x·w = 0; its normals point to the
    side where w has x right. Few points have a colour each, many the colour of their class, and normals
    on the two lines only that bound the cone; lines of the class +1 are solid, of the other dashed.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    cone : (float, float) or None
        From which angle to which the weights are right for all points; None if none are.
    lines_ : list of Line2D or LineCollection
        One line per point if there are few, one collection per class if many.
    bounds_ : list of Line2D
        The lines that bound the cone, drawn again and bold if there are many.
    normals_, cone_, path_, weights_ : artists or None
        The normals, the shaded cone, the path and the arrow of the last w.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.w_space import WSpaceDisplay
    >>> X, y = [[2, 5], [-4, -2], [4, -4]], [1, -1, -1]
    >>> model = mm.Perceptron(fit_intercept=False, record=True).fit(X, y)
    >>> display = WSpaceDisplay.from_estimator(model, X, y)
    >>> len(display.lines_), len(display.path)
    (3, 2)
    """

    w: np.ndarray | None = None
    title: str = "w-space"

    @classmethod
    def from_points(
        cls,
        X: Any,
        y: Any,
        path: Any = None,
        *,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the lines of the points X, y, and a path of weights of shape (steps, 2)."""
        walked = read_path(path)
        w = walked[-1] if len(walked) else None
        return cls(read_flat(X, y, names=names), walked, w).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the weights of a fitted linear classifier, with their path if it kept its trace.

        Parameters
        ----------
        estimator : fitted classifier
            Of two classes, in two features, with ``fit_intercept=False``; with ``record=True`` a
            perceptron's path is drawn.
        X, y : array-like
            The training points and their labels.
        names : sequence of str, optional
            Names of the features, beside their weights; default those of a data frame.
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        """
        points, path, w = read_run(estimator, X, y, names)
        return cls(points, path, w, f"w-space of {type(estimator).__name__}").plot(ax)

    @property
    def reach(self) -> float:
        """Half the width of the picture; without weights to show, the scale means nothing."""
        shown = [*self.path.ravel(), *(() if self.w is None else self.w)]
        return 1.15 * float(np.max(np.abs(shown), initial=0.0)) or 1.0

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        self.ax_ = ax = style.axes(ax)
        r = self.reach
        self.cone_: Any = draw_cone(ax, self.cone, r)
        self._draw_lines(ax, np.array([[-r, r], [-r, r]]))
        self.normals_: Any = self._draw_normals(ax, r)
        self.path_: Any = draw_path(ax, self.path, BLACK)
        self.weights_: Any = None
        if self.w is not None and np.any(self.w):
            self.weights_ = draw_arrow(ax, (0, 0), self.w, "w")
        ax.plot(0, 0, **ORIGIN)
        set_square(ax, r, self.points.weight_names)
        style.title(ax, self.title if self.cone else f"{self.title}\nno w is right for all points")
        style.key(ax)
        return self

    def _draw_lines(self, ax: Axes, box: np.ndarray) -> None:
        few, colours = len(self.points.X) <= MAX_COLOURED_POINTS, point_colours(self.points)
        bold: list[Any] = []
        self.lines_ = bold if few else self._draw_bundles(ax, box)
        for i in range(len(self.points.X)) if few else bounding_rows(self.normals):
            ends = box_line(self.points.X[i], 0.0, box)
            if ends is None:  # x = 0 is no line: no w has it right
                continue
            code = self.points.codes[i]
            (line,) = ax.plot(*ends, color=colours[i], ls=LINE_STYLES[1 - code])
            line.set(lw=1.8, label=style.plain(f"row {i}: {self.points.labels[code]}"), zorder=2.5)
            bold.append(line)
        self.bounds_ = [] if few else bold

    def _draw_bundles(self, ax: Axes, box: np.ndarray) -> list[Any]:
        """Thin lines, one collection per class."""
        from matplotlib.collections import LineCollection

        bundles = []
        for code, label in enumerate(self.points.labels):
            mine = np.flatnonzero(self.points.codes == code)
            some = mine[np.linspace(0, len(mine) - 1, min(len(mine), MAX_DRAWN_LINES // 2)).astype(int)]
            ends_of = [box_line(x, 0.0, box) for x in self.points.X[some]]
            segments = [np.array(e).T for e in ends_of if e is not None]
            seen = f"{label}, {len(some)} of {len(mine)} lines" if len(some) < len(mine) else str(label)
            lines = LineCollection(segments, colors=COLOURS[code], linestyles=LINE_STYLES[1 - code])
            lines.set(linewidths=0.8, alpha=0.55, zorder=2, label=style.plain(seen))
            bundles.append(ax.add_collection(lines))
        return bundles

    def _draw_normals(self, ax: Axes, r: float) -> Any:
        """Short arrows near both ends of each line, to the side where w is right."""
        lengths = np.linalg.norm(self.points.X, axis=1)
        many = len(lengths) > MAX_COLOURED_POINTS
        real = np.array(bounding_rows(self.normals), int) if many else np.flatnonzero(lengths > 0)
        if not len(real):
            return None
        unit = self.normals[real] / lengths[real, None]
        along = np.column_stack([-unit[:, 1], unit[:, 0]])
        edge = 0.86 * r / np.abs(along).max(axis=1, keepdims=True)
        feet = np.vstack([edge * along, -edge * along])
        colours = np.tile(np.array(point_colours(self.points))[real], 2)
        return draw_arrows(ax, feet, np.tile(0.11 * r * unit, (2, 1)), colours, zorder=3)


def point_colours(points: Points) -> list[str]:
    """A colour for each point if they are few, otherwise for each class."""
    if len(points.codes) <= MAX_COLOURED_POINTS:
        return list(COLOURS[: len(points.codes)])
    return [COLOURS[code] for code in points.codes]


# x-space and w-space side by side.


@dataclass
class BothSpaces:
    """x-space and w-space side by side; a point and its line have the same colour.

    Attributes
    ----------
    x_ax_, w_ax_ : Axes
        The two pictures.
    points_ : list of PathCollection
        The points in x-space, one artist per class.
    boundary_, normal_ : artists or None
        w·x = 0 and the arrow of w in x-space.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[2, 5], [-4, -2], [4, -4]], [1, -1, -1]
    >>> display = mm.plots.both_spaces(mm.Perceptron(fit_intercept=False).fit(X, y), X, y)
    >>> display.w_ax_.get_title()
    'w-space'
    """

    wspace: WSpaceDisplay

    def plot(self, ax: Sequence[Axes] | None = None) -> Self:
        """Draw on two axes, or on a new figure."""
        if ax is None:
            _, ax = style.pyplot().subplots(1, 2, figsize=(11.0, 4.8), layout="constrained")
        if not hasattr(ax, "__len__") or len(ax) != 2:
            raise InputError(f"ax must be two axes: for x-space and for w-space. Got {ax!r} instead.")
        self.x_ax_: Axes = ax[0]
        self.w_ax_: Axes = ax[1]
        self._draw_x(self.x_ax_)
        self.wspace.plot(self.w_ax_)
        return self

    def _draw_x(self, ax: Axes) -> None:
        points, w = self.wspace.points, self.wspace.w
        r = 1.15 * float(np.max(np.abs(points.X))) or 1.0
        area, alpha = style.point_size(len(points.X))
        colours = np.array(point_colours(points))
        self.points_ = []
        for code, label in enumerate(points.labels):
            mine = points.codes == code
            colour = COLOURS[code] if len(colours) > MAX_COLOURED_POINTS else BLACK
            shown = style.scatter(ax, points.X[mine], s=area, c=colours[mine], marker=MARKERS[code])
            shown.set(alpha=alpha, linewidths=0, zorder=3, rasterized=len(colours) > 5_000)
            self.points_.append(shown)
            ax.plot([], [], color=colour, marker=MARKERS[code], ls="", label=style.plain(str(label)))
        self.boundary_: Any = None
        self.normal_: Any = None
        if w is not None and np.any(w):
            ends = box_line(w, 0.0, np.array([[-r, r], [-r, r]]))
            assert ends is not None  # it goes through the middle
            (self.boundary_,) = ax.plot(*ends, color=BLACK, lw=1.8, label="w·x = 0", zorder=2)
            tip = 0.35 * r * w / np.linalg.norm(w)
            self.normal_ = draw_arrow(ax, (0, 0), tip, "direction of w")
        ax.plot(0, 0, **ORIGIN)
        set_square(ax, r, points.names)
        ax.set_title("x-space")
        style.key(ax)


def both_spaces(
    model_or_trace: Any,
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    ax: Sequence[Axes] | None = None,
) -> BothSpaces:
    """Draw x-space and w-space side by side, a point and its line in the same colour.

    Parameters
    ----------
    model_or_trace : fitted classifier, or Trace
        Of planes through the origin in two features.
    X, y : array-like
        The training points and their labels.
    names : two str, optional
        Names of the features; default those of a data frame, or x0 and x1.
    ax : two matplotlib Axes, optional
        Where to draw; default a new figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots import both_spaces
    >>> X, y = [[2, 5], [-4, -2], [4, -4]], [1, -1, -1]
    >>> display = both_spaces(mm.Perceptron(fit_intercept=False).fit(X, y), X, y)
    >>> display.x_ax_.get_title()
    'x-space'
    """
    if isinstance(model_or_trace, Trace):
        path = trace_path(model_or_trace)
        wspace = WSpaceDisplay(read_flat(X, y, names=names), path, path[-1])
    else:
        wspace = WSpaceDisplay(*read_run(model_or_trace, X, y, names))
    return BothSpaces(wspace).plot(ax)
