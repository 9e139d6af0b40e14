"""The soft margin: minimise ½‖w‖² + Σ C_i max(0, 1 − m_i), with b free, on the rows near the margin.

Rows far inside (m_i ≫ 1) have α_i = 0 and rows far outside (m_i ≪ 1) have α_i = C_i, whatever the exact
plane. Their sums v₀ = Σ α_i a_i and s₀ = Σ α_i y_i are all the others need to know. So solve on the rows
near the margin, measure all rows in one pass, let rows that turned out to be on the wrong side of the
margin join, and go on; if the rows left out would have held the plane back, all of them join. Every
multiplier is always within its bounds, so each pass gives a true gap

    ½‖w‖² + Σ C_i max(0, 1 − m_i)  −  (Σ α_i − ½‖Σ α_i a_i‖²).

A first plane comes from a sixteenth of the rows with sixteen times the C, solved in the same way.

The rows near the margin are solved by the method of multipliers where there are multipliers to go on
from, and by interior points where there are none, or where that stalls.

Which rows the soft margin is solved on: those that may have multipliers between their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace

import numpy as np

from maxmargin.core.state_forms import (
    count,
    entries,
    flag,
    instance,
    listed,
    maybe,
    number,
    numbers,
    places,
)
from maxmargin.kernels.margin import hinge_slope
from maxmargin.solvers.margin.augmented_lagrangian import Iterate, Reduced, iterate_form, minimise
from maxmargin.solvers.margin.coordinates import Frame, draw
from maxmargin.solvers.margin.interior_point import ATTEMPTS, interior_point, is_affordable
from maxmargin.solvers.margin.passes import (
    SMALL,
    TIGHT,
    Budget,
    Course,
    MarginPoint,
    State,
    point_form,
    run_out,
    run_together,
    within,
)
from maxmargin.solvers.margin.tasks import scaled_up

SHARE = 0.2  # so many of the rows are copied at most
ROOM = 0.9  # share of what the rows at hand could balance that the others may need


def can_balance(frame: Frame, C: np.ndarray, alpha: np.ndarray, which: np.ndarray) -> bool:
    """Whether the multipliers of these rows can make up for those of the others, with room to spare."""
    if not len(which):
        return False
    y, room = frame.bias[which], C[which]
    others = float(alpha @ frame.bias - alpha[which] @ y)
    up, down = float(room[y > 0].sum()), float(room[y < 0].sum())
    return not frame.pad or -ROOM * up <= others <= ROOM * down


def near(m: np.ndarray, alpha: np.ndarray, C: np.ndarray, extra: np.ndarray, least: int) -> np.ndarray:
    """Rows between their bounds, rows at the wrong bound, and the nearest ones to the margin."""
    keep = (alpha > 0.0) & (alpha < C)
    count = max(10 * int(np.count_nonzero(keep)), least)
    keep |= np.where(alpha > 0.0, m > 1.0, m < 1.0)
    keep[extra] = True
    far = np.abs(1.0 - m)
    if count < len(m):
        keep[np.argpartition(far, count)[:count]] = True
    else:
        keep[:] = True
    return np.flatnonzero(keep)


def is_short(frame: Frame) -> bool:
    """Whether a working set is kept small for want of room."""
    return frame.most < SHARE * frame.n


def nearest(which: np.ndarray, m: np.ndarray, most: int) -> np.ndarray:
    """The nearest rows to the margin, as many as there is room for."""
    if len(which) <= most:
        return which
    far = np.abs(1.0 - m[which])
    return np.sort(which[np.argpartition(far, most)[:most]])


THIN = 16  # a sample holds one row in so many
BASE = 2_000  # rows that are solved as they are
# Without a start the method of multipliers is quicker than interior points (digits: 10 ms against 16) as
# long as C times the mean of ‖a_i‖² is not larger than this.
TAME = 200.0
MAX_STEPS = 100  # Newton steps from a start: where more are needed, interior points are quicker
AT_ONCE = 1 << 16  # entries of data that is, however many rows there are
NARROW = 150  # features up to which a sample tells where the margin lies
ROUGH = 1e-3  # gap on a sample
WIDE, THINNEST = 4.0, 1e-3  # width of the smoothed hinge, at first and at least
HELD = 0.5  # a step cut shorter than this shows that rows left out matter
BARELY = 0.01  # the same, where there is no room for more rows and every step would read all of them
UNBALANCED = 1e-9  # |Σ α_i y_i| against Σ α_i from which on the dual value says nothing
# After interior points a few Newton steps bring multipliers to their bounds, and the last digits: the
# stiffness against 1/‖a_i‖², and steps. Of 81 designs the first line does for all but one.
LAST_STEPS = (1e4, 20), (1e9, 60)
NEARBY = 1e-2  # gap of interior points from which such steps lead to the optimum
COPIED = 1 << 22  # entries; data so small is copied once, centred and dense
ROUNDS = 100


def soft_margin(
    frame: Frame,
    C: np.ndarray,
    tol: float,
    budget: Budget,
    start: MarginPoint | None = None,
    saved: State | None = None,
) -> Course[MarginPoint]:
    """Solve one machine; see the module for the idea."""
    base = max(BASE, 4 * (frame.d + 1))
    everything = np.arange(frame.n)
    final = tol / 2 if frame.ready or frame.n * frame.d > SMALL else min(tol / 2, TIGHT)
    best: MarginPoint
    solved: tuple[Iterate, np.ndarray] | None = None
    run: State | None = None
    if saved is not None:
        _check(saved, frame)
    if saved is None or "begin" in saved:
        beginning = _begin(frame, C, base, budget, start, saved and saved["begin"])
        now, m, which = yield from within(beginning, lambda part: {"begin": part})
        turn, passes, best, fresh = 0, now.passes, now, start is None
        goal = final if m is None or frame.n <= 2 * base else max(final, 1e-4)
    else:
        now, m, which, best = saved["now"], saved["m"], saved["which"], saved["best"]
        turn, passes, fresh, goal = saved["turn"], saved["passes"], saved["fresh"], saved["goal"]
        solved, run = saved["solved"], saved["run"]

    def state(solved: tuple[Iterate, np.ndarray] | None, run: State | None = None) -> State:
        here = {"now": now, "m": m, "which": which, "best": best, "turn": turn, "passes": passes}
        return {**here, "fresh": fresh, "goal": goal, "solved": solved, "run": run}

    while turn < ROUNDS:
        if solved is None:
            if not can_balance(frame, C, now.alpha, which):
                which = everything
            solving = _solve(frame, C, now, which, goal, tol, budget, run)
            solved = yield from within(solving, lambda run: state(None, run))
            yield state(solved)
        (point, v), solved, run, turn = solved, None, None, turn + 1
        alpha = now.alpha.copy()
        alpha[which] = point.alpha
        new = yield point.w, point.b
        passes += 1 + point.reads
        whole = len(which) == frame.n  # then this is the optimum, and no step towards it
        t = 1.0 if m is None or whole else _longest(now.w, point.w - now.w, m, new - m, C)
        before = new if m is None else m
        m = new if t == 1.0 else before + t * (new - before)
        w, b = now.w + t * (point.w - now.w), now.b + t * (point.b - now.b)
        now, m = _worth(frame, C, MarginPoint(w, b, alpha, v, point.sigma / 10, passes), m)
        best = best.joined(now)
        stuck = whole and point.gap > goal and goal <= tol
        if best.gap <= tol or budget.ended(best) or (stuck and fresh):
            break
        if stuck:  # the start led astray: begin at zero
            now, m, fresh = _zero(frame), None, True
            continue
        moved = math.sqrt(float(np.mean((new - before) ** 2)))
        kept = which[np.abs(1.0 - m[which]) <= moved] if t < 1.0 else which[:0]
        which = near(m, alpha, C, kept, base)
        if is_short(frame):
            short = everything if t < HELD else which
            which = everything if t < BARELY else nearest(short, m, frame.most)
        elif t < HELD or (len(which) > max(SHARE * frame.n, 2 * base) and not frame.ready):
            which = everything
        goal = max(final, min(goal, 1e-2 * max(best.gap, 0.0)))
    if frame.pad and not np.any((best.alpha > 0.0) & (best.alpha < C)):
        m = yield best.w, best.b
        best = replace(best, b=best.b + _to_the_middle(frame.y, m, best.alpha > 0.0))
    return best


def _to_the_middle(y: np.ndarray, m: np.ndarray, bound: np.ndarray) -> float:
    """How far the bias is from the middle of those that are optimal, if no multiplier is free.

    It may move as long as rows with α_i = C stay at m_i ≤ 1 and those with α_i = 0 at m_i ≥ 1.
    """
    room = y * (1.0 - m)  # moving b so far brings the row to its edge
    rising = np.where(y > 0.0, bound, ~bound)  # rows that end the way up; the others end the way down
    high = float(np.min(room[rising], initial=math.inf))
    low = float(np.max(room[~rising], initial=-math.inf))
    return 0.5 * (low + high) if -math.inf < low < high < math.inf else 0.0


def _check(saved: State, frame: Frame) -> None:
    """Refuse what is no state of :func:`soft_margin`; what its parts hold, the parts look at."""
    if "begin" in saved:
        sampled = entries(rough=maybe(point_form(None, frame.d)), sample=maybe(instance(dict)))
        entries(begin=sampled)(saved, "the state")
        return
    point, which = point_form(frame.n, frame.d), places(None, below=frame.n)
    which(saved.get("which"), "which")
    solved = listed(iterate_form(len(saved["which"]), frame.d), numbers(frame.d))
    entries(
        now=point,
        m=maybe(numbers(frame.n)),
        which=which,
        best=point,
        turn=count,
        passes=count,
        fresh=flag,
        goal=number,
        solved=maybe(solved),
        run=maybe(instance(dict)),
    )(saved, "the state")


def _begin(
    frame: Frame,
    C: np.ndarray,
    base: int,
    budget: Budget,
    start: MarginPoint | None,
    saved: State | None,
) -> Course[tuple[MarginPoint, np.ndarray | None, np.ndarray]]:
    """Return a point to begin with, its margins if they are known, and the rows to solve on first."""
    everything = np.arange(frame.n)
    if start is not None:
        m = yield start.w, start.b
        which = near(m, start.alpha, C, everything[:0], base)
        width = float(np.median(np.abs(1.0 - m[which])))
        passes = start.passes + 2
        return replace(start, sigma=1.0 / max(width, THINNEST), passes=passes), m, which
    at_once = frame.d > NARROW or frame.n * frame.d <= AT_ONCE
    if frame.n <= 2 * base or (at_once and frame.rows.resident):
        return _zero(frame), None, everything
    size = max(base, min(frame.n // THIN, frame.most))
    rough = None if saved is None else saved["rough"]
    if rough is None:
        rough = yield from _from_sample(frame, C, size, budget, saved and saved["sample"])
        yield {"rough": rough, "sample": None}
    m = yield rough.w, rough.b
    width = 2.0 * math.sqrt((frame.d + 1) / size) * float(m.std())
    alpha = np.where(m < 1.0, C, 0.0)
    band = np.flatnonzero(np.abs(1.0 - m) <= width)
    if is_short(frame):
        band = nearest(band, m, frame.most)
    alpha[band] = 0.5 * alpha[band] + 0.25 * C[band]
    sigma = 1.0 / max(width, THINNEST)
    now = MarginPoint(rough.w, rough.b, alpha, frame.pull(alpha), sigma, passes=2)
    return now, m, everything if frame.ready or len(band) > SHARE * frame.n else band


def _zero(frame: Frame) -> MarginPoint:
    zero = np.zeros(frame.d)
    return MarginPoint(zero, 0.0, np.zeros(frame.n), zero, 1.0 / WIDE)


def _worth(
    frame: Frame, C: np.ndarray, point: MarginPoint, m: np.ndarray
) -> tuple[MarginPoint, np.ndarray]:
    """The point with its values on all rows, scaled up if that is cheaper, and its margins."""
    primal, t = scaled_up(float(point.w @ point.w), 0.0, m, C)
    if t > 1.0:
        m = t * m
    total = float(point.alpha.sum())
    dual = total - 0.5 * float(point.v @ point.v)
    if abs(float(point.alpha @ frame.bias)) > UNBALANCED * total:
        dual = -math.inf
    return replace(point, w=t * point.w, b=t * point.b, primal=primal, dual=dual), m


def _from_sample(
    frame: Frame, C: np.ndarray, size: int, budget: Budget, saved: State | None
) -> Course[MarginPoint]:
    """Solve a sample roughly, with C in proportion."""
    some = draw(frame.n, size)
    sub = frame.restricted(some)
    quiet = Budget(deadline=budget.deadline)
    course = soft_margin(sub, C[some] * (frame.n / len(some)), ROUGH, quiet, saved=saved)
    alone = run_together([sub], [course], [saved])
    (rough,) = yield from within(alone, lambda states: {"rough": None, "sample": states[0]})
    return rough


def _solve(
    frame: Frame,
    C: np.ndarray,
    now: MarginPoint,
    which: np.ndarray,
    goal: float,
    tol: float,
    budget: Budget,
    saved: State | None,
) -> Generator[State, None, tuple[Iterate, np.ndarray]]:
    """Solve on the rows ``which``, the multipliers of the others fixed; return also v of all of them."""
    whole = len(which) == frame.n
    copied = not whole or frame.ready or frame.n * frame.d <= COPIED
    work = frame.restricted(which) if copied and not (whole and frame.ready) else frame
    before = now.alpha[which]
    v0, s0, fixed = np.zeros(frame.d), 0.0, 0.0
    if not whole:
        v0 = now.v - work.pull(before)
        s0 = float(now.alpha @ frame.bias - before @ work.bias)
        fixed = float(now.alpha.sum() - before.sum())
    problem = Reduced(work, C[which], v0, s0, fixed)
    point = Iterate(now.w, now.b, before, now.sigma)
    enough = max(goal, tol / 2)
    if before.any() or not is_affordable(work) or _is_tame(work, C[which]):
        most = MAX_STEPS if is_affordable(work) else None
        point = yield from minimise(problem, point, goal, budget.deadline, saved=saved, max_steps=most)
    if point.gap > enough and is_affordable(work) and not budget.is_up(0):
        point = replace(_from_inside(problem, point, goal, enough, budget), sigma=10.0 * now.sigma)
    if copied:  # read once; further products are with the copy
        point.reads = int(whole)
    return point, v0 + work.pull(point.alpha)


def _is_tame(frame: Frame, C: np.ndarray) -> bool:
    """Whether the method of multipliers may begin at zero, and is the quicker one."""
    return float(C.max()) * frame.mean_square <= TAME


def _from_inside(
    problem: Reduced, point: Iterate, goal: float, enough: float, budget: Budget
) -> Iterate:
    """Interior points, then a few Newton steps: these bring multipliers to their bounds exactly."""
    frame, reads = problem.frame, point.reads
    for attempt in range(ATTEMPTS):
        found = interior_point(problem, enough, budget.deadline, attempt)
        point, reads = point.joined(found), reads + found.reads
        for stiffness, max_steps in LAST_STEPS:
            if point.gap > NEARBY:
                break
            sigma = stiffness / frame.mean_square / float(problem.C.max())
            start = Iterate(point.w, point.b, point.alpha, sigma)
            last = run_out(minimise(problem, start, goal, budget.deadline, max_steps=max_steps))
            reads += last.reads
            if last.gap <= max(enough, point.gap):
                point = last
            if point.gap <= enough:
                break
        if point.gap <= enough or budget.is_up(0):
            break
    return replace(point, reads=reads)


def _longest(w: np.ndarray, dw: np.ndarray, m: np.ndarray, u: np.ndarray, C: np.ndarray) -> float:
    """Minimise the primal value along a step, t ≤ 1: its slope is a growing function of t."""
    constant, quadratic = float(w @ dw), float(dw @ dw)

    def rising(t: float) -> bool:
        return constant + t * quadratic - hinge_slope(t, m, u, C) > 0.0

    low, high = 0.0, 1.0
    if not rising(1.0):
        return 1.0
    while high - low > 0.01 * high and high > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if rising(middle) else (middle, high)
    return low
