"""Learning as it went: the perceptron's mistakes under their bound, and the error of each epoch.

The bound R²/γ² is Novikoff's (1962); its proof is in two lines in :mod:`maxmargin.estimators.bound`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import _safe_indexing

from maxmargin.core.errors import InputError
from maxmargin.estimators.bound import mistake_bound
from maxmargin.plots.curves import (
    TRAINING,
    VALIDATION,
    PathDisplay,
    machine_title,
    one_machine,
    rows_of,
)
from maxmargin.plots.style import BLACK, COLOURS, axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ErrorDisplay", "MistakesDisplay", "PathDisplay"]

FAR = 20.0  # times above the mistakes at which the bound needs a logarithmic axis
CORNERS = 4_000  # of the stairs, at most: more cannot be seen
FEW = 40  # epochs that have a marker each
LONG = 500  # epochs from which their axis is logarithmic: most happens at the start
WIDTH = 28  # letters in a line of the legend
WORDS = {
    "all_correct": "all training points are correct",
    "max_epochs": "the budget of epochs is spent",
    "max_updates": "the budget of updates is spent",
    "max_seconds": "the budget of seconds is spent",
    "training_error_stalls": "the training error no longer falls",
    "validation_error_stalls": "the validation error no longer falls",
    "weights_settle": "the weights hardly move",
    "cycle": "the weights repeat: no plane separates the classes",
    "never_stops": "proven, no plane separates the classes",
    "callback": "a callback asked for it",
    "online": "it learns as examples arrive",
}
RUNNING: dict[str, Any] = {"color": "#A8A8A8", "marker": "v", "lw": 0.8}


@dataclass
class MistakesDisplay:
    """Mistakes so far against steps, and the bound R²/γ² that they stay under in any order.

    Made by :meth:`from_estimator`. Of a recorded run every update is seen; otherwise there is one point
    per epoch. A threshold δ > 0 moves the bound to (R² + 2δ/η)/γ², by the same proof.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn; logarithmic if the bound is far above the mistakes.
    mistakes_ : Line2D
        The stairs.
    bound_ : Line2D or None
        The bound, if there is one; if not, the legend says why.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.learning import MistakesDisplay
    >>> X, y = [[90, 80], [40, 30], [50, 40]], [1, -1, -1]
    >>> model = mm.Perceptron(record=True).fit(X, y)
    >>> display = MistakesDisplay.from_estimator(model, X, y)
    >>> int(display.mistakes[-1]), round(display.bound)
    (25, 3021)
    """

    steps: np.ndarray
    mistakes: np.ndarray  # made up to each of the steps
    bound: float  # inf if there is none
    meaning: str = "bound R²/γ²"  # or why there is none
    unit: str = "epochs"
    title: str = ""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, label: Hashable = None, ax: Axes | None = None
    ) -> Self:
        """Draw the mistakes of a fitted perceptron.

        Parameters
        ----------
        estimator : Perceptron or PocketPerceptron
            Fitted; with ``record=True`` every update is seen.
        X, y : array-like
            The training data, from which R and γ are taken.
        label : label or pair of labels, optional
            Which machine, if there are more than two classes.
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        """
        if not hasattr(estimator, "order"):
            raise InputError(
                "estimator must be a Perceptron or a PocketPerceptron, whose mistakes have a bound. "
                f"Got {type(estimator).__name__} instead."
            )
        machine = one_machine(estimator, label)
        labels = np.asarray(y)
        members, signs = rows_of(machine, estimator, labels)
        part = X if len(members) == len(labels) else _safe_indexing(X, members)
        if machine.trace_ is None and not len(machine.history_):
            raise InputError(
                "estimator must have a history or a trace of its mistakes. Got one that learned from a "
                "stream instead. Use record=True, or fit."
            )
        if machine.trace_ is None:
            unit, (steps, made) = "epochs", _by_epoch(machine)
        else:
            unit, (steps, made) = "rows looked at", _by_update(machine, len(members))
        bound, meaning = _bound(estimator, machine, part, signs)
        title = machine_title(machine, estimator)
        return cls(steps, made, bound, meaning, unit, title).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        from matplotlib.ticker import MaxNLocator

        self.ax_ = ax = axes(ax, figsize=(7.0, 4.2))
        total = int(self.mistakes[-1])
        far = math.isfinite(self.bound) and self.bound > FAR * max(total, 1)
        first = 1 if far and total > 0 else 0  # no mistakes have no logarithm
        some = np.unique(np.linspace(first, len(self.steps) - 1, CORNERS).astype(int))
        few = self.unit == "epochs" and len(self.steps) <= 50
        (self.mistakes_,) = ax.plot(
            self.steps[some],
            self.mistakes[some],
            color=COLOURS[0],
            lw=1.8,
            marker="o" if few else "",
            ms=4,
            drawstyle="default" if self.unit == "epochs" else "steps-post",
            label=f"mistakes: {total:,}",
        )
        self.bound_: Any = None
        if math.isfinite(self.bound):
            label = f"{self.meaning}\n= {_count(self.bound)}"
            self.bound_ = ax.axhline(self.bound, color=COLOURS[1], lw=1.8, ls="--", label=label)
        else:
            ax.plot([], [], " ", label=f"no bound:\n{self.meaning}")
        if far:
            ax.set_yscale("log")
            ax.set_ylim(0.8, self.bound * (self.bound / 0.8) ** 0.06)
        else:
            top = max(total, self.bound if math.isfinite(self.bound) else 0.0, 1.0)
            ax.set_ylim(0.0, 1.08 * top)
            ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlim(0, max(1.02 * float(self.steps[-1]), 1.0))
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_xlabel(self.unit)
        ax.set_ylabel("mistakes so far")
        ax.set_title(self.title)
        ax.grid(alpha=0.25)
        legend(ax)
        return self


def _by_epoch(machine: Any) -> tuple[np.ndarray, np.ndarray]:
    history = machine.history_
    return np.append(0, history["epoch"]), np.append(0, np.cumsum(history["mistakes"]))


def _by_update(machine: Any, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps and mistakes; a run that succeeded ends with an epoch in which nothing happens."""
    steps = np.array([0, *(update.step for update in machine.trace_)])
    made = np.arange(len(steps))
    history = machine.history_
    whole = len(history) * rows
    held_out = len(history) and not np.all(np.isnan(history["validation_error"]))
    if machine.stop_reason_.rule == "all_correct" and not held_out and whole > steps[-1]:
        steps, made = np.append(steps, whole), np.append(made, made[-1])
    return steps, made


