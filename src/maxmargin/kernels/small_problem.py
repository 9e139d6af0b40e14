"""A small margin machine from its rows to the last digit, in one call.

The problem, on rows a_i = y_i x_i with margins m_i = y_i (x_i·w + b); C_i = ∞ for a hard margin:

    minimise  ½‖w‖² + Σ C_i max(0, 1 − m_i).

It is the method of multipliers with Newton steps, for problems where a product with all rows takes less
time than a line of Python (:mod:`maxmargin.solvers.margin.augmented_lagrangian` has the larger ones).
Each round has multipliers a and stiffnesses σ_i, and minimises by Newton steps with an exact line search

    ½‖w‖² + Σ max_{0 ≤ α ≤ C_i} (α (1 − m_i) − (α − a_i)²/2σ_i),      at α_i = clip(a_i + σ_i (1 − m_i)).

Only the rows strictly between their bounds, the *band*, have curvature. Then a ← α, and σ grows.

*Begin* with the plane between the class means: there all multipliers of a class are equal, and their
sum T is the better of 2/‖δ‖² and what the bounds allow (δ the difference of the means). For small C that
is nearly the answer: all rows of the smaller class are at their bound.

*End* with the band solved exactly, as soon as it is the free support. With B the band, it is the linear
system w = Σ α_i a_i, m_i = 1 for i in B and Σ α_i y_i = 0; its matrix X_B X_Bᵀ + t 1 1ᵀ is factorised
once, and corrections to w, b and α are repeated until they are rounding. The multipliers of the other
rows are at their bounds. Where the band is never small enough, the point with the smallest gap counts.

A step is solved with the matrix of the features, of order d + 1, or that of the rows in the band, where
these are fewer. Everything is in plain loops: nothing here calls another library, or other threads.
All functions are compiled into the one that is called from Python. By themselves they would be compiled
again into each caller, with their sums in another order, and which copy runs would depend on what was
loaded first, and on whether it came from the cache.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from maxmargin.kernels.jit import jit_inlined, jit_inlined_any_order
from maxmargin.kernels.rows import two_product, two_sum

# Places in ``report``.
PRIMAL, DUAL, STEPS, PASSES = 0, 1, 2, 3
MAX_ROUNDS, MAX_STEPS = 40, 30  # Newton steps in a round
GROWTH = 3.0  # of the stiffness after each round; 10 takes twice as many steps on handwritten digits
FREE_BOUND = 10.0  # over ‖a_i‖²: multipliers grow no further at first, however large C is
INEXACTNESS = 0.1  # Rockafellar's criterion B: a round ends at a decrement of this · Σ (α − a)²/σ
SEARCH = 0.01  # share of the slope at the start of a line that may be left
EARLY_STEPS, EARLY_GAP, MAX_STEPS_IN_ALL = 80, 0.1, 160  # where other solvers take over
EXACT = 1e-11  # a gap that will do once the band is solved exactly, or cannot be
FINISH_GAP, SURE_GAP = 0.5, 1e-3  # from which on the band is solved, if it is that of the last round
REFINEMENTS = 3
STALLED = 4  # rounds without half the gap, after which a gap within the tolerance is enough
BOUND_ROUNDING = 1e-14  # of multipliers: nearer to a bound than this share they are there
ROUNDING = 1e-6  # slacks of no more may be rounding alone, see ``scaled_up`` of the solvers
COPIED_SHARE = 0.7  # of the rows: where fewer are near the margin, a round is about a copy of these


class Machine(NamedTuple):
    """Rows, their inner products or nothing, labels ±1, bounds, and 1 or 0 for a bias or none."""

    X: Any
    K: Any
    y: Any
    C: Any
    pad: float


class Fixed(NamedTuple):
    """Of a round: its multipliers and stiffnesses, and what rows that are left out contribute."""

    a: Any
    stiff: Any
    v0: Any  # Σ α_i a_i
    s0: float  # Σ α_i y_i


class Room(NamedTuple):
    """Memory that the steps share."""

    H: Any
    Z: Any
    f: Any
    u: Any
    g: Any
    v: Any
    step: Any
    band: Any


@jit_inlined
def centre_rows(X: Any, pad: float, out: Any, centre: Any) -> float:
    """Write rows less their mean (with a bias) over a power of two, and return this.

    It is near the largest number there is then; nan if the numbers are not finite.
    """
    n, d = X.shape
    centre[:] = 0.0
    if pad:
        for i in range(n):
            for j in range(d):
                centre[j] += X[i, j]
        for j in range(d):
            centre[j] /= n
    most, strange = 0.0, 0.0
    for i in range(n):
        for j in range(d):
            value = X[i, j] - centre[j]
            out[i, j] = value
            most = max(most, abs(value))
            strange += 0.0 * value  # nan from nan and from infinity
    if strange != 0.0:
        return np.nan
    if most == 0.0:
        return 1.0
    scale = 2.0 ** np.rint(np.log2(most))
    for i in range(n):
        for j in range(d):
            out[i, j] /= scale
    return scale


@jit_inlined
def taken(values: Any, which: Any) -> Any:
    """Return some of the values."""
    some = np.empty(which.shape[0])
    for r in range(which.shape[0]):
        some[r] = values[which[r]]
    return some


@jit_inlined
def signed(y: Any, alpha: Any) -> Any:
    """Return y_i α_i."""
    beta = np.empty(y.shape[0])
    for i in range(y.shape[0]):
        beta[i] = y[i] * alpha[i]
    return beta


@jit_inlined_any_order
def inner(x: Any, w: Any, d: int) -> float:
    """Return x·w over the first d entries."""
    total = 0.0
    for j in range(d):
        total += x[j] * w[j]
    return total


@jit_inlined
def values(X: Any, w: Any, b: float, out: Any) -> None:
    """Write x_i·w + b for all rows."""
    n, d = X.shape
    for i in range(n):
        out[i] = inner(X[i], w, d) + b


@jit_inlined_any_order
def weighted_sum(X: Any, c: Any, out: Any) -> None:
    """Write Σ c_i x_i."""
    n, d = X.shape
    out[:d] = 0.0
    for i in range(n):
        if c[i] != 0.0:
            x, factor = X[i], c[i]
            for j in range(d):
                out[j] += factor * x[j]


@jit_inlined_any_order
def add_squares(Z: Any, k: int, order: int, H: Any) -> None:
    """Add Zᵀ Z of the first k rows of Z to the upper half of H, four rows at a time.

    Loops over parts of a row begin at 0, of a slice: then the compiler knows that no index is negative.
    """
    whole = k - k % 4
    for r in range(0, whole, 4):
        for i in range(order):
            z0, z1, z2, z3 = Z[r, i:order], Z[r + 1, i:order], Z[r + 2, i:order], Z[r + 3, i:order]
            c0, c1, c2, c3, h = z0[0], z1[0], z2[0], z3[0], H[i, i:order]
            for j in range(order - i):
                h[j] += c0 * z0[j] + c1 * z1[j] + c2 * z2[j] + c3 * z3[j]
    for r in range(whole, k):
        for i in range(order):
            z, h = Z[r, i:order], H[i, i:order]
            c = z[0]
            for j in range(order - i):
                h[j] += c * z[j]


@jit_inlined_any_order
def factorise(H: Any, order: int) -> bool:
    """Write R with H = Rᵀ R over the upper half of H, the inverse of its diagonal on the diagonal.

    False if H is not positive definite to rounding.
    """
    for i in range(order):
        h, before = H[i, i:order], H[i, i]
        whole = i - i % 4
        for k in range(0, whole, 4):
            r0, r1, r2, r3 = H[k, i:order], H[k + 1, i:order], H[k + 2, i:order], H[k + 3, i:order]
            c0, c1, c2, c3 = r0[0], r1[0], r2[0], r3[0]
            for j in range(order - i):
                h[j] -= c0 * r0[j] + c1 * r1[j] + c2 * r2[j] + c3 * r3[j]
        for k in range(whole, i):
            r = H[k, i:order]
            c = r[0]
            for j in range(order - i):
                h[j] -= c * r[j]
        if not h[0] > 1e-15 * before:
            return False
        inverse = 1.0 / math.sqrt(h[0])
        for j in range(order - i):
            h[j] *= inverse
        h[0] = inverse
    return True


@jit_inlined_any_order
def solve(R: Any, order: int, x: Any) -> None:
    """Solve Rᵀ R x = x in place."""
    for i in range(order):
        r, y = R[i, i:order], x[i:order]
        value = y[0] * r[0]
        for j in range(order - i):
            y[j] -= value * r[j]
        y[0] = value
    for i in range(order - 1, -1, -1):
        r, y = R[i, i:order], x[i:order]
        value, y[0] = y[0], 0.0
        y[0] = (value - inner(r, y, order - i)) * r[0]


@jit_inlined_any_order
def clipped(m: Any, a: Any, stiff: Any, C: Any, alpha: Any) -> float:
    """Write α_i = clip(a_i + σ_i (1 − m_i)); return Σ (α_i − a_i)²/σ_i."""
    moved = 0.0
    for i in range(m.shape[0]):
        value = min(max(a[i] + stiff[i] * (1.0 - m[i]), 0.0), C[i])
        alpha[i] = value
        moved += (value - a[i]) * (value - a[i]) / stiff[i]
    return moved


@jit_inlined_any_order
def slope(t: float, m: Any, u: Any, a: Any, C: Any, stiff: Any) -> tuple[float, float]:
    """Return Σ α_i(t) u_i, and Σ σ_i u_i² over the band, where m has moved on to m + t u."""
    pull, curvature = 0.0, 0.0
    for i in range(m.shape[0]):
        value = a[i] + stiff[i] * (1.0 - m[i] - t * u[i])
        pull += min(max(value, 0.0), C[i]) * u[i]
        curvature += stiff[i] * u[i] * u[i] if 0.0 < value < C[i] else 0.0
    return pull, curvature


@jit_inlined
def search(
    m: Any, u: Any, a: Any, C: Any, stiff: Any, constant: float, quadratic: float, descent: float
) -> float:
    """Return where the slope along a direction is zero, to a share of ``descent``."""
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(60):
        pull, curvature = slope(t, m, u, a, C, stiff)
        rise = constant + t * quadratic - pull
        if abs(rise) <= SEARCH * descent:
            break
        if rise < 0.0:
            low = t
        else:
            high = t
        bend = quadratic + curvature
        t = t - rise / bend if bend > 0.0 else np.inf
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 4.0 * low
    return t


@jit_inlined
def by_features(machine: Any, k: int, stiff: Any, room: Any) -> bool:
    """Write the Newton step from the matrix D + Zᵀ Σ Z of order d + 1."""
    X, pad, H, Z = machine.X, machine.pad, room.H, room.Z
    d = X.shape[1]
    for r in range(k):
        i = room.band[r]
        root, x, z = math.sqrt(stiff[i]), X[i], Z[r]
        for j in range(d):
            z[j] = root * x[j]
        z[d] = root * pad
    for i in range(d + 1):
        for j in range(i, d + 1):
            H[i, j] = 0.0
        H[i, i] = 1.0
    H[d, d] = 1.0 - pad
    add_squares(Z, k, d + 1, H)
    for j in range(d + 1):
        room.step[j] = -room.g[j]
    if not factorise(H, d + 1):
        return False
    solve(H, d + 1, room.step)
    return True


@jit_inlined
def inner_products(machine: Any, band: Any, k: int, H: Any) -> None:
    """Write x_i·x_j of the rows in the band."""
    X, K = machine.X, machine.K
    for r in range(k):
        i = band[r]
        for q in range(r, k):
            H[r, q] = K[i, band[q]] if K.shape[0] else inner(X[i], X[band[q]], X.shape[1])


@jit_inlined
def by_rows(machine: Any, k: int, stiff: Any, room: Any) -> bool:
    """Write the same from X_B X_Bᵀ + Σ⁻¹, where the band holds fewer rows than there are features."""
    X, H, band, g, step = machine.X, room.H, room.band, room.g, room.step
    d = X.shape[1]
    inner_products(machine, band, k, H)
    for r in range(k):
        H[r, r] += 1.0 / stiff[band[r]]
    if not factorise(H, k):
        return False
    change, towards = np.empty(k), np.ones(k)
    for r in range(k):
        change[r] = -inner(X[band[r]], g, d)
    solve(H, k, change)
    step[d] = 0.0
    if machine.pad:
        solve(H, k, towards)
        step[d] = (-g[d] - change.sum()) / towards.sum()
    for j in range(d):
        step[j] = -g[j]
    for r in range(k):
        c, x = change[r] + step[d] * towards[r], X[band[r]]
        for j in range(d):
            step[j] -= c * x[j]
    return True


@jit_inlined
def exact_residual(x: Any, w: Any, d: int, target: float, b: float) -> float:
    """Return target − x·w − b, summed in two doubles."""
    total, rest = two_sum(target, -b)
    for j in range(d):
        product, off = two_product(x[j], -w[j])
        total, lost = two_sum(total, product)
        rest += lost + off
    return total + rest


@jit_inlined
def finish(machine: Any, k: int, room: Any, w: Any, alpha: Any) -> bool:
    """Solve the conditions of a band for w, b and its multipliers; False if these leave the bounds."""
    X, y, pad, H, band = machine.X, machine.y, machine.pad, room.H, room.band
    d = X.shape[1]
    inner_products(machine, band, k, H)
    mean = 0.0
    for r in range(k):
        mean += H[r, r] / k
    mean = mean or 1.0
    for r in range(k):
        for q in range(r, k):
            H[r, q] += pad * mean
        H[r, r] += 1e-13 * mean
    if not factorise(H, k):
        return False
    beta, others, new = signed(y, alpha), np.empty(d), np.empty(k)
    for r in range(k):
        new[r] = beta[band[r]]
        beta[band[r]] = 0.0
    weighted_sum(X, beta, others)
    rest = pad * beta.sum()
    towards, change, short = np.ones(k), np.empty(k), np.empty(d)
    solve(H, k, towards)
    for _ in range(REFINEMENTS):
        for j in range(d):
            short[j] = others[j] - w[j]
        for r in range(k):
            c, x = new[r], X[band[r]]
            for j in range(d):
                short[j] += c * x[j]
        missing = -(rest + pad * new.sum())
        for r in range(k):
            i = band[r]
            edge = exact_residual(X[i], w, d, y[i], w[d])
            change[r] = edge - inner(X[i], short, d) + mean * missing
        solve(H, k, change)
        db = pad * (change.sum() - missing) / towards.sum()
        for j in range(d):
            w[j] += short[j]
        for r in range(k):
            c, x = change[r] - db * towards[r], X[band[r]]
            new[r] += c
            for j in range(d):
                w[j] += c * x[j]
        w[d] += db
    for r in range(k):
        i = band[r]
        value = y[i] * new[r]
        if not 0.0 <= value <= machine.C[i]:
            return False
        alpha[i] = value
    return True


@jit_inlined
def worth(machine: Any, w: Any, m: Any, alpha: Any, v: Any) -> tuple[float, float, float]:
    """Return the primal and the dual value, and by how much w is better longer; m and v are given."""
    y, C, pad = machine.y, machine.C, machine.pad
    n, d = machine.X.shape
    square, length = inner(w, w, d), inner(v, v, d)
    total, excess, least = 0.0, 0.0, np.inf
    for i in range(n):
        total += alpha[i]
        excess += y[i] * alpha[i]
        least = min(least, m[i])
    if np.isinf(C[0]):
        if not (least > 0.0 and length > 0.0 and abs(excess) * pad <= 1e-9 * total):
            return np.inf, -np.inf, 1.0
        return 0.5 * square / (least * least), 0.5 * total * total / length, 1.0 / least
    plain, most = 0.0, 0.0
    for i in range(n):
        late = max(1.0 - m[i], 0.0)
        plain += C[i] * late
        if late <= ROUNDING:
            most = max(most, late)
    primal, factor = 0.5 * square + plain, 1.0
    if most > 0.0:
        t = (1.0 + 4e-16) / (1.0 - most)
        lifted = 0.0
        for i in range(n):
            lifted += C[i] * max(1.0 - t * m[i], 0.0)
        lifted += 0.5 * t * t * square
        if lifted < primal:
            primal, factor = lifted, t
    dual = total - 0.5 * length - pad * abs(excess) * (1.0 + abs(w[d]))
    return primal, dual, factor


@jit_inlined
def begin(machine: Any, w: Any, alpha: Any, m: Any) -> float:
    """Write the plane between the class means, its multipliers and margins; return how these spread."""
    X, y, C, pad = machine.X, machine.y, machine.C, machine.pad
    n, d = X.shape
    hard = np.isinf(C[0])
    sums, counts, means = np.zeros(2), np.zeros(2), np.zeros(2)
    for i in range(n):
        side = 1 if y[i] > 0.0 else 0
        sums[side] += 1.0 if hard else C[i]
        counts[side] += 1.0
    for i in range(n):
        whole = sums[1 if y[i] > 0.0 else 0] if pad else sums[0] + sums[1]
        alpha[i] = (1.0 if hard else C[i]) / whole
    weighted_sum(X, signed(y, alpha), w)
    square = inner(w, w, d)
    size = np.inf
    if not hard:
        size = min(sums[0], sums[1]) if pad else sums[0] + sums[1]
    if square > 0.0:
        size = min(size, (1.0 + pad) / square)
    if size == np.inf:
        size = 1.0
    for i in range(n):
        alpha[i] *= size
    for j in range(d):
        w[j] *= size
    w[d] = 0.0
    values(X, w, 0.0, m)
    for i in range(n):
        means[1 if y[i] > 0.0 else 0] += m[i]
    spread = 0.0
    for i in range(n):
        side = 1 if y[i] > 0.0 else 0
        spread += (m[i] - means[side] / counts[side]) ** 2
        m[i] *= y[i]
    return math.sqrt(spread / n)


@jit_inlined
def best_bias(machine: Any, fixed: Any, m: Any, u: Any) -> float:
    """Move the margins by the bias that is best for this plane, and return it."""
    y = machine.y
    for i in range(y.shape[0]):
        u[i] = y[i]
    pull, _ = slope(0.0, m, u, fixed.a, machine.C, fixed.stiff)
    way = 1.0 if pull > 0.0 else -1.0
    for i in range(y.shape[0]):
        u[i] *= way
    t = way * search(m, u, fixed.a, machine.C, fixed.stiff, 0.0, 0.0, abs(pull))
    for i in range(y.shape[0]):
        m[i] += t * y[i]
    return t


@jit_inlined
def one_round(machine: Any, fixed: Any, room: Any, plane: Any, m: Any, alpha: Any) -> tuple[int, int]:
    """Take Newton steps until the round is solved; return the size of the band, and how many steps."""
    X, y, C, pad = machine.X, machine.y, machine.C, machine.pad
    a, stiff, f, u, g, v, step = fixed.a, fixed.stiff, room.f, room.u, room.g, room.v, room.step
    n, d = X.shape
    zero: Any = np.int64(0)  # not the literal, for which all that take k would be compiled again
    k, steps = zero, 0
    while True:
        moved = clipped(m, a, stiff, C, alpha)
        k, s, total = zero, fixed.s0, 0.0
        for i in range(n):
            f[i] = y[i] * alpha[i]
            s += f[i]
            total += alpha[i]
            if 0.0 < alpha[i] < C[i]:
                room.band[k] = i
                k += 1
        weighted_sum(X, f[:n], v)
        for j in range(d):
            v[j] += fixed.v0[j]
            g[j] = plane[j] - v[j]
        g[d] = -pad * s
        if steps == MAX_STEPS:
            break
        if k > 0:
            rows = k < d + 1
            if not (by_rows(machine, k, stiff, room) if rows else by_features(machine, k, stiff, room)):
                break
        elif pad and abs(s) > 1e-11 * total:
            step[:d] = 0.0
            step[d] = -g[d]
        else:
            for j in range(d):
                step[j] = -g[j]
            step[d] = 0.0
        decrement = -inner(g, step, d + 1)
        if not decrement > 1e-30 * inner(plane, plane, d) or (
            k > 0 and decrement <= INEXACTNESS * moved
        ):
            break
        values(X, step, step[d], u[:n])
        for i in range(n):
            u[i] *= y[i]
        constant, quadratic = inner(plane, step, d) - inner(fixed.v0, step, d), inner(step, step, d)
        constant -= pad * fixed.s0 * step[d]
        t = search(m, u[:n], a, C, stiff, constant, quadratic, decrement)
        for j in range(d + 1):
            plane[j] += t * step[j]
        for i in range(n):
            m[i] += t * u[i]
        steps += 1
    return k, steps


@jit_inlined
def near_rows(m: Any, alpha: Any, C: Any, reach: float, near: Any) -> int:
    """Write which rows are free, within reach of the margin, or on its wrong side; return how many."""
    count = 0
    for i in range(m.shape[0]):
        wrong = m[i] < 1.0 if alpha[i] == 0.0 else (alpha[i] < C[i] or m[i] > 1.0)
        if wrong or abs(1.0 - m[i]) <= reach:
            near[count] = i
            count += 1
    return count


@jit_inlined
def round_of_some(
    machine: Any, fixed: Any, room: Any, plane: Any, m: Any, alpha: Any, near: Any
) -> tuple[int, int]:
    """Solve a round on some rows, the multipliers of the others fixed; then find the margins of all."""
    X, y = machine.X, machine.y
    n, d = X.shape
    v0, s0, beta = np.empty(d), 0.0, signed(y, alpha)
    for i in near:
        beta[i] = 0.0
    weighted_sum(X, beta, v0)
    for i in range(n):
        s0 += beta[i]
    rows = np.empty((near.shape[0], d))
    for r in range(near.shape[0]):
        x, copy = X[near[r]], rows[r]
        for j in range(d):
            copy[j] = x[j]
    part = Machine(rows, machine.K, taken(y, near), taken(machine.C, near), machine.pad)
    held = Fixed(taken(fixed.a, near), taken(fixed.stiff, near), v0, s0)
    mine, some = taken(m, near), taken(alpha, near)
    k, steps = one_round(part, held, room, plane, mine, some)
    for r in range(k):
        room.band[r] = near[room.band[r]]
    for r in range(near.shape[0]):
        alpha[near[r]] = some[r]
    values(X, plane, plane[d], m)
    for i in range(n):
        m[i] *= y[i]
    return k, steps


@jit_inlined
def drop_rounding(C: Any, alpha: Any) -> None:
    """Make multipliers that are at a bound but for rounding equal to it."""
    largest = 0.0
    for i in range(C.shape[0]):
        largest = max(largest, alpha[i])
    for i in range(C.shape[0]):
        if alpha[i] < BOUND_ROUNDING * largest:
            alpha[i] = 0.0
        elif alpha[i] > (1.0 - BOUND_ROUNDING) * C[i]:
            alpha[i] = C[i]


@jit_inlined
def balance(y: Any, C: Any, alpha: Any) -> None:
    """Make Σ α_i y_i = 0 where rounding is missing: the largest free multiplier that can takes it."""
    excess, rest = 0.0, 0.0
    for i in range(y.shape[0]):
        excess, lost = two_sum(excess, y[i] * alpha[i])
        rest += lost
    excess += rest
    if excess == 0.0:
        return
    largest, where = abs(excess), -1
    for i in range(y.shape[0]):
        if y[i] * excess > 0.0 and largest < alpha[i] < C[i]:
            largest, where = alpha[i], i
    if where >= 0:
        alpha[where] -= abs(excess)


@jit_inlined
def centre_bias(X: Any, y: Any, C: Any, alpha: Any, w: Any, f: Any) -> None:
    """Move b to the middle of the optimal ones, if no multiplier is between its bounds.

    It may move as long as rows with α_i = C_i stay at m_i ≤ 1 and those with α_i = 0 at m_i ≥ 1.
    """
    d = X.shape[1]
    for i in range(y.shape[0]):
        if 0.0 < alpha[i] < C[i]:
            return
    values(X, w, w[d], f)
    low, high = -np.inf, np.inf
    for i in range(y.shape[0]):
        room = y[i] - f[i]
        if (y[i] > 0.0) == (alpha[i] > 0.0):
            high = min(high, room)
        else:
            low = max(low, room)
    if -np.inf < low < high < np.inf:
        w[d] += 0.5 * (low + high)


@jit_inlined
def keep_better(
    machine: Any, plane: Any, m: Any, alpha: Any, v: Any, w: Any, best: Any, report: Any
) -> float:
    """Keep a plane and its multipliers if their gap is the smallest so far; return the smallest gap."""
    known = (report[PRIMAL] - report[DUAL]) / report[PRIMAL] if report[PRIMAL] < np.inf else np.inf
    primal, dual, factor = worth(machine, plane, m, alpha, v)
    gap = (primal - dual) / primal if primal < np.inf else np.inf
    if not gap < known:
        return known
    report[PRIMAL], report[DUAL] = primal, dual
    for j in range(w.shape[0]):
        w[j] = factor * plane[j]
    for i in range(alpha.shape[0]):
        best[i] = alpha[i]
    return gap


@jit_inlined
def note(rounds: Any, number: int, report: Any) -> None:
    """Write what is known after a round, if that is asked for."""
    if number < rounds.shape[0]:
        rounds[number, 0] = report[PASSES]
        rounds[number, 1] = report[PRIMAL]
        rounds[number, 2] = report[DUAL]


@jit_inlined
def is_hopeless(steps: int, gap: float, tol: float) -> bool:
    """Whether other solvers are quicker from here on."""
    return (steps > EARLY_STEPS and gap > EARLY_GAP) or steps > (
        MAX_STEPS_IN_ALL if gap > tol else EARLY_STEPS
    )


@jit_inlined
def small_problem(
    X: Any,
    K: Any,
    y: Any,
    C: Any,
    pad: float,
    tol: float,
    goal: float,
    w: Any,
    alpha: Any,
    report: Any,
    rounds: Any,
) -> None:
    """Write the optimal plane (w, b) and its multipliers, and what they are worth.

    X holds centred rows, K their inner products or nothing. ``goal`` is the relative gap at which to
    stop at once, ``tol`` the one that will do where no more progress is made. ``rounds`` has a line
    (passes, primal, dual) for each round, or none.
    """
    n, d = X.shape
    machine = Machine(X, K, y, C, pad)
    max_finish = 2 * (d + 1) + 20
    order = min(n, max_finish)  # a band of more rows than features has n > d
    room = Room(
        np.empty((order, order)),
        np.empty((n, d + 1)),
        np.empty(n),
        np.empty(n),
        np.empty(d + 1),
        np.empty(d + 1),
        np.empty(d + 1),
        np.empty(n, np.int64),
    )
    plane, trial, m, before = np.empty(d + 1), np.empty(d + 1), np.empty(n), np.empty(n)
    now, near = np.empty(n), np.empty(n, np.int64)
    width = begin(machine, plane, now, m)
    width = width if width > 1e-13 else 1.0
    square = 0.0
    for i in range(n):
        square += inner(X[i], X[i], d) / n
    a, stiff = np.empty(n), np.empty(n)
    for i in range(n):
        a[i], stiff[i] = now[i], min(C[i], FREE_BOUND / (square or 1.0)) / width
    fixed = Fixed(a, stiff, np.zeros(d), 0.0)
    if pad:
        plane[d] = best_bias(machine, fixed, m, room.u)
    report[PRIMAL], report[DUAL], report[STEPS], report[PASSES] = np.inf, -np.inf, 0.0, 3.0
    gap, waited, reach, known = np.inf, 0, np.inf, 0
    for number in range(MAX_ROUNDS):
        for i in range(n):
            before[i] = m[i]
        count = n if number == 0 or K.shape[0] else near_rows(m, now, C, reach, near)
        if count < COPIED_SHARE * n:
            k, steps = round_of_some(machine, fixed, room, plane, m, now, near[:count])
        else:
            k, steps = one_round(machine, fixed, room, plane, m, now)
        report[STEPS] += steps
        report[PASSES] += 2 * steps + 1
        reach = 0.0
        for i in range(n):
            reach = max(reach, abs(m[i] - before[i]))
        last = gap
        gap = keep_better(machine, plane, m, now, room.v, w, alpha, report)
        note(rounds, number, report)
        if gap <= (EXACT if k > max_finish else goal) or is_hopeless(report[STEPS], gap, tol):
            break
        settled = k == known or k <= d + 1
        known = k
        if 0 < k <= max_finish and settled and (gap <= FINISH_GAP or np.isinf(C[0])):
            for j in range(d + 1):
                trial[j] = plane[j]
            for i in range(n):
                before[i] = now[i]
            if finish(machine, k, room, trial, before):
                values(X, trial, trial[d], room.f)
                for i in range(n):
                    room.f[i] *= y[i]
                weighted_sum(X, signed(y, before), room.v)
                report[PASSES] += 2
                gap = keep_better(machine, trial, room.f, before, room.v, w, alpha, report)
                note(rounds, number, report)
                if gap <= max(goal, EXACT):
                    break
        waited = 0 if gap < 0.5 * last else waited + 1
        if waited >= STALLED and gap <= tol:
            break
        for i in range(n):
            fixed.a[i] = now[i]
            fixed.stiff[i] *= GROWTH
    drop_rounding(C, alpha)
    if pad:
        balance(y, C, alpha)
        if not np.isinf(C[0]):
            centre_bias(X, y, C, alpha, w, room.f)
    if np.isinf(C[0]) and gap < np.inf:  # the best multiple of multipliers without bounds
        weighted_sum(X, signed(y, alpha), room.v)
        total = 0.0
        for i in range(n):
            total += alpha[i]
        factor = total / inner(room.v, room.v, d)
        for i in range(n):
            alpha[i] *= factor if abs(factor - 1.0) > 1e-12 else 1.0
