"""Budgets of epochs, updates and seconds."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.core.params import check_count, check_number
from maxmargin.core.phrases import count
from maxmargin.core.rules import Check, Progress, StoppingRule, StopReason, otherwise

__all__ = ["MaxEpochs", "MaxSeconds", "MaxUpdates"]


@dataclass(frozen=True)
class MaxEpochs(StoppingRule):
    """A budget of passes over the training rows.

    Examples
    --------
    >>> import warnings
    >>> import maxmargin as mm
    >>> from maxmargin.stopping import MaxEpochs
    >>> marks = mm.datasets.load("exam-marks")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", mm.BudgetWarning)
    ...     model = mm.Perceptron(stop=MaxEpochs(3)).fit(marks.X, marks.y)
    >>> model.n_iter_, model.stop_reason_.rule
    (3, 'max_epochs')
    """

    epochs: int

    def __post_init__(self) -> None:
        check_count("MaxEpochs.epochs", self.epochs)

    def watch(self) -> Check:
        """Start watching one run."""

        def check(p: Progress) -> StopReason | None:
            if p.epoch < self.epochs:
                return None
            text = (
                f"The budget of {count(self.epochs, 'epoch')} ended with "
                f"{count(p.mistakes, 'mistake')} in the last one. Allow more epochs (max_iter), "
                f"or {otherwise(p)} if the classes overlap."
            )
            return StopReason("max_epochs", text)

        return check


@dataclass(frozen=True)
class MaxUpdates(StoppingRule):
    """A budget of updates, kept exactly: the run ends within an epoch if need be.

    Examples
    --------
    >>> import warnings
    >>> import maxmargin as mm
    >>> from maxmargin.stopping import MaxUpdates
    >>> marks = mm.datasets.load("exam-marks")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", mm.BudgetWarning)
    ...     model = mm.Perceptron(stop=MaxUpdates(7)).fit(marks.X, marks.y)
    >>> model.n_mistakes_, model.stop_reason_.rule
    (7, 'max_updates')
    """

    updates: int

    def __post_init__(self) -> None:
        check_count("MaxUpdates.updates", self.updates)

    def max_updates(self) -> float:
        """Updates after which this rule ends the run even within an epoch."""
        return self.updates

    def watch(self) -> Check:
        """Start watching one run."""

        def check(p: Progress) -> StopReason | None:
            if p.updates < self.updates:
                return None
            text = (
                f"The budget of {count(self.updates, 'update')} ended before all points were correct. "
                f"Allow more updates, or {otherwise(p)} if the classes overlap."
            )
            return StopReason("max_updates", text)

        return check


@dataclass(frozen=True)
class MaxSeconds(StoppingRule):
    """A budget of wall-clock time, looked at several times a second.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.stopping import MaxSeconds
    >>> X, y = [[90, 80], [40, 30], [50, 40]], [1, -1, -1]
    >>> mm.Perceptron(stop=MaxSeconds(60), max_iter=None).fit(X, y).stop_reason_.rule
    'all_correct'
    """

    seconds: float

    def __post_init__(self) -> None:
        check_number("MaxSeconds.seconds", self.seconds, above=0)

    def max_seconds(self) -> float:
        """Seconds after which this rule ends the run even within an epoch."""
        return self.seconds

    def watch(self) -> Check:
        """Start watching one run."""

        def check(p: Progress) -> StopReason | None:
            if p.seconds < self.seconds:
                return None
            text = (
                f"The budget of {self.seconds:g} seconds ended in epoch {p.epoch} with "
                f"{count(p.mistakes, 'mistake')} in it. Allow more time, or {otherwise(p)} "
                "if the classes overlap."
            )
            return StopReason("max_seconds", text)

        return check
