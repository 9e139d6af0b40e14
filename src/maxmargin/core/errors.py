"""Errors and warnings, in one voice: what is allowed, what was given, what to do.

MaxMarginError
└── InputError (also a ValueError)          a parameter or the data is not usable as given
ConvergenceWarning (scikit-learn's)
└── BudgetWarning                           a budget ended before the work was done
"""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

__all__ = ["BudgetWarning", "InputError", "MaxMarginError"]


class MaxMarginError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(MaxMarginError, ValueError):
    """A parameter or the data cannot be used as given; the message says what can."""


class BudgetWarning(ConvergenceWarning):
    """A budget of epochs, updates or seconds ended before every training point was correct."""
