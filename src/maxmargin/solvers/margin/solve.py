"""Margin machines on shared rows: from the user's coordinates to the solver's, and back.

The dual point that comes back is feasible: its multipliers lie within their bounds and balance,
Σ α_i y_i = 0, to rounding; so its value is a true bound.

Which solver for which rows.

*auto* on small rows: one compiled call a machine (:mod:`maxmargin.solvers.margin.small`); else one of:
*newton*: a sample or a pool of rows first, Newton steps on the rows near the margin, all rows now and
then: for few features, however many rows, and for rows in files. *descent*: coordinate descent, then an
active set: for sparse rows with thousands of features, where it needs no more memory than a few vectors,
and for dense ones that are fewer than their features. *mixed*: coordinate descent, then Newton steps: in
between. Where descent leads nowhere, Newton steps and interior points follow (``solver_`` says "mixed").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.rows import CsrRows, DenseRows, PartedRows, Rows
from maxmargin.rows.base import draw
from maxmargin.solvers.margin.augmented_lagrangian import is_affordable
from maxmargin.solvers.margin.coordinate_descent import Approach, large_margin
from maxmargin.solvers.margin.coordinates import Frame, Frames, gram_frames, worth_gram
from maxmargin.solvers.margin.dual_problem import DualProblem, square_lengths
from maxmargin.solvers.margin.hard_margin import hard_margins
from maxmargin.solvers.margin.kkt_finish import Reached, finish
from maxmargin.solvers.margin.small import is_small, solve_small
from maxmargin.solvers.margin.soft_margin import soft_margin
from maxmargin.solvers.margin.tasks import (
    SMALL_ENTRIES,
    Budget,
    MarginPoint,
    Solved,
    Start,
    Task,
    Way,
    balanced,
    in_threads,
    relative_gap,
    to_scale,
)


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    max_narrow_features: int = 150  # up to which a sample of dense rows tells where the margin lies
    density_sample: int = 200  # rows that tell how many entries are zero
    mostly_zero: float = 0.05  # share of other entries below which dense rows are made sparse
    max_factorised_features: int = 4_000  # up to which a Newton step is a matrix factorised
    min_hard_descent_features: int = 500  # beyond which hard margins of sparse rows go by descent
    few_rows: float = 2.5  # rows per feature of dense data up to which interior points beat descent
    lost_gap: float = 0.5  # of descent, beyond which its point is no start for Newton steps


SETTINGS = Settings()

SOLVERS = "auto", "newton", "mixed", "descent"


def within_reach(rows: Rows) -> Rows:
    """The rows in the form that is quickest for the solvers.

    Sparse rows of a file are read into memory, if it holds them: descent visits them in any order. Dense
    rows of many features that are nearly all zero, as texts are, become sparse.
    """
    if isinstance(rows, PartedRows) and rows.is_sparse:
        return rows.at_once() or rows
    if (
        isinstance(rows, DenseRows)
        and rows.d > SETTINGS.max_narrow_features
        and rows.n * rows.d > SMALL_ENTRIES
    ):
        some = rows.take(draw(rows.n, SETTINGS.density_sample))
        if np.count_nonzero(some) < SETTINGS.mostly_zero * some.size:
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
    if not rows.resident or rows.n * rows.d <= SMALL_ENTRIES:
        return "newton"
    if hard:
        wide = rows.d > SETTINGS.min_hard_descent_features
        return "descent" if wide and (rows.is_sparse or rows.n < rows.d) else "newton"
    if rows.is_sparse:
        return "mixed" if rows.d <= SETTINGS.max_factorised_features else "descent"
    if rows.d <= SETTINGS.max_narrow_features:
        return "newton"
    if rows.n < rows.d or rows.d > SETTINGS.max_factorised_features:
        return "descent"
    return "newton" if rows.n <= SETTINGS.few_rows * rows.d else "mixed"


AUTO = Way()


def solve_margins(
    rows: Rows, tasks: Sequence[Task], pad: float, tol: float, budget: Budget, way: Way = AUTO
) -> list[Solved]:
    """Solve machines on the same rows together."""
    if way.solver == "auto" and tasks[0].C is not None and is_small(rows) and budget.is_free():
        return solve_small(rows, tasks, pad, tol, partial(_all_newton, rows, pad, tol, budget))
    rows = within_reach(rows)
    solver = choose_solver(rows, tasks[0].C is None, way.solver)
    frames = Frames(rows, [task.y for task in tasks], pad)
    budgets = [replace(budget, machine=k, log=[]) for k in range(len(tasks))]
    if solver != "newton":
        found = _by_descent(rows, frames, tasks, tol, budgets, solver == "descent", way.jobs, pad)
    elif tasks[0].C is None and worth_gram(frames[0]):
        found = _by_gram(list(frames), tasks, tol, budgets)
    else:
        found = _on_rows(list(frames), tasks, tol, budgets)
    return [replace(one, log=tuple(own.log)) for one, own in zip(found, budgets, strict=True)]


def _all_newton(
    rows: Rows, pad: float, tol: float, budget: Budget, tasks: Sequence[Task]
) -> list[Solved]:
    """What is left over of small problems."""
    return solve_margins(rows, tasks, pad, tol, budget, Way("newton"))


def _on_rows(
    frames: Sequence[Frame], tasks: Sequence[Task], tol: float, budgets: Sequence[Budget]
) -> list[Solved]:
    """Newton steps on a pool, or on the rows near the margin."""
    budgets = [_reporting(budget, frame) for frame, budget in zip(frames, budgets, strict=True)]
    starts = [_inside(frame, frame, task) for frame, task in zip(frames, tasks, strict=True)]
    unit = frames[0].scaling.scale ** 2  # multipliers and their bounds are larger by this factor inside
    bounds = [task.C * unit for task in tasks if task.C is not None]
    if bounds:
        points = soft_margin(frames, bounds, tol, budgets, starts)
    else:
        points = hard_margins(frames, tol, budgets, starts)
    solved = zip(frames, tasks, points, strict=True)
    return [_outside(*one, combined=False) for one in solved]


def _by_gram(
    frames: list[Frame], tasks: Sequence[Task], tol: float, budgets: Sequence[Budget]
) -> list[Solved]:
    """Hard margins in n coordinates, where there are fewer rows than features.

    Machines that are not solved there, or look as if no plane separated, are solved on the rows.
    """
    work = gram_frames(frames)
    own = [_reporting(budget, frame, False) for frame, budget in zip(frames, budgets, strict=True)]
    starts = [_inside(*one) for one in zip(work, frames, tasks, strict=True)]
    solved = zip(frames, tasks, hard_margins(work, tol, own, starts), strict=True)
    found = [_outside(*one, combined=True) for one in solved]
    rest = [k for k, one in enumerate(found) if one.meets or one.doubtful]
    if rest:
        left = [frames[k] for k in rest], [tasks[k] for k in rest], tol, [budgets[k] for k in rest]
        for k, one in zip(rest, _on_rows(*left), strict=True):
            found[k] = one
    return found


def _reporting(budget: Budget, frame: Frame, plane: bool = True) -> Budget:
    """The budget of a machine that is solved on a frame; without its plane in n coordinates."""
    scaling, unit = frame.scaling, frame.scaling.scale**2

    def outside(point: MarginPoint) -> MarginPoint:
        w, b = scaling.outside(point.w, point.b) if plane else (np.empty(0), point.b)
        alpha, primal, dual = point.alpha / unit, point.primal / unit, point.dual / unit
        return replace(point, w=w, b=b, alpha=alpha, primal=primal, dual=dual)

    return replace(budget, outside=outside)


def _inside(work: Frame, frame: Frame, task: Task) -> MarginPoint | None:
    """Where a warm start begins in the coordinates ``work``: those of ``frame``, or n coordinates."""
    start, C = task.start, task.C
    if start is None:
        return None
    alpha = np.clip(start.alpha, 0.0, math.inf if C is None else C) * frame.scaling.scale**2
    v = work.weighted_sum(alpha)
    w, b = v, start.b
    if work is frame and len(start.w):  # what was found in n coordinates has no w of its own
        w, b = frame.scaling.inside(start.w, start.b)
    return MarginPoint(w, b, alpha, v, passes=start.passes)


def _by_descent(
    rows: Rows,
    frames: Sequence[Frame],
    tasks: Sequence[Task],
    tol: float,
    budgets: Sequence[Budget],
    exact: bool,
    jobs: int,
    pad: float,
) -> list[Solved]:
    """Coordinate descent, machine by machine in threads; then Newton steps for those that need them."""
    q = square_lengths(rows)
    dual_problems = [DualProblem(rows, task.y, task.C, pad, q) for task in tasks]
    each = zip(dual_problems, tasks, budgets, strict=True)
    calls = [
        partial(_descend, dual_problem, task, tol, budget, exact) for dual_problem, task, budget in each
    ]
    reached = in_threads(calls, jobs, budgets[0].halt)  # matrix products have threads of their own
    found = {k: _solved(dual_problems[k], point) for k, (point, done) in enumerate(reached) if done}
    rest = [k for k in range(len(tasks)) if k not in found]
    for k in rest:
        solved = _hard_within_bounds(frames[k], tasks[k], reached[k].point, tol, budgets[k])
        if solved is not None:
            found[k] = solved
    rest = [k for k in rest if k not in found]
    if rest:
        left = [frames[k] for k in rest]
        again = [replace(tasks[k], start=_start_of(tasks[k], reached[k].point)) for k in rest]
        mixed = _on_rows(left, again, tol, [budgets[k] for k in rest])
        for k, solved in zip(rest, mixed, strict=True):
            found[k] = replace(solved, solver="mixed")
    return [found[k] for k in range(len(tasks))]


def _descend(dual_problem: DualProblem, task: Task, tol: float, budget: Budget, exact: bool) -> Approach:
    """One machine by coordinate descent, in the user's coordinates."""
    start = None
    if task.start is not None:
        alpha = np.clip(task.start.alpha, 0.0, dual_problem.C)
        v = dual_problem.weighted_sum(alpha)
        start = MarginPoint(task.start.w, task.start.b, alpha, v, passes=task.start.passes)
    once = task.C is not None and is_affordable(dual_problem.rows)
    return large_margin(dual_problem, tol, budget, start, exact, once)


