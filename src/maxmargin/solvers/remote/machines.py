"""Margin machines on shared partitions: from the user's coordinates to the solver's, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.rows.survey import Surveyed
from maxmargin.solvers.margin.frame import Scene, set_scene
from maxmargin.solvers.margin.hardmargin import ENTRIES, LEAST, POOL
from maxmargin.solvers.margin.machines import solve_margins
from maxmargin.solvers.margin.passes import Budget
from maxmargin.solvers.margin.softmargin import BASE, ROUGH, THIN
from maxmargin.solvers.margin.tasks import Task
from maxmargin.solvers.remote.alike import alike, key_of
from maxmargin.solvers.remote.beginning import NEWTON, Beginning, begin_at, begin_with_all
from maxmargin.solvers.remote.hard import remote_hard_margin
from maxmargin.solvers.remote.point import Limits, RemotePoint
from maxmargin.solvers.remote.pool import Pool
from maxmargin.solvers.remote.rounds import Course, Side, run_rounds
from maxmargin.solvers.remote.rule import Plane
from maxmargin.solvers.remote.sampling import Sample, sample
from maxmargin.solvers.remote.soft import remote_soft_margin

__all__ = ["CARRIED", "RemoteSolved", "RemoteTask", "outside", "pool_of", "solve_remote"]

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
    data: Surveyed, tasks: Sequence[RemoteTask], pad: float, limits: Sequence[Limits]
) -> list[RemoteSolved]:
    """Solve machines on the same partitions together."""
    rows, hard = data.rows, tasks[0].C is None
    d, dense = rows.d, max(1, data.entries // rows.n)
    carried = max(BASE, (CARRIED if d <= NEWTON else WIDE * CARRIED) // dense)
    if hard:
        size = max(LEAST, min(40 * (d + 1), POOL, ENTRIES // (d + 1)))
    else:
        size = max(min(rows.n // THIN, carried), min(EACH * (d + 1), SAMPLE // dense))
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
            courses.append(remote_soft_margin(side, begin, rows.parts, carried, limit))
    points = run_rounds(rows, sides, courses)
    found = zip(sides, points, strict=True)
    return [RemoteSolved(side, point, *outside(side, point)) for side, point in found]


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
        (rough,) = solve_margins(pool.rows, asked, side.pad, ROUGH, Budget(deadline=deadline))
        plane = Plane(*side.scene.inside(rough.w, rough.b))
    few = min(carried, 2 * max(BASE, 4 * (frame.d + 1)))
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
