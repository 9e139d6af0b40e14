"""Which class wins at each row: labels alone, in one pass over memory.

With one plane the larger of two classes wins where f(x) = w·x + b > 0; with several the first class
with the largest f_k(x). Both are decided as the sums w_1 x_1 + w_2 x_2 + … + b from left to right decide
them, so labels are the same for dense and sparse rows, in whatever order the compiler or BLAS adds. Two
such sums differ by no more than 4 u (d + 3) (max_j |w_j| Σ_j |x_j| + |b|) with u = 2⁻⁵³ (Higham 2002,
§3.1): only rows within that of a tie are summed again, in order.

Σ_j |x_j| also shows whether all numbers of a row are finite and of a permitted size. Every kernel
returns whether they are, and stops at the first row of which they are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from maxmargin.core.parameters import LARGEST
from maxmargin.kernels.jit import jit, jit_any_order, jit_ieee, jit_inlined
from maxmargin.kernels.rows import UNDERFLOW, UNIT_ROUNDOFF, dot_in_order, span
from maxmargin.rows.base import Dense

COLUMN_ROWS = 4096  # rows whose sums are carried from column to column: they stay in the cache


def dot_and_reach(rows: Any, i: int, w: Any) -> tuple[float, float]:
    """w·x_i summed in any order, and Σ_j |x_ij|."""
    raise NotImplementedError


def reach(rows: Any, i: int) -> float:
    """Σ_j |x_ij|."""
    raise NotImplementedError


@jit_any_order
def _dense_dot_and_reach(x: Any, w: Any) -> tuple[float, float]:
    total = 0.0
    size = 0.0
    for j in range(x.shape[0]):
        total += x[j] * w[j]
        size += abs(np.float64(x[j]))
    return total, size


@jit_any_order
def _sum_of_sizes(x: Any) -> float:
    size = 0.0
    for j in range(x.shape[0]):
        size += abs(np.float64(x[j]))
    return size


@jit_inlined
def _sparse_dot_and_reach(x: Any, j: Any, w: Any) -> tuple[float, float]:
    total = 0.0
    size = 0.0
    for p in range(x.shape[0]):
        total += x[p] * w[np.uint64(j[p])]
        size += abs(np.float64(x[p]))
    return total, size


@overload(dot_and_reach, strict=False)
def _dot_and_reach(rows: Any, i: int, w: Any) -> Any:
    if getattr(rows, "instance_class", None) is Dense:
        return lambda rows, i, w: _dense_dot_and_reach(rows.X[i], w)

    def csr(rows: Any, i: int, w: Any) -> tuple[float, float]:
        first, last = span(rows, i)
        return _sparse_dot_and_reach(rows.data[first:last], rows.indices[first:last], w)

    return csr


@overload(reach, strict=False)
def _reach(rows: Any, i: int) -> Any:
    if getattr(rows, "instance_class", None) is Dense:
        return lambda rows, i: _sum_of_sizes(rows.X[i])

    def csr(rows: Any, i: int) -> float:
        first, last = span(rows, i)
        return _sum_of_sizes(rows.data[first:last])

    return csr


@jit
def rounding(size: float, d: int, heaviest: float, bias: float) -> float:
    """How far two sums of w·x + b in any two orders can be apart, given Σ|x_j| and max |w_j|."""
    return 4.0 * UNIT_ROUNDOFF * (d + 3) * (heaviest * size + bias) + UNDERFLOW


@jit_ieee
def sides(rows: Any, z: Any, heaviest: float, out: Any) -> bool:
    """Write 1 where f(x_i) > 0, else 0."""
    w, b, d = z[:-1], z[-1], z.shape[0] - 1
    for i in range(out.shape[0]):
        total, size = dot_and_reach(rows, i, w)
        if not size <= LARGEST:
            return False
        f = total + b
        if abs(f) <= rounding(size, d, heaviest, abs(b)):
            f = dot_in_order(rows, i, w) + b
        out[i] = f > 0.0
    return True


@jit_ieee
def _add_columns(x: Any, w: Any, j: int, total: Any, size: Any) -> None:
    """Four columns at once, each product added to what the columns before it came to."""
    x_0, x_1, x_2, x_3 = x[j], x[j + 1], x[j + 2], x[j + 3]
    w_0, w_1, w_2, w_3 = w[j], w[j + 1], w[j + 2], w[j + 3]
    for i in range(x_0.shape[0]):
        total[i] = (((total[i] + x_0[i] * w_0) + x_1[i] * w_1) + x_2[i] * w_2) + x_3[i] * w_3
        size[i] += abs(x_0[i]) + abs(x_1[i]) + abs(x_2[i]) + abs(x_3[i])


@jit_ieee
def _add_column(x: Any, w: float, total: Any, size: Any) -> None:
    for i in range(x.shape[0]):
        total[i] += x[i] * w
        size[i] += abs(x[i])


@jit_ieee
def column_sides(X: Any, z: Any, out: Any) -> bool:
    """Write 1 where f(x_i) > 0, else 0, for rows that lie in memory column by column.

    X holds a column in each of its own rows. Many sums go on side by side, each of them in order.
    """
    n, d = out.shape[0], z.shape[0] - 1
    total, size = np.empty(COLUMN_ROWS), np.empty(COLUMN_ROWS)
    for start in range(0, n, COLUMN_ROWS):
        part = X[:, start : start + COLUMN_ROWS]
        total[:] = 0.0
        size[:] = 0.0
        whole = d - d % 4
        for j in range(0, whole, 4):
            _add_columns(part, z, j, total, size)
        for j in range(whole, d):
            _add_column(part[j], z[j], total, size)
        for i in range(part.shape[1]):
            if not size[i] <= LARGEST:
                return False
            out[start + i] = total[i] + z[d] > 0.0
    return True


@jit_ieee
def _compete(f: Any, b: float, k: int, best: Any, second: Any, out: Any) -> None:
    """Let class k take the rows where it beats the classes before it."""
    for i in range(f.shape[0]):
        value = f[i] + b
        higher = value > best[i]
        second[i] = max(second[i], min(value, best[i]))
        best[i] = value if higher else best[i]
        out[i] = k if higher else out[i]


@jit_ieee
def first_largest(rows: Any, i: int, Z: Any) -> int:
    """The first class with the largest sum in order."""
    best, winner = -np.inf, 0
    for k in range(Z.shape[0]):
        f = dot_in_order(rows, i, Z[k, :-1]) + Z[k, -1]
        if f > best:
            best, winner = f, k
    return winner


@jit_ieee
def largest(rows: Any, F: Any, Z: Any, heaviest: float, out: Any) -> bool:
    """Write the winner at each row, given F[k, i] = w_k·x_i summed in any order."""
    n, d = out.shape[0], Z.shape[1] - 1
    best, second, bias = np.full(n, -np.inf), np.full(n, -np.inf), np.max(np.abs(Z[:, -1]))
    for k in range(Z.shape[0]):
        _compete(F[k], Z[k, -1], k, best, second, out)
    for i in range(n):
        size = reach(rows, i)
        if not size <= LARGEST:
            return False
        if best[i] - second[i] <= 2.0 * rounding(size, d, heaviest, bias):
            out[i] = first_largest(rows, i, Z)
    return True
