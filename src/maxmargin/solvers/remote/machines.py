"""Margin machines on shared partitions: from the user's coordinates to the solver's, and back.

A sample of the rows: always the same draw, with enough rows of every class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from maxmargin.rows import Rows
from maxmargin.rows.partitions import InMemory, Part, matrix_of, split, stacked
from maxmargin.rows.survey import TrainingData
from maxmargin.solvers.margin.coordinates import Scene, draw, set_scene
from maxmargin.solvers.margin.hard_margin import pool_size
from maxmargin.solvers.margin.soft_margin import SETTINGS as SOFT
from maxmargin.solvers.margin.soft_margin_partitions import (
    NEWTON,
    Beginning,
    begin_at,
    begin_with_all,
    soft_margin_partitions_margin,
)
from maxmargin.solvers.margin.solve import solve_margins
from maxmargin.solvers.margin.summaries import alike, key_of
from maxmargin.solvers.margin.tasks import Budget, Task
from maxmargin.solvers.remote.hard import remote_hard_margin
from maxmargin.solvers.remote.rounds import (
    Course,
    Given,
    Limits,
    Multipliers,
    Plane,
    Pool,
    RemotePoint,
    Side,
    run_rounds,
)

RARE = 8  # each class has at least a share of one in so many of the sample, divided by the others
SURE = 40  # rows of a class that are expected in a draw where it is sure not to be missed


class Sample(NamedTuple):
    """Some rows, with where they are."""

    rows: Rows
    codes: np.ndarray
    part: np.ndarray
    number: np.ndarray  # within the partition
    weight: np.ndarray  # of the rows, one if they have none
    stands_for: np.ndarray  # by label code: how many rows each row of the sample stands for


def sample(data: TrainingData, size: int) -> Sample:
    """Draw about ``size`` rows: one round."""
    rows, totals = data.rows, data.counts.sum(axis=0)
    least = max(1, size // (RARE * max(1, len(totals) - 1)))
    own: list[tuple[np.ndarray, dict[int, np.ndarray]]]
    own = [(places, {}) for places in split(rows, draw(rows.n, size))]
    for code, total in enumerate(totals.tolist()):
        if total * size < max(least, SURE) * rows.n:
            ends = np.concatenate([[0], np.cumsum(data.counts[:, code])])
            picked = draw(total, least)
            cuts = np.searchsorted(picked, ends)
            for k in range(rows.parts):
                own[k][1][code] = picked[cuts[k] : cuts[k + 1]] - ends[k]
    found = rows.each(_picked, own=own)
    codes, number, weight = (np.concatenate(column) for column in list(zip(*found, strict=True))[:3])
    part = np.repeat(np.arange(rows.parts), [len(one[0]) for one in found])
    matrix = stacked([one[3] for one in found])
    seen = np.maximum(np.bincount(codes, minlength=len(totals)), 1)
    return Sample(matrix, codes, part, number, weight, totals / seen)


def _picked(
    part: Part, wanted: tuple[np.ndarray, dict[int, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
    """Rows by number, and the first, third, … of a class; those of weight zero are left out."""
    places, ranks = wanted
    rare = [np.flatnonzero(part.codes == code)[which] for code, which in ranks.items()]
    numbers = np.unique(np.concatenate([places, *rare]))
    numbers = numbers[part.codes[numbers] >= 0]
    weight = np.ones(len(numbers)) if part.weight is None else part.weight[numbers]
    return part.codes[numbers], numbers, weight, matrix_of(part.rows.select(numbers))


CARRIED = 1 << 21  # numbers that come here in a round, at most
WIDE = 8  # so many times as many of sparse rows with too many features for a Hessian
PLENTY, SURELY = 0.25, 5  # of what may come; rows of a kind that a sample has missed, and hardly more
EACH, SAMPLE = 20, 1 << 21  # rows of a sample for each feature, at least; and numbers of these


class RemoteTask(NamedTuple):
    """One machine: its labels by code, the bounds C by code (None: hard margin), a plane to begin at."""

    positive: int
    negative: int | None
    C: np.ndarray | None
    start: Plane | None = None


class RemoteSolved(NamedTuple):
    """A machine in the solver's coordinates ``side``, with its plane in the user's."""

    side: Side
    point: RemotePoint
    w: np.ndarray
    b: float


def solve_remote(
    data: TrainingData, tasks: Sequence[RemoteTask], pad: float, limits: Sequence[Limits]
) -> list[RemoteSolved]:
    """Solve machines on the same partitions together."""
    rows, hard = data.rows, tasks[0].C is None
    if isinstance(rows, InMemory):
        return _solve_here(rows, tasks, pad, limits[0])
    d, dense = rows.d, max(1, data.entries // rows.n)
    carried = max(SOFT.min_working_rows, (CARRIED if d <= NEWTON else WIDE * CARRIED) // dense)
    if hard:
        size = pool_size(d)
    else:
        size = max(min(rows.n // SOFT.sample_thinning, carried), min(EACH * (d + 1), SAMPLE // dense))
    drawn = sample(data, size)
    scene = set_scene(drawn.rows, pad)
    sides = [_side(task, pad, scene) for task in tasks]
    courses: list[Course[RemotePoint]] = []
    for task, side, limit in zip(tasks, sides, limits, strict=True):
        if hard:
            pool = pool_of(drawn, side)
            whole = len(drawn.codes) == data.n
            courses.append(remote_hard_margin(side, pool, rows.parts, whole, limit))
        else:
            begin = _begin(drawn, task, side, rows.parts, carried, limit.deadline)
            courses.append(soft_margin_partitions_margin(side, begin, rows.parts, carried, limit))
    points = run_rounds(rows, sides, courses)
    found = zip(sides, points, strict=True)
    return [RemoteSolved(side, point, *outside(side, point)) for side, point in found]


def _solve_here(
    partition: InMemory, tasks: Sequence[RemoteTask], pad: float, limits: Limits
) -> list[RemoteSolved]:
    """The same for rows in this process, where solvers see all of them at once."""
    rows, codes = partition.part.rows, partition.part.codes
    scene = Scene(np.zeros(rows.d), 1.0)  # of answers in the user's coordinates
    sides = [Side(task.positive, task.negative, task.C, pad, scene) for task in tasks]
    asked = [Task(side.signs(codes), None if side.C is None else side.bounds(codes)) for side in sides]
    results = solve_margins(rows, asked, pad, limits.tol, Budget(deadline=limits.deadline))
    found = []
    for side, task, one in zip(sides, asked, results, strict=True):
        some = np.flatnonzero(one.alpha)
        everything = np.arange(rows.n)
        pool = Pool(rows, task.y, side.bounds(codes), np.zeros_like(everything), everything)
        point = RemotePoint(Plane(one.w, one.b), Multipliers(None, [Given(some, one.alpha[some])]))
        if one.meets:
            point = replace(point, meets=pool, weights=one.alpha)
        found.append(RemoteSolved(side, point, one.w, one.b))
    partition.rounds += max(one.passes for one in results)
    return found


def _side(task: RemoteTask, pad: float, scene: Scene) -> Side:
    """The machine in the coordinates of the solver, where C is larger."""
    C = None if task.C is None else task.C * scene.scale**2
    return Side(task.positive, task.negative, C, pad, scene)


def outside(side: Side, point: RemotePoint) -> tuple[np.ndarray, float]:
    """The plane in the user's coordinates."""
    w, b = side.scene.outside(*point.plane)
    return w, b if side.pad else 0.0


