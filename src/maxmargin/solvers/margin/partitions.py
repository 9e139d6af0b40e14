"""Machines on rows in partitions: from the user's coordinates to the solver's, and back.

A sample sets the coordinates. It is the first pool of a hard margin, and gives the soft margin a first
plane. Then machines share their rounds.

The soft margin of a sample differs from that of all rows by noise in its slope, Σ α_i (a_i, y_i) over
other rows with α_i = C_i. So its plane is off by e = M⁻¹ noise, whose expected length is
eᵀMe = Σ α_i² s_i² with the scales of the rows: that is where the trust region begins
(:func:`begin_at`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from maxmargin.rows.survey import Sample, sample
from maxmargin.rows.training_data import InMemory, TrainingData
from maxmargin.solvers.margin.coordinates import Frame, find_scaling
from maxmargin.solvers.margin.hard_margin import Start, hard_margin, pool_size
from maxmargin.solvers.margin.questions import (
    Asking,
    BinaryTask,
    Given,
    Multipliers,
    Pool,
    run_rounds,
)
from maxmargin.solvers.margin.soft_margin import SETTINGS as SOFT
from maxmargin.solvers.margin.soft_margin_partitions import SETTINGS as PARTITIONS
from maxmargin.solvers.margin.soft_margin_partitions import (
    Closing,
    TrustRegion,
    soft_margin_partitions,
)
from maxmargin.solvers.margin.solve import solve_margins
from maxmargin.solvers.margin.summaries import by_length, equal_rows, hessian, key_of, scales_for
from maxmargin.solvers.margin.tasks import Budget, MarginPoint, Pass, Plane, Task


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    max_numbers_sent: int = 1 << 21  # in a round
    wide_factor: int = 8  # so many times as many of sparse rows with too many features for a Hessian
    sample_rows_per_feature: int = 20  # at least,
    max_sample_numbers: int = 1 << 21  # within so many numbers
    max_share_at_once: float = 0.25  # of what may be sent: then all rows come in the first round
    unseen_kinds: int = 5  # rows of a kind that a sample has missed, and hardly more
    far: float = 3.0  # the optimum is nearly certainly within so many times the expected distance
    bending_share: float = 0.2  # of a sample: what bends the first model,
    nearly_all: float = 0.9  # and nearly all of it
    min_first_width: float = 1e-2  # of the width of nearly all


SETTINGS = Settings()


class SolvedOnPartitions(NamedTuple):
    """A machine in the solver's coordinates, with its plane in the user's."""

    task: BinaryTask
    point: MarginPoint
    w: np.ndarray
    b: float
    log: tuple[Pass, ...] = ()


def solve_on_partitions(
    data: TrainingData,
    tasks: Sequence[BinaryTask],
    tol: float,
    budgets: Sequence[Budget],
    closing: Closing | None = None,
) -> list[SolvedOnPartitions]:
    """Solve machines on the same partitions together."""
    rows, hard = data.rows, tasks[0].C is None
    if isinstance(rows, InMemory):
        return _solve_here(rows, tasks, tol, budgets[0])
    d, dense = rows.d, max(1, data.entries // rows.n)
    numbers = SETTINGS.max_numbers_sent * (
        1 if d <= PARTITIONS.max_newton_features else SETTINGS.wide_factor
    )
    max_rows = max(SOFT.min_working_rows, numbers // dense)
    size = pool_size(d)
    if not hard:
        least = min(SETTINGS.sample_rows_per_feature * (d + 1), SETTINGS.max_sample_numbers // dense)
        size = max(min(rows.n // SOFT.sample_thinning, max_rows), least)
    drawn = sample(data, size)
    scaling = find_scaling(drawn.rows, tasks[0].pad)
    inside = [task.inside(scaling) for task in tasks]
    budgets = [_reporting(budget, task) for budget, task in zip(budgets, inside, strict=True)]
    machines: list[Asking[MarginPoint]] = []
    for task, own, budget in zip(tasks, inside, budgets, strict=True):
        if hard:
            whole = len(drawn.codes) == data.n
            start = Start(pool_of(drawn, own), own.pad, scaling, whole, passes=rows.rounds)
            machines.append(hard_margin(start, rows.parts, tol, 0.1 * tol, budget))
        else:
            begin = _begin(drawn, task, own, rows.parts, max_rows, budget)
            limits = rows.parts, max_rows, rows.rounds
            machines.append(soft_margin_partitions(own, begin, *limits, tol, budget, closing))
    points = run_rounds(rows, inside, machines)
    solved = zip(inside, points, budgets, strict=True)
    return [
        SolvedOnPartitions(task, point, *task.outside(point.w, point.b), tuple(budget.log))
        for task, point, budget in solved
    ]


def _reporting(budget: Budget, task: BinaryTask) -> Budget:
    """The budget of a machine, with values in the user's coordinates."""
    unit = task.scaling.scale**2

    def outside(point: MarginPoint) -> MarginPoint:
        return replace(point, primal=point.primal / unit, dual=point.dual / unit)

    return replace(budget, outside=outside, log=[])


