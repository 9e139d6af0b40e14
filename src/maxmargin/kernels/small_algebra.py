"""Linear algebra of small problems: plain loops over addresses, compiled into whoever calls them.

Vectors and matrices are addresses in one block of memory (:func:`maxmargin.kernels.jit.at`), a matrix
row after row. They compile in less time than slices of arrays, and no loop looks at bounds or counts
references. Nothing here calls another library, or other threads.
"""

from __future__ import annotations

import math
from typing import Any

from maxmargin.kernels.jit import further, jit_part, jit_part_any_order
from maxmargin.kernels.rows import two_product, two_sum


@jit_part_any_order
def inner(x: Any, w: Any, d: int) -> float:
    """Return x·w."""
    total = 0.0
    for j in range(d):
        total += x[j] * w[j]
    return total


@jit_part_any_order
def four_inner(x0: Any, x1: Any, x2: Any, x3: Any, w: Any, d: int) -> tuple[float, float, float, float]:
    """Return x·w of four rows: in less time than one after the other, since w is read once."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for j in range(d):
        s0 += x0[j] * w[j]
        s1 += x1[j] * w[j]
        s2 += x2[j] * w[j]
        s3 += x3[j] * w[j]
    return s0, s1, s2, s3


@jit_part_any_order
def fill(x: Any, size: int, value: float) -> None:
    """Set all entries."""
    for j in range(size):
        x[j] = value


@jit_part_any_order
def weighted_sum(X: Any, n: int, d: int, y: Any, c: Any, out: Any) -> float:
    """Write Σ y_i c_i x_i; return Σ y_i c_i."""
    total = 0.0
    for j in range(d):
        out[j] = 0.0
    for i in range(n):
        factor = y[i] * c[i]
        if factor != 0.0:
            total += factor
            x = further(X, i * d)
            for j in range(d):
                out[j] += factor * x[j]
    return total


@jit_part_any_order
def add_squares(X: Any, d: int, band: Any, k: int, stiff: Any, H: Any, pad: float) -> None:
    """Add Σ σ_i z_i z_iᵀ over the band to the upper half of H, z = (x, pad), four rows at a time."""
    order = d + 1
    whole = k - k % 4
    for r in range(0, whole, 4):
        i0, i1, i2, i3 = band[r], band[r + 1], band[r + 2], band[r + 3]
        s0, s1, s2, s3 = stiff[i0], stiff[i1], stiff[i2], stiff[i3]
        for i in range(d):
            x0, x1 = further(X, i0 * d + i), further(X, i1 * d + i)
            x2, x3 = further(X, i2 * d + i), further(X, i3 * d + i)
            c0, c1, c2, c3 = s0 * x0[0], s1 * x1[0], s2 * x2[0], s3 * x3[0]
            h = further(H, i * order + i)
            for j in range(d - i):
                h[j] += c0 * x0[j] + c1 * x1[j] + c2 * x2[j] + c3 * x3[j]
            h[d - i] += pad * (c0 + c1 + c2 + c3)
        H[d * order + d] += pad * (s0 + s1 + s2 + s3)
    for r in range(whole, k):
        s = stiff[band[r]]
        for i in range(d):
            x, h = further(X, band[r] * d + i), further(H, i * order + i)
            c = s * x[0]
            for j in range(d - i):
                h[j] += c * x[j]
            h[d - i] += pad * c
        H[d * order + d] += pad * s


@jit_part_any_order
def factorise(H: Any, order: int) -> bool:
    """Write R with H = Rᵀ R over the upper half of H, the inverse of its diagonal on the diagonal.

    False if H is not positive definite to rounding.
    """
    for i in range(order):
        h, left = further(H, i * order + i), order - i
        before = h[0]
        whole = i - i % 4
        for k in range(0, whole, 4):
            r0 = further(H, k * order + i)
            r1 = further(r0, order)
            r2 = further(r1, order)
            r3 = further(r2, order)
            c0, c1, c2, c3 = r0[0], r1[0], r2[0], r3[0]
            for j in range(left):
                h[j] -= c0 * r0[j] + c1 * r1[j] + c2 * r2[j] + c3 * r3[j]
        for k in range(whole, i):
            r = further(H, k * order + i)
            c = r[0]
            for j in range(left):
                h[j] -= c * r[j]
        if not h[0] > 1e-15 * before:
            return False
        inverse = 1.0 / math.sqrt(h[0])
        for j in range(left):
            h[j] *= inverse
        h[0] = inverse
    return True


@jit_part_any_order
def solve(R: Any, order: int, x: Any) -> None:
    """Solve Rᵀ R x = x in place."""
    for i in range(order):
        r, y = further(R, i * order + i), further(x, i)
        value = y[0] * r[0]
        for j in range(1, order - i):
            y[j] -= value * r[j]
        y[0] = value
    for i in range(order - 1, -1, -1):
        r, y = further(R, i * order + i), further(x, i)
        total = y[0]
        for j in range(1, order - i):
            total -= r[j] * y[j]
        y[0] = total * r[0]


@jit_part
def exact_residual(x: Any, w: Any, d: int, target: float, b: float) -> float:
    """Return target − x·w − b, summed in two doubles."""
    total, rest = two_sum(target, -b)
    for j in range(d):
        product, off = two_product(x[j], -w[j])
        total, lost = two_sum(total, product)
        rest += lost + off
    return total + rest