def pool_of(drawn: Sample, side: Side) -> Pool:
    """The rows of a sample that belong to a machine."""
    which = side.members(drawn.codes)
    codes = drawn.codes[which]
    rows = drawn.rows if len(which) == drawn.rows.n else drawn.rows.select(which)
    y, C = side.signs(codes), side.bounds(codes, drawn.weight[which])
    return Pool(rows, y, C, drawn.part[which], drawn.number[which])


def _begin(
    drawn: Sample, task: RemoteTask, side: Side, parts: int, carried: int, deadline: float
) -> Beginning:
    """Solve the sample roughly, with C in proportion; how far that may be off, and so how many rows."""
    pool = pool_of(drawn, side)
    weight = drawn.stands_for[drawn.codes[side.members(drawn.codes)]]
    frame = pool.frame(side)
    if task.start is not None:
        plane = Plane(*side.scene.inside(*task.start))
    else:
        C = pool.C / side.scene.scale**2
        asked = [Task(pool.y, C * weight)]
        (rough,) = solve_margins(pool.rows, asked, side.pad, SOFT.sample_gap, Budget(deadline=deadline))
        plane = Plane(*side.scene.inside(rough.w, rough.b))
    few = min(carried, 2 * max(SOFT.min_working_rows, 4 * (frame.d + 1)))
    if float(weight.sum()) <= few or _distinct(pool, weight, parts) <= PLENTY * carried:
        return begin_with_all(plane)
    return begin_at(plane, frame, pool.C * weight)


def _distinct(pool: Pool, weight: np.ndarray, parts: int) -> float:
    """How many rows come, hardly more, if every partition sends one of each kind.

    What share of the rows is of kinds that a sample does not know is about the share of rows in it that
    are the only ones of their kind (Good 1953).
    """
    groups = alike(pool.rows, pool.y, np.arange(pool.rows.n), key_of(pool.rows))
    alone = np.bincount(groups.group, minlength=1) == 1
    unknown = weight[groups.first[alone]].sum() + SURELY * float(weight.max(initial=0.0))
    return parts * len(groups.first) + float(unknown)
