"""Choose C by cross-validation over warm-started paths."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable

from maxmargin.estimators.base import UnchangedOnError
from maxmargin.estimators.margin_classifier import MarginClassifier
from maxmargin.estimators.small_machines import ROWS_AT_ONCE
from maxmargin.estimators.soft_margin import SoftMarginSVC, read_Cs
from maxmargin.estimators.validation import read_weight, read_Xy
from maxmargin.kernels.small_memory import PRIMAL
from maxmargin.rows import DenseRows, Rows
from maxmargin.rows.training_data import encode, find_classes, plain_labels
from maxmargin.solvers.margin.small import SETTINGS as SMALL
from maxmargin.solvers.margin.small import Batch, is_small, locked, solve_batch

MIN_SECONDS = 1e-9  # seconds: the machine does its first passes


@dataclass(eq=False, repr=False)
class SoftMarginSVCCV(MarginClassifier):
    """A soft-margin machine whose C is chosen by cross-validation.

    On every fold the path over all C is followed from the smallest to the largest, each solution
    starting from the one before it. The C with the best mean score wins, the smallest of several; then
    the machine is fitted to all rows.

    Parameters
    ----------
    Cs : int or list of float, default 10
        The values of C, or how many, on a logarithmic scale from 1e-4 to 1e4.
    cv : int, splitter or iterable, optional
        As in scikit-learn: None means 5 stratified folds.
    scoring : str or callable, optional
        A scorer of scikit-learn; accuracy by default.
    fit_intercept, multi_class, class_weight, tol, max_passes, solver
        As in :class:`SoftMarginSVC`, for every machine.
    max_seconds : float, optional
        Seconds for the whole of ``fit``, all folds and the final machine; None means no limit. Every
        fold may take an equal share of what is left, and so may the final machine. In a fold the smaller
        C come first; one for which there is no time has the score of the one before it, and so is never
        chosen before it. A machine that has begun does its first passes, however little is left.
    n_jobs : int, optional
        Folds that run side by side, in threads; then machines of the final fit. None means 1, −1 all
        cores.
    verbose : int, default 0
        If not 0, fits of more than half a second show how they are going.

    Attributes
    ----------
    C_ : float
        The chosen C.
    Cs_ : array
        The values of C that were tried, ascending.
    scores_ : array of shape (folds, Cs)
        The score of each C on each fold.
    coef_, intercept_, classes_, margin_, slab_width_, machines_
        Of the final machine, as in :class:`SoftMarginSVC`.
    dual_, slack_, support_, free_support_, bound_support_, support_vectors_, n_support_
        Likewise, for all rows.
    certificate_, n_passes_, n_iter_, solver_
        Likewise, without the folds.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> model = mm.SoftMarginSVCCV(Cs=[0.01, 1.0, 100.0]).fit(*load_iris(return_X_y=True))
    >>> model.C_, model.scores_.shape
    (100.0, (5, 3))
    """

    Cs: Any = 10
    _: KW_ONLY
    cv: Any = None
    scoring: Any = None
    fit_intercept: bool = True
    multi_class: str = "ovr"
    class_weight: Any = None
    tol: float = 1e-6
    max_passes: int | None = None
    max_seconds: float | None = None
    solver: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose C, then fit to all rows.

        Parameters
        ----------
        X, y : array-like
            Training rows, dense or sparse, and their labels.
        sample_weight : array-like of shape (n,), optional
            Factors on C by row; they also count in the scores.

        Returns
        -------
        self
        """
        with UnchangedOnError(self):
            self._choose(X, y, sample_weight)
        return self

    def _choose(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Score each C on every fold, and fit with the best."""
        machine = self._machine()
        machine._check_params()
        rows, labels = read_Xy(self, X, y)
        X, y = indexable(X, labels if y is None else plain_labels(np.asarray(y)))
        weight = None
        if sample_weight is not None:
            weight = read_weight(sample_weight, rows.n)
        Cs = np.unique(read_Cs(self.Cs))
        scorer = _accuracy if self.scoring is None else check_scoring(machine, scoring=self.scoring)
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y))

        clock = _Clock(self.max_seconds, len(folds), effective_n_jobs(self.n_jobs))

        quick = None
        if self.scoring is None and sample_weight is None and self._is_plain():
            quick = SmallFolds.of(rows, labels, Cs, float(self.fit_intercept), self.tol)

        def scores(train: np.ndarray, test: np.ndarray) -> list[float]:
            known = None if quick is None else quick.scores(np.asarray(train), np.asarray(test))
            if known is not None:
                return known
            given = None if weight is None else weight[train]
            extra = {} if weight is None else {"sample_weight": weight[test]}
            learned, held_out = _safe_indexing(X, train), _safe_indexing(X, test)
            end = clock.next_end()
            model = clone(machine).set_params(warm_start=True, n_jobs=None)  # as a path does
            found: list[float] = []
            for C in Cs.tolist():
                if found and clock.is_over(end):
                    found.append(found[-1])
                    continue
                model.set_params(C=C, max_seconds=clock.seconds_to(end)).fit(learned, y[train], given)
                found.append(float(scorer(model, held_out, y[test], **extra)))
            return found

        jobs = (delayed(scores)(*fold) for fold in folds)
        self.scores_ = np.array(Parallel(n_jobs=self.n_jobs, prefer="threads")(jobs))
        self.Cs_ = Cs
        mean = self.scores_.mean(axis=0)
        near = mean >= mean.max() - 1e-12 * max(1.0, float(np.abs(mean).max()))  # equal but for rounding
        self.C_ = float(Cs[int(np.argmax(near))])  # the smallest of several
        left = clock.seconds_to(clock.deadline)
        final = machine.set_params(C=self.C_, max_seconds=left).fit(X, y, sample_weight)
        parameters = final.get_params()
        self.__dict__.update({k: v for k, v in vars(final).items() if k not in parameters})

    def _is_plain(self) -> bool:
        """Whether machines are one against the rest, without weights, budgets or a chosen solver."""
        limits = self.max_seconds, self.max_passes, self.class_weight
        return self.solver == "auto" and self.multi_class == "ovr" and limits == (None, None, None)

    def _machine(self) -> SoftMarginSVC:
        names = SoftMarginSVC().get_params()
        return SoftMarginSVC(**{k: v for k, v in self.get_params(deep=False).items() if k in names})


@dataclass(frozen=True)
class SmallFolds:
    """Small dense rows with their classes: the machines of a fold are a few compiled calls."""

    X: np.ndarray
    codes: np.ndarray
    machines: int
    Cs: np.ndarray
    pad: float
    tol: float

    @classmethod
    def of(
        cls, rows: Rows, labels: np.ndarray, Cs: np.ndarray, pad: float, tol: float
    ) -> SmallFolds | None:
        """Return the folds of these rows, if they are small and dense."""
        if not isinstance(rows, DenseRows) or not is_small(rows):
            return None
        classes = find_classes(labels)
        if len(classes) < 2:
            return None
        machines = 1 if len(classes) == 2 else len(classes)
        return cls(locked(rows.X), encode(labels, classes), machines, Cs, pad, tol)

    def scores(self, train: np.ndarray, test: np.ndarray) -> list[float] | None:
        """Return the accuracy on some rows with each C, learned on others; None if it takes fits."""
        if train.dtype.kind == "b" or test.dtype.kind == "b" or not len(train) or not len(test):
            return None
        codes, machines, count = self.codes, self.machines, len(self.Cs)
        if len(np.unique(codes[train])) != max(2, machines):
            return None  # classes are missing
        positive = np.arange(machines) if machines > 1 else np.array([1])
        planes, some = [], max(1, ROWS_AT_ONCE // len(train))
        for start in range(0, machines * count, some):
            machine, price = np.divmod(np.arange(start, min(start + some, machines * count)), count)
            first, everything = np.arange(len(machine) + 1) * len(train), np.tile(train, len(machine))
            signs = np.where(codes[train] == positive[machine, None], 1.0, -1.0).ravel()
            bounds = np.repeat(self.Cs[price], len(train))
            batch = Batch(self.X, everything.astype(np.int64), first, signs, bounds)
            found = solve_batch(batch, self.pad, SMALL.share_of_tol * self.tol)
            if not np.all(np.isfinite(found.report[:, PRIMAL])):
                return None
            planes.append(found.Z)
        Z = np.concatenate(planes)
        f = self.X[test] @ Z[:, :-1].T
        f += Z[:, -1]
        f = f.reshape(len(test), machines, count)
        guess = np.argmax(f, axis=1) if machines > 1 else f[:, 0] > 0.0
        return np.mean(guess == codes[test][:, None], axis=0).tolist()  # type: ignore[no-any-return]


def _accuracy(
    model: SoftMarginSVC, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> float:
    """The share of rows that are predicted right; scikit-learn's takes longer than a small fit."""
    return float(np.average(model.predict(X) == y, weights=sample_weight))


class _Clock:
    """Divides the time for a fit between its folds, so many at a time, and the final machine."""

    def __init__(self, seconds: float | None, folds: int, jobs: int) -> None:
        self.deadline = math.inf if seconds is None else time.perf_counter() + seconds
        self._waiting, self._jobs = folds, max(1, min(jobs, folds))
        self._lock = threading.Lock()

    def next_end(self) -> float:
        """When the fold that begins now must end: others wait, and the final machine does."""
        now = time.perf_counter()
        with self._lock:
            rounds = math.ceil(self._waiting / self._jobs) + 1
            self._waiting -= 1
        return now + (self.deadline - now) / rounds

    @staticmethod
    def is_over(end: float) -> bool:
        """Whether nothing is left."""
        return time.perf_counter() >= end

    @staticmethod
    def seconds_to(end: float) -> float | None:
        """How much is left; a little if nothing is."""
        return None if end == math.inf else max(end - time.perf_counter(), MIN_SECONDS)
