"""The perceptron's mistakes as it made them, under the bound R²/γ²."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import _safe_indexing

from maxmargin.core.errors import InputError
from maxmargin.estimators.mistake_bound import mistake_bound
from maxmargin.plots.machine import find_machine, machine_title, rows_of
from maxmargin.plots.style import (
    COLOURS,
    CURVE_KEY_LETTERS,
    CURVE_SIZE,
    MAX_MARKED_EPOCHS,
    axes,
    count_axis,
    finish_curves,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The bound on the mistakes of one run, or the reason why it has none.
#
# The bound R²/γ² is Novikoff's (1962); its proof is in :mod:`maxmargin.estimators.mistake_bound`.
# Whether there is a γ > 0 at all is decided exactly where floating point finds none.

MAX_SECONDS = 10.0  # for the exact verdict
REASONS = {
    "separable": "separable (proven), but R²/γ² is beyond doubles",
    "touching": "not separable, the classes touch (proven)",
    "overlapping": "not separable, the classes overlap (proven)",
    "undecided": "no separating plane was found, and there was no time to prove that there is none",
}


def run_bound(estimator: Any, machine: Any, X: Any, signs: np.ndarray) -> tuple[float, str]:
    """The bound on the mistakes and what it is; or inf and why there is none."""
    start = None if machine.trace_ is None else machine.trace_.start
    if estimator.class_weight is not None:
        return math.inf, "class weights scale the steps"
    if (start is not None and np.any(start)) or (start is None and estimator.warm_start):
        return math.inf, "the start was not zero"
    intercept, name = estimator.fit_intercept, "R²/γ²"
    options = {"fit_intercept": intercept, "normalize": estimator.normalize}
    found = mistake_bound(X, signs, **options, max_seconds=MAX_SECONDS)
    if not math.isfinite(found.bound):
        return math.inf, REASONS[found.kind]
    threshold = float(getattr(estimator, "threshold", 0.0))
    if threshold == 0.0:
        return found.bound, f"bound {name}"
    # ‖z‖² grows by at most η²R² + 2ηδ with each mistake.
    longest = found.R**2 + 2.0 * threshold / float(estimator.eta0)
    return longest / found.gamma**2, f"bound {name.replace('R²', '(R² + 2δ/η)')}"


LOG_AXIS_RATIO = 20.0  # times above the mistakes at which the bound needs a logarithmic axis
MAX_DRAWN_CORNERS = 4_000  # of the stairs, at most: more cannot be seen


@dataclass(repr=False)
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
        The bound, if there is one; if not, the key says why: the exact verdict on the data, that it is
        too large for one, or how the run was made.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.plots.mistakes import MistakesDisplay
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
        machine = find_machine(estimator, label)
        labels = np.asarray(y)
        members, signs = rows_of(machine, estimator, labels)
        part = X if len(members) == len(labels) else _safe_indexing(X, members)
        if machine.trace_ is None and not len(machine.history_):
            raise InputError(
                "estimator must have a history or a trace of its mistakes. Got one that learned from a "
                "stream instead. Use record=True, or fit."
            )
        if machine.trace_ is None:
            unit, history = "epochs", machine.history_
            steps, made = np.append(0, history["epoch"]), np.append(0, np.cumsum(history["mistakes"]))
        else:
            unit, (steps, made) = "rows looked at", _by_update(machine, len(members))
        bound, meaning = run_bound(estimator, machine, part, signs)
        name = machine_title(machine, estimator)
        return cls(steps, made, bound, meaning, unit, name).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        self.ax_ = ax = axes(ax, figsize=CURVE_SIZE)
        total = int(self.mistakes[-1])
        far = math.isfinite(self.bound) and self.bound > LOG_AXIS_RATIO * max(total, 1)
        first = 1 if far and total > 0 else 0  # no mistakes have no logarithm
        some = np.unique(np.linspace(first, len(self.steps) - 1, MAX_DRAWN_CORNERS).astype(int))
        epochs = self.unit == "epochs"
        look: dict[str, Any] = {"color": COLOURS[0], "lw": 1.8, "ms": 4}
        look["marker"] = "o" if epochs and len(self.steps) <= MAX_MARKED_EPOCHS else ""
        look["drawstyle"] = "default" if epochs else "steps-post"
        (self.mistakes_,) = ax.plot(self.steps[some], self.mistakes[some], **look)
        self.mistakes_.set_label(f"mistakes: {total:,}")
        self.bound_: Any = None
        if math.isfinite(self.bound):
            label = f"{textwrap.fill(self.meaning, CURVE_KEY_LETTERS)}:\nat most {_count(self.bound)}"
            self.bound_ = ax.axhline(self.bound, color=COLOURS[1], lw=1.8, ls="--", label=label)
        else:
            ax.plot([], [], " ", label=textwrap.fill(f"no bound: {self.meaning}", CURVE_KEY_LETTERS))
        if far:
            ax.set_yscale("log")
            ax.set_ylim(0.8, self.bound * (self.bound / 0.8) ** 0.06)
        else:
            top = max(total, self.bound if math.isfinite(self.bound) else 0.0, 1.0)
            ax.set_ylim(0.0, 1.08 * top)
            count_axis(ax.yaxis, 10)
        ax.set_xlim(0, max(1.02 * float(self.steps[-1]), 1.0))
        count_axis(ax.xaxis)
        ax.set_ylabel("mistakes so far")
        finish_curves(ax, self.title, self.unit)
        return self


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


def _count(bound: float) -> str:
    """Mistakes are whole: a bound of 221.8 allows 221."""
    return f"{math.floor(bound):,}" if bound < 1e7 else f"{bound:.3g}"