def _bound(estimator: Any, machine: Any, X: Any, signs: np.ndarray) -> tuple[float, str]:
    """The bound on the mistakes and what it is; or inf and why there is none."""
    start = None if machine.trace_ is None else machine.trace_.start
    if estimator.class_weight is not None:
        return math.inf, "class weights scale the steps"
    if (start is not None and np.any(start)) or (start is None and estimator.warm_start):
        return math.inf, "the start was not zero"
    found = mistake_bound(X, signs, fit_intercept=estimator.fit_intercept, normalize=estimator.normalize)
    if not math.isfinite(found.bound):
        return math.inf, "no separating plane was found"
    threshold = float(getattr(estimator, "threshold", 0.0))
    if threshold == 0.0:
        return found.bound, "bound R²/γ²"
    # ‖z‖² grows by at most η²R² + 2ηδ with each mistake.
    longest = found.R**2 + 2.0 * threshold / float(estimator.eta0)
    return longest / found.gamma**2, "bound (R² + 2δ/η)/γ²"


def _count(value: float) -> str:
    return f"{value:,.0f}" if 100 <= value < 1e7 else f"{value:.3g}"


@dataclass
class ErrorDisplay:
    """Training and validation error after each epoch, with the moment and the reason of stopping.

    Made by :meth:`from_estimator`. Of a pocket perceptron the error of the running weights is seen
    beside the pocket's, and the proven bound below which no plane comes.

    Attributes
    ----------
    ax_ : Axes
        Where it was drawn.
    training_, validation_, running_ : Line2D or None
        The curves; epochs that were not measured are left out.
    stop_ : Line2D
        The last epoch, a line whose label is the reason.
    result_, least_ : artists or None
        Pocket: the error of the result, and the lower bound on that of any plane.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.learning import ErrorDisplay
    >>> model = mm.Perceptron().fit([[90, 80], [40, 30], [50, 40]], [1, -1, -1])
    >>> print(ErrorDisplay.from_estimator(model).stop_.get_label())
    stopped after epoch 10:
    all training points are
    correct
    """

    epochs: np.ndarray
    training: np.ndarray  # nan where it was not measured, here and below
    validation: np.ndarray
    running: np.ndarray
    reason: str
    result: float = float("nan")
    least: float = 0.0
    title: str = ""

    @classmethod
    def from_estimator(cls, estimator: Any, *, label: Hashable = None, ax: Axes | None = None) -> Self:
        """Draw the history of a fitted perceptron.

        Parameters
        ----------
        estimator : Perceptron, PocketPerceptron or BatchPerceptron
            Fitted.
        label : label or pair of labels, optional
            Which machine, if there are more than two classes.
        ax : matplotlib Axes, optional
            Where to draw; default a new figure.
        """
        machine = one_machine(estimator, label)
        history = getattr(machine, "history_", None)
        if not history or np.all(np.isnan(history["training_error"])):
            raise InputError(
                "estimator must be a perceptron with a history of errors. "
                f"Got {type(estimator).__name__} without one instead. Use fit, which measures them."
            )
        display = cls(
            history["epoch"],
            history["training_error"],
            history["validation_error"],
            history["running_error"],
            in_words(machine.stop_reason_.rule),
        )
        display.title = machine_title(machine, estimator)
        if machine.best_error_ is not None:
            display.result = float(machine.best_error_)
            least = estimator.error_lower_bound_
            display.least = float(least[machine.label] if isinstance(least, dict) else least)
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        from matplotlib.ticker import MaxNLocator

        self.ax_ = ax = axes(ax, figsize=(7.0, 4.2))
        pocket = not np.isnan(self.result)
        mine = "pocket, training" if pocket else "training error"
        self.running_ = self._curve(ax, self.running, "running weights, training", RUNNING)
        self.training_ = self._curve(ax, self.training, mine, TRAINING)
        self.validation_ = self._curve(ax, self.validation, "validation error", VALIDATION)
        last = int(self.epochs[-1])
        self.result_: Any = None
        self.least_: Any = None
        if pocket:
            self.result_ = ax.scatter(
                [last],
                [self.result],
                s=110,
                marker="*",
                color=BLACK,
                zorder=4,
                clip_on=False,
                label=f"result: {self.result:.4g}",
            )
        if self.least > 0:
            label = f"no plane is below {self.least:.4g}\n(proven)"
            self.least_ = ax.axhline(self.least, color=COLOURS[2], lw=1.4, ls=":", label=label)
        said = textwrap.fill(self.reason, WIDTH)
        label = f"stopped after epoch {last:,}:\n{said}"
        self.stop_ = ax.axvline(last, color=BLACK, lw=1.2, ls="--", zorder=1, label=label)
        shown = np.concatenate([self.training, self.validation, self.running, [self.result]])
        ax.set_ylim(0.0, min(1.02, 1.1 * float(shown[~np.isnan(shown)].max(initial=0.02))))
        first = int(self.epochs[0])
        if last > LONG * first:
            ax.set_xscale("log")
            ax.set_xlim(first * 0.9, last * 1.2)
        else:
            ax.set_xlim(first - 0.02 * (last - first) - 0.5, last + 0.02 * (last - first) + 0.5)
            ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
        ax.set_xlabel("epoch")
        ax.set_ylabel("share of rows misclassified")
        ax.set_title(self.title)
        ax.grid(alpha=0.25)
        legend(ax)
        return self

    def _curve(self, ax: Axes, values: np.ndarray, label: str, how: dict[str, Any]) -> Any:
        known = ~np.isnan(values)
        if not np.any(known):
            return None
        marker = how["marker"] if np.count_nonzero(known) <= FEW else ""
        look = {**how, "marker": marker}
        (line,) = ax.plot(self.epochs[known], values[known], ms=4, clip_on=False, label=label, **look)
        return line


def in_words(rule: str) -> str:
    """The name of a rule, or of several that fired together, in words."""
    return ", and ".join(WORDS.get(part, part.replace("_", " ")) for part in rule.split(" & "))
