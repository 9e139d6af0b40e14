"""Two classes on shared rows in the user's own coordinates: what a plane and multipliers are worth.

A point is measured in one pass over all rows: the best bias for its w, the primal value, and the dual
value of its multipliers, brought within their bounds and into balance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.core.parameters import LARGEST, SMALLEST
from maxmargin.kernels.margin import add_rows, lengths
from maxmargin.rows import Rows
from maxmargin.solvers.margin.coordinates import NotFiniteError
from maxmargin.solvers.margin.tasks import MarginPoint, balanced, dual_value


def square_lengths(rows: Rows) -> np.ndarray:
    """‖x_i‖² of rows in memory."""
    q = np.empty(rows.n)
    lengths(rows.arrays, q)
    longest = math.sqrt(float(q.max(initial=0.0)))
    if not np.isfinite(q.sum()) or not (longest == 0.0 or SMALLEST <= longest <= LARGEST):
        raise NotFiniteError
    return q


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    far_outside: float = 10.0  # multipliers so many times larger than their bounds let them be


SETTINGS = Settings()


class DualProblem:
    """One machine on rows in memory; C is None for a hard margin."""

    def __init__(
        self, rows: Rows, y: np.ndarray, C: np.ndarray | None, pad: float, q: np.ndarray
    ) -> None:
        self.rows, self.y, self.pad = rows, y, pad
        self.n, self.d = rows.n, rows.d
        self.hard = C is None
        self.C = np.full(rows.n, math.inf) if C is None else C
        self.q = q  # ‖x_i‖²
        self.visits = 0  # rows looked at so far

    @property
    def passes(self) -> int:
        """The rows looked at, in passes over all of them."""
        return -(-self.visits // self.n)

    def add(self, which: np.ndarray, alpha: np.ndarray, w: np.ndarray) -> None:
        """Add α_i y_i x_i for some rows to w."""
        add_rows(self.rows.arrays, which, alpha * self.y[which], w)
        self.visits += len(which)

    def weighted_sum(self, alpha: np.ndarray) -> np.ndarray:
        """Σ α_i y_i x_i over all rows."""
        w = np.zeros(self.d)
        self.add(np.flatnonzero(alpha), alpha[alpha != 0.0], w)
        return w

    def measure(self, w: np.ndarray, x: np.ndarray) -> tuple[MarginPoint, np.ndarray]:
        """Return what w and the multipliers x are worth, w = Σ x_i y_i x_i; and all f_i = w·x_i."""
        f = self.rows.times(w[:, None])[:, 0]
        self.visits += self.n
        if not np.isfinite(f.sum()):
            raise NotFiniteError
        b = self._bias(f) if self.pad else 0.0
        m = self.y * (f + b)
        least, half = float(m.min()), 0.5 * float(w @ w)
        primal, scale = math.inf, 1.0
        if least > 0.0:  # without any slack
            primal, scale = half / least / least, 1.0 / least
        if not self.hard and (slack := half + float(self.C @ np.maximum(1.0 - m, 0.0))) <= primal:
            primal, scale = slack, 1.0
        alpha, v, dual = self._feasible(w, x)
        return MarginPoint(
            w * scale, b * scale, alpha, v, passes=self.passes, primal=primal, dual=dual
        ), f

    def moved(self, w: np.ndarray, x: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Return Σ α_i y_i x_i from w = Σ x_i y_i x_i."""
        if float(np.abs(x).max(initial=0.0)) > SETTINGS.far_outside * float(alpha.max(initial=0.0)):
            # Multipliers far outside their bounds have taken digits of w along.
            return self.weighted_sum(alpha)
        which = np.flatnonzero(alpha != x)
        v = w.copy()
        self.add(which, (alpha - x)[which], v)
        return v

    def _feasible(self, w: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Multipliers near x within the bounds and in balance, their sum of rows, and their value."""
        alpha = np.clip(x, 0.0, self.C)
        if self.pad:
            alpha = balanced(alpha, self.y, self.C)
        v = self.moved(w, x, alpha)
        excess = float(alpha @ self.y) * self.pad
        return alpha, v, dual_value(float(alpha.sum()), float(v @ v), excess, self.hard)

    def _bias(self, f: np.ndarray) -> float:
        """The b that is best for this w: the middle of the gap, or a weighted quantile of y_i − f_i."""
        plus = self.y > 0.0
        if self.hard:
            return -0.5 * float(f[plus].min() + f[~plus].max())
        t = self.y - f  # as b grows past t_i, row i leaves or enters the slack
        level = float(self.C[plus].sum())
        if self.C.min() == self.C.max():
            k = int(np.count_nonzero(plus)) - 1
            return float(np.partition(t, k)[k])
        order = np.argsort(t)
        k = int(np.searchsorted(np.cumsum(self.C[order]), level))
        return float(t[order[min(k, self.n - 1)]])
