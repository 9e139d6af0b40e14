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
from maxmargin.solvers.margin.coordinate_descent import large_margin
from maxmargin.solvers.margin.coordinates import Frame, frames_of
from maxmargin.solvers.margin.dual_problem import DualProblem, square_lengths
from maxmargin.solvers.margin.hard_margin import hard_margins
from maxmargin.solvers.margin.reduced_problem import is_affordable
from maxmargin.solvers.margin.small import is_small, solve_small
from maxmargin.solvers.margin.soft_margin import soft_margin
from maxmargin.solvers.margin.tasks import (
    SMALL_ENTRIES,
    Budget,
    MarginPoint,
    Solved,
    Task,
    Way,
    balanced,
    dual_value,
    in_threads,
    relative_gap,
)


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    max_narrow_features: int = 150  # up to which a sample of dense rows tells where the margin lies
    density_sample: int = 200  # rows that tell how many entries are zero, and how long rows are
    mostly_zero: float = 0.05  # share of other entries below which dense rows are made sparse
    max_factorised_features: int = 4_000  # up to which a Newton step is a matrix factorised
    min_hard_descent_features: int = 500  # beyond which hard margins of sparse rows go by descent
    few_rows: float = 2.5  # rows per feature of dense data up to which interior points beat descent
    # C_i‖x_i‖² up to which descent comes first whatever the shape. Of Gaussian rows 20,000 × 50 take 5
    # instead of 18 ms with 0.005, 17 instead of 28 with 0.5, and 51 instead of 31 with 50.
    small_bound: float = 2.0
    max_unsampled_entries: int = 1 << 21  # of narrow rows; with more, a sample is quicker than epochs
    lost_gap: float = 0.5  # of descent, beyond which its point is no start for Newton steps


SETTINGS = Settings()

SOLVERS = "auto", "newton", "mixed", "descent"


def quickest_form(rows: Rows) -> Rows:
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


def choose_solver(rows: Rows, C: np.ndarray | None, asked: str = "auto") -> str:
    """Return the solver for these rows, or the one that is asked for; C is None for a hard margin."""
    if asked != "auto":
        if asked != "newton" and not rows.resident:
            raise InputError(
                f"solver must be 'auto' or 'newton' for rows in a file. Got {asked!r} instead. "
                "Coordinate descent visits rows in random order: read them into memory for it."
            )
        return asked
    if not rows.resident or rows.n * rows.d <= SMALL_ENTRIES:
        return "newton"
    if C is None:
        wide = rows.d > SETTINGS.min_hard_descent_features
        return "descent" if wide and (rows.is_sparse or rows.n < rows.d) else "newton"
    if rows.is_sparse:
        return "mixed" if rows.d <= SETTINGS.max_factorised_features else "descent"
    if rows.n < rows.d or rows.d > SETTINGS.max_factorised_features:
        return "descent"
    narrow = rows.d <= SETTINGS.max_narrow_features
    sampled = narrow and rows.n * rows.d > SETTINGS.max_unsampled_entries
    if not sampled and mean_bound(rows, C) <= SETTINGS.small_bound:
        return "mixed"  # nearly all multipliers are at a bound: a few epochs bring them there
    return "newton" if narrow or rows.n <= SETTINGS.few_rows * rows.d else "mixed"


def mean_bound(rows: Rows, C: np.ndarray) -> float:
    """About the mean of C_i‖x_i‖², from some rows."""
    some = draw(rows.n, SETTINGS.density_sample)
    return float(np.mean(C[some] * rows.select(some).square_lengths()))


AUTO = Way()


def solve_margins(
    rows: Rows, tasks: Sequence[Task], pad: float, tol: float, budget: Budget, way: Way = AUTO
) -> list[Solved]:
    """Solve machines on the same rows together."""
    if way.solver == "auto" and is_small(rows) and budget.is_free():
        otherwise = partial(solve_margins, rows, pad=pad, tol=tol, budget=budget, way=Way("newton"))
        return solve_small(rows, tasks, pad, tol, budget, way.jobs, otherwise)
    rows = quickest_form(rows)
    solver = choose_solver(rows, tasks[0].C, way.solver)
    budgets = [replace(budget, machine=k, log=[]) for k in range(len(tasks))]
    if solver == "newton":
        found = _by_newton(frames_of(rows, [task.y for task in tasks], pad), tasks, tol, budgets)
    else:
        found = _by_descent(rows, tasks, tol, budgets, solver == "descent", way.jobs, pad)
    return [replace(one, log=tuple(own.log)) for one, own in zip(found, budgets, strict=True)]


def _by_newton(
    frames: Sequence[Frame], tasks: Sequence[Task], tol: float, budgets: Sequence[Budget]
) -> list[Solved]:
    """Newton steps on a pool, or on the rows near the margin."""
    budgets = [_reporting(budget, frame) for frame, budget in zip(frames, budgets, strict=True)]
    starts = [_inside(frame, task) for frame, task in zip(frames, tasks, strict=True)]
    unit = frames[0].scaling.scale ** 2  # multipliers and their bounds are larger by this factor inside
    bounds = [task.C * unit for task in tasks if task.C is not None]
    if bounds:
        points = soft_margin(frames, bounds, tol, budgets, starts)
    else:
        points = hard_margins(frames, tol, budgets, starts)
    return [_outside(*one) for one in zip(frames, tasks, points, strict=True)]


