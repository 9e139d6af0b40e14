"""Margin machines on rows in this process: from labelled rows to certified machines.

A fit hands values down: the rows, the machines, and the :class:`Options`, which say where to begin.
Solvers get a task for each machine. What they find is measured on the rows themselves, in one more pass;
what comes back is a machine with its certificate, or the verdict that no plane separates. Rows that are
elsewhere: :mod:`maxmargin.estimators.margin_partitions`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Event, Lock
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from maxmargin.certificates.certificate import Certificate, Point, certificate
from maxmargin.certificates.verdict import Verdict
from maxmargin.core.history import Stage, current_stages
from maxmargin.core.parameters import Deadline, OutOfTimeError
from maxmargin.estimators.validation import feature_names
from maxmargin.rows import Rows
from maxmargin.rows.training_data import Machine, Part, TrainingData
from maxmargin.solvers.margin.solve import solve_margins
from maxmargin.solvers.margin.tasks import (
    Budget,
    MarginPoint,
    Pass,
    Plane,
    Solved,
    Task,
    Way,
    ignore,
    in_threads,
    one_thread,
)


class RowValues(NamedTuple):
    """What a machine says of its training rows: of those where it is not zero."""

    support_: np.ndarray  # training rows with α_i > 0
    support_dual_: np.ndarray  # their α_i
    support_bound_: np.ndarray  # whether α_i = C_i
    late_: np.ndarray  # training rows with ξ_i > 0
    late_slack_: np.ndarray  # their ξ_i


@dataclass(frozen=True)
class MarginMachine:
    """One binary margin machine, with its multipliers and its certificate.

    ``label`` is its class (one-vs-rest), its pair of classes (one-vs-one, the second is +1), or the
    positive class of a binary problem.
    """

    label: Hashable
    coef_: np.ndarray
    intercept_: float
    support_: np.ndarray  # and so on, see RowValues
    support_dual_: np.ndarray
    support_bound_: np.ndarray
    late_: np.ndarray
    late_slack_: np.ndarray
    certificate_: Certificate
    n_passes_: int
    n_rows: int
    progress_: tuple[Pass, ...] = ()  # primal and dual value after each pass, the last as certified
    solver_: str = "newton"  # "newton", "descent" or "mixed"

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

    @classmethod
    def elsewhere(cls, per_row: Callable[[], RowValues], **known: Any) -> MarginMachine:
        """A machine whose rows are in partitions: ``per_row`` brings their values here, when needed."""
        machine = object.__new__(cls)
        vars(machine).update(known, _per_row=per_row)
        return machine

    def __getattr__(self, name: str) -> Any:
        known = vars(self)
        per_row = known.get("_per_row")
        if name in RowValues._fields and per_row is not None:
            known.update(per_row()._asdict())
            known.pop("_per_row", None)  # only now: the call may fail, and another thread may ask
        if name in known:
            return known[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        """A copy, or a machine that is pickled, holds the values of its rows itself."""
        return vars(replace(self))


class Problem(NamedTuple):
    """What the certificates of a fit are about."""

    name: str
    fit_intercept: bool
    n_rows: int  # in all; a machine may be about some of them


class Before(NamedTuple):
    """The last fit, where this one begins; without machines at zero."""

    machines: Mapping[Hashable, MarginMachine] = {}
    growth: float = 1.0  # of C since then

    def start(self, label: Hashable, rows: Rows, members: np.ndarray) -> MarginPoint | None:
        """Where a machine begins on rows that are here, if it was fitted to as many."""
        old = self.machines.get(label)
        if old is None or old.n_rows != rows.n or len(old.coef_) != rows.d:
            return None
        return MarginPoint(old.coef_, old.intercept_, old.dual_[members] * self.growth)

    def plane(self, label: Hashable, d: int) -> Plane | None:
        """Where a machine begins on rows in partitions."""
        old = self.machines.get(label)
        return None if old is None or len(old.coef_) != d else Plane(old.coef_, old.intercept_)


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
    before: Before

    @property
    def passes(self) -> float:
        """How many passes there may be."""
        return math.inf if self.max_passes is None else self.max_passes

    def deadline(self) -> float:
        """When a fit that begins now has to end."""
        return math.inf if self.max_seconds is None else time.perf_counter() + self.max_seconds

    def problem(self, n: int) -> Problem:
        """What the certificates of a fit to n rows are about."""
        through = "" if self.fit_intercept else " through the origin"
        kind = f"hard margin{through}" if self.C is None else f"soft margin{through}, C = {self.C:g}"
        return Problem(kind, self.fit_intercept, n)

    def words(self, d: int) -> tuple[list[Hashable], tuple[str, ...], bool]:
        """What a verdict is put into words with: labels, features, and whether there is a bias."""
        return self.labels, feature_names(self.names, d), self.fit_intercept

    def bounds(self, machine: Machine, codes: np.ndarray, weight: Any = 1.0) -> np.ndarray | None:
        """C_i for each row of a machine, or None for a hard margin."""
        return None if self.C is None else self.C * weight * machine.class_weight[codes]


Found = tuple[Verdict | None, MarginMachine | None]
Report = Callable[[str, int, str, Callable[[], np.ndarray]], bool]  # see Watch.step


def reported(report: Report, unit: str, point: MarginPoint, Z: np.ndarray) -> bool:
    """Report a pass or a round; True if a callback asks to stop."""
    note = f"gap {point.gap:.1e}" if point.gap < math.inf else "no plane yet"
    return report(unit, point.passes, note, lambda: Z)


def solve_machines(
    data: TrainingData, machines: list[Machine], options: Options, report: Report | None = None
) -> list[Found]:
    """Solve the machines of a problem: each with its certificate, or the verdict that it has no plane.

    Machines on the same rows run together; pairs of one-vs-one alone, on their own rows.
    """
    if data.here is None:
        from maxmargin.estimators.margin_partitions import solve_machines_on_partitions

        return solve_machines_on_partitions(data, machines, options, report)
    deadline = options.deadline()
    jobs, halt = effective_n_jobs(options.n_jobs), Event()
    given = data.here, options, report, Lock(), halt
    if machines[0].members is machines[-1].members:
        return solve_group(machines, deadline, jobs, *given)[0]
    with one_thread():  # the same bits, whether pairs run side by side or not
        if jobs > 1 and current_stages.get() is None:
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
    data: Part,
    options: Options,
    report: Report | None,
    lock: Lock,
    halt: Event,
) -> tuple[list[Found], float]:
    """Solve machines on the same rows; return also the deadline for those that follow."""
    members, (rows, codes, weight) = group[0].members, data
    if len(members) < data.rows.n:
        rows, codes = rows.select(members), codes[members]
        weight = None if weight is None else weight[members]
    stages = current_stages.get()
    kept = None if stages is None else KeptGroup(stages.stage(), rows, len(group), deadline)
    starts: list[MarginPoint | None] = [None] * len(group)
    if kept is not None:
        starts, deadline = kept.points, kept.deadline
    tasks = []
    for machine, start in zip(group, starts, strict=True):
        start = start or options.before.start(machine.label, data.rows, members)
        bounds = options.bounds(machine, codes, 1.0 if weight is None else weight)
        tasks.append(Task(machine.signs(codes), bounds, start))

    def after_pass(number: int, point: MarginPoint) -> bool:
        with lock:
            if kept is not None:
                kept.keep(number, point)
            if report is None:
                return False
            alone = len(group) == 1
            Z = np.append(point.w, point.b)[None] if alone else np.empty((0, rows.d + 1))
            return reported(report, "pass", point, Z)

    heard = ignore if kept is None and report is None else after_pass
    budget = Budget(options.passes, deadline, heard, halt)
    pad, way = float(options.fit_intercept), Way(options.solver, jobs)
    results = solve_margins(rows, tasks, pad, options.tol, budget, way)
    if kept is not None:
        kept.finish(results)
    end = Deadline(deadline)
    solved = zip(group, tasks, results, strict=True)
    return [_found(options, data, rows, *one, end) for one in solved], deadline


class KeptGroup:
    """Machines that are solved together, in a checkpoint.

    It holds (w, b, α) of each machine after its last pass, or at its end. A later process begins there,
    with the time that was left, and ends at the same optimum.
    """

    def __init__(self, stage: Stage, rows: Rows, machines: int, deadline: float) -> None:
        self.stage, self.deadline = stage, deadline
        self.points: list[MarginPoint | None] = [None] * machines
        self.rows, self.ended = rows, False
        found = self.stage.resume(self._state)
        if found is None:
            return
        self.deadline, self.ended = time.perf_counter() + found["left"], found["ended"]
        for k, one in enumerate(found["machines"]):
            if one["known"]:
                self.points[k] = MarginPoint(one["w"], one["b"], one["alpha"], passes=one["passes"])

    def keep(self, machine: int, point: MarginPoint) -> None:
        """Note a point in the user's coordinates, and write all of them down if it is time."""
        self.points[machine] = point
        self.stage.keep(self._state)

    def finish(self, solved: Sequence[Solved]) -> None:
        """Note the results."""
        if not self.ended:
            self.points = [MarginPoint(one.w, one.b, one.alpha, passes=one.passes) for one in solved]
            self.ended = True
            self.stage.keep(self._state, ended=True)

    def _state(self) -> dict[str, Any]:
        left = self.deadline - time.perf_counter()
        return {"machines": list(map(self._entries, self.points)), "left": left, "ended": self.ended}

    def _entries(self, point: MarginPoint | None) -> dict[str, Any]:
        """A point, or zeros in its place."""
        p = point or MarginPoint(np.zeros(self.rows.d), 0.0, np.zeros(self.rows.n))
        given = {"w": p.w, "b": float(p.b), "alpha": p.alpha, "passes": int(p.passes)}
        return {"known": point is not None, **given}


