"""The loops of a look at partitions: how near rows are to the margin, and on which side."""

from __future__ import annotations

import math
from typing import Any

from maxmargin.kernels.jit import jit


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
