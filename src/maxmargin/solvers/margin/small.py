"""Small problems: a machine is one call of a compiled loop (see :mod:`maxmargin.kernels.small_problem`).

The rows are centred and scaled once, for all machines on them, and so are their inner products where
they are fewer than their features. A machine whose gap does not come down to the tolerance there is left
to the general solvers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from maxmargin.core.parameters import LARGEST, SMALLEST
from maxmargin.kernels.many_problems import COLUMNS, many_problems
from maxmargin.kernels.small_memory import MAX_ROUNDS, PASSES, PRIMAL, SCALE, memory
from maxmargin.kernels.small_problem import stages
from maxmargin.rows import DenseRows, Rows
from maxmargin.solvers.margin.coordinates import NotFiniteError
from maxmargin.solvers.margin.tasks import TIGHT_GAP, Budget, Pass, Solved, Task, in_threads


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    max_entries: int = 1 << 17  # n·d, beyond which pools and samples of rows are quicker
    max_order: int = 400  # min(n, d), beyond which LAPACK is quicker
    # What is left of the tolerance covers the way back to the user's coordinates: features of 1e6
    # beside others of 1e-6 add 3e-6 to a gap of 5e-7.
    share_of_tol: float = 0.01


SETTINGS = Settings()


def is_small(rows: Rows, some: int | None = None) -> bool:
    """Whether a machine on these rows, or on ``some`` of them, is one call."""
    n, d = rows.n if some is None else some, rows.d
    return rows.resident and 0 < n * d <= SETTINGS.max_entries and min(n, d) <= SETTINGS.max_order


def locked(X: np.ndarray) -> np.ndarray:
    """Return doubles that nobody writes to: for others, the loop would be compiled again."""
    rows = np.ascontiguousarray(X, dtype=np.float64).view()
    rows.flags.writeable = False
    return rows


class SmallRows:
    """Rows as the compiled loop takes them: dense doubles, and memory to work in.

    The first machine centres and scales them, and finds their inner products where they are fewer than
    their features; they stay in the memory for the others.
    """

    def __init__(self, rows: Rows, pad: float) -> None:
        X = rows.X if isinstance(rows, DenseRows) else rows.take(np.arange(rows.n))
        self.X, self.pad = locked(X), pad
        self.memory = memory(*self.X.shape)
        self.numbers, self.first = np.arange(rows.n), np.array([0, rows.n])

    def solve(self, task: Task, tol: float) -> Solved | None:
        """Return the optimum of a machine; None if it was not reached."""
        n, d = self.X.shape
        C = np.full(n, math.inf) if task.C is None else np.ascontiguousarray(task.C)
        z, alpha, report = np.empty((1, d + 1)), np.empty(n), np.full((1, COLUMNS), math.inf)
        rounds = np.full((1, MAX_ROUNDS, 3), math.inf)
        enough = SETTINGS.share_of_tol * tol
        batch = self.X, self.numbers, self.first, task.y, C
        stop = enough, min(enough, TIGHT_GAP)
        many_problems(batch, self.pad, stop, self.memory, stages(), z, alpha, report, rounds)
        if not SMALLEST <= self.memory[0][SCALE] <= LARGEST:
            raise NotFiniteError
        if not report[0, PRIMAL] < math.inf:
            return None
        known = rounds[0, np.isfinite(rounds[0, :, 1])]
        log = [Pass(int(passes), value, bound) for passes, value, bound in known.tolist()]
        w, b = z[0, :-1].copy(), float(z[0, -1])
        return Solved(w, b, alpha, int(report[0, PASSES]), log=tuple(log))


NO_ROUNDS = np.empty((0, MAX_ROUNDS, 3))


class Batch(NamedTuple):
    """Problems in one call: rows of X, with signs and bounds; those of problem p from first[p] on."""

    X: np.ndarray
    rows: np.ndarray
    first: np.ndarray
    y: np.ndarray
    C: np.ndarray


class Planes(NamedTuple):
    """Planes (w, b), multipliers and slacks of their rows, and reports, a line each."""

    Z: np.ndarray
    alpha: np.ndarray
    report: np.ndarray


def solve_batch(batch: Batch, pad: float, tol: float, rounds: np.ndarray = NO_ROUNDS) -> Planes:
    """Solve problems one after the other; one that needs another solver has an infinite primal value.

    The slacks are not filled in. ``rounds`` has a line (passes, primal, dual) for each round of each
    problem, or none.
    """
    count, d, size = len(batch.first) - 1, batch.X.shape[1], len(batch.rows)
    found = Planes(np.empty((count, d + 1)), np.empty((2, size)), np.full((count, COLUMNS), math.inf))
    stop = tol, min(tol, TIGHT_GAP)
    given = tuple(batch), pad, stop, memory(int(np.diff(batch.first).max()), d), stages()
    many_problems(*given, found.Z, found.alpha[0], found.report, rounds)
    return found


def solve_small(
    rows: Rows,
    tasks: Sequence[Task],
    pad: float,
    tol: float,
    budget: Budget,
    jobs: int,
    otherwise: Callable[[Sequence[Task]], list[Solved]],
) -> list[Solved]:
    """Solve machines on the same rows, each by itself; ``otherwise`` those that stall or are late."""
    small = [SmallRows(rows, pad) for _ in range(min(jobs, len(tasks)))]

    def solve(task: Task) -> Solved | None:
        budget.go_on()
        if budget.is_up(0):
            return None
        mine = small.pop()  # each thread has its own
        try:
            return mine.solve(task, tol)
        finally:
            small.append(mine)

    found = in_threads([partial(solve, task) for task in tasks], jobs, budget.halt)
    rest = [task for task, one in zip(tasks, found, strict=True) if one is None]
    others = iter(otherwise(rest) if rest else ())
    return [next(others) if one is None else one for one in found]
