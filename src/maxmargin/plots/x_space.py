"""x-space: the points, the boundary and its normal, and for margin machines the slab."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.plots import artists
from maxmargin.plots.data import Points, View, choose_view, not_linear, place_points, read_points
from maxmargin.plots.geometry import Frame, box_line, one_step
from maxmargin.plots.machine import machine_name
from maxmargin.plots.style import BLACK, class_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The arrow of w: on the boundary, where it is seen, and where it hides few points.

ARROW_LENGTH = 0.16  # of the picture: the arrow of a direction
EDGE_DISTANCE = 0.02  # of the picture: how near an arrow comes to its edge
ARROW_PLACES = np.linspace(0.05, 0.95, 37)  # along the boundary
HIDING_DISTANCE = 0.02  # of the picture: a point nearer to the arrow than this is hidden
SAMPLED_POINTS = 3_000  # that the arrow avoids


def place_normal(
    v: np.ndarray,
    c: float,
    frame: Frame,
    flat: np.ndarray,
    *,
    near: np.ndarray | None = None,
    to_edge: bool = False,
    taken: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Find foot and tip of the arrow of v on the line v·u + c = 0, both inside the picture.

    It starts close to the middle of ``near`` (the support vectors), or else of the line that is seen;
    ``to_edge`` makes it end where v·u + c = 1; ``taken`` is a box that it stays out of. None if there is
    no such place.
    """
    ends = box_line(v, c, frame.box)
    if ends is None:
        return None
    begin, end = np.transpose(ends)
    step = one_step(v) if to_edge else _short(v, frame)
    size: np.ndarray = np.ptp(frame.box, axis=1)
    wish = 0.5
    if near is not None and len(near):
        line = (end - begin) / size
        share = (np.median(near, axis=0) - begin) / size @ line / (line @ line)
        wish = float(np.clip(share, 0.1, 0.9))
    points = flat[:: max(1, len(flat) // SAMPLED_POINTS)] / size
    best, least = None, np.inf
    for place in ARROW_PLACES:
        foot = begin + place * (end - begin)
        path = foot + np.linspace(0.0, 1.0, 9)[:, None] * step
        if not np.all(_inside(path, frame.box, EDGE_DISTANCE * size)):
            continue
        if taken is not None and np.any(_inside(path, taken, 0.0 * size)):
            continue
        gaps = np.linalg.norm(points[:, None] - path[1:] / size, axis=2).min(axis=1)
        cost = abs(place - wish) + 0.03 * min(20, int(np.count_nonzero(gaps < HIDING_DISTANCE)))
        if cost < least:
            best, least = (foot, foot + step), cost
    return best


def _short(v: np.ndarray, frame: Frame) -> np.ndarray:
    return np.asarray(ARROW_LENGTH * v / float(np.linalg.norm(v / frame.scale)))


def _inside(path: np.ndarray, box: np.ndarray, rim: np.ndarray) -> np.ndarray:
    return np.asarray(np.all((path >= box[:, 0] + rim) & (path <= box[:, 1] - rim), axis=1))


@dataclass(repr=False)
class XSpaceDisplay(artists.PlanePicture):
    """Points, boundary, normal and slab of a linear classifier.

    Made by :meth:`from_estimator`; ``plot`` draws. Of more than two features it shows two, with the
    others fixed, or the projection on (w, the largest remaining principal direction), in which the
    margin is seen undistorted. A point that the model decides otherwise than this cut shows is faded.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    points_ : dict
        The points of each class, by label.
    boundary_ : Line2D or None
        f(x) = 0; for more than two classes the regions are in ``regions_``.
    edges_ : list of Line2D
        f(x) = ±1, for margin machines.
    slab_, normal_, support_, slack_, wrong_ : artists or None
        The shaded slab, the arrow of w, rings around support vectors with area in proportion to α,
        segments ξ_i, and crosses on misclassified points.
    inset_ax_ : Axes or None
        A zoom on a slab too thin to be seen: f(x) across, the position along the boundary upwards.
    caption_, faded_ : artists or None
        How the plane was cut through more than two features; the key of the points that are faded.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1]
    >>> model = mm.HardMarginSVC().fit(X, y)
    >>> display = mm.plots.XSpaceDisplay.from_estimator(model, X, y)
    >>> len(display.edges_)
    2
    """

    points: Points
    view: View
    planes: dict[Hashable, tuple[np.ndarray, float]]  # by machine
    predict: Any
    margins: bool = False
    alpha: np.ndarray = field(default_factory=lambda: np.empty(0))
    slack: np.ndarray = field(default_factory=lambda: np.empty(0))
    title: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        features: Any = None,
        at: Any = None,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a fitted linear classifier over the data X, y.

        Parameters
        ----------
        estimator : fitted classifier
            Any of this package, or a scikit-learn model with ``coef_`` and ``intercept_``.
        X, y : array-like
            The points and their labels; for support vectors and slack the training data.
        features : pair of columns or "projection", optional
            What to show of more than two features; default "projection".
        at : array-like of shape (d,), optional
            Where the features not shown are fixed; default the mean.
        names : sequence of str, optional
            Names of the features; default those of a data frame, or x0, x1 and so on.
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        """
        check_is_fitted(estimator)
        points = read_points(X, y, estimator, names)
        planes = _planes(estimator)
        first = next(iter(planes.values()))
        view = choose_view(points.X, first[0], features, at, points.names)
        display = cls(points, view, planes, estimator.predict, title=type(estimator).__name__)
        if hasattr(estimator, "certificate_") and display.binary:
            display.margins = True
            if len(estimator.dual_) == len(points.X):
                display.alpha, display.slack = estimator.dual_, estimator.slack_
        return display.plot(ax)

    @property
    def binary(self) -> bool:
        """Whether there is one boundary."""
        return len(self.planes) == 1

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        points, view = self.points, self.view
        self.flat = place_points(view, points.X, points.codes, len(points.labels))
        thin = self.binary and self.margins and not view.sliced
        slab = self._plane() if thin else None
        ax = self._open(ax, self.flat, np.abs(points.X).max(axis=0), slab)
        nothing: Any = None
        self.normal_ = self.regions_ = self.boundary_ = self.slab_ = self.slack_ = nothing
        self.edges_: list[Any] = []
        predicted = self.predict(points.given)
        wrong = points.classes[points.codes] != predicted
        faded = artists.off_cut(self.predict, view, points, predicted)
        styles = class_styles(points.labels)
        if self.binary:
            self._draw_plane(ax)
        else:
            self.regions_ = artists.draw_regions(ax, self.predict, view, points, self.box)
        some = faded if np.any(faded) else None
        self.points_ = artists.draw_points(ax, self.flat, points.codes, styles, faded=some)
        # the edges of other slices are elsewhere
        if self.binary and len(self.slack) and not view.sliced:
            self.slack_ = artists.draw_slack(ax, self.flat, self.slack, points.signs, self._plane()[0])
        self.support_: Any = artists.draw_rings(ax, self.flat, self.alpha)
        self.wrong_: Any = artists.draw_crosses(ax, self.flat, wrong)
        self.faded_: Any = None if some is None else artists.faded_key(ax, int(np.count_nonzero(faded)))
        across, words = artists.cut_words(view, None if self.binary else next(iter(self.planes)))
        rows = {"alpha": self.alpha, "slack": self.slack, "wrong": wrong}
        self._close(self.title, across, words, points.codes, styles, **rows)
        return self

    def _plane(self) -> tuple[np.ndarray, float]:
        (plane,) = self.planes.values()
        return self.view.plane(*plane)

    def _draw_plane(self, ax: Axes) -> None:
        v, c = self._plane()
        if not np.any(v):
            return
        names = ("f(x) = 0", "f(x) = ±1")
        shown = artists.draw_slab(ax, v, c, self.box, names, edges=self.margins)
        self.boundary_, self.edges_, self.slab_ = shown
        self._draw_normal(ax, v, c)

    def _draw_normal(self, ax: Axes, v: np.ndarray, c: float) -> None:
        """The arrow of w from the boundary to f(x) = 1 where that is seen, or else its direction."""
        frame, flat, thin = self.frame, self.flat, self._zoom is not None
        options: dict[str, Any] = {"taken": None if self._zoom is None else self._zoom.taken}
        if len(self.alpha) and not frame.lanes:
            options["near"] = flat[self.alpha > 0]
        found = None
        if self.margins and not thin:
            found = place_normal(v, c, frame, flat, to_edge=True, **options)
        name = "direction of w" if self.margins and found is None else "w"
        if found is None:
            found = place_normal(v, c, frame, flat, **options)
        if found is None:  # the boundary is outside, or in a corner
            step, middle = _short(v, frame), frame.box.mean(axis=1)
            found = middle - 0.5 * step, middle + 0.5 * step
        self.normal_ = artists.draw_arrow(ax, *found, width=1.6, zorder=7)
        name += " in this slice" if self.view.sliced else ""
        if self.margins:
            ((w, _),) = self.planes.values()
            name += f", 1/‖w‖ = {1.0 / float(np.linalg.norm(w)):.3g}"
        name += "" if frame.equal or frame.lanes else "\n(axes not to scale)"
        ax.plot([], [], color=BLACK, marker=">", lw=1.6, ms=5, label=name)


def _planes(estimator: Any) -> dict[Hashable, tuple[np.ndarray, float]]:
    """The weights and the bias of each machine, by what it tells apart."""
    try:
        W = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
        B = np.ravel(np.asarray(estimator.intercept_, dtype=np.float64))
    except (AttributeError, TypeError, ValueError):
        raise not_linear(estimator) from None
    B = np.broadcast_to(B, (len(W),))
    labels = list(getattr(estimator, "machines_", ()))
    if len(labels) == len(W):
        names = [machine_name(label) for label in labels]
    else:
        names = [f"coef_[{k}]" for k in range(len(W))]
    return {name: (w, float(b)) for name, w, b in zip(names, W, B, strict=True)}
