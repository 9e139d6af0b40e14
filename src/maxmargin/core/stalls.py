"""Rules for runs that get no further: an error no longer falls, or the weights no longer move."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.core.params import check_count, check_number
from maxmargin.core.phrases import count
from maxmargin.core.rules import Check, Progress, StoppingRule, StopReason

__all__ = ["TrainingErrorStalls", "ValidationErrorStalls", "WeightsSettle"]


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
