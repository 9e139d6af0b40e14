"""The machines of a margin classifier through the solvers: to certified machines, or to verdicts."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from maxmargin.certificates.measure import Point, certificate
from maxmargin.certificates.verdict import Verdict
from maxmargin.core.deadline import Deadline, OutOfTimeError
from maxmargin.core.keeping import is_kept
from maxmargin.estimators.exactly import second_opinion
from maxmargin.estimators.marginmachine import MarginMachine
from maxmargin.estimators.progress import Watch
from maxmargin.estimators.question import ask, feature_names
from maxmargin.rows import Rows
from maxmargin.solvers.margin.kept import solve_stage
from maxmargin.solvers.margin.passes import Budget, MarginPoint, Plane
from maxmargin.solvers.margin.sidebyside import in_threads
from maxmargin.solvers.margin.tasks import Pass, Solved, Start, Task, Way
from maxmargin.solvers.problem import Machine
from maxmargin.solvers.threads import one_thread

if TYPE_CHECKING:
    from maxmargin.estimators.margin import MarginClassifier

__all__ = ["Weighted", "solve_machines"]

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


def solve_machines(
    model: MarginClassifier, data: Weighted, machines: list[Machine], watch: Watch
) -> list[Found]:
    """Machines on the same rows run together; pairs of one-vs-one alone, on their own rows."""
    rows = data.rows
    starts = dict(zip([m.label for m in machines], model._starts(machines, rows), strict=True))
    together = machines[0].members is machines[-1].members
    deadline = math.inf if model.max_seconds is None else time.perf_counter() + model.max_seconds
    passes = math.inf if model.max_passes is None else model.max_passes
    jobs = effective_n_jobs(model.n_jobs)
    alone = len(machines) == 1
    lock, halt = Lock(), Event()

    def report(point: MarginPoint, plane: Plane | None) -> bool:
        note = f"gap {point.gap:.1e}" if point.gap < math.inf else "no plane yet"
        Z = np.empty((0, rows.d + 1))
        if alone and plane is not None:
            Z = np.append(*plane)[None]
        with lock:
            return watch.step("pass", point.passes, note, lambda: Z)

    def solve(group: list[Machine], end: float) -> tuple[list[Found], float]:
        members = group[0].members
        own = data.some(members)
        tasks = []
        for machine in group:
            start = starts[machine.label]
            if start is not None:
                start = Start(start.w, start.b, start.alpha[members])
            bounds = model._bounds(machine, own.codes, own.weight)
            tasks.append(Task(machine.signs(own.codes), bounds, start))
        way = Way(model.solver, jobs if together else 1)
        budget = Budget(passes, end, report, halt=halt)
        results, end = solve_stage(own.rows, tasks, model._pad, model.tol, budget, way)
        zipped = zip(group, tasks, results, strict=True)
        return [_found(model, data, own.rows, *one, Deadline(end)) for one in zipped], end

    if together:
        return solve(machines, deadline)[0]
    with one_thread():  # the same bits, whether pairs run side by side or not
        if jobs == 1 or is_kept():
            found: list[Found] = []
            for machine in machines:
                more, deadline = solve([machine], deadline)
                found += more
            return found
        calls = {k: partial(solve, [machine], deadline) for k, machine in enumerate(machines)}
        with closing(in_threads(calls, jobs, halt)) as threads:
            while True:
                try:
                    next(threads)
                except StopIteration as end:
                    return [one for more, _ in end.value.values() for one in more]


def _found(
    model: MarginClassifier,
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
    fitted = None if result.meets else _certified(model, data.rows.n, own, machine, task, result)
    limited = model.max_passes is not None
    if fitted is not None and (fitted.certificate_.primal < math.inf or limited):
        return None, fitted
    names, labels = feature_names(model, data.rows.d), model.classes_.tolist()
    some = not data.weight.all()
    question = ask(machine, own, task.y, labels, names, model.fit_intercept, some, deadline=deadline)
    try:
        verdict, other = second_opinion(question, result.passes)
    except OutOfTimeError:
        return None, fitted or _certified(model, data.rows.n, own, machine, task, result)
    if not verdict.separable:
        return verdict, None
    result = result if other is None else other
    return verdict, _certified(model, data.rows.n, own, machine, task, result)


def _certified(
    model: MarginClassifier, n: int, rows: Rows, machine: Machine, task: Task, result: Solved
) -> MarginMachine:
    """A solution, with its certificate measured on the rows it is about; ``n`` counts all rows."""
    bounds = np.broadcast_to(math.inf, rows.n) if task.C is None else task.C
    point = Point(result.w, result.b, task.y, result.alpha, bounds, model.fit_intercept)
    proof, slack, factor = certificate(rows, point, model._problem(), result.passes)
    if factor > 1.0:  # slack that is rounding alone, and dear
        longer = point._replace(w=factor * point.w, b=factor * point.b)
        other, less, _ = certificate(rows, longer, model._problem(), proof.n_passes)
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
        progress_=(*task.log, Pass(proof.n_passes, proof.primal, proof.dual)),
        solver_=result.solver,
    )
