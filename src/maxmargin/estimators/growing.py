"""One example as a row, and weights with room for features that appear later."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.params import LARGEST
from maxmargin.estimators.door import check_reach
from maxmargin.estimators.fitting import PerceptronBase
from maxmargin.rows import Csr, CsrRows, DenseRows, Rows

__all__ = ["GrowingPerceptron", "vector"]

LEAST_ROOM = 8  # features that weights have room for; then twice as many as there are


class GrowingPerceptron(PerceptronBase):
    """Weights that are widened when an example, given as a dict, brings a new feature."""

    feature_index_: dict[Any, int]

    @abstractmethod
    def _per_machine(self) -> list[np.ndarray]:
        """All arrays with one row (w, b) per machine, to be widened or turned round in place."""

    @abstractmethod
    def _replace(self, arrays: list[np.ndarray]) -> None:
        """Put new arrays in the place of those of ``_per_machine``."""

    @abstractmethod
    def _wide(self) -> np.ndarray:
        """Return z of each machine, with room for features to come."""

    def _weights(self) -> np.ndarray:
        Z = self._wide()
        d = self.n_features_in_
        return Z if Z.shape[1] == d + 1 else np.column_stack([Z[:, :d], Z[:, -1]])

    def _one_row(self, x: Any, grow: bool) -> Rows:
        """Return one example as rows."""
        if not isinstance(x, Mapping):
            v = vector(x)
            if len(v) != self.n_features_in_:
                raise InputError(
                    f"x must hold {self.n_features_in_} features, as before. Got {len(v)} instead."
                )
            return check_reach(DenseRows(v[None]))
        if self.record:
            raise InputError(
                "record must be False when features come by name, since their number may grow. "
                "Got True instead. Learn from vectors, or set record=False."
            )
        if "feature_index_" not in vars(self):
            if not hasattr(self, "feature_names_in_"):
                raise InputError(
                    "x must be a vector, since this model was fitted on data without feature names. "
                    "Got a dict instead. Fit on a data frame, or learn from dicts from the start."
                )
            self.feature_index_ = {name: j for j, name in enumerate(self.feature_names_in_)}
        return self._row_from_dict(x, grow)

    def _row_from_dict(self, x: Mapping[Any, Any], grow: bool) -> Rows:
        names = self.feature_index_
        known = dict(x) if grow else {k: v for k, v in x.items() if k in names}
        values = _numbers(known)
        new = [name for name in known if name not in names]
        if new:
            names.update({name: len(names) + j for j, name in enumerate(new)})
            self.n_features_in_ = len(names)
            self.__dict__.pop("feature_names_in_", None)  # they no longer name all features
        room = self._per_machine()[0].shape[1] - 1
        if len(names) > room:
            room = max(LEAST_ROOM, 2 * len(names))
            self._resize(room)
        columns = np.array([names[name] for name in known], dtype=np.int64)
        order = np.argsort(columns)
        ends = np.array([0, len(columns)], dtype=np.int64)
        return check_reach(CsrRows(Csr(values[order], columns[order], ends), (1, room)))

    def _resize(self, width: int) -> None:
        """Make room for more features, which start at weight zero, or give back room not needed."""
        resized = []
        for array in self._per_machine():
            new = np.zeros((len(array), width + 1 if array.shape[1] else 0))
            shared = min(width, array.shape[1] - 1)
            if array.shape[1]:  # without averaging there is nothing to keep for it
                new[:, :shared], new[:, -1] = array[:, :shared], array[:, -1]
            resized.append(new)
        self._replace(resized)


def vector(x: Any) -> np.ndarray:
    """One example as a vector of doubles."""
    try:
        v = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        v = np.empty((0, 0))
    if v.ndim != 1 or not len(v):
        raise InputError(f"x must be a vector of numbers or a dict of features. Got {x!r} instead.")
    return np.ascontiguousarray(v)


def _numbers(features: Mapping[Any, Any]) -> np.ndarray:
    """The values of named features as doubles; every one must be a finite number."""
    values = np.array(list(features.values()))
    if values.ndim == 1 and values.dtype.kind in "biuf" and np.all(np.abs(values) <= LARGEST):
        return values.astype(np.float64)
    for name, value in features.items():
        if not isinstance(value, Real) or not abs(float(value)) <= LARGEST:
            raise InputError(
                f"feature values must be finite numbers, at most {LARGEST:.1e} in size. "
                f"Got {value!r} for {name!r} instead."
            )
    return np.array([float(v) for v in features.values()])
