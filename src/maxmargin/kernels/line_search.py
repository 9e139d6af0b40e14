"""The fewest errors along a line: from z along v the margin of row i is m_i + t q_i.

The errors change only at the breakpoints t_i = −m_i/q_i, and sorting them finds where they are fewest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.parameters import LARGEST
from maxmargin.kernels.jit import jit


@jit
def fewest_errors(m: Any, q: Any, c: Any, nearest: int = 1 << 62) -> tuple[float, float]:
    """Return the t, of either sign, with the least Σ c_i over rows m_i + t q_i ≤ 0, and that sum.

    Among the best intervals between breakpoints the widest is taken, and its middle. Only so many
    breakpoints nearest to t = 0 are looked at, which saves sorting them all.
    """
    t = np.empty(m.shape[0])
    which = np.empty(m.shape[0], np.int64)
    errors, many = 0.0, 0  # the errors at t = 0 first
    for i in range(m.shape[0]):
        if m[i] <= 0.0:
            errors += c[i]
        if q[i] != 0.0 and abs(m[i] / q[i]) < np.inf:  # a breakpoint beyond all numbers is none
            t[many], which[many] = -m[i] / q[i], i
            many += 1
    reach = np.inf
    if nearest < many:
        reach = np.partition(np.abs(t[:many]), nearest)[nearest]  # the first that is left out
        near = 0
        for p in range(many):
            if abs(t[p]) < reach:
                t[near], which[near] = t[p], which[p]
                near += 1
        many = near
    order = np.argsort(t[:many])
    for p in range(
        many
    ):  # left of all breakpoints the rising rows are wrong, and the falling ones right
        i = which[p]
        if (q[i] > 0.0) != (m[i] <= 0.0):
            errors += c[i] if q[i] > 0.0 else -c[i]
    best, width, middle, low = np.inf, 0.0, 0.0, -reach
    for p in range(many + 1):
        high = t[order[p]] if p < many else reach
        if high > low and (errors < best or (errors == best and high - low > width)):
            best, width = errors, high - low
            middle = (low + high) / 2.0
            if low == -np.inf:
                middle = high - max(1.0, abs(high)) if high < np.inf else 0.0
            elif high == np.inf:
                middle = low + max(1.0, abs(low))
        if p < many:
            i = which[order[p]]
            errors += -c[i] if q[i] > 0.0 else c[i]
            low = high
    return middle, best


@jit
def search_lines(m: Any, Q: Any, V: Any, c: Any, nearest: int, z: Any) -> None:
    """Move z and its margins m along each v of V to the fewest errors, if there are not more there.

    Moving along a plateau often opens the way down. Q holds how fast the margins grow along each v.
    """
    errors = 0.0
    for i in range(m.shape[0]):
        if m[i] <= 0.0:
            errors += c[i]
    for k in range(V.shape[0]):
        t, fewer = fewest_errors(m, Q[k], c, nearest)
        if fewer > errors or t == 0.0:
            continue
        there, margins = z + t * V[k], m + t * Q[k]
        if np.all(np.abs(there) <= LARGEST) and np.all(np.isfinite(margins)):
            z[:], m[:], errors = there, margins, fewer
