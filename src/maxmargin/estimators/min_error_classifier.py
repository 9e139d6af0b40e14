"""The classifier with the fewest training errors, proven; it stands beside the pocket perceptron.

The pocket keeps the best weights that it has seen. Here the search goes on until no plane is better, or
the time is over; then bounds say how much better one may be. Each machine is one call of what
:func:`maxmargin.min_errors` does, with its share of the time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.certificates.proof import Proof
from maxmargin.core.errors import BudgetWarning, Message, Remedy, warn
from maxmargin.core.history import Stages, keeping
from maxmargin.core.parameters import (
    Deadline,
    check_bool,
    check_choice,
    check_count,
    check_number,
    random_generator,
)
from maxmargin.estimators.base import LinearClassifierMixin, UnchangedOnError
from maxmargin.estimators.error_bounds import ErrorBounds, Errors
from maxmargin.estimators.min_errors import fewest_errors
from maxmargin.estimators.progress import time_limit
from maxmargin.estimators.separability import Options, provable, question_of
from maxmargin.estimators.validation import (
    check_factors,
    check_reach,
    feature_names,
    names_of,
    read_training,
    refuse_partitions,
)
from maxmargin.rows.training_data import Machine, TrainingData, class_weights, machines_of

MAX_LISTED = 5  # machines in a warning


@dataclass(frozen=True, eq=False)
class ErrorMachine:
    """One binary machine: a plane, and bounds on the fewest errors of any plane.

    ``label`` is its class (one-vs-rest), its pair of classes (one-vs-one, the second is +1), or the
    positive class of a binary problem; ``weight_`` is that of all its rows.
    """

    label: Hashable
    coef_: np.ndarray
    intercept_: float
    bounds_: ErrorBounds
    weight_: float

    @property
    def best_error_(self) -> float:
        """The share of the weight on rows that are wrong, or on the plane."""
        return self.bounds_.upper / self.weight_

    @property
    def error_lower_bound_(self) -> float:
        """No plane has a smaller share."""
        return self.bounds_.lower / self.weight_

    @property
    def proof_(self) -> Proof:
        """The proof of both bounds."""
        return self.bounds_.proof

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) = w·x + b for every row of X."""
        return np.asarray(X @ self.coef_) + self.intercept_


