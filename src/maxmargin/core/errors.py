"""Errors and warnings, in one voice: what is allowed, what was given, what to do.

MaxMarginError
├── InputError (also a ValueError)          a parameter or the data is not usable as given
├── NotSeparableError (also a ValueError)   no plane separates the classes; carries the verdict
└── ClusterError (also a RuntimeError)      partitions of the data could not be reached or computed
ConvergenceWarning (scikit-learn's)
└── BudgetWarning                           a budget ended before the work was done
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import ConvergenceWarning

if TYPE_CHECKING:
    from maxmargin.core.witness import Witness

__all__ = ["BudgetWarning", "ClusterError", "InputError", "MaxMarginError", "NotSeparableError"]


class MaxMarginError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(MaxMarginError, ValueError):
    """A parameter or the data cannot be used as given; the message says what can."""


class ClusterError(MaxMarginError, RuntimeError):
    """Partitions of the data could not be reached, or not computed; the message says why."""


class NotSeparableError(MaxMarginError, ValueError):
    """No plane separates the classes.

    Attributes
    ----------
    verdict : Verdict
        The verdict with its proof; of the first machine, if there are several.
    verdicts : dict
        The verdict on every class (one-vs-rest) or pair of classes (one-vs-one) that is not separable.

    Where rows were left out of the fit (weight 0), row numbers are those of X, and the proof is about
    the rows that were used alone.
    """

    def __init__(self, message: str, verdicts: Mapping[Hashable, Any]) -> None:
        super().__init__(message)
        self.verdicts = dict(verdicts)
        self.verdict = next(iter(self.verdicts.values()))

    @property
    def witness(self) -> Witness:
        """Rows of both classes whose weighted means are the same point, which rules out any plane."""
        found: Witness = self.verdict.witness
        return found

    @property
    def witnesses(self) -> dict[Hashable, Witness]:
        """The witness of every verdict."""
        return {label: verdict.witness for label, verdict in self.verdicts.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.verdicts)


class BudgetWarning(ConvergenceWarning):
    """A budget of epochs, updates, passes or seconds ended before the work was done."""