def _start_of(task: Task, reached: MarginPoint) -> Start | None:
    """Where Newton steps go on: where descent led, if it is near the optimum of a soft margin."""
    if task.C is None or not reached.gap < SETTINGS.lost_gap:
        return None
    return Start(reached.w, reached.b, reached.alpha, reached.passes)


def _hard_within_bounds(
    frame: Frame, task: Task, reached: MarginPoint, tol: float, budget: Budget
) -> Solved | None:
    """The hard margin, if a plane that separates is known and no multiplier of it is larger than C.

    Then it is the optimum of the soft margin as well: both have the same optimality conditions.
    """
    if task.C is None:
        return None
    w, b = frame.scaling.inside(reached.w, reached.b)
    if float(frame.margins(w, b).min()) <= 0.0:
        return None
    quiet = Budget(budget.passes, budget.deadline, halt=budget.halt)
    start = Start(reached.w, reached.b, reached.alpha, reached.passes)
    hard = replace(task, C=None, start=start)
    (found,) = solve_margins(frame.rows, [hard], frame.pad, tol, quiet)
    if found.meets or np.any(found.alpha > task.C):
        return None
    v = frame.rows.combine((found.alpha * task.y)[None])[0]
    dual = float(found.alpha.sum()) - 0.5 * float(v @ v)
    gap = relative_gap(0.5 * float(found.w @ found.w), dual)
    return replace(found, solver="mixed") if gap <= tol else None


