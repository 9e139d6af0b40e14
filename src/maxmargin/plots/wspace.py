"""w-space: weights are points, and training points are lines that say on which side w must be.

For planes through the origin in two features, x and w change places: w·x = 0 is a line of x's for a
given w, and a line of w's for a given x. The weights that are right for all points form a cone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError
from maxmargin.core.trace import Trace
from maxmargin.plots.data import Points, read_points
from maxmargin.plots.style import BLACK, COLOURS, axes, legend
from maxmargin.plots.xspace import box_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["WSpaceDisplay", "draw_arrow", "find_cone", "point_colours", "read_flat", "trace_path"]

FEW = len(COLOURS)  # points up to which each has its own colour
LINES = 120  # lines that are drawn, at most
ARROWS = 60  # steps of a path up to which each is an arrow
CONE = "#F0E442"  # where the weights are right: yellow, the one colour no class has
WAYS = ("-", "--")  # of the lines of the two classes


@dataclass
class WSpaceDisplay:
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
    >>> from maxmargin.plots.wspace import WSpaceDisplay
    >>> X, y = [[2, 5], [-4, -2], [4, -4]], [1, -1, -1]
    >>> model = mm.Perceptron(fit_intercept=False, record=True).fit(X, y)
    >>> display = WSpaceDisplay.from_estimator(model, X, y)
    >>> len(display.lines_), len(display.path)
    (3, 2)
    """

    points: Points
    path: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    w: np.ndarray | None = None
    title: str = "w-space"

    @classmethod
    def from_points(cls, X: Any, y: Any, path: Any = None, *, ax: Axes | None = None) -> Self:
        """Draw the lines of the points X, y, and a path of weights of shape (steps, 2)."""
        walked = read_path(path)
        return cls(read_flat(X, y), walked, walked[-1] if len(walked) else None).plot(ax)

    @classmethod
    def from_trace(cls, trace: Trace, X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Draw the path of a recorded run over the lines of its training points."""
        return cls.from_points(X, y, trace_path(trace), ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Draw the weights of a fitted linear classifier, with their path if it kept its trace.

        Parameters
        ----------
        estimator : fitted classifier
            Of two classes, in two features, with ``fit_intercept=False``; with ``record=True`` a
            perceptron's path is drawn.
        X, y : array-like
            The training points and their labels.
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        """
        points, path, w = read_run(estimator, X, y)
        return cls(points, path, w, f"w-space of {type(estimator).__name__}").plot(ax)

    @property
    def normals(self) -> np.ndarray:
        """y_i x_i: the side of each line where w is right."""
        return np.asarray(self.points.signs[:, None] * self.points.X)

    @property
    def cone(self) -> tuple[float, float] | None:
        """From which angle to which w is right for all points, or None."""
        return find_cone(self.normals)

    @property
    def reach(self) -> float:
        """Half the width of the picture; without weights to show, the scale means nothing."""
        shown = [*self.path.ravel(), *(() if self.w is None else self.w)]
        return 1.15 * float(np.max(np.abs(shown), initial=0.0)) or 1.0

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        self.ax_ = ax = axes(ax)
        r = self.reach
        self.cone_: Any = draw_cone(ax, self.cone, r)
        self._draw_lines(ax, np.array([[-r, r], [-r, r]]))
        self.normals_: Any = self._draw_normals(ax, r)
        self.path_: Any = draw_path(ax, self.path, BLACK)
        self.weights_: Any = None
        if self.w is not None and np.any(self.w):
            self.weights_ = draw_arrow(ax, self.w, "w")
        ax.plot(0, 0, marker="+", color=BLACK, ms=9, mew=1.2, zorder=3)
        ax.set(xlim=(-r, r), ylim=(-r, r), xlabel="w₁", ylabel="w₂")
        ax.set_title(self.title if self.cone else f"{self.title}\nno w is right for all points")
        ax.set_aspect("equal", adjustable="box")
        legend(ax)
        return self

    def _draw_lines(self, ax: Axes, box: np.ndarray) -> None:
        few = len(self.points.X) <= FEW
        if not few:
            self.lines_: list[Any] = self._draw_bundles(ax, box)
        bold = []
        for i in range(len(self.points.X)) if few else bounding_rows(self.normals):
            ends = box_line(self.points.X[i], 0.0, box)
            if ends is None:  # x = 0 is no line: no w has it right
                continue
            code = self.points.codes[i]
            colour = point_colours(self.points)[i]
            label = f"row {i}: {self.points.labels[code]}"
            (line,) = ax.plot(*ends, color=colour, lw=1.8, ls=WAYS[1 - code], label=label, zorder=2.5)
            bold.append(line)
        self.bounds_: list[Any] = [] if few else bold
        if few:
            self.lines_ = bold

    def _draw_bundles(self, ax: Axes, box: np.ndarray) -> list[Any]:
        """Thin lines, one collection per class."""
        from matplotlib.collections import LineCollection

        bundles = []
        for code, label in enumerate(self.points.labels):
            mine = np.flatnonzero(self.points.codes == code)
            some = mine[np.linspace(0, len(mine) - 1, min(len(mine), LINES // 2)).astype(int)]
            ends_of = [box_line(x, 0.0, box) for x in self.points.X[some]]
            segments = [np.array(e).T for e in ends_of if e is not None]
            seen = f"{label}, {len(some)} of {len(mine)} lines" if len(some) < len(mine) else str(label)
            lines = LineCollection(segments, colors=COLOURS[code], linestyles=WAYS[1 - code], label=seen)
            lines.set(linewidths=0.8, alpha=0.55, zorder=2)
            bundles.append(ax.add_collection(lines))
        return bundles

    def _draw_normals(self, ax: Axes, r: float) -> Any:
        """Short arrows near both ends of each line, to the side where w is right."""
        lengths = np.linalg.norm(self.points.X, axis=1)
        many = len(lengths) > FEW
        real = np.array(bounding_rows(self.normals), int) if many else np.flatnonzero(lengths > 0)
        if not len(real):
            return None
        unit = self.normals[real] / lengths[real, None]
        along = np.column_stack([-unit[:, 1], unit[:, 0]])
        edge = 0.86 * r / np.abs(along).max(axis=1, keepdims=True)
        feet = np.vstack([edge * along, -edge * along])
        colours = np.tile(np.array(point_colours(self.points))[real], 2)
        return draw_arrows(ax, feet, np.tile(0.11 * r * unit, (2, 1)), colours, zorder=3)


def read_flat(X: Any, y: Any, estimator: Any = None) -> Points:
    """Two classes in two features, or a sentence on what to draw instead."""
    points = read_points(X, y, estimator)
    if points.X.shape[1] != 2 or len(points.classes) != 2:
        raise InputError(
            "w-space is drawn for two classes in two features. "
            f"Got {len(points.classes)} classes in {points.X.shape[1]} features instead. "
            "XSpaceDisplay draws any number of them."
        )
    return points


def read_run(estimator: Any, X: Any, y: Any) -> tuple[Points, np.ndarray, np.ndarray]:
    """The points, the path (if recorded) and the weights of a classifier through the origin."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "coef_"):
        raise InputError(
            "estimator must be a fitted linear classifier with coef_ and intercept_. "
            f"Got {type(estimator).__name__} instead."
        )
    points = read_flat(X, y, estimator)
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


def _with_bias(given: str) -> InputError:
    return InputError(
        "w-space is drawn for planes through the origin in two features. "
        f"Got {given} instead. Fit with fit_intercept=False; with a bias, WeightSpaceDisplay draws "
        "(w₁, w₂, b) of a hard-margin machine."
    )


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


def point_colours(points: Points) -> list[str]:
    """A colour for each point if they are few, otherwise for each class."""
    if len(points.codes) <= FEW:
        return list(COLOURS[: len(points.codes)])
    return [COLOURS[code] for code in points.codes]


def draw_cone(ax: Axes, cone: tuple[float, float] | None, r: float) -> Any:
    """Shade the cone, out to beyond the picture."""
    if cone is None:
        return None
    arc = np.linspace(*cone, 24)
    corners = 3 * r * np.vstack([np.zeros(2), np.column_stack([np.cos(arc), np.sin(arc)])])
    (patch,) = ax.fill(*corners.T, color=CONE, alpha=0.45, lw=0, label="all points right", zorder=0)
    return patch


def draw_path(ax: Axes, path: np.ndarray, colour: str) -> Any:
    """Draw the weights one after another: arrows if they are few, a line if many."""
    if len(path) < 2:
        return None
    label = f"path of w, {len(path) - 1} steps" if len(path) > 2 else "path of w, 1 step"
    ax.plot(*path[0], marker="o", mfc="white", mec=colour, ms=6, ls="", label="start", zorder=5)
    if len(path) > ARROWS:
        (line,) = ax.plot(*path.T, color=colour, lw=0.7, alpha=0.8, label=label, zorder=4)
        return line
    ax.plot([], [], color=colour, marker=">", ms=4, lw=1.0, label=label)
    return draw_arrows(ax, path[:-1], np.diff(path, axis=0), colour, zorder=4)


def draw_arrows(ax: Axes, feet: np.ndarray, moves: np.ndarray, colours: Any, zorder: float) -> Any:
    """Arrows in the units of the axes."""
    return ax.quiver(
        *feet.T,
        *moves.T,
        color=colours,
        angles="xy",
        scale_units="xy",
        scale=1.0,
        width=0.0045,
        headwidth=5.5,
        headlength=6.5,
        headaxislength=6.0,
        minlength=0.0,
        zorder=zorder,
    )


def draw_arrow(ax: Axes, tip: np.ndarray, label: str) -> Any:
    """An arrow from the origin."""
    arrow = {"arrowstyle": "-|>", "color": BLACK, "lw": 2.2, "shrinkA": 0, "shrinkB": 0}
    ax.plot([], [], color=BLACK, marker=">", ms=6, lw=2.2, label=label)
    return ax.annotate("", xy=tuple(tip), xytext=(0, 0), arrowprops=arrow, zorder=6)
