"""The online perceptron."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.core.errors import InputError, Remedy
from maxmargin.core.parameters import check_bool, check_choice, check_number, check_step
from maxmargin.estimators.online import OnlineClassifier
from maxmargin.estimators.perceptron_machine import Task
from maxmargin.estimators.validation import read_X
from maxmargin.kernels.perceptron import MADE, SEEN
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.perceptron.epochs import ORDERS, Recorder, Settings, State
from maxmargin.solvers.perceptron.online import grouped, online_perceptron, passes_over, vote
from maxmargin.solvers.problem import Examples, Solution
from maxmargin.stopping import StoppingRule

CHEAP_ENTRIES = 1 << 17  # stored numbers up to which one more pass is a tenth of a millisecond


@dataclass(eq=False, repr=False)
class Perceptron(OnlineClassifier):
    """Rosenblatt's perceptron: learn from mistakes, one row at a time.

    For t = 1, 2, …: take row i; if y_i (w·x_i + b) ≤ δ, then w ← w + η y_i x_i and b ← b + η y_i.
    It stops at the first epoch without a mistake. If the classes can be separated, that epoch comes:
    from a zero start at most R²/γ² mistakes are made (see :func:`maxmargin.mistake_bound`).

    Parameters
    ----------
    threshold : float ≥ 0, default 0
        δ. A row counts as a mistake while y·f(x) ≤ δ; 0 is the classical rule.
    eta0 : float > 0, default 1
        η, the step. From a zero start with δ = 0 it scales the weights and changes no decision.
    order : "cyclic", "shuffled" or "random", default "cyclic"
        Rows 1…n again and again; a new order each epoch (on large data blocks of 16 rows are shuffled,
        and the rows within them); or n draws with replacement per epoch. The default is the lecture's
        order, whose epochs can be followed and repeated. Do not leave it where the rows are sorted by
        label: an epoch then ends with a long run of one class, and the last weights favour it. A
        warning says so if the budget of epochs ends on such rows.
    fit_intercept : bool, default True
        Learn b by padding every row with a 1.
    normalize : bool, default False
        Scale every (padded) row to unit length, which changes the sign of no decision value.
    average : bool, default False
        Predict with the mean of the weights after each step (Freund and Schapire 1999).
    multi_class : "ovr" or "ovo", default "ovr"
        One machine per class, or one per pair of classes.
    class_weight : dict, "balanced" or None
        Factors on the steps for rows of each class; "balanced" stands for
        n / (classes · rows of the class). In one-vs-rest the rest has weight 1, as in scikit-learn.
    stop : stopping rule, optional
        Further rules from :mod:`maxmargin.stopping`, combined with ``|`` and ``&``. Three are always
        on: all points correct, a proven cycle, and ``max_iter``.
    max_iter : int or None, default 100
        Budget of epochs; None for no limit.
    partitions : "sequential" or "mixing", default "sequential"
        How the partitions of a Dask collection learn. *Sequential*: the weights are handed from one to
        the next, which with ``order="cyclic"`` is the run in memory, bit for bit on one kind of
        processor. *Mixing*: all run an epoch at the same time from the same weights, and the mean of
        theirs is where the next epoch starts (see Notes). In memory there is one partition, and both
        are the same run.
    track_error : "auto", True or False
        Measure the training error after every epoch, which costs a pass; "auto" does so on small data
        (a hundred thousand stored numbers). The last epoch is always measured.
    warm_start : bool, default False
        ``fit`` goes on from the weights at hand.
    random_state : int, RandomState or None
        Seeds the orders and the validation split.
    record : bool, default False
        Keep every update in ``trace_``.
    verbose : int, default 0
        1 shows a progress bar on fits longer than half a second.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        Weights and biases, one row per machine (one row for two classes).
    classes_ : ndarray
        Sorted labels; of two, the larger is +1.
    n_mistakes_ : int
        Updates in all.
    n_iter_ : int
        Epochs (of the longest machine).
    stop_reason_ : StopReason
        Which rule ended the run, and a sentence why.
    history_ : History
        Per epoch: mistakes, training error, validation error, ‖w‖, seconds (multiclass: by label).
    trace_ : Trace
        Every update, with ``record=True`` (multiclass: by label).
    machines_ : dict
        From label (ovr), pair (ovo) or the positive label (binary) to the binary machine.
    n_passes_, bytes_moved_ : int
        After a fit to a Dask collection: passes over its partitions, and the bytes sent for them.

    Notes
    -----
    On a Dask collection with ``order="shuffled"`` the partitions take turns in a new order each epoch,
    and each shuffles its rows; with ``"random"`` each draws as many rows with replacement as it has. So
    these orders differ from those in memory. ``record=True`` needs rows in memory.

    Iterative parameter mixing (McDonald, Hall and Mann 2010) takes the mean over the K partitions with
    rows of the machine. On separable data it ends after finitely many epochs, with the weights correct
    on all rows, and the updates of all partitions together are at most K R²/γ² from a zero start.
    Budgets of updates bind each partition within an epoch, and all of them together after it.

    Examples
    --------
    Homework and exam marks; passed or not:

    >>> import maxmargin as mm
    >>> X, y = [[90, 80], [40, 30], [50, 40]], ["passed", "failed", "failed"]
    >>> model = mm.Perceptron().fit(X, y)
    >>> print(model.stop_reason_)
    All training points are correct after 25 updates in 10 epochs: the classes are separated.
    >>> model.predict([[50, 60]])
    array(['passed'], dtype='<U6')
    """

    threshold: float = 0.0
    eta0: float = 1.0
    order: str = "cyclic"
    _: KW_ONLY
    fit_intercept: bool = True
    normalize: bool = False
    average: bool = False
    multi_class: str = "ovr"
    class_weight: Any = None
    stop: StoppingRule | None = None
    max_iter: int | None = 100
    partitions: str = "sequential"
    track_error: str | bool = "auto"
    warm_start: bool = False
    random_state: Any = None
    record: bool = False
    verbose: int = 0

    def _check_params(self) -> None:
        super()._check_params()
        remedy = Remedy("a row is a mistake while y·f(x) ≤ threshold")
        check_number("threshold", self.threshold, least=0, remedy=remedy)
        check_step("eta0", self.eta0, "Use 1.")
        check_choice("order", self.order, ORDERS)
        check_choice("partitions", self.partitions, ("sequential", "mixing"))
        check_bool("average", self.average)
        if self.track_error != "auto":
            check_bool("track_error (if not 'auto')", self.track_error)

    def _tracks_error(self, entries: int) -> bool:
        if self.track_error == "auto":
            return entries <= CHEAP_ENTRIES
        return bool(self.track_error)

    def _scheme(self) -> dict[str, Any]:
        return {**super()._scheme(), "average": self.average}

    def _settings(self) -> Settings:
        return Settings(
            float(self.threshold),
            float(self.eta0),
            self.order,
            self.average,
            self.record,
            mixing=self.partitions == "mixing",
        )

    def _solve(self, task: Task) -> list[Solution]:
        problem, machines, _, stop, rng, observer = task
        state = State.begin(task.start_or_zero(), self.average, stop.max_updates())
        passes = passes_over(problem.training, machines, self._settings())
        return online_perceptron(problem, passes, state, stop, rng, observer)

    def predict_voted(self, X: Any) -> np.ndarray:
        """Return a label for each row by a vote of all weights the run went through.

        Each has as many votes as the steps it survived (Freund and Schapire 1999); one-vs-rest takes
        the class with the largest share of votes. Needs ``record=True``.
        """
        check_is_fitted(self)
        traces = [log.trace for log in self._logs]
        if any(trace is None for trace in traces):
            raise InputError(
                "record must be True when fitting, so that all weights can vote. "
                "Got a model without traces. Fit again with record=True."
            )
        rows = read_X(self, X)
        examples = Examples(rows, np.empty(0), 1.0)
        shares = [
            vote(examples, trace, int(steps))
            for trace, steps in zip(traces, self._state.counts[:, SEEN], strict=True)
            if trace is not None
        ]
        return self._labels_of(np.array(shares))

    def _advance(self, examples: Examples, machines: Sequence[Machine]) -> np.ndarray:
        before = self._state.counts[:, MADE].copy()
        for which, passes in grouped(examples, machines, self._settings()):
            state, log = self._state.part(which), self._logs[which][0]
            if log.trace is None:
                passes.epoch(state, self._rng)
                continue
            recorder = Recorder(examples, passes.machines[0], log.trace)
            passes.on_update = recorder.record
            passes.epoch(state, self._rng)
            recorder.write()
        return np.asarray(self._state.counts[:, MADE] - before)
