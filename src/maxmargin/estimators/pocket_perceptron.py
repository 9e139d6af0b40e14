"""The pocket perceptron."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from maxmargin.core.parameters import check_bool, check_choice, check_count
from maxmargin.estimators.online import OnlineClassifier
from maxmargin.estimators.perceptron_machine import Task
from maxmargin.kernels.perceptron import MADE
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.perceptron.epochs import ORDERS, Settings
from maxmargin.solvers.perceptron.pocket import (
    Carried,
    learn_rows,
    lower_bound,
    pocket_passes,
    pocket_perceptron,
)
from maxmargin.solvers.problem import Examples, Solution
from maxmargin.stopping import MaxUpdates, StoppingRule


@dataclass(eq=False, repr=False)
class PocketPerceptron(OnlineClassifier):
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
        arithmetic (multiclass: by label). It is computed when it is first asked for, within the seconds
        of ``stop``, counted anew; until then the model refers to the training rows, which should not be
        changed. A model that is saved or pickled keeps the bound if it has been computed. After
        ``partial_fit`` and ``learn_one``, and with ``sample_weight``, it is 0, which holds for any data.
        See also :func:`maxmargin.error_bounds`.
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

    max_updates: int = 10_000
    order: str = "cyclic"
    _: KW_ONLY
    polish: bool = True
    max_witnesses: int = 10
    fit_intercept: bool = True
    normalize: bool = False
    multi_class: str = "ovr"
    class_weight: Any = None
    stop: StoppingRule | None = None
    warm_start: bool = False
    random_state: Any = None
    record: bool = False
    verbose: int = 0

    _weighs_partitions = False

    # Checks of scikit-learn that do not apply, each with its reason.
    _expected_failed_checks: ClassVar[dict[str, str]] = {
        **OnlineClassifier._expected_failed_checks,
        "check_class_weight_classifiers": "it asks for 87 % of the predictions in the class of weight "
        "1000; the least weighted 0-1 error leaves the plane close around that class's training rows",
    }

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

    def _solve(self, task: Task) -> list[Solution]:
        problem, machines, _, stop, rng, observer = task
        start = task.start_or_zero()
        settings, limit = self._settings(), self.max_witnesses
        solutions = []
        for passes in pocket_passes(problem.training, machines, start, settings):
            solutions += pocket_perceptron(problem, passes, stop, rng, observer, self.polish)
        for machine, solution in zip(machines, solutions, strict=True):
            weighted = isinstance(problem.training, Examples) and len(problem.training.weight)
            if limit and solution.best_error > 0 and not weighted:
                asked = problem.training, machine, solution.z, solution.best_error
                solution.lower_bound = partial(lower_bound, *asked, limit, stop.max_seconds())
        return solutions

    @property
    def error_lower_bound_(self) -> Any:
        """A proven lower bound on the training error of any plane; see the class."""
        bounds = self.__dict__.get("_lower_bounds")
        if bounds is None:
            raise AttributeError(
                "error_lower_bound_ is computed when it is first asked for, after fit, and this model "
                "was not fitted here, or was saved before that. Ask for it before saving, or use "
                "maxmargin.error_bounds(X, y)."
            )
        # Of each machine: known, or a search that holds the training rows until it is asked for.
        self._lower_bounds: list[float | Callable[[], float]]
        self._lower_bounds = [bound() if callable(bound) else bound for bound in bounds]
        return self._by_label(self._lower_bounds)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what would take the training rows along."""
        state = dict(super().__getstate__())
        if any(map(callable, state.get("_lower_bounds", []))):
            del state["_lower_bounds"]
        return state

    def _keep(self, solutions: list[Solution]) -> None:
        super()._keep(solutions)
        self._state.pocket = np.array([s.z for s in solutions])
        self._state.runs = np.zeros((len(solutions), 2), dtype=np.int64)
        self.best_error_: Any = self._by_label([s.best_error for s in solutions])
        self.best_update_: Any = self._by_label([s.best_update for s in solutions])
        self.unpolished_error_: Any = self._by_label([s.unpolished_error for s in solutions])
        self._lower_bounds = [s.lower_bound for s in solutions]

    def _advance(self, examples: Examples, machines: Sequence[Machine]) -> np.ndarray:
        state = self._state
        assert state.pocket is not None and state.runs is not None
        before = state.counts[:, MADE].copy()
        judged = np.full(len(machines), np.nan)
        for k, machine in enumerate(machines):
            if not len(machine.members):
                continue
            log = self._logs[k]
            carried = Carried(state.part(np.s_[k : k + 1]), state.pocket[k], state.runs[k], log.trace)
            judged[k] = learn_rows(examples, machine, carried, self._settings(), self._rng)
            log.trace = carried.trace
        self.best_error_ = self.unpolished_error_ = self._by_label(judged.tolist())
        self._lower_bounds = [0.0] * len(machines)
        return np.asarray(state.counts[:, MADE] - before)
