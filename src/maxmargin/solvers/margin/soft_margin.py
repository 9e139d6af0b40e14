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
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.kernels.margin import hinge_slope
from maxmargin.rows.base import draw
from maxmargin.solvers.margin.augmented_lagrangian import minimise
from maxmargin.solvers.margin.coordinates import Frame
from maxmargin.solvers.margin.interior_point import ATTEMPTS, interior_point
from maxmargin.solvers.margin.reduced_problem import Reduced, is_affordable
from maxmargin.solvers.margin.tasks import (
    SMALL_ENTRIES,
    TIGHT_GAP,
    Budget,
    MarginPoint,
    Plane,
    can_balance,
    dual_value,
    measure,
    scaled_up,
)


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    max_copied_share: float = 0.2  # of the rows: a working set with more of them is all of them
    sample_thinning: int = 16  # a sample holds one row in so many
    min_working_rows: int = 2_000  # that are solved as they are
    max_sampled_features: int = 150  # up to which a sample tells where the margin lies
    max_entries_at_once: int = 1 << 16  # of data that is solved without a sample, however many rows
    max_copied_entries: int = 1 << 22  # of data that is copied once, centred and dense
    sample_gap: float = 1e-3  # to which a sample is solved
    max_rounds: int = 100
    first_width: float = 4.0  # of the smoothed hinge
    min_width: float = 1e-3
    short_step: float = 0.5  # a step cut shorter than this shows that rows left out matter;
    very_short_step: float = 0.01  # this, where there is no room for more rows: every step reads all
    # Without a start the method of multipliers is quicker than interior points (digits: 10 ms against
    # 16) as long as C times the mean of ‖a_i‖² is not larger than this.
    max_small_bound: float = 200.0
    max_newton_steps: int = 100  # from a start: where more are needed, interior points are quicker
    # After interior points a few Newton steps bring multipliers to their bounds, and the last digits.
    # The stiffness against 1/‖a_i‖², and steps. Of 81 designs the first line does for all but one.
    last_steps: tuple[tuple[float, int], ...] = ((1e4, 20), (1e9, 60))
    gap_for_last_steps: float = 1e-2  # from which such steps lead to the optimum


SETTINGS = Settings()


def working_set(
    m: np.ndarray, alpha: np.ndarray, C: np.ndarray, extra: np.ndarray, least: int
) -> np.ndarray:
    """Rows with α_i between the bounds, rows at the wrong bound, and those nearest to the margin."""
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


def lacks_room(frame: Frame) -> bool:
    """Whether a working set is kept small for want of room."""
    return frame.max_rows < SETTINGS.max_copied_share * frame.n


def nearest_to_margin(which: np.ndarray, m: np.ndarray, most: int) -> np.ndarray:
    """The nearest rows to the margin, as many as there is room for."""
    if len(which) <= most:
        return which
    far = np.abs(1.0 - m[which])
    return np.sort(which[np.argpartition(far, most)[:most]])


def soft_margin(
    frames: Sequence[Frame],
    bounds: Sequence[np.ndarray],
    tol: float,
    budgets: Sequence[Budget],
    starts: Sequence[MarginPoint | None],
) -> list[MarginPoint]:
    """Solve machines on the same rows together; see the module for the idea."""
    given = zip(frames, bounds, budgets, starts, strict=True)
    machines = [_Machine(frame, C, tol, budget, start) for frame, C, budget, start in given]
    begun = [(machine, machine.first) for machine in machines if machine.first is not None]
    for machine, m in _with_margins(begun):
        machine.begin(m)
    for _ in range(SETTINGS.max_rounds):
        running = [machine for machine in machines if not machine.done]
        if not running:
            break
        solved = [(machine, machine.solve()) for machine in running]
        for machine, m in _with_margins(solved):
            machine.step(m)
    free = [machine for machine in machines if machine.has_free_bias()]
    best = [(machine, Plane(machine.best.w, machine.best.b)) for machine in free]
    for machine, m in _with_margins(best):
        machine.centre_bias(m)
    return [machine.best for machine in machines]


def _with_margins(pairs: Sequence[tuple[_Machine, Plane]]) -> Iterator[tuple[_Machine, np.ndarray]]:
    """Machines with the margins of all rows for their planes, from one pass."""
    margins = measure([machine.frame for machine, _ in pairs], [plane for _, plane in pairs])
    return zip([machine for machine, _ in pairs], margins, strict=True)


