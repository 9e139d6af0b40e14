"""Weight space with a bias, (w₁, w₂, b): what the hard-margin machine searches, and where it ends.

Each training point is the plane y (w·x + b) = 1, and the feasible weights lie on one side of all of
them. The optimum is the feasible point with the least ‖w‖, the one nearest to the axis w = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError
from maxmargin.core.parameters import check_choice, check_number
from maxmargin.estimators.hard_margin import HardMarginSVC
from maxmargin.plots import style
from maxmargin.plots.data import Points, read_points
from maxmargin.plots.geometry import CONE, ON_PLANE, Face, box_line, cut_body, cut_polygon, least_first
from maxmargin.plots.style import BLACK, COLOURS, GREY, LINE_STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("3d", "section")
MAX_DRAWN_ROWS = 8  # each in its own colour
MAX_DRAWN_PLANES = 6  # of them, in three dimensions
LINE_TOLERANCE = 1e-6  # of the picture, between lines that look like one
MAX_DOUBLINGS = 5  # of a section in search of something feasible


@dataclass(repr=False)
class WeightSpaceDisplay:
    """The constraints of the hard margin in (w₁, w₂, b), the feasible region and the optimum.

    Made by :meth:`from_estimator`, of a :class:`maxmargin.HardMarginSVC` with a bias, two classes and
    two features. Only rows that matter are drawn: those that bound the feasible region in the picture,
    of the support first, at most eight, each in its own colour.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    rows : array of int
        The training rows whose constraints are drawn, support of largest α first.
    planes_ : dict
        Their planes (in a section: lines), by row.
    region_ : artist or None
        The feasible region, as far as it is in the picture; None if no part of it is.
    optimum_ : artist or None
        The optimum; None in a section without it.
    nearest_ : artist or None
        In a section without the optimum: its feasible weights of least ‖w‖.
    rim_ : artist or list
        Where ‖w‖ is as at the optimum: a circle, or two lines across a section.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.weight_space import WeightSpaceDisplay
    >>> X, y = [[2, 5], [-4, -2], [4, -4]], [1, -1, -1]
    >>> model = mm.HardMarginSVC().fit(X, y)
    >>> display = WeightSpaceDisplay.from_estimator(model, X, y, kind="section")
    >>> sorted(display.planes_)
    [0, 1, 2]
    """

    points: Points
    w: np.ndarray  # the optimum
    b: float
    alpha: np.ndarray

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        kind: str = "3d",
        w1: float | None = None,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the weight space of a fitted hard-margin machine.

        Parameters
        ----------
        estimator : fitted HardMarginSVC
            With a bias, of two classes in two features.
        X, y : array-like
            Its training data.
        kind : "3d" or "section", default "3d"
            The planes in three dimensions, or a section at one w₁.
        w1 : float, optional
            Where to cut; default the w₁ of the optimum.
        names : sequence of str, optional
            Names of the features, beside their weights; default those of a data frame.
        ax : matplotlib Axes, optional
            Where to draw, with ``projection="3d"`` for planes; default a new figure.
        """
        check_is_fitted(estimator)
        points = read_points(X, y, estimator, names)
        flat = points.X.shape[1] == 2 and len(points.classes) == 2
        if not isinstance(estimator, HardMarginSVC) or not flat or not estimator.fit_intercept:
            raise InputError(
                "weight space is drawn for a HardMarginSVC with a bias, of two classes in two features. "
                f"Got {estimator!r} of {len(points.classes)} classes in "
                f"{points.X.shape[1]} features instead. XSpaceDisplay draws any linear classifier, "
                "WSpaceDisplay planes through the origin."
            )
        if len(estimator.dual_) != len(points.X):
            raise InputError(
                f"X must be the {len(estimator.dual_)} training rows. Got {len(points.X)} rows instead."
            )
        w, b = estimator.coef_[0], float(estimator.intercept_[0])
        return cls(points, w, b, estimator.dual_).plot(ax, kind, w1)

    @cached_property
    def constraints(self) -> np.ndarray:
        """a_i = y_i (x_i, 1), one per row: feasible are the z = (w₁, w₂, b) with a_i·z ≥ 1."""
        padded = np.column_stack([self.points.X, np.ones(len(self.points.X))])
        return np.asarray(self.points.signs[:, None] * padded)

    @cached_property
    def box(self) -> np.ndarray:
        """[low, high] of w₁, w₂ and b: the axis w = 0, the optimum, and as far again beyond it."""
        length = 1.25 * float(np.linalg.norm(self.w))
        # at 2w all b from 2b − 1 to 2b + 1 are feasible
        heights = [0.0, self.b, 2 * self.b - 1, 2 * self.b + 1]
        room = 0.08 * (max(heights) - min(heights))
        sides = [[w - length, w + length] for w in self.w]
        return np.array([*sides, [min(heights) - room, max(heights) + room]])

    @cached_property
    def faces(self) -> list[Face]:
        """The sides of the feasible region, as far as it is in the box."""
        return cut_body(self.constraints, self.box)

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows that matter: those that bound the region in the box, of the support first."""
        bounding = {row for row, _ in self.faces if row >= 0}
        support = set(np.flatnonzero(self.alpha > 1e-9 * self.alpha.max()).tolist())
        values = self.constraints @ [*self.w, self.b]
        first = sorted(bounding & support, key=lambda row: (-self.alpha[row], row))
        near = sorted(bounding - support, key=lambda row: float(values[row]))
        return np.array([*first, *near][:MAX_DRAWN_ROWS], dtype=np.int64)

    def plot(self, ax: Axes | None = None, kind: str = "3d", w1: float | None = None) -> Self:
        """Draw on ``ax``, or on a new figure: the planes, or a section at ``w1``."""
        check_choice("kind", kind, KINDS)
        nothing: Any = None
        self.region_ = self.optimum_ = self.nearest_ = self.rim_ = nothing
        self.planes_: dict[int, Any] = {}
        if kind == "section":
            self.ax_ = ax = style.axes(ax)
            self._draw_section(ax, float(self.w[0]) if w1 is None else check_number("w1", w1))
            style.key(ax)
            return self
        if w1 is not None:
            raise InputError(
                f'w1 must be left out for kind="3d". Got {w1!r} instead. Use kind="section".'
            )
        self.ax_ = ax = style.solid_axes(ax, "3d", (7.0, 6.5))
        self._draw_solid(ax)
        style.key_below(ax, drop=0.1)
        return self

    def _draw_solid(self, ax: Any) -> None:
        """Each row a plane, the feasible region behind them, the optimum nearest to the axis w = 0."""
        shape, box = style.solids().Poly3DCollection, self.box
        for row in sorted(self.rows[:MAX_DRAWN_PLANES].tolist()):
            sheet = [corners for face, corners in cut_body(self.constraints[[row]], box) if face == 0]
            if not sheet:  # it passes by the picture
                continue
            colour, line = self._look(row)
            self.planes_[row] = plane = shape(sheet, alpha=0.16, facecolors=colour)
            plane.set(edgecolors=colour, linewidths=1.0, linestyles=line)
            ax.add_collection3d(plane)
            ax.plot([], [], [], color=colour, ls=line, lw=2, label=self._row_name(row))
        if self.faces:
            rings = _same_length([ring for _, ring in self.faces])
            self.region_ = shape(rings, facecolors=CONE, alpha=0.4)
            self.region_.set(edgecolors=BLACK, linewidths=0.7)
            ax.add_collection3d(self.region_)
            ax.plot([], [], [], "s", color=CONE, ms=9, label="feasible")
        self._draw_optimum(ax)
        ax.set(xlim=box[0], ylim=box[1], zlim=box[2])
        style.name_axes(ax, (*self.points.weight_names, "b"))
        at = ", ".join(f"{v:.3g}" for v in self._tidy).replace("-", "−")
        style.title(ax, f"Weight space\noptimum ({at})")
        ax.set_box_aspect((1, 1, 1), zoom=0.85 if style.is_narrow(ax) else 0.95)
        ax.view_init(elev=18, azim=_azimuth(self.w))

    def _draw_optimum(self, ax: Any) -> None:
        """The optimum, its distance from the axis w = 0, and the circle of that distance."""
        w, b = self.w, self.b
        ax.plot([0, 0], [0, 0], self.box[2], color=GREY, lw=1.2, ls=":", label="w = 0")
        length, turn = float(np.linalg.norm(w)), np.linspace(0, 2 * np.pi, 121)
        ring = length * np.cos(turn), length * np.sin(turn)
        (self.rim_,) = ax.plot(*ring, b, color=BLACK, ls="--", lw=1.0, label=f"‖w‖ = {length:.3g}")
        ax.plot([0, w[0]], [0, w[1]], [b, b], color=BLACK, lw=1.2)
        (self.optimum_,) = ax.plot(*([c] for c in (*w, b)), "*", color=BLACK, ms=13)
        self.optimum_.set(label="optimum", zorder=10)

    def _draw_section(self, ax: Axes, w1: float) -> None:
        """The section at w1: lines in (w₂, b), the feasible part, and where ‖w‖ is least."""
        A, c = self.constraints[:, 1:], self.constraints[:, 0] * w1 - 1.0  # feasible: A (w₂, b) + c ≥ 0
        box, corners = _section_box(A, c, self.box[1:])
        if len(corners):
            (self.region_,) = ax.fill(*corners.T, color=CONE, lw=0, label="feasible", zorder=0)
        self._draw_lines(ax, A, c, box)
        square = float(self.w @ self.w)
        across = square - w1 * w1  # two lines where ‖w‖ is as at the optimum, if it is near enough
        if across >= -ON_PLANE * square:
            half, length = max(across, 0.0) ** 0.5, f"‖w‖ = {square**0.5:.3g}"
            look: dict[str, Any] = {"color": BLACK, "ls": ":", "lw": 1.0, "zorder": 1}
            self.rim_ = [ax.axvline(half, label=length, **look), ax.axvline(-half, **look)]
        mark: dict[str, Any] = {"mec": BLACK, "ls": "", "zorder": 5}
        if abs(w1 - self.w[0]) <= ON_PLANE * float(np.linalg.norm(self.w)):
            mark |= {"marker": "*", "mfc": BLACK, "ms": 14, "label": "optimum"}
            (self.optimum_,) = ax.plot(self.w[1], self.b, **mark)
        elif len(corners):
            point = least_first(corners)
            least = f"least ‖w‖ here: {float(np.hypot(w1, point[0])):.3g}"
            mark |= {"marker": "D", "mfc": "white", "ms": 8, "label": least}
            (self.nearest_,) = ax.plot(*point, **mark)
        first, across_name = self.points.weight_names
        ax.set(xlim=box[0], ylim=box[1], xlabel=style.plain(across_name), ylabel="b")
        at = float(self._tidy[0]) if w1 == self.w[0] else w1
        heading = style.plain(f"Section at {first} = {at:.4g}").replace("-", "−")
        style.title(ax, heading if len(corners) else f"{heading}: nothing feasible here")

    def _draw_lines(self, ax: Axes, A: np.ndarray, c: np.ndarray, box: np.ndarray) -> None:
        """The lines by row; rows of a class that are the same line here share it, and its entry."""
        shared: list[tuple[np.ndarray, list[int]]] = []
        size, codes = np.ptp(box, axis=1)[:, None], self.points.codes
        for row in sorted(self.rows.tolist()):
            ends = box_line(A[row], c[row], box)
            if ends is None:
                continue
            for other, rows in shared:
                same = np.allclose((np.array(ends) - other) / size, 0.0, atol=LINE_TOLERANCE)
                if same and codes[rows[0]] == codes[row]:
                    rows.append(row)
                    break
            else:
                shared.append((np.array(ends), [row]))
        for line_ends, rows in shared:
            colour, dashes = self._look(rows[0])
            (line,) = ax.plot(*line_ends, color=colour, ls=dashes, lw=1.8, zorder=2)
            line.set_label(self._row_name(*rows))
            self.planes_.update(dict.fromkeys(rows, line))

    @property
    def _tidy(self) -> np.ndarray:
        """The weights and the bias for a title: what rounding left of a zero is a zero."""
        z = np.append(self.w, self.b)
        return np.where(np.abs(z) > 1e-12 * np.append([np.abs(self.w).max()] * 2, 1.0), z, 0.0)

    def _look(self, row: int) -> tuple[str, str]:
        """The colour of a row, and the style of its line: by class."""
        place = sorted(self.rows.tolist()).index(row)
        return COLOURS[place % len(COLOURS)], LINE_STYLES[1 - int(self.points.codes[row])]

    def _row_name(self, *rows: int) -> str:
        """Rows of one class in the key."""
        label = self.points.labels[self.points.codes[rows[0]]]
        return style.plain(f"row{'s' * (len(rows) > 1)} {', '.join(map(str, rows))}: {label}")


def _azimuth(w: np.ndarray) -> float:
    """Look from the side of the axis w = 0, off the direction of w, and along no axis."""
    wanted = float(np.degrees(np.arctan2(-w[1], -w[0]))) + 50.0
    diagonal = 90.0 * np.floor(wanted / 90.0) + 45.0
    return float(diagonal + np.clip(wanted - diagonal, -15.0, 15.0))


def _same_length(rings: list[np.ndarray]) -> list[np.ndarray]:
    """Rings of as many corners each: matplotlib fills up shorter ones with whatever is in memory."""
    most = max(map(len, rings))
    return [np.vstack([ring, np.repeat(ring[-1:], most - len(ring), axis=0)]) for ring in rings]


def _section_box(A: np.ndarray, c: np.ndarray, box: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a section shows, and the corners of its feasible part.

    It is wider than ``box`` if that part is far away, and closer if it is small and all in view.
    """
    corners = cut_polygon(A, c, box)
    for _ in range(MAX_DOUBLINGS):
        if len(corners):
            break
        box = box + np.outer(np.ptp(box, axis=1), [-0.5, 0.5])
        corners = cut_polygon(A, c, box)
    if len(corners):
        low, high = corners.min(axis=0), corners.max(axis=0)
        room = np.maximum(0.75 * (high - low), 0.05 * np.ptp(box, axis=1))  # not into rounding
        if np.all(low - room > box[:, 0]) and np.all(high + room < box[:, 1]):
            box = np.column_stack([low - room, high + room])
    return box, corners