def _solved(dual_problem: DualProblem, point: MarginPoint) -> Solved:
    """The result of descent: its coordinates are the user's, its multipliers balance."""
    alpha = point.alpha
    length = float(point.v @ point.v)
    if dual_problem.hard and not point.meets and length > 0.0:
        alpha = alpha * (float(alpha.sum()) / length)
    b = point.b if dual_problem.pad else 0.0
    return Solved(point.w, b, alpha, point.passes, point.meets, solver="descent")


def _outside(frame: Frame, task: Task, point: MarginPoint, combined: bool) -> Solved:
    """Return to the user's coordinates, with balanced multipliers."""
    unit = frame.scaling.scale**2
    alpha, passes = point.alpha, point.passes
    if point.meets:
        return Solved(np.zeros(frame.d), 0.0, alpha / unit, passes, meets=True)
    C = np.broadcast_to(math.inf, frame.n) if task.C is None else task.C * unit
    if frame.pad:
        alpha = balanced(alpha, frame.y, C)
    w, b, doubtful = point.w, point.b, False
    if combined:  # n coordinates: w is known through its combination of rows only
        w = frame.weighted_sum(alpha)
        passes += 1
        free = np.flatnonzero((alpha > 0.0) & (alpha < C))
        solved = finish(frame, free, C, Reached(w, b, alpha, w, float(alpha @ frame.bias)))
        if solved is not None:
            w, b, alpha = solved
    if task.C is None:
        v = w if combined else frame.weighted_sum(alpha)
        length = float(v @ v)
        if length > 0.0:
            alpha = to_scale(alpha, float(alpha.sum()) / length, frame.scaling.uneven)
        if combined:
            least = float(frame.margins(w, b).min())
            passes += 1
            doubtful = least <= 0.0
            if not doubtful:
                w, b = w / least, b / least
    w, b = frame.scaling.outside(w, b)
    alpha = alpha / unit
    if task.C is not None:
        alpha = np.minimum(alpha, task.C)
    return Solved(w, b if frame.pad else 0.0, alpha, passes, doubtful=doubtful)
