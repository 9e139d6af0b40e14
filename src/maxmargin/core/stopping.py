"""When to stop: small named rules that can be combined.

>>> from maxmargin.stopping import MaxSeconds, ValidationErrorStalls
>>> rule = ValidationErrorStalls(patience=3) | MaxSeconds(60)
>>> print(rule)
ValidationErrorStalls(patience=3, tol=0.0, fraction=0.1) | MaxSeconds(seconds=60)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.core.params import check_count, check_number
from maxmargin.core.rules import Check, Progress, StoppingRule, StopReason

__all__ = [
    "AllCorrect",
    "Cycle",
    "MaxEpochs",
    "MaxSeconds",
    "MaxUpdates",
    "NeverStops",
    "Progress",
    "StopReason",
    "StoppingRule",
    "TrainingErrorStalls",
    "ValidationErrorStalls",
    "WeightsSettle",
]


def _otherwise(p: Progress) -> str:
    """What to use if the classes overlap."""
    return "use a soft margin" if p.pocket else "use PocketPerceptron or a soft margin"


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


@dataclass(frozen=True)
class AllCorrect(StoppingRule):
    """Every training row has y·f(x) > δ: the perceptron would never change again."""

    def watch(self) -> Check:
        """Start watching one run."""

        def check(p: Progress) -> StopReason | None:
            if not p.all_correct:
                return None
            beyond = f" (y·f(x) > {p.threshold:g})" if p.threshold else ""
            text = (
                f"All training points are correct{beyond} after {_count(p.updates, 'update')} "
                f"in {_count(p.epoch, 'epoch')}: the classes are separated."
            )
            return StopReason("all_correct", text, solved=True)

        return check


@dataclass(frozen=True)
class MaxEpochs(StoppingRule):
    """A budget of passes over the training rows."""

    epochs: int

    def __post_init__(self) -> None:
        check_count("MaxEpochs.epochs", self.epochs)

    def watch(self) -> Check:
        """Start watching one run."""

        def check(p: Progress) -> StopReason | None:
            if p.epoch < self.epochs:
                return None
            text = (
                f"The budget of {_count(self.epochs, 'epoch')} ended with "
                f"{_count(p.mistakes, 'mistake')} in the last one. Allow more epochs (max_iter), "
                f"or {_otherwise(p)} if the classes overlap."
            )
            return StopReason("max_epochs", text)

        return check


@dataclass(frozen=True)
class MaxUpdates(StoppingRule):
    """A budget of updates, kept exactly: the run ends within an epoch if need be."""

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
                f"The budget of {_count(self.updates, 'update')} ended before all points were correct. "
                f"Allow more updates, or {_otherwise(p)} if the classes overlap."
            )
            return StopReason("max_updates", text)

        return check


@dataclass(frozen=True)
class MaxSeconds(StoppingRule):
    """A budget of wall-clock time, looked at several times a second."""

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
                f"{_count(p.mistakes, 'mistake')} in it. Allow more time, or {_otherwise(p)} "
                "if the classes overlap."
            )
            return StopReason("max_seconds", text)

        return check


def _stalls(name: str, what: str, patience: int, tol: float, advice: str) -> Check:
    """Fire when an error has not fallen by more than ``tol`` for ``patience`` epochs."""
    best, waited = math.inf, 0

    def check(p: Progress) -> StopReason | None:
        nonlocal best, waited
        error = p.training_error if what == "training" else p.validation_error
        if error is None or math.isnan(error):
            return None
        if error < best - tol:
            best, waited = error, 0
            return None
        best, waited = min(best, error), waited + 1
        if waited < patience:
            return None
        remedy = "The pocket holds the best weights seen." if p.pocket and what == "training" else advice
        text = (
            f"The {what} error has not fallen by more than {tol:g} for {patience} epochs: it is "
            f"{error:.4g} in epoch {p.epoch}, and {best:.4g} was the best. {remedy}"
        )
        return StopReason(name, text)

    return check


@dataclass(frozen=True)
class TrainingErrorStalls(StoppingRule):
    """The training error E_in has not fallen by more than ``tol`` for ``patience`` epochs."""

    patience: int = 5
    tol: float = 0.0
    needs: ClassVar[frozenset[str]] = frozenset({"training_error"})

    def __post_init__(self) -> None:
        check_count("TrainingErrorStalls.patience", self.patience)
        check_number("TrainingErrorStalls.tol", self.tol, least=0)

    def watch(self) -> Check:
        """Start watching one run."""
        advice = "PocketPerceptron keeps the best weights seen instead of the last."
        return _stalls("training_error_stalls", "training", self.patience, self.tol, advice)


@dataclass(frozen=True)
class ValidationErrorStalls(StoppingRule):
    """The validation error has not fallen by more than ``tol`` for ``patience`` epochs.

    The rows are ``X_val``, ``y_val`` given to ``fit``; without them a stratified ``fraction`` of the
    training rows is held out and not trained on.
    """

    patience: int = 5
    tol: float = 0.0
    fraction: float = 0.1
    needs: ClassVar[frozenset[str]] = frozenset({"validation_error"})

    def __post_init__(self) -> None:
        check_count("ValidationErrorStalls.patience", self.patience)
        check_number("ValidationErrorStalls.tol", self.tol, least=0)
        check_number("ValidationErrorStalls.fraction", self.fraction, above=0, below=1)

    def validation_fraction(self) -> float | None:
        """Share of rows to hold out if the user gave no validation set."""
        return self.fraction

    def watch(self) -> Check:
        """Start watching one run."""
        advice = "More epochs would fit the training rows, not the new ones."
        return _stalls("validation_error_stalls", "validation", self.patience, self.tol, advice)


@dataclass(frozen=True)
class WeightsSettle(StoppingRule):
    """An epoch moved the weights by at most ``tol`` times their length: ‖z − z'‖ ≤ tol ‖z‖."""

    tol: float = 1e-3

    def __post_init__(self) -> None:
        check_number("WeightsSettle.tol", self.tol, above=0)

    def watch(self) -> Check:
        """Start watching one run."""

        def check(p: Progress) -> StopReason | None:
            moved = float(np.linalg.norm(p.weights - p.before))
            length = float(np.linalg.norm(p.weights))
            if moved > self.tol * length:
                return None
            text = (
                f"Epoch {p.epoch} moved the weights by {moved:.3g}, at most {self.tol:g} of their "
                f"length {length:.3g}, with {_count(p.mistakes, 'mistake')} in it. "
                "A smaller tol goes on longer."
            )
            return StopReason("weights_settle", text)

        return check


