"""Learning as it went: the error after each epoch, and the moment and reason of stopping."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.plots.machine import find_machine, machine_title
from maxmargin.plots.style import (
    BLACK,
    COLOURS,
    CURVE_KEY_LETTERS,
    CURVE_SIZE,
    MAX_MARKED_EPOCHS,
    TRAINING,
    VALIDATION,
    axes,
    count_axis,
    finish_curves,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONG_RUN_EPOCHS = 500  # epochs from which their axis is logarithmic: most happens at the start
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
RUNNING_CURVE: dict[str, Any] = {"color": "#A8A8A8", "marker": "v", "lw": 0.8}


@dataclass(repr=False)
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
        machine = find_machine(estimator, label)
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
            least = getattr(estimator, "error_lower_bound_", 0.0)  # a saved model may not know it
            display.least = float(least[machine.label] if isinstance(least, dict) else least)
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        self.ax_ = ax = axes(ax, figsize=CURVE_SIZE)
        pocket = not np.isnan(self.result)
        mine = "pocket, training" if pocket else "training error"
        self.running_ = self._curve(ax, self.running, "running weights, training", RUNNING_CURVE)
        self.training_ = self._curve(ax, self.training, mine, TRAINING)
        self.validation_ = self._curve(ax, self.validation, "validation error", VALIDATION)
        last = int(self.epochs[-1])
        self.result_: Any = None
        self.least_: Any = None
        if pocket:
            look: dict[str, Any] = {"s": 110, "marker": "*", "color": BLACK, "zorder": 4}
            self.result_ = ax.scatter([last], [self.result], clip_on=False, **look)
            self.result_.set_label(f"result: {self.result:.4g}")
        if self.least > 0:
            label = f"no plane is below {self.least:.4g}\n(proven)"
            self.least_ = ax.axhline(self.least, color=COLOURS[2], lw=1.4, ls=":", label=label)
        said = textwrap.fill(self.reason, CURVE_KEY_LETTERS)
        label = f"stopped after epoch {last:,}:\n{said}"
        self.stop_ = ax.axvline(last, color=BLACK, lw=1.2, ls="--", zorder=1, label=label)
        shown = np.concatenate([self.training, self.validation, self.running, [self.result]])
        ax.set_ylim(0.0, min(1.02, 1.1 * float(shown[~np.isnan(shown)].max(initial=0.02))))
        first = int(self.epochs[0])
        if last > LONG_RUN_EPOCHS * first:
            ax.set_xscale("log")
            ax.set_xlim(first * 0.9, last * 1.2)
        else:
            ax.set_xlim(first - 0.02 * (last - first) - 0.5, last + 0.02 * (last - first) + 0.5)
            count_axis(ax.xaxis)
        ax.set_ylabel("share of rows misclassified")
        finish_curves(ax, self.title, "epoch")
        return self

    def _curve(self, ax: Axes, values: np.ndarray, label: str, how: dict[str, Any]) -> Any:
        known = ~np.isnan(values)
        if not np.any(known):
            return None
        marker = how["marker"] if np.count_nonzero(known) <= MAX_MARKED_EPOCHS else ""
        look = {**how, "marker": marker}
        (line,) = ax.plot(self.epochs[known], values[known], ms=4, clip_on=False, label=label, **look)
        return line


def in_words(rule: str) -> str:
    """The name of a rule, or of several that fired together, in words."""
    return ", and ".join(WORDS.get(part, part.replace("_", " ")) for part in rule.split(" & "))
