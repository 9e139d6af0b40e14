"""Two simplex methods on many columns and few rows: for the cheapest witness, and for packing witnesses.

*The cheapest witness.* Rows a_i that cancel with positive weights are the corners of

    λ ≥ 0,  Σ λ_i a_i = 0,  Σ λ_i = 1      (Gleeson and Ryan 1990),

and every corner met on the way to the least Σ price_i λ_i is a witness: the rows with λ_i > 0. If there
is no such λ, the prices of the first phase are a plane that is positive on all rows.

*Packing.* Of witnesses S as columns, the most that fits,

    maximise Σ profit_S x_S,  Σ_{S ∋ i} x_S ≤ capacity_i,  x ≥ 0,

whose prices y_i ≥ 0 solve the dual: Σ_{i ∈ S} y_i ≥ profit_S, Σ capacity_i y_i least.

Both keep the inverse of the basis; an iteration prices all columns, and changes the inverse by a matrix
of rank one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.kernels.jit import jit_any_order, jit_ieee

SEPARABLE, CHEAPEST, ENDED = 0, 1, 2  # how a search for witnesses ends
BEST, GOING_ON, UNBOUNDED = 0, 1, 2  # how packing ends
ZERO, PIVOT = 1e-10, 1e-9  # a weight that is none; the least pivot
GAIN = 1e-9  # of an entering column


@jit_ieee
def cheapest_witness(
    A: Any, prices: Any, allowed: Any, start: Any, pivots: int, limit: float, found: Any, sizes: Any
) -> Any:
    """Walk to the cheapest witness among the allowed rows.

    It starts at a basis: D + 1 rows that cancel with weights ≥ 0 (then ``start`` is the inverse of the
    basis, below a line with its rows), or at one row, and ``start`` has but this. Witnesses on the way
    whose prices sum to less than ``limit`` go into ``found``, one a row, with their ``sizes``; the last
    ones if there are more than it holds. Returns how it ended, how many were found, a plane if none
    exists, and the last basis (−1: artificial).
    """
    D = A.shape[1]
    m = D + 1
    basis = np.full(m, -1)
    inverse = np.zeros((m, m))
    weight, u, y, z = np.empty(m), np.empty(m), np.zeros(m), np.zeros(D)
    count, priced = 0, start.shape[0] > 1
    if priced:
        for k in range(m):
            basis[k] = np.int64(start[0, k])
            for j in range(m):
                inverse[k, j] = start[1 + k, j]
            weight[k] = inverse[k, D]
    else:
        first = np.int64(start[0, 0])
        for k in range(D):
            inverse[k, k] = -1.0 if A[first, k] > 0.0 else 1.0
            inverse[k, D] = -inverse[k, k] * A[first, k]
            weight[k] = abs(A[first, k])
        basis[D], inverse[D, D], weight[D] = first, 1.0, 1.0
    for _ in range(pivots):
        if not priced:
            distance = 0.0
            for k in range(m):
                distance += weight[k] if basis[k] < 0 else 0.0
            priced = distance < ZERO
        for j in range(m):
            y[j] = 0.0
        for k in range(m):
            price = 0.0
            if priced and basis[k] >= 0:
                price = prices[basis[k]]
            elif not priced and basis[k] < 0:
                price = 1.0
            if price != 0.0:
                for j in range(m):
                    y[j] += price * inverse[k, j]
        if priced:
            count = _keep(basis, weight, prices, limit, found, sizes, count)
        enters = _most_reduced(A, prices, allowed, y, priced)
        if enters < 0:
            for j in range(D):
                z[j] = -y[j]
            return (CHEAPEST if priced else SEPARABLE), count, z, basis
        for k in range(m):
            u[k] = inverse[k, D]
            for j in range(D):
                u[k] += inverse[k, j] * A[enters, j]
        leaves = _ratio_test(basis, weight, u, priced)
        if leaves < 0:
            break
        step = max(weight[leaves], 0.0) / u[leaves]
        for j in range(m):
            inverse[leaves, j] /= u[leaves]
        for k in range(m):
            if k != leaves and u[k] != 0.0:
                weight[k] -= u[k] * step
                for j in range(m):
                    inverse[k, j] -= u[k] * inverse[leaves, j]
        weight[leaves], basis[leaves] = step, enters
    return ENDED, count, z, basis


@jit_any_order
def _most_reduced(A: Any, prices: Any, allowed: Any, y: Any, priced: bool) -> int:
    """The allowed row of least reduced price; −1 if none is negative."""
    D = A.shape[1]
    enters, least = -1, -GAIN
    for i in range(A.shape[0]):
        if allowed[i]:
            total = 0.0
            for j in range(D):
                total += y[j] * A[i, j]
            reduced = (prices[i] if priced else 0.0) - y[D] - total
            if reduced < least:
                enters, least = i, reduced
    return enters


@jit_ieee
def _keep(basis: Any, weight: Any, prices: Any, limit: float, found: Any, sizes: Any, count: int) -> int:
    """Note the witness of a basis if it is cheap enough; return how many there are."""
    total, place, size = 0.0, count % found.shape[0], 0
    for k in range(basis.shape[0]):
        if basis[k] >= 0 and weight[k] > ZERO:
            total += prices[basis[k]]
    if total >= limit:
        return count
    for k in range(basis.shape[0]):
        if basis[k] >= 0 and weight[k] > ZERO:
            found[place, size] = basis[k]
            size += 1
    sizes[place] = size
    return count + 1


@jit_ieee
def _ratio_test(basis: Any, weight: Any, u: Any, priced: bool) -> int:
    """The place in the basis that leaves: artificial columns first, then the largest pivot; −1: none."""
    leaves, least, pivot = -1, np.inf, 0.0
    for k in range(basis.shape[0]):
        if priced and basis[k] < 0 and abs(u[k]) > PIVOT:
            return k
        if u[k] > PIVOT:
            ratio = max(weight[k], 0.0) / u[k]
            if ratio < least - ZERO or (ratio < least + ZERO and u[k] > pivot):
                leaves, least, pivot = k, min(ratio, least), u[k]
    return leaves


@jit_ieee
def pack_columns(
    members: Any,
    sizes: Any,
    profit: Any,
    which: Any,
    capacity: Any,
    unlimited: Any,
    basis: Any,
    inverse: Any,
    x: Any,
    y: Any,
    pivots: int,
) -> tuple[int, int]:
    """Go on packing from a basis, in place; return BEST, GOING_ON or UNBOUNDED, and the pivots.

    ``members`` has the rows of a column, the first ``sizes`` of each; ``which`` columns may enter, and
    rows may be ``unlimited``. In the
    ``basis`` is a column, or −1 − i for what is left of the capacity of row i, or −1 − n − i for what is
    needed beyond it. ``inverse`` is the transposed inverse of the basis, ``x`` its values and ``y`` its
    prices; the caller computes them anew from time to time.
    """
    n, columns = capacity.shape[0], sizes.shape[0]
    u = np.empty(n)
    for pivot_number in range(pivots):
        enters, most = columns, GAIN
        for i in range(n):
            if -y[i] > most:
                enters, most = -1 - i, -y[i]
            elif unlimited[i] and y[i] > most:
                enters, most = -1 - n - i, y[i]
        for s in which:
            gain = profit[s]
            for k in range(sizes[s]):
                gain -= y[members[s, k]]
            if gain > most:
                enters, most = s, gain
        if enters == columns:
            return BEST, pivot_number
        for k in range(n):
            u[k] = 0.0
        if enters >= 0:
            for s in range(sizes[enters]):
                i = members[enters, s]
                for k in range(n):
                    u[k] += inverse[i, k]
        else:
            beyond = enters < -n
            i = -1 - n - enters if beyond else -1 - enters
            for k in range(n):
                u[k] = -inverse[i, k] if beyond else inverse[i, k]
        leaves, least, pivot = -1, np.inf, 0.0
        for k in range(n):
            if u[k] > PIVOT:
                ratio = max(x[k], 0.0) / u[k]
                if ratio < least - ZERO or (ratio < least + ZERO and u[k] > pivot):
                    leaves, least, pivot = k, min(ratio, least), u[k]
        if leaves < 0:
            return UNBOUNDED, pivot_number
        for k in range(n):
            x[k] -= least * u[k]
        x[leaves] = least
        for i in range(n):
            t = inverse[i, leaves] / u[leaves]
            if t != 0.0:
                for k in range(n):
                    inverse[i, k] -= t * u[k]
                inverse[i, leaves] = t
                y[i] += most * t
        basis[leaves] = enters
    return GOING_ON, pivots
