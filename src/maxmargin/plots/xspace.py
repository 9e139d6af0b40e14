"""x-space: the points, the boundary and its normal, and for margin machines the slab."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError
from maxmargin.plots.data import Points, read_points
from maxmargin.plots.style import BLACK, axes, class_styles, legend, point_size
from maxmargin.plots.view import View, choose_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["XSpaceDisplay", "box_line"]

ROOM = 0.08  # share of the picture left free around the points
LONG = 4.0  # a picture longer than this, against its width, is drawn with unequal units
GRID = 300  # points along a side where regions are told apart
RING = 260.0  # area of the ring around the support vector of largest α, if there are no more than
FEW = 12  # of them
ROWS = 400  # rows of slack that are drawn as segments, at most
CROSSES = 400  # crosses and rings that are drawn, about


@dataclass
class XSpaceDisplay:
    """Points, boundary, normal and slab of a linear classifier.

    Made by :meth:`from_estimator`; ``plot`` draws. Of more than two features it shows two, with the
    others fixed, or the projection on (w, the largest remaining principal direction), in which the
    margin is seen undistorted.

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
        planes = _planes(estimator, points)
        first = next(iter(planes.values()))
        view = choose_view(points.X, first[0], features, at, points.names)
        display = cls(points, view, planes, estimator.predict, title=type(estimator).__name__)
        if (
            hasattr(estimator, "certificate_")
            and len(planes) == 1
            and len(estimator.dual_) == len(points.X)
        ):
            display.margins = True
            display.alpha, display.slack = estimator.dual_, estimator.slack_
        elif hasattr(estimator, "certificate_") and len(planes) == 1:
            display.margins = True
        return display.plot(ax)

    @property
    def binary(self) -> bool:
        """Whether there is one boundary."""
        return len(self.planes) == 1

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        self.ax_ = ax = axes(ax)
        flat = self.view.flat(self.points.X)
        low, high = flat.min(axis=0), flat.max(axis=0)
        size = np.maximum(high - low, 1e-9 * np.maximum(np.abs(high), 1.0) + 1e-300)
        if size.max() <= LONG * size.min() or size.min() <= 1e-6 * size.max():
            size = np.maximum(size, 0.2 * size.max())
        middle = 0.5 * (low + high)
        self.box = np.array([middle - (0.5 + ROOM) * size, middle + (0.5 + ROOM) * size]).T
        self.regions_: Any = None
        self.boundary_: Any = None
        self.slab_: Any = None
        self.normal_: Any = None
        self.support_: Any = None
        self.slack_: Any = None
        self.wrong_: Any = None
        self.edges_: list[Any] = []
        if self.binary:
            self._draw_plane(ax)
        else:
            self._draw_regions(ax)
        self._draw_points(ax, flat)
        ax.set_xlim(*self.box[0])
        ax.set_ylim(*self.box[1])
        ax.set_xlabel(self.view.names[0])
        ax.set_ylabel(self.view.names[1])
        ax.set_title(self.title)
        across, up = np.ptp(self.box, axis=1)
        if not self.view.sliced and max(across, up) <= LONG * min(across, up):
            ax.set_aspect("equal", adjustable="box")
        legend(ax)
        return self

    def _draw_plane(self, ax: Axes) -> None:
        (plane,) = self.planes.values()
        v, c = self.view.plane(*plane)
        square = float(v @ v)
        if square == 0.0:
            return
        ends = box_line(v, c, self.box)
        if ends is not None:
            (self.boundary_,) = ax.plot(*ends, color=BLACK, lw=1.8, label="f(x) = 0", zorder=2)
        length = float(np.linalg.norm(plane[0]))
        if self.margins:
            for level in (1.0, -1.0):
                ends = box_line(v, c - level, self.box)
                if ends is not None:
                    label = "f(x) = ±1" if not self.edges_ else None
                    (line,) = ax.plot(*ends, color=BLACK, lw=1.0, ls="--", label=label, zorder=2)
                    self.edges_.append(line)
            corners = _slab(v, c, self.box)
            if corners is not None:
                (self.slab_,) = ax.fill(*corners, color=BLACK, alpha=0.06, lw=0, zorder=0)
        foot = self.box.mean(axis=1)
        foot = foot - (float(v @ foot) + c) / square * v
        reach = (
            1.0 / square
            if self.margins
            else 0.18 * float(np.min(np.ptp(self.box, axis=1))) / square**0.5
        )
        name = f"w, 1/‖w‖ = {1 / length:.3g}" if self.margins and length > 0 else "w"
        self.normal_ = ax.annotate(
            "",
            xy=tuple(foot + reach * v),
            xytext=tuple(foot),
            arrowprops={"arrowstyle": "-|>", "color": BLACK, "lw": 1.6, "shrinkA": 0, "shrinkB": 0},
            zorder=7,
        )
        ax.plot([], [], color=BLACK, marker=">", lw=1.6, ms=5, label=name)

    def _draw_regions(self, ax: Axes) -> None:
        from matplotlib.colors import ListedColormap

        across = [np.linspace(side[0], side[1], GRID) for side in self.box]
        u = np.stack(np.meshgrid(*across), axis=-1).reshape(-1, 2)
        labels = self.predict(self.view.at + u @ self.view.axes)
        codes = np.searchsorted(self.points.classes, labels).reshape(GRID, GRID)
        styles = class_styles(self.points.labels)
        self.regions_ = ax.pcolormesh(
            *across,
            codes,
            cmap=ListedColormap([s.colour for s in styles]),
            vmin=-0.5,
            vmax=len(styles) - 0.5,
            alpha=0.18,
            shading="nearest",
            rasterized=True,
            zorder=0,
        )
        if len(np.unique(codes)) > 1:
            levels = np.arange(len(styles) - 1) + 0.5
            ax.contour(*across, codes, levels=levels, colors=BLACK, linewidths=0.8, zorder=1)

    def _draw_points(self, ax: Axes, flat: np.ndarray) -> None:
        area, alpha = point_size(len(flat))
        self.points_ = {}
        for code, style in enumerate(class_styles(self.points.labels)):
            mine = self.points.codes == code
            self.points_[style.label] = ax.scatter(
                flat[mine, 0],
                flat[mine, 1],
                s=area,
                c=style.colour,
                marker=style.marker,
                alpha=alpha,
                linewidths=0,
                label=str(style.label),
                rasterized=len(flat) > 5_000,
                zorder=3,
            )
        self._draw_slack(ax, flat)
        if len(self.alpha) and np.any(self.alpha > 0):
            some = np.flatnonzero(self.alpha > 1e-9 * self.alpha.max())
            many = len(some)
            some = some[:: max(1, many // CROSSES)]
            ring = RING * min(1.0, FEW / len(some)) ** 0.7  # many rings are smaller
            sizes = area + ring * self.alpha[some] / self.alpha.max()
            self.support_ = ax.scatter(
                flat[some, 0],
                flat[some, 1],
                s=sizes,
                facecolors="none",
                edgecolors=BLACK,
                linewidths=1.0 if len(some) < 200 else 0.4,
                alpha=1.0 if len(some) < 200 else 0.5,
                label="support, area ∝ α" + (f"; {len(some)} of {many}" if len(some) < many else ""),
                zorder=4,
            )
        wrong = self.points.classes[self.points.codes] != self.predict(self.points.given)
        count = int(np.count_nonzero(wrong))
        if count:
            some = np.flatnonzero(wrong)[:: max(1, count // CROSSES)]
            share = "" if len(some) == count else f", {len(some)} of them drawn"
            self.wrong_ = ax.scatter(
                flat[some, 0],
                flat[some, 1],
                s=area,
                c=BLACK,
                marker="x",
                linewidths=1.0,
                alpha=max(alpha, 0.5),
                label=f"misclassified: {count}{share}",
                zorder=5,
            )

    def _draw_slack(self, ax: Axes, flat: np.ndarray) -> None:
        """Segments from late points to their edge: ξ_i/‖w‖ long in the projection."""
        if not len(self.slack) or not np.any(self.slack > 0) or not self.binary:
            return
        from matplotlib.collections import LineCollection

        (plane,) = self.planes.values()
        v, _ = self.view.plane(*plane)
        if self.view.sliced or not np.any(v):  # the edges of other slices are elsewhere
            return
        late = np.argsort(-self.slack)[:ROWS]
        late = late[self.slack[late] > 0]
        sign = np.where(self.points.codes[late] == 1, 1.0, -1.0)
        move = (sign * self.slack[late])[:, None] * v / float(v @ v)
        segments = np.stack([flat[late], flat[late] + move], axis=1)
        self.slack_ = LineCollection(list(segments), colors=BLACK, linewidths=0.6, alpha=0.45, zorder=2)
        self.slack_.set_label("slack ξ")
        ax.add_collection(self.slack_)


def _planes(estimator: Any, points: Points) -> dict[Hashable, tuple[np.ndarray, float]]:
    try:
        W = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
        B = np.ravel(np.asarray(estimator.intercept_, dtype=np.float64))
    except (AttributeError, TypeError, ValueError):
        raise InputError(
            "estimator must be a fitted linear classifier with coef_ and intercept_. "
            f"Got {type(estimator).__name__} instead."
        ) from None
    B = np.broadcast_to(B, (len(W),))
    return {k: (w, float(b)) for k, (w, b) in enumerate(zip(W, B, strict=True))}


def box_line(v: np.ndarray, c: float, box: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The part of the line v·u + c = 0 inside a box [[x0, x1], [y0, y1]]: xs and ys, or None."""
    ends = []
    for k, other in ((0, 1), (1, 0)):
        if v[other] == 0.0:
            continue
        for value in box[k]:
            u = np.empty(2)
            u[k], u[other] = value, -(c + v[k] * value) / v[other]
            slack = 1e-9 * float(np.ptp(box[other]))
            if box[other, 0] - slack <= u[other] <= box[other, 1] + slack:
                ends.append(u)
    if len(ends) < 2:
        return None
    along = np.array([-v[1], v[0]])
    ends.sort(key=lambda u: float(along @ u))
    if np.allclose(ends[0], ends[-1]):
        return None
    pair = np.array([ends[0], ends[-1]])
    return pair[:, 0], pair[:, 1]


def _slab(v: np.ndarray, c: float, box: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The corners of {u in the box: |v·u + c| ≤ 1}."""
    corners = np.array([[x, y] for x in box[0] for y in box[1]])[[0, 1, 3, 2]]
    for normal, offset in ((v, c + 1.0), (-v, 1.0 - c)):
        corners = _clip(corners, normal, offset)
        if len(corners) < 3:
            return None
    return corners[:, 0], corners[:, 1]


def _clip(corners: np.ndarray, v: np.ndarray, c: float) -> np.ndarray:
    """The part of a convex polygon where v·u + c ≥ 0 (Sutherland and Hodgman 1974)."""
    kept: list[np.ndarray] = []
    for p, q in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        f, g = float(v @ p) + c, float(v @ q) + c
        if f >= 0:
            kept.append(p)
        if f * g < 0:
            kept.append(p + f / (f - g) * (q - p))
    return np.array(kept).reshape(-1, 2)
