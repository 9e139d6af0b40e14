"""The hard margin: minimise ½‖w‖² subject to y_i (w·x_i + b) ≥ 1, over a pool of rows.

Only few rows matter, and any set of rows gives a bound: the optimum on a *pool* of rows is no larger
than the optimum on all. So solve on a pool, measure all rows in one pass, take the nearest ones to the
plane into the pool, and go on. No row is ever dropped, which keeps the number of passes small. Both
bounds are known after every pass: with any α ≥ 0 that balances,

    ½‖w‖²/(min_i m_i)²  ≥  optimum  ≥  ½ (Σ α_i)²/‖Σ α_i a_i‖².

If the pool alone cannot be separated, neither can the data, and the multipliers say why: scaled to sum
to one in each class they are convex weights whose two combinations are the same point.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from maxmargin.core.state_forms import StateError, count, entries, flag, instance, maybe, number, places
from maxmargin.solvers.margin.augmented_lagrangian import MEET, Iterate, Reduced, iterate_form, minimise
from maxmargin.solvers.margin.coordinates import Frame, draw
from maxmargin.solvers.margin.passes import (
    SMALL,
    TIGHT,
    Budget,
    Course,
    MarginPoint,
    State,
    point_form,
    within,
)
from maxmargin.solvers.margin.witness import meeting_weights

# Rows to begin with, and to add after a pass: forty per feature, within these limits.
LEAST, POOL, ENTRIES = 400, 3_000, 400_000
ROUGH = 3e-2  # gap that will do on a pool while many rows are still violated
CLOSE = 0.25  # few rows are violated: fewer than this share of what would be added
CLOSER = 1e-2  # factor on the distance at which hulls may meet, after they did not
NEXT = 1.25  # margin up to which rows are taken into the pool
STIFF = 100.0  # σ against the mean multiplier of the support, when new rows join


def hard_margin(
    frame: Frame, tol: float, budget: Budget, saved: State | None = None
) -> Course[MarginPoint]:
    """Solve one machine; see the module for the idea."""
    size = min(frame.n, max(LEAST, min(40 * (frame.d + 1), POOL, ENTRIES // (frame.d + 1))))
    zero = np.zeros(frame.d)
    final = 0.1 * tol if frame.n * frame.d > SMALL else min(0.1 * tol, TIGHT)
    if saved is not None:
        _check(saved, frame)
    kept: State = saved or _begin(frame, size)
    pool, point = kept["pool"], kept["point"]
    best: MarginPoint = kept["best"]  # its multipliers belong to the rows pool[: …]
    close, passes, meet = kept["close"], kept["passes"], kept["meet"]
    solved, run = kept["solved"], kept["run"]
    work = frame.restricted(pool)

    def state(solved: bool, run: State | None = None) -> State:
        now = {"pool": pool, "point": point, "best": best, "close": close, "passes": passes}
        return {**now, "meet": meet, "solved": solved, "run": run}

    while True:
        if not solved:
            problem = Reduced(work, np.full(work.n, math.inf), zero)
            goal = final if close else ROUGH
            course = minimise(problem, point, goal, budget.deadline, meet, run)
            point = yield from within(course, lambda run: state(solved=False, run=run))
            run = None
            if point.meets:
                some = np.flatnonzero(point.alpha)
                weights = meeting_weights(frame, pool[some], point.alpha[some])
                if weights is not None:
                    alpha = np.zeros(frame.n)
                    alpha[pool[some]] = weights
                    return MarginPoint(zero, 0.0, alpha, zero, passes=passes, meets=True)
                meet *= CLOSER
                continue
            yield state(solved=True)
        solved = False
        m = yield point.w, point.b
        passes += 1
        least = float(m.min())
        scale = least if least > 0.0 else 1.0
        w, b = point.w / scale, point.b / scale
        primal = 0.5 * float(w @ w) if least > 0.0 else math.inf
        now = MarginPoint(w, b, point.alpha, zero, 0.0, passes, primal, point.dual)
        best = best.joined(now)
        if best.gap <= tol or budget.ended(best):
            break
        m[pool] = math.inf
        violated = int(np.count_nonzero(m < 1.0))
        if not violated and close:
            break
        close = violated < CLOSE * size
        fresh = np.flatnonzero(m < NEXT)  # rows just beyond the edge are violated next
        if len(fresh) > size:
            fresh = fresh[np.argpartition(m[fresh], size)[:size]]
        pool = np.concatenate([pool, fresh])
        work = frame.restricted(pool)
        mean = float(point.alpha.sum()) / max(int(np.count_nonzero(point.alpha)), 1)
        alpha = np.concatenate([point.alpha, np.zeros(len(fresh))])
        point = Iterate(point.w, point.b, alpha, STIFF * mean)
    alpha = np.zeros(frame.n)
    alpha[pool[: len(best.alpha)]] = best.alpha
    return replace(best, alpha=alpha)


def _begin(frame: Frame, size: int) -> State:
    """Where a machine is before its first step."""
    pool, zero = _first_pool(frame, size), np.zeros(frame.d)
    start = Iterate(zero, 0.0, np.zeros(len(pool)), first_sigma(frame, pool))
    best, whole = MarginPoint(zero, 0.0, start.alpha, zero), len(pool) == frame.n
    now = {"pool": pool, "point": start, "best": best, "close": whole, "passes": int(whole)}
    return {**now, "meet": MEET, "solved": False, "run": None}


def _check(saved: State, frame: Frame) -> None:
    """Refuse what is no state of :func:`hard_margin`; what its part holds, the part looks at."""
    pool = places(None, below=frame.n)
    pool(saved.get("pool"), "pool")
    entries(
        pool=pool,
        point=iterate_form(len(saved["pool"]), frame.d),
        best=point_form(None, frame.d),
        close=flag,
        passes=count,
        meet=number,
        solved=flag,
        run=maybe(instance(dict)),
    )(saved, "the state")
    if len(saved["best"].alpha) > len(saved["pool"]) or not 0.0 <= saved["meet"] <= MEET:
        raise StateError("best and meet must be those of the pool. Got others instead.")


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


def first_sigma(frame: Frame, pool: np.ndarray) -> float:
    """1/mean‖a_i‖²."""
    A = frame.take(pool[:1_000])
    size = float(np.mean(np.einsum("ij,ij->i", A, A)))
    return 1.0 / size if size > 0 else 1.0
