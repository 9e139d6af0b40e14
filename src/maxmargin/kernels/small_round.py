"""A round of a small problem: Newton steps with an exact line search, until its minimum is reached.

With multipliers a and stiffnesses σ_i it is the minimum over w and b of

    ½‖w‖² + Σ max_{0 ≤ α ≤ C_i} (α (1 − m_i) − (α − a_i)²/2σ_i),      at α_i = clip(a_i + σ_i (1 − m_i)).

Only the rows strictly between their bounds, the *band*, have curvature. A step is solved with the matrix
of the features, of order d + 1, or that of the rows in the band, where these are fewer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.kernels.jit import further, jit_part, jit_part_any_order, stage
from maxmargin.kernels.small_algebra import (
    add_squares,
    factorise,
    fill,
    four_inner,
    inner,
    solve,
    weighted_sum,
)
from maxmargin.kernels.small_memory import (
    MARGINS,
    NOW,
    PLANE,
    TAKEN,
    Fixed,
    Problem,
    copy_of_some,
    fixed_of_all,
    long_vector,
    room_for_steps,
    short_vector,
    whole_problem,
)

MAX_STEPS = 30
INEXACTNESS = 0.1  # Rockafellar's criterion B: a round ends at a decrement of this · Σ (α − a)²/σ
SEARCH = 0.01  # share of the slope at the start of a line that may be left


@jit_part_any_order
def margins(p: Any, w: Any, out: Any) -> None:
    """Write y_i (x_i·w + b) for all rows; w ends in b."""
    d, y, b, whole = p.d, p.y, w[p.d], p.n - p.n % 4
    for i in range(0, whole, 4):
        x = further(p.X, i * d)
        x1, x2, x3 = further(x, d), further(x, 2 * d), further(x, 3 * d)
        f0, f1, f2, f3 = four_inner(x, x1, x2, x3, w, d)
        out[i], out[i + 1] = y[i] * (f0 + b), y[i + 1] * (f1 + b)
        out[i + 2], out[i + 3] = y[i + 2] * (f2 + b), y[i + 3] * (f3 + b)
    for i in range(whole, p.n):
        out[i] = y[i] * (inner(further(p.X, i * d), w, d) + b)


@jit_part_any_order
def clipped(p: Any, fixed: Any, m: Any, alpha: Any) -> float:
    """Write α_i = clip(a_i + σ_i (1 − m_i)); return Σ (α_i − a_i)²/σ_i."""
    a, stiff, C, moved = fixed.a, fixed.stiff, p.C, 0.0
    for i in range(p.n):
        value = min(max(a[i] + stiff[i] * (1.0 - m[i]), 0.0), C[i])
        alpha[i] = value
        moved += (value - a[i]) * (value - a[i]) / stiff[i]
    return moved


@jit_part_any_order
def search(
    p: Any, fixed: Any, m: Any, u: Any, constant: float, quadratic: float, descent: float
) -> float:
    """Return where the slope along a direction is zero, to a share of ``descent``.

    It is the slope of the Lagrangian where m has moved on to m + t u: a constant, t times the quadratic
    part, and less Σ α_i(t) u_i; the curvature of this is Σ σ_i u_i² over the band.
    """
    a, stiff, C = fixed.a, fixed.stiff, p.C
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(60):
        pull, bend = 0.0, quadratic
        for i in range(p.n):
            value = a[i] + stiff[i] * (1.0 - m[i] - t * u[i])
            pull += min(max(value, 0.0), C[i]) * u[i]
            bend += stiff[i] * u[i] * u[i] if 0.0 < value < C[i] else 0.0
        rise = constant + t * quadratic - pull
        if abs(rise) <= SEARCH * descent:
            break
        if rise < 0.0:
            low = t
        else:
            high = t
        t = t - rise / bend if bend > 0.0 else np.inf
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 4.0 * low
    return t


@jit_part
def line_of_products(p: Any, i: int) -> None:
    """Write x_i·x_j for all j ≥ i: for a row that has come into a band, and is likely to come again."""
    x, line, d = further(p.X, i * p.d), further(p.K, i * p.n), p.d
    whole = p.n - (p.n - i) % 4
    for j in range(i, whole, 4):
        z = further(p.X, j * d)
        others = further(z, d), further(z, 2 * d), further(z, 3 * d)
        line[j], line[j + 1], line[j + 2], line[j + 3] = four_inner(z, *others, x, d)
    for j in range(whole, p.n):
        line[j] = inner(further(p.X, j * d), x, d)


@jit_part
def inner_products(p: Any, band: Any, k: int, H: Any) -> float:
    """Write x_i·x_j of the rows in the band; return the mean of ‖x_i‖²."""
    mean, X, d = 0.0, p.X, p.d
    for r in range(k):
        i, h = band[r], further(H, r * k)
        if p.products:
            line = further(p.K, i * p.n)
            if line[i] != line[i]:
                line_of_products(p, i)
            for q in range(r, k):
                h[q] = line[band[q]]
        else:
            x, whole = further(X, i * d), k - (k - r) % 4
            for q in range(r, whole, 4):
                z, z1 = further(X, band[q] * d), further(X, band[q + 1] * d)
                z2, z3 = further(X, band[q + 2] * d), further(X, band[q + 3] * d)
                h[q], h[q + 1], h[q + 2], h[q + 3] = four_inner(z, z1, z2, z3, x, d)
            for q in range(whole, k):
                h[q] = inner(further(X, band[q] * d), x, d)
        mean += h[r] / k
    return mean


@jit_part
def newton_system(p: Any, k: int, stiff: Any, room: Any) -> int:
    """Write the matrix of a Newton step and its right side; return its order.

    That is −g with D + Zᵀ Σ Z, or −X_B g with X_B X_Bᵀ + Σ⁻¹ where the band holds fewer rows than there
    are features.
    """
    d, H, band, g = p.d, room.H, room.band, room.g
    if k <= d:
        inner_products(p, band, k, H)
        for r in range(k):
            i = band[r]
            H[r * k + r] += 1.0 / stiff[i]
            room.change[r] = -inner(further(p.X, i * d), g, d)
            room.towards[r] = 1.0
        return k
    fill(H, (d + 1) * (d + 1), 0.0)
    for j in range(d):
        H[j * (d + 1) + j] = 1.0
    H[d * (d + 1) + d] = 1.0 - p.pad
    add_squares(p.X, d, band, k, stiff, H, p.pad)
    for j in range(d + 1):
        room.step[j] = -g[j]
    return d + 1


@jit_part
def newton_step(p: Any, k: int, stiff: Any, room: Any) -> bool:
    """Write the Newton step of a round; False if its matrix is singular to rounding."""
    d, H, g, step, change, towards = p.d, room.H, room.g, room.step, room.change, room.towards
    order = newton_system(p, k, stiff, room)
    if not factorise(H, order):
        return False
    by_rows = k <= d
    for side in range(2 if by_rows and p.pad else 1):
        solve(H, order, (towards if side else change) if by_rows else step)
    if not by_rows:
        return True
    step[d] = 0.0
    if p.pad:
        total, sides = -g[d], 0.0
        for r in range(k):
            total -= change[r]
            sides += towards[r]
        step[d] = total / sides
    for j in range(d):
        step[j] = -g[j]
    for r in range(k):
        c, x = change[r] + step[d] * towards[r], further(p.X, room.band[r] * d)
        for j in range(d):
            step[j] -= c * x[j]
    return True


@jit_part
def find_gradient(p: Any, fixed: Any, room: Any, plane: Any, alpha: Any) -> tuple[int, float]:
    """Write the gradient and the band; return how many rows this has, and Σ α_i."""
    k, total, d, v, g = 0, 0.0, p.d, room.v, room.g
    for i in range(p.n):
        total += alpha[i]
        if 0.0 < alpha[i] < p.C[i]:
            room.band[k] = i
            k += 1
    excess = fixed.s0 + weighted_sum(p.X, p.n, d, p.y, alpha, v)
    for j in range(d):
        g[j] = plane[j] - v[j] - fixed.v0[j]
    g[d] = -p.pad * excess
    return k, total


@stage
def round_stage(
    work: Any, numbers: Any, most: int, n: int, d: int, count: int, s0: float, pad: float
) -> int:
    """Take Newton steps until a round is solved, on all rows or on those that are copied.

    Returns the number of rows in the band.
    """
    p, fixed = whole_problem(work, most, n, d, pad), fixed_of_all(work, most, d)
    m, alpha = long_vector(work, most, MARGINS), long_vector(work, most, NOW)
    if count < n:
        copy = copy_of_some(work, numbers, most, d)
        p = Problem(copy.X, p.K, copy.y, copy.C, count, d, False, pad)
        fixed = Fixed(copy.a, copy.stiff, copy.v0, s0)
        m, alpha = copy.m, copy.alpha
    room, plane = room_for_steps(work, numbers, most, d), short_vector(work, most, d, PLANE)
    u, g, step = room.u, room.g, room.step
    steps = 0
    while True:
        moved = clipped(p, fixed, m, alpha)
        k, total = find_gradient(p, fixed, room, plane, alpha)
        if steps == MAX_STEPS:
            break
        if k > 0:
            if not newton_step(p, k, fixed.stiff, room):
                break
        else:
            along = p.pad > 0.0 and abs(g[d]) > 1e-11 * total
            for j in range(d):
                step[j] = 0.0 if along else -g[j]
            step[d] = -g[d] if along else 0.0
        decrement = -inner(g, step, d + 1)
        if not decrement > 1e-30 * inner(plane, plane, d) or (
            k > 0 and decrement <= INEXACTNESS * moved
        ):
            break
        margins(p, step, u)
        constant = inner(plane, step, d) - inner(fixed.v0, step, d) - p.pad * fixed.s0 * step[d]
        t = search(p, fixed, m, u, constant, inner(step, step, d), decrement)
        for j in range(d + 1):
            plane[j] += t * step[j]
        for i in range(p.n):
            m[i] += t * u[i]
        steps += 1
    work[TAKEN] = steps
    return k
