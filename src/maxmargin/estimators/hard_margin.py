"""The hard-margin machine: the plane with the largest margin."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maxmargin.certificates.proof import fraction_text
from maxmargin.certificates.verdict import ExactOptimum, Verdict
from maxmargin.core.errors import BudgetError, Remedy
from maxmargin.core.parameters import NEVER, OutOfTimeError
from maxmargin.estimators.margin_classifier import MarginClassifier
from maxmargin.estimators.progress import time_limit
from maxmargin.estimators.question import Question, plane_text
from maxmargin.estimators.separability import Options, confirm, judge, question_of, read_labelled
from maxmargin.estimators.validation import refuse_partitions
from maxmargin.rows.training_data import machines_of
from maxmargin.solvers.exact.hard_margin import exact_hard_margin, uniform

SUPPORT_GAP = 1e-9  # gap at which the support of a guess is likely that of the optimum


@dataclass(eq=False, repr=False)
class HardMarginSVC(MarginClassifier):
    """The plane with the largest margin: minimise ½‖w‖² subject to y_i (w·x_i + b) ≥ 1.

    Either the unique optimum, with its certificate, or :class:`maxmargin.NotSeparableError` with rows
    of both classes whose weighted means are the same point.

    Parameters
    ----------
    fit_intercept : bool, default True
        Learn b; otherwise the plane goes through the origin.
    multi_class : "ovr" or "ovo", default "ovr"
        One machine per class against the rest, or one per pair of classes. All must be separable.
    tol : float in (0, 1), default 1e-9
        Relative gap between ½‖w‖² and the dual value at which to stop: the margin is within half of it.
    max_passes : int, optional
        Budget of passes over the data, looked at between the steps of the solver: a first step (up to
        three passes) and the certificate (one or two) are always made. If it ends first, the best plane
        so far is returned, with its honest certificate and a warning.
    max_seconds : float, optional
        Budget of time, likewise. It covers exact arithmetic, too: if it ends before a plane is found, or
        a proof that there is none, the warning says so and the certificate has no finite primal value.
    solver : "auto", "newton" or "descent", default "auto"
        How to get there; the answer is the same to the gap. *newton*: Newton steps on a pool of rows,
        for few features and any number of rows. *descent*: dual coordinate descent on all rows, then an
        active set, for sparse rows with thousands of features; it needs a few vectors of memory and no
        matrix. "auto" chooses by the shape of X, and ``solver_`` tells what was done: *mixed* if both
        had to help.
    n_jobs : int, optional
        Machines that run side by side in threads, where there are more than two classes; None means 1,
        −1 all cores. The result does not depend on it.
    verbose : int, default 0
        If not 0, fits of more than half a second show how they are going.

    Attributes
    ----------
    coef_, intercept_, classes_
        As in scikit-learn: weights and biases, one row per machine, and the sorted labels; of two
        classes the larger label is +1. The rows nearest to the plane have y f(x) = 1.
    margin_, slab_width_ : float
        1/‖w‖ and 2/‖w‖; arrays with one entry per machine for more than two classes.
    support_ : array of int
        Training rows with α_i > 0: they lie on the edges of the slab.
    support_vectors_ : array or sparse matrix of shape (support vectors, d)
        The rows ``X[support_]``.
    n_support_ : array of shape (classes,)
        How many of them each class has. Both are looked up when they are first asked for; until then
        the model refers to the training rows, which should not be changed. A model that is copied or
        pickled keeps what has been asked for; one that :func:`maxmargin.load` reads has neither.
    dual_ : array of shape (n,)
        α_i per training row; (machines, n) for more than two classes.
    certificate_ : Certificate
        Primal, dual, gap and KKT residuals, measured on the original data.
    n_passes_, n_iter_ : int
        Passes over the data; on Dask collections the rounds. Both names say the same.
    bytes_moved_ : int
        On Dask collections: what went to the partitions and came back.
    solver_ : str
        "newton", "descent" or "mixed".
    machines_ : dict
        All of these for every binary machine, by its label or pair of labels.

    Notes
    -----
    A constraint holds or does not: class weights would change nothing, and of sample weights only
    whether they are zero matters.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.HardMarginSVC().fit([[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1])
    >>> round(model.margin_, 9), model.support_.tolist()
    (1.0, [1, 2])
    >>> model.certificate_.relative_gap < 1e-12
    True
    """

    _: KW_ONLY
    fit_intercept: bool = True
    multi_class: str = "ovr"
    tol: float = 1e-9
    max_passes: int | None = None
    max_seconds: float | None = None
    solver: str = "auto"
    n_jobs: int | None = None
    verbose: int = 0

    _solvers = "auto", "newton", "descent"

    def prove(
        self, X: Any, y: Any = None, *, numbers: str = "binary"
    ) -> ExactOptimum | dict[Hashable, ExactOptimum]:
        """Return the exact optimum for training rows X with labels y, in rational numbers.

        The conditions of Karush, Kuhn and Tucker on the support are solved in rational numbers, and
        every other row is checked by floating point within its error bound, or in integers. X may hold
        finite numbers of any size. The estimator itself stays as it is; of its parameters
        ``fit_intercept``, ``multi_class``, ``max_seconds`` and ``verbose`` count. If the time ends
        first, :class:`maxmargin.BudgetError` tells what is known.

        Parameters
        ----------
        X, y : array-like
            Training rows, dense or sparse, and their labels.
        numbers : "binary" or "decimal", default "binary"
            The doubles as they are stored, or the numbers as they are written, the shortest decimal of
            each double.

        Returns
        -------
        ExactOptimum, or a dict of them by label
            One per machine if there are more than two classes.

        Examples
        --------
        >>> import maxmargin as mm
        >>> exact = mm.HardMarginSVC().prove([[0, 0], [1, 2], [4, 3]], [0, 0, 1])
        >>> exact.squared_margin, exact.w, exact.b
        (Fraction(5, 2), (Fraction(3, 5), Fraction(1, 5)), Fraction(-2, 1))
        """
        self._check_params()
        with time_limit("HardMarginSVC.prove", self.max_seconds, self.verbose) as deadline:
            options = Options(self.fit_intercept, numbers=numbers, deadline=deadline)
            refuse_partitions(X)
            data, features = read_labelled(X, y, numbers)
            machines = machines_of(data, self.multi_class, np.ones(len(data.classes)))
            pairs = [exact_optimum(question_of(data, m, features, options)) for m in machines]
        self._refuse(machines, [verdict for verdict, _ in pairs], len(machines))
        late = {m.label: v for m, (v, best) in zip(machines, pairs, strict=True) if best is None}
        if late:
            raise BudgetError(
                f"max_seconds={self.max_seconds:g} ended before the largest margin was found exactly.",
                late,
                Remedy("raise {}", "max_seconds"),
            )
        optima = [best for _, best in pairs if best is not None]
        if len(optima) == 1:
            return optima[0]
        return {machine.label: best for machine, best in zip(machines, optima, strict=True)}


def exact_optimum(question: Question) -> tuple[Verdict, ExactOptimum | None]:
    """The verdict, and if the classes are separable and there is time the largest margin, exactly."""
    verdict, finding = judge(question, SUPPORT_GAP)
    if not verdict.separable:
        return verdict, None
    start = {}
    if finding.guess is not None:
        start = dict(zip(finding.guess.support.tolist(), finding.guess.alpha.tolist(), strict=True))
    rows = uniform(question.exact_rows())
    try:
        point = exact_hard_margin(rows, start)
    except OutOfTimeError:
        return verdict, None
    # Exact rows are 10^places times those of the user, and their columns 2^-k times that.
    unit = Fraction(2) ** rows.powers[0] / 10**question.places
    w = tuple(v / unit for v in point.w)
    which = sorted(point.alpha)
    alpha = {int(question.given([i])[0]): point.alpha[i] / unit**2 for i in which}
    content = question.header("optimum")
    content["plane"] = plane_text(question, [*w, point.b])
    weights = [fraction_text(v) for v in alpha.values()]
    content["multipliers"] = {"rows": question.numbered(which).tolist(), "weights": weights}
    proof = question.proof(content)
    confirm(replace(question, deadline=NEVER), proof, which)
    square = 1 / sum([v * v for v in w], Fraction(0))
    return verdict, ExactOptimum(w, point.b, alpha, square, proof, point.solves, point.exact_rows)
