"""One epoch of dual coordinate descent for the margin machines (Hsieh et al. 2008), with a free bias.

Row by row, α_i is moved to where the dual is largest along its axis. The bias is free by a moving
centre: within an epoch b = b_k + ρ Σ α_i y_i, and after it b_k ← b_k + ρ Σ α_i y_i, which is the method
of multipliers for Σ α_i y_i = 0. Rows that stay at a bound with a gradient beyond all others are set
aside.

The gap between primal and dual value is a sum over the rows, of α_i (m_i − 1) where the margin is larger
than 1 and of (C_i − α_i)(1 − m_i) where it is smaller. Added up as the rows are visited, each before it
is moved, it tells at no cost when a look at all of them is worth while.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.kernels.jit import jit
from maxmargin.kernels.primitives import add_row, dot, norm_squared, prefetch_row

__all__ = [
    "ABOVE",
    "BALANCE",
    "BELOW",
    "BIAS",
    "CHANGED",
    "GAP",
    "add_rows",
    "descend",
    "dots",
    "lengths",
    "shuffle",
]

# Places in ``state``: Σ α_i y_i, b_k, the gradients beyond which rows at a bound are set aside, the gap
# as the rows were visited (bounds at infinity count as 0), and how many came to a bound or left one.
BALANCE, BIAS, ABOVE, BELOW, GAP, CHANGED = 0, 1, 2, 3, 4, 5
AHEAD = 3  # rows fetched before they are visited


@jit
def descend(
    rows: Any, y: Any, order: Any, alpha: Any, C: Any, w: Any, q: Any, rho: float, state: Any
) -> int:
    """Visit the rows in ``order``; return how many are left, the ones set aside at its end."""
    balance, b = state[BALANCE], state[BIAS]
    above, below = state[ABOVE], state[BELOW]
    highest, lowest, gap, changed = 0.0, 0.0, 0.0, 0
    n = order.shape[0]
    k = 0
    while k < n:
        i = order[k]
        if k + AHEAD < n:
            prefetch_row(rows, order[k + AHEAD])
        f, _ = dot(rows, i, w)
        g = y[i] * (f + b + rho * balance) - 1.0
        old = alpha[i]
        if (old <= 0.0 and g > above) or (old >= C[i] and g < below):
            n -= 1
            order[k] = order[n]
            order[n] = i
            continue
        k += 1
        if (old <= 0.0 and g >= 0.0) or (old >= C[i] and g <= 0.0):
            continue
        highest = max(highest, g)
        lowest = min(lowest, g)
        if g > 0.0:
            gap += old * g
        elif C[i] < np.inf:
            gap += (old - C[i]) * g
        new = min(max(old - g / (q[i] + rho), 0.0), C[i])
        step = (new - old) * y[i]
        if step != 0.0:
            alpha[i] = new
            if (0.0 < old < C[i]) != (0.0 < new < C[i]):
                changed += 1
            balance += step
            add_row(rows, i, step, w)
    state[BALANCE] = balance
    state[BIAS] = b + rho * balance
    state[ABOVE], state[BELOW] = highest, lowest
    state[GAP], state[CHANGED] = gap, changed
    return n


@jit
def shuffle(order: Any, seed: int) -> None:
    """Bring rows into a random order (Fisher and Yates), by Marsaglia's xorshift generator."""
    s = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
    for k in range(order.shape[0] - 1, 0, -1):
        s ^= s << np.uint64(13)
        s ^= s >> np.uint64(7)
        s ^= s << np.uint64(17)
        j = np.int64(np.float64(s >> np.uint64(11)) * 2.0**-53 * (k + 1))
        order[k], order[j] = order[j], order[k]


@jit
def lengths(rows: Any, out: Any) -> None:
    """‖x_i‖² for all rows."""
    for i in range(out.shape[0]):
        out[i] = norm_squared(rows, i, 1.0)


@jit
def dots(rows: Any, which: Any, w: Any, out: Any) -> None:
    """x_i·w for some rows."""
    for k in range(which.shape[0]):
        out[k], _ = dot(rows, which[k], w)


@jit
def add_rows(rows: Any, which: Any, c: Any, w: Any) -> None:
    """Add c_k x_i for some rows i = which[k] to w."""
    for k in range(which.shape[0]):
        add_row(rows, which[k], c[k], w)