class _Machine:
    """One soft margin on its way: the point ``now``, its margins, and the rows to solve on next."""

    def __init__(
        self, frame: Frame, C: np.ndarray, tol: float, budget: Budget, start: MarginPoint | None
    ) -> None:
        self.frame, self.C, self.tol, self.budget = frame, C, tol, budget
        self.min_rows = max(SETTINGS.min_working_rows, 4 * (frame.d + 1))
        self.final = (
            tol / 2 if frame.ready or frame.n * frame.d > SMALL_ENTRIES else min(tol / 2, TIGHT_GAP)
        )
        self.goal = self.final
        self.done, self.began_at_zero = False, start is None
        self.first: Plane | None = None  # where to begin, once its margins are known; None: at zero
        self.m: np.ndarray | None = None
        self.start, self.sampled = start, 0
        self.now = self.best = _zero(frame) if start is None else start
        self.everything = self.working = np.arange(frame.n)
        few = frame.n * frame.d <= SETTINGS.max_entries_at_once
        at_once = few or frame.d > SETTINGS.max_sampled_features
        if start is not None:
            self.first = Plane(start.w, start.b)
        elif not (frame.n <= 2 * self.min_rows or (at_once and frame.rows.resident)):
            self.sampled = max(self.min_rows, min(frame.n // SETTINGS.sample_thinning, frame.max_rows))
            self.first = self._from_sample(self.sampled)

    def _from_sample(self, size: int) -> Plane:
        """Solve a sample roughly, with C in proportion."""
        some = draw(self.frame.n, size)
        C = self.C[some] * (self.frame.n / len(some))
        quiet = Budget(deadline=self.budget.deadline, halt=self.budget.halt)
        (rough,) = soft_margin([self.frame.restricted(some)], [C], SETTINGS.sample_gap, [quiet], [None])
        return Plane(rough.w, rough.b)

    def begin(self, m: np.ndarray) -> None:
        """Go to the first plane, whose margins are given, and choose the rows to solve on."""
        frame, C = self.frame, self.C
        if frame.n > 2 * self.min_rows:
            self.goal = max(self.final, 1e-4)
        if self.start is not None:
            self.working = working_set(m, self.start.alpha, C, self.everything[:0], self.min_rows)
            width = float(np.median(np.abs(1.0 - m[self.working])))
            now = replace(self.start, passes=self.start.passes + 2)
        else:
            assert self.first is not None
            width = 2.0 * math.sqrt((frame.d + 1) / self.sampled) * float(m.std())
            band = np.flatnonzero(np.abs(1.0 - m) <= width)
            if lacks_room(frame):
                band = nearest_to_margin(band, m, frame.max_rows)
            if not (frame.ready or len(band) > SETTINGS.max_copied_share * frame.n):
                self.working = band
            alpha = np.where(m < 1.0, C, 0.0)
            alpha[band] = 0.5 * alpha[band] + 0.25 * C[band]
            now = MarginPoint(*self.first, alpha, frame.weighted_sum(alpha), passes=2)
        self.now = self.best = replace(now, sigma=1.0 / max(width, SETTINGS.min_width))
        self.m = m

    def solve(self) -> Plane:
        """Solve on the rows chosen, the multipliers of the others fixed, and return the plane found."""
        self.budget.go_on()
        frame, C, now = self.frame, self.C, self.now
        y, mine = frame.y[self.working], now.alpha[self.working]
        others = float(now.alpha @ frame.bias - mine @ frame.bias[self.working])
        if not len(y) or (frame.pad and not can_balance(y, C[self.working], others)):
            self.working = self.everything
        which, whole = self.working, len(self.working) == frame.n
        copied = not whole or frame.ready or frame.n * frame.d <= SETTINGS.max_copied_entries
        work = frame.restricted(which) if copied and not (whole and frame.ready) else frame
        before = now.alpha[which]
        v0, s0, fixed = np.zeros(frame.d), 0.0, 0.0
        if not whole:
            v0 = now.v - work.weighted_sum(before)
            s0 = float(now.alpha @ frame.bias - before @ work.bias)
            fixed = float(now.alpha.sum() - before.sum())
        problem = Reduced(work, C[which], v0, s0, fixed)
        point = MarginPoint(now.w, now.b, before, now.v, now.sigma)
        enough, affordable = max(self.goal, self.tol / 2), is_affordable(work)
        if before.any() or not affordable or _has_small_bounds(work, C[which]):
            most = SETTINGS.max_newton_steps if affordable else None
            point = minimise(problem, point, self.goal, self.budget.deadline, max_steps=most)
        if point.gap > enough and affordable and not self.budget.is_up(0):
            goal = self.final if whole else self.goal  # of all rows, this is the end
            point = _by_interior_points(problem, point, goal, max(goal, self.tol / 2), self.budget)
            point = replace(point, sigma=10.0 * now.sigma)
        if copied:  # read once; further products are with the copy
            point = replace(point, passes=int(whole))
        self.found = point
        return Plane(point.w, point.b)

    def step(self, new: np.ndarray) -> None:
        """Go towards the plane found, whose margins are given, as far as it is good for all rows."""
        frame, C, now, point = self.frame, self.C, self.now, self.found
        alpha = now.alpha.copy()
        alpha[self.working] = point.alpha
        passes = now.passes + 1 + point.passes
        whole = len(self.working) == frame.n  # then this is the optimum, and no step towards it
        dw, db = point.w - now.w, point.b - now.b
        before = new if self.m is None else self.m
        t = 1.0 if self.m is None or whole else _line_search(now.w, dw, before, new - before, C)
        m = new if t == 1.0 else before + t * (new - before)
        moved = MarginPoint(now.w + t * dw, now.b + t * db, alpha, point.v, point.sigma / 10, passes)
        self.now, self.m = _worth(frame, C, moved, m)
        self.best = self.best.joined(self.now)
        stuck = whole and point.gap > self.goal and self.goal <= self.tol
        ended = self.best.gap <= self.tol or self.budget.ended(self.best)
        self.done = ended or (stuck and self.began_at_zero)
        if stuck and not self.done:  # the start led astray: begin at zero
            self.now, self.m, self.began_at_zero = replace(_zero(frame), passes=passes), None, True
        elif not self.done:
            self._choose(alpha, t, math.sqrt(float(np.mean((new - before) ** 2))))

    def _choose(self, alpha: np.ndarray, t: float, moved: float) -> None:
        """Choose the rows to solve on after a step of length t that changed margins by ``moved``."""
        frame, m, which = self.frame, self.m, self.working
        assert m is not None
        kept = which[np.abs(1.0 - m[which]) <= moved] if t < 1.0 else which[:0]
        which = working_set(m, alpha, self.C, kept, self.min_rows)
        short = t < SETTINGS.short_step
        if lacks_room(frame) and t >= SETTINGS.very_short_step:
            which = nearest_to_margin(self.everything if short else which, m, frame.max_rows)
        elif lacks_room(frame):
            which = self.everything
        else:
            most = max(SETTINGS.max_copied_share * frame.n, 2 * self.min_rows)
            if short or (len(which) > most and not frame.ready):
                which = self.everything
        self.working = which
        self.goal = max(self.final, min(self.goal, 1e-2 * max(self.best.gap, 0.0)))

    def has_free_bias(self) -> bool:
        """Whether no multiplier is between its bounds: then many biases may be optimal."""
        alpha = self.best.alpha
        return bool(self.frame.pad) and not np.any((alpha > 0.0) & (alpha < self.C))

    def centre_bias(self, m: np.ndarray) -> None:
        """Move b to the middle of the optimal biases; m are the margins of the best plane."""
        b = self.best.b + _to_the_middle(self.frame.y, m, self.best.alpha > 0.0)
        self.best = replace(self.best, b=b)


def _to_the_middle(y: np.ndarray, m: np.ndarray, bound: np.ndarray) -> float:
    """How far the bias is from the middle of those that are optimal, if no multiplier is free.

    It may move as long as rows with α_i = C stay at m_i ≤ 1 and those with α_i = 0 at m_i ≥ 1.
    """
    room = y * (1.0 - m)  # moving b so far brings the row to its edge
    rising = np.where(y > 0.0, bound, ~bound)  # rows that end the way up; the others end the way down
    high = float(np.min(room[rising], initial=math.inf))
    low = float(np.max(room[~rising], initial=-math.inf))
    return 0.5 * (low + high) if -math.inf < low < high < math.inf else 0.0


def _zero(frame: Frame) -> MarginPoint:
    zero = np.zeros(frame.d)
    return MarginPoint(zero, 0.0, np.zeros(frame.n), zero, 1.0 / SETTINGS.first_width)


def _worth(
    frame: Frame, C: np.ndarray, point: MarginPoint, m: np.ndarray
) -> tuple[MarginPoint, np.ndarray]:
    """The point with its values on all rows, scaled up if that is cheaper, and its margins."""
    primal, t = scaled_up(float(point.w @ point.w), 0.0, m, C)
    if t > 1.0:
        m = t * m
    total, excess = float(point.alpha.sum()), float(point.alpha @ frame.bias)
    dual = dual_value(total, float(point.v @ point.v), excess)
    return replace(point, w=t * point.w, b=t * point.b, primal=primal, dual=dual), m


def _has_small_bounds(frame: Frame, C: np.ndarray) -> bool:
    """Whether the method of multipliers may begin at zero, and is the quicker one."""
    return float(C.max()) * frame.mean_square <= SETTINGS.max_small_bound


def _by_interior_points(
    problem: Reduced, point: MarginPoint, goal: float, enough: float, budget: Budget
) -> MarginPoint:
    """Interior points, then a few Newton steps: these bring multipliers to their bounds exactly."""
    frame, reads = problem.frame, point.passes
    for attempt in range(ATTEMPTS):
        found = interior_point(problem, enough, goal, budget.deadline, attempt)
        point, reads = point.joined(found), reads + found.passes
        if point.gap <= goal:
            break
        for stiffness, max_steps in SETTINGS.last_steps:
            if point.gap > SETTINGS.gap_for_last_steps:
                break
            sigma = stiffness / frame.mean_square / float(problem.C.max())
            start = MarginPoint(point.w, point.b, point.alpha, point.v, sigma)
            last = minimise(problem, start, goal, budget.deadline, max_steps)
            reads += last.passes
            if last.gap <= max(enough, point.gap):
                point = last
            if point.gap <= enough:
                break
        if point.gap <= enough or budget.is_up(0):
            break
    return replace(point, passes=reads)


def _line_search(w: np.ndarray, dw: np.ndarray, m: np.ndarray, u: np.ndarray, C: np.ndarray) -> float:
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
