"""What estimators made of margin machines share: parameters, ``fit`` and fitted attributes."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import BudgetWarning, Message, NotSeparableError, Remedy, listed, warn
from maxmargin.core.parameters import check_bool, check_choice, check_count, check_jobs, check_number
from maxmargin.estimators.base import LinearClassifierMixin, UnchangedOnError
from maxmargin.estimators.margin_machine import Before, MarginMachine, Options, solve_machines
from maxmargin.estimators.progress import CallbackSupportMixin, Watch, watching, with_callbacks
from maxmargin.estimators.small_machines import SmallMachines, solve_small_machines
from maxmargin.estimators.validation import names_of, out_of_range, read_training
from maxmargin.rows.partitions import split
from maxmargin.rows.training_data import (
    Machine,
    Part,
    Partitions,
    TrainingData,
    class_weights,
    machine_count,
    machines_of,
    matrix_of,
    stacked,
)
from maxmargin.solvers.margin.coordinates import NotFiniteError
from maxmargin.solvers.margin.solve import SOLVERS


class MarginClassifier(LinearClassifierMixin, CallbackSupportMixin, BaseEstimator, ABC):
    """What estimators made of margin machines share: parameters, ``fit`` and fitted attributes."""

    C: float  # of those that have one
    tol: float
    max_passes: int | None
    max_seconds: float | None
    solver: str
    n_jobs: int | None
    verbose: int
    _solvers: tuple[str, ...] = SOLVERS

    machines_: Mapping[Hashable, MarginMachine]
    n_passes_: int
    n_iter_: int
    bytes_moved_: int  # over the partitions of a Dask collection
    _Z: np.ndarray
    _rows: Partitions  # the training rows, which support vectors are looked up in
    _support_vectors: Any
    _n_support: np.ndarray

    def _options(self) -> Options:
        """What this estimator asks for."""
        names = "fit_intercept", "tol", "max_passes", "max_seconds", "solver", "n_jobs"
        asked = {name: getattr(self, name) for name in names}
        known = vars(self).get("machines_") if getattr(self, "warm_start", False) else None
        return Options(
            C=getattr(self, "C", None),
            labels=self.classes_.tolist(),
            names=names_of(self),
            before=Before(known, self.C / self._fitted_C) if known else Before(),
            **asked,
        )

    def _check_params(self) -> None:
        check_bool("fit_intercept", self.fit_intercept)
        check_choice("multi_class", self.multi_class, ("ovr", "ovo"))
        check_number("tol", self.tol, above=0, below=1)
        check_count("max_passes", self.max_passes, none="no limit")
        check_count("verbose", self.verbose, least=0)
        check_choice("solver", self.solver, self._solvers)
        check_jobs(self.n_jobs)
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, above=0, remedy=Remedy("None means no limit"))

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to training rows X with labels y.

        Parameters
        ----------
        X : array-like, sparse matrix or rows of a file, of shape (n, d)
            Training rows; float32 and float64 are used as they are, CSR without a copy. All arithmetic
            is in doubles, so float32 data has the certificate of the same numbers as doubles. See
            :func:`maxmargin.open_rows` for files. A Dask array or data frame stays where it is: its
            partitions answer small questions in a few rounds.
        y : array-like of shape (n,)
            Labels; two or more distinct values. Rows of a file bring their own; for a Dask collection a
            Dask array or series with the same partitions.
        sample_weight : array-like of shape (n,), optional
            Weights ≥ 0: a weight of 2 is the same as the row given twice, 0 as leaving it out. For a
            Dask collection a Dask array or series with the same partitions.

        Returns
        -------
        self
            Fitted. If an error or Ctrl-C ends the fit, the estimator is as it was before.
        """
        with UnchangedOnError(self):
            self._check_params()
            self._fit_data(read_training(self, X, y, sample_weight, check=False), X, y)
        return self

    def _fit_data(self, data: TrainingData, X: Any = None, y: Any = None) -> None:
        """Fit to rows that have been read; X and y are what callbacks are told."""
        classes = data.classes
        weight = getattr(self, "class_weight", None)
        factors = class_weights(weight, classes, np.arange(len(classes)), data.weights)
        self.classes_, self.n_features_in_ = classes, data.rows.d

        fitted = {"classes_": classes, "n_features_in_": data.rows.d, "_fitted_scheme": self._scheme()}

        def attributes(Z: np.ndarray) -> dict[str, Any]:
            return {**fitted, "_Z": Z.copy()}

        watch = watching(self, X, y, None, machine_count(len(classes), self.multi_class), attributes)
        self._publish(self._solved(data, factors, watch))
        for name in ("_support_vectors", "_n_support"):
            self.__dict__.pop(name, None)  # of an earlier fit
        self._rows = data.rows
        self.__dict__.pop("bytes_moved_", None)
        if data.rows.bytes_moved:
            self.bytes_moved_ = data.rows.bytes_moved
        short = shortfall(self)
        if short:
            warn(short, BudgetWarning)

    def _solved(
        self, data: TrainingData, factors: np.ndarray, watch: Watch | None
    ) -> Mapping[Hashable, MarginMachine]:
        """The machines by their labels: many small ones together, others one by one."""
        options = self._options()
        known = None if watch else solve_small_machines(data, self.multi_class, factors, options)
        if known is not None and not known.unsolved:
            return known
        machines = machines_of(data, self.multi_class, factors)
        rest = machines if known is None else [machines[k] for k in known.unsolved]
        with watch or nullcontext():
            try:
                found = solve_machines(data, rest, options, None if watch is None else watch.step)
            except NotFiniteError:
                raise out_of_range(data, names_of(self)) from None
        self._refuse(rest, [verdict for verdict, _ in found], len(machines))
        solved = {machine.label: machine for _, machine in found if machine is not None}
        if known is None:
            return solved
        known.update(solved)
        return known

    def _refuse(self, machines: list[Machine], verdicts: list[Verdict | None], count: int) -> None:
        """Raise if some machine has no solution, of so many in all."""
        pairs = zip(machines, verdicts, strict=True)
        bad = {m.label: v for m, v in pairs if v is not None and v.kind in ("touching", "overlapping")}
        if not bad:
            return
        if count == 1:
            facts = f"no plane separates the two classes: {next(iter(bad.values())).witness}."
            raise NotSeparableError(facts, bad, SLACK)
        kind = "classes are not separable from the rest"
        if self.multi_class == "ovo":
            kind = "pairs of classes are not separable"
        facts = f"{len(bad)} of {count} {kind}: {listed(list(bad), 5, repr)}."
        raise NotSeparableError(facts, bad, SLACK)

    def _publish(self, machines: Mapping[Hashable, MarginMachine]) -> None:
        self.machines_ = machines
        if isinstance(machines, SmallMachines):
            self._Z, passes = machines.Z, machines.n_passes
        else:
            self._Z = np.array([np.append(m.coef_, m.intercept_) for m in machines.values()])
            passes = max([machine.n_passes_ for machine in machines.values()])
        self._fitted_scheme = self._scheme()
        self.n_passes_ = self.n_iter_ = passes
        if "C" in vars(self):
            self._fitted_C = float(self.C)

    def _weights(self) -> np.ndarray:
        return self._Z

    def _each(self, name: str) -> Any:
        """The value of the only machine, or one row (or entry) per machine."""
        values = [getattr(machine, name) for machine in self._fitted(name)]
        return values[0] if len(values) == 1 else np.array(values)

    def _of_any(self, name: str) -> np.ndarray:
        """The rows of any machine, ascending."""
        return np.unique(np.concatenate([getattr(m, name) for m in self._fitted(name)]))

    def _fitted(self, name: str) -> list[MarginMachine]:
        """The machines, of which an attribute is asked for."""
        if "machines_" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} has no {name} before fit.")
        return list(self.machines_.values())

    @property
    def margin_(self) -> Any:
        """1/‖w‖; with more than two classes one per machine."""
        return self._each("margin_")

    @property
    def slab_width_(self) -> Any:
        """2/‖w‖; with more than two classes one per machine."""
        return self._each("slab_width_")

    @property
    def dual_(self) -> np.ndarray:
        """α_i for every training row; with more than two classes one row per machine."""
        return np.asarray(self._each("dual_"))

    @property
    def slack_(self) -> np.ndarray:
        """ξ_i for every training row; with more than two classes one row per machine."""
        return np.asarray(self._each("slack_"))

    @property
    def support_(self) -> np.ndarray:
        """Training rows with α_i > 0, of any machine."""
        return self._of_any("support_")

    @property
    def support_vectors_(self) -> Any:
        """The rows of ``support_``, dense or CSR as in training; see the class."""
        if "_support_vectors" not in vars(self):
            found = self._of_support(_matrix, "support_vectors_", "X[model.support_] selects them")
            self._support_vectors = matrix_of(stacked(found))
        return self._support_vectors

    @property
    def n_support_(self) -> np.ndarray:
        """How many rows of ``support_`` each class has; see the class."""
        if "_n_support" not in vars(self):
            found = self._of_support(_codes, "n_support_", "y[model.support_] are their labels")
            self._n_support = np.bincount(np.concatenate(found), minlength=len(self.classes_))
        return self._n_support

    def _of_support(self, function: Callable[[Part, np.ndarray], Any], name: str, remedy: str) -> Any:
        """What partitions of the training rows answer about the rows of ``support_``: one pass."""
        self._fitted(name)
        if "_rows" not in vars(self):
            raise AttributeError(
                f"{name} is looked up in the training rows when it is first asked for, and this model "
                f"has none: it was loaded, copied or unpickled. With training rows X and labels y, "
                f"{remedy}."
            )
        return self._rows.each(function, own=split(self._rows, self.support_))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training rows behind."""
        return {k: v for k, v in super().__getstate__().items() if k != "_rows"}

    @property
    def certificate_(self) -> Certificate:
        """The certificate; with more than two classes that of the machine with the largest gap."""
        if "machines_" not in vars(self):
            self._fitted("certificate_")
        machines = self.machines_
        if isinstance(machines, SmallMachines):
            worst = machines[machines.worst]
        else:
            worst = max(machines.values(), key=lambda machine: machine.certificate_.relative_gap)
        proof: Certificate = worst.certificate_
        if len(machines) == 1:
            return proof
        whose = f"{worst.label!r}, the largest gap of {len(machines)} machines"
        return replace(proof, problem=f"{proof.problem}: {whose}")

    @property
    def solver_(self) -> str:
        """How the machines were found: "newton", "descent", or "mixed" (both)."""
        words = {m.solver_ for m in self._fitted("solver_")}
        return words.pop() if len(words) == 1 else "mixed"

    @property
    def free_support_(self) -> np.ndarray:
        """Training rows with 0 < α_i < C_i in some machine: they lie on the edges of its slab."""
        return self._of_any("free_support_")

    @property
    def bound_support_(self) -> np.ndarray:
        """Training rows with α_i = C_i in some machine: inside its slab, or on the wrong side."""
        return self._of_any("bound_support_")


def _matrix(part: Part, numbers: np.ndarray) -> Any:
    return matrix_of(part.rows.select(numbers))


def _codes(part: Part, numbers: np.ndarray) -> np.ndarray:
    return np.asarray(part.codes[numbers])


SLACK = Remedy("use {}, which allows for slack", "model", "SoftMarginSVC")


def shortfall(model: MarginClassifier) -> Message | None:
    """Return how far the optimum is at most if the work stopped early; None if it did not."""
    found, tol = model.certificate_, model.tol
    if found.relative_gap <= tol:
        return None
    far = "no bound on its distance from the optimum is known yet"
    if found.primal == math.inf:
        far = "no plane that separates the classes was found, nor a proof that there is none"
    elif math.isfinite(found.gap) and found.dual > 0.0:
        far = f"the objective is above the optimum by at most {100 * found.gap / found.dual:.3g} %"
    facts = (
        f"{type(model).__name__} stopped before the relative gap was {tol:g}: {far}, after "
        f"{model.n_passes_} passes."
    )
    more = [Remedy("raise {}", "max_passes"), Remedy("raise {}", "max_seconds")]
    if found.primal == math.inf:
        return Message(facts, *more, SLACK)
    if model.max_passes is not None or model.max_seconds is not None:
        return Message(facts, *more, Remedy("raise {}", "tol"))
    alike = Remedy("scale the features to one size, as StandardScaler does")
    smaller = [Remedy("choose a smaller {}", "C")] if "C" in vars(model) else []
    stalled = f"{facts} All solvers stalled there, for want of digits."
    return Message(stalled, alike, *smaller, Remedy("choose a larger {}", "tol"))
