"""When to stop: small named rules, combined with ``|`` (any of them) and ``&`` (all of them).

>>> from maxmargin.stopping import MaxSeconds, ValidationErrorStalls
>>> rule = ValidationErrorStalls(patience=3) | MaxSeconds(60)
>>> print(rule)
ValidationErrorStalls(patience=3, tol=0.0, fraction=0.1) | MaxSeconds(seconds=60)

A rule is a frozen value; ``watch()`` starts it for one run and returns its *watcher*, which is called
after every epoch with the run's :class:`Progress` and answers with a :class:`StopReason` or None. A
watcher that remembers something between epochs is a dataclass, and its fields are what it remembers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin.core.errors import Message, Remedy, plural
from maxmargin.core.parameters import check_count, check_number

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
    period: int = 0  # epochs after which the weights are the same again, bit for bit; 0 if they are not
    threshold: float = 0.0
    pocket: bool = False  # the best weights are kept, not the last
    verdict: Callable[[], Any] | None = None  # asks whether the training rows are separable


Check = Callable[[Progress], StopReason | None]


def overlap_remedy(p: Progress, condition: str = " if the classes overlap") -> Remedy:
    """Return the advice for classes that overlap."""
    models = ("SoftMarginSVC",) if p.pocket else ("PocketPerceptron", "SoftMarginSVC")
    return Remedy(f"use {{}}{condition}", "model", models)


class StoppingRule:
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

    def watch(self) -> Check:
        """Start watching one run; a rule that remembers nothing between epochs is its own watcher."""
        return self.check

    def check(self, p: Progress) -> StopReason | None:
        """Return a reason to stop after this epoch, if there is one."""
        raise NotImplementedError(f"{type(self).__name__} must have a method watch or check")

    def unasked(self, epoch: int) -> float:
        """Epochs from this one on that may pass without a question to the rule.

        They end early after one without a mistake, when weights repeat, and when no updates are left.
        """
        return 1

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

    sign: ClassVar[str]

    def watch(self) -> Check:
        return _Together(self, [rule.watch() for rule in self.rules])

    def join(self, reasons: list[StopReason | None]) -> StopReason | None:
        """Return the reason that follows from those of the rules."""
        raise NotImplementedError

    def _budget(self, budgets: list[float]) -> float:
        """Return the budget that follows from those of the rules."""
        raise NotImplementedError

    def unasked(self, epoch: int) -> float:
        return min(rule.unasked(epoch) for rule in self.rules)

    def reads_training_error(self) -> bool:
        return any(rule.reads_training_error() for rule in self.rules)

    def max_updates(self) -> float:
        return self._budget([rule.max_updates() for rule in self.rules])

    def max_seconds(self) -> float:
        return self._budget([rule.max_seconds() for rule in self.rules])

    def validation_fraction(self) -> float | None:
        fractions = [rule.validation_fraction() for rule in self.rules]
        return next((f for f in fractions if f is not None), None)

    def __str__(self) -> str:
        return self.sign.join(map(str, self.rules))


def _parts(rule: StoppingRule, kind: type[_Combined]) -> tuple[StoppingRule, ...]:
    return rule.rules if isinstance(rule, kind) else (rule,)


class AnyOf(_Combined):
    """Rules of which any ends the run."""

    sign = " | "

    def _budget(self, budgets: list[float]) -> float:
        return min(budgets)

    def join(self, reasons: list[StopReason | None]) -> StopReason | None:
        """Return the first reason."""
        for reason in reasons:
            if reason is not None:
                return reason
        return None


class AllOf(_Combined):
    """Rules that end the run together."""

    sign = " & "

    def _budget(self, budgets: list[float]) -> float:
        return max(budgets)

    def join(self, reasons: list[StopReason | None]) -> StopReason | None:
        """Return all reasons as one, if every rule has one."""
        given = [reason for reason in reasons if reason is not None]
        if len(given) < len(reasons):
            return None
        name = " & ".join(reason.rule for reason in given)
        texts = [Message.of(reason.sentence) for reason in given]
        remedies = dict.fromkeys(remedy for text in texts for remedy in text.remedies)
        sentence = Message(" And: ".join(text.facts for text in texts), *remedies)
        verdict = next((reason.verdict for reason in given if reason.verdict is not None), None)
        return StopReason(name, sentence, any(reason.solved for reason in given), verdict)

    def __str__(self) -> str:
        return f"({super().__str__()})"


@dataclass
class _Together:
    """The watchers of rules that were combined; all of them see every epoch."""

    rule: _Combined
    watchers: list[Check]

    def __call__(self, p: Progress) -> StopReason | None:
        return self.rule.join([watcher(p) for watcher in self.watchers])


def remembered(watcher: Check) -> list[Any]:
    """Return what a watcher remembers of its run so far."""
    if isinstance(watcher, _Together):
        return [remembered(one) for one in watcher.watchers]
    return [getattr(watcher, name) for name in _memory(watcher)]


def remind(watcher: Check, memory: list[Any]) -> None:
    """Let a watcher remember what :func:`remembered` returned."""
    if isinstance(watcher, _Together):
        for one, part in zip(watcher.watchers, memory, strict=True):
            remind(one, part)
    for name, value in zip(_memory(watcher), memory, strict=False):
        setattr(watcher, name, value)


def _memory(watcher: Check) -> list[str]:
    """The fields of a watcher but for its rule; a rule without memory watches by a method of its own."""
    if isinstance(watcher, _Together) or not is_dataclass(watcher):
        return []
    return [f.name for f in fields(watcher) if f.name != "rule"]


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

    def check(self, p: Progress) -> StopReason | None:
        """Return a reason to stop after this epoch, if there is one."""
        if not p.all_correct:
            return None
        beyond = f" (y·f(x) > {p.threshold:g})" if p.threshold else ""
        text = (
            f"All training points are correct{beyond} after {plural(p.updates, 'update')} "
            f"in {plural(p.epoch, 'epoch')}: the classes are separated."
        )
        return StopReason("all_correct", text, solved=True)

    def unasked(self, epoch: int) -> float:
        """Epochs that may pass without a question."""
        return math.inf


@dataclass(frozen=True)
class Cycle(StoppingRule):
    """The weights came back exactly to an earlier value: the run provably never ends.

    With rows in a fixed order an epoch is a function of the weights alone, so one repetition means
    repetition for ever.

    Examples
    --------
    >>> import maxmargin as mm
    >>> xor = mm.datasets.load("xor")
    >>> mm.Perceptron().fit(xor.X, xor.y).stop_reason_.rule
    'cycle'
    """

    def check(self, p: Progress) -> StopReason | None:
        """Return a reason to stop after this epoch, if there is one."""
        if not p.period:
            return None
        text = Message(
            f"The weights after epoch {p.epoch} are exactly those after epoch {p.epoch - p.period}, so "
            "the run would repeat for ever. Unless the weights have outgrown the precision of doubles, "
            "this proves that no plane separates the classes.",
            overlap_remedy(p, ""),
        )
        return StopReason("cycle", text)

    def unasked(self, epoch: int) -> float:
        """Epochs that may pass without a question."""
        return math.inf


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
        return _ProofWatcher(self)


@dataclass
class _ProofWatcher:
    rule: NeverStops
    waited: int = 0  # epochs with mistakes

    def __post_init__(self) -> None:
        self.proven: StopReason | None = None
        self.asked = False  # a fit that goes on from a checkpoint asks again

    def __call__(self, p: Progress) -> StopReason | None:
        self.waited += p.mistakes > 0
        if self.waited < self.rule.patience or self.asked or p.verdict is None:
            return self.proven
        verdict, self.asked = p.verdict(), True
        if not verdict.separable:
            text = Message(
                f"No plane separates the classes ({verdict.kind}): {verdict.witness}. The run would "
                "never end.",
                overlap_remedy(p, ""),
            )
            self.proven = StopReason("never_stops", text, verdict=verdict)
        return self.proven


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

    def check(self, p: Progress) -> StopReason | None:
        """Return a reason to stop after this epoch, if there is one."""
        if p.epoch < self.epochs:
            return None
        text = Message(
            f"The budget of {plural(self.epochs, 'epoch')} ended with "
            f"{plural(p.mistakes, 'mistake')} in the last one.",
            Remedy("allow more epochs", "max_iter"),
            overlap_remedy(p),
        )
        return StopReason("max_epochs", text)

    def unasked(self, epoch: int) -> float:
        """Epochs that may pass without a question."""
        return self.epochs - epoch


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

    def check(self, p: Progress) -> StopReason | None:
        """Return a reason to stop after this epoch, if there is one."""
        if p.updates < self.updates:
            return None
        text = Message(
            f"The budget of {plural(self.updates, 'update')} ended before all points were correct.",
            Remedy("allow more updates", "max_updates"),
            overlap_remedy(p),
        )
        return StopReason("max_updates", text)

    def unasked(self, epoch: int) -> float:
        """Epochs that may pass without a question."""
        return math.inf


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

    def check(self, p: Progress) -> StopReason | None:
        """Return a reason to stop after this epoch, if there is one."""
        if p.seconds < self.seconds:
            return None
        text = Message(
            f"The budget of {self.seconds:g} seconds ended in epoch {p.epoch} with "
            f"{plural(p.mistakes, 'mistake')} in it.",
            Remedy("allow more time", "max_seconds"),
            overlap_remedy(p),
        )
        return StopReason("max_seconds", text)


@dataclass(frozen=True)
class _ErrorStalls(StoppingRule):
    patience: int = 5
    tol: float = 0.0

    which: ClassVar[str]
    advice: ClassVar[Remedy]

    def __post_init__(self) -> None:
        check_count(f"{type(self).__name__}.patience", self.patience)
        check_number(f"{type(self).__name__}.tol", self.tol, least=0)

    def watch(self) -> Check:
        """Start watching one run."""
        return _StallWatcher(self)


@dataclass
class _StallWatcher:
    rule: _ErrorStalls
    best: float = math.inf
    waited: int = 0  # epochs without a fall

    def __call__(self, p: Progress) -> StopReason | None:
        rule, training = self.rule, self.rule.which == "training"
        error = p.training_error if training else p.validation_error
        if error is None or math.isnan(error):
            return None
        if error < self.best - rule.tol:
            self.best, self.waited = error, 0
            return None
        self.best, self.waited = min(self.best, error), self.waited + 1
        if self.waited < rule.patience:
            return None
        kept = Remedy("the pocket holds the best weights seen")
        text = Message(
            f"The {rule.which} error has not fallen by more than {rule.tol:g} for {rule.patience} "
            f"epochs: it is {error:.4g} in epoch {p.epoch}, and {self.best:.4g} was the best.",
            kept if p.pocket and training else rule.advice,
        )
        return StopReason(f"{rule.which}_error_stalls", text)


@dataclass(frozen=True)
class TrainingErrorStalls(_ErrorStalls):
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

    which = "training"
    advice = Remedy("{} keeps the best weights seen instead of the last", "model", "PocketPerceptron")

    def reads_training_error(self) -> bool:
        """Whether ``Progress.training_error`` has to be measured for this rule."""
        return True


@dataclass(frozen=True)
class ValidationErrorStalls(_ErrorStalls):
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

    which = "validation"
    advice = Remedy("more epochs would fit the training rows, not the new ones")
    fraction: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("ValidationErrorStalls.fraction", self.fraction, above=0, below=1)

    def validation_fraction(self) -> float | None:
        """Share of rows to hold out if the user gave no validation set."""
        return self.fraction


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

    def check(self, p: Progress) -> StopReason | None:
        """Return a reason to stop after this epoch, if there is one."""
        moved = float(np.linalg.norm(p.weights - p.before))
        length = float(np.linalg.norm(p.weights))
        if moved > self.tol * length:
            return None
        text = (
            f"Epoch {p.epoch} moved the weights by {moved:.3g}, at most {self.tol:g} of their "
            f"length {length:.3g}, with {plural(p.mistakes, 'mistake')} in it. "
            "A smaller tol goes on longer."
        )
        return StopReason("weights_settle", text)
