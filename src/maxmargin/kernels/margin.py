"""The loops of the margin machines: coordinate descent, the method of multipliers, the certificate.

``descend`` is an epoch of dual coordinate descent (Hsieh et al. 2008), with a free bias.

Row by row, α_i is moved to where the dual is largest along its axis. The bias is free by a moving
centre: within an epoch b = b_k + ρ Σ α_i y_i, and after it b_k ← b_k + ρ Σ α_i y_i, which is the method
of multipliers for Σ α_i y_i = 0. Rows that stay at a bound with a gradient beyond all others are set
aside.

The gap between primal and dual value is a sum over the rows, of α_i (m_i − 1) where the margin is larger
than 1 and of (C_i − α_i)(1 − m_i) where it is smaller. Added up as the rows are visited, each before it
is moved, it tells at no cost when a look at all of them is worth while.

``clip_multipliers`` and ``slope`` are those of the method of multipliers: clip, and search along a line.

``measure`` sums what a block of rows contributes to a certificate, in one sweep, with bounds on all
rounding. Row i falls short of the margin e that is asked for by s_i = e − y_i (w·x_i + b). Where that
matters and the rounding of a plain sum could be felt, it is summed once more in two doubles.

With u = 2⁻⁵³, a sum of t products in any order is off by t u Σ|w_j x_ij| at most, to first order, and
one in two doubles by t² u² Σ|w_j x_ij|. The factors below are somewhat larger, for terms of higher order
and for the rounding of the bounds themselves (Higham 2002, §3.1; Ogita, Rump and Oishi 2005).

``residuals``, ``sort_out`` and ``weigh`` summarise a partition for the soft margin: how near its rows
are to the margin, and what those on either side contribute.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from maxmargin.kernels.jit import jit, jit_any_order
from maxmargin.kernels.rows import (
    UNDERFLOW,
    UNIT_ROUNDOFF,
    add_row,
    add_row_in_two,
    dot,
    dot_and_size,
    dot_in_two,
    norm_squared,
    prefetch_row,
    two_product,
    two_sum,
)

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


@jit
def clip_multipliers(m: Any, a: Any, C: Any, sigma: Any, alpha: Any, band: Any) -> int:
    """Write α_i = min(max(a_i + σ_i (1 − m_i), 0), C_i) and the rows strictly between; count these."""
    inside = 0
    for i in range(m.shape[0]):
        value = a[i] + sigma[i] * (1.0 - m[i])
        if value <= 0.0:
            alpha[i] = 0.0
        elif value >= C[i]:
            alpha[i] = C[i]
        else:
            alpha[i] = value
            band[inside] = i
            inside += 1
    return inside


@jit_any_order
def slope(t: float, m: Any, u: Any, a: Any, C: Any, sigma: Any) -> tuple[float, float]:
    """Return Σ α_i(t) u_i, and Σ σ_i u_i² over the band; α_i(t) clips a_i + σ_i (1 − m_i − t u_i)."""
    pull = 0.0
    curvature = 0.0
    for i in range(m.shape[0]):
        value = a[i] + sigma[i] * (1.0 - m[i] - t * u[i])
        if value <= 0.0:
            continue
        if value >= C[i]:
            pull += C[i] * u[i]
        else:
            pull += value * u[i]
            curvature += sigma[i] * u[i] * u[i]
    return pull, curvature


@jit
def sign(f: Any, y: Any, b: float) -> None:
    """Turn w·x_i into the margin y_i (w·x_i + b), in place."""
    for i in range(f.shape[0]):
        f[i] = y[i] * (f[i] + b)


@jit_any_order
def hinge_slope(t: float, m: Any, u: Any, C: Any) -> float:
    """Return Σ C_i u_i over the rows with m_i + t u_i < 1."""
    pull = 0.0
    for i in range(m.shape[0]):
        if m[i] + t * u[i] < 1.0:
            pull += C[i] * u[i]
    return pull


ROUNDING_SHARE = 2.0**-40  # share of a slack that may be rounding: 1e-12 of the primal value in all
NEAR_SLACK = 2.0**-16  # slacks up to this are gone if w is that much longer: they may be rounding alone


class Tally(NamedTuple):
    """The sums of a block."""

    slack: float  # Σ C_i ξ_i, as two doubles
    slack_rest: float
    slack_error: float  # and how much more it can be
    shortest: float  # no row falls short by more than this
    complementarity: float  # max α_i |s_i| or (C_i − α_i) ξ_i
    outside: float  # max(−α_i, α_i − C_i) in proportion, or 0
    support: int  # rows with α_i > 0
    near: float  # Σ C_i ξ_i over rows with ξ_i ≤ NEAR_SLACK
    stretch: float  # by which share w has to be longer for these to have none, rounding included


@jit
def measure(
    rows: Any, y: Any, alpha: Any, C: Any, w: Any, b: float, edge: float, slack: Any, V: Any
) -> Tally:
    """Measure a plane and multipliers; fill in the slacks, if C is finite, and add to V.

    V[0] + V[1] is Σ α_i (x_i, 1) in two doubles, over rows with y = 1 and over the others, V[2] the sum
    of absolute values. Multipliers outside 0 … C_i count as the nearer end.
    """
    d = w.shape[0]
    hard = np.isinf(C[0])
    cost, rest, doubt, near, stretch = 0.0, 0.0, 0.0, 0.0, 0.0
    shortest, complementarity, outside = -np.inf, 0.0, 0.0
    late, support = 0, 0
    for i in range(y.shape[0]):
        total, size, terms = dot_and_size(rows, i, w)
        f = total + b
        s, low = edge - y[i] * f, 0.0
        error = 1.01 * UNIT_ROUNDOFF * (terms * size + abs(f) + abs(s)) + UNDERFLOW
        if not (s + error <= 0.0 or error <= ROUNDING_SHARE * s):
            f, low = dot_in_two(rows, i, w, b)
            s, lost = two_sum(edge, -y[i] * f)
            s, low = two_sum(s, lost - y[i] * low)
            error = 2.0 * ((terms + 3) * UNIT_ROUNDOFF) ** 2 * (edge + abs(b) + size) + UNDERFLOW
            if not np.isfinite(s):  # products out of range
                s, low, error = np.inf, 0.0, 0.0
        shortest = max(shortest, s + error)
        a = min(max(alpha[i], 0.0), C[i])
        if not hard:
            if s + error > 0.0:
                late += 1
                doubt += C[i] * error
                if s > 0.0:
                    slack[i] = s
                    product, off = two_product(C[i], s)
                    cost, lost = two_sum(cost, product)
                    rest += lost + (off + C[i] * low)
            moved = 4.0 * UNIT_ROUNDOFF * (size + abs(b))  # by rounding, if w and b are scaled
            if -moved < s <= NEAR_SLACK:
                near += C[i] * max(s, 0.0)
                stretch = max(stretch, s + moved)
            outside = max(outside, (alpha[i] - C[i]) / max(C[i], UNDERFLOW))
        outside = max(outside, -alpha[i])
        if s > 0.0 and not hard:
            complementarity = max(complementarity, (C[i] - a) * s)
        if a > 0.0:
            if s <= 0.0 or hard:
                complementarity = max(complementarity, a * abs(s))
            support += 1
            k = 0 if y[i] > 0.0 else 1
            add_row_in_two(rows, i, a, V[0, k], V[1, k], V[2, k])
            V[0, k, d], lost = two_sum(V[0, k, d], a)
            V[1, k, d] += lost
            V[2, k, d] += a
    doubt = 1.01 * doubt + 5.0 * ((late + 2) * UNIT_ROUNDOFF) ** 2 * cost + UNDERFLOW
    return Tally(cost, rest, doubt, shortest, complementarity, outside, support, near, stretch)


@jit
def residuals(F: Any, shift: Any, y: Any, r: Any, u: Any, scales: Any) -> None:
    """Turn columns x_i·w, x_i·Δw, x_i·e_1, … into 1 − m_i, its change, and the scale of the row.

    That is the root mean square of the other columns; without them the scales stay as they are.
    """
    n, k = F.shape
    for i in range(n):
        r[i] = 1.0 - y[i] * (F[i, 0] + shift[0])
        u[i] = y[i] * (F[i, 1] + shift[1])
        total = 0.0
        for j in range(2, k):
            value = F[i, j] + shift[j]
            total += value * value
        if k > 2:
            scales[i] = math.sqrt(total / (k - 2))


@jit
def sort_out(
    r: Any,
    u: Any,
    scales: Any,
    C: Any,
    width: float,
    steps: Any,
    finest: int,
    hinge: Any,
    counts: Any,
    inside: Any,
) -> int:
    """Find rows with |r_i| ≤ δ s_i, and count them; add to the hinges and to the counts by |r_i|/s_i.

    counts[k] is of those with a ratio between powers of two 2^(k−1+finest) and 2^(k+finest).
    """
    found, last, smallest = 0, counts.shape[0] - 1, math.ldexp(1.0, finest)
    for i in range(r.shape[0]):
        far = abs(r[i])
        for t in range(steps.shape[0]):
            hinge[t] += C[i] * max(r[i] + steps[t] * u[i], 0.0)
        ratio = far / scales[i] if scales[i] > 0.0 else math.inf
        if ratio < math.inf:
            counts[min(max(math.frexp(max(ratio, smallest))[1] - finest, 0), last)] += 1
        else:
            counts[last] += 1
        if far <= width * scales[i] or width == math.inf:
            inside[found] = i
            found += 1
    return found


@jit
def weigh(r: Any, C: Any, y: Any, inside: Any, sides: Any) -> float:
    """Write C_i y_i of the rows with r_i > 0 that are not inside, by sign; return Σ C_i r_i of these."""
    total, k = 0.0, 0
    for i in range(r.shape[0]):
        sides[0, i] = sides[1, i] = 0.0
        if k < inside.shape[0] and inside[k] == i:
            k += 1
        elif r[i] > 0.0:
            sides[0 if y[i] > 0.0 else 1, i] = C[i] * y[i]
            total += C[i] * r[i]
    return total
