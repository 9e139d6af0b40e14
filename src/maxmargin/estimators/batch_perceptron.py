"""The batch perceptron: gradient descent on the perceptron risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError, Remedy
from maxmargin.core.history import Update
from maxmargin.core.parameters import check_step
from maxmargin.estimators.online import OnlineClassifier
from maxmargin.estimators.perceptron_machine import Task
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.perceptron.batch import Bundles, Risk, batch_perceptron
from maxmargin.solvers.perceptron.epochs import State
from maxmargin.solvers.problem import Examples, Solution
from maxmargin.stopping import StoppingRule


@dataclass(eq=False, repr=False)
class BatchPerceptron(OnlineClassifier):
    """Gradient descent on the perceptron risk: all misclassified rows pull at once.

    R(w, b) = Σ_{i∈V} −y_i (w·x_i + b) with V = {i : y_i (w·x_i + b) ≤ 0}, and one step is
    w ← w + ε Σ_{i∈V} y_i x_i, b ← b + ε Σ_{i∈V} y_i. It stops when V is empty.

    Parameters
    ----------
    step : "exact" or float > 0, default "exact"
        ε, or an exact line search: R along a line is convex and piecewise linear, and its minimum is
        a weighted quantile. An exact step follows the shortest combination of the last 20 gradients,
        which keeps it from zigzagging between the creases of R, and leaves the length of the weights
        as it was, which changes no decision.
    fit_intercept : bool, default True
        Learn b by padding every row with a 1.
    normalize : bool, default False
        Scale every (padded) row to unit length, which changes the sign of no decision value.
    multi_class : "ovr" or "ovo", default "ovr"
        One machine per class, or one per pair of classes.
    class_weight : dict, "balanced" or None
        Factors on the terms of R of each class; "balanced" stands for
        n / (classes · rows of the class). In one-vs-rest the rest has weight 1, as in scikit-learn.
    stop : stopping rule, optional
        Further rules from :mod:`maxmargin.stopping`, combined with ``|`` and ``&``. Three are always
        on: all points correct, a proven cycle, and ``max_iter``.
    max_iter : int or None, default 100
        Budget of steps; None for no limit.
    warm_start : bool, default False
        ``fit`` goes on from the weights at hand.
    random_state : int, RandomState or None
        Seeds the validation split.
    record : bool, default False
        Keep every step in ``trace_``.
    verbose : int, default 0
        1 shows a progress bar on fits longer than half a second.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        Weights and biases, one row per machine (one row for two classes).
    classes_ : ndarray
        Sorted labels; of two, the larger is +1.
    n_iter_ : int
        Steps (of the longest machine).
    stop_reason_ : StopReason
        Which rule ended the run, and a sentence why.
    history_ : History
        Per step: mistakes, training error, validation error, risk, ‖w‖, seconds (multiclass: by label).
    trace_ : Trace
        Every step, with ``record=True`` (multiclass: by label).
    machines_ : dict
        From label (ovr), pair (ovo) or the positive label (binary) to the binary machine.
    n_mistakes_ : int
        Misclassified rows added, over all steps.
    n_passes_, bytes_moved_ : int
        After a fit to a Dask collection: passes over its partitions, and the bytes sent for them.

    Notes
    -----
    Unless ``coef_init`` is given, a machine starts at its first training row y_i (x_i, 1).
    ``partial_fit`` makes one step on the rows it is given: mini-batch gradient descent.

    On a Dask collection the sums over the misclassified are added up partition by partition, one round
    for each fixed step. An exact step takes two rounds, three where a partition has more than some
    thousand breakpoints; the line search finds the same minimum as in memory. ``record=True`` needs rows
    in memory.

    Examples
    --------
    >>> import maxmargin as mm
    >>> model = mm.BatchPerceptron().fit([[90, 80], [40, 30], [50, 40]], [1, -1, -1])
    >>> print(model.stop_reason_)
    All training points are correct after 1 update in 1 epoch: the classes are separated.
    >>> model.history_["risk"][-1]
    np.float64(0.0)
    """

    step: float | str = "exact"
    _: KW_ONLY
    fit_intercept: bool = True
    normalize: bool = False
    multi_class: str = "ovr"
    class_weight: Any = None
    stop: StoppingRule | None = None
    max_iter: int | None = 100
    warm_start: bool = False
    random_state: Any = None
    record: bool = False
    verbose: int = 0

    def _check_params(self) -> None:
        super()._check_params()
        if isinstance(self.step, str):
            if self.step != "exact":
                raise InputError(
                    f"step must be 'exact' or a finite number > 0. Got {self.step!r} instead."
                )
            return
        check_step("step", self.step, "Use 'exact'.", Remedy("'exact' needs no step size"))

    def _solve(self, task: Task) -> list[Solution]:
        problem, machines, start, stop, _, observer = task
        return batch_perceptron(problem, machines, start, self.step, stop, observer, self.record)

    def _advance(self, examples: Examples, machines: Sequence[Machine]) -> np.ndarray:
        mistakes = np.zeros(len(machines), dtype=np.int64)
        Z = self._state.Z.copy()
        for k, machine in enumerate(machines):
            if not len(machine.members):
                continue
            risk = Risk(examples.restricted(machine.members), [machine])
            risk.look(Z[k : k + 1])
            mistakes[k] = risk.wrong[0]
            Z[k : k + 1] = risk.step(Z[k : k + 1], self.step, Bundles(1, Z.shape[1]), [0])
            trace = self._logs[k].trace
            if trace is not None and mistakes[k]:
                trace.append(Update(len(trace) + 1, -1, -float(risk.risk[0]), Z[k].copy()))
        self._state = State(Z, self._state.U, self._state.counts)
        return mistakes
