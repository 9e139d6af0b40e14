"""The certificate of a margin machine, seen: the gap closes, slackness is complementary, KKT holds."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.core.errors import InputError
from maxmargin.estimators.door import read_Xy
from maxmargin.plots.gap import draw_gap
from maxmargin.plots.machine import find_machine, machine_title, rows_of
from maxmargin.plots.residuals import draw_residuals
from maxmargin.plots.slackness import bounds_on, draw_slackness
from maxmargin.plots.style import axes, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from maxmargin.certificates.certificate import Certificate

__all__ = ["CertificateDisplay"]

PANELS = ("gap", "slackness", "residuals")
LETTERS = 50  # in a line of the heading over a column of panels


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
            self.figure_.suptitle(textwrap.fill(heading, LETTERS) if stacked else heading)
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
