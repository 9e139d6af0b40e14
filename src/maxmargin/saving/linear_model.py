"""A linear model as its planes and labels: one that was trained elsewhere, or that is to be exported.

With what its maker said of its training, :func:`audit` judges it on the training data.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates.certificate import Certificate, Certificates
from maxmargin.core.errors import InputError
from maxmargin.estimators.base import LinearClassifierMixin, chosen, decide_multiclass
from maxmargin.estimators.certify import certify, loss_of, scaling_of
from maxmargin.estimators.validation import read_X
from maxmargin.rows import Rows
from maxmargin.rows.sparse import check_structure
from maxmargin.rows.training_data import class_weights, encode, find_classes
from maxmargin.solvers.problem import Examples


@dataclass(frozen=True, eq=False)
class LinearModel:
    """The planes w·x + b = 0 of a linear classifier, as :func:`maxmargin.certify` reads them.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (machines, d) and (machines,)
        One machine for two classes, positive on the larger one; else one per class, or with
        ``multi_class="ovo"`` one per pair of classes (a, b), a < b, positive on b.
    classes_ : array or None
        The labels, sorted; None if the file did not name them.
    feature_names_in_ : array of str or None
        Names of the features, if known.
    multi_class : "ovr" or "ovo"
        What the machines are, for more than two classes.
    loss, C, class_weight, fit_intercept, intercept_scaling
        How it was trained, as far as it is known; in scikit-learn's words. ``intercept_scaling`` is a
        number if the solver penalised the bias.
    grows : bool
        Whether features beyond the last one have weight 0 (the format names no number of features).
    source : str
        Where it comes from.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.saving import LinearModel
    >>> model = LinearModel([[1.0, -2.0]], [0.5], classes_=np.array(["no", "yes"]))
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['yes', 'no']
    """

    coef_: np.ndarray
    intercept_: np.ndarray
    classes_: np.ndarray | None = None
    feature_names_in_: np.ndarray | None = None
    multi_class: str = "ovr"
    loss: str = "hinge"
    C: float | None = None
    class_weight: Any = None
    fit_intercept: bool = True
    intercept_scaling: float | None = None
    grows: bool = False
    source: str = "elsewhere"

    def __post_init__(self) -> None:
        W, b = np.atleast_2d(np.asarray(self.coef_, float)), np.asarray(self.intercept_, float).ravel()
        if W.ndim != 2 or b.shape != (len(W),) or not W.shape[1]:
            raise InputError(
                "a linear model must have one intercept per row of coefficients. "
                f"Got {W.shape} coefficients and {len(b)} intercepts instead."
            )
        if not (np.all(np.isfinite(W)) and np.all(np.isfinite(b))):
            raise InputError("a linear model must have finite weights. Got nan or infinity instead.")
        object.__setattr__(self, "coef_", np.ascontiguousarray(W))
        object.__setattr__(self, "intercept_", b)
        k = None if self.classes_ is None else len(self.classes_)
        wanted = {2: 1, None: len(W)}.get(k, (k or 0) * ((k or 0) - 1) // 2 if self._pairs else k)
        if len(W) != wanted or k == 1:
            raise InputError(f"{k} classes need {wanted} rows of weights. Got {len(W)} instead.")
        names = self.feature_names_in_
        if names is not None and len(names) != W.shape[1]:
            raise InputError(
                f"every feature must have a name. Got {len(names)} for {W.shape[1]} instead."
            )

    @property
    def _pairs(self) -> bool:
        return self.multi_class == "ovo"

    @property
    def Z_(self) -> np.ndarray:
        """The weights and the bias: a row (w, b) for each machine."""
        return np.column_stack([self.coef_, self.intercept_])

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return int(self.coef_.shape[1])

    @property
    def machines_(self) -> dict[Hashable, LinearModel]:
        """The binary machines by label, by pair, or by the positive label."""
        if self.classes_ is None or len(self.classes_) == 2:
            return {None if self.classes_ is None else self.classes_.tolist()[1]: self}
        labels = self.classes_.tolist()
        pairs = list(combinations(range(len(labels)), 2))
        keys = [(labels[a], labels[b]) for a, b in pairs] if self._pairs else labels
        found: dict[Hashable, LinearModel] = {}
        for k, key in enumerate(keys):
            classes = self.classes_[list(pairs[k])] if self._pairs else None
            W, b = self.coef_[k : k + 1], self.intercept_[k : k + 1]
            found[key] = replace(self, coef_=W, intercept_=b, classes_=classes, multi_class="ovr")
        return found

    def with_features(self, d: int) -> LinearModel:
        """Return the model on d features, if those that it lacks have weight zero."""
        if d == self.n_features_in_ or not self.grows or d < self.n_features_in_:
            return self
        wide = np.zeros((len(self.coef_), d))
        wide[:, : self.n_features_in_] = self.coef_
        return replace(self, coef_=wide, feature_names_in_=None)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) for each row: one value for two classes, else one column per class."""
        shell = BaseEstimator()
        model = self.with_features(X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else 0)
        shell.n_features_in_ = model.n_features_in_
        if model.feature_names_in_ is not None and (hasattr(X, "columns") or isinstance(X, Rows)):
            shell.feature_names_in_ = model.feature_names_in_
        examples = Examples(read_X(shell, X), np.empty(0), 1.0)
        F = (examples.decisions if self._pairs else examples.ranked_decisions)(model.Z_)
        if len(F) == 1:
            return np.asarray(F[0])
        k = len(F) if self.classes_ is None else len(self.classes_)
        return decide_multiclass(F, k, self.multi_class)

    def predict(self, X: Any) -> np.ndarray:
        """Return a label for each row (without labels: 0, 1, …)."""
        return chosen(self.decision_function(X), self.classes_)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the share of rows whose label is predicted."""
        labels = getattr(X, "labels", None) if y is None else y
        return float(np.mean(self.predict(X) == np.asarray(labels)))


def audit(
    model: Any, X: Any, y: Any = None, C: float | None = None, *, tol: float = 1e-9
) -> Certificate | dict[Hashable, Certificate]:
    """Judge a model on its training data: :func:`maxmargin.certify`, for one-vs-one pair by pair.

    Parameters
    ----------
    model : LinearModel or fitted estimator
        What :func:`read_any` or :func:`maxmargin.load` returned.
    X, y, C, tol
        As for :func:`maxmargin.certify`; y may be None if X is a file of rows with labels.

    Returns
    -------
    Certificate
        For more than two classes a dict from class, or pair of classes, to certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.saving import LinearModel, audit
    >>> model = LinearModel([[1.0]], [0.0], classes_=np.array([-1, 1]))
    >>> round(audit(model, [[-2.0], [2.0]], [-1, 1], C=10.0).primal, 12)
    0.5
    """
    labels = getattr(X, "labels", None) if y is None else y
    if labels is None:
        raise InputError("an audit needs the labels of the rows. Got none instead. Pass y.")
    labels = np.asarray(labels)
    classes = find_classes(labels)
    known = getattr(model, "classes_", None)
    if known is not None and known.tolist() != classes.tolist():
        raise InputError(
            f"the data must have the classes of the model, {known.tolist()}. "
            f"Got {classes.tolist()} instead."
        )
    if isinstance(model, LinearModel) and hasattr(X, "shape"):
        model = model.with_features(X.shape[1])
    if len(classes) == 2 or getattr(model, "multi_class", "ovr") != "ovo":
        return certify(model, X, labels, C, tol=tol)
    return _audit_pairs(model, X, labels, C, tol)


def _audit_pairs(
    model: Any, X: Any, labels: np.ndarray, C: float | None, tol: float
) -> dict[Hashable, Certificate]:
    """Every pair of classes on its own rows, with the class weights of the whole problem."""
    if not isinstance(X, Rows):
        check_structure(X)
        X = X if sparse.issparse(X) else np.asarray(X)
    C = getattr(model, "C", None) if C is None else C
    classes = find_classes(labels)
    codes = encode(labels, classes)
    weights = class_weights(getattr(model, "class_weight", None), classes, codes)
    factor = dict(zip(classes.tolist(), weights.tolist(), strict=True))
    results = Certificates()
    for (a, b), machine in model.machines_.items():
        rows = np.flatnonzero((labels == a) | (labels == b))
        plane = LinearModel(
            machine.coef_,
            np.atleast_1d(machine.intercept_),
            loss=getattr(model, "loss", "hinge"),
            class_weight={a: factor[a], b: factor[b]},
            fit_intercept=model.fit_intercept,
            intercept_scaling=getattr(model, "intercept_scaling", None),
        )
        part = X.select(rows) if isinstance(X, Rows) else X[rows]
        found = certify(plane, part, labels[rows], C, tol=tol)
        assert isinstance(found, Certificate)
        results[(a, b)] = found
    return results


def exported(model: Any) -> tuple[LinearModel, np.ndarray]:
    """Return a fitted estimator or an imported model as planes, and its classes, or 0, 1, …."""
    if isinstance(model, LinearModel):
        k = 2 if len(model.coef_) == 1 else len(model.coef_)
        known = model if model.classes_ is not None else replace(model, classes_=np.arange(k))
    elif isinstance(model, LinearClassifierMixin):
        check_is_fitted(model)
        if len(model.classes_) < 2:
            raise InputError(
                "a model must know two classes to be exported. Got one, of a stream, instead."
            )
        scheme = model._fitted_scheme
        known = LinearModel(
            model.coef_,
            model.intercept_,
            model.classes_,
            multi_class=scheme["multi_class"],
            fit_intercept=bool(scheme["fit_intercept"]),
        )
    else:
        raise InputError(
            "model must be a fitted estimator of maxmargin or a LinearModel. Got "
            f"{type(model).__name__} instead. Use from_sklearn for estimators of scikit-learn."
        )
    classes = np.asarray(known.classes_)
    return (replace(known, multi_class="ovr") if len(classes) == 2 else known), classes


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
