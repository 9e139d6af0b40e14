"""The hard margin on partitions: solve on a pool of rows, and let every partition add its nearest rows.

The idea and both bounds are those of :mod:`maxmargin.solvers.margin.hard_margin`. A round sends a plane
to the partitions; each returns its least margin and its nearest rows to the plane that are not in the
pool yet.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from maxmargin.rows.partitions import matrix_of
from maxmargin.solvers.margin.augmented_lagrangian import SETTINGS, Iterate, Reduced, minimise
from maxmargin.solvers.margin.hard_margin import SETTINGS as HARD
from maxmargin.solvers.margin.hard_margin import first_sigma
from maxmargin.solvers.margin.witness import meeting_weights
from maxmargin.solvers.remote.rounds import (
    Course,
    Limits,
    Multipliers,
    Plane,
    Pool,
    Query,
    RemotePoint,
    Sent,
    Side,
    View,
    gathered,
)

SPREAD = 4  # a partition may send so many times its share of the rows that join
FEWEST = 64  # rows it may send in any case


class _Nearest(NamedTuple):
    least: float  # margin of any row
    violated: int  # rows with a margin below one that are not in the pool
    m: np.ndarray  # margins of the rows sent
    rows: Sent


def remote_hard_margin(
    side: Side, pool: Pool, parts: int, whole: bool, limits: Limits
) -> Course[RemotePoint]:
    """Solve one machine, beginning with a pool; ``whole`` says that it holds all rows."""
    size, d = pool.rows.n, pool.rows.d
    most = max(FEWEST, -(-SPREAD * size // parts))
    zero, final, close, meet = np.zeros(d), 0.1 * limits.tol, whole, SETTINGS.meeting_distance
    work = pool.frame(side)
    point = Iterate(zero, 0.0, np.zeros(size), first_sigma(work, np.arange(size)))
    best = RemotePoint(Plane(zero, 0.0), Multipliers(None, [None] * parts))
    while True:
        problem = Reduced(work, np.full(work.n, math.inf), zero)
        point = minimise(problem, point, final if close else HARD.rough_gap, limits.deadline, meet)
        if point.meets:
            some = np.flatnonzero(point.alpha)
            weights = meeting_weights(work, some, point.alpha[some])
            if weights is not None:
                given = np.zeros(work.n)
                given[some] = weights
                multipliers = Multipliers(None, pool.given(given, parts))
                return RemotePoint(Plane(zero, 0.0), multipliers, meets=pool, weights=given)
            meet *= HARD.closer
            continue
        small = point.w, point.b, HARD.joining_margin, most
        answers = yield Query(_nearest, small, pool.known(parts))
        near: list[_Nearest] = [a for a in answers if a is not None]
        least = min(a.least for a in near)
        if least > 0.0:
            plane = Plane(point.w / least, point.b / least)
            best = best.with_plane(plane, 0.5 * float(plane.w @ plane.w))
        elif best.primal == math.inf:
            best = best.with_plane(Plane(point.w, point.b), math.inf)
        best = best.with_multipliers(Multipliers(None, pool.given(point.alpha, parts)), point.dual)
        violated = sum(a.violated for a in near)
        if limits.ended(best) or (not violated and close):
            return best
        close = violated < HARD.few_violated * size
        fresh = gathered([None if a is None else a.rows for a in answers])
        if fresh is not None:
            m = np.concatenate([a.m for a in near])
            if len(m) > size:
                fresh = fresh.some(np.sort(np.argpartition(m, size)[:size]))
            pool = pool.joined(fresh)
            work = pool.frame(side)
        mean = float(point.alpha.sum()) / max(int(np.count_nonzero(point.alpha)), 1)
        alpha = np.concatenate([point.alpha, np.zeros(work.n - len(point.alpha))])
        point = Iterate(point.w, point.b, alpha, HARD.joining_stiffness * mean)


def _nearest(
    view: View, w: np.ndarray, b: float, below: float, most: int, known: np.ndarray
) -> _Nearest:
    """The least margin of a partition, and its nearest rows to the plane among those not known."""
    m = view.frame.values(w, b)
    least = float(m.min())
    m[np.isin(view.numbers, known)] = math.inf
    which = np.flatnonzero(m < below)
    if len(which) > most:
        which = np.sort(which[np.argpartition(m[which], most)[:most]])
    X = matrix_of(view.frame.rows.select(which))
    sent = Sent(view.numbers[which], view.frame.y[which], view.C[which], X)
    return _Nearest(least, int(np.count_nonzero(m < 1.0)), m[which], sent)
