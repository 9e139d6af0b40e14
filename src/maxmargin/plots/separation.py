"""A separability verdict, seen: the proven plane with its margin, or the point that two hulls share."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import InputError
from maxmargin.plots.data import read_points
from maxmargin.plots.style import BLACK, COLOURS, ClassStyle, axes, class_styles, legend, point_size
from maxmargin.plots.view import View, choose_view
from maxmargin.plots.xspace import box_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SeparabilityDisplay", "hull"]

ROOM = 0.08  # share of the picture left free around the points
RING = 150.0  # area of a ring around a marked point
WEIGHT = 420.0  # area of a witness of weight one
SLIM = 8.0  # times as long as wide: a picture with equal units would show nothing
LINES = 60  # witnesses that are joined with the common point


@dataclass
class SeparabilityDisplay:
    """The proof of a verdict: a plane with its margin, or the rows whose means are the same point.

    Made by :meth:`from_verdict`. Separable: the plane, its edges at the distance of the certified margin
    and the nearest row of each class. Touching: the weak plane and the rows on it. Not separable: the
    two hulls, the witness with areas in proportion to its weights, and the common point. A picture of
    more than two features is a projection, in which hulls are hulls and the common point is common.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    points_ : dict
        The points of each side, by label.
    plane_, slab_ : artists or None
        w·x + b = 0, and the strip that no row is in.
    edges_ : list of Line2D
        At the distance ``verdict.margin[0]`` from the plane.
    nearest_, on_plane_ : artists or None
        Rings around the nearest row of each class; around the rows on the plane.
    hulls_ : dict
        The convex hull of each side, by label.
    witness_ : dict
        The witness rows of each side, by label.
    common_ : artist or None
        The common point, a star.
    lines_ : list of LineCollection
        From the witness rows of each side to the common point (planes through the origin: to the
        origin, since sums are equal then, not means).

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.separation import SeparabilityDisplay
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    >>> display = SeparabilityDisplay.from_verdict(mm.separability(X, y), X, y)
    >>> display.common_.get_offsets().tolist()
    [[0.5, 0.5]]
    """

    verdict: Verdict
    flat: np.ndarray  # where the rows of both sides are drawn
    rows: np.ndarray  # which rows of X they are
    signs: np.ndarray  # ±1
    view: View
    near: np.ndarray  # separable: the nearest row of each side, as numbers of X
    common: np.ndarray | None  # where the common point is drawn
    line: bool = False  # one feature: the second coordinate tells the sides apart, and means nothing

    @classmethod
    def from_verdict(
        cls,
        verdict: Any,
        X: Any,
        y: Any,
        *,
        features: Any = None,
        at: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a verdict over the data it is about.

        Parameters
        ----------
        verdict : Verdict
            Of :func:`maxmargin.separability`; with more than two classes one of its ``rest`` or
            ``pairs``.
        X, y : array-like
            The data the verdict is about.
        features : pair of columns or "projection", optional
            What to show of more than two features; default the projection on w (without a plane, on
            the line between the means of the classes) and the largest remaining principal direction.
        at : array-like of shape (d,), optional
            Where the features not shown are fixed; default the mean.
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        """
        if not isinstance(verdict, Verdict):
            raise InputError(
                "verdict must be about two classes. "
                f"Got {type(verdict).__name__} instead. Choose one: verdict.rest[label] or "
                "verdict.pairs[label, label]."
            )
        points = read_points(X, y)
        if points.X.shape[1] != len(verdict.features):
            raise InputError(
                f"X must hold the data of the verdict, with {len(verdict.features)} features. "
                f"Got {points.X.shape[1]} instead."
            )
        rows, signs = _sides(verdict, points.classes[points.codes])
        part = points.X[rows]
        w = verdict.w
        if w is None:
            w = part[signs > 0].mean(axis=0) - part[signs < 0].mean(axis=0)
        view = choose_view(part, w, features, at, verdict.features)
        flat, line = view.flat(part), part.shape[1] == 1
        common = None
        if verdict.witness is not None:
            common = view.flat(np.asarray(verdict.witness.point, dtype=np.float64)[None])[0]
        if line:  # jitter within a lane for each side
            lane = np.random.default_rng(0).uniform(0.25, 0.75, len(flat))
            flat[:, 1] = signs * (0.5 if len(flat) < 10 else lane)
        near = np.empty(0, dtype=np.intp)
        if verdict.margin is not None and verdict.b is not None:
            f = signs * (part @ w + verdict.b)
            near = rows[[int(np.argmin(np.where(signs == side, f, np.inf))) for side in (-1, 1)]]
        return cls(verdict, flat, rows, signs, view, near, common, line).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        self.ax_ = ax = axes(ax, figsize=(7.0, 5.0))
        self.plane_: Any = None
        self.slab_: Any = None
        self.nearest_: Any = None
        self.on_plane_: Any = None
        self.common_: Any = None
        self.lines_: list[Any] = []
        self.edges_: list[Any] = []
        self.hulls_: dict[Hashable, Any] = {}
        self.witness_: dict[Hashable, Any] = {}
        self.box = self._frame()
        styles = class_styles([self._name(-1), self._name(1)])
        self._draw_points(ax, styles)
        if self.verdict.w is not None:
            self._draw_plane(ax)
        if self.verdict.witness is not None:
            self._draw_witness(ax, styles)
        self._draw_marks(ax)
        ax.set_xlim(*self.box[0])
        ax.set_ylim(*self.box[1])
        ax.set_xlabel(self.view.names[0])
        ax.set_ylabel("" if self.line else self.view.names[1])
        if self.verdict.w is None and self.view.names[0] == "along w":
            ax.set_xlabel("from mean to mean")
        if self.line:
            ax.set_yticks([])
        elif self.equal:
            ax.set_aspect("equal", adjustable="box")
        ax.set_title(f"{self.verdict.kind.capitalize()} ({self.verdict.statistical_name})")
        legend(ax)
        return self

    def _name(self, side: int) -> Hashable:
        label = self.verdict.positive if side > 0 else self.verdict.negative
        return "all others" if side < 0 and label is None else label

    @property
    def _through_origin(self) -> bool:
        """Whether the witness is one of planes through the origin: sums are equal, not means."""
        witness = self.verdict.witness
        if witness is None:
            return False
        return bool(sum(witness.positive_weights) != 1 or sum(witness.negative_weights) != 1)

    def _frame(self) -> np.ndarray:
        shown = self.flat if self.common is None else np.vstack([self.flat, self.common])
        if self._through_origin:
            shown = np.vstack([shown, self.view.flat(np.zeros((1, len(self.view.at))))])
        low, high = shown.min(axis=0), shown.max(axis=0)
        size = np.maximum(high - low, 1e-9 * np.maximum(np.abs(high), 1.0))
        self.equal = False
        if self.line:
            return np.array([[low[0] - ROOM * size[0], high[0] + ROOM * size[0]], [-1.0, 1.0]])
        self.equal = not self.view.sliced and size.max() <= SLIM * size.min()
        if self.equal:
            size = np.maximum(size, 0.2 * size.max())
        middle = 0.5 * low + 0.5 * high
        return np.array([middle - (0.5 + ROOM) * size, middle + (0.5 + ROOM) * size]).T

    def _draw_points(self, ax: Axes, styles: list[ClassStyle]) -> None:
        area, opacity = point_size(len(self.flat))
        faint = 0.55 if self.verdict.witness is not None and len(self.flat) > 30 else 1.0
        self.points_ = {}
        for side, style in zip((-1, 1), styles, strict=True):
            mine = self.signs == side
            self.points_[style.label] = ax.scatter(
                self.flat[mine, 0],
                self.flat[mine, 1],
                s=area,
                c=style.colour,
                marker=style.marker,
                alpha=opacity * faint,
                linewidths=0,
                label=str(style.label),
                rasterized=len(self.flat) > 5_000,
                zorder=3,
            )

    @np.errstate(over="ignore")  # an end that is infinitely far is not in the picture
    def _draw_plane(self, ax: Axes) -> None:
        w, b = self.verdict.w, self.verdict.b
        assert w is not None and b is not None
        scale = float(np.abs(w).max())
        w, b = w / scale, b / scale  # the length of a huge w would overflow
        v, c = self.view.plane(w, b)
        square = float(v @ v)
        if square == 0.0:
            return
        name = "w·x + b = 0" if self.verdict.separable else "weak plane: no row on the wrong side"
        ends = box_line(v, c, self.box)
        if ends is not None:
            over = 2.0 if self.verdict.separable else 3.7  # hulls that touch do so along the weak plane
            (self.plane_,) = ax.plot(*ends, color=BLACK, lw=1.8, label=name, zorder=over)
        if self.verdict.margin is None:
            return
        margin = self.verdict.margin[0]
        level = margin * float(np.linalg.norm(w))
        for side in (-level, level):
            ends = box_line(v, c - side, self.box)
            if ends is not None:
                label = None if self.edges_ else f"margin {margin:.4g} (certified)"
                (line,) = ax.plot(*ends, color=BLACK, lw=1.0, ls="--", label=label, zorder=2)
                self.edges_.append(line)
        # A strip that reaches beyond the picture, which cuts it off.
        centre = self.box.mean(axis=1)
        foot = centre - (float(v @ centre) + c) / square * v
        along = (
            np.array([-v[1], v[0]]) / square**0.5 * 2.0 * float(np.linalg.norm(np.ptp(self.box, axis=1)))
        )
        wide = level / square * v
        corners = [foot - along - wide, foot + along - wide, foot + along + wide, foot - along + wide]
        (self.slab_,) = ax.fill(*np.array(corners).T, color=BLACK, alpha=0.06, lw=0, zorder=0)

    def _draw_marks(self, ax: Axes) -> None:
        """Rings around the nearest rows, or around those on the weak plane."""
        if len(self.near):
            self.nearest_ = self._ring(ax, self.near, "nearest row of each class")
        on = self.verdict.on_plane
        if self.verdict.kind == "touching" and len(on):
            self.on_plane_ = self._ring(ax, on, f"rows on the plane: {len(on):,}")

    def _ring(self, ax: Axes, rows: np.ndarray, label: str) -> Any:
        area, _ = point_size(len(self.flat))
        where = self._where(rows)
        return ax.scatter(
            where[:, 0],
            where[:, 1],
            s=area + 1.6 * RING * min(1.0, 12.0 / len(rows)) ** 0.5,
            facecolors="none",
            edgecolors=BLACK,
            linewidths=1.3,
            label=label,
            zorder=5,
        )

    def _where(self, rows: np.ndarray) -> np.ndarray:
        """Where rows of X are drawn."""
        return np.asarray(self.flat[np.searchsorted(self.rows, rows)])

    def _draw_witness(self, ax: Axes, styles: list[ClassStyle]) -> None:
        from matplotlib.collections import LineCollection
        from matplotlib.patheffects import Normal, Stroke

        witness = self.verdict.witness
        assert witness is not None and self.common is not None
        origin = self.view.flat(np.zeros((1, len(self.view.at))))[0]
        centre = origin if self._through_origin else self.common
        largest = WEIGHT if self.verdict.kind == "overlapping" else RING  # there is a ring around it
        sides = (
            (witness.negative, witness.negative_weights, styles[0], -1),
            (witness.positive, witness.positive_weights, styles[1], 1),
        )
        for rows, weights, style, side in sides:
            if not self._through_origin:
                self._draw_hull(ax, style, side)
            if not len(rows):
                continue
            where = self._where(rows)
            self.witness_[style.label] = ax.scatter(
                where[:, 0],
                where[:, 1],
                s=30.0 + largest * np.array([float(weight) for weight in weights]),
                c=style.colour,
                marker=style.marker,
                alpha=0.8,  # the same row may stand in both classes
                edgecolors=BLACK,
                linewidths=1.3,
                label=f"witness of {style.label}, area ∝ weight",
                zorder=4,
            )
            if len(rows) <= LINES:
                segments = [np.array([point, centre]) for point in where]
                bundle = LineCollection(segments, colors=style.colour, linewidths=1.6, zorder=3.5)
                bundle.set_path_effects([Stroke(linewidth=3.2, foreground="white"), Normal()])
                self.lines_.append(ax.add_collection(bundle))
        if self._through_origin:
            ax.plot(*origin, "+", color=BLACK, ms=12, mew=1.6, label="origin", zorder=6)
        name = "equal weighted sums" if self._through_origin else "common point of the hulls"
        self.common_ = ax.scatter(
            [self.common[0]],
            [self.common[1]],
            s=260,
            marker="*",
            c=COLOURS[4],
            edgecolors=BLACK,
            linewidths=1.0,
            label=name,
            zorder=7,
        )

    def _draw_hull(self, ax: Axes, style: ClassStyle, side: int) -> None:
        if self.line:  # the hull of numbers is an interval: drawn at the foot of the lane
            x = self.flat[self.signs == side, 0]
            corners = np.array([[x.min(), 0.08 * side], [x.max(), 0.08 * side]])
        else:
            corners = hull(self.flat[self.signs == side])
        closed = np.vstack([corners, corners[:1]])
        (self.hulls_[style.label],) = ax.plot(
            *closed.T, color=style.colour, lw=1.5, ls="-" if side > 0 else "--", zorder=1
        )
        if len(corners) > 2:
            ax.fill(*corners.T, color=style.colour, alpha=0.10, lw=0, zorder=0)


