"""Learning as examples arrive: the online protocol "receive x, predict, see y, suffer a mistake".

``partial_fit`` takes some rows, ``learn_one`` a single example, as a vector or as a dict from feature
name to value; with dicts, new features may appear at any time and start with weight zero.

Two classes need not be announced: until the second label is seen, the first counts as −1, and if it
turns out to be the larger of the two the weights change sign. Since the update rule treats both
classes alike, the model is then exactly the one that knew both labels from the start.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.history import Epoch, History
from maxmargin.core.labels import class_weights, encode, find_classes
from maxmargin.core.params import random_generator
from maxmargin.core.rules import StopReason
from maxmargin.core.trace import Trace
from maxmargin.estimators.base import unchanged_on_error
from maxmargin.estimators.door import read_Xy
from maxmargin.estimators.growing import GrowingPerceptron, vector
from maxmargin.estimators.machines import build_machines
from maxmargin.rows import Rows
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.problem import Machine, Solution

__all__ = ["ONLINE", "StreamPerceptron"]

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
