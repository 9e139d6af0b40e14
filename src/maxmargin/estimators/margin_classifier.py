"""Margin machines as estimators: from labels to tasks, through the solvers, to certified machines.

A fit hands values down: the rows, the machines, where they begin, and the :class:`Options`. What comes
back is a machine with its multipliers, slacks and certificate, or the verdict that no plane separates.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Event, Lock
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs

from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.measure import Point, certificate
from maxmargin.certificates.verdict import Verdict
from maxmargin.cluster.collections import is_remote
from maxmargin.core.errors import (
    BudgetWarning,
    InputError,
    Message,
    NotSeparableError,
    Remedy,
    some,
    warn,
)
from maxmargin.core.labels import class_weights, encode, find_classes
from maxmargin.core.parameters import (
    Deadline,
    OutOfTimeError,
    check_bool,
    check_choice,
    check_count,
    check_jobs,
    check_number,
)
from maxmargin.core.stages import is_kept, next_stage
from maxmargin.estimators.base import LinearClassifier, unchanged_on_error
from maxmargin.estimators.exact_optimum import second_opinion
from maxmargin.estimators.multiclass import build_machines
from maxmargin.estimators.progress import Watch, with_callbacks
from maxmargin.estimators.proofs import ask
from maxmargin.estimators.validation import check_reach, names_of, read_weight, read_Xy, remote
from maxmargin.rows import Rows
from maxmargin.solvers.margin.coordinates import NotFiniteError
from maxmargin.solvers.margin.solve import SOLVERS, solve_margins
from maxmargin.solvers.margin.tasks import Budget, MarginPoint, Pass, Solved, Start, Task, Way
from maxmargin.solvers.problem import Machine
from maxmargin.solvers.threads import in_threads, one_thread


class Slab:
    """The slab between the two edges of a machine, by its weights."""

    coef_: np.ndarray
    intercept_: float

    @property
    def margin_(self) -> float:
        """The geometric margin 1/‖w‖; inf if w = 0."""
        length = float(np.linalg.norm(self.coef_))
        return 1.0 / length if length > 0.0 else math.inf

    @property
    def slab_width_(self) -> float:
        """The width 2/‖w‖ of the slab between the two edges."""
        return 2.0 * self.margin_

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) = w·x + b for every row of X."""
        return np.asarray(X @ self.coef_) + self.intercept_


