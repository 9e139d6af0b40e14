"""The certificate of a margin machine, seen: the gap closes, slackness is complementary, KKT holds."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.core.errors import InputError
from maxmargin.estimators.validation import read_Xy
from maxmargin.plots.machine import find_machine, machine_title, rows_of
from maxmargin.plots.style import BLACK, COLOURS, GREY, axes, count_axis, key_below, point_size, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from maxmargin.certificates.certificate import Certificate

PANELS = ("gap", "slackness", "residuals")
HEADING_LETTERS = 50  # in a line of the heading over a column of panels
EPSILON = float(np.finfo(np.float64).eps)
MAX_MARKED_PASSES = 60  # up to which each has a marker
SMALLEST_GAP = 0.1 * EPSILON  # where a gap is drawn that has no logarithm
SMALLEST_RESIDUAL = 1e-18  # where the axis begins: a residual of 0 has no bar
MAX_DRAWN_BOUNDS = 4  # different C_i that are drawn as lines
NAMED_BOUND_RATIO = 3.0  # times above all α at which a bound is not drawn
BEFORE_SLACK_COLOUR = "#EFB78F"  # of rows before their slack is added
MARGIN_ROUNDING = 1e-6  # of a margin of 1


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
            display.levels = _known_bounds(estimator, alpha, display.at_bound)
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
            self.axes_ = dict(zip(PANELS, _three_axes(ax, stacked), strict=True))
        self.ax_: Axes = next(iter(self.axes_.values()))
        self.figure_: Any = self.ax_.figure
        nothing: Any = None
        self.primal_ = self.dual_ = self.gap_ax_ = self.gap_ = self.closed_ = nothing
        self.late_ = self.residuals_ = nothing
        self.slackness_: dict[str, Any] = {}
        self.levels_: list[Any] = []
        self.values_: list[Any] = []
        draw = {
            "gap": self._draw_gap,
            "slackness": self._draw_slackness,
            "residuals": self._draw_residuals,
        }
        for name, place in self.axes_.items():
            draw[name](place)
        if ax is None and panel is None:
            heading = f"{self.title}: {self.certificate.problem}"
            self.figure_.suptitle(textwrap.fill(heading, HEADING_LETTERS) if stacked else heading)
        return self

    # The dual value comes from below, the primal from above, and the optimum lies between them. On a
    # logarithmic axis the relative gap is a straight way down, until it is rounding.

    def _draw_gap(self, ax: Axes) -> None:
        """Draw primal and dual value against passes, and the relative gap on an axis of its own."""
        passes, primal, dual = self.progress.T
        few, finite = len(passes) <= MAX_MARKED_PASSES, np.isfinite(primal)
        (self.primal_,) = ax.plot(passes[finite], primal[finite], color=COLOURS[0], lw=1.8)
        alone = np.count_nonzero(finite) == 1  # a single value is no line
        self.primal_.set(marker="o" if few or alone else "", ms=9, mfc="none")
        self.primal_.set_label("primal: attained")
        (self.dual_,) = ax.plot(passes, dual, color=COLOURS[1], lw=1.8)
        self.dual_.set(marker="s" if few else "", ms=4, label="dual: no plane has less")
        ax.set_ylim(*_value_limits(primal[finite], dual))
        self.gap_ax_ = ax.twinx()
        self._draw_relative_gap(self.gap_ax_, passes[finite], primal[finite], dual[finite])
        if len(passes) == 1:
            ax.set_xlim(passes[0] - 1, passes[0] + 1)
        count_axis(ax.xaxis)
        ax.set(xlabel="passes over the data", ylabel="value", title="Primal and dual value")
        lines = (self.primal_, self.dual_, self.gap_, self.closed_)
        key_below(ax, [line for line in lines if line is not None], columns=1)

    def _draw_relative_gap(
        self, ax: Axes, passes: np.ndarray, primal: np.ndarray, dual: np.ndarray
    ) -> None:
        gap = (primal - dual) / np.where(primal == 0.0, 1.0, np.abs(primal))
        zero = gap <= 0.0
        shown = np.where(zero, SMALLEST_GAP, gap)
        (self.gap_,) = ax.plot(passes, shown, color=BLACK, ls=":", lw=1.4)
        self.gap_.set_label("relative gap (right)")
        if len(gap) <= MAX_MARKED_PASSES:
            self.gap_.set(marker="D", ms=4, markevery=np.flatnonzero(~zero).tolist())
        if np.any(zero):
            why = "exactly 0" if np.all(gap[zero] == 0.0) else "0 to rounding"
            self.closed_ = ax.scatter(passes[zero], shown[zero], s=40, c=BLACK, marker="v", zorder=3)
            self.closed_.set_label(f"relative gap {why}:\nno logarithm, drawn at the lower edge")
        ends = shown.min(initial=SMALLEST_GAP), shown.max(initial=1.0)
        ax.set(yscale="log", ylim=(0.1 * ends[0], 10.0 * ends[1]), ylabel="relative gap")

    def _draw_slackness(self, ax: Axes) -> None:
        """Draw α against y f(x) − 1 + ξ: one of the two is zero, so all points lie on two axes."""
        alpha, excess, slack = self.alpha, self.excess, self.slack
        ax.axhline(0.0, color=BLACK, lw=0.8, zorder=1)
        ax.axvline(0.0, color=BLACK, lw=0.8, zorder=1)
        C = "C" if len(self.levels) == 1 else "its C"
        free = "α > 0: on the edge" if self.hard else f"0 < α < {C}: on the edge"
        groups = {
            "zero": (alpha == 0, "α = 0: not needed", GREY, "o"),
            "free": ((alpha > 0) & ~self.at_bound, free, COLOURS[0], "D"),
            "bound": (self.at_bound, f"α = {C}: in the slab or across", COLOURS[1], "s"),
        }
        for name, (mine, label, *look) in groups.items():
            if np.any(mine):
                self.slackness_[name] = dots = _dots(ax, excess[mine], alpha[mine], *look)
                dots.set_label(f"{label} ({np.count_nonzero(mine):,})")
        late = slack > 0
        if np.any(late):
            self.late_ = _dots(ax, (excess - slack)[late], alpha[late], BEFORE_SLACK_COLOUR, "s")
            self.late_.set(label="the same at y f(x) − 1,\nbefore their slack ξ", zorder=2)
            self.late_.set_sizes(0.6 * self.late_.get_sizes())
        top = float(alpha.max(initial=0.0)) or 1.0
        self._draw_levels(ax, top)
        top = max([top, *(self.levels if self.levels_ else ())])
        right = float(excess.max(initial=0.0))
        if right <= MARGIN_ROUNDING:  # all stand on the edge: as wide as the margin
            right = 1.0
        left = float((excess - slack).min(initial=0.0))
        room = 0.06 * (right - left)
        ax.set(xlim=(left - room, right + room), ylim=(-0.06 * top, 1.1 * top))
        ax.set(xlabel="y f(x) − 1" if self.hard else "y f(x) − 1 + ξ", ylabel="multiplier α")
        ax.set_title("Slackness: one of the two is zero")
        key_below(ax, columns=1)

    def _draw_levels(self, ax: Axes, top: float) -> None:
        """Lines α = C_i; one that is far above all α is only named."""
        if not self.levels:
            return
        reached = np.any(self.at_bound)
        name = "C = " + ", ".join(f"{level:.4g}" for level in self.levels)
        name += "" if reached else ": not reached"
        if not reached and min(self.levels) > NAMED_BOUND_RATIO * top:
            ax.plot([], [], " ", label=f"{name}, above the picture")
            return
        look: dict[str, Any] = {"color": COLOURS[1], "lw": 1.2, "ls": "--", "zorder": 1}
        self.levels_ = [ax.axhline(level, **look) for level in self.levels]
        self.levels_[0].set_label(name)

    def _draw_residuals(self, ax: Axes) -> None:
        """The residuals of the KKT conditions and the gap, as bars beside the machine epsilon."""
        proof = self.certificate
        table = {
            "stationarity": proof.stationarity,
            "primal\ninfeasibility": proof.primal_infeasibility,
            "dual\ninfeasibility": proof.dual_infeasibility,
            "comple-\nmentarity": proof.complementarity,
            "relative gap": proof.relative_gap,
        }
        size = np.array(list(table.values()))
        high = 100.0 * float(size[np.isfinite(size)].max(initial=1.0))
        ends = np.clip(np.nan_to_num(size, posinf=high), SMALLEST_RESIDUAL, high)
        widths = ends - SMALLEST_RESIDUAL
        bars = ax.barh(list(table), widths, 0.6, SMALLEST_RESIDUAL, color=COLOURS[0])
        ax.set(xscale="log", xlim=(SMALLEST_RESIDUAL, high))
        self.residuals_ = bars
        white = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        for place, (end, value) in enumerate(zip(ends, size, strict=True)):
            text = f"{value:.1e}".replace("-", "−") if 0 < value < np.inf else "∞" if value else "0"
            look: dict[str, Any] = {"xytext": (4, 0), "ha": "left", "color": BLACK, "bbox": white}
            if end > 1e-3 * high:  # inside the bar, where the picture ends
                look = {"xytext": (-4, 0), "ha": "right", "color": "white"}
            look |= {"textcoords": "offset points", "va": "center", "zorder": 4}
            self.values_.append(ax.annotate(text, (end, place), **look))
        line = ax.axvline(EPSILON, color=COLOURS[1], lw=1.4, ls="--", zorder=3)
        line.set_label("machine epsilon, 2.2e−16")
        ax.invert_yaxis()
        ax.set(xlabel="residual", title="KKT residuals")
        key_below(ax, [line], columns=1)


def _progress(machine: Any) -> np.ndarray:
    """Passes, primal and dual value, row by row; without a record, how it ended."""
    proof = machine.certificate_
    known = [tuple(entry)[:3] for entry in getattr(machine, "progress_", None) or ()]
    return np.array(known or [(proof.n_passes, proof.primal, proof.dual)], dtype=np.float64)


def _known_bounds(estimator: Any, alpha: np.ndarray, at_bound: np.ndarray) -> tuple[float, ...]:
    """The bounds C_i as far as they are known: those that are reached, or C if no row reaches it."""
    if np.any(at_bound):
        different = np.unique(np.round(alpha[at_bound], 12))
        return tuple(different.tolist()) if len(different) <= MAX_DRAWN_BOUNDS else ()
    C = getattr(estimator, "C_", None) or getattr(estimator, "C", None)
    if C is None or estimator.class_weight is not None or np.any(alpha > float(C)):
        return ()
    return (float(C),)


def _value_limits(primal: np.ndarray, dual: np.ndarray) -> tuple[float, float]:
    """What to show of the values: all, but a start that was far away only in part."""
    end = float(primal[-1]) if len(primal) else float(dual[-1])
    far = 2.0 * abs(end)
    low = max(float(dual.min()), end - far)
    high = max(float(dual.max()), min(float(primal.max(initial=end)), end + far))
    if high - low <= 1e-6 * abs(end):  # no way to be seen: where the values stand
        low, high = min(0.0, low), max(0.0, high)
    size = (high - low) or 1.0
    return low - 0.08 * size, high + 0.08 * size


def _dots(ax: Axes, x: np.ndarray, y: np.ndarray, colour: str, marker: str) -> Any:
    area, opacity = point_size(len(x))
    shown = ax.scatter(x, y, s=float(np.clip(area, 14.0, 32.0)), c=colour, marker=marker)
    shown.set(alpha=opacity, linewidths=0, zorder=3, rasterized=len(x) > 5_000)
    return shown


def _three_axes(ax: Any, stacked: bool) -> Sequence[Axes]:
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
