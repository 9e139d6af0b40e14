"""x-space and w-space side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.history import Trace
from maxmargin.plots.geometry import box_line
from maxmargin.plots.runs import draw_arrow, read_flat, read_run, trace_path
from maxmargin.plots.style import BLACK, COLOURS, MARKERS, legend, point_size, pyplot
from maxmargin.plots.wspace import FEW, WSpaceDisplay, point_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
            _, ax = pyplot().subplots(1, 2, figsize=(11.0, 4.8), layout="constrained")
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
        area, alpha = point_size(len(points.X))
        colours = np.array(point_colours(points))
        self.points_ = []
        for code, label in enumerate(points.labels):
            mine = points.codes == code
            colour = COLOURS[code] if len(colours) > FEW else BLACK
            x, y = points.X[mine].T
            shown = ax.scatter(x, y, s=area, c=colours[mine], marker=MARKERS[code])
            shown.set(alpha=alpha, linewidths=0, zorder=3, rasterized=len(colours) > 5_000)
            self.points_.append(shown)
            ax.plot([], [], color=colour, marker=MARKERS[code], ls="", label=str(label))
        self.boundary_: Any = None
        self.normal_: Any = None
        if w is not None and np.any(w):
            ends = box_line(w, 0.0, np.array([[-r, r], [-r, r]]))
            assert ends is not None  # it goes through the middle
            (self.boundary_,) = ax.plot(*ends, color=BLACK, lw=1.8, label="w·x = 0", zorder=2)
            self.normal_ = draw_arrow(ax, 0.35 * r * w / np.linalg.norm(w), "direction of w")
        ax.plot(0, 0, marker="+", color=BLACK, ms=9, mew=1.2, zorder=3)
        ax.set(xlim=(-r, r), ylim=(-r, r), xlabel=points.names[0], ylabel=points.names[1])
        ax.set_title("x-space")
        ax.set_aspect("equal", adjustable="box")
        legend(ax)


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
