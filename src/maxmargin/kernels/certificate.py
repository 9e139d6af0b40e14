"""What a block of rows contributes to a certificate, in one sweep, with bounds on all rounding.

Row i falls short of the margin e that is asked for by s_i = e − y_i (w·x_i + b). Where that matters and
the rounding of a plain sum could be felt, it is summed once more in two doubles.

With u = 2⁻⁵³, a sum of t products in any order is off by t u Σ|w_j x_ij| at most, to first order, and
one in two doubles by t² u² Σ|w_j x_ij|. The factors below are somewhat larger, for terms of higher order
and for the rounding of the bounds themselves (Higham 2002, §3.1; Ogita, Rump and Oishi 2005).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.kernels.jit import jit
from maxmargin.kernels.primitives import (
    UNDERFLOW,
    UNIT_ROUNDOFF,
    add_row_in_two,
    dot_and_size,
    dot_in_two,
    two_product,
    two_sum,
)

__all__ = ["Tally", "measure", "square_in_two"]

FINE = 2.0**-40  # share of a slack that may be rounding: 1e-12 of the primal value in all
NEAR = 2.0**-16  # slacks up to this are gone if w is that much longer: they may be rounding alone


class Tally(NamedTuple):
    """The sums of a block."""

    slack: float  # Σ C_i ξ_i, as two doubles
    slack_rest: float
    slack_error: float  # and how much more it can be
    shortest: float  # no row falls short by more than this
    complementarity: float  # max α_i |s_i| or (C_i − α_i) ξ_i
    outside: float  # max(−α_i, α_i − C_i) in proportion, or 0
    support: int  # rows with α_i > 0
    near: float  # Σ C_i ξ_i over rows with ξ_i ≤ NEAR
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
        if not (s + error <= 0.0 or error <= FINE * s):
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
            if -moved < s <= NEAR:
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
def square_in_two(x: Any) -> tuple[float, float]:
    """‖x‖² in two doubles."""
    total, rest = 0.0, 0.0
    for v in x:
        product, off = two_product(v, v)
        total, lost = two_sum(total, product)
        rest += lost + off
    return total, rest
