"""From labelled rows to margin machines: tasks for the solvers, and certificates for their answers.

A fit hands values down: the rows, the machines, and the :class:`Options`, which say where to begin. What
comes back is a machine with its certificate, or the verdict that no plane separates.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from threading import Event, Lock
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import InputError
from maxmargin.core.parameters import NEVER, Deadline, OutOfTimeError
from maxmargin.core.stages import is_kept, next_stage
from maxmargin.estimators.exact_optimum import second_opinion
from maxmargin.estimators.margin_machine import (
    MarginMachine,
    Problem,
    certified,
    certified_on_partitions,
    closing_round,
)
from maxmargin.estimators.proofs import ask
from maxmargin.rows import Rows
from maxmargin.rows.partitions import Part
from maxmargin.rows.survey import TrainingData
from maxmargin.solvers.margin.partitions import SolvedOnPartitions, solve_on_partitions
from maxmargin.solvers.margin.questions import BinaryTask
from maxmargin.solvers.margin.solve import solve_margins
from maxmargin.solvers.margin.tasks import Budget, MarginPoint, Plane, Solved, Start, Task, Way
from maxmargin.solvers.problem import Machine
from maxmargin.solvers.threads import in_threads, one_thread

Found = tuple[Verdict | None, MarginMachine | None]


class Before(NamedTuple):
    """The last fit, where this one begins; without machines at zero."""

    machines: Mapping[Hashable, MarginMachine] = {}
    growth: float = 1.0  # of C since then

    def start(self, label: Hashable, rows: Rows, members: np.ndarray) -> Start | None:
        """Where a machine begins on rows that are here, if it was fitted to as many."""
        old = self.machines.get(label)
        if old is None or old.n_rows != rows.n or len(old.coef_) != rows.d:
            return None
        return Start(old.coef_, old.intercept_, old.dual_[members] * self.growth)

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

    def problem(self, n: int) -> Problem:
        """What the certificates of a fit to n rows are about."""
        through = "" if self.fit_intercept else " through the origin"
        kind = f"hard margin{through}" if self.C is None else f"soft margin{through}, C = {self.C:g}"
        return Problem(kind, self.fit_intercept, n)

    def words(self, d: int) -> tuple[list[Hashable], tuple[str, ...], bool]:
        """What a verdict is put into words with: labels, features, and whether there is a bias."""
        names = [f"x{j}" for j in range(d)] if self.names is None else self.names
        return self.labels, tuple(map(str, names)), self.fit_intercept

    def bounds(self, machine: Machine, codes: np.ndarray, weight: Any = 1.0) -> np.ndarray | None:
        """C_i for each row of a machine, or None for a hard margin."""
        return None if self.C is None else self.C * weight * machine.class_weight[codes]


Report = Callable[[str, int, str, Callable[[], np.ndarray]], bool]  # see Watch.step


def solve_machines(
    data: TrainingData, machines: list[Machine], options: Options, report: Report
) -> list[Found]:
    """Solve the machines of a problem: each with its certificate, or the verdict that it has no plane.

    In memory machines on the same rows run together; pairs of one-vs-one alone, on their own rows.
    """
    seconds = options.max_seconds
    deadline = math.inf if seconds is None else time.perf_counter() + seconds
    if data.here is None:
        return solve_elsewhere(data, machines, options, deadline, report)
    jobs, halt = effective_n_jobs(options.n_jobs), Event()
    given = data.here, options, report, Lock(), halt
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
    data: Part,
    options: Options,
    report: Report,
    lock: Lock,
    halt: Event,
) -> tuple[list[Found], float]:
    """Solve machines on the same rows; return also the deadline for those that follow."""
    members, (rows, codes, weight) = group[0].members, data
    if len(members) < data.rows.n:
        rows, codes = rows.select(members), codes[members]
        weight = None if weight is None else weight[members]
    kept = KeptGroup(rows, len(group), deadline)
    tasks = []
    for machine, start in zip(group, kept.points, strict=True):
        start = start or options.before.start(machine.label, data.rows, members)
        bounds = options.bounds(machine, codes, 1.0 if weight is None else weight)
        tasks.append(Task(machine.signs(codes), bounds, start))

    def after_pass(number: int, point: MarginPoint) -> bool:
        note = f"gap {point.gap:.1e}" if point.gap < math.inf else "no plane yet"
        Z = np.empty((0, rows.d + 1))
        if len(group) == 1 and len(point.w):
            Z = np.append(point.w, point.b)[None]
        with lock:
            kept.keep(number, point)
            return report("pass", point.passes, note, lambda: Z)

    passes = math.inf if options.max_passes is None else options.max_passes
    budget = Budget(passes, kept.deadline, after_pass, halt)
    pad, way = float(options.fit_intercept), Way(options.solver, jobs)
    results = solve_margins(rows, tasks, pad, options.tol, budget, way)
    kept.finish(results)
    end = Deadline(kept.deadline)
    solved = zip(group, tasks, results, strict=True)
    return [_found(options, data, rows, *one, end) for one in solved], kept.deadline


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


def solve_elsewhere(
    data: TrainingData, machines: list[Machine], options: Options, deadline: float, report: Report
) -> list[Found]:
    """Solve machines on rows in partitions: all of them share their rounds."""
    if options.solver not in ("auto", "newton"):
        raise InputError(
            "solver must be 'auto' or 'newton' for Dask collections: coordinate descent needs all rows "
            f"in one place. Got {options.solver!r} instead."
        )
    rows, codes = data.rows, np.arange(len(data.classes))
    tasks = [
        BinaryTask(
            machine.positive,
            machine.negative if len(codes) > 2 else None,
            options.bounds(machine, codes),
            float(options.fit_intercept),
            start=options.before.plane(machine.label, rows.d),
        )
        for machine in machines
    ]
    most = math.inf if options.max_passes is None else options.max_passes

    def after_round(_: int, point: MarginPoint) -> bool:
        note = f"gap {point.gap:.1e}" if point.gap < math.inf else "no plane yet"
        return report("round", point.passes, note, lambda: np.empty((0, rows.d + 1)))

    problem = options.problem(rows.n)
    budgets = [Budget(most, deadline, after_round)] * len(tasks)
    solved = solve_on_partitions(data, tasks, options.tol, budgets, closing_round(problem))
    verdicts: list[Verdict | None] = [None] * len(machines)
    for k, (machine, found) in enumerate(zip(machines, solved, strict=True)):
        if found.point.meets:
            with suppress(OutOfTimeError):  # then its certificate says that it separates nothing
                verdicts[k], solved[k] = exactly(
                    data, machine, *options.words(rows.d), found, Deadline(deadline)
                )
    if [verdict for verdict in verdicts if verdict is not None and not verdict.separable]:
        return [(verdict, None) for verdict in verdicts]
    fitted = certified_on_partitions(problem, rows, machines, solved)
    return list(zip(verdicts, fitted, strict=True))


def exactly(
    data: TrainingData,
    machine: Machine,
    labels: list[Any],
    names: tuple[str, ...],
    fit_intercept: bool,
    found: SolvedOnPartitions,
    deadline: Deadline = NEVER,
) -> tuple[Verdict, SolvedOnPartitions]:
    """What exact arithmetic says of rows that floating point could not separate.

    If they cannot be separated, neither can all rows; the proof is about these rows alone.
    """
    pool, weights = found.point.pool, found.point.weights
    assert weights is not None
    given = data.rows.offsets[pool.part] + pool.number
    order = np.argsort(given)
    few = pool if np.all(np.diff(given) > 0) else pool.some(order)
    machine = replace(machine, members=given[order])
    partial = pool.rows.n < data.rows.n
    question = ask(machine, few.rows, few.y, labels, names, fit_intercept, partial, deadline=deadline)
    first = Solved(found.w, found.b, weights[order], data.rows.rounds, meets=True)
    verdict, other = second_opinion(question, first)
    if other is None:
        return verdict, found
    scaling = found.task.scaling
    alpha = few.multipliers(other.alpha * scaling.scale**2, data.rows.parts)
    point = MarginPoint(*scaling.inside(other.w, other.b), alpha)
    return verdict, SolvedOnPartitions(found.task, point, other.w, other.b)
