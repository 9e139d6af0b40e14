"""Exact line searches: where the risk, or the number of errors, is least along a direction.

Along z + t g the margin of row i is m_i + t q_i, so both functions of t change only at the
breakpoints t_i = −m_i/q_i, and sorting them finds the minimum: no step size to choose.
"""

from __future__ import annotations

import numpy as np

__all__ = ["fewest_errors", "least_risk"]


def least_risk(m: np.ndarray, q: np.ndarray, c: np.ndarray) -> float:
    """Return the t ≥ 0 that minimises Σ c_i max(0, −(m_i + t q_i)).

    The sum is convex and piecewise linear, and its slope rises by c_i |q_i| at each breakpoint: the
    minimum is a weighted median. Where it is flat, take the middle (in particular where the risk is
    zero on an interval: there every row is strictly correct).
    """
    slope = -float(np.sum((c * q)[(m < 0) | ((m == 0) & (q < 0))]))
    crossing = (q != 0) & ((m < 0) == (q > 0)) & (m != 0)  # breakpoints at t > 0
    t = -m[crossing] / q[crossing]
    order = np.argsort(t)
    t = t[order]
    slopes = slope + np.cumsum((c * np.abs(q))[crossing][order])
    flat = 1e-12 * float(np.sum(c * np.abs(q)))
    if slope >= -flat:
        return 0.0 if np.any(m != 0) else 1.0  # uphill at once; but from z = 0 any step will do
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
