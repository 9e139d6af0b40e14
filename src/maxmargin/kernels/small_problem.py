"""A small margin machine from its rows to the last digit, in one call.

The problem, on rows a_i = y_i x_i with margins m_i = y_i (x_i·w + b); C_i = ∞ for a hard margin:

    minimise  ½‖w‖² + Σ C_i max(0, 1 − m_i).

It is the method of multipliers with Newton steps, for problems where a product with all rows takes less
time than a line of Python (:mod:`maxmargin.solvers.margin.augmented_lagrangian` has the larger ones).
Each round has multipliers a and stiffnesses σ_i, and minimises by Newton steps with an exact line search

    ½‖w‖² + Σ max_{0 ≤ α ≤ C_i} (α (1 − m_i) − (α − a_i)²/2σ_i),      at α_i = clip(a_i + σ_i (1 − m_i)).

(:mod:`maxmargin.kernels.small_round`). Then a ← α, and σ grows.

*Begin* with the plane between the class means: there all multipliers of a class are equal, and their
sum T is the better of 2/‖δ‖² and what the bounds allow (δ the difference of the means). For small C that
is nearly the answer: all rows of the smaller class are at their bound.

*End* with the band solved exactly, as soon as it is the free support. With B the band, it is the linear
system w = Σ α_i a_i, m_i = 1 for i in B and Σ α_i y_i = 0; its matrix X_B X_Bᵀ + t 1 1ᵀ is factorised
once, and corrections to w, b and α are repeated until they are rounding. The multipliers of the other
rows are at their bounds. Where the band is never small enough, the point with the smallest gap counts.

Three stages, a round, the exact band and all of a problem, are compiled by themselves, and called by
their addresses: the kernel that Python calls is :mod:`maxmargin.kernels.many_problems`. A long function
is called in one place, since what is called twice is compiled twice. Copies of a function in two kernels
would have their sums in another order, and which copy runs would depend on what was loaded first, and on
whether it came from the cache.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.kernels.jit import further, jit_part, run_stage, stage
from maxmargin.kernels.rows import two_sum
from maxmargin.kernels.small_algebra import (
    exact_residual,
    factorise,
    fill,
    inner,
    solve,
    weighted_sum,
)
from maxmargin.kernels.small_memory import (
    BEFORE,
    BEST,
    BEST_PLANE,
    DUAL,
    GOAL,
    LOG,
    MARGINS,
    MAX_ROUNDS,
    NOW,
    OTHER,
    PASSES,
    PLANE,
    PRIMAL,
    RESULT,
    ROUNDS,
    STEPS,
    SUM,
    TAKEN,
    TOLERANCE,
    TRIAL,
    copy_of_some,
    fixed_of_all,
    long_vector,
    room_for_steps,
    short_vector,
    whole_problem,
)
from maxmargin.kernels.small_round import inner_products, margins, round_stage

GROWTH = 3.0  # of the stiffness after each round; 10 takes twice as many steps on handwritten digits
FREE_BOUND = 10.0  # over ‖a_i‖²: multipliers grow no further at first, however large C is
EARLY_STEPS, EARLY_GAP, MAX_STEPS_IN_ALL = 80, 0.1, 160  # where other solvers take over
EXACT = 1e-11  # a gap that will do once the band is solved exactly, or cannot be
FINISH_GAP, SURE_GAP = 0.5, 1e-3  # from which on the band is solved, if it is that of the last round
REFINEMENTS, DONE = 3, 1e-24  # ‖Δw‖²/‖w‖² after which a further one is rounding
STALLED = 4  # rounds without half the gap, after which a gap within the tolerance is enough
BOUND_ROUNDING = 1e-14  # of multipliers: nearer to a bound than this share they are there
ROUNDING = 1e-6  # slacks of no more may be rounding alone, see ``scaled_up`` of the solvers
# A row that the last round moved by less is left out of the next, if it is farther from the margin than
# this share of the largest move. On digits 1 takes 20 ms, 0.25 takes 17.5, 0.1 as long in as many steps.
COPIED_REACH = 0.25
COPIED_SHARE = 0.7  # of the rows: where fewer are near the margin, a round is about a copy of these


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


@stage
def problem_stage(
    work: Any, numbers: Any, most: int, n: int, d: int, _: int, __: float, pad: float
) -> int:
    """Leave the optimal plane (w, b) and its multipliers in memory, and what they are worth.

    Both gaps at which to stop stand in memory, too, and the addresses of the other stages.
    """
    p, run, end = whole_problem(work, most, n, d, pad), numbers[2 * most], numbers[2 * most + 1]
    tol, goal = work[TOLERANCE], work[GOAL]
    report, rounds = further(work, RESULT), further(work, LOG)
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
                    reach = max(reach, COPIED_REACH * abs(m[i] - before[i]))
            gap = keep_better(p, point, margin, alpha, v, w, best, report)
            rounds[3 * number], rounds[3 * number + 1] = report[PASSES], report[PRIMAL]
            rounds[3 * number + 2], work[ROUNDS] = report[DUAL], number + 1
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
    return 0


def stages() -> tuple[int, int, int]:
    """Return the addresses of the stages: all of a problem, a round, and the exact band."""
    return problem_stage(), round_stage(), finish_stage()