@dataclass(frozen=True)
class Cycle(StoppingRule):
    """The weights came back exactly to an earlier value: the run provably never ends.

    With rows in a fixed order an epoch is a function of the weights alone, so one repetition means
    repetition for ever. One earlier value is kept and moved on at epochs 1, 2, 4, 8, … (Brent 1980),
    which finds a cycle of any length with the memory of one weight vector.
    """

    def watch(self) -> Check:
        """Start watching one run."""
        kept: bytes = b""
        since, horizon = 0, 1

        def check(p: Progress) -> StopReason | None:
            nonlocal kept, since, horizon
            if not p.repeats or p.mistakes == 0:
                return None
            kept = kept or p.before.tobytes()
            since += 1
            now = p.weights.tobytes()
            if now == kept:
                text = (
                    f"The weights after epoch {p.epoch} are exactly those after epoch "
                    f"{p.epoch - since}, so the run would repeat for ever. Unless the weights have "
                    "outgrown the precision of doubles, this proves that no plane separates the "
                    f"classes: {_otherwise(p)}."
                )
                return StopReason("cycle", text)
            if since == horizon:
                kept, since, horizon = now, 0, 2 * horizon
            return None

        return check


@dataclass(frozen=True)
class NeverStops(StoppingRule):
    """Exact arithmetic proves that no plane separates the classes: the run would never end.

    After ``patience`` epochs with mistakes the verdict of :func:`maxmargin.separability` is asked for,
    once. If the classes are separable, the run goes on; otherwise it ends, and ``stop_reason_.verdict``
    holds the verdict with its witness and proof.
    """

    patience: int = 5

    def __post_init__(self) -> None:
        check_count("NeverStops.patience", self.patience)

    def watch(self) -> Check:
        """Start watching one run."""
        waited = 0
        proven: StopReason | None = None

        def check(p: Progress) -> StopReason | None:
            nonlocal waited, proven
            waited += p.mistakes > 0
            if waited != self.patience or p.mistakes == 0 or p.verdict is None:
                return proven
            verdict = p.verdict()
            if verdict.separable:
                return None
            text = (
                f"No plane separates the classes ({verdict.kind}): {verdict.witness}. The run would "
                f"never end: {_otherwise(p)}."
            )
            proven = StopReason("never_stops", text, verdict=verdict)
            return proven

        return check
