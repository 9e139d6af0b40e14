"""Models by the names they have on the command line."""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.errors import BudgetWarning, InputError, NotSeparableError
from maxmargin.estimators.batch_perceptron import BatchPerceptron
from maxmargin.estimators.hard_margin import HardMarginSVC
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.estimators.pocket_perceptron import PocketPerceptron
from maxmargin.estimators.soft_margin import SoftMarginSVC
from maxmargin.estimators.soft_margin_cv import SoftMarginSVCCV
from maxmargin.stopping import MaxSeconds


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


# The model that was asked for on the command line of ``fit``.

FOLDS = 5


class Wishes(NamedTuple):
    """What was asked for on the command line."""

    model: str
    C: float
    no_intercept: bool
    cv: bool
    multi_class: str
    tol: float | None
    threshold: float
    eta0: float
    order: str
    average: bool
    seed: int
    max_iter: int
    max_updates: int
    max_seconds: float | None
    jobs: int
    checkpoint: str | None
    every: str
    validate: str | None
    out: str | None
    onnx: str | None
    liblinear: str | None
    as_json: bool


def estimator(wishes: Wishes, y: np.ndarray, path: str) -> Any:
    """The model that was asked for; a progress bar is shown only to people."""
    common: dict[str, Any] = {
        "fit_intercept": not wishes.no_intercept,
        "multi_class": wishes.multi_class,
        "verbose": int(sys.stderr.isatty()),
    }
    if wishes.model in ("hard-margin", "soft-margin"):
        common |= {"max_seconds": wishes.max_seconds, "n_jobs": wishes.jobs}
        if wishes.tol is not None:
            common["tol"] = wishes.tol
        if wishes.model == "hard-margin":
            return HardMarginSVC(**common)
        if wishes.cv:
            return SoftMarginSVCCV(cv=_folds(y, path), **common)
        return SoftMarginSVC(C=wishes.C, **common)
    common["stop"] = None if wishes.max_seconds is None else MaxSeconds(wishes.max_seconds)
    if wishes.model == "batch-perceptron":
        return BatchPerceptron(max_iter=wishes.max_iter, **common)
    common |= {"order": wishes.order, "random_state": wishes.seed}
    if wishes.model == "pocket":
        return PocketPerceptron(max_updates=wishes.max_updates, **common)
    return Perceptron(
        threshold=wishes.threshold,
        eta0=wishes.eta0,
        average=wishes.average,
        max_iter=wishes.max_iter,
        **common,
    )


def _folds(y: np.ndarray, path: str) -> int:
    """How many folds there can be with every class in each."""
    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        few = labels[np.argmin(counts)].item()
        raise InputError(
            f"{path}: --cv needs at least 2 rows of every class. Got 1 row of {few!r} instead. "
            "Add rows, or choose C yourself with --C."
        )
    return int(min(FOLDS, counts.min()))
