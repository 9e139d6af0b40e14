"""The fewest errors along a line: from z along v the margin of row i is m_i + t q_i.

The errors change only at the breakpoints t_i = −m_i/q_i, and sorting them finds where they are fewest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.parameters import LARGEST
from maxmargin.kernels.jit import jit, jit_inner, jit_inner_any_order

MAX_GUESSES = 64  # of a distance; then more breakpoints are looked at than would be needed


@jit_inner
def sort_first(keys: Any, which: Any, many: int) -> None:
    """Sort the first keys, and ``which`` along with them (Shell 1959; a few hundred are sorted)."""
    gap = many
    while gap > 1:
        gap = max(1, gap * 4 // 9)
        for p in range(gap, many):
            key, row, place = keys[p], which[p], p
            while place >= gap and keys[place - gap] > key:
                keys[place], which[place] = keys[place - gap], which[place - gap]
                place -= gap
            keys[place], which[place] = key, row


@jit_inner_any_order
def count_below(distance: Any, limit: float) -> int:
    """How many distances are below a limit."""
    number = 0
    for i in range(distance.shape[0]):
        number += distance[i] < limit
    return number


@jit_inner_any_order
def measure_distances(m: Any, q: Any, distance: Any) -> None:
    """Write how far the breakpoints are from t = 0: infinite, or nan, if there is none."""
    for i in range(m.shape[0]):
        distance[i] = abs(m[i] / q[i])


@jit_inner
def radius(distance: Any, nearest: int, guess: float) -> float:
    """A distance with more than ``nearest`` breakpoints below it, if there are, but few more.

    The search begins at a guess, which fits as a rule: directions are alike.
    """
    least, most = 0.0, np.inf  # the least has too few below it, the most enough
    for _ in range(MAX_GUESSES):
        number = count_below(distance, guess)
        if nearest < number <= 2 * nearest:
            return guess
        if number <= nearest:
            least = guess
            guess = 2.0 * guess if most == np.inf else (least + most) / 2.0
        else:
            most = guess
            guess = (least + most) / 2.0
    return most


@jit_inner
def least_errors(
    m: Any, q: Any, c: Any, nearest: int, guess: float, t: Any, which: Any
) -> tuple[float, float, float]:
    """Return what ``fewest_errors`` does, and the guess for the next line; t and which are its work."""
    errors, many, reach, limit = 0.0, 0, np.inf, np.inf
    measure_distances(m, q, t)
    if nearest < m.shape[0]:
        limit = radius(t, nearest, guess)
    for i in range(m.shape[0]):
        if m[i] <= 0.0:
            errors += c[i]  # those at t = 0 first
        if t[i] < limit:  # a breakpoint beyond all numbers is none
            t[many], which[many] = t[i], i
            many += 1
    if nearest < many:
        guess = limit if limit < np.inf else guess
        sort_first(t, which, many)
        reach, many = t[nearest], nearest  # the first that is left out
        while many > 0 and t[many - 1] == reach:
            many -= 1
    for p in range(many):
        t[p] = -m[which[p]] / q[which[p]]
    sort_first(t, which, many)
    for p in range(many):  # left of all breakpoints rising rows are wrong, and falling ones right
        i = which[p]
        if (q[i] > 0.0) != (m[i] <= 0.0):
            errors += c[i] if q[i] > 0.0 else -c[i]
    best, width, middle, low = np.inf, 0.0, 0.0, -reach
    for p in range(many + 1):
        high = t[p] if p < many else reach
        if high > low and (errors < best or (errors == best and high - low > width)):
            best, width = errors, high - low
            middle = (low + high) / 2.0
            if low == -np.inf:
                middle = high - max(1.0, abs(high)) if high < np.inf else 0.0
            elif high == np.inf:
                middle = low + max(1.0, abs(low))
        if p < many:
            errors += -c[which[p]] if q[which[p]] > 0.0 else c[which[p]]
            low = high
    return middle, best, guess


@jit
def fewest_errors(m: Any, q: Any, c: Any, nearest: int = 1 << 62) -> tuple[float, float]:
    """Return the t, of either sign, with the least Σ c_i over rows m_i + t q_i ≤ 0, and that sum.

    Among the best intervals between breakpoints the widest is taken, and its middle. Only so many
    breakpoints nearest to t = 0 are looked at, which saves sorting them all.
    """
    t, which = np.empty(m.shape[0]), np.empty(m.shape[0], np.int64)
    middle, best, _ = least_errors(m, q, c, nearest, 1.0, t, which)
    return middle, best


@jit
def search_lines(m: Any, Q: Any, V: Any, c: Any, nearest: int, z: Any) -> None:
    """Move z and its margins m along each v of V to the fewest errors, if there are not more there.

    Moving along a plateau often opens the way down. Q holds how fast the margins grow along each v.
    """
    n, errors, guess = m.shape[0], 0.0, 1.0
    t, which = np.empty(n), np.empty(n, np.int64)
    for i in range(n):
        if m[i] <= 0.0:
            errors += c[i]
    for k in range(V.shape[0]):
        best, fewer, guess = least_errors(m, Q[k], c, nearest, guess, t, which)
        if fewer > errors or best == 0.0:
            continue
        fits = True
        for j in range(z.shape[0]):
            fits = fits and abs(z[j] + best * V[k, j]) <= LARGEST
        for i in range(n):
            t[i] = m[i] + best * Q[k, i]
            fits = fits and abs(t[i]) < np.inf
        if fits:
            errors = fewer
            for j in range(z.shape[0]):
                z[j] += best * V[k, j]
            for i in range(n):
                m[i] = t[i]
