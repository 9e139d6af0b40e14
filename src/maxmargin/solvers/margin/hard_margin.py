"""The hard margin: minimise ½‖w‖² subject to y_i (w·x_i + b) ≥ 1, over a pool of rows.

Only few rows matter, and any set of rows gives a bound: the optimum on a *pool* of rows is no larger
than the optimum on all. So solve on a pool, measure all rows in one pass, take the nearest ones to the
plane into the pool, and go on. No row is ever dropped, which keeps the number of passes small. Both
bounds are known after every pass: with any α ≥ 0 that balances,

    ½‖w‖²/(min_i m_i)²  ≥  optimum  ≥  ½ (Σ α_i)²/‖Σ α_i a_i‖².

If the pool alone cannot be separated, neither can the data, and the multipliers say why: scaled to sum
to one in each class they are convex weights whose two combinations are the same point.

A pass is a question (:func:`nearest_rows`): what is the least margin, and which rows are the nearest?
Rows in this process are one partition, those of a cluster are many, and each sends some of its nearest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from maxmargin.rows.base import draw
from maxmargin.rows.training_data import InMemory, Part, matrix_of
from maxmargin.solvers.margin.augmented_lagrangian import minimise
from maxmargin.solvers.margin.coordinates import Frame, Scaling
from maxmargin.solvers.margin.questions import Asking, Pool, Question, Sent, View, gathered, run_rounds
from maxmargin.solvers.margin.reduced_problem import MEETING_DISTANCE, Reduced
from maxmargin.solvers.margin.tasks import SMALL_ENTRIES, TIGHT_GAP, Budget, MarginPoint, Plane
from maxmargin.solvers.margin.witness import meeting_weights


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    rows_per_feature: int = 40  # of the pool to begin with, and to join it after a pass, within
    min_pool_rows: int = 400  # so many at least,
    max_pool_rows: int = 3_000  # so many at most,
    max_pool_entries: int = 400_000  # and so many numbers
    rough_gap: float = 3e-2  # gap that will do on a pool while many rows are still violated
    few_violated: float = 0.25  # share of the rows that could join below which few are violated
    closer: float = 1e-2  # factor on the distance at which hulls may meet, after they did not
    joining_margin: float = 1.25  # up to which rows join the pool: those beyond 1 are violated next
    joining_stiffness: float = 100.0  # σ against the mean multiplier of the support, when rows join
    sent_shares: int = 4  # a partition may send so many times its share of the rows that join,
    min_sent_rows: int = 64  # and so many in any case


SETTINGS = Settings()


class Start(NamedTuple):
    """The pool to begin with, its coordinates, and where to begin on it."""

    pool: Pool
    pad: float
    scaling: Scaling
    whole: bool = False  # the pool holds all rows
    point: MarginPoint | None = None  # None: at zero; its multipliers are those of the pool
    passes: int = 0


def hard_margins(
    frames: Sequence[Frame],
    tol: float,
    budgets: Sequence[Budget],
    starts: Sequence[MarginPoint | None],
) -> list[MarginPoint]:
    """Solve machines on the same rows in this process together."""
    n = frames[0].n
    final = 0.1 * tol if n * frames[0].d > SMALL_ENTRIES else min(0.1 * tol, TIGHT_GAP)
    everything, bounds = np.arange(n), np.broadcast_to(math.inf, n)
    here = InMemory(Part(frames[0].rows, np.empty(0, np.int32)), None)
    views = [View(frame, bounds, everything) for frame in frames]
    machines = [
        hard_margin(_start(frame, start), 1, tol, final, _of_all(budget, n))
        for frame, budget, start in zip(frames, budgets, starts, strict=True)
    ]
    points = run_rounds(here, views, machines)
    return [replace(point, alpha=point.alpha.of_all(n)) for point in points]


def _of_all(budget: Budget, n: int) -> Budget:
    """The budget of a machine, told of multipliers in one array."""
    outside = budget.outside
    return replace(budget, outside=lambda p: outside(replace(p, alpha=p.alpha.of_all(n))))


def hard_margin(
    start: Start, parts: int, tol: float, final: float, budget: Budget
) -> Asking[MarginPoint]:
    """Solve one machine; the pool is solved to the gap ``final`` in the end."""
    pool, zero, size = start.pool, np.zeros(start.pool.rows.d), start.pool.rows.n
    work = pool.frame(start.pad, start.scaling)
    point, passes, close = _begin(start, work), start.passes, start.whole
    meet = MEETING_DISTANCE
    best = MarginPoint(zero, 0.0, pool.multipliers(np.zeros(size), parts), passes=passes)
    astray = start.point is not None  # a start may lead astray
    while True:
        budget.go_on()
        problem = Reduced(work, np.full(work.n, math.inf), zero, meet=meet)
        goal = final if close else SETTINGS.rough_gap
        point = minimise(problem, point, goal, budget.deadline)
        if point.meets:
            weights = meeting_weights(work, point.alpha)
            if weights is not None:
                alpha = pool.multipliers(weights, parts)
                return MarginPoint(
                    zero, 0.0, alpha, passes=passes, meets=True, pool=pool, weights=weights
                )
            meet *= SETTINGS.closer
            continue
        small = SETTINGS.joining_margin, max_sent(size, parts)
        plane = Plane(point.w, point.b)
        answers = yield Question(nearest_rows, small, pool.known(parts), plane=plane)
        passes += 1
        near: list[Nearest] = [answer for answer in answers if answer is not None]
        least = min([answer.least for answer in near])
        scale = least if least > 0.0 else 1.0
        w, b, alpha = point.w / scale, point.b / scale, pool.multipliers(point.alpha, parts)
        primal = 0.5 * float(w @ w) if least > 0.0 else math.inf
        now = MarginPoint(w, b, alpha, passes=passes, primal=primal, dual=point.dual)
        best = best.joined(now)
        if best.gap <= tol or budget.ended(best):
            return best
        violated = sum([answer.violated for answer in near])
        if not violated and close:
            if not astray:
                return best
            astray, point = False, _begin(start._replace(point=None), work)  # begin at zero
            continue
        close = violated < SETTINGS.few_violated * size
        fresh = _nearest_of_all(answers, size)
        del answers, near, problem  # with rows that are no longer needed, before others are copied
        if fresh is not None:
            del work
            pool = pool.joined(fresh)
            del fresh
            work = pool.frame(start.pad, start.scaling)
        mean = float(point.alpha.sum()) / max(int(np.count_nonzero(point.alpha)), 1)
        known = np.concatenate([point.alpha, np.zeros(work.n - len(point.alpha))])
        point = MarginPoint(point.w, point.b, known, sigma=SETTINGS.joining_stiffness * mean)


def _begin(start: Start, work: Frame) -> MarginPoint:
    """A point on the pool: where a warm start says, or zero."""
    sigma = 1.0 / work.mean_square
    if start.point is None:
        return MarginPoint(np.zeros(work.d), 0.0, np.zeros(work.n), sigma=sigma)
    alpha = start.point.alpha
    mean = float(alpha.sum()) / max(int(np.count_nonzero(alpha)), 1)
    return MarginPoint(
        start.point.w, start.point.b, alpha, sigma=SETTINGS.joining_stiffness * mean or sigma
    )


class Nearest(NamedTuple):
    """What a partition answers."""

    least: float  # margin of any row
    violated: int  # rows with a margin below one that are not in the pool
    m: np.ndarray  # margins of the rows sent
    rows: Sent


def nearest_rows(view: View, m: np.ndarray, below: float, most: int, known: np.ndarray) -> Nearest:
    """The least margin, and the rows nearest to the plane among those that are not ``known``."""
    least = float(m.min())
    m[np.searchsorted(view.numbers, known)] = math.inf
    which = np.flatnonzero(m < below)
    if len(which) > most:
        which = np.sort(which[np.argpartition(m[which], most)[:most]])
    violated = int(np.count_nonzero(m < 1.0))
    X = matrix_of(view.frame.rows.select(which))
    return Nearest(
        least, violated, m[which], Sent(view.numbers[which], view.frame.y[which], view.C[which], X)
    )


def _nearest_of_all(answers: Sequence[Nearest | None], size: int) -> Pool | None:
    """The rows that partitions sent, the nearest ``size`` of them; None if that is nothing."""
    fresh = gathered([None if answer is None else answer.rows for answer in answers])
    if fresh is None or fresh.rows.n <= size:
        return fresh
    m = np.concatenate([answer.m for answer in answers if answer is not None])
    return fresh.some(np.sort(np.argpartition(m, size)[:size]))


def max_sent(size: int, parts: int) -> int:
    """How many rows a partition may send, where about ``size`` may join."""
    return min(size, max(SETTINGS.min_sent_rows, -(-SETTINGS.sent_shares * size // parts)))


def pool_size(d: int) -> int:
    """How many rows to begin with, and how many may join after a pass."""
    most = min(SETTINGS.max_pool_rows, SETTINGS.max_pool_entries // (d + 1))
    return max(SETTINGS.min_pool_rows, min(SETTINGS.rows_per_feature * (d + 1), most))


def _start(frame: Frame, start: MarginPoint | None) -> Start:
    """Rows drawn from those here (always the same draw), with the support of the start."""
    which = _first_pool(frame, pool_size(frame.d))
    if start is not None:
        which = np.union1d(which, np.flatnonzero(start.alpha))
        start = replace(start, alpha=start.alpha[which])
    whole = len(which) == frame.n
    rows = frame.rows if whole and frame.rows.resident else frame.rows.select(which)
    bounds, part = np.broadcast_to(math.inf, len(which)), np.zeros(len(which), np.int64)
    pool = Pool(rows, frame.y[which], bounds, part, which)
    passes = int(whole) + (0 if start is None else start.passes)
    return Start(pool, frame.pad, frame.scaling, whole, start, passes)


def _first_pool(frame: Frame, size: int) -> np.ndarray:
    """Rows drawn at random (always the same draw), with enough of both classes."""
    if size >= frame.n:
        return np.arange(frame.n)
    some = draw(frame.n, size)
    plus = int(np.count_nonzero(frame.y[some] > 0))
    for sign, found in ((1.0, plus), (-1.0, len(some) - plus)):
        if found < size // 8:  # a rare class
            rows = np.flatnonzero(frame.y == sign)
            some = np.union1d(some, rows[draw(len(rows), size // 8)])
    return some
