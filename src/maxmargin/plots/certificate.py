"""The certificate of a margin machine, seen: the gap closes, slackness is complementary, KKT holds."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.core.errors import InputError
from maxmargin.estimators.door import read_Xy
from maxmargin.plots.curves import machine_title, one_machine, rows_of
from maxmargin.plots.style import BLACK, COLOURS, GREY, axes, point_size, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from maxmargin.certificates.certificate import Certificate

__all__ = ["CertificateDisplay"]

PANELS = ("gap", "slackness", "residuals")
EPSILON = float(np.finfo(np.float64).eps)
FLOOR = 1e-18  # where a logarithmic axis of residuals begins
LEVELS = 4  # different bounds C_i that are drawn as lines
PALE = "#EFB78F"  # of rows before their slack is added
STEPS = 60  # passes that have a marker each


@dataclass
class CertificateDisplay:
    """The gap against passes, complementary slackness, and the KKT residuals of a margin machine.

    Made by :meth:`from_estimator`; ``plot`` draws one panel, or all three in a row.

    Attributes
    ----------
    axes_ : dict
        Where each panel was drawn, by its name; all are on ``figure_``.
    primal_, dual_, gap_ : Line2D or None
        Panel "gap": the two values, and the relative gap on its logarithmic axis ``gap_ax_``.
    slackness_ : dict
        Panel "slackness": the points with α = 0, with 0 < α (< C), and with α = C, by "zero", "free"
        and "bound".
    late_ : artist or None
        The rows with slack once more, at y f(x) − 1: all have α = C.
    levels_ : list of Line2D
        The lines α = C_i.
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
        ax : matplotlib Axes, or three of them, optional
            Where to draw; default a new figure.
        """
        machine = one_machine(estimator, label)
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
        slack = machine.slack_[members]
        at_bound = np.isin(members, machine.bound_support_)
        alpha = machine.dual_[members]
        return cls(
            machine.certificate_,
            _progress(machine),
            alpha,
            signs * f - 1.0 + slack,
            slack,
            at_bound,
            _levels(estimator, machine, alpha[at_bound]),
            machine_title(machine, estimator),
        ).plot(ax, panel)

    @property
    def hard(self) -> bool:
        """Whether there is no slack, and no bound on α."""
        return self.certificate.margin is not None

    def plot(self, ax: Any = None, panel: str | None = None) -> Self:
        """Draw one panel on ``ax``, or all three in a row (on ``ax``, if those are three axes)."""
        draw = {"gap": self._draw_gap, "slackness": self._draw_slackness}
        draw["residuals"] = self._draw_residuals
        if panel is not None and panel not in PANELS:
            raise InputError(
                f"panel must be one of {', '.join(PANELS)}, or None. Got {panel!r} instead."
            )
        self.gap_ax_: Any = None
        self.primal_: Any = None
        self.dual_: Any = None
        self.gap_: Any = None
        self.slackness_: dict[str, Any] = {}
        self.levels_: list[Any] = []
        self.residuals_: Any = None
        self.values_: list[Any] = []
        if panel is not None:
            self.axes_ = {panel: axes(ax, figsize=(5.6, 4.2))}
        else:
            self.axes_ = dict(zip(PANELS, _three(ax), strict=True))
        for name, where in self.axes_.items():
            draw[name](where)
        self.figure_: Any = next(iter(self.axes_.values())).figure
        if ax is None and panel is None:
            self.figure_.suptitle(f"{self.title}: {self.certificate.problem}")
        return self

    def _draw_gap(self, ax: Axes) -> None:
        passes, primal, dual = self.progress.T
        marker = "o" if len(passes) <= STEPS else ""
        finite = np.isfinite(primal)
        (self.primal_,) = ax.plot(
            passes[finite],
            primal[finite],
            color=COLOURS[0],
            marker=marker,
            ms=9,
            markerfacecolor="none",
            lw=1.8,
            label="primal: attained",
        )
        (self.dual_,) = ax.plot(
            passes,
            dual,
            color=COLOURS[1],
            marker=marker and "s",
            ms=4,
            lw=1.8,
            label="dual: no plane has less",
        )
        ax.set_ylim(*_window(primal[finite], dual))
        self.gap_ax_ = other = ax.twinx()
        with np.errstate(invalid="ignore", divide="ignore"):
            gap = np.maximum((primal - dual) / primal, 0.1 * EPSILON)  # below, it is rounding
        seen = np.isfinite(gap)
        (self.gap_,) = other.plot(
            passes[seen],
            gap[seen],
            color=BLACK,
            ls=":",
            marker=marker and "D",
            ms=4,
            lw=1.4,
            label="relative gap (right)",
        )
        other.set_yscale("log")
        low = min(0.1 * EPSILON, float(gap[seen].min(initial=1.0)))
        other.set_ylim(0.1 * low, 10.0 * max(1.0, float(gap[seen].max(initial=1.0))))
        other.set_ylabel("relative gap")
        if len(passes) == 1:
            ax.set_xlim(passes[0] - 1, passes[0] + 1)
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
        ax.set_xlabel("passes over the data")
        ax.set_ylabel("value")
        ax.set_title("Primal and dual value")
        _legend_below(ax, [self.primal_, self.dual_, self.gap_])

    def _draw_slackness(self, ax: Axes) -> None:
        free = (self.alpha > 0) & ~self.at_bound
        groups = {
            "zero": (self.alpha == 0, "α = 0: not needed", GREY, "o"),
            "free": (
                free,
                "α > 0: on the edge" if self.hard else "0 < α < C: on the edge",
                COLOURS[0],
                "D",
            ),
            "bound": (self.at_bound, "α = C: beyond its edge", COLOURS[1], "s"),
        }
        ax.axhline(0.0, color=BLACK, lw=0.8, zorder=1)
        ax.axvline(0.0, color=BLACK, lw=0.8, zorder=1)
        for name, (mine, label, colour, marker) in groups.items():
            if not np.any(mine):
                continue
            area, opacity = point_size(int(np.count_nonzero(mine)))
            self.slackness_[name] = ax.scatter(
                self.excess[mine],
                self.alpha[mine],
                s=float(np.clip(area, 14.0, 32.0)),
                c=colour,
                marker=marker,
                alpha=opacity,
                linewidths=0,
                label=f"{label} ({np.count_nonzero(mine):,})",
                rasterized=len(self.alpha) > 5_000,
                zorder=3,
            )
        late = self.slack > 0
        self.late_: Any = None
        if np.any(late):
            area, _ = point_size(int(np.count_nonzero(late)))
            self.late_ = ax.scatter(
                self.excess[late] - self.slack[late],
                self.alpha[late],
                s=float(np.clip(0.6 * area, 8.0, 20.0)),
                c=PALE,
                marker="s",
                linewidths=0,
                label="the same at y f(x) − 1, before their slack ξ",
                rasterized=len(self.alpha) > 5_000,
                zorder=2,
            )
        named = "C = " + ", ".join(f"{level:.4g}" for level in self.levels)
        for level in self.levels:
            label = "" if self.levels_ else named
            line = ax.axhline(level, color=COLOURS[1], lw=1.2, ls="--", zorder=1, label=label)
            self.levels_.append(line)
        top = max([float(self.alpha.max(initial=0.0)), *self.levels]) or 1.0
        ax.set_ylim(-0.06 * top, 1.1 * top)
        right = float(self.excess.max(initial=0.0)) or 1.0
        left = float((self.excess - self.slack).min(initial=0.0))
        ax.set_xlim(left - 0.06 * (right - left), right + 0.06 * (right - left))
        ax.set_xlabel("y f(x) − 1" if self.hard else "y f(x) − 1 + ξ")
        ax.set_ylabel("multiplier α")
        ax.set_title("Slackness: one of the two is zero")
        _legend_below(ax)

    def _draw_residuals(self, ax: Axes) -> None:
        proof = self.certificate
        table = {
            "stationarity": proof.stationarity,
            "primal\ninfeasibility": proof.primal_infeasibility,
            "dual\ninfeasibility": proof.dual_infeasibility,
            "complementarity": proof.complementarity,
            "relative gap": proof.relative_gap,
        }
        size = np.abs(np.array(list(table.values())))
        finite = size[np.isfinite(size)]
        high = 100.0 * max(1.0, float(finite.max(initial=0.0)))
        ends = np.clip(np.nan_to_num(size, posinf=high), FLOOR, high)
        places = np.arange(len(table))
        self.residuals_ = ax.barh(places, ends - FLOOR, left=FLOOR, height=0.6, color=COLOURS[0])
        for place, end, value in zip(places, ends, table.values(), strict=True):
            text = (
                "0" if value == 0 else ("∞" if math.isinf(value) else f"{value:.1e}".replace("-", "−"))
            )
            room = ("right", "white", -4) if end > 1e-3 * high else ("left", BLACK, 4)
            self.values_.append(
                ax.annotate(
                    text,
                    (end, place),
                    xytext=(room[2], 0),
                    textcoords="offset points",
                    ha=room[0],
                    va="center",
                    color=room[1],
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0}
                    if room[1] == BLACK
                    else None,
                    zorder=4,
                )
            )
        ax.set_xscale("log")
        ax.set_xlim(FLOOR, high)
        line = ax.axvline(
            EPSILON, color=COLOURS[1], lw=1.4, ls="--", zorder=3, label="machine epsilon, 2.2e-16"
        )
        ax.set_yticks(places, list(table))
        ax.invert_yaxis()
        ax.set_xlabel("residual")
        ax.set_title("KKT residuals")
        _legend_below(ax, [line])


def _progress(machine: Any) -> np.ndarray:
    """Passes, primal and dual value, row by row; without a record, how it ended."""
    proof = machine.certificate_
    known = [tuple(entry)[:3] for entry in getattr(machine, "progress_", None) or ()]
    if not known:
        known = [(proof.n_passes, proof.primal, proof.dual)]
    return np.array(known, dtype=np.float64)


def _levels(estimator: Any, machine: Any, reached: np.ndarray) -> tuple[float, ...]:
    """The bounds C_i as far as they are known: those that are reached, or C if all rows have it."""
    if machine.certificate_.margin is not None:
        return ()
    if not len(reached):
        C = getattr(estimator, "C_", None) or getattr(estimator, "C", None)
        return (float(C),) if C is not None and estimator.class_weight is None else ()
    different = np.unique(np.round(reached, 12))
    return tuple(float(level) for level in different) if len(different) <= LEVELS else ()


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


def _three(ax: Any) -> Sequence[Axes]:
    if ax is None:
        _, made = pyplot().subplots(1, 3, figsize=(14.0, 4.6), layout="constrained")
        return list(made)
    several = list(np.ravel(ax))
    if len(several) != len(PANELS):
        raise InputError(
            f"ax must be three axes, one for each panel, or panel must be given. Got {len(several)} "
            'instead. Pass panel="gap", for example, to draw on one.'
        )
    return several


def _legend_below(ax: Axes, handles: list[Any] | None = None) -> None:
    """A legend under the panel: beside it the next panel stands."""
    known, _ = ax.get_legend_handles_labels()
    shown = ax.legend(
        handles=known if handles is None else handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.16),
        frameon=False,
        ncols=1,
    )
    for handle in shown.legend_handles:
        if handle is not None and hasattr(handle, "set_sizes"):
            handle.set_sizes([32.0])
        if handle is not None:
            handle.set_alpha(1.0)
