"""What pictures of w-space share: points in two features, and the w of a run without bias."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError, plural
from maxmargin.core.history import Trace
from maxmargin.plots.data import Points, not_linear, read_points
from maxmargin.plots.geometry import find_cone
from maxmargin.plots.style import BLACK, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(repr=False)
class WeightPicture:
    """Points whose lines x·w = 0 are drawn in w-space, and the path of w among them."""

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


def weight_names(points: Points) -> tuple[str, ...]:
    """w₁ and w₂, each with the name of its feature, if that says more than its place."""
    return tuple(
        w if re.fullmatch(r"x\d+", name) else f"{w} ({name})"
        for w, name in zip(("w₁", "w₂"), points.names, strict=True)
    )


def set_square(ax: Axes, r: float, names: Sequence[str]) -> None:
    """Show the square of half width r around the origin, with these names of the axes."""
    ax.set(xlim=(-r, r), ylim=(-r, r), xlabel=plain(names[0]), ylabel=plain(names[1]))
    ax.set_aspect("equal", adjustable="box")


def _with_bias(given: str) -> InputError:
    return InputError(
        "w-space is drawn for planes through the origin in two features. "
        f"Got {given} instead. Fit with fit_intercept=False; with a bias, WeightSpaceDisplay draws "
        "(w₁, w₂, b) of a hard-margin machine."
    )


# Arrows in the space of weights: the path of w, step by step, and w itself.

LINE_STYLES = ("-", "--")  # of the class +1, and of the other
MAX_ARROWS = 60  # of a path, up to which each is an arrow
MAX_DRAWN_STEPS = 500  # at most: more would cover the picture


def draw_path(ax: Axes, path: np.ndarray, colour: str) -> Any:
    """Draw the weights one after another: arrows if they are few, a line if many."""
    if len(path) < 2:
        return None
    ax.plot(*path[0], marker="o", mfc="white", mec=colour, ms=6, ls="", label="start", zorder=5)
    some, label = thin_path(path)
    if len(path) > MAX_ARROWS:
        opacity = 0.8 if len(some) == len(path) else 0.4
        (line,) = ax.plot(*some.T, color=colour, lw=0.7, alpha=opacity, label=label, zorder=4)
        return line
    ax.plot([], [], color=colour, marker=">", ms=4, lw=1.0, label=label)
    return draw_arrows(ax, path[:-1], np.diff(path, axis=0), colour, zorder=4)


def thin_path(path: np.ndarray) -> tuple[np.ndarray, str]:
    """The weights to draw of a path, with its end, and what the key says: all, or every so many."""
    steps = len(path) - 1
    label = f"path of w, {plural(steps, 'step', ',')}"
    if steps <= MAX_DRAWN_STEPS:
        return path, label
    every = -(-steps // MAX_DRAWN_STEPS)
    return np.vstack([path[:-1:every], path[-1:]]), f"{label},\none in {every} drawn"


def draw_arrows(ax: Axes, feet: np.ndarray, moves: np.ndarray, colours: Any, zorder: float) -> Any:
    """Arrows in the units of the axes."""
    units: Any = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "minlength": 0.0}
    shape: Any = {"width": 0.0045, "headwidth": 5.5, "headlength": 6.5, "headaxislength": 6.0}
    return ax.quiver(*feet.T, *moves.T, color=colours, zorder=zorder, **units, **shape)


def draw_arrow(
    ax: Axes, foot: Any, tip: Any, label: str = "", *, width: float = 2.2, zorder: float = 6
) -> Any:
    """Draw an arrow; with a label it is explained in the key."""
    arrow = {"arrowstyle": "-|>", "color": BLACK, "lw": width, "shrinkA": 0, "shrinkB": 0}
    if label:
        ax.plot([], [], color=BLACK, marker=">", ms=6, lw=width, label=label)
    return ax.annotate("", xy=tuple(tip), xytext=tuple(foot), arrowprops=arrow, zorder=zorder)
