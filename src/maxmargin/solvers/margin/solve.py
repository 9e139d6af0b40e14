"""Margin machines on shared rows: from the user's coordinates to the solver's, and back.

The dual point that comes back is feasible: its multipliers lie within their bounds and balance,
Σ α_i y_i = 0, to rounding; so its value is a true bound.

Which solver for which rows.

*newton*: a sample or a pool of rows first, Newton steps on the rows near the margin, all rows now and
then: for few features, however many rows, and for rows in files. *descent*: coordinate descent, then an
active set: for sparse rows with thousands of features, where it needs no more memory than a few vectors,
and for dense ones that are fewer than their features. *mixed*: coordinate descent, then Newton steps: in
between. Where descent leads nowhere, Newton steps and interior points follow (``solver_`` says "mixed").

Margin machines as a stage of a fit: where they are, what they wrote down, and the time left.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.core.keeping import next_stage
from maxmargin.core.state_forms import count, each, entries, instance, listed, maybe, number
from maxmargin.rows import CsrRows, DenseRows, PartedRows, Rows
from maxmargin.solvers.margin.coordinate_descent import large_margin
from maxmargin.solvers.margin.coordinates import Frame, Frames, draw, gram_frames, worth_gram
from maxmargin.solvers.margin.dual_problem import Duel, square_lengths
from maxmargin.solvers.margin.hard_margin import hard_margin
from maxmargin.solvers.margin.interior_point import is_affordable
from maxmargin.solvers.margin.kkt_finish import Reached, finish
from maxmargin.solvers.margin.passes import (
    SMALL,
    Budget,
    Course,
    MarginPoint,
    Plane,
    State,
    point_form,
    run_together,
    within,
)
from maxmargin.solvers.margin.soft_margin import soft_margin
from maxmargin.solvers.margin.tasks import Pass, Solved, Task, Way, balanced, solved_form, to_scale

SOLVERS = "auto", "newton", "mixed", "descent"
NARROW = 150  # features up to which a sample of dense rows tells where the margin lies
DENSITY_SAMPLE = 200  # rows that tell how many entries are zero
MOSTLY_ZERO = 0.05  # share of other entries below which dense rows are turned into sparse ones
FACTORISED = 4_000  # features up to which a Newton step is a matrix factorised
ENOUGH = 500  # features from which on the hard margin of sparse rows is found by descent
FEW_ROWS = (
    2.5  # rows against features of dense data up to which interior points are quicker than descent
)


def within_reach(rows: Rows) -> Rows:
    """The rows in the form that is quickest for the solvers.

    Sparse rows of a file are read into memory, if it holds them: descent visits them in any order. Dense
    rows of many features that are nearly all zero, as texts are, become sparse.
    """
    if isinstance(rows, PartedRows) and rows.is_sparse:
        return rows.at_once() or rows
    if isinstance(rows, DenseRows) and rows.d > NARROW and rows.n * rows.d > SMALL:
        some = rows.take(draw(rows.n, DENSITY_SAMPLE))
        if np.count_nonzero(some) < MOSTLY_ZERO * some.size:
            return CsrRows.from_matrix(sparse.csr_array(rows.X))
    return rows


def choose_solver(rows: Rows, hard: bool, wish: str = "auto") -> str:
    """Return the solver for these rows, or the one that is wished for."""
    if wish != "auto":
        if wish != "newton" and not rows.resident:
            raise InputError(
                f"solver must be 'auto' or 'newton' for rows in a file. Got {wish!r} instead. "
                "Coordinate descent visits rows in random order: read them into memory for it."
            )
        return wish
    if not rows.resident or rows.n * rows.d <= SMALL:
        return "newton"
    if hard:
        return "descent" if rows.d > ENOUGH and (rows.is_sparse or rows.n < rows.d) else "newton"
    if rows.is_sparse:
        return "mixed" if rows.d <= FACTORISED else "descent"
    if rows.d <= NARROW:
        return "newton"
    if rows.n < rows.d or rows.d > FACTORISED:
        return "descent"
    return "newton" if rows.n <= FEW_ROWS * rows.d else "mixed"


AUTO = Way()
LOST = 0.5  # gap of descent beyond which its point is no start for Newton steps


def solve_margins(
    rows: Rows,
    tasks: Sequence[Task],
    pad: float,
    tol: float,
    budget: Budget,
    way: Way = AUTO,
    saved: Sequence[State | Solved | None] | None = None,
    offer: Callable[[list[State | Solved | None]], None] = lambda states: None,
) -> list[Solved]:
    """Solve machines on the same rows together.

    ``offer`` is told now and then where they are; given as ``saved``, they go on from there.
    """
    rows = within_reach(rows)
    solver = choose_solver(rows, tasks[0].C is None, way.solver)
    saved = saved or [None] * len(tasks)
    parts = [one["part"] if isinstance(one, dict) else one for one in saved]
    frames: Sequence[Frame] = Frames(rows, [task.y for task in tasks], pad)
    if solver != "newton":
        q = square_lengths(rows)
        duels = [Duel(rows, task.y, task.C, pad, q) for task in tasks]
        each = zip(duels, range(len(tasks)), tasks, parts, strict=True)
        courses = [_large(solver, frames, *machine, tol, budget) for machine in each]
    else:
        outer = frames = list(frames)
        budget = replace(budget, outside=outer[0].scene.outside)
        if tasks[0].C is None and worth_gram(outer[0]):
            frames = gram_frames(outer)
            budget = replace(budget, outside=None)
        machines = zip(frames, outer, tasks, parts, strict=True)
        courses = [_course(*machine, tol, budget) for machine in machines]
    newton = solver == "newton" or any(isinstance(one, dict) and "newton" in one for one in parts)
    jobs = 1 if newton else way.jobs  # matrix products have threads of their own
    courses = [_counted(course, task) for course, task in zip(courses, tasks, strict=True)]
    with closing(run_together(frames, courses, saved, jobs, budget.halt)) as together:
        while True:
            try:
                offer(next(together))
            except StopIteration as end:
                solved: list[Solved] = end.value
                return solved


def _counted(course: Course[Solved], task: Task) -> Course[Solved]:
    """Let each state tell how many lines had been written then."""
    return (yield from within(course, lambda part: {"part": part, "lines": len(task.log)}))


def _large(
    solver: str,
    frames: Sequence[Frame],
    duel: Duel,
    k: int,
    task: Task,
    saved: State | Solved | None,
    tol: float,
    budget: Budget,
) -> Course[Solved]:
    """One machine by coordinate descent, in the user's coordinates; then by Newton steps, if need be."""
    if isinstance(saved, Solved):
        return saved
    if saved is not None:
        form = {"point": point_form(duel.n, duel.d), "newton": maybe(instance(dict))}
        form = {"descent": instance(dict)} if "descent" in saved else form
        entries(**form)(saved, "the state")
    if saved is None or "descent" in saved:
        start = None
        if task.start is not None and task.C is not None:
            alpha = np.clip(task.start.alpha, 0.0, task.C)
            start = MarginPoint(task.start.w, task.start.b, alpha, duel.pull(alpha))
        plain = replace(_logging(budget, task, 1.0), outside=lambda w, b: (w, b))
        part = None if saved is None else saved["descent"]
        exact, once = solver == "descent", task.C is not None and is_affordable(duel.rows)
        course = large_margin(duel, tol, plain, start, part, exact, once)
        point, done = yield from within(course, lambda part: {"descent": part})
        if done:
            return _solved(duel, point)
        if task.C is not None:
            without_slack = _hard_within_bounds(frames[k], task, point, tol, budget)
            if without_slack is not None:
                return without_slack
        saved = {"point": point, "newton": None}
        yield saved
    reached: MarginPoint = saved["point"]
    frame = frames[k]
    unit = frame.scene.scale**2
    budget = replace(budget, outside=frame.scene.outside)
    if task.C is None:
        steps = hard_margin(frame, tol, _logging(budget, task, unit), saved["newton"])
    else:
        start = None
        if reached.gap < LOST:
            w, b = frame.scene.inside(reached.w, reached.b)
            alpha = reached.alpha * unit
            start = MarginPoint(w, b, alpha, frame.pull(alpha), passes=reached.passes)
        C, kept = task.C * unit, saved["newton"]
        steps = soft_margin(frame, C, tol, _logging(budget, task, unit), start, kept)
    last = yield from within(steps, lambda part: {"point": reached, "newton": part})
    return replace(_outside(frame, task, last, combined=False), solver="mixed")


