"""One epoch of dual coordinate descent for the soft margin (Hsieh et al. 2008), with a free bias.

Row by row, α_i is moved to where the dual is largest along its axis. The bias is free by a moving
centre: within an epoch b = b_k + ρ Σ α_i y_i, and after it b_k ← b_k + ρ Σ α_i y_i, which is the method
of multipliers for Σ α_i y_i = 0. Rows that stay at a bound with a gradient beyond all others are set
aside.
"""

from __future__ import annotations

from typing import Any

from maxmargin.kernels.jit import jit
from maxmargin.kernels.primitives import add_row, dot

__all__ = ["ABOVE", "BALANCE", "BELOW", "BIAS", "descend"]

# Places in ``state``: Σ α_i y_i, b_k, and the gradients beyond which rows at a bound are set aside.
BALANCE, BIAS, ABOVE, BELOW = 0, 1, 2, 3


@jit
def descend(
    rows: Any, y: Any, order: Any, alpha: Any, C: Any, w: Any, q: Any, rho: float, state: Any
) -> int:
    """Visit the rows in ``order``; return how many are left, the ones set aside at its end."""
    balance, b = state[BALANCE], state[BIAS]
    above, below = state[ABOVE], state[BELOW]
    highest, lowest = 0.0, 0.0
    n = order.shape[0]
    k = 0
    while k < n:
        i = order[k]
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
        new = min(max(old - g / (q[i] + rho), 0.0), C[i])
        step = (new - old) * y[i]
        if step != 0.0:
            alpha[i] = new
            balance += step
            add_row(rows, i, step, w)
    state[BALANCE] = balance
    state[BIAS] = b + rho * balance
    state[ABOVE], state[BELOW] = highest, lowest
    return n
