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

A step is solved with the matrix of the features, of order d + 1, or that of the rows in the band,
where these are fewer. Two stages, a round and the exact band, are compiled by themselves, all else into
the one kernel that Python calls (:mod:`maxmargin.kernels.many_problems`). A long function is called in
one place, since what is called twice is compiled twice. Copies of a function in two kernels would have
their sums in another order, and which copy runs would depend on what was loaded first, and on whether it
came from the cache.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from maxmargin.kernels.jit import further, jit_part, jit_part_any_order, run_stage, stage
from maxmargin.kernels.rows import two_sum
from maxmargin.kernels.small_algebra import (
    add_squares,
    exact_residual,
    factorise,
    fill,
    four_inner,
    inner,
    solve,
    weighted_sum,
)

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
REFINEMENTS, DONE = 3, 1e-24  # ‖Δw‖²/‖w‖² after which a further one is rounding
STALLED = 4  # rounds without half the gap, after which a gap within the tolerance is enough
BOUND_ROUNDING = 1e-14  # of multipliers: nearer to a bound than this share they are there
ROUNDING = 1e-6  # slacks of no more may be rounding alone, see ``scaled_up`` of the solvers
COPIED_SHARE = 0.7  # of the rows: where fewer are near the margin, a round is about a copy of these


class Problem(NamedTuple):
    """Centred rows, their inner products, labels ±1, bounds, and 1 or 0 for a bias or none.

    What is not a number is an address.
    """

    X: Any
    K: Any
    y: Any
    C: Any
    n: int
    d: int
    products: bool  # whether there are inner products
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
    u: Any
    g: Any
    v: Any
    step: Any
    change: Any
    towards: Any
    band: Any


class Copy(NamedTuple):
    """Memory for the rows near the margin, and what goes with them."""

    X: Any
    y: Any
    C: Any
    a: Any
    stiff: Any
    m: Any
    alpha: Any
    v0: Any
    near: Any


# Places in memory: of single numbers, of vectors of length n, and of vectors of length d + 1.
SCALE, TAKEN, HEADER = 0, 1, 2  # the scale of the rows, the steps that the last round took
(
    SIGNS, BOUNDS, MULTIPLIERS, STIFFNESS, NOW, OTHER, MARGINS, BEFORE, ALONG, CHANGE, TOWARDS, BEST,
    SOME_SIGNS, SOME_BOUNDS, SOME_MULTIPLIERS, SOME_STIFFNESS, SOME_NOW, SOME_MARGINS, LONG,
) = range(19)  # fmt: skip
CENTRE, PLANE, TRIAL, BEST_PLANE, NONE, GRADIENT, SUM, STEP, SUM_OF_OTHERS, SHORT = range(10)