def hull(flat: np.ndarray) -> np.ndarray:
    """The corners of the convex hull of points of the plane, in order: one, two or more."""
    from scipy.spatial import ConvexHull, QhullError

    centred = flat - flat.mean(axis=0)
    reach = float(np.abs(centred).max())
    if reach == 0.0:
        return flat[:1]
    _, sizes, directions = np.linalg.svd(centred / reach, full_matrices=False)
    if len(sizes) > 1 and sizes[1] > 1e-12 * sizes[0]:
        try:
            return np.asarray(flat[ConvexHull(flat).vertices])
        except QhullError:  # too flat for it
            pass
    along = centred @ directions[0]
    return np.asarray(flat[[int(np.argmin(along)), int(np.argmax(along))]])


def _sides(verdict: Verdict, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that the verdict is about, and their signs."""
    positive = labels == verdict.positive
    negative = ~positive if verdict.negative is None else labels == verdict.negative
    if not (np.any(positive) and np.any(negative)):
        other = "all others" if verdict.negative is None else repr(verdict.negative)
        raise InputError(
            f"y must hold the labels of the verdict, {verdict.positive!r} and {other}. "
            f"Got {sorted(set(labels.tolist()), key=str)[:8]} instead."
        )
    rows = np.flatnonzero(positive | negative)
    return rows, np.where(positive[rows], 1.0, -1.0)