def _reporting(budget: Budget, frame: Frame) -> Budget:
    """The budget of a machine that is solved in the coordinates of a frame."""
    unit = frame.scaling.scale**2

    def outside(point: MarginPoint) -> MarginPoint:
        w, b = frame.scaling.outside(point.w, point.b)
        alpha, primal, dual = point.alpha / unit, point.primal / unit, point.dual / unit
        return replace(point, w=w, b=b, alpha=alpha, primal=primal, dual=dual)

    return replace(budget, outside=outside)


def _inside(frame: Frame, task: Task) -> MarginPoint | None:
    """Where a warm start begins in the coordinates of the solver."""
    start = task.start
    if start is None:
        return None
    C = math.inf if task.C is None else task.C
    alpha = np.clip(start.alpha, 0.0, C) * frame.scaling.scale**2
    w, b = frame.scaling.inside(start.w, start.b)
    return MarginPoint(w, b, alpha, frame.weighted_sum(alpha), passes=start.passes)


def _by_descent(
    rows: Rows,
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
    if len(found) == len(tasks):
        return list(found.values())
    frames = frames_of(rows, [task.y for task in tasks], pad)
    for k, (point, done) in enumerate(reached):
        if not done and (hard := _hard_within_bounds(frames[k], tasks[k], point, tol, budgets[k])):
            found[k] = hard
    rest = [k for k in range(len(tasks)) if k not in found]
    if rest:
        again = []
        for k in rest:  # from where descent led, if that is near the optimum of a soft margin
            near = tasks[k].C is not None and reached[k][0].gap < SETTINGS.lost_gap
            again.append(replace(tasks[k], start=reached[k][0] if near else None))
        mixed = _by_newton([frames[k] for k in rest], again, tol, [budgets[k] for k in rest])
        found.update((k, replace(one, solver="mixed")) for k, one in zip(rest, mixed, strict=True))
    return [found[k] for k in range(len(tasks))]


def _descend(
    dual_problem: DualProblem, task: Task, tol: float, budget: Budget, exact: bool
) -> tuple[MarginPoint, bool]:
    """One machine by coordinate descent, in the user's coordinates."""
    start = None
    if task.start is not None:
        alpha = np.clip(task.start.alpha, 0.0, dual_problem.C)
        v = dual_problem.weighted_sum(alpha)
        start = replace(task.start, alpha=alpha, v=v)
    once = task.C is not None and is_affordable(dual_problem.rows)
    return large_margin(dual_problem, tol, budget, start, exact, once)


def _hard_within_bounds(
    frame: Frame, task: Task, reached: MarginPoint, tol: float, budget: Budget
) -> Solved | None:
    """The hard margin, if a plane that separates is known and no multiplier of it is larger than C.

    Then it is the optimum of the soft margin as well: both have the same optimality conditions. Of texts
    with a large C it is found ten times as fast.
    """
    if task.C is None:
        return None
    w, b = frame.scaling.inside(reached.w, reached.b)
    if float(frame.margins(w, b).min()) <= 0.0:
        return None
    quiet = Budget(budget.passes, budget.deadline, halt=budget.halt)
    hard = replace(task, C=None, start=reached)
    (found,) = solve_margins(frame.rows, [hard], frame.pad, tol, quiet)
    if found.meets or np.any(found.alpha > task.C):
        return None
    v = frame.rows.combine((found.alpha * task.y)[None])[0]
    gap = relative_gap(0.5 * float(found.w @ found.w), dual_value(found.alpha.sum(), float(v @ v), 0.0))
    return replace(found, solver="mixed") if gap <= tol else None


def _solved(dual_problem: DualProblem, point: MarginPoint) -> Solved:
    """The result of descent: its coordinates are the user's, its multipliers balance."""
    alpha = point.alpha
    length = float(point.v @ point.v)
    if dual_problem.hard and not point.meets and length > 0.0:
        alpha = alpha * (float(alpha.sum()) / length)
    b = point.b if dual_problem.pad else 0.0
    return Solved(point.w, b, alpha, point.passes, point.meets, solver="descent")


def _outside(frame: Frame, task: Task, point: MarginPoint) -> Solved:
    """Return to the user's coordinates, with balanced multipliers."""
    unit = frame.scaling.scale**2
    if point.meets:
        return Solved(np.zeros(frame.d), 0.0, point.alpha / unit, point.passes, meets=True)
    C = np.broadcast_to(math.inf, frame.n) if task.C is None else task.C
    alpha = point.alpha
    if frame.pad:
        alpha = balanced(alpha, frame.y, C * unit)
    w, b = frame.scaling.outside(point.w, point.b)
    return Solved(w, b if frame.pad else 0.0, np.minimum(alpha / unit, C), point.passes)
