"""What all linear classifiers share: binary machines decide together, and predict wherever rows are.

One-vs-rest: machine k tells class k (+1) from all others (−1); predict the class with the largest
decision value z_k·x. One-vs-one: a machine per pair of classes, the larger class +1; predict the class
with most votes, ties decided by the sum of its decision values. With two classes both are the one
binary machine.

A Dask collection gives a Dask array, which is computed when it is asked for; every block of it, here or
on a worker, is decided by the same :class:`Planes`, and so are the parts of files.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.cluster import column_names, labelled
from maxmargin.core.errors import InputError
from maxmargin.estimators.validation import (
    Features,
    check_reach,
    check_rows,
    names_of,
    read_matrix,
    read_X,
)
from maxmargin.rows import Rows
from maxmargin.rows.partitions import Executor, Source, Sources, block_of, rows_of
from maxmargin.rows.training_data import is_parted, plain_labels, unlabelled
from maxmargin.solvers.problem import MIN_PRODUCT_ROWS, Examples


class UnchangedOnError:
    """Leaves an estimator as it was if the work on it ends early: by an error, or Ctrl-C."""

    def __init__(self, estimator: Any) -> None:
        self.state = vars(estimator)
        self.before = dict(self.state)

    def __enter__(self) -> None:
        """Nothing has changed yet."""

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is not None:
            self.state.clear()
            self.state.update(self.before)


class LinearClassifierMixin(ClassifierMixin):
    """Predictions of f(x) = w·x + b for two classes; of one such machine per class or pair for more.

    It stands beside scikit-learn's mixins, and needs the fitted ``classes_``, ``n_features_in_`` and
    ``_fitted_scheme``, and ``_weights``.
    """

    fit_intercept: bool
    multi_class: str
    classes_: np.ndarray
    n_features_in_: int
    _fitted_scheme: dict[str, Any]

    @abstractmethod
    def _weights(self) -> np.ndarray:
        """Return z = (w, b) of each machine, one per row."""

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
        rows alike; with one-vs-rest so is the column of the largest value. With one-vs-one a column
        holds votes, ties broken by the sum of decision values. Dask collections give a Dask array,
        computed block by block when it is.
        """
        check_is_fitted(self)
        planes = self._planes()
        return decide_collection(planes, X) if is_parted(X) else planes.decide(read_X(self, X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of rows that are predicted right; rows of a file bring their labels."""
        if is_parted(X):
            check_is_fitted(self)
            planes = self._planes()
            if not isinstance(X, Sources):
                planes.features.check(X.shape[1], column_names(X))
            return share_right(planes, labelled(X, y, sample_weight))
        given = getattr(X, "labels", None) if y is None else y
        return float(super().score(X, plain_labels(given), sample_weight))

    def predict(self, X: Any) -> Any:
        """Return a label for each row; a row on the boundary gets the smaller of two classes."""
        check_is_fitted(self)
        planes = self._planes()
        if is_parted(X):
            return choose(decide_collection(planes, X), self.classes_)
        X = read_matrix(self, X)
        winner = planes.winners(X)
        if winner is None:
            winner = winners(planes.decide(check_rows(X, names_of(self))))
        return named(winner, self.classes_)

    def _planes(self) -> Planes:
        """What predicts."""
        known = Features(type(self).__name__, self.n_features_in_, names_of(self))
        return Planes(self._weights(), self.classes_, self._fitted_scheme["multi_class"], known)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def combined(F: np.ndarray, classes: int, multi_class: str) -> np.ndarray:
    """Decision values for the user from those of the machines, one row each."""
    return np.asarray(F[0]) if classes <= 2 else decide_multiclass(F, classes, multi_class)


def winners(f: np.ndarray) -> np.ndarray:
    """The class with the largest decision value; of two, the larger one where the value is positive."""
    return (f > 0).astype(np.intp) if f.ndim == 1 else np.argmax(f, axis=1)


def chosen(f: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """Labels from decision values; 0, 1, … for classes without names."""
    return named(winners(f), classes)


def named(winner: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """Labels of the classes with these numbers; the numbers themselves for classes without names."""
    if classes is None:
        return winner
    # A stream may have shown only one class so far, and the number of another one is cut off.
    return classes.take(winner, mode="clip")


def decide_multiclass(F: np.ndarray, classes: int, multi_class: str) -> np.ndarray:
    """One column per class from one row of decision values per machine; the largest wins.

    For one-vs-one a column is votes + s, where s in (−½, ½) is the sum of the class's decision values
    in proportion to the largest such sum of the row.
    """
    if multi_class == "ovr":
        return np.ascontiguousarray(F.T)
    votes = np.zeros((F.shape[1], classes))
    total = np.zeros_like(votes)
    for f, (a, b) in zip(F, combinations(range(classes), 2), strict=True):
        votes[:, b] += f > 0
        votes[:, a] += f <= 0
        total[:, b] += f
        total[:, a] -= f
    largest = np.abs(total).max(axis=1, keepdims=True)
    return np.asarray(votes + total / (3.0 * np.where(largest > 0, largest, 1.0)))


class Planes(NamedTuple):
    """Fitted planes, one row (w, b) each, and how they decide together; small enough to travel."""

    Z: np.ndarray
    classes: np.ndarray
    multi_class: str
    features: Features

    def decide(self, rows: Rows) -> np.ndarray:
        """Return decision values: one per row for two classes, else one column per class."""
        examples = Examples(rows, np.empty(0), 1.0)
        decide = examples.decisions if self.multi_class == "ovo" else examples.ranked_decisions
        return combined(decide(self.Z), len(self.classes), self.multi_class)

    def winners(self, X: Any) -> np.ndarray | None:
        """Return the number of the class that wins at each row of a matrix, as :meth:`decide` has it.

        None where there is no quicker way, and where a value is not allowed.
        """
        if isinstance(X, Rows) or X.shape[0] * len(self.Z) < MIN_PRODUCT_ROWS:
            return None
        if len(self.Z) > 1 and self.multi_class == "ovo":
            return None
        # Imported on use: kernels that most processes do without.
        from maxmargin.solvers.prediction import winners

        return winners(X, self.Z)

    def decide_block(self, X: Any) -> np.ndarray:
        """Return those of a matrix, or of a part of files, which is read now."""
        if isinstance(X, Source):
            block = block_of(X, None)
            self.features.check(block.X.shape[1], block.names)
            X = block.X
        return self.decide(check_reach(rows_of(X)))

    def hits(self, X: Any, y: Any) -> tuple[float, float]:
        """Return how many rows of a partition are predicted right, of how many; or their weights."""
        block = block_of(X, y)
        if block.labels is None:
            raise unlabelled()
        if not len(block.labels):
            return 0.0, 0.0
        self.features.check(block.X.shape[1], block.names)
        right = chosen(self.decide_block(block.X), self.classes) == block.labels
        weight = np.ones(len(right)) if block.weight is None else block.weight
        return float(weight @ right), float(weight.sum())


def decide_collection(planes: Planes, X: Any) -> Any:
    """Return the decision values of rows in partitions, block by block when they are computed."""
    if isinstance(X, Sources):
        return _decide_files(planes, X)
    classes = len(planes.classes)
    planes.features.check(X.shape[1], column_names(X))
    X = X.to_dask_array() if column_names(X) is not None else X
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    kind: dict[str, Any] = {"drop_axis": 1, "meta": np.empty(0)}
    if classes > 2:
        kind = {"chunks": (X.chunks[0], (classes,)), "meta": np.empty((0, 0))}
    return X.map_blocks(planes.decide_block, dtype=np.float64, **kind)


def _decide_files(planes: Planes, X: Sources) -> Any:
    """Every block is read when it is computed, and its length is not known."""
    from dask import array
    from dask.delayed import delayed

    classes = len(planes.classes)
    shape = (np.nan,) if classes == 2 else (np.nan, classes)
    blocks = [
        array.from_delayed(  # type: ignore[no-untyped-call]
            delayed(planes.decide_block)(part), shape, dtype=np.float64
        )
        for part in X.parts
    ]
    joined: Any = array.concatenate
    return joined(blocks, allow_unknown_chunksizes=True)


def choose(f: Any, classes: np.ndarray) -> Any:
    """Return labels from decision values, which may be a Dask array."""
    if isinstance(f, np.ndarray):
        return chosen(f, classes)
    kind = {"drop_axis": 1} if f.ndim == 2 else {}
    return f.map_blocks(chosen, classes, dtype=classes.dtype, meta=classes[:0], **kind)


def share_right(planes: Planes, executor: Executor) -> float:
    """Return the share of rows in partitions (or of their weight) that are predicted right."""
    found = executor.run(_hits, range(executor.parts), [(planes,)] * executor.parts)
    right, rows = (math.fsum(column) for column in zip(*found, strict=True))
    if not rows:
        raise InputError(
            "X must hold at least one row, of a weight > 0. Got partitions without rows instead."
        )
    return right / rows


def _hits(X: Any, y: Any, planes: Planes) -> tuple[float, float]:
    return planes.hits(X, y)
