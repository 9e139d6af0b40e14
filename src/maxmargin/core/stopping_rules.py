"""What a stopping rule is, and how rules combine: ``|`` for any of them, ``&`` for all of them.

A rule is a frozen value; ``watch()`` starts it for one run and returns a function that is called after
every epoch with the run's :class:`Progress` and answers with a :class:`StopReason` or None.

Rules that end a run because it is done, or would never be.

Budgets of epochs, updates and seconds.

Rules for runs that get no further: an error no longer falls, or the weights no longer move.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.errors import count
from maxmargin.core.parameters import check_count, check_number


@dataclass(frozen=True)
class StopReason:
    """Why a run ended: the rule's name and a sentence that says what, why and what to do.

    Examples
    --------
    >>> import maxmargin as mm
    >>> reason = mm.Perceptron().fit([[1.0], [-1.0]], [1, -1]).stop_reason_
    >>> reason.rule, reason.solved
    ('all_correct', True)
    >>> print(reason)
    All training points are correct after 2 updates in 2 epochs: the classes are separated.
    """

    rule: str
    sentence: str
    solved: bool = field(default=False, compare=False)
    verdict: Any = field(default=None, compare=False)  # the proof, if a verdict is the reason

    def __str__(self) -> str:
        return self.sentence


class Progress(NamedTuple):
    """What a run knows at the end of an epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.stopping import MaxEpochs, Progress
    >>> z = np.zeros(3)
    >>> check = MaxEpochs(2).watch()
    >>> check(Progress(1, 4, 4, False, 0.1, weights=z, before=z))
    >>> check(Progress(2, 7, 3, False, 0.2, weights=z, before=z)).rule
    'max_epochs'
    """

    epoch: int
    updates: int
    mistakes: int
    all_correct: bool
    seconds: float
    weights: np.ndarray
    before: np.ndarray
    training_error: float | None = None
    validation_error: float | None = None
    repeats: bool = True
    threshold: float = 0.0
    pocket: bool = False  # the best weights are kept, not the last
    verdict: Callable[[], Any] | None = None  # asks whether the training rows are separable


Check = Callable[[Progress], StopReason | None]


def otherwise(p: Progress) -> str:
    """What to use if the classes overlap."""
    return "use a soft margin" if p.pocket else "use PocketPerceptron or a soft margin"


class StoppingRule(ABC):
    """A rule that ends a run; see the module for how rules combine.

    Examples
    --------
    A rule of one's own: stop as soon as an epoch makes at most so many mistakes.

    >>> from dataclasses import dataclass
    >>> import maxmargin as mm
    >>> from maxmargin.stopping import StoppingRule, StopReason
    >>> @dataclass(frozen=True)
    ... class FewMistakes(StoppingRule):
    ...     most: int
    ...     def watch(self):
    ...         def check(p):
    ...             return StopReason("few", "Few mistakes.") if p.mistakes <= self.most else None
    ...         return check
    >>> marks = mm.datasets.load("exam-marks")
    >>> mm.Perceptron(stop=FewMistakes(2)).fit(marks.X, marks.y).stop_reason_.rule
    'few'
    """

    @abstractmethod
    def watch(self) -> Check:
        """Start watching one run."""

    def reads_training_error(self) -> bool:
        """Whether ``Progress.training_error`` has to be measured for this rule."""
        return False

    def max_updates(self) -> float:
        """Updates after which this rule ends the run even within an epoch."""
        return math.inf

    def max_seconds(self) -> float:
        """Seconds after which this rule ends the run even within an epoch."""
        return math.inf

    def validation_fraction(self) -> float | None:
        """Share of rows to hold out if the user gave no validation set."""
        return None

    def __or__(self, other: StoppingRule) -> StoppingRule:
        if not isinstance(other, StoppingRule):
            return NotImplemented
        return AnyOf((*_parts(self, AnyOf), *_parts(other, AnyOf)))

    def __and__(self, other: StoppingRule) -> StoppingRule:
        if not isinstance(other, StoppingRule):
            return NotImplemented
        return AllOf((*_parts(self, AllOf), *_parts(other, AllOf)))


@dataclass(frozen=True)
class _Combined(StoppingRule):
    rules: tuple[StoppingRule, ...]

    def reads_training_error(self) -> bool:
        return any(rule.reads_training_error() for rule in self.rules)

    def validation_fraction(self) -> float | None:
        fractions = [rule.validation_fraction() for rule in self.rules]
        return next((f for f in fractions if f is not None), None)


def _parts(rule: StoppingRule, kind: type[_Combined]) -> tuple[StoppingRule, ...]:
    return rule.rules if isinstance(rule, kind) else (rule,)


class AnyOf(_Combined):
    """Rules of which any ends the run."""

    def watch(self) -> Check:
        """Start watching one run."""
        checks = [rule.watch() for rule in self.rules]

        def check(p: Progress) -> StopReason | None:
            first = None
            for one in checks:  # all of them, so that each sees every epoch
                reason = one(p)
                if first is None:
                    first = reason
            return first

        return check

    def max_updates(self) -> float:
        """Updates after which this rule ends the run even within an epoch."""
        return min(rule.max_updates() for rule in self.rules)

    def max_seconds(self) -> float:
        """Seconds after which this rule ends the run even within an epoch."""
        return min(rule.max_seconds() for rule in self.rules)

    def __str__(self) -> str:
        return " | ".join(map(str, self.rules))


class AllOf(_Combined):
    """Rules that end the run together."""

    def watch(self) -> Check:
        """Start watching one run."""
        checks = [rule.watch() for rule in self.rules]

        def check(p: Progress) -> StopReason | None:
            reasons = [reason for reason in [one(p) for one in checks] if reason is not None]
            if len(reasons) < len(checks):
                return None
            name = " & ".join(reason.rule for reason in reasons)
            sentence = " And: ".join(reason.sentence for reason in reasons)
            verdict = next((reason.verdict for reason in reasons if reason.verdict is not None), None)
            return StopReason(name, sentence, any(reason.solved for reason in reasons), verdict)

        return check

    def max_updates(self) -> float:
        """Updates after which this rule ends the run even within an epoch."""
        return max(rule.max_updates() for rule in self.rules)

    def max_seconds(self) -> float:
        """Seconds after which this rule ends the run even within an epoch."""
        return max(rule.max_seconds() for rule in self.rules)

    def __str__(self) -> str:
        return "(" + " & ".join(map(str, self.rules)) + ")"


@dataclass(frozen=True)
class AllCorrect(StoppingRule):
    """Every training row has y·f(x) > δ: the perceptron would never change again.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.Perceptron(threshold=1.0).fit([[1.0, 1.0], [-1.0, -1.0]], [1, -1])
    >>> print(model.stop_reason_)
    All training points are correct (y·f(x) > 1) after 2 updates in 2 epochs: the classes are separated.
    """

    def watch(self) -> Check:
        """Start watching one run."""

        def check(p: Progress) -> StopReason | None:
            if not p.all_correct:
                return None
            beyond = f" (y·f(x) > {p.threshold:g})" if p.threshold else ""
            text = (
                f"All training points are correct{beyond} after {count(p.updates, 'update')} "
                f"in {count(p.epoch, 'epoch')}: the classes are separated."
            )
            return StopReason("all_correct", text, solved=True)

        return check


@dataclass(frozen=True)
class Cycle(StoppingRule):
    """The weights came back exactly to an earlier value: the run provably never ends.

    With rows in a fixed order an epoch is a function of the weights alone, so one repetition means
    repetition for ever. One earlier value is kept and moved on at epochs 1, 2, 4, 8, … (Brent 1980),
    which finds a cycle of any length with the memory of one weight vector.

    Examples
    --------
    >>> import maxmargin as mm
    >>> xor = mm.datasets.load("xor")
    >>> mm.Perceptron().fit(xor.X, xor.y).stop_reason_.rule
    'cycle'
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
                    f"classes: {otherwise(p)}."
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

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.stopping import NeverStops
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mm.Perceptron(stop=NeverStops(patience=2)).fit(X[50:], y[50:])
    >>> model.stop_reason_.rule, model.stop_reason_.verdict.kind
    ('never_stops', 'overlapping')
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
                f"never end: {otherwise(p)}."
            )
            proven = StopReason("never_stops", text, verdict=verdict)
            return proven

        return check


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
    """The training error E_in has not fallen by more than ``tol`` for ``patience`` epochs.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.stopping import TrainingErrorStalls
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mm.Perceptron(stop=TrainingErrorStalls(patience=3)).fit(X[50:], y[50:])
    >>> model.stop_reason_.rule
    'training_error_stalls'
    """

    patience: int = 5
    tol: float = 0.0

    def __post_init__(self) -> None:
        check_count("TrainingErrorStalls.patience", self.patience)
        check_number("TrainingErrorStalls.tol", self.tol, least=0)

    def reads_training_error(self) -> bool:
        """Whether ``Progress.training_error`` has to be measured for this rule."""
        return True

    def watch(self) -> Check:
        """Start watching one run."""
        advice = "PocketPerceptron keeps the best weights seen instead of the last."
        return _stalls("training_error_stalls", "training", self.patience, self.tol, advice)


@dataclass(frozen=True)
class ValidationErrorStalls(StoppingRule):
    """The validation error has not fallen by more than ``tol`` for ``patience`` epochs.

    The rows are ``X_val``, ``y_val`` given to ``fit``; without them a stratified ``fraction`` of the
    training rows is held out and not trained on.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.stopping import ValidationErrorStalls
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mm.Perceptron(stop=ValidationErrorStalls(patience=3), random_state=0)
    >>> model.fit(X[50:], y[50:]).stop_reason_.rule
    'validation_error_stalls'
    """

    patience: int = 5
    tol: float = 0.0
    fraction: float = 0.1

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
    """An epoch moved the weights by at most ``tol`` times their length: ‖z − z'‖ ≤ tol ‖z‖.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from maxmargin.stopping import WeightsSettle
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mm.Perceptron(stop=WeightsSettle(tol=0.1)).fit(X[50:], y[50:])
    >>> model.stop_reason_.rule
    'weights_settle'
    """

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
                f"length {length:.3g}, with {count(p.mistakes, 'mistake')} in it. "
                "A smaller tol goes on longer."
            )
            return StopReason("weights_settle", text)

        return check