def _hard_within_bounds(
    frame: Frame, task: Task, reached: MarginPoint, tol: float, budget: Budget
) -> Solved | None:
    """The hard margin, if a plane that separates is known and no multiplier of it is larger than C.

    Then it is the optimum of the soft margin as well: both have the same optimality conditions.
    """
    w, b = frame.scene.inside(reached.w, reached.b)
    if float(frame.values(w, b).min()) <= 0.0:
        return None
    quiet = Budget(budget.passes, budget.deadline, halt=budget.halt)
    course = hard_margin(frame, tol, quiet)
    wish: Any = next(course)
    while True:
        try:
            wish = course.send(frame.values(*wish)) if isinstance(wish, tuple) else next(course)
        except StopIteration as end:
            point: MarginPoint = end.value
            break
    if point.meets or point.gap > tol or task.C is None:
        return None
    found = _outside(
        frame, replace(task, C=None), replace(point, passes=point.passes + reached.passes), False
    )
    return replace(found, solver="mixed") if np.all(found.alpha <= task.C) else None


def _solved(duel: Duel, point: MarginPoint) -> Solved:
    """The result of descent: its coordinates are the user's, its multipliers balance."""
    alpha = point.alpha
    length = float(point.v @ point.v)
    if duel.hard and not point.meets and length > 0.0:
        alpha = alpha * (float(alpha.sum()) / length)
    b = point.b if duel.pad else 0.0
    return Solved(point.w, b, alpha, point.passes, point.meets, solver="descent")


