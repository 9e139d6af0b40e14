"""Models by the names they have on the command line."""

from __future__ import annotations

import warnings
from typing import Any

from maxmargin.core.errors import BudgetWarning, NotSeparableError
from maxmargin.estimators.batch import BatchPerceptron
from maxmargin.estimators.hardmargin import HardMarginSVC
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.estimators.pocket import PocketPerceptron
from maxmargin.estimators.softmargin import SoftMarginSVC

__all__ = ["NAMES", "fitted"]

NAMES = ("perceptron", "batch-perceptron", "pocket", "hard-margin", "soft-margin")


def fitted(name: str, C: float, intercept: bool, X: Any, y: Any) -> tuple[Any, list[str]]:
    """A fitted model, and what there is to say about it; a hard margin that has no solution is soft."""
    notes: list[str] = []
    record = len(y) <= 2_000
    models = {
        "perceptron": Perceptron(fit_intercept=intercept, record=record),
        "batch-perceptron": BatchPerceptron(fit_intercept=intercept, record=record),
        "pocket": PocketPerceptron(fit_intercept=intercept, random_state=0),
        "hard-margin": HardMarginSVC(fit_intercept=intercept),
        "soft-margin": SoftMarginSVC(C=C, fit_intercept=intercept),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)  # the reason of stopping is shown
        try:
            return models[name].fit(X, y), notes
        except NotSeparableError:
            notes.append(
                f"No plane separates the classes. Drawn instead: the soft margin with C = {C:g}."
            )
            return models["soft-margin"].fit(X, y), notes
