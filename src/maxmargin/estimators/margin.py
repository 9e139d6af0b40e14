"""``fit`` of the margin machines: from labels to machines, and what is said when it is over."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.verdict import Verdict
from maxmargin.cluster.collections import is_remote
from maxmargin.core.errors import BudgetWarning, InputError, NotSeparableError
from maxmargin.core.labels import encode, find_classes
from maxmargin.core.params import check_bool, check_choice, check_count, check_jobs, check_number
from maxmargin.core.phrases import some
from maxmargin.core.warning import warn
from maxmargin.estimators.base import unchanged_on_error
from maxmargin.estimators.complaints import read_weight
from maxmargin.estimators.door import check_reach, names_of, read_Xy, remote
from maxmargin.estimators.machines import build_machines
from maxmargin.estimators.marginmachine import MarginAttributes, MarginMachine
from maxmargin.estimators.marginsolving import Weighted, solve_machines
from maxmargin.estimators.progress import Watch, with_callbacks
from maxmargin.rows import Rows
from maxmargin.solvers.margin.choice import SOLVERS
from maxmargin.solvers.margin.frame import NotFiniteError
from maxmargin.solvers.margin.tasks import Start
from maxmargin.solvers.problem import Machine

__all__ = ["MarginClassifier", "shortfall"]


class MarginClassifier(MarginAttributes):
    """Common parameters and ``fit``; see the two subclasses."""

    tol: float
    max_passes: int | None
    max_seconds: float | None
    solver: str
    n_jobs: int | None
    verbose: int
    _solvers: tuple[str, ...] = SOLVERS

    @abstractmethod
    def _bounds(self, machine: Machine, codes: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
        """C_i for each row of a machine, or None for a hard margin."""

    @abstractmethod
    def _problem(self) -> str:
        """The problem in words, for the certificate."""

    def _starts(self, machines: Sequence[Machine], rows: Rows) -> list[Start | None]:
        """Where each machine may begin."""
        return [None] * len(machines)

    def _class_weights(self, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """One factor per class."""
        return np.ones(len(classes))

    def _check_params(self) -> None:
        check_bool("fit_intercept", self.fit_intercept)
        check_choice("multi_class", self.multi_class, ("ovr", "ovo"))
        check_number("tol", self.tol, above=0, below=1)
        check_count("max_passes", self.max_passes, none="no limit")
        check_count("verbose", self.verbose, least=0)
        check_choice("solver", self.solver, self._solvers)
        check_jobs(self.n_jobs)
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, above=0, remedy="None means no limit.")

    @unchanged_on_error
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
        self._check_params()
        if is_remote(X):
            remote("margin").fit_margins(self, X, y, sample_weight)
            return self
        rows, y = read_Xy(self, X, y, check=False)
        weight = self._read_weight(sample_weight, rows)
        self._fit_rows(X, y, rows, weight)
        self.__dict__.pop("bytes_moved_", None)
        return self

    def _read_weight(self, sample_weight: Any, rows: Rows) -> np.ndarray:
        return np.ones(rows.n) if sample_weight is None else read_weight(sample_weight, rows.n)

    def _fit_rows(self, X: Any, y: np.ndarray, rows: Rows, weight: np.ndarray) -> None:
        kept = np.flatnonzero(weight) if not weight.all() else np.arange(rows.n)
        classes = find_classes(y[kept]) if len(kept) < rows.n else find_classes(y)
        codes = np.zeros(rows.n, dtype=np.int32)
        codes[kept] = encode(y[kept], classes) if len(kept) < rows.n else encode(y, classes)
        factors = self._class_weights(classes, codes[kept], weight[kept])
        machines = build_machines(classes, codes, self.multi_class, kept, factors)
        self.classes_ = classes

        def attributes(Z: np.ndarray) -> dict[str, Any] | None:
            if len(Z) < len(machines):
                return None
            fitted = {"classes_": classes, "n_features_in_": rows.d, "_fitted_scheme": self._scheme()}
            return {**fitted, "_Z": Z.copy()}

        with Watch(self, X, y, None, attributes) as watch:
            try:
                solved = solve_machines(self, Weighted(rows, codes, weight), machines, watch)
            except NotFiniteError:
                check_reach(rows, training=True, names=names_of(self))  # says where
                raise InputError(
                    "X must hold numbers whose products stay within the range of doubles. "
                    "Got some that do not instead. Scale the largest features down."
                ) from None
        self._refuse(machines, [verdict for verdict, _ in solved])
        self._publish([machine for _, machine in solved if machine is not None])
        self._warn()

    def _refuse(self, machines: list[Machine], verdicts: list[Verdict | None]) -> None:
        """Raise if some machine has no solution."""
        pairs = zip(machines, verdicts, strict=True)
        bad = {m.label: v for m, v in pairs if v is not None and not v.separable}
        if not bad:
            return
        remedy = "Use SoftMarginSVC(C=…), which allows for slack."
        if len(machines) == 1:
            message = f"no plane separates the two classes: {next(iter(bad.values())).witness}. {remedy}"
            raise NotSeparableError(message, bad)
        kind = "classes are not separable from the rest"
        if self.multi_class == "ovo":
            kind = "pairs of classes are not separable"
        message = f"{len(bad)} of {len(machines)} {kind}: {some(list(bad), 5, repr)}. {remedy}"
        raise NotSeparableError(message, bad)

    def _publish(self, machines: list[MarginMachine]) -> None:
        self.machines_ = {machine.label: machine for machine in machines}
        self._Z = np.array([np.append(m.coef_, m.intercept_) for m in self.machines_.values()])
        self._fitted_scheme = self._scheme()
        self.n_passes_ = max(m.n_passes_ for m in self.machines_.values())
        self.n_iter_ = self.n_passes_

    def _warn(self) -> None:
        """Say it if a budget ended the work, or rounding did."""
        short = shortfall(self.certificate_, self.tol)
        if short:
            passes = f"after {self.n_passes_} passes"
            warn(f"{type(self).__name__} {short}, {passes}. {self._remedy()}", BudgetWarning)

    def _remedy(self) -> str:
        if self.certificate_.primal == math.inf:
            return "Raise max_passes or max_seconds, or use SoftMarginSVC(C=…), which allows for slack."
        if self.max_passes is not None or self.max_seconds is not None:
            return "Raise max_passes or max_seconds, or raise tol."
        return self._stalled()

    def _stalled(self) -> str:
        return (
            "All solvers stalled there, for want of digits. Features of one size help "
            "(StandardScaler), or a larger tol."
        )


def shortfall(found: Certificate, tol: float) -> str:
    """How far the optimum is at most if the work stopped early; empty if the gap is within ``tol``."""
    if found.relative_gap <= tol:
        return ""
    far = "no bound on its distance from the optimum is known yet"
    if found.primal == math.inf:
        far = "no plane that separates the classes was found, nor a proof that there is none"
    elif math.isfinite(found.gap) and found.dual > 0.0:
        far = f"the objective is above the optimum by at most {100 * found.gap / found.dual:.3g} %"
    return f"stopped before the relative gap was {tol:g}: {far}"