def _course(
    work: Frame, frame: Frame, task: Task, saved: State | Solved | None, tol: float, budget: Budget
) -> Course[Solved]:
    """One machine, in the coordinates ``work``; if these do not do, on the rows themselves."""
    if isinstance(saved, Solved):
        return saved
    budget = _logging(budget, task, frame.scene.scale**2)
    if saved is None or "again" not in saved:
        point = yield from _machine(work, frame, task, tol, budget, saved)
        result = _outside(frame, task, point, work is not frame)
        if work is frame or not (point.meets or result.doubtful):
            return result
        saved = {"again": None}
    entries(again=maybe(instance(dict)))(saved, "the state")
    course = _machine(frame, frame, task, tol, budget, saved["again"])
    alone = run_together([frame], [course], [saved["again"]])
    (point,) = yield from within(alone, lambda states: {"again": states[0]})
    return _outside(frame, task, point, combined=False)


def _logging(budget: Budget, task: Task, unit: float) -> Budget:
    """The budget of one machine, with its values written down in the user's units."""

    def report(point: MarginPoint, plane: Plane | None) -> bool:
        task.log.append(Pass(point.passes, point.primal / unit, point.dual / unit))
        return budget.report(point, plane)

    return replace(budget, report=report)


def _machine(
    work: Frame, frame: Frame, task: Task, tol: float, budget: Budget, saved: State | None
) -> Course[MarginPoint]:
    if task.C is None:
        return hard_margin(work, tol, budget, saved)
    unit = frame.scene.scale**2  # multipliers and their bounds are larger by this factor inside
    start = None
    if task.start is not None and work is frame and saved is None:
        w, b = frame.scene.inside(task.start.w, task.start.b)
        alpha = np.clip(task.start.alpha, 0.0, task.C) * unit
        start = MarginPoint(w, b, alpha, frame.pull(alpha))
    return soft_margin(work, task.C * unit, tol, budget, start, saved)


