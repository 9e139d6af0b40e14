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

import numpy as np

from maxmargin.core.parameters import LARGEST, SMALLEST
from maxmargin.kernels.small_problem import (
    DUAL,
    MAX_ROUNDS,
    PASSES,
    PRIMAL,
    centre_rows,
    exact_residual,
    small_problem,
)
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
NOTHING = np.empty((0, 0))


def is_small(rows: Rows) -> bool:
    """Whether a machine on these rows is one call."""
    entries = rows.n * rows.d
    return (
        rows.resident
        and 0 < entries <= SETTINGS.max_entries
        and min(rows.n, rows.d) <= SETTINGS.max_order
    )


class SmallRows:
    """Rows as the compiled loop takes them: dense doubles, centred and scaled."""

    def __init__(self, rows: Rows, pad: float) -> None:
        X = rows.X if isinstance(rows, DenseRows) else rows.take(np.arange(rows.n))
        X = np.ascontiguousarray(X, dtype=np.float64)
        self.pad, self.centre = pad, np.empty(rows.d)
        self.X: np.ndarray = np.empty(X.shape)
        self.scale = centre_rows(X, pad, self.X, self.centre)
        if not SMALLEST <= self.scale <= LARGEST:
            raise NotFiniteError
        self.products = self.X @ self.X.T if rows.n <= rows.d else NOTHING

    def solve(self, task: Task, tol: float) -> Solved | None:
        """Return the optimum of a machine in the user's coordinates; None if it was not reached."""
        n, d = self.X.shape
        unit = self.scale * self.scale
        C = np.full(n, math.inf) if task.C is None else task.C * unit
        z, alpha, report = np.empty(d + 1), np.empty(n), np.empty(4)
        rounds = np.full((MAX_ROUNDS, 3), math.inf)
        enough = SETTINGS.share_of_tol * tol
        goal = min(enough, TIGHT_GAP)
        given = self.X, self.products, task.y, C, self.pad
        small_problem(*given, enough, goal, z, alpha, report, rounds)
        primal, dual = float(report[PRIMAL]), float(report[DUAL])
        if not (primal < math.inf and primal - dual <= enough * primal):
            return None
        w = z[:-1] / self.scale
        # What this loses would be lost by every margin.
        b = exact_residual(self.centre, w, d, float(z[-1]), 0.0) if self.pad else 0.0
        alpha /= unit
        if task.C is not None:
            alpha = np.minimum(alpha, task.C)
        known = rounds[np.isfinite(rounds[:, 1])]
        known[:, 1:] /= unit
        log = [Pass(int(passes), value, bound) for passes, value, bound in known.tolist()]
        return Solved(w, b, alpha, int(report[PASSES]), log=tuple(log))


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
    small = SmallRows(rows, pad)

    def solve(task: Task) -> Solved | None:
        budget.go_on()
        return None if budget.is_up(0) else small.solve(task, tol)

    found = in_threads([partial(solve, task) for task in tasks], jobs, budget.halt)
    rest = [task for task, one in zip(tasks, found, strict=True) if one is None]
    others = iter(otherwise(rest) if rest else ())
    return [next(others) if one is None else one for one in found]