def _found(
    options: Options,
    data: Part,
    rows: Rows,
    machine: Machine,
    task: Task,
    result: Solved,
    deadline: Deadline,
) -> Found:
    """The machine as it is published, or the verdict that there is none.

    If the time ends before exact arithmetic has judged classes for which no plane was found, the machine
    is published as it is: its certificate says that it separates nothing.
    """
    about = options.problem(data.rows.n), rows, machine, task
    fitted = None if result.meets else certified(*about, result)
    limited = options.max_passes is not None
    if fitted is not None and (fitted.certificate_.primal < math.inf or limited):
        return None, fitted
    # Imported on use: a fit whose plane is found does not wait for exact arithmetic.
    from maxmargin.estimators.question import ask
    from maxmargin.estimators.separability import second_opinion

    words = options.words(rows.d)
    partial = data.weight is not None and not data.weight.all()
    question = ask(machine, rows, task.y, *words, partial, deadline=deadline)
    try:
        verdict, other = second_opinion(question, result)
    except OutOfTimeError:
        return None, fitted or certified(*about, result)
    if not verdict.separable:
        return verdict, None
    return verdict, certified(*about, result if other is None else other)


def certified(
    problem: Problem, rows: Rows, machine: Machine, task: Task, result: Solved
) -> MarginMachine:
    """A solution, with its certificate measured on ``rows``, those of the machine."""
    bounds = np.broadcast_to(math.inf, rows.n) if task.C is None else task.C
    point = Point(result.w, result.b, task.y, result.alpha, bounds, problem.fit_intercept)
    proof, slack, growth = certificate(rows, point, problem.name, result.passes)
    if growth > 1.0:  # slack that is rounding alone, and dear
        longer = point._replace(w=growth * point.w, b=growth * point.b)
        other, less, _ = certificate(rows, longer, problem.name, proof.n_passes)
        if other.primal < proof.primal:
            point, proof, slack = longer, other, less
        proof = replace(proof, n_passes=other.n_passes)
    values = row_values(machine.members, point, slack)
    return MarginMachine(
        label=machine.label,
        coef_=point.w,
        intercept_=point.b,
        **values._asdict(),
        certificate_=proof,
        n_passes_=proof.n_passes,
        n_rows=problem.n_rows,
        progress_=(*result.log, Pass(proof.n_passes, proof.primal, proof.dual)),
        solver_=result.solver,
    )


def row_values(numbers: np.ndarray, point: Point, slack: np.ndarray) -> RowValues:
    """The values of rows, which are called by their ``numbers``."""
    support, late = np.flatnonzero(point.alpha), np.flatnonzero(slack)
    alpha = point.alpha[support]
    bound = alpha >= point.C[support]
    return RowValues(numbers[support], alpha, bound, numbers[late], slack[late])
