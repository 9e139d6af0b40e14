"""What the perceptrons share: ``fit``, and learning as examples arrive.

``partial_fit`` takes some rows, ``learn_one`` a single example, as a vector or as a dict from feature
name to value; with dicts, new features may appear at any time and start with weight zero.

Two classes need not be announced: until the second label is seen, the first counts as −1, and if it
turns out to be the larger of the two the weights change sign. Since the update rule treats both
classes alike, the model is then exactly the one that knew both labels from the start.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.core.errors import BudgetWarning, InputError, warn
from maxmargin.core.history import Epoch, History, Trace
from maxmargin.core.parameters import check_bool, check_choice, check_count, random_generator
from maxmargin.estimators.base import LinearClassifierMixin, UnchangedOnError, chosen, combined
from maxmargin.estimators.perceptron_machine import (
    BinaryMachine,
    Log,
    Options,
    Task,
    prepare,
    read_start,
    solve_machines,
    summarise,
    told_of_budget,
)
from maxmargin.estimators.progress import CallbackSupportMixin, watching, with_callbacks
from maxmargin.estimators.validation import (
    check_factors,
    check_reach,
    names_of,
    read_features,
    read_training,
    read_validation,
    read_vector,
    read_weight,
    read_Xy,
)
from maxmargin.kernels.perceptron import MADE, SEEN, norm
from maxmargin.rows import Csr, CsrRows, DenseRows, Rows
from maxmargin.rows.training_data import (
    Machine,
    Part,
    TrainingData,
    build_machines,
    class_weights,
    encode,
    find_classes,
)
from maxmargin.solvers.perceptron.epochs import State
from maxmargin.solvers.problem import Examples, Solution, nobody
from maxmargin.stopping import AllCorrect, Cycle, MaxEpochs, StoppingRule, StopReason

MIN_ROOM = 8  # features that weights have room for; then twice as many as there are
NAN = float("nan")
ONLINE = StopReason(
    "online", "Learning as examples arrive: each was seen once, and no stopping rule applies."
)
T = TypeVar("T")


class OnlineClassifier(LinearClassifierMixin, CallbackSupportMixin, BaseEstimator, ABC):
    """A perceptron: ``fit``, ``partial_fit``, ``learn_one`` and ``predict_one``.

    A final class says how its machines are solved on given rows, and how they advance over new ones.
    """

    # Checks of scikit-learn that do not apply, each with its reason.
    _expected_failed_checks: ClassVar[dict[str, str]] = {
        f"check_sample_weight_equivalence_on_{kind}_data": "a run depends on the order of its rows: a "
        "weight of 2 is one longer step, a row that comes twice is two"
        for kind in ("dense", "sparse")
    }

    normalize: bool
    class_weight: Any
    stop: StoppingRule | None
    warm_start: bool
    random_state: Any
    record: bool
    verbose: int

    feature_index_: dict[Any, int]
    n_iter_: int
    n_mistakes_: int
    n_passes_: int  # over the partitions of a Dask collection
    bytes_moved_: int
    stop_reason_: StopReason
    history_: Any  # History of the only machine, or a dict of them by label
    trace_: Any  # Trace of the only machine, or a dict of them by label
    _state: State
    _logs: list[Log]
    _weighs_partitions = True  # whether rows in partitions may have weights

    @abstractmethod
    def _solve(self, task: Task) -> list[Solution]:
        """Run machines that share their rows."""

    @abstractmethod
    def _advance(self, examples: Examples, machines: Sequence[Machine]) -> np.ndarray:
        """Learn from some examples; return the mistakes of each machine in them."""

    @property
    def _pad(self) -> float:
        return 1.0 if self.fit_intercept else 0.0

    @property
    def _max_epochs(self) -> int | None:
        """Budget of epochs, for estimators that have one."""
        return getattr(self, "max_iter", None)

    @property
    def _averages(self) -> bool:
        """Whether averaged weights predict, for estimators that can."""
        return bool(getattr(self, "average", False))

    def _tracks_error(self, entries: int) -> bool:
        """Whether the training error is to be measured after every epoch, where that costs a pass."""
        return False

    def _check_params(self) -> None:
        for name in ("fit_intercept", "normalize", "warm_start", "record"):
            check_bool(name, getattr(self, name))
        check_choice("multi_class", self.multi_class, ("ovr", "ovo"))
        check_count("max_iter", self._max_epochs, none="no limit")
        check_count("verbose", self.verbose, least=0)
        if self.stop is not None and not isinstance(self.stop, StoppingRule):
            raise InputError(
                "stop must be None or a rule from maxmargin.stopping, such as MaxSeconds(60). "
                f"Got {self.stop!r} instead."
            )

    def _stopping_rule(self) -> StoppingRule:
        """Nothing left to learn, a proven cycle, the user's rules, the budget: in this order."""
        rule: StoppingRule = AllCorrect() | Cycle()
        if self.stop is not None:
            rule = rule | self.stop
        if self._max_epochs is not None:
            rule = rule | MaxEpochs(self._max_epochs)
        return rule

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit to training rows X with labels y.

        Parameters
        ----------
        X : array-like, sparse matrix or rows of a file, of shape (n, d)
            Training rows; float32 and float64 are used as they are, CSR without a copy. See
            :func:`maxmargin.open_rows` for files. A Dask array or data frame stays where it is.
        y : array-like of shape (n,)
            Labels; two or more distinct values. Rows of a file bring their own; for a Dask collection a
            Dask array or series with the same partitions.
        coef_init, intercept_init : array-like, optional
            Where to start: one row and one number per machine.
        X_val, y_val : array-like, optional
            Validation rows, here or in a Dask collection: their error is kept in ``history_`` and read
            by :class:`~maxmargin.stopping.ValidationErrorStalls`.
        sample_weight : array-like of shape (n,), optional
            A factor ≥ 0 on the steps for each row, as ``class_weight`` is for each class; for the pocket
            on its errors, too. Rows of weight 0 are left out. A weight of 2 is no row that comes twice.

        Returns
        -------
        self
            Fitted. If an error or Ctrl-C ends the fit, the estimator is as it was before.
        """
        with UnchangedOnError(self):
            self._check_params()
            going_on = self.warm_start and "classes_" in vars(self)
            classes = self.classes_ if going_on else None
            if going_on:
                self._check_scheme(("multi_class", "fit_intercept"))
            data = read_training(self, X, y, sample_weight, classes=classes)
            check_factors(None if data.here is None else data.here.weight)
            if data.here is None and sample_weight is not None and not self._weighs_partitions:
                raise InputError(
                    f"sample_weight must be None for Dask collections in {type(self).__name__}, which "
                    "counts errors by class there. Got weights instead. Use class_weight."
                )
            self._fit_data(data, (X, y), (coef_init, intercept_init), (X_val, y_val))
            codes = None if data.here is None else data.here.codes
            told = told_of_budget(self.stop_reason_, getattr(self, "order", ""), codes)
            if told:
                warn(told, BudgetWarning)
        return self

    def _fit_data(
        self,
        data: TrainingData,
        given: tuple[Any, Any] = (None, None),
        begin: tuple[Any, Any] = (None, None),
        held_out: tuple[Any, Any] = (None, None),
    ) -> None:
        """Solve, report how it is going, and hold what was learned."""
        rule, classes, d = self._stopping_rule(), data.classes, data.rows.d
        self.n_features_in_ = d
        rng = random_generator("random_state", self.random_state)
        validation = read_validation(self, *held_out, classes)
        options = self._options(data.entries)
        problem, machines = prepare(data, validation, rule.validation_fraction(), options, rng)
        start = read_start(*begin, (len(machines), d), self.fit_intercept)
        if start is None and self.warm_start and "classes_" in vars(self):
            start = self._state.Z.copy()
        fitted = {"classes_": classes, "n_features_in_": d, "_fitted_scheme": self._scheme()}

        def attributes(Z: np.ndarray) -> dict[str, Any]:
            return {**fitted, "_state": State.begin(Z)}

        watch = watching(self, *given, self._max_epochs, len(machines), attributes)
        observer = nobody if watch is None else watch.epoch
        with watch or nullcontext():
            task = Task(problem, machines, start, rule, rng, observer)
            solutions = solve_machines(self._solve, task, self.record)
        for name in ("feature_index_", "_rng", "_machines_key", "n_passes_", "bytes_moved_"):
            self.__dict__.pop(name, None)  # what a stream or partitions left behind
        self.classes_ = classes
        self._finish(machines, solutions)
        if data.rows.rounds:  # over the partitions of a collection
            self.n_passes_, self.bytes_moved_ = data.rows.rounds, data.rows.bytes_moved
            if validation is not None:
                self.bytes_moved_ += validation.rows.bytes_moved

    def _options(self, entries: int) -> Options:
        """What this estimator asks for, of rows with so many numbers."""
        names = "fit_intercept", "normalize", "multi_class", "class_weight", "record"
        asked = {name: getattr(self, name) for name in names}
        return Options(**asked, track_error=self._tracks_error(entries), names=names_of(self))

    def _finish(self, machines: list[Machine], solutions: list[Solution]) -> None:
        self._logs = [Log.of(m.label, s) for m, s in zip(machines, solutions, strict=True)]
        self._fitted_scheme = self._scheme()
        self._keep(solutions)
        self.n_iter_ = max([s.history.passed for s in solutions])
        self.n_mistakes_ = sum([s.mistakes for s in solutions])
        self.stop_reason_ = summarise([(log.label, log.reason) for log in self._logs])
        self._publish()

    def _keep(self, solutions: list[Solution]) -> None:
        """Hold the weights, and whatever else is needed to go on."""
        self._state = State.begin(np.array([s.state for s in solutions]), self._averages)
        for k, s in enumerate(solutions):
            self._state.U[k] = s.average
            if s.steps:  # where rows are counted
                self._state.counts[k, [SEEN, MADE]] = s.steps, s.mistakes

    def _publish(self) -> None:
        """Show histories and traces as they stand in the logs."""
        self.history_ = self._by_label([log.history for log in self._logs])
        self.__dict__.pop("trace_", None)
        if self._logs[0].trace is not None:
            self.trace_ = self._by_label([log.trace for log in self._logs])

    def _by_label(self, values: Sequence[T]) -> T | dict[Hashable, T]:
        """Return the only value of a binary problem, or those of all machines by label."""
        labels = [log.label for log in self._logs]
        return values[0] if len(values) == 1 else dict(zip(labels, values, strict=True))

    def _weights(self) -> np.ndarray:
        Z, d = self._state.predictors(), self.n_features_in_
        return Z if Z.shape[1] == d + 1 else np.column_stack([Z[:, :d], Z[:, -1]])

    @property
    def machines_(self) -> dict[Hashable, BinaryMachine]:
        """The binary machines by label (ovr), pair (ovo) or positive label (binary)."""
        weights = self._fitted_weights()
        return {log.label: log.machine(z) for log, z in zip(self._logs, weights, strict=True)}

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning with one pass over some rows, from wherever the weights are.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            New rows, or old ones again.
        y : array-like of shape (n,)
            Their labels.
        classes : array-like, optional
            All labels that will ever occur; needed in the first call unless ``fit`` came before.
        sample_weight : array-like of shape (n,), optional
            As in ``fit``; rows of weight 0 are visited, and change nothing.

        Returns
        -------
        self
        """
        with UnchangedOnError(self):
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
            weight = None if sample_weight is None else read_weight(sample_weight, rows.n)
            check_factors(weight)
            self._learn(Part(rows, encode(y, self.classes_), weight), passes=1)
        return self

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
        with UnchangedOnError(self):
            if "classes_" not in vars(self):
                self._check_params()
                known = np.array([y]) if classes is None else find_classes(np.asarray(classes))
                self._begin(known, 0 if isinstance(x, Mapping) else len(read_vector(x)))
                if isinstance(x, Mapping):
                    self.feature_index_ = {}
            self._check_scheme()
            labels = self.classes_.tolist()
            if len(labels) > 1 and y not in labels:
                encode(np.array([y]), self.classes_)  # refuses it, before anything changes
            rows = self._one_row(x, grow=True)
            self._meet(y)
            code = self.classes_.tolist().index(y)
            self._learn(Part(rows, np.array([code], dtype=np.int32)), passes=0)
        return self

    def predict_one(self, x: Any) -> Any:
        """Return the label of one example (vector or dict); None before any label is known."""
        if "classes_" not in vars(self):
            return None
        examples = Examples(self._one_row(x, grow=False), np.empty(0), 1.0)
        return self._labels_of(examples.decisions(self._state.predictors())).tolist()[0]

    def _labels_of(self, F: np.ndarray) -> np.ndarray:
        """Return labels from the decision values of the machines, one row each."""
        classes = self.classes_
        return chosen(combined(F, len(classes), self._fitted_scheme["multi_class"]), classes)

    def _check_scheme(self, names: Collection[str] | None = None) -> None:
        """Refuse to go on with parameters under which the weights at hand mean something else."""
        now = self._scheme()
        for name, before in self._fitted_scheme.items():
            if now[name] != before and (names is None or name in names):
                raise InputError(
                    f"{name} must stay as it was when learning began, {before!r}. "
                    f"Got {now[name]!r} instead. Set it back, or fit anew."
                )

    def _begin(self, classes: np.ndarray, d: int) -> None:
        """Start from zero weights."""
        self.classes_, self.n_features_in_ = classes, d
        zero = np.zeros(d + 1)
        machines = self._machines_on(np.empty(0, dtype=np.int64))
        average = zero if self._averages else zero[:0]
        traces = [Trace(zero.copy()) if self.record else None for _ in machines]
        blank = [Solution(zero, ONLINE, History(), zero, 0, trace, average) for trace in traces]
        self._finish(machines, blank)

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
            for array in self._state.weights():
                np.subtract(0.0, array, out=array)
            log.trace = None if log.trace is None else log.trace.negated()
            self._publish()

    def _learn(self, part: Part, passes: int) -> None:
        if "_rng" not in vars(self):
            self._rng = random_generator("random_state", self.random_state)
        if self._state.Z.shape[1] != part.rows.d + 1:
            self._state = self._state.widened(part.rows.d)
        examples = Examples.of(part, self._pad, self.normalize)
        mistakes = self._advance(examples, self._machines_on(part.codes))
        self.n_iter_ += passes
        self.n_mistakes_ += int(mistakes.sum())
        self.stop_reason_ = ONLINE
        for k, log in enumerate(self._logs):
            log.mistakes += int(mistakes[k])
            log.reason = ONLINE
            if passes:
                length = float(norm(self._state.predictors()[k]))
                epoch = Epoch(log.history.passed + 1, int(mistakes[k]), NAN, NAN, length, NAN)
                log.history.append(epoch)

    def _machines_on(self, codes: np.ndarray) -> list[Machine]:
        """Return the machines with these rows as members; what does not depend on them is kept."""
        key = (self.class_weight, self.multi_class, tuple(self.classes_.tolist()))
        if getattr(self, "_machines_key", None) != key:
            none, classes = np.empty(0, dtype=np.int64), self.classes_
            weights = class_weights(self.class_weight, classes)
            if len(classes) == 1:  # a stand-in for the opposite of a stream's only class so far
                classes, weights = np.append(classes, classes), np.append(weights, 1.0)
            self._machines_kept = build_machines(classes, none, self.multi_class, none, weights)
            self._machines_key = key
        if len(self.classes_) <= 2 or self.multi_class == "ovr":
            everything = np.arange(len(codes))
            return [replace(machine, members=everything) for machine in self._machines_kept]
        return [machine.on(codes) for machine in self._machines_kept]

    def _detach(self) -> None:
        """Go on with copies, so that a pass that is interrupted leaves the old state behind."""
        self._state = self._state.copy()
        self._logs = [log.copy() for log in self._logs]
        self._publish()
        if "_rng" in vars(self):
            self._rng = copy.deepcopy(self._rng)

    def _one_row(self, x: Any, grow: bool) -> Rows:
        """Return one example as rows."""
        if not isinstance(x, Mapping):
            v = read_vector(x)
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
        values = read_features(known)
        new = [name for name in known if name not in names]
        if new:
            names.update({name: len(names) + j for j, name in enumerate(new)})
            self.n_features_in_ = len(names)
            self.__dict__.pop("feature_names_in_", None)  # they no longer name all features
        room = self._state.Z.shape[1] - 1
        if len(names) > room:
            room = max(MIN_ROOM, 2 * len(names))
            self._state = self._state.widened(room)
        columns = np.array([names[name] for name in known], dtype=np.int64)
        order = np.argsort(columns)
        ends = np.array([0, len(columns)], dtype=np.int64)
        return check_reach(CsrRows(Csr(values[order], columns[order], ends), (1, room)))
