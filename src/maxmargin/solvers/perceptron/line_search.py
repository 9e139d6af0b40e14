"""Exact line searches: where the risk, or the number of errors, is least along a direction.

Along z + t g the margin of row i is m_i + t q_i, so both functions of t change only at the
breakpoints t_i = −m_i/q_i, and sorting them finds the minimum: no step size to choose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Breaks(NamedTuple):
    """How φ(t) = Σ c_i max(0, −(m_i + t q_i)) changes for t > 0: convex and piecewise linear."""

    slope: float  # just after t = 0
    t: np.ndarray  # breakpoints, ascending
    jumps: np.ndarray  # c_i |q_i|, by which the slope rises there
    total: float  # Σ c_i |q_i| over all rows
    nonzero: bool  # whether some m_i ≠ 0

    @property
    def flat(self) -> float:
        """A slope that is zero up to rounding."""
        return 1e-12 * self.total


def breaks(m: np.ndarray, q: np.ndarray, c: np.ndarray) -> Breaks:
    """Return the breakpoints of φ at t > 0, in order."""
    slope = -float(np.sum((c * q)[(m < 0) | ((m == 0) & (q < 0))]))
    crossing = (q != 0) & ((m < 0) == (q > 0)) & (m != 0)
    t = -m[crossing] / q[crossing]
    order = np.argsort(t)
    jumps = c * np.abs(q)
    return Breaks(slope, t[order], jumps[crossing][order], float(np.sum(jumps)), bool(np.any(m != 0)))


def lowest(found: Breaks) -> float:
    """Return the t ≥ 0 where φ is least: a weighted quantile of the breakpoints.

    Where φ is flat, take the middle (in particular where the risk is zero on an interval: there every
    row is strictly correct).
    """
    slope, t, flat = found.slope, found.t, found.flat
    slopes = slope + np.cumsum(found.jumps)
    if slope >= -flat:
        return 0.0 if found.nonzero else 1.0  # uphill at once; but from z = 0 any step will do
    low = int(np.searchsorted(slopes, -flat))
    if low == len(t):
        return 1.0  # falls for ever: no row stands in the way
    high = int(np.searchsorted(slopes, flat, side="right"))
    if high == len(t):
        return 2.0 * float(t[low])
    return float(t[low] + t[high]) / 2.0


def fewest_errors(
    m: np.ndarray, q: np.ndarray, c: np.ndarray, nearest: int | None = None
) -> tuple[float, float]:
    """Return the t, of either sign, with the least Σ c_i over rows m_i + t q_i ≤ 0, and that sum.

    Among the best intervals between breakpoints the widest is taken, and its middle. With ``nearest``
    only that many breakpoints around t = 0 are looked at, which saves sorting them all.
    """
    moving = np.flatnonzero(q)
    with np.errstate(over="ignore"):
        t = -m[moving] / q[moving]
    near = np.isfinite(t)  # a breakpoint beyond all numbers is none
    moving, t = moving[near], t[near]
    reach = np.inf
    if nearest is not None and nearest < len(t):
        near = np.argpartition(np.abs(t), nearest)
        reach = abs(float(t[near[nearest]]))  # the first breakpoint that is left out
        moving, t = moving[near[:nearest]], t[near[:nearest]]
    rising = q[moving] > 0
    now_wrong = m[moving] <= 0
    # Errors left of all breakpoints that are looked at: there the rising rows are wrong.
    here = c[moving]
    leftmost = float(c @ (m <= 0)) - float(here @ now_wrong) + float(here @ rising)
    order = np.argsort(t)
    errors = leftmost + np.concatenate([[0.0], np.cumsum(np.where(rising, -here, here)[order])])
    t = np.concatenate([[-reach], t[order], [reach]])
    width = np.diff(t)
    errors[width <= 0] = np.inf  # no room between equal breakpoints
    best = float(errors.min())
    candidates = np.flatnonzero(errors == best)
    i = int(candidates[np.argmax(width[candidates])])
    low, high = float(t[i]), float(t[i + 1])
    if low == -np.inf and high == np.inf:
        return 0.0, best
    if low == -np.inf:
        return high - max(1.0, abs(high)), best
    if high == np.inf:
        return low + max(1.0, abs(low)), best
    return (low + high) / 2.0, best
