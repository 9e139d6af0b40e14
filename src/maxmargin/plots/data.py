"""The points of a picture: read once, dense, with their labels and names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from maxmargin.core.errors import InputError
from maxmargin.core.labels import encode, find_classes
from maxmargin.estimators.door import check_finite, read_Xy
from maxmargin.estimators.question import feature_names

__all__ = ["Points", "not_linear", "read_points"]

WIDE = 1 << 27  # numbers of sparse data that is made dense for a picture


@dataclass(frozen=True)
class Points:
    """Rows with label codes; ``given`` is X as the user passed it, for ``predict``."""

    X: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    names: tuple[str, ...]
    given: Any

    @property
    def labels(self) -> list[Hashable]:
        """The classes, sorted."""
        labels: list[Hashable] = self.classes.tolist()
        return labels

    @property
    def signs(self) -> np.ndarray:
        """±1 of two classes."""
        return np.where(self.codes == 1, 1.0, -1.0)


def read_points(X: Any, y: Any, estimator: Any = None, names: Sequence[str] | None = None) -> Points:
    """Check X and y; classes are those of the estimator, if it has some."""
    reader = BaseEstimator()
    rows, labels = read_Xy(reader, X, y, check=False)
    check_finite(rows)
    if sparse.issparse(X) and rows.n * rows.d > WIDE:
        raise InputError(
            f"a picture needs dense rows. Got {rows.n} × {rows.d} sparse ones instead, which are too "
            "many numbers. Draw fewer rows, or fewer columns."
        )
    classes = getattr(estimator, "classes_", None)
    classes = find_classes(labels) if classes is None else np.asarray(classes)
    found = feature_names(reader, rows.d) if names is None else tuple(map(str, names))
    if len(found) != rows.d:
        raise InputError(f"names must hold {rows.d} names. Got {len(found)} instead.")
    return Points(rows.take(np.arange(rows.n)), encode(labels, classes), classes, found, X)


def not_linear(estimator: Any) -> InputError:
    """Return the error of an estimator without planes to draw."""
    return InputError(
        "estimator must be a fitted linear classifier with coef_ and intercept_. "
        f"Got {type(estimator).__name__} instead."
    )
