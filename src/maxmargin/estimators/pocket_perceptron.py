"""The pocket perceptron."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from maxmargin.core.parameters import check_bool, check_choice, check_count
from maxmargin.estimators.online import StreamPerceptron
from maxmargin.kernels.perceptron import MADE
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.perceptron.online import ORDERS, Settings, State
from maxmargin.solvers.perceptron.pocket import Carried, LocalSearch, learn_rows, pocket_perceptron
from maxmargin.solvers.problem import Machine, Observer, Problem, Solution
from maxmargin.stopping import MaxUpdates, StoppingRule

if TYPE_CHECKING:
    from maxmargin.rows.survey import TrainingData
    from maxmargin.solvers.perceptron.online_partitions import RemoteExamples

SAMPLED = 1 << 20  # numbers of a Dask collection that are brought here to polish on


class PocketPerceptron(StreamPerceptron):
    """Run the perceptron, keep the weights with the fewest training errors: for overlapping classes.

    The perceptron makes up to ``max_updates`` updates. After every one the training error E_in counts,
    and weights that beat all earlier ones go into the pocket (with ratchet, Gallant 1990). With
    ``polish`` the pocket is then improved by exact searches for the fewest errors along lines.

    Parameters
    ----------
    max_updates : int, default 10_000
        The time horizon T.
    order : "cyclic", "shuffled" or "random", default "cyclic"
        Rows 1…n again and again; a new order each epoch (on large data blocks of 16 rows are shuffled,
        and the rows within them); or n draws with replacement per epoch.
    polish : bool, default True
        Improve the pocket after the last update. Off, the result is the textbook's, update by update.
    max_witnesses : int, default 10
        Disjoint witnesses to look for, at most, for ``error_lower_bound_``; 0 looks for none.
    fit_intercept : bool, default True
        Learn b by padding every row with a 1.
    normalize : bool, default False
        Scale every (padded) row to unit length, which changes the sign of no decision value.
    multi_class : "ovr" or "ovo", default "ovr"
        One machine per class, or one per pair of classes.
    class_weight : dict, "balanced" or None
        Factors on the steps and the errors of each class; "balanced" stands for
        n / (classes · rows of the class). In one-vs-rest the rest has weight 1, as in scikit-learn.
    stop : stopping rule, optional
        Further rules from :mod:`maxmargin.stopping`, combined with ``|`` and ``&``. Three are always
        on: all points correct, a proven cycle, and ``max_updates``.
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
    best_error_ : float
        E_in of the pocket: the share of training rows with y·f(x) ≤ 0, each row counting with its
        class weight (multiclass: by label).
    best_update_ : int
        The update after which the perceptron found it, 0 for the start (multiclass: by label).
    unpolished_error_ : float
        E_in of the pocket before polishing (multiclass: by label).
    error_lower_bound_ : float
        A proven lower bound on the training error of any plane, from disjoint witnesses in exact
        arithmetic (multiclass: by label). After ``partial_fit`` and ``learn_one`` it is 0, which holds
        for any data. See also :func:`maxmargin.error_bounds`.
    coef_, intercept_ : ndarray
        Weights and biases in the pocket, one row per machine (one row for two classes).
    classes_ : ndarray
        Sorted labels; of two, the larger is +1.
    n_mistakes_ : int
        Updates in all.
    n_iter_ : int
        Epochs (of the longest machine).
    stop_reason_ : StopReason
        Which rule ended the run, and a sentence why.
    history_ : History
        Per epoch (multiclass: by label): mistakes, validation error, ‖w‖, seconds, ``training_error`` of
        the pocket and ``running_error`` of the running perceptron.
    trace_ : Trace
        Every update of the running weights, with ``record=True`` (multiclass: by label).
    machines_ : dict
        From label (ovr), pair (ovo) or the positive label (binary) to the binary machine.
    n_passes_, bytes_moved_ : int
        After a fit to a Dask collection: passes over its partitions, and the bytes sent for them.

    Notes
    -----
    On a Dask collection the weights are handed from partition to partition, and after every epoch one
    round counts the errors, on all rows, of the 64 weights that stayed correct longest in it and of the
    last ones. With at most 64 updates per epoch that is the pocket of a run in memory; otherwise weights
    that were good but unlucky are missed. Polishing and witnesses see a sample of a million numbers; a
    polished pocket is kept only if it makes fewer errors on all rows. So ``best_error_`` is exact, and
    ``error_lower_bound_`` holds, but may be lower than in memory. ``record=True`` needs rows in memory.

    ``partial_fit`` judges the pocket and the new candidates on the rows of that call, to which
    ``best_error_`` then refers. ``learn_one`` keeps the weights with the longest run of correct
    predictions, Gallant's rule for streams, and leaves ``best_error_`` at nan.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> pocket = mm.PocketPerceptron(random_state=0).fit(X[50:], y[50:])
    >>> pocket.best_error_
    0.01
    """

    # Checks of scikit-learn that do not apply, each with its reason.
    _expected_failed_checks: ClassVar[dict[str, str]] = {
        "check_class_weight_classifiers": "it asks for 87 % of the predictions in the class of weight "
        "1000; the least weighted 0-1 error leaves the plane close around that class's training rows",
    }

    def __init__(
        self,
        max_updates: int = 10_000,
        order: str = "cyclic",
        *,
        polish: bool = True,
        max_witnesses: int = 10,
        fit_intercept: bool = True,
        normalize: bool = False,
        multi_class: str = "ovr",
        class_weight: Any = None,
        stop: StoppingRule | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        record: bool = False,
        verbose: int = 0,
    ) -> None:
        self.max_updates = max_updates
        self.order = order
        self.polish = polish
        self.max_witnesses = max_witnesses
        self.fit_intercept = fit_intercept
        self.normalize = normalize
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.stop = stop
        self.warm_start = warm_start
        self.random_state = random_state
        self.record = record
        self.verbose = verbose

    def _check_params(self) -> None:
        super()._check_params()
        check_count("max_updates", self.max_updates)
        check_choice("order", self.order, ORDERS)
        check_bool("polish", self.polish)
        check_count("max_witnesses", self.max_witnesses, least=0)

    def _settings(self) -> Settings:
        return Settings(order=self.order, record=self.record)

    def _stopping_rule(self) -> StoppingRule:
        return super()._stopping_rule() | MaxUpdates(self.max_updates)

    def _solve(
        self,
        problem: Problem[Examples],
        machines: Sequence[Machine],
        start: np.ndarray | None,
        rng: np.random.Generator,
        observer: Observer,
    ) -> list[Solution]:
        training = problem.training.restricted(machines[0].members)
        part = replace(problem, training=training)
        if start is None:
            start = np.zeros((len(machines), training.rows.d + 1))
        solutions = []
        for machine, z in zip(machines, start, strict=True):
            search, stop = LocalSearch(training, machine, z, self._settings()), self._stopping_rule()
            (solution,) = pocket_perceptron(part, search, z[None], stop, rng, observer, self.polish)
            deadline = part.began + stop.max_seconds()
            total = float(machine.class_weight[training.codes].sum())
            solution.least_error = self._least_error(training, machine, solution, total, deadline)
            solutions.append(solution)
        return solutions

    def _solve_remote(
        self,
        problem: Problem[RemoteExamples],
        data: TrainingData,
        machines: Sequence[Machine],
        start: np.ndarray | None,
        rng: np.random.Generator,
        observer: Observer,
    ) -> list[Solution]:
        from maxmargin.rows.survey import sample
        from maxmargin.solvers.perceptron.pocket_partitions import PartitionSearch, Sample

        if start is None:
            start = np.zeros((len(machines), data.rows.d + 1))
        stop, rows, form = self._stopping_rule(), data.rows, problem.training.form
        counts = data.counts.sum(axis=0)
        everyone = [machine.among(np.arange(len(counts))) for machine in machines]
        totals = [float(m.class_weight[c] @ counts[c]) for m, c in zip(machines, everyone, strict=True)]

        @cache
        def some_rows() -> Sample:
            drawn = sample(data, max(4 * (rows.d + 1), SAMPLED * rows.n // data.entries))
            return Examples.of(drawn.rows, drawn.codes, form.pad, form.normalize), drawn.stands_for

        given = problem.training, machines, start, self._settings(), totals, some_rows
        search = PartitionSearch(*given)
        solutions = pocket_perceptron(problem, search, start, stop, rng, observer, self.polish)
        if not self.max_witnesses or not any(s.best_error > 0 for s in solutions):
            return solutions
        deadline, (some, _) = problem.began + stop.max_seconds(), some_rows()
        for machine, solution, total in zip(machines, solutions, totals, strict=True):
            mine = some.restricted(machine.among(some.codes))
            solution.least_error = self._least_error(mine, machine, solution, total, deadline)
        return solutions

    def _least_error(
        self,
        training: Examples,
        machine: Machine,
        solution: Solution,
        total: float,
        deadline: float,
    ) -> float:
        """What no plane falls below; ``total`` is the weight of all rows, ``training`` may be some."""
        late = time.perf_counter() > deadline
        if late or not self.max_witnesses or not solution.best_error > 0:
            return 0.0
        # Imported on use, like all exact arithmetic.
        from maxmargin.solvers.exact.packing import unavoidable

        least = unavoidable(training, machine, solution.z, self.max_witnesses, deadline)
        return min(least / total, solution.best_error)

    def _keep(self, solutions: list[Solution]) -> None:
        self._state = State.begin(np.array([s.state for s in solutions]), average=False)
        self._pocket = np.array([s.z for s in solutions])
        self._runs = np.zeros((len(solutions), 2), dtype=np.int64)  # current and longest
        labels = [log.label for log in self._logs]

        def by_label(values: list[Any]) -> Any:
            return self._by_label(dict(zip(labels, values, strict=True)))

        self.best_error_ = by_label([s.best_error for s in solutions])
        self.best_update_ = by_label([s.best_update for s in solutions])
        self.unpolished_error_ = by_label([s.unpolished_error for s in solutions])
        self.error_lower_bound_ = by_label([s.least_error for s in solutions])

    def _attributes(self, Z: np.ndarray) -> dict[str, Any]:
        return {"_pocket": Z}

    def _running_weights(self) -> np.ndarray:
        return self._state.Z

    def _wide(self) -> np.ndarray:
        return self._pocket

    def _per_machine(self) -> list[np.ndarray]:
        return [self._pocket, self._state.Z]

    def _replace(self, arrays: list[np.ndarray]) -> None:
        self._pocket = arrays[0]
        self._state = State(arrays[1], self._state.U, self._state.counts.copy())
        self._runs = self._runs.copy()

    def _advance(
        self, examples: Examples, machines: Sequence[Machine], rng: np.random.Generator
    ) -> np.ndarray:
        before = self._state.counts[:, MADE].copy()
        judged = np.full(len(machines), np.nan)
        for k, machine in enumerate(machines):
            if not len(machine.members):
                continue
            state, log = self._state.part(np.s_[k : k + 1]), self._logs[k]
            carried = Carried(state, self._pocket[k], self._runs[k], log.trace)
            judged[k] = learn_rows(examples, machine, carried, self._settings(), rng)
            log.trace = carried.trace
        errors = dict(zip([log.label for log in self._logs], judged.tolist(), strict=True))
        self.best_error_ = self.unpolished_error_ = self._by_label(errors)
        self.error_lower_bound_ = self._by_label(dict.fromkeys(errors, 0.0))
        return np.asarray(self._state.counts[:, MADE] - before)