def memory(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return memory for a problem of up to n rows: numbers, and row numbers.

    The first number is the scale of the rows that are in it, or 0.
    """
    order = min(n, 2 * (d + 1) + 20)
    products = n * n if n <= d else 0
    size = HEADER + LONG * n + SHORT * (d + 1) + 2 * n * d + products + order * order
    work = np.empty(size)
    work[SCALE] = 0.0
    return work, np.empty(2 * n, dtype=np.int64)


@jit_part
def long_vector(work: Any, most: int, place: int) -> Any:
    """Return the address of a vector with an entry for each row."""
    return further(work, HEADER + place * most)


@jit_part
def short_vector(work: Any, most: int, d: int, place: int) -> Any:
    """Return the address of a vector with an entry for each feature and one for the bias."""
    return further(work, HEADER + LONG * most + place * (d + 1))


@jit_part
def matrices(work: Any, most: int, d: int) -> tuple[Any, Any, Any, Any]:
    """Return the addresses of rows, of a copy of some, of inner products, and of a system to solve."""
    X = further(work, HEADER + LONG * most + SHORT * (d + 1))
    some, K = further(X, most * d), further(X, 2 * most * d)
    return X, some, K, further(K, most * most if most <= d else 0)


@jit_part
def whole_problem(work: Any, most: int, n: int, d: int, pad: float) -> Any:
    """Return the problem on all rows."""
    X, _, K, _ = matrices(work, most, d)
    y, C = long_vector(work, most, SIGNS), long_vector(work, most, BOUNDS)
    return Problem(X, K, y, C, n, d, n <= d, pad)


@jit_part
def fixed_of_all(work: Any, most: int, d: int) -> Any:
    """Return what is fixed in a round on all rows."""
    a, stiff = long_vector(work, most, MULTIPLIERS), long_vector(work, most, STIFFNESS)
    return Fixed(a, stiff, short_vector(work, most, d, NONE), 0.0)


@jit_part
def copy_of_some(work: Any, numbers: Any, most: int, d: int) -> Any:
    """Return where some rows are copied to."""
    _, some, _, _ = matrices(work, most, d)
    return Copy(
        some,
        long_vector(work, most, SOME_SIGNS),
        long_vector(work, most, SOME_BOUNDS),
        long_vector(work, most, SOME_MULTIPLIERS),
        long_vector(work, most, SOME_STIFFNESS),
        long_vector(work, most, SOME_MARGINS),
        long_vector(work, most, SOME_NOW),
        short_vector(work, most, d, SUM_OF_OTHERS),
        further(numbers, most),
    )


@jit_part
def room_for_steps(work: Any, numbers: Any, most: int, d: int) -> Any:
    """Return the memory that the steps share."""
    _, _, _, H = matrices(work, most, d)
    return Room(
        H,
        long_vector(work, most, ALONG),
        short_vector(work, most, d, GRADIENT),
        short_vector(work, most, d, SUM),
        short_vector(work, most, d, STEP),
        long_vector(work, most, CHANGE),
        long_vector(work, most, TOWARDS),
        numbers,
    )


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


@stage
def finish_stage(
    work: Any, numbers: Any, most: int, n: int, d: int, k: int, _: float, pad: float
) -> int:
    """Solve the conditions of the band, of k rows; return 1, or 0 if multipliers leave their bounds."""
    p, room = whole_problem(work, most, n, d, pad), room_for_steps(work, numbers, most, d)
    plane, w = short_vector(work, most, d, PLANE), short_vector(work, most, d, TRIAL)
    now, alpha = long_vector(work, most, NOW), long_vector(work, most, OTHER)
    for j in range(d + 1):
        w[j] = plane[j]
    for i in range(n):
        alpha[i] = now[i]
    X, y, H, band = p.X, p.y, room.H, room.band
    others, short, new, change, towards = room.v, room.g, room.u, room.change, room.towards
    mean = inner_products(p, band, k, H) or 1.0
    for r in range(k):
        for q in range(r, k):
            H[r * k + q] += pad * mean
        H[r * k + r] += 1e-13 * mean
    if not factorise(H, k):
        return 0
    for r in range(k):
        new[r], alpha[band[r]] = y[band[r]] * alpha[band[r]], 0.0
    rest = pad * weighted_sum(X, p.n, d, y, alpha, others)
    fill(change, k, 1.0)
    sides = 0.0
    for number in range(1 + REFINEMENTS):
        missing = -rest
        if number > 0:
            for j in range(d):
                short[j] = others[j] - w[j]
            for r in range(k):
                c, x = new[r], further(X, band[r] * d)
                missing -= pad * c
                for j in range(d):
                    short[j] += c * x[j]
            for r in range(k):
                i = band[r]
                x = further(X, i * d)
                edge = exact_residual(x, w, d, y[i], w[d])
                change[r] = edge - inner(x, short, d) + mean * missing
        solve(H, k, change)
        total = 0.0
        for r in range(k):
            total += change[r]
        if number == 0:
            sides = total
            for r in range(k):
                towards[r] = change[r]
            continue
        db = pad * (total - missing) / sides
        moved = inner(short, short, d)
        for j in range(d):
            w[j] += short[j]
        for r in range(k):
            c, x = change[r] - db * towards[r], further(X, band[r] * d)
            new[r] += c
            moved += mean * c * c
            for j in range(d):
                w[j] += c * x[j]
        w[d] += db
        if moved <= DONE * inner(w, w, d):
            break
    for r in range(k):
        i = band[r]
        value = y[i] * new[r]
        if not 0.0 <= value <= p.C[i]:
            return 0
        alpha[i] = value
    return 1


@jit_part
def worth(p: Any, w: Any, m: Any, alpha: Any, v: Any) -> tuple[float, float, float]:
    """Return the primal and the dual value, and by how much w is better longer; v is overwritten."""
    y, C, d = p.y, p.C, p.d
    excess = weighted_sum(p.X, p.n, d, y, alpha, v)
    square, length = inner(w, w, d), inner(v, v, d)
    total, plain, most, least = 0.0, 0.0, 0.0, np.inf
    hard = C[0] == np.inf
    for i in range(p.n):
        total += alpha[i]
        least = min(least, m[i])
        late = max(1.0 - m[i], 0.0)
        if late > 0.0:
            plain += C[i] * late
        if late <= ROUNDING:
            most = max(most, late)
    if hard:
        if not (least > 0.0 and length > 0.0 and abs(excess) * p.pad <= 1e-9 * total):
            return np.inf, -np.inf, 1.0
        return 0.5 * square / (least * least), 0.5 * total * total / length, 1.0 / least
    primal, factor = 0.5 * square + plain, 1.0
    if most > 0.0:
        t = (1.0 + 4e-16) / (1.0 - most)
        lifted = 0.5 * t * t * square
        for i in range(p.n):
            lifted += C[i] * max(1.0 - t * m[i], 0.0)
        if lifted < primal:
            primal, factor = lifted, t
    dual = total - 0.5 * length - p.pad * abs(excess) * (1.0 + abs(w[d]))
    return primal, dual, factor


@jit_part
def begin(p: Any, w: Any, alpha: Any, m: Any) -> float:
    """Write the plane between the class means, its multipliers and margins; return how these spread."""
    y, C, n, d = p.y, p.C, p.n, p.d
    hard = C[0] == np.inf
    plus, minus, positive = 0.0, 0.0, 0
    for i in range(n):
        weight = 1.0 if hard else C[i]
        alpha[i] = weight
        if y[i] > 0.0:
            plus += weight
            positive += 1
        else:
            minus += weight
    if not p.pad:
        plus = minus = plus + minus
    for i in range(n):
        alpha[i] /= plus if y[i] > 0.0 else minus
    weighted_sum(p.X, n, d, y, alpha, w)
    square, size = inner(w, w, d), np.inf
    if not hard:
        size = min(plus, minus)
    if square > 0.0:
        size = min(size, (1.0 + p.pad) / square)
    if size == np.inf:
        size = 1.0
    for i in range(n):
        alpha[i] *= size
    for j in range(d):
        w[j] *= size
    w[d] = 0.0
    margins(p, w, m)
    high, low = 0.0, 0.0  # the means of the classes
    for i in range(n):
        if y[i] > 0.0:
            high += m[i] / positive
        else:
            low += m[i] / (n - positive)
    spread = 0.0
    b = 0.5 * p.pad * (low - high)
    for i in range(n):
        away = m[i] - (high if y[i] > 0.0 else low)
        spread += away * away
        m[i] += y[i] * b
    w[d] = b
    return math.sqrt(spread / n)


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


@jit_part
def near_rows(p: Any, m: Any, alpha: Any, reach: float, near: Any) -> int:
    """Write which rows are free, within reach of the margin, or on its wrong side; return how many."""
    count = 0
    for i in range(p.n):
        wrong = m[i] < 1.0 if alpha[i] == 0.0 else (alpha[i] < p.C[i] or m[i] > 1.0)
        if wrong or abs(1.0 - m[i]) <= reach:
            near[count] = i
            count += 1
    return count


@jit_part
def copied(p: Any, fixed: Any, m: Any, alpha: Any, copy: Any, count: int) -> float:
    """Copy the rows near the margin; write Σ α_i a_i of the others, and return their Σ α_i y_i."""
    for r in range(count):
        i = copy.near[r]
        copy.y[r], copy.C[r], copy.a[r] = p.y[i], p.C[i], fixed.a[i]
        copy.stiff[r], copy.m[r], copy.alpha[r] = fixed.stiff[i], m[i], alpha[i]
        alpha[i] = 0.0
        x, out = further(p.X, i * p.d), further(copy.X, r * p.d)
        for j in range(p.d):
            out[j] = x[j]
    return weighted_sum(p.X, p.n, p.d, p.y, alpha, copy.v0)


@jit_part
def drop_rounding(p: Any, alpha: Any) -> None:
    """Make multipliers that are at a bound but for rounding equal to it."""
    largest = 0.0
    for i in range(p.n):
        largest = max(largest, alpha[i])
    for i in range(p.n):
        if alpha[i] < BOUND_ROUNDING * largest:
            alpha[i] = 0.0
        elif alpha[i] > (1.0 - BOUND_ROUNDING) * p.C[i]:
            alpha[i] = p.C[i]


@jit_part
def balance(p: Any, alpha: Any) -> None:
    """Make Σ α_i y_i = 0 where rounding is missing: the largest free multiplier that can takes it."""
    excess, rest = 0.0, 0.0
    for i in range(p.n):
        excess, lost = two_sum(excess, p.y[i] * alpha[i])
        rest += lost
    excess += rest
    if excess == 0.0:
        return
    largest, where = abs(excess), -1
    for i in range(p.n):
        if p.y[i] * excess > 0.0 and largest < alpha[i] < p.C[i]:
            largest, where = alpha[i], i
    if where >= 0:
        alpha[where] -= abs(excess)


@jit_part
def centre_bias(p: Any, alpha: Any, w: Any, m: Any) -> None:
    """Move b to the middle of the optimal ones, if no multiplier is between its bounds.

    It may move as long as rows with α_i = C_i stay at m_i ≤ 1 and those with α_i = 0 at m_i ≥ 1.
    """
    for i in range(p.n):
        if 0.0 < alpha[i] < p.C[i]:
            return
    margins(p, w, m)
    low, high = -np.inf, np.inf
    for i in range(p.n):
        room = p.y[i] * (1.0 - m[i])
        if (p.y[i] > 0.0) == (alpha[i] > 0.0):
            high = min(high, room)
        else:
            low = max(low, room)
    if -np.inf < low < high < np.inf:
        w[p.d] += 0.5 * (low + high)


@jit_part
def stretch(p: Any, alpha: Any, v: Any) -> None:
    """Take the best multiple of multipliers without bounds."""
    weighted_sum(p.X, p.n, p.d, p.y, alpha, v)
    total = 0.0
    for i in range(p.n):
        total += alpha[i]
    factor = total / inner(v, v, p.d)
    if abs(factor - 1.0) > 1e-12:
        for i in range(p.n):
            alpha[i] *= factor


@jit_part
def keep_better(p: Any, plane: Any, m: Any, alpha: Any, v: Any, w: Any, best: Any, report: Any) -> float:
    """Keep a plane and its multipliers if their gap is the smallest so far; return the smallest gap."""
    known = (report[PRIMAL] - report[DUAL]) / report[PRIMAL] if report[PRIMAL] < np.inf else np.inf
    primal, dual, factor = worth(p, plane, m, alpha, v)
    gap = (primal - dual) / primal if primal < np.inf else np.inf
    if not gap < known:
        return known
    report[PRIMAL], report[DUAL] = primal, dual
    for j in range(p.d + 1):
        w[j] = factor * plane[j]
    for i in range(p.n):
        best[i] = alpha[i]
    return gap


@jit_part
def is_hopeless(steps: float, gap: float, tol: float) -> bool:
    """Whether other solvers are quicker from here on."""
    return (steps > EARLY_STEPS and gap > EARLY_GAP) or steps > (
        MAX_STEPS_IN_ALL if gap > tol else EARLY_STEPS
    )


@jit_part
def begin_rounds(p: Any, fixed: Any, plane: Any, now: Any, m: Any) -> None:
    """Write where the first round begins, its multipliers and their stiffness."""
    width = begin(p, plane, now, m)
    width = width if width > 1e-13 else 1.0
    square = inner(p.X, p.X, p.n * p.d) / p.n
    for i in range(p.n):
        fixed.a[i] = now[i]
        fixed.stiff[i] = min(p.C[i], FREE_BOUND / (square or 1.0)) / width
    fill(fixed.v0, p.d, 0.0)


@jit_part
def next_round(run: Any, work: Any, numbers: Any, p: Any, most: int, number: int, reach: float) -> int:
    """Solve a round, on the rows near the margin if they are few; return the size of its band."""
    fixed, copy = fixed_of_all(work, most, p.d), copy_of_some(work, numbers, most, p.d)
    m, now = long_vector(work, most, MARGINS), long_vector(work, most, NOW)
    count, s0 = p.n, 0.0
    if number > 0 and not p.products:
        count = near_rows(p, m, now, reach, copy.near)
    if count < COPIED_SHARE * p.n:
        s0 = copied(p, fixed, m, now, copy, count)
    else:
        count = p.n
    k = run_stage(run, work, numbers, most, p.n, p.d, count, s0, p.pad)
    if count < p.n:
        for r in range(k):
            numbers[r] = copy.near[numbers[r]]
        for r in range(count):
            now[copy.near[r]] = copy.alpha[r]
    return k


@jit_part
def small_problem(
    stages: Any, work: Any, numbers: Any, most: int, p: Any, stop: Any, report: Any, rounds: Any, kept: int
) -> None:
    """Leave the optimal plane (w, b) and its multipliers in memory, and report what they are worth.

    ``stop`` holds the relative gap that will do where no more progress is made, and the one at which to
    stop at once. ``rounds`` has (passes, primal, dual) for each round, as many as are ``kept``.
    """
    (run, end), (tol, goal), n, d = stages, stop, p.n, p.d
    fixed, v = fixed_of_all(work, most, d), short_vector(work, most, d, SUM)
    plane, w = short_vector(work, most, d, PLANE), short_vector(work, most, d, BEST_PLANE)
    now, best = long_vector(work, most, NOW), long_vector(work, most, BEST)
    m, before = long_vector(work, most, MARGINS), long_vector(work, most, BEFORE)
    max_finish, hard = 2 * (d + 1) + 20, p.C[0] == np.inf
    begin_rounds(p, fixed, plane, now, m)
    report[PRIMAL], report[DUAL], report[STEPS], report[PASSES] = np.inf, -np.inf, 0.0, 3.0
    gap, waited, reach, known, done = np.inf, 0, np.inf, 0, False
    for number in range(MAX_ROUNDS):
        for i in range(n):
            before[i] = m[i]
        k = next_round(run, work, numbers, p, most, number, reach)
        report[STEPS] += work[TAKEN]
        report[PASSES] += 2 * work[TAKEN] + 2
        last, settled = gap, k == known or k <= d + 1
        known = k
        point, margin, alpha = plane, m, now
        for exact in range(2):
            if exact:
                if not (0 < k <= max_finish and settled and (gap <= FINISH_GAP or hard)):
                    break
                if not run_stage(end, work, numbers, most, n, d, k, 0.0, p.pad):
                    break
                report[PASSES] += 2
                point = short_vector(work, most, d, TRIAL)
                margin, alpha = before, long_vector(work, most, OTHER)
            margins(p, point, margin)
            if not exact:
                reach = 0.0
                for i in range(n):
                    reach = max(reach, abs(m[i] - before[i]))
            gap = keep_better(p, point, margin, alpha, v, w, best, report)
            if number < kept:
                rounds[3 * number], rounds[3 * number + 1] = report[PASSES], report[PRIMAL]
                rounds[3 * number + 2] = report[DUAL]
            if exact:
                done = gap <= max(goal, EXACT)
            else:
                done = gap <= (EXACT if k > max_finish else goal) or is_hopeless(report[STEPS], gap, tol)
            if done:
                break
        waited = 0 if gap < 0.5 * last else waited + 1
        if done or (waited >= STALLED and gap <= tol):
            break
        for i in range(n):
            fixed.a[i] = now[i]
            fixed.stiff[i] *= GROWTH
    drop_rounding(p, best)
    if p.pad:
        balance(p, best)
        if not hard:
            centre_bias(p, best, w, m)
    if hard and gap < np.inf:
        stretch(p, best, v)


def stages() -> tuple[int, int]:
    """Return the addresses of the two stages."""
    return round_stage(), finish_stage()
