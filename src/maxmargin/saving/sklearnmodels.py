"""Linear classifiers of scikit-learn, with what they say of their training."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.estimators.training import loss_of, scaling_of
from maxmargin.rows.structure import check_structure
from maxmargin.saving.linear import LinearModel

__all__ = ["from_sklearn"]


def from_sklearn(estimator: Any) -> LinearModel:
    """Return the planes of a fitted linear classifier of scikit-learn.

    Parameters
    ----------
    estimator : LinearSVC, SVC(kernel="linear"), Perceptron, SGDClassifier, LogisticRegression, …
        Any fitted classifier with ``coef_``, ``intercept_`` and ``classes_``.

    Returns
    -------
    LinearModel
        With C, class weights, loss and the treatment of the bias as the estimator has them.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from maxmargin.saving import from_sklearn
    >>> model = from_sklearn(LinearSVC().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
    >>> model.loss, model.intercept_scaling
    ('squared_hinge', 1.0)
    """
    name = type(estimator).__name__
    missing = [a for a in ("coef_", "intercept_", "classes_") if not hasattr(estimator, a)]
    if missing:
        raise InputError(
            "estimator must be a fitted linear classifier with coef_, intercept_ and classes_. "
            f"Got {name} without {missing[0]} instead. Of a pipeline pass the last step; an SVC must "
            "have kernel='linear'."
        )
    W, classes = estimator.coef_, np.asarray(estimator.classes_)
    check_structure(W, "coef_")
    W = np.atleast_2d(W.toarray() if sparse.issparse(W) else np.asarray(W, dtype=np.float64))
    if not isinstance(estimator.classes_, np.ndarray) or classes.ndim != 1:
        raise InputError(f"estimator must have one target. Got {name} with several instead.")
    b = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64).ravel(), (len(W),))
    pairs = hasattr(estimator, "dual_coef_") and len(classes) > 2
    if pairs:  # there a pair is positive on its smaller class
        W, b = -W, -b
    names = getattr(estimator, "feature_names_in_", None)
    C = getattr(estimator, "C", None)
    return LinearModel(
        coef_=W,
        intercept_=b,
        classes_=classes,
        feature_names_in_=None if names is None else np.asarray(names, dtype=object),
        multi_class="ovo" if pairs else "ovr",
        loss=loss_of(estimator),
        C=float(C) if C else None,  # NuSVC has a C of 0
        class_weight=getattr(estimator, "class_weight", None),
        fit_intercept=bool(getattr(estimator, "fit_intercept", True)),
        intercept_scaling=scaling_of(estimator),
        source=f"scikit-learn {name}",
    )
