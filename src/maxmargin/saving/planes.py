"""The planes of any model that can be exported: weights, labels, and what the machines are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError
from maxmargin.estimators.base import LinearClassifier
from maxmargin.saving.linear import LinearModel

__all__ = ["Planes", "planes"]


class Planes(NamedTuple):
    """f_k(x) = W_k·x + b_k for every machine k."""

    W: np.ndarray
    b: np.ndarray
    classes: np.ndarray  # sorted; two at least
    pairs: bool  # one machine per pair of classes
    intercept: bool


def planes(model: Any) -> Planes:
    """Return the planes of a fitted estimator, or of an imported model."""
    if isinstance(model, LinearClassifier):
        check_is_fitted(model)
        classes = model.classes_
        if len(classes) < 2:
            raise InputError(
                "a model must know two classes to be exported. Got one, of a stream, instead."
            )
        scheme = model._fitted_scheme
        pairs = scheme["multi_class"] == "ovo" and len(classes) > 2
        return Planes(model.coef_, model.intercept_, classes, pairs, bool(scheme["fit_intercept"]))
    if isinstance(model, LinearModel):
        if model.classes_ is None:
            k = 2 if len(model.coef_) == 1 else len(model.coef_)
            classes = np.arange(k)
        else:
            classes = model.classes_
        pairs = model.multi_class == "ovo" and len(classes) > 2
        return Planes(model.coef_, model.intercept_, classes, pairs, model.fit_intercept)
    raise InputError(
        f"model must be a fitted estimator of maxmargin or a LinearModel. Got {type(model).__name__} "
        "instead. Use from_sklearn for estimators of scikit-learn."
    )
