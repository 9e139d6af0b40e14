"""What all linear classifiers share: prediction, and the way from (X, y) to machines and back.

What a linear model of another library says of its training: its loss, and whether b was penalised.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.multiclass import chosen, combined
from maxmargin.estimators.prediction import Planes, choose, decide, share_right
from maxmargin.estimators.progress import CallbackSupportMixin
from maxmargin.estimators.validation import Features, names_of
from maxmargin.rows.training_data import is_parted, plain_labels

F = TypeVar("F", bound=Callable[..., Any])


def unchanged_on_error(method: F) -> F:
    """Leave the estimator as it was if the method ends early: an error, or Ctrl-C."""

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(F, guarded)


class LinearClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator, ABC):
    """f(x) = w·x + b for two classes; one such machine per class or per pair for more."""

    fit_intercept: bool
    multi_class: str
    classes_: np.ndarray
    n_features_in_: int
    _fitted_scheme: dict[str, Any]

    @abstractmethod
    def _weights(self) -> np.ndarray:
        """Return z = (w, b) of each machine, one per row."""

    def _check_params(self) -> None:
        """Refuse parameters that are not allowed."""

    @property
    def _pad(self) -> float:
        return 1.0 if self.fit_intercept else 0.0

    def _scheme(self) -> dict[str, Any]:
        """Parameters on which the meaning of the weights depends: fixed once there are weights."""
        return {"multi_class": self.multi_class, "fit_intercept": self.fit_intercept}

    @property
    def coef_(self) -> np.ndarray:
        """Weights w: one row for two classes, else one row per machine."""
        return np.asarray(self._fitted_weights()[:, :-1])

    @property
    def intercept_(self) -> np.ndarray:
        """Biases b, one per row of ``coef_``."""
        return np.asarray(self._fitted_weights()[:, -1])

    def _fitted_weights(self) -> np.ndarray:
        if "classes_" not in vars(self):
            name = type(self).__name__
            raise AttributeError(f"This {name} has no weights before fit (or learn_one).")
        return self._weights()

    def decision_function(self, X: Any) -> Any:
        """Return f(x) for each row: one value for two classes, else one column per class.

        The sign is that of the sum w_1 x_1 + w_2 x_2 + … + b from left to right, for dense and sparse
        rows alike. With one-vs-one a column holds votes, ties broken by the sum of decision values. Dask
        collections give a Dask array, computed block by block when it is.
        """
        check_is_fitted(self)
        return decide(self, self._planes(), X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of rows that are predicted right; rows of a file bring their labels."""
        if is_parted(X):
            check_is_fitted(self)
            return share_right(self, self._planes(), X, y, sample_weight)
        given = getattr(X, "labels", None) if y is None else y
        return float(super().score(X, plain_labels(given), sample_weight))

    def predict(self, X: Any) -> Any:
        """Return a label for each row; a row on the boundary gets the smaller of two classes."""
        return choose(self.decision_function(X), self.classes_)

    def _planes(self) -> Planes:
        """What predicts."""
        known = Features(type(self).__name__, self.n_features_in_, names_of(self))
        return Planes(self._weights(), self.classes_, self._fitted_scheme["multi_class"], known)

    def _combined(self, F: np.ndarray) -> np.ndarray:
        """Decision values for the user from those of the machines, one row each."""
        return combined(F, len(self.classes_), self._fitted_scheme["multi_class"])

    def _chosen(self, f: np.ndarray) -> np.ndarray:
        """Labels from decision values."""
        return chosen(f, self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


LIBLINEAR = "liblinear"
ONLY_LOSS = {
    "LogisticRegression": "log_loss",
    "LogisticRegressionCV": "log_loss",
    "Perceptron": "perceptron",
    "SVC": "hinge",
    "NuSVC": "hinge",
    "LinearSVC": "squared_hinge",
}  # losses of estimators that have only one


def loss_of(model: Any) -> str:
    """The loss that a model minimised; the hinge if nothing else is known."""
    if getattr(model, "multi_class", None) == "crammer_singer":
        return "crammer_singer"
    loss = getattr(model, "loss", None)
    if isinstance(loss, str):
        return loss
    name = type(model).__name__
    return ONLY_LOSS.get(name, f"that of {name}") if _of_scikit_learn(model) else "hinge"


def scaling_of(model: Any) -> float | None:
    """The constant feature whose weight is b, if b was penalised with w; else None."""
    if not getattr(model, "fit_intercept", True):
        return None
    # LogisticRegression has the parameter, which only one of its solvers uses.
    used = type(model).__name__ == "LinearSVC" or getattr(model, "solver", None) == LIBLINEAR
    scaling = getattr(model, "intercept_scaling", None)
    return None if scaling is None or (_of_scikit_learn(model) and not used) else float(scaling)


def _of_scikit_learn(model: Any) -> bool:
    return type(model).__module__.startswith("sklearn.")