@dataclass(eq=False, repr=False)
class MinErrorClassifier(LinearClassifierMixin, BaseEstimator):
    """Find the plane with the fewest training errors, and prove that no plane makes fewer.

    The problem is NP-hard, but often the fewest errors are few. If the time ends first, there is the
    best plane so far, a proven lower bound, and a :class:`~maxmargin.BudgetWarning` with both. See
    :func:`maxmargin.min_errors`, which returns the same bounds for two classes.

    Parameters
    ----------
    max_seconds : float or None, default 60
        Budget of time for the whole fit. A machine has an equal share of what is left for those still
        to come.
    fit_intercept : bool, default True
        Learn b; otherwise the plane goes through the origin.
    multi_class : "ovr" or "ovo", default "ovr"
        One machine per class, or one per pair of classes.
    class_weight : dict, "balanced" or None
        What an error on a row of each class costs; "balanced" stands for n / (classes · rows of the
        class), as a fraction. In one-vs-rest the rest has weight 1, as in scikit-learn.
    random_state : int, RandomState or None, default 0
        Seed of the pocket algorithm and of the search for witnesses, for each machine.
    verbose : int, default 0
        1 shows the bounds of the machine at work after half a second.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        The plane of largest margin, one row per machine (one row for two classes), among all that are
        right on the same rows as the best one found. The nearest of these rows has y·f(x) = 1 but for
        rounding, as in the hard margin. If only fractions give the plane (``bounds_.plane_is_exact`` is
        False), the proof has these, and here are the nearest doubles, which may have other rows wrong.
    classes_ : ndarray
        Sorted labels; of two, the larger is +1.
    best_error_ : float
        E_in of the plane: the share of training rows with y·f(x) ≤ 0, by weight (multiclass: by label).
    error_lower_bound_ : float
        The share that every plane has at least, proven (multiclass: by label).
    proven_ : bool
        Whether the two are equal; for more than two classes, whether they are for every machine.
    bounds_ : ErrorBounds
        Both as numbers of errors, or weights of them, the rows given up, the witnesses, and the bounds
        in the words of the statisticians (multiclass: by label). Rows have their numbers in X.
    proof_ : Proof
        The proof of both bounds (multiclass: by label). If rows were left out (weight 0), it is about
        the rows that were used alone.
    machines_ : dict
        All of these for every binary machine, by its label or pair of labels.

    Notes
    -----
    Other planes may make as few errors; which one is found depends on the order of the rows. A proof
    takes the fingerprint of large data when it is first saved, copied or verified; until then the model
    refers to the training rows, which should not be changed. X must hold numbers that doubles hold
    exactly, as for :func:`maxmargin.separability`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mm.MinErrorClassifier().fit(X[50:], y[50:])
    >>> model.best_error_, model.proven_, model.bounds_.given_up.tolist()
    (0.01, True, [33])
    >>> model.proof_.verify(X[50:], y[50:])
    True
    """

    max_seconds: float | None = 60.0
    _: KW_ONLY
    fit_intercept: bool = True
    multi_class: str = "ovr"
    class_weight: Any = None
    random_state: Any = 0
    verbose: int = 0

    # Checks of scikit-learn that do not apply, each with its reason.
    _expected_failed_checks: ClassVar[dict[str, str]] = {
        "check_class_weight_classifiers": "it asks for 87 % of the predictions in the class of weight "
        "1000; the least weighted 0-1 error leaves the plane close around that class's training rows",
    }

    def _check_params(self) -> None:
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, above=0, remedy=Remedy("None means no limit"))
        check_bool("fit_intercept", self.fit_intercept)
        check_choice("multi_class", self.multi_class, ("ovr", "ovo"))
        if not isinstance(self.random_state, np.random.RandomState):  # whose numbers the search draws
            random_generator("random_state", self.random_state)
        check_count("verbose", self.verbose, least=0)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to training rows X with labels y.

        Parameters
        ----------
        X : array-like, sparse matrix or rows of a file, of shape (n, d)
            Training rows; float32 and float64 are used as they are. All of them have to fit in memory.
        y : array-like of shape (n,)
            Labels; two or more distinct values. Rows of a file bring their own.
        sample_weight : array-like of shape (n,), optional
            What an error on each row costs, beside its class weight; a weight of 2 is the same as the
            row given twice, 0 as leaving it out.

        Returns
        -------
        self
            Fitted. If an error or Ctrl-C ends the fit, the estimator is as it was before.
        """
        with UnchangedOnError(self):
            self._check_params()
            refuse_partitions(X)
            data = provable(read_training(self, X, y, sample_weight, numbers="binary"))
            assert data.here is not None
            check_reach(data.here.rows, training=True, names=names_of(self))
            check_factors(data.here.weight)
            machines = machines_of(data, self.multi_class, np.ones(len(data.classes)))
            limit = time_limit(type(self).__name__, self.max_seconds, self.verbose)
            with limit as whole, keeping(Stages()):  # a checkpoint is of the whole fit, not of a pocket
                found = self._solve(data, machines, whole)
            self.classes_ = data.classes
            self.machines_ = {machine.label: machine for machine in found}
            self._fitted_scheme = self._scheme()
            short = unproven(self)
            if short is not None:
                warn(short, BudgetWarning)
        return self

    def _solve(self, data: TrainingData, machines: list[Machine], whole: Deadline) -> list[ErrorMachine]:
        """Solve the machines, one after the other."""
        assert data.here is not None
        _, codes, weight = data.here
        rows_cost = (
            [Fraction(1)] * len(codes) if weight is None else list(map(Fraction, weight.tolist()))
        )
        factors = exact_class_weights(self.class_weight, data.classes, codes, rows_cost)
        names = feature_names(names_of(self), data.rows.d)
        partial = weight is not None and not weight.all()
        found = []
        for k, machine in enumerate(machines):
            now = time.perf_counter()
            deadline = replace(whole, end=now + (whole.end - now) / (len(machines) - k))
            options = Options(self.fit_intercept, deadline=deadline)
            question = question_of(data, machine, names, options, partial)
            rest = machine.negative is None
            costs = [
                rows_cost[i] * (1 if rest and codes[i] != machine.positive else factors[codes[i]])
                for i in machine.members.tolist()
            ]
            errors = Errors(question, costs, weighted=any(cost != 1 for cost in costs))
            bounds = fewest_errors(errors, self.random_state)
            total = float(sum(costs, Fraction(0)))
            found.append(ErrorMachine(machine.label, *in_canonical_form(errors, bounds), bounds, total))
        return found

    def _weights(self) -> np.ndarray:
        return np.array([np.append(m.coef_, m.intercept_) for m in self.machines_.values()])

    def _by_label(self, name: str, value: Callable[[ErrorMachine], Any]) -> Any:
        """The value of the only machine, or those of all machines by label."""
        if "machines_" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} has no {name} before fit.")
        values = {label: value(machine) for label, machine in self.machines_.items()}
        return values if len(values) > 1 else next(iter(values.values()))

    @property
    def bounds_(self) -> Any:
        """Bounds on the fewest errors, of all machines by label if there are several."""
        return self._by_label("bounds_", lambda machine: machine.bounds_)

    @property
    def proof_(self) -> Any:
        """The proof of both bounds, likewise."""
        return self._by_label("proof_", lambda machine: machine.proof_)

    @property
    def best_error_(self) -> Any:
        """The share of the weight on training rows that are wrong, or on the plane; likewise."""
        return self._by_label("best_error_", lambda machine: machine.best_error_)

    @property
    def error_lower_bound_(self) -> Any:
        """No plane has a smaller share; likewise."""
        return self._by_label("error_lower_bound_", lambda machine: machine.error_lower_bound_)

    @property
    def proven_(self) -> bool:
        """Whether no plane makes fewer errors than that of any machine."""
        self._by_label("proven_", lambda machine: machine)
        return all(machine.bounds_.proven for machine in self.machines_.values())


def exact_class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, costs: list[Fraction]
) -> list[Fraction]:
    """One weight per class: as given, or balanced, in fractions, so that sums of costs stay short."""
    known = class_weights(class_weight, classes, np.arange(len(classes)))
    if not isinstance(class_weight, str):
        return [Fraction(weight) for weight in known.tolist()]
    totals = [Fraction(0)] * len(classes)
    for code, cost in zip(codes.tolist(), costs, strict=True):
        if cost:
            totals[code] += cost
    return [sum(totals, Fraction(0)) / (len(classes) * total) for total in totals]


def in_canonical_form(errors: Errors, bounds: ErrorBounds) -> tuple[np.ndarray, float]:
    """The plane, scaled so that the nearest row that it has right has y f(x) = 1.

    It stays as it is where rounding would put a row on another side.
    """
    least = bounds.margin * float(np.linalg.norm(bounds.w))
    if not (math.isfinite(least) and least > 0.0):  # all rows kept are of one class, or none is
        return bounds.w, float(bounds.b)
    w, b = bounds.w / least, float(bounds.b / least)
    if not (np.all(np.isfinite(w)) and math.isfinite(b)):
        return bounds.w, float(bounds.b)
    wrong = errors.question.given(errors.wrong(w, b))
    if bounds.plane_is_exact and not np.array_equal(wrong, bounds.given_up):
        return bounds.w, float(bounds.b)
    return w, b


def unproven(model: MinErrorClassifier) -> Message | None:
    """Return between which bounds the fewest errors are if that is all that is known; else None."""
    machines = model.machines_
    short = {label: m.bounds_ for label, m in machines.items() if not m.bounds_.proven}
    if not short:
        return None
    late = any(bounds.late for bounds in short.values())
    ended = "The time was over" if late else "Disjoint witnesses, all that many rows allow, ran out"
    shown = [
        f"{'' if len(machines) == 1 else f'{label!r}: '}{_interval(bounds)}"
        for label, bounds in list(short.items())[:MAX_LISTED]
    ]
    more = "; …" if len(short) > MAX_LISTED else ""
    whose = "" if len(machines) == 1 else f" of {len(short)} of {len(machines)} machines"
    return Message(
        f"{ended} before the fewest errors{whose} were proven. {'; '.join(shown)}{more}.",
        *([Remedy("raise {}", "max_seconds")] if late else [Remedy("give fewer rows")]),
        Remedy("use {} for a quick answer", "model", "PocketPerceptron"),
    )


def _interval(bounds: ErrorBounds) -> str:
    """Both bounds in words."""
    count = all(isinstance(v, int) for v in (bounds.lower, bounds.upper))
    some = f"{bounds.upper} errors" if count else f"errors of weight {bounds.upper:g}"
    return f"The plane found makes {some}, and no plane makes fewer than {bounds.lower:g}"
