"""The certificate of a margin machine, seen: the gap closes, slackness is complementary, KKT holds."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.core.errors import InputError
from maxmargin.estimators.validation import read_Xy
from maxmargin.plots.machine import find_machine, machine_title, rows_of
from maxmargin.plots.style import BLACK, COLOURS, GREY, axes, key_below, point_size, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from maxmargin.certificates.certificate import Certificate

# The gap of a margin machine, pass by pass: the dual value comes from below, the primal from above.
#
# The optimum lies between them. On a logarithmic axis the relative gap is a straight way down, until it
# is rounding; a gap of 0, or below 0 by rounding, has no logarithm and is marked at the lower edge.

SMALLEST_GAP = 0.1 * float(np.finfo(np.float64).eps)  # where a gap is drawn that has no logarithm
STEPS = 60  # passes that have a marker each


class GapArtists(NamedTuple):
    """The lines of the two values, and on a logarithmic axis of their own those of the gap."""

    primal: Any
    dual: Any
    ax: Any
    gap: Any
    closed: Any  # markers of gaps ≤ 0, or None


def draw_gap(ax: Axes, progress: np.ndarray) -> GapArtists:
    """Draw passes, primal and dual values (columns of ``progress``), and the relative gap."""
    from matplotlib.ticker import MaxNLocator

    passes, primal, dual = progress.T
    finite = np.isfinite(primal)
    (above,) = ax.plot(passes[finite], primal[finite], color=COLOURS[0], lw=1.8)
    above.set(marker=_marker("o", finite), ms=9, mfc="none", label="primal: attained")
    (below,) = ax.plot(passes, dual, color=COLOURS[1], lw=1.8)
    below.set(marker=_marker("s", dual), ms=4, label="dual: no plane has less")
    ax.set_ylim(*_window(primal[finite], dual))
    other = ax.twinx()
    line, closed = _draw_relative(other, passes[finite], primal[finite], dual[finite])
    if len(passes) == 1:
        ax.set_xlim(passes[0] - 1, passes[0] + 1)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    ax.set_xlabel("passes over the data")
    ax.set_ylabel("value")
    ax.set_title("Primal and dual value")
    key_below(ax, [above, below, line, *([] if closed is None else [closed])], columns=1)
    return GapArtists(above, below, other, line, closed)


def _draw_relative(ax: Axes, passes: np.ndarray, primal: np.ndarray, dual: np.ndarray) -> Any:
    """The relative gap, and markers where it has no logarithm."""
    size = np.where(primal == 0.0, 1.0, np.abs(primal))
    gap = (primal - dual) / size
    zero = gap <= 0.0
    shown = np.where(zero, SMALLEST_GAP, gap)
    (line,) = ax.plot(passes, shown, color=BLACK, ls=":", lw=1.4, label="relative gap (right)")
    if _marker("D", gap):
        line.set(marker="D", ms=4, markevery=np.flatnonzero(~zero).tolist())
    closed = None
    if np.any(zero):
        why = "exactly 0" if np.all(gap[zero] == 0.0) else "0 to rounding"
        closed = ax.scatter(passes[zero], shown[zero], s=40, c=BLACK, marker="v", zorder=3)
        closed.set_label(f"relative gap {why}:\nno logarithm, drawn at the lower edge")
    ax.set_yscale("log")
    low = float(shown.min(initial=SMALLEST_GAP))
    ax.set_ylim(0.1 * low, 10.0 * max(1.0, float(shown.max(initial=1.0))))
    ax.set_ylabel("relative gap")
    return line, closed


def _marker(shape: str, values: np.ndarray) -> str:
    """A marker for each pass if they are few; a single one is no line."""
    count = np.count_nonzero(values) if values.dtype == bool else len(values)
    return shape if len(values) <= STEPS or count == 1 else ""


def _window(primal: np.ndarray, dual: np.ndarray) -> tuple[float, float]:
    """What to show of the values: all, but a start that was far away only in part."""
    end = float(primal[-1]) if len(primal) else float(dual[-1])
    far = 2.0 * abs(end)
    low = max(float(dual.min()), end - far)
    high = max(float(dual.max()), min(float(primal.max(initial=end)), end + far))
    if high - low <= 1e-6 * abs(end):  # no way to be seen: where the values stand
        low, high = min(0.0, low), max(0.0, high)
    size = (high - low) or 1.0
    return low - 0.08 * size, high + 0.08 * size


# The residuals of the KKT conditions as bars on a logarithmic axis, beside the machine epsilon.

EPSILON = float(np.finfo(np.float64).eps)
SMALLEST_RESIDUAL = 1e-18  # where the axis begins: a residual of 0 has no bar


def draw_residuals(ax: Axes, proof: Certificate) -> tuple[Any, list[Any]]:
    """Draw the four residuals and the relative gap; return the bars and the numbers beside them."""
    table = {
        "stationarity": proof.stationarity,
        "primal\ninfeasibility": proof.primal_infeasibility,
        "dual\ninfeasibility": proof.dual_infeasibility,
        "comple-\nmentarity": proof.complementarity,
        "relative gap": proof.relative_gap,
    }
    size = np.array(list(table.values()))
    finite = size[np.isfinite(size)]
    high = 100.0 * max(1.0, float(finite.max(initial=0.0)))
    ends = np.clip(np.nan_to_num(size, posinf=high), SMALLEST_RESIDUAL, high)
    places = range(len(table))
    bars = ax.barh(
        list(places), ends - SMALLEST_RESIDUAL, left=SMALLEST_RESIDUAL, height=0.6, color=COLOURS[0]
    )
    texts = [
        _number(ax, end, place, value, inside=bool(end > 1e-3 * high))
        for place, end, value in zip(places, ends, table.values(), strict=True)
    ]
    ax.set_xscale("log")
    ax.set_xlim(SMALLEST_RESIDUAL, high)
    line = ax.axvline(EPSILON, color=COLOURS[1], lw=1.4, ls="--", zorder=3)
    line.set_label("machine epsilon, 2.2e−16")
    ax.set_yticks(list(places), list(table))
    ax.invert_yaxis()
    ax.set_xlabel("residual")
    ax.set_title("KKT residuals")
    key_below(ax, [line], columns=1)
    return bars, texts


def _number(ax: Axes, end: float, place: int, value: float, *, inside: bool) -> Any:
    """The value at the end of its bar, inside where the picture ends."""
    text = "0" if value == 0 else ("∞" if math.isinf(value) else f"{value:.1e}".replace("-", "−"))
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    return ax.annotate(
        text,
        (end, place),
        xytext=(-4 if inside else 4, 0),
        textcoords="offset points",
        ha="right" if inside else "left",
        va="center",
        color="white" if inside else BLACK,
        bbox=None if inside else white,
        zorder=4,
    )


# Complementary slackness: of each row α or y f(x) − 1 + ξ is zero, so all points lie on two axes.

LEVELS = 4  # different bounds C_i that are drawn as lines
PALE = "#EFB78F"  # of rows before their slack is added
ROUNDING = 1e-6  # of a margin of 1
FAR = 3.0  # times above all α at which a bound is not drawn


class SlacknessArtists(NamedTuple):
    """The rows with α = 0, free and at their bound; those with slack once more; the lines α = C_i."""

    groups: dict[str, Any]
    late: Any
    levels: list[Any]


def draw_slackness(
    ax: Axes,
    alpha: np.ndarray,
    excess: np.ndarray,
    slack: np.ndarray,
    at_bound: np.ndarray,
    levels: Sequence[float],
    *,
    hard: bool,
) -> SlacknessArtists:
    """Draw α against ``excess`` = y f(x) − 1 + ξ; ``levels`` are the bounds C_i that are known."""
    ax.axhline(0.0, color=BLACK, lw=0.8, zorder=1)
    ax.axvline(0.0, color=BLACK, lw=0.8, zorder=1)
    C = "C" if len(levels) == 1 else "its C"
    free = "α > 0: on the edge" if hard else f"0 < α < {C}: on the edge"
    parts = {
        "zero": (alpha == 0, "α = 0: not needed", GREY, "o"),
        "free": ((alpha > 0) & ~at_bound, free, COLOURS[0], "D"),
        "bound": (at_bound, f"α = {C}: in the slab or across", COLOURS[1], "s"),
    }
    groups = {
        name: _dots(ax, excess[mine], alpha[mine], label, colour, marker)
        for name, (mine, label, colour, marker) in parts.items()
        if np.any(mine)
    }
    late, rows = None, slack > 0
    if np.any(rows):
        late = _dots(ax, (excess - slack)[rows], alpha[rows], "", PALE, "s")
        late.set(label="the same at y f(x) − 1,\nbefore their slack ξ", zorder=2)
        late.set_sizes(0.6 * late.get_sizes())
    top = float(alpha.max(initial=0.0)) or 1.0
    lines = _draw_levels(ax, levels, top, reached=bool(np.any(at_bound)))
    top = max([top, *(float(line.get_ydata()[0]) for line in lines)])
    ax.set_ylim(-0.06 * top, 1.1 * top)
    right = float(excess.max(initial=0.0))
    right = right if right > ROUNDING else 1.0  # as wide as the margin, if all stand on the edge
    left = float((excess - slack).min(initial=0.0))
    ax.set_xlim(left - 0.06 * (right - left), right + 0.06 * (right - left))
    ax.set_xlabel("y f(x) − 1" if hard else "y f(x) − 1 + ξ")
    ax.set_ylabel("multiplier α")
    ax.set_title("Slackness: one of the two is zero")
    key_below(ax, columns=1)
    return SlacknessArtists(groups, late, lines)


def bounds_on(estimator: Any, alpha: np.ndarray, at_bound: np.ndarray) -> tuple[float, ...]:
    """The bounds C_i as far as they are known: those that are reached, or C if no row reaches it."""
    if np.any(at_bound):
        different = np.unique(np.round(alpha[at_bound], 12))
        return tuple(float(level) for level in different) if len(different) <= LEVELS else ()
    C = getattr(estimator, "C_", None) or getattr(estimator, "C", None)
    if C is None or estimator.class_weight is not None or np.any(alpha > float(C)):
        return ()
    return (float(C),)


def _dots(ax: Axes, x: np.ndarray, y: np.ndarray, label: str, colour: str, marker: str) -> Any:
    area, opacity = point_size(len(x))
    shown = ax.scatter(x, y, s=float(np.clip(area, 14.0, 32.0)), c=colour, marker=marker)
    shown.set(alpha=opacity, linewidths=0, zorder=3, rasterized=len(x) > 5_000)
    shown.set_label(f"{label} ({len(x):,})")
    return shown


def _draw_levels(ax: Axes, levels: Sequence[float], top: float, *, reached: bool) -> list[Any]:
    """Lines α = C_i; one that is far above all α is only named."""
    if not levels:
        return []
    named = "C = " + ", ".join(f"{level:.4g}" for level in levels) + ("" if reached else ": not reached")
    if not reached and min(levels) > FAR * top:
        ax.plot([], [], " ", label=f"{named}, above the picture")
        return []
    look: dict[str, Any] = {"color": COLOURS[1], "lw": 1.2, "ls": "--", "zorder": 1}
    lines = [ax.axhline(level, **look) for level in levels]
    lines[0].set_label(named)
    return lines


PANELS = ("gap", "slackness", "residuals")
HEADING_LETTERS = 50  # in a line of the heading over a column of panels


@dataclass(repr=False)
class CertificateDisplay:
    """The gap against passes, complementary slackness, and the KKT residuals of a margin machine.

    Made by :meth:`from_estimator`; ``plot`` draws one panel, or all three in a row, or in a column
    (``stacked=True``), which is readable at the width of a telephone.

    Attributes
    ----------
    axes_ : dict
        Where each panel was drawn, by its name; all are on ``figure_``, and ``ax_`` is the first.
    primal_, dual_, gap_ : Line2D or None
        Panel "gap": the two values, and the relative gap on its logarithmic axis ``gap_ax_``.
    closed_ : artist or None
        Passes with a gap of 0, or below 0 by rounding: marked at the lower edge.
    slackness_ : dict
        Panel "slackness": the points with α = 0, with 0 < α (< C), and with α = C, by "zero", "free"
        and "bound".
    late_ : artist or None
        The rows with slack once more, at y f(x) − 1: all have α = C.
    levels_ : list of Line2D
        The lines α = C_i; a bound far above all α is named in the key alone.
    residuals_ : BarContainer or None
        Panel "residuals".
    values_ : list of Text
        The numbers beside the bars.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.certificate import CertificateDisplay
    >>> X, y = [[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1]
    >>> model = mm.HardMarginSVC().fit(X, y)
    >>> display = CertificateDisplay.from_estimator(model, X, y)
    >>> list(display.axes_)
    ['gap', 'slackness', 'residuals']
    >>> bool((display.alpha * display.excess).max() < 1e-9)
    True
    """

    certificate: Certificate
    progress: np.ndarray  # passes, primal, dual
    alpha: np.ndarray
    excess: np.ndarray  # y f(x) − 1 + ξ
    slack: np.ndarray
    at_bound: np.ndarray  # whether α = C_i
    levels: tuple[float, ...] = ()  # of C_i
    title: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        label: Hashable = None,
        panel: str | None = None,
        stacked: bool = False,
        ax: Any = None,
    ) -> Self:
        """Draw the certificate of a fitted margin machine.

        Parameters
        ----------
        estimator : HardMarginSVC, SoftMarginSVC or SoftMarginSVCCV
            Fitted.
        X, y : array-like or sparse matrix
            The training data.
        label : label or pair of labels, optional
            Which machine, if there are more than two classes.
        panel : "gap", "slackness" or "residuals", optional
            One panel alone; default all three.
        stacked : bool, default False
            The three panels of a new figure in a column instead of a row.
        ax : matplotlib Axes, or three of them, optional
            Where to draw; default a new figure.
        """
        machine = find_machine(estimator, label)
        if not hasattr(machine, "certificate_"):
            raise InputError(
                "estimator must be a margin machine, which has a certificate. "
                f"Got {type(estimator).__name__} instead. maxmargin.certify judges any plane."
            )
        rows, labels = read_Xy(BaseEstimator(), X, y, check=False)
        if (rows.n, rows.d) != (machine.n_rows, len(machine.coef_)):
            raise InputError(
                f"X must hold the training data, {machine.n_rows} × {len(machine.coef_)}. "
                f"Got {rows.n} × {rows.d} instead."
            )
        members, signs = rows_of(machine, estimator, np.asarray(labels))
        f = rows.times(machine.coef_[:, None])[members, 0] + machine.intercept_
        slack, alpha = machine.slack_[members], machine.dual_[members]
        display = cls(
            machine.certificate_,
            _progress(machine),
            alpha,
            signs * f - 1.0 + slack,
            slack,
            np.isin(members, machine.bound_support_),
            title=machine_title(machine, estimator),
        )
        if not display.hard:
            display.levels = bounds_on(estimator, alpha, display.at_bound)
        return display.plot(ax, panel, stacked=stacked)

    @property
    def hard(self) -> bool:
        """Whether there is no slack, and no bound on α."""
        return self.certificate.margin is not None

    def plot(self, ax: Any = None, panel: str | None = None, *, stacked: bool = False) -> Self:
        """Draw one panel on ``ax``, or all three: on three axes, or in a row or column of their own."""
        if panel is not None and panel not in PANELS:
            raise InputError(
                f"panel must be one of {', '.join(PANELS)}, or None. Got {panel!r} instead."
            )
        if stacked and (ax is not None or panel is not None):
            raise InputError(
                "stacked=True makes a new figure of all three panels. Got ax or panel as well instead. "
                "Leave them out."
            )
        if panel is not None:
            self.axes_ = {panel: axes(ax, figsize=(5.6, 4.2))}
        else:
            self.axes_ = dict(zip(PANELS, _three(ax, stacked), strict=True))
        self.ax_: Axes = next(iter(self.axes_.values()))
        self.figure_: Any = self.ax_.figure
        self._draw_gap(self.axes_.get("gap"))
        self._draw_slackness(self.axes_.get("slackness"))
        self.residuals_: Any = None
        self.values_: list[Any] = []
        if "residuals" in self.axes_:
            self.residuals_, self.values_ = draw_residuals(self.axes_["residuals"], self.certificate)
        if ax is None and panel is None:
            heading = f"{self.title}: {self.certificate.problem}"
            self.figure_.suptitle(textwrap.fill(heading, HEADING_LETTERS) if stacked else heading)
        return self

    def _draw_gap(self, ax: Axes | None) -> None:
        shown = None if ax is None else draw_gap(ax, self.progress)
        self.primal_: Any = shown and shown.primal
        self.dual_: Any = shown and shown.dual
        self.gap_ax_: Any = shown and shown.ax
        self.gap_: Any = shown and shown.gap
        self.closed_: Any = shown and shown.closed

    def _draw_slackness(self, ax: Axes | None) -> None:
        self.slackness_: dict[str, Any] = {}
        self.late_: Any = None
        self.levels_: list[Any] = []
        if ax is not None:
            rows = self.alpha, self.excess, self.slack, self.at_bound
            shown = draw_slackness(ax, *rows, self.levels, hard=self.hard)
            self.slackness_, self.late_, self.levels_ = shown


def _progress(machine: Any) -> np.ndarray:
    """Passes, primal and dual value, row by row; without a record, how it ended."""
    proof = machine.certificate_
    known = [tuple(entry)[:3] for entry in getattr(machine, "progress_", None) or ()]
    if not known:
        known = [(proof.n_passes, proof.primal, proof.dual)]
    return np.array(known, dtype=np.float64)


def _three(ax: Any, stacked: bool) -> Sequence[Axes]:
    if ax is None:
        shape, size = ((3, 1), (4.6, 13.5)) if stacked else ((1, 3), (14.0, 4.6))
        figure, made = pyplot().subplots(*shape, figsize=size, layout="constrained")
        figure.get_layout_engine().set(wspace=0.08)  # the gap has a scale on its right
        return list(made)
    several = list(np.ravel(ax))
    if len(several) != len(PANELS):
        raise InputError(
            f"ax must be three axes, one for each panel, or panel must be given. Got {len(several)} "
            'instead. Pass panel="gap", for example, to draw on one.'
        )
    return several
