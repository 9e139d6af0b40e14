"""Errors and warnings, in one voice: what is allowed, what was given, what to do.

MaxMarginError
├── InputError (also a ValueError)          a parameter or the data is not usable as given
├── NotSeparableError (also a ValueError)   no plane separates the classes; carries the verdict
├── BudgetError (also a RuntimeError)       the time ended before there was an answer; likewise
└── ClusterError (also a RuntimeError)      partitions of the data could not be reached or computed
ConvergenceWarning (scikit-learn's)
└── BudgetWarning                           a budget ended before the work was done

What can be done about it is kept as data (:class:`Remedy`): Python prints the keyword, the command line
its option, the lab the name on its page. Warnings point at the line of the caller.

And the reason that no plane separates two classes, which such an error carries: :class:`Witness`, two
convex combinations that are the same point.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning


class Remedy(NamedTuple):
    """Something to do, and the parameter and the value that do it.

    The parameter stands where the action has ``{}``, else behind it in brackets. A tuple holds values to
    choose from, ``...`` any; the values of "model" are names of estimators.
    """

    action: str
    parameter: str = ""
    value: Any = None

    @property
    def values(self) -> tuple[Any, ...]:
        """The values to choose from."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    def worded(self, name: str) -> str:
        """Return the action with the parameter as ``name`` writes it."""
        if "{}" in self.action:
            return self.action.format(name)
        return f"{self.action} ({name})" if name else self.action


def in_python(remedy: Remedy) -> str:
    """Return how Python writes a parameter and its value: ``drop=[…]``."""
    if remedy.parameter == "model":
        return " or ".join(remedy.values)
    if remedy.value is None:
        return remedy.parameter
    shown = (repr(value).replace("Ellipsis", "…") for value in remedy.values)
    return f"{remedy.parameter}={' or '.join(shown)}"


class Message(str):
    """What happened and what can be done about it: a text in Python's words that can be worded anew."""

    facts: str
    remedies: tuple[Remedy, ...]

    def __new__(cls, facts: str, *remedies: Remedy) -> Message:
        """Return the text in Python's words."""
        made = super().__new__(cls, _with_remedies(facts, remedies, in_python))
        made.facts, made.remedies = facts, remedies
        return made

    @classmethod
    def of(cls, text: str) -> Message:
        """Return a text as a message: itself if it is one."""
        return text if isinstance(text, Message) else cls(text)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.facts, *self.remedies

    def worded(self, name: Callable[[Remedy], str | None]) -> str:
        """Return the text with parameters as ``name`` writes them; None leaves a remedy out."""
        return _with_remedies(self.facts, self.remedies, name)


def _with_remedies(facts: str, remedies: Sequence[Remedy], name: Callable[[Remedy], str | None]) -> str:
    actions = []
    for remedy in remedies:
        shown = name(remedy)
        if shown is not None:
            actions.append(remedy.worded(shown))
    if not actions:
        return facts
    advice = ", or ".join(filter(None, (", ".join(actions[:-1]), actions[-1])))
    return f"{facts} {advice[0].upper()}{advice[1:]}."


class MaxMarginError(Exception):
    """Base of every error this package raises on purpose: a message, and remedies as data.

    Examples
    --------
    >>> import maxmargin as mm
    >>> try:
    ...     mm.SoftMarginSVC(C=-1.0).fit([[0.0], [1.0]], [0, 1])
    ... except mm.MaxMarginError as error:
    ...     print(type(error).__name__)
    InputError
    """

    def __init__(self, facts: str, *remedies: Remedy) -> None:
        super().__init__(Message(facts, *remedies) if remedies else facts)

    @property
    def message(self) -> Message:
        """The text with its remedies as data."""
        return Message.of(self.args[0])

    def retold(self, tell: Callable[[str], str]) -> MaxMarginError:
        """Return the same error with other facts, such as a file named before them."""
        return type(self)(tell(self.message.facts), *self.message.remedies)


class InputError(MaxMarginError, ValueError):
    """A parameter or the data cannot be used as given; the message says what can.

    Examples
    --------
    >>> import maxmargin as mm
    >>> try:
    ...     mm.Perceptron(order="backwards").fit([[0.0], [1.0]], [0, 1])
    ... except mm.InputError as error:
    ...     print(error)
    order must be one of 'cyclic', 'shuffled', 'random'. Got 'backwards' instead.
    """


class ClusterError(MaxMarginError, RuntimeError):
    """Partitions of the data could not be reached, or not computed; the message says why.

    Examples
    --------
    A fit on Dask collections raises it if partitions cannot be computed. It can be caught as what it is:

    >>> import maxmargin as mm
    >>> issubclass(mm.ClusterError, RuntimeError), issubclass(mm.ClusterError, mm.MaxMarginError)
    (True, True)
    """


