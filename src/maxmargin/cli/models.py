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

__all__ = ["fit_by_name"]


def fit_by_name(name: str, C: float, intercept: bool, X: Any, y: Any) -> tuple[Any, str]:
    """A fitted model; where the hard margin has no solution, the soft one and a note that says so."""
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
            return models[name].fit(X, y), ""
        except NotSeparableError:
            note = f"No plane separates the classes. Drawn instead: the soft margin with C = {C:g}."
            return models["soft-margin"].fit(X, y), note