def _solve_here(
    partition: InMemory, tasks: Sequence[BinaryTask], tol: float, budget: Budget
) -> list[SolvedOnPartitions]:
    """The same for rows in this process, where solvers see all of them at once."""
    rows, codes = partition.part.rows, partition.part.codes
    asked = [Task(task.signs(codes), None if task.C is None else task.bounds(codes)) for task in tasks]
    found = []
    results = solve_margins(rows, asked, tasks[0].pad, tol, budget)
    for task, at_hand, one in zip(tasks, asked, results, strict=True):
        some = np.flatnonzero(one.alpha)
        everything = np.arange(rows.n)
        alpha = Multipliers(None, [Given(some, one.alpha[some])])
        point = MarginPoint(one.w, one.b, alpha, meets=one.meets)
        if one.meets:
            bounds = task.bounds(codes)
            pool = Pool(rows, at_hand.y, bounds, np.zeros_like(everything), everything)
            point = replace(point, pool=pool, weights=one.alpha)
        found.append(SolvedOnPartitions(task, point, one.w, one.b, one.log))
    partition.rounds += max(one.passes for one in results)
    return found


def pool_of(drawn: Sample, task: BinaryTask) -> Pool:
    """The rows of a sample that belong to a machine."""
    which = task.members(drawn.codes)
    codes = drawn.codes[which]
    rows = drawn.rows if len(which) == drawn.rows.n else drawn.rows.select(which)
    y, C = task.signs(codes), task.bounds(codes, drawn.weight[which])
    return Pool(rows, y, C, drawn.part[which], drawn.number[which])


def _begin(
    drawn: Sample, task: BinaryTask, inside: BinaryTask, parts: int, max_rows: int, budget: Budget
) -> TrustRegion:
    """Solve the sample roughly, with C in proportion; how far that may be off, and so how many rows."""
    pool = pool_of(drawn, inside)
    weight = drawn.stands_for[drawn.codes[inside.members(drawn.codes)]]
    frame = pool.frame(inside.pad, inside.scaling)
    start = task.start
    if start is None:
        C = pool.C / inside.scaling.scale**2
        asked, rough = [Task(pool.y, C * weight)], Budget(deadline=budget.deadline)
        (found,) = solve_margins(pool.rows, asked, task.pad, SOFT.sample_gap, rough)
        start = Plane(found.w, found.b)
    plane = Plane(*inside.scaling.inside(*start))
    few = min(max_rows, 2 * max(SOFT.min_working_rows, 4 * (frame.d + 1)))
    distinct = _distinct(pool, weight, parts)
    # All rows come at once where they are few, or hardly more than a few kinds.
    if float(weight.sum()) <= few or distinct <= SETTINGS.max_share_at_once * max_rows:
        return TrustRegion(plane, by_length(len(plane.w)), math.inf)
    return begin_at(plane, frame, pool.C * weight)


def begin_at(plane: Plane, frame: Frame, C: np.ndarray) -> TrustRegion:
    """A plane that was solved on a sample, with the bounds C that stand for all rows."""
    r = 1.0 - frame.margins(*plane)
    if frame.d > PARTITIONS.max_newton_features:
        row_scales = by_length(frame.d)
        distances = np.abs(r) / row_scales.of(frame)
        return TrustRegion(plane, row_scales, float(np.quantile(distances, SETTINGS.bending_share)))
    Z = np.column_stack([frame.take(np.arange(frame.n)), frame.bias])
    far = np.abs(r)
    curvature = C / (2.0 * np.maximum(far, max(float(np.median(far)), 1e-300)))
    for _ in range(2):
        M = np.diag(np.append(np.ones(frame.d), 1.0 - frame.pad)) + hessian(Z, curvature)
        M[-1, -1] = M[-1, -1] or 1.0
        row_scales = scales_for(M, frame.pad)
        scales = np.maximum(row_scales.of(frame), 1e-300)
        few, nearly_all = np.quantile(
            far / scales, (SETTINGS.bending_share, SETTINGS.nearly_all)
        ).tolist()
        width = (
            max(few, SETTINGS.min_first_width * nearly_all) or 1.0
        )  # many equal rows may be on the margin
        curvature = np.where(far <= width * scales, C / (2.0 * width * scales), 0.0)
    noise = np.where(r > 0.0, C * scales, 0.0)
    fitted = float(np.quantile(far / scales, min(2.0 * len(M) / frame.n, 1.0)))
    expected = math.sqrt(float(noise @ noise) / len(M))
    return TrustRegion(plane, row_scales, max(SETTINGS.far * expected, fitted) or width)


def _distinct(pool: Pool, weight: np.ndarray, parts: int) -> float:
    """How many rows come, hardly more, if every partition sends one of each kind.

    What share of the rows is of kinds that a sample does not know is about the share of rows in it that
    are the only ones of their kind (Good 1953).
    """
    groups = equal_rows(pool.rows, pool.y, np.arange(pool.rows.n), key_of(pool.rows))
    alone = np.bincount(groups.group, minlength=1) == 1
    unknown = weight[groups.first[alone]].sum() + SETTINGS.unseen_kinds * float(weight.max(initial=0.0))
    return parts * len(groups.first) + float(unknown)
