"""Learning as examples arrive: the online protocol "receive x, predict, see y, suffer a mistake".

``partial_fit`` takes some rows, ``learn_one`` a single example, as a vector or as a dict from feature
name to value; with dicts, new features may appear at any time and start with weight zero.

Two classes need not be announced: until the second label is seen, the first counts as −1, and if it
turns out to be the larger of the two the weights change sign. Since the update rule treats both
classes alike, the model is then exactly the one that knew both labels from the start.

One example as a row, and weights with room for features that appear later.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.history import Epoch, History, Trace
from maxmargin.core.labels import class_weights, encode, find_classes
from maxmargin.core.parameters import LARGEST, random_generator
from maxmargin.estimators.base import unchanged_on_error
from maxmargin.estimators.fitting import PerceptronBase
from maxmargin.estimators.multiclass import build_machines
from maxmargin.estimators.validation import check_reach, read_Xy
from maxmargin.rows import Csr, CsrRows, DenseRows, Rows
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.problem import Machine, Solution
from maxmargin.stopping import StopReason

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


ONLINE = StopReason(
    "online", "Learning as examples arrive: each was seen once, and no stopping rule applies."
)


class StreamPerceptron(GrowingPerceptron):
    """``partial_fit``, ``learn_one`` and ``predict_one``, for perceptrons that can advance."""

    @abstractmethod
    def _advance(
        self, examples: Examples, machines: Sequence[Machine], rng: np.random.Generator
    ) -> np.ndarray:
        """Learn from some examples; return the mistakes of each machine in them."""

    @unchanged_on_error
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on learning with one pass over some rows, from wherever the weights are.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            New rows, or old ones again.
        y : array-like of shape (n,)
            Their labels.
        classes : array-like, optional
            All labels that will ever occur; needed in the first call unless ``fit`` came before.

        Returns
        -------
        self
        """
        self._check_params()
        first = "classes_" not in vars(self)
        rows, y = read_Xy(self, X, y, reset=first)
        if first:
            if classes is None:
                raise InputError(
                    "classes must name all labels in the first call of partial_fit. "
                    "Got None instead. Pass classes=numpy.unique(y_all)."
                )
            self._begin(find_classes(np.asarray(classes)), rows.d)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise InputError(
                f"`classes` must be the same in every call, {self.classes_.tolist()}. "
                f"Got {np.unique(classes).tolist()} instead: it is not the same as on last call."
            )
        self._check_scheme()
        self._detach()
        self._learn(rows, encode(y, self.classes_), passes=1)
        return self

    @unchanged_on_error
    def learn_one(self, x: Any, y: Any, classes: Any = None) -> Self:
        """Learn from one example: predict, compare with y, and update on a mistake.

        Parameters
        ----------
        x : vector or dict
            One example; a dict maps feature names to numbers, and missing names count as 0.
        y : label
            Its class.
        classes : array-like, optional
            All labels, in the first call; needed for more than two classes.

        Returns
        -------
        self
            ``n_mistakes_`` is the running count of mistakes.
        """
        if "classes_" not in vars(self):
            self._check_params()
            known = np.array([y]) if classes is None else find_classes(np.asarray(classes))
            self._begin(known, 0 if isinstance(x, Mapping) else len(vector(x)))
            if isinstance(x, Mapping):
                self.feature_index_ = {}
        self._check_scheme()
        labels = self.classes_.tolist()
        if len(labels) > 1 and y not in labels:
            encode(np.array([y]), self.classes_)  # refuses it, before anything changes
        rows = self._one_row(x, grow=True)
        self._meet(y)
        code = self.classes_.tolist().index(y)
        self._learn(rows, np.array([code], dtype=np.int32), passes=0)
        return self

    def predict_one(self, x: Any) -> Any:
        """Return the label of one example (vector or dict); None before any label is known."""
        if "classes_" not in vars(self):
            return None
        F = Examples(self._one_row(x, grow=False), np.empty(0), 1.0).decisions(self._wide())
        return self._chosen(self._combined(F)).tolist()[0]

    def _check_scheme(self) -> None:
        """Refuse to go on with parameters under which the weights at hand mean something else."""
        now = self._scheme()
        for name, before in self._fitted_scheme.items():
            if now[name] != before:
                raise InputError(
                    f"{name} must stay as it was when learning began, {before!r}. "
                    f"Got {now[name]!r} instead. Set it back, or fit anew."
                )

    def _begin(self, classes: np.ndarray, width: int) -> None:
        """Start from zero weights."""
        self.classes_ = classes
        self.n_features_in_ = width
        self.n_iter_ = 0
        self.n_mistakes_ = 0
        machines = self._machines_on(np.empty(0, dtype=np.int64))
        zero = np.zeros(width + 1)
        self._finish(machines, [self._blank(zero) for _ in machines])
        self.n_iter_ = 0

    def _blank(self, zero: np.ndarray) -> Solution:
        trace = Trace(zero.copy()) if self.record else None
        return Solution(zero, ONLINE, History(), zero, 0, trace)

    def _meet(self, y: Any) -> None:
        """Take note of the second class of a stream."""
        if len(self.classes_) > 1 or y == self.classes_[0]:
            return
        first = self.classes_.tolist()[0]
        try:
            pair = sorted([first, y])
        except TypeError:
            raise InputError(
                f"labels must be such that they can be sorted. Got {first!r} and {y!r}, which cannot. "
                "Convert them to strings."
            ) from None
        self.classes_ = np.array(pair)
        log = self._logs[0]
        log.label = pair[1]
        if pair[1] == first:  # it counted as −1 so far, and is the larger one
            for array in self._per_machine():
                np.subtract(0.0, array, out=array)
            log.trace = None if log.trace is None else log.trace.negated()
            self._publish()

    def _learn(self, rows: Rows, codes: np.ndarray, passes: int) -> None:
        if "_rng" not in vars(self):
            self._rng = random_generator("random_state", self.random_state)
        if self._per_machine()[0].shape[1] != rows.d + 1:
            self._resize(rows.d)
        examples = self._examples(rows, codes)
        mistakes = self._advance(examples, self._machines_on(codes), self._rng)
        self.n_iter_ += passes
        self.n_mistakes_ += int(mistakes.sum())
        self.stop_reason_ = ONLINE
        nan = float("nan")
        for k, log in enumerate(self._logs):
            log.mistakes += int(mistakes[k])
            log.reason = ONLINE
            if passes:
                norm = float(np.linalg.norm(self._wide()[k, :-1]))
                epoch = Epoch(log.history.passed + 1, int(mistakes[k]), nan, nan, norm, nan)
                log.history.append(epoch)

    def _machines_on(self, codes: np.ndarray) -> list[Machine]:
        """Return the machines with these rows as members; what does not depend on them is kept."""
        key = (self.class_weight, self.multi_class, tuple(self.classes_.tolist()))
        if getattr(self, "_machines_key", None) != key:
            none = np.empty(0, dtype=np.int64)
            classes = _at_least_two(self.classes_)
            weights = class_weights(self.class_weight, self.classes_)
            weights = weights if len(weights) > 1 else np.append(weights, 1.0)
            self._machines_kept = build_machines(classes, none, self.multi_class, none, weights)
            self._machines_key = key
        everything = np.arange(len(codes))
        if len(self.classes_) <= 2 or self.multi_class == "ovr":
            return [replace(m, members=everything) for m in self._machines_kept]
        return [
            replace(m, members=np.flatnonzero((codes == m.positive) | (codes == m.negative)))
            for m in self._machines_kept
        ]

    def _detach(self) -> None:
        """Go on with copies, so that a pass that is interrupted leaves the old state behind."""
        self._replace([array.copy() for array in self._per_machine()])
        self._logs = [log.copy() for log in self._logs]
        self._publish()
        if "_rng" in vars(self):
            self._rng = copy.deepcopy(self._rng)


def _at_least_two(classes: np.ndarray) -> np.ndarray:
    """Return the classes; a stream's only class so far is given a stand-in for its opposite."""
    return classes if len(classes) > 1 else np.append(classes, classes)
