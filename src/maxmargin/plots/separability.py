"""A separability verdict, seen: the proven plane with its margin, or the point that two hulls share."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import InputError, Witness
from maxmargin.plots import artists, style
from maxmargin.plots.data import View, choose_view, place_points, read_points
from maxmargin.plots.geometry import hull
from maxmargin.plots.style import BLACK, COLOURS, ClassStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _find_sides(verdict: Verdict, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


SMALLEST_WITNESS = 30.0  # area of a witness of weight nought
WITNESS_AREA = 420.0  # what weight one adds
MAX_WITNESS_LINES = 60  # witnesses that are joined with the common point
RING_AREA = 150.0  # of a ring around a marked point


def through_origin(witness: Witness | None) -> bool:
    """Whether it is a witness about planes through the origin: sums are equal, not means."""
    if witness is None:
        return False
    return bool(sum(witness.positive_weights) != 1 or sum(witness.negative_weights) != 1)


@dataclass(repr=False)
class SeparabilityDisplay(artists.PlanePicture):
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
    inset_ax_ : Axes or None
        A zoom on a margin too thin to be seen: distances across in margins, along the plane upwards.
    caption_ : artist or None
        How a slice was cut.
    lines_ : list of LineCollection
        From the witness rows of each side to the common point (planes through the origin: to the
        origin, since sums are equal then, not means).

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.separability import SeparabilityDisplay
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
    largest: np.ndarray  # the largest |x| of each feature: smaller differences may be rounding

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
        rows, signs = _find_sides(verdict, points.classes[points.codes])
        part = points.X[rows]
        w = verdict.w
        if w is None:  # the projection is on the line between the means
            w = part[signs > 0].mean(axis=0) - part[signs < 0].mean(axis=0)
        view = choose_view(part, w, features, at, verdict.features)
        flat = place_points(view, part, (signs > 0).astype(np.intp), 2)
        common = None
        if verdict.witness is not None:
            common = view.flat(np.asarray(verdict.witness.point, dtype=np.float64)[None])[0]
        near = np.empty(0, dtype=np.intp)
        if verdict.margin is not None and verdict.b is not None:
            f = signs * (part @ w + verdict.b)
            near = rows[[int(np.argmin(np.where(signs == side, f, np.inf))) for side in (-1, 1)]]
        largest = np.abs(part).max(axis=0)
        return cls(verdict, flat, rows, signs, view, near, common, largest).plot(ax)

    @np.errstate(over="ignore")  # an end that is infinitely far is not in the picture
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        nothing: Any = None
        self.plane_ = self.slab_ = self.nearest_ = self.on_plane_ = self.common_ = nothing
        self.lines_: list[Any] = []
        self.edges_: list[Any] = []
        self.hulls_: dict[Hashable, Any] = {}
        self.witness_: dict[Hashable, Any] = {}
        verdict, view = self.verdict, self.view
        shown = self.flat if self.common is None else np.vstack([self.flat, self.common])
        if through_origin(verdict.witness):
            shown = np.vstack([shown, self._origin()])
        slab = None if verdict.margin is None or view.sliced else self._plane()
        ax = self._open(ax, shown, self.largest, slab)
        styles = style.class_styles([self._name(-1), self._name(1)])
        codes = (self.signs > 0).astype(np.intp)
        faint = 0.55 if verdict.witness is not None and len(self.flat) > 30 else 1.0
        self.points_ = artists.draw_points(ax, self.flat, codes, styles, opacity=faint)
        if verdict.w is not None:
            self._draw_plane(ax)
        if verdict.witness is not None:
            self._draw_witness(ax, styles)
        self._draw_marks(ax)
        across, words = artists.cut_words(view)
        across = "from mean to mean" if verdict.w is None and view.projected else across
        words = "" if verdict.w is None else words  # hulls are not cut: they are hulls in a slice too
        heading = f"{verdict.kind.capitalize()} ({verdict.statistical_name})"
        near = np.isin(self.rows, self.near).astype(np.float64)
        self._close(heading, across, words, codes, styles, alpha=near, title="slab, in margins")
        return self

    def _name(self, side: int) -> Hashable:
        label = self.verdict.positive if side > 0 else self.verdict.negative
        return "all others" if side < 0 and label is None else label

    def _origin(self) -> np.ndarray:
        return np.asarray(self.view.flat(np.zeros((1, len(self.view.at))))[0])

    def _plane(self) -> tuple[np.ndarray, float]:
        """The plane in the picture, scaled so that its edges are at ±1."""
        w, b = self.verdict.w, self.verdict.b
        assert w is not None and b is not None
        scale = float(np.abs(w).max())
        w, b = w / scale, b / scale  # the length of a huge w would overflow
        if self.verdict.margin is not None and self.verdict.margin[0] > 0:
            level = self.verdict.margin[0] * float(np.linalg.norm(w))
            w, b = w / level, b / level
        return self.view.plane(w, b)

    def _draw_plane(self, ax: Axes) -> None:
        v, c = self._plane()
        if not np.any(v):
            return
        apart, margin = self.verdict.separable, self.verdict.margin
        name = "w·x + b = 0" if apart else "weak plane: no row on a wrong side"
        edge = f"margin {margin[0]:.4g} (certified)" if margin is not None else ""
        parts = artists.draw_slab(ax, v, c, self.box, (name, edge), edges=margin is not None)
        self.plane_, self.edges_, self.slab_ = parts
        if self.plane_ is not None and not apart:
            self.plane_.set_zorder(3.7)  # hulls that touch do so along the weak plane

    def _draw_marks(self, ax: Axes) -> None:
        """Rings around the nearest rows, or around those on the weak plane."""
        if len(self.near):
            self.nearest_ = self._ring(ax, self.near, "nearest row of each class")
        on = self.verdict.on_plane
        if self.verdict.kind == "touching" and len(on):
            self.on_plane_ = self._ring(ax, on, f"rows on the plane: {len(on):,}")

    def _ring(self, ax: Axes, rows: np.ndarray, label: str) -> Any:
        area = style.point_size(len(self.flat))[0] + 1.6 * RING_AREA * min(1.0, 12.0 / len(rows)) ** 0.5
        rings = artists.draw_circles(ax, self._where(rows), area, label)
        rings.set(linewidths=1.3, zorder=5)
        return rings

    def _where(self, rows: np.ndarray) -> np.ndarray:
        """Where rows of X are drawn."""
        return np.asarray(self.flat[np.searchsorted(self.rows, rows)])

    def _draw_witness(self, ax: Axes, styles: list[ClassStyle]) -> None:
        """Draw the hulls, the witness rows with lines to where they meet, and the common point.

        Of planes through the origin there are no hulls, and the lines go to the origin.
        """
        witness, sums = self.verdict.witness, through_origin(self.verdict.witness)
        assert witness is not None and self.common is not None
        origin = self._origin()
        sides = (
            (-1, "--", witness.negative, witness.negative_weights),
            (1, "-", witness.positive, witness.positive_weights),
        )
        for look, (side, way, rows, weights) in zip(styles, sides, strict=True):
            if not sums:
                self.hulls_[look.label] = self._draw_hull(ax, side, look, way)
            if len(rows):
                shares = np.array([float(weight) for weight in weights])
                centre = origin if sums else self.common
                self._draw_rows(ax, self._where(rows), shares, look, centre)
        if sums:
            ax.plot(*origin, "+", color=BLACK, ms=12, mew=1.6, label="origin", zorder=6)
        self.common_ = style.scatter(ax, self.common[None], s=260, marker="*", c=COLOURS[4], zorder=7)
        self.common_.set(edgecolors=BLACK, linewidths=1.0)
        self.common_.set_label("equal weighted sums" if sums else "common point of the hulls")

    def _draw_rows(
        self, ax: Axes, places: np.ndarray, weights: np.ndarray, look: ClassStyle, centre: np.ndarray
    ) -> None:
        """Draw the witness of one side, its areas in proportion to the weights, joined to a centre."""
        from matplotlib.collections import LineCollection
        from matplotlib.patheffects import Normal, Stroke

        # rows of touching classes have a ring around them
        largest = WITNESS_AREA if self.verdict.kind == "overlapping" else RING_AREA
        areas = SMALLEST_WITNESS + largest * weights
        shown = style.scatter(ax, places, s=areas, c=look.colour, marker=look.marker, zorder=4)
        shown.set(alpha=0.8, edgecolors=BLACK, linewidths=1.3)  # the same row may stand in both classes
        shown.set_label(artists.label_words(f"witness of {look.label}") + "\n(area ∝ weight)")
        self.witness_[look.label] = shown
        if len(places) <= MAX_WITNESS_LINES:
            segments = [np.array([place, centre]) for place in places]
            bundle = LineCollection(segments, colors=look.colour, linewidths=1.6, zorder=3.5)
            bundle.set_path_effects([Stroke(linewidth=3.2, foreground="white"), Normal()])
            self.lines_.append(ax.add_collection(bundle))

    def _draw_hull(self, ax: Axes, side: int, look: ClassStyle, line: str) -> Any:
        """Outline the hull of one side and shade it."""
        mine = self.flat[self.signs == side]
        if self.frame.lanes:  # the hull of numbers is an interval: drawn at the foot of the lane
            x = mine[:, 0]
            corners = np.array([[x.min(), 0.08 * side], [x.max(), 0.08 * side]])
        else:
            corners = hull(mine)
        closed = np.vstack([corners, corners[:1]])
        (outline,) = ax.plot(*closed.T, color=look.colour, lw=1.5, ls=line, zorder=1)
        if len(corners) > 2:
            ax.fill(*corners.T, color=look.colour, alpha=0.10, lw=0, zorder=0)
        return outline