def _outside(frame: Frame, task: Task, point: MarginPoint, combined: bool) -> Solved:
    """Return to the user's coordinates, with balanced multipliers."""
    unit = frame.scene.scale**2
    alpha, passes = point.alpha, point.passes
    if point.meets:
        return Solved(np.zeros(frame.d), 0.0, alpha / unit, passes, meets=True)
    C = np.broadcast_to(math.inf, frame.n) if task.C is None else task.C * unit
    if frame.pad:
        alpha = balanced(alpha, frame.y, C)
    w, b, doubtful = point.w, point.b, False
    if combined:  # n coordinates: w is known through its combination of rows only
        w = frame.pull(alpha)
        passes += 1
        free = np.flatnonzero((alpha > 0.0) & (alpha < C))
        solved = finish(frame, free, C, Reached(w, b, alpha, w, float(alpha @ frame.bias)))
        if solved is not None:
            w, b, alpha = solved
    if task.C is None:
        v = w if combined else frame.pull(alpha)
        length = float(v @ v)
        if length > 0.0:
            alpha = to_scale(alpha, float(alpha.sum()) / length, frame.scene.uneven)
        if combined:
            least = float(frame.values(w, b).min())
            passes += 1
            doubtful = least <= 0.0
            if not doubtful:
                w, b = w / least, b / least
    w, b = frame.scene.outside(w, b)
    alpha = alpha / unit
    if task.C is not None:
        alpha = np.minimum(alpha, task.C)
    return Solved(w, b if frame.pad else 0.0, alpha, passes, doubtful=doubtful)


def solve_stage(
    rows: Rows, tasks: Sequence[Task], pad: float, tol: float, budget: Budget, way: Way
) -> tuple[list[Solved], float]:
    """Solve machines that share their rows; return also the deadline for those that follow.

    If an earlier process was here, the machines go on from where they were, with the time they had left.
    """
    stage = next_stage()
    found: State | None = stage.saved if stage.finished is None else stage.finished
    if found is not None:
        _check(found, len(tasks), rows, stage.finished is not None)
    deadline = budget.deadline if found is None else time.perf_counter() + found["left"]

    def record(states: Sequence[State | Solved | None]) -> State:
        ends = [_lines(state) for state in states]
        logs = [[list(line) for line in task.log[:end]] for task, end in zip(tasks, ends, strict=True)]
        return {"machines": list(states), "logs": logs, "left": deadline - time.perf_counter()}

    def offer(states: Sequence[State | Solved | None]) -> None:
        if stage.due():
            stage.keep(record(states))

    machines: Any = None
    if found is not None:
        machines = found["machines"]
        for task, log in zip(tasks, found["logs"], strict=True):
            task.log.extend(Pass(*line) for line in log)
    if stage.finished is not None:
        return machines, deadline
    budget = replace(budget, deadline=deadline)
    solved = solve_margins(rows, tasks, pad, tol, budget, way, machines, offer)
    stage.finish(record(solved))
    return solved, deadline


def _check(found: Any, machines: int, rows: Rows, ended: bool) -> None:
    """Refuse what ``record`` does not return; what a machine's own state holds, the machine looks at."""
    solved, going = solved_form(rows.n, rows.d), entries(part=instance(dict), lines=count)

    def machine(value: Any, name: str) -> None:
        (going if type(value) is dict and not ended else solved)(value, name)

    logs = each(each(listed(count, number, number)), machines)
    one = machine if ended else maybe(machine)
    entries(machines=each(one, machines), logs=logs, left=number)(found, "the state")


def _lines(state: State | Solved | None) -> int | None:
    """How many lines a machine had written down when this was its state."""
    if state is None:
        return 0
    return state["lines"] if isinstance(state, dict) else None