@dataclass(frozen=True)
class Witness:
    """Rows of both classes whose weighted means are the same point, exactly.

    If w·x + b were positive on one class and negative on the other, it would be both at the common
    point. Through the origin (``fit_intercept=False``) it is not the means that are equal but the
    weighted sums, and all weights together add to one.

    Attributes
    ----------
    positive, negative : array of int
        Training rows of the class that counts as +1, and of the other side: at most d + 2 in all.
    positive_weights, negative_weights : arrays of Fraction
        Their weights: > 0, and 1 in sum for each class (through the origin: for both together).
    point : array
        The common point, rounded to doubles.

    Examples
    --------
    The middle point is halfway between the others:

    >>> import maxmargin as mm
    >>> witness = mm.separability([[0.0], [1.0], [2.0]], [0, 1, 0]).witness
    >>> witness.negative.tolist(), witness.negative_weights.tolist(), witness.point.tolist()
    ([0, 2], [Fraction(1, 2), Fraction(1, 2)], [1.0])
    """

    positive: np.ndarray
    positive_weights: np.ndarray
    negative: np.ndarray
    negative_weights: np.ndarray
    point: np.ndarray
    means: bool = True  # False through the origin

    @property
    def rows(self) -> np.ndarray:
        """All rows, sorted."""
        return np.sort(np.concatenate([self.positive, self.negative]))

    def __str__(self) -> str:
        ours, others = len(self.positive), len(self.negative)
        if not self.means:
            if not ours or not others:
                return f"the weighted sum of {plural(ours + others, 'row')} is zero, exactly"
            return f"the weighted sums of {ours} and {others} rows of the two classes are equal, exactly"
        return (
            f"{plural(ours, 'row')} of the one class and {others} of the other have weighted means that "
            "are the same point, exactly"
        )


class _UnsolvedError(MaxMarginError):
    """An error that carries verdicts."""

    def __init__(self, facts: str, verdicts: Mapping[Hashable, Any], *remedies: Remedy) -> None:
        super().__init__(facts, *remedies)
        self.verdicts = dict(verdicts)
        self.verdict = next(iter(self.verdicts.values()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.verdicts)


class NotSeparableError(_UnsolvedError, ValueError):
    """No plane separates the classes.

    Attributes
    ----------
    verdict : Verdict
        The verdict with its proof; of the first machine, if there are several.
    verdicts : dict
        The verdict on every class (one-vs-rest) or pair of classes (one-vs-one) that is not separable.

    Notes
    -----
    Where rows were left out of the fit (weight 0), row numbers are those of X, and the proof is about
    the rows that were used alone.

    Examples
    --------
    >>> import maxmargin as mm
    >>> try:
    ...     mm.HardMarginSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    ... except mm.NotSeparableError as error:
    ...     print(error.verdict.kind, error.witness.rows.tolist())
    overlapping [0, 1, 2]
    """

    @property
    def witness(self) -> Witness:
        """Rows of both classes whose weighted means are the same point, which rules out any plane."""
        found: Witness = self.verdict.witness
        return found

    @property
    def witnesses(self) -> dict[Hashable, Witness]:
        """The witness of every verdict."""
        return {label: verdict.witness for label, verdict in self.verdicts.items()}


class BudgetError(_UnsolvedError, RuntimeError):
    """The time ended before there was an exact answer.

    Attributes
    ----------
    verdicts : dict
        What is known, for every class (one-vs-rest) or pair of classes (one-vs-one) without an answer:
        a verdict that the classes are separable, with bounds on the margin, or an undecided one.
    verdict : Verdict
        The first of them.

    Examples
    --------
    >>> import maxmargin as mm
    >>> try:
    ...     mm.HardMarginSVC(max_seconds=1e-9).prove([[0.0], [1.0], [2.0]], [0, 1, 1])
    ... except mm.BudgetError as error:
    ...     print(error.verdict.kind)
    undecided
    """


class BudgetWarning(ConvergenceWarning):
    """A budget of epochs, updates, passes or seconds ended before the work was done.

    Examples
    --------
    >>> import warnings
    >>> import maxmargin as mm
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = mm.Perceptron(max_iter=1).fit([[90, 80], [40, 30], [50, 40]], [1, -1, -1])
    >>> caught[0].category.__name__
    'BudgetWarning'
    >>> str(caught[0].message).split(". ")[0]
    'The budget of 1 epoch ended with 3 mistakes in the last one'
    """


def unwritable(path: str | os.PathLike[str], reason: OSError | str, name: str = "path") -> InputError:
    """Return the error of a file that cannot be written; ``name`` is what the caller calls its path."""
    why = reason if isinstance(reason, str) else reason.strerror or str(reason)
    return InputError(f"{name} must name a file that can be written. Got {os.fspath(path)!r}: {why}.")


# Who may stand between a caller and us: wrappers of scikit-learn, its pipelines and searches.
BETWEEN = {"maxmargin", "sklearn", "joblib"}


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first frame that is neither of this package nor of those that call it for others."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame.f_globals) in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]


def plural(n: int, thing: str, form: str = "") -> str:
    """1 epoch, 2 epochs; ``form`` says how to write n, as in 1,000 rows."""
    return f"{n:{form}} {thing}" if n == 1 else f"{n:{form}} {thing}s"


def listed(values: Sequence[Any] | np.ndarray, most: int, write: Callable[[Any], str] = str) -> str:
    """The first few of a list: 3, 8, 9, …."""
    return ", ".join(map(write, values[:most])) + (", …" if len(values) > most else "")
