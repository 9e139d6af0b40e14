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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxmargin.solvers.margin.augmented_lagrangian import SETTINGS as LAGRANGIAN
from maxmargin.solvers.margin.augmented_lagrangian import Iterate, Reduced, minimise
from maxmargin.solvers.margin.coordinates import Frame, draw
from maxmargin.solvers.margin.tasks import SMALL, TIGHT, Budget, MarginPoint, Plane, measure
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


SETTINGS = Settings()


def hard_margin(
    frames: Sequence[Frame],
    tol: float,
    budgets: Sequence[Budget],
    starts: Sequence[MarginPoint | None],
) -> list[MarginPoint]:
    """Solve machines on the same rows together; see the module for the idea."""
    given = zip(frames, budgets, starts, strict=True)
    machines = [_Machine(frame, tol, budget, start) for frame, budget, start in given]
    while True:
        some: list[_Machine] = []
        planes: list[Plane] = []
        for machine in machines:
            plane = machine.solve()
            if plane is not None:
                some.append(machine)
                planes.append(plane)
        if not some:
            return [machine.best for machine in machines]
        for machine, m in zip(some, measure([one.frame for one in some], planes), strict=True):
            machine.step(m)


class _Machine:
    """One hard margin on its way: the pool, a point on it, and the best point on all rows."""

    def __init__(self, frame: Frame, tol: float, budget: Budget, start: MarginPoint | None) -> None:
        self.frame, self.tol, self.budget = frame, tol, budget
        self.size = min(frame.n, pool_size(frame.d))
        self.final = 0.1 * tol if frame.n * frame.d > SMALL else min(0.1 * tol, TIGHT)
        self.meet = LAGRANGIAN.meeting_distance
        self.done = False
        self._begin(start)

    def _begin(self, start: MarginPoint | None) -> None:
        """Draw a pool, which has the support of the start."""
        frame, zero = self.frame, np.zeros(self.frame.d)
        pool = _first_pool(frame, self.size)
        if start is None:
            point = Iterate(zero, 0.0, np.zeros(len(pool)), first_sigma(frame, pool))
        else:
            support = np.flatnonzero(start.alpha)
            pool = np.union1d(pool, support)
            sigma = SETTINGS.joining_stiffness * float(start.alpha.sum()) / max(len(support), 1)
            sigma = sigma or first_sigma(frame, pool)
            point = Iterate(start.w, start.b, start.alpha[pool], sigma)
        self.pool, self.work, self.point = pool, frame.restricted(pool), point
        self.started, self.close = start is not None, len(pool) == frame.n
        self.passes = int(self.close) + (0 if start is None else start.passes)
        self.best = MarginPoint(zero, 0.0, np.zeros(frame.n), zero, passes=self.passes)

    def solve(self) -> Plane | None:
        """Solve on the pool, and return the plane found; None if there is nothing more to do."""
        zero = np.zeros(self.frame.d)
        while not self.done:
            self.budget.go_on()
            problem = Reduced(self.work, np.full(self.work.n, math.inf), zero)
            goal = self.final if self.close else SETTINGS.rough_gap
            self.point = minimise(problem, self.point, goal, self.budget.deadline, self.meet)
            if not self.point.meets:
                return self.point.w, self.point.b
            some = np.flatnonzero(self.point.alpha)
            weights = meeting_weights(self.frame, self.pool[some], self.point.alpha[some])
            if weights is not None:
                alpha = self._spread(weights, self.pool[some])
                self.best = MarginPoint(zero, 0.0, alpha, zero, passes=self.passes, meets=True)
                self.done = True
            self.meet *= SETTINGS.closer
        return None

    def step(self, m: np.ndarray) -> None:
        """Take the nearest rows to the plane, whose margins are given, into the pool."""
        point, least = self.point, float(m.min())
        self.passes += 1
        scale = least if least > 0.0 else 1.0
        w, b = point.w / scale, point.b / scale
        primal = 0.5 * float(w @ w) if least > 0.0 else math.inf
        alpha, v = self._spread(point.alpha, self.pool), np.zeros(self.frame.d)
        now = MarginPoint(w, b, alpha, v, 0.0, self.passes, primal, point.dual)
        self.best = self.best.joined(now)
        if self.best.gap <= self.tol or self.budget.ended(self.best):
            self.done = True
            return
        m[self.pool] = math.inf
        violated = int(np.count_nonzero(m < 1.0))
        if violated or not self.close:
            self.close = violated < SETTINGS.few_violated * self.size
            self._join(m)
        elif self.started:  # the start led astray: begin anew
            best, passes = self.best, self.passes
            self._begin(None)
            self.best, self.passes = best, self.passes + passes
        else:
            self.done = True

    def _join(self, m: np.ndarray) -> None:
        """Let the nearest rows join the pool."""
        point, fresh = self.point, np.flatnonzero(m < SETTINGS.joining_margin)
        if len(fresh) > self.size:
            fresh = fresh[np.argpartition(m[fresh], self.size)[: self.size]]
        self.pool = np.concatenate([self.pool, fresh])
        self.work = self.frame.restricted(self.pool)
        mean = float(point.alpha.sum()) / max(int(np.count_nonzero(point.alpha)), 1)
        alpha = np.concatenate([point.alpha, np.zeros(len(fresh))])
        self.point = Iterate(point.w, point.b, alpha, SETTINGS.joining_stiffness * mean)

    def _spread(self, alpha: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Multipliers of some rows, as those of all."""
        whole = np.zeros(self.frame.n)
        whole[which] = alpha
        return whole


def pool_size(d: int) -> int:
    """How many rows to begin with, and how many may join after a pass."""
    most = min(SETTINGS.max_pool_rows, SETTINGS.max_pool_entries // (d + 1))
    return max(SETTINGS.min_pool_rows, min(SETTINGS.rows_per_feature * (d + 1), most))


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
