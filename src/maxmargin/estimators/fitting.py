"""``fit`` of the three perceptrons: they differ in how a list of machines is solved."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
from sklearn.model_selection import train_test_split

from maxmargin.cluster.collections import is_remote
from maxmargin.core.errors import BudgetWarning, InputError, warn
from maxmargin.core.labels import class_weights, encode, find_classes
from maxmargin.core.parameters import check_bool, check_choice, check_count, random_generator
from maxmargin.estimators.base import LinearClassifier, unchanged_on_error
from maxmargin.estimators.multiclass import BinaryMachine, Log, build_machines, summarise
from maxmargin.estimators.progress import Watch, with_callbacks
from maxmargin.estimators.validation import feature_names, read_start, read_X, read_Xy, remote
from maxmargin.rows import Rows
from maxmargin.solvers.examples import Examples, HeldOut
from maxmargin.solvers.problem import Machine, Measured, Observer, Problem, Solution
from maxmargin.stopping import AllCorrect, Cycle, MaxEpochs, StoppingRule, StopReason

if TYPE_CHECKING:
    from maxmargin.certificates.verdict import Verdict
    from maxmargin.rows.survey import TrainingData
    from maxmargin.solvers.perceptron.online_partitions import RemoteExamples

T = TypeVar("T")


class PerceptronBase(LinearClassifier):
    """Common parameters and ``fit``; see the three subclasses."""

    normalize: bool
    class_weight: Any
    stop: StoppingRule | None
    warm_start: bool
    random_state: Any
    record: bool
    verbose: int

    n_iter_: int
    n_mistakes_: int
    n_passes_: int  # over the partitions of a Dask collection
    bytes_moved_: int
    stop_reason_: StopReason
    history_: Any  # History of the only machine, or a dict of them by label
    trace_: Any  # Trace of the only machine, or a dict of them by label

    @abstractmethod
    def _solve(
        self,
        problem: Problem[Examples],
        machines: Sequence[Machine],
        start: np.ndarray | None,
        rng: np.random.Generator,
        observer: Observer,
    ) -> list[Solution]:
        """Run machines that share their rows."""

    @abstractmethod
    def _running_weights(self) -> np.ndarray:
        """Return z of each machine as the algorithm left them: where a warm start goes on."""

    @abstractmethod
    def _attributes(self, Z: np.ndarray) -> dict[str, Any]:
        """Return the private attributes with which weights Z predict."""

    @abstractmethod
    def _keep(self, solutions: list[Solution]) -> None:
        """Store the weights (and whatever else is needed to go on)."""

    @abstractmethod
    def _solve_remote(
        self,
        problem: Problem[RemoteExamples],
        data: TrainingData,
        machines: Sequence[Machine],
        start: np.ndarray | None,
        rng: np.random.Generator,
        observer: Observer,
    ) -> list[Solution]:
        """Run machines on rows in partitions."""

    def _tracks_error(self, entries: int) -> bool:
        """Whether the training error is to be measured after every epoch, where that costs a pass."""
        return False

    @property
    def _max_epochs(self) -> int | None:
        """Budget of epochs, for estimators that have one."""
        return getattr(self, "max_iter", None)

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

    def _examples(self, rows: Rows, codes: np.ndarray) -> Examples:
        return Examples.of(rows, codes, self._pad, self.normalize)

    @unchanged_on_error
    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        X_val: Any = None,
        y_val: Any = None,
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

        Returns
        -------
        self
            Fitted. If an error or Ctrl-C ends the fit, the estimator is as it was before.
        """
        self._check_params()
        if is_remote(X):
            remote("perceptron").fit_perceptron(self, X, y, coef_init, intercept_init, X_val, y_val)
            self._warn()
            return self
        going_on = self.warm_start and "classes_" in vars(self)
        rows, y = read_Xy(self, X, y, reset=not going_on)
        classes = self.classes_ if going_on else find_classes(y)
        codes = encode(y, classes)
        rule = self._stopping_rule()
        rng = random_generator("random_state", self.random_state)
        training = self._examples(rows, codes)
        rows_in, problem = self._problem(training, classes, rule, X_val, y_val, rng)

        def verdict(machine: Machine) -> Verdict:
            # Imported on use: a perceptron that is not asked for a proof does not wait for it.
            from maxmargin.estimators.separability import Labelled, Options, judge

            data = Labelled(rows, classes, codes, feature_names(self, rows.d))
            question = data.question(machine, Options(self.fit_intercept))
            return judge(replace(question, partial=len(rows_in) < rows.n))  # some rows are held out

        problem = replace(problem, verdict=verdict)
        weights = class_weights(self.class_weight, classes, codes)
        machines = build_machines(classes, codes, self.multi_class, rows_in, weights)
        start = self._start(coef_init, intercept_init, len(machines), rows.d)
        for name in ("n_passes_", "bytes_moved_"):
            self.__dict__.pop(name, None)  # what partitions left behind
        self._watched(
            machines,
            classes,
            (X, y),
            lambda observer: self._solve_groups(problem, machines, start, rng, observer),
        )
        self._warn()
        return self

    def _start(self, coef_init: Any, intercept_init: Any, machines: int, d: int) -> np.ndarray | None:
        """Where to begin: as told, or where a warm start goes on; None: wherever is usual."""
        start = read_start(coef_init, intercept_init, (machines, d), self.fit_intercept)
        if start is None and self.warm_start and "classes_" in vars(self):
            start = self._running_weights().copy()
        return start

    def _watched(
        self,
        machines: list[Machine],
        classes: np.ndarray,
        given: tuple[Any, Any],
        solve: Callable[[Observer], list[Solution]],
    ) -> None:
        """Solve, let the world know how it is going, and keep the result."""
        d = self.n_features_in_

        def attributes(Z: np.ndarray) -> dict[str, Any] | None:
            if len(Z) < len(machines):  # some have stopped, or run on their own
                return None
            fitted = {"classes_": classes, "n_features_in_": d, "_fitted_scheme": self._scheme()}
            return fitted | self._attributes(Z.copy())

        with Watch(self, *given, self._max_epochs, attributes) as watch:
            solutions = solve(watch.epoch)
        for name in ("feature_index_", "_rng", "_machines_key"):
            self.__dict__.pop(name, None)  # what a stream left behind
        self.classes_ = classes
        self._finish(machines, solutions)

    def _problem(
        self,
        training: Examples,
        classes: np.ndarray,
        rule: StoppingRule,
        X_val: Any,
        y_val: Any,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, Problem[Examples]]:
        """Return which rows train, and the problem with its validation rows."""
        n = training.rows.n
        track = self._tracks_error(training.rows.entries)
        everything = np.arange(n)
        validation = self._validation(X_val, y_val, classes)
        if validation is not None:
            return everything, Problem(training, validation, track)
        fraction = rule.validation_fraction()
        if fraction is None:
            return everything, Problem(training, None, track)
        try:
            train, held_out = train_test_split(
                everything,
                test_size=fraction,
                stratify=training.codes,
                random_state=int(rng.integers(2**31)),
            )
        except ValueError as error:
            raise InputError(
                f"the validation split needs enough rows of every class. Got {n} rows: {error} "
                "Pass X_val and y_val, or choose another fraction."
            ) from error
        return np.sort(train), Problem(training, HeldOut(training, np.sort(held_out)), track)

    def _validation(self, X_val: Any, y_val: Any, classes: np.ndarray) -> Measured | None:
        """The user's own validation rows."""
        if (X_val is None) != (y_val is None):
            raise InputError("X_val and y_val must be given together. Got only one of them.")
        if X_val is None:
            return None
        if is_remote(X_val):
            return cast(Measured, remote("perceptron").validation_of(self, X_val, y_val, classes))
        rows, labels = read_X(self, X_val), np.asarray(y_val)
        if labels.shape != (rows.n,):
            raise InputError(
                f"y_val must hold one label per row of X_val, {rows.n} in all. "
                f"Got shape {labels.shape} instead."
            )
        return HeldOut(Examples(rows, encode(labels, classes), self._pad), np.arange(rows.n))

    def _solve_groups(
        self,
        problem: Problem[Examples],
        machines: list[Machine],
        start: np.ndarray | None,
        rng: np.random.Generator,
        observer: Observer,
    ) -> list[Solution]:
        """Machines on the same rows run together; pairs of one-vs-one, and recorded runs, alone."""
        together = machines[0].members is machines[-1].members and not self.record
        groups = [np.s_[:]] if together else [np.s_[k : k + 1] for k in range(len(machines))]
        solutions: list[Solution] = []
        for group in groups:
            part = None if start is None else start[group]
            solutions += self._solve(problem, machines[group], part, rng, observer)
        return solutions

    def _finish(self, machines: list[Machine], solutions: list[Solution]) -> None:
        self._logs = [Log(m.label, s) for m, s in zip(machines, solutions, strict=True)]
        self._fitted_scheme = self._scheme()
        self._keep(solutions)
        self.n_iter_ = max(s.history.passed for s in solutions)
        self.n_mistakes_ = sum(s.mistakes for s in solutions)
        self.stop_reason_ = summarise([(log.label, log.reason) for log in self._logs])
        self._publish()

    def _publish(self) -> None:
        """Show histories and traces as they stand in the logs."""
        self.history_ = self._by_label({log.label: log.history for log in self._logs})
        self.__dict__.pop("trace_", None)
        traces = {log.label: log.trace for log in self._logs if log.trace is not None}
        if traces:
            self.trace_ = self._by_label(traces)

    def _by_label(self, values: dict[Hashable, T]) -> T | dict[Hashable, T]:
        """Return the only value of a binary problem, or all of them by label."""
        return next(iter(values.values())) if len(values) == 1 else values

    @property
    def machines_(self) -> dict[Hashable, BinaryMachine]:
        """The binary machines by label (ovr), pair (ovo) or positive label (binary)."""
        weights = self._fitted_weights()
        return {log.label: log.machine(z) for log, z in zip(self._logs, weights, strict=True)}

    def _warn(self) -> None:
        """Say it if a budget of epochs ended the run."""
        if "max_epochs" in self.stop_reason_.rule.split(" + "):
            warn(str(self.stop_reason_), BudgetWarning)