@dataclass(frozen=True)
class MarginMachine(Slab):
    """One binary margin machine, with its multipliers and its certificate.

    ``label`` is its class (one-vs-rest), its pair of classes (one-vs-one, the second is +1), or the
    positive class of a binary problem.
    """

    label: Hashable
    coef_: np.ndarray
    intercept_: float
    support_: np.ndarray  # training rows with α_i > 0
    support_dual_: np.ndarray  # their α_i
    support_bound_: np.ndarray  # whether α_i = C_i
    late_: np.ndarray  # training rows with ξ_i > 0
    late_slack_: np.ndarray  # their ξ_i
    certificate_: Certificate
    n_passes_: int
    n_rows: int
    progress_: tuple[Pass, ...] = ()  # primal and dual value after each pass, the last as certified
    solver_: str = "newton"  # "newton", "descent" or "mixed"

    @property
    def dual_(self) -> np.ndarray:
        """α_i for every training row."""
        return self._spread(self.support_, self.support_dual_)

    @property
    def slack_(self) -> np.ndarray:
        """ξ_i = max(0, 1 − y_i f(x_i)) for every training row."""
        return self._spread(self.late_, self.late_slack_)

    @property
    def free_support_(self) -> np.ndarray:
        """Training rows with 0 < α_i < C_i: they lie on the edges of the slab."""
        return np.asarray(self.support_[~self.support_bound_])

    @property
    def bound_support_(self) -> np.ndarray:
        """Training rows with α_i = C_i: inside the slab, or on the wrong side."""
        return np.asarray(self.support_[self.support_bound_])

    def _spread(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        whole = np.zeros(self.n_rows)
        whole[rows] = values
        return whole


Found = tuple[Verdict | None, MarginMachine | None]


class Weighted(NamedTuple):
    """Training rows, the codes of their labels, and their weights."""

    rows: Rows
    codes: np.ndarray
    weight: np.ndarray

    def some(self, members: np.ndarray) -> Weighted:
        """These rows alone; themselves if that is all."""
        if len(members) == self.rows.n:
            return self
        return Weighted(self.rows.select(members), self.codes[members], self.weight[members])


@dataclass(frozen=True)
class Options:
    """What a fit is asked for, beside rows, labels and weights."""

    C: float | None  # None: a hard margin
    fit_intercept: bool
    tol: float
    max_passes: int | None
    max_seconds: float | None
    solver: str
    n_jobs: int | None
    labels: list[Hashable]  # the classes
    names: Sequence[str] | None  # of the features, if the rows came with some

    @property
    def problem(self) -> str:
        """The problem in words, for the certificate."""
        through = "" if self.fit_intercept else " through the origin"
        return f"hard margin{through}" if self.C is None else f"soft margin{through}, C = {self.C:g}"

    def bounds(self, machine: Machine, codes: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
        """C_i for each row of a machine, or None for a hard margin."""
        return None if self.C is None else self.C * weight * machine.class_weight[codes]


Starts = Mapping[Hashable, Start]  # by label, where machines begin that have been fitted before
Report = Callable[[str, int, str, Callable[[], np.ndarray]], bool]  # see Watch.step


def solve_machines(
    data: Weighted, machines: list[Machine], options: Options, starts: Starts, report: Report
) -> list[Found]:
    """Machines on the same rows run together; pairs of one-vs-one alone, on their own rows."""
    seconds, jobs = options.max_seconds, effective_n_jobs(options.n_jobs)
    deadline = math.inf if seconds is None else time.perf_counter() + seconds
    halt = Event()
    given = data, options, starts, report, Lock(), halt
    if machines[0].members is machines[-1].members:
        return solve_group(machines, deadline, jobs, *given)[0]
    with one_thread():  # the same bits, whether pairs run side by side or not
        if jobs > 1 and not is_kept():
            calls = [partial(solve_group, [machine], deadline, 1, *given) for machine in machines]
            return [one for more, _ in in_threads(calls, jobs, halt) for one in more]
        found: list[Found] = []
        for machine in machines:
            more, deadline = solve_group([machine], deadline, 1, *given)
            found += more
        return found


def solve_group(
    group: list[Machine],
    deadline: float,
    jobs: int,
    data: Weighted,
    options: Options,
    starts: Starts,
    report: Report,
    lock: Lock,
    halt: Event,
) -> tuple[list[Found], float]:
    """Solve machines on the same rows; return also the deadline for those that follow."""
    members, own = group[0].members, data.some(group[0].members)
    kept = KeptGroup(own.rows, len(group), deadline)
    tasks = []
    for machine, start in zip(group, kept.points, strict=True):
        if start is None and machine.label in starts:
            start = starts[machine.label]
            start = replace(start, alpha=start.alpha[members])
        bounds = options.bounds(machine, own.codes, own.weight)
        tasks.append(Task(machine.signs(own.codes), bounds, start))

    def after_pass(number: int, point: MarginPoint) -> bool:
        note = f"gap {point.gap:.1e}" if point.gap < math.inf else "no plane yet"
        Z = np.empty((0, data.rows.d + 1))
        if len(group) == 1 and len(point.w):
            Z = np.append(point.w, point.b)[None]
        with lock:
            kept.keep(number, point)
            return report("pass", point.passes, note, lambda: Z)

    passes = math.inf if options.max_passes is None else options.max_passes
    budget = Budget(passes, kept.deadline, after_pass, halt)
    pad, way = float(options.fit_intercept), Way(options.solver, jobs)
    results = solve_margins(own.rows, tasks, pad, options.tol, budget, way)
    kept.finish(results)
    end = Deadline(kept.deadline)
    solved = zip(group, tasks, results, strict=True)
    return [_found(options, data, own.rows, *one, end) for one in solved], kept.deadline


class KeptGroup:
    """Machines that are solved together, in a checkpoint if there is one.

    It holds (w, b, α) of each machine after its last pass, or at its end. A later process begins there,
    with the time that was left, and ends at the same optimum.
    """

    def __init__(self, rows: Rows, machines: int, deadline: float) -> None:
        self.stage, self.wanted, self.deadline = next_stage(), is_kept(), deadline
        self.points: list[Start | None] = [None] * machines
        self.rows, self.ended = rows, False
        found = self.stage.resume(self._state)
        if found is None:
            return
        self.deadline, self.ended = time.perf_counter() + found["left"], found["ended"]
        for k, one in enumerate(found["machines"]):
            if one["known"]:
                w = one["w"] if one["plane"] else np.empty(0)
                self.points[k] = Start(w, one["b"], one["alpha"], one["passes"])

    def keep(self, machine: int, point: MarginPoint) -> None:
        """Note a point in the user's coordinates, and write all of them down if it is time."""
        if self.wanted:
            self.points[machine] = Start(point.w, point.b, point.alpha, point.passes)
            self.stage.keep(self._state)

    def finish(self, solved: Sequence[Solved]) -> None:
        """Note the results."""
        if self.wanted and not self.ended:
            self.points = [Start(one.w, one.b, one.alpha, one.passes) for one in solved]
            self.ended = True
            self.stage.keep(self._state, ended=True)

    def _state(self) -> dict[str, Any]:
        left = self.deadline - time.perf_counter()
        return {"machines": list(map(self._entries, self.points)), "left": left, "ended": self.ended}

    def _entries(self, point: Start | None) -> dict[str, Any]:
        """A point, or zeros in its place; also in place of w where there is no plane yet."""
        known, plane = point is not None, point is not None and len(point.w) > 0
        p = point or Start(np.empty(0), 0.0, np.zeros(self.rows.n), 0)
        w = p.w if plane else np.zeros(self.rows.d)
        given = {"w": w, "b": float(p.b), "alpha": p.alpha, "passes": int(p.passes)}
        return {"known": known, "plane": plane, **given}


def _found(
    options: Options,
    data: Weighted,
    own: Rows,
    machine: Machine,
    task: Task,
    result: Solved,
    deadline: Deadline,
) -> Found:
    """The machine as it is published, or the verdict that there is none.

    If the time ends before exact arithmetic has judged classes for which no plane was found, the machine
    is published as it is: its certificate says that it separates nothing.
    """
    fitted = None if result.meets else _certified(options, data.rows.n, own, machine, task, result)
    limited = options.max_passes is not None
    if fitted is not None and (fitted.certificate_.primal < math.inf or limited):
        return None, fitted
    names = [f"x{j}" for j in range(own.d)] if options.names is None else options.names
    words = options.labels, tuple(map(str, names)), options.fit_intercept
    question = ask(machine, own, task.y, *words, not data.weight.all(), deadline=deadline)
    try:
        verdict, other = second_opinion(question, result)
    except OutOfTimeError:
        return None, fitted or _certified(options, data.rows.n, own, machine, task, result)
    if not verdict.separable:
        return verdict, None
    result = result if other is None else other
    return verdict, _certified(options, data.rows.n, own, machine, task, result)


def _certified(
    options: Options, n: int, rows: Rows, machine: Machine, task: Task, result: Solved
) -> MarginMachine:
    """A solution, with its certificate measured on the rows it is about; ``n`` counts all rows."""
    bounds = np.broadcast_to(math.inf, rows.n) if task.C is None else task.C
    point = Point(result.w, result.b, task.y, result.alpha, bounds, options.fit_intercept)
    proof, slack, factor = certificate(rows, point, options.problem, result.passes)
    if factor > 1.0:  # slack that is rounding alone, and dear
        longer = point._replace(w=factor * point.w, b=factor * point.b)
        other, less, _ = certificate(rows, longer, options.problem, proof.n_passes)
        if other.primal < proof.primal:
            point, proof, slack = longer, other, less
        proof = replace(proof, n_passes=other.n_passes)
    support, late = np.flatnonzero(result.alpha), np.flatnonzero(slack)
    alpha = result.alpha[support]
    return MarginMachine(
        label=machine.label,
        coef_=point.w,
        intercept_=point.b,
        support_=machine.members[support],
        support_dual_=alpha,
        late_=machine.members[late],
        late_slack_=slack[late],
        support_bound_=alpha >= bounds[support],
        certificate_=proof,
        n_passes_=proof.n_passes,
        n_rows=n,
        progress_=(*result.log, Pass(proof.n_passes, proof.primal, proof.dual)),
        solver_=result.solver,
    )


class MarginClassifier(LinearClassifier):
    """What estimators made of margin machines share: parameters, ``fit`` and fitted attributes."""

    tol: float
    max_passes: int | None
    max_seconds: float | None
    solver: str
    n_jobs: int | None
    verbose: int
    _solvers: tuple[str, ...] = SOLVERS

    machines_: dict[Hashable, MarginMachine]
    n_passes_: int
    n_iter_: int
    _Z: np.ndarray

    def _options(self) -> Options:
        """What this estimator asks for."""
        names = "fit_intercept", "tol", "max_passes", "max_seconds", "solver", "n_jobs"
        asked = {name: getattr(self, name) for name in names}
        C, labels = getattr(self, "C", None), self.classes_.tolist()
        return Options(C=C, labels=labels, names=names_of(self), **asked)

    def _starts(self, rows: Rows) -> Starts:
        """Where machines may begin, by label."""
        return {}

    def _class_weights(self, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """One factor per class."""
        return class_weights(getattr(self, "class_weight", None), classes, codes, weight)

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
                data, starts = Weighted(rows, codes, weight), self._starts(rows)
                solved = solve_machines(data, machines, self._options(), starts, watch.step)
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
        bad = {m.label: v for m, v in pairs if v is not None and v.kind in ("touching", "overlapping")}
        if not bad:
            return
        if len(machines) == 1:
            facts = f"no plane separates the two classes: {next(iter(bad.values())).witness}."
            raise NotSeparableError(facts, bad, SLACK)
        kind = "classes are not separable from the rest"
        if self.multi_class == "ovo":
            kind = "pairs of classes are not separable"
        facts = f"{len(bad)} of {len(machines)} {kind}: {some(list(bad), 5, repr)}."
        raise NotSeparableError(facts, bad, SLACK)

    def _publish(self, machines: list[MarginMachine]) -> None:
        self.machines_ = {machine.label: machine for machine in machines}
        self._Z = np.array([np.append(m.coef_, m.intercept_) for m in self.machines_.values()])
        self._fitted_scheme = self._scheme()
        self.n_passes_ = self.n_iter_ = max([machine.n_passes_ for machine in machines])
        if "C" in vars(self):
            self._fitted_C = float(self.C)

    def _warn(self) -> None:
        """Say it if a budget ended the work, or rounding did."""
        short = shortfall(self)
        if short:
            warn(short, BudgetWarning)

    def _weights(self) -> np.ndarray:
        return self._Z

    def _each(self, name: str) -> Any:
        """The value of the only machine, or one row (or entry) per machine."""
        values = [getattr(machine, name) for machine in self._fitted(name)]
        return values[0] if len(values) == 1 else np.array(values)

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
        return np.unique(np.concatenate([m.support_ for m in self._fitted("support_")]))

    @property
    def certificate_(self) -> Certificate:
        """The certificate; with more than two classes that of the machine with the largest gap."""
        machines = self._fitted("certificate_")
        worst = max(machines, key=lambda machine: machine.certificate_.relative_gap)
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
        return np.unique(np.concatenate([m.free_support_ for m in self._fitted("free_support_")]))

    @property
    def bound_support_(self) -> np.ndarray:
        """Training rows with α_i = C_i in some machine: inside its slab, or on the wrong side."""
        return np.unique(np.concatenate([m.bound_support_ for m in self._fitted("bound_support_")]))


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
