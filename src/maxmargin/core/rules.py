"""What a stopping rule is, and how rules combine: ``|`` for any of them, ``&`` for all of them.

A rule is a frozen value; ``watch()`` starts it for one run and returns a function that is called after
every epoch with the run's :class:`Progress` and answers with a :class:`StopReason` or None.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

__all__ = ["AllOf", "AnyOf", "Check", "Progress", "StopReason", "StoppingRule", "otherwise"]


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
