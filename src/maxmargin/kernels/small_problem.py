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
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.kernels.jit import jit, jit_any_order
from maxmargin.kernels.rows import two_product, two_sum

# Places in ``report``.
PRIMAL, DUAL, STEPS, PASSES = 0, 1, 2, 3
MAX_ROUNDS, MAX_STEPS = 25, 30  # Newton steps in a round
GROWTH = 10.0  # of the stiffness after each round
INEXACTNESS = 0.1  # Rockafellar's criterion B: a round ends at a decrement of this · Σ (α − a)²/σ
FINISH_GAP = 0.5  # from which on the band may be the free support
REFINEMENTS = 3
STALLED = 3  # rounds without half the gap, after which a gap within the tolerance is enough
ROUNDING = 1e-6  # slacks of no more may be rounding alone, see ``scaled_up`` of the solvers


@jit
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


@jit_any_order
def inner(x: Any, w: Any, d: int) -> float:
    """Return x·w over the first d entries."""
    total = 0.0
    for j in range(d):
        total += x[j] * w[j]
    return total


@jit
def values(X: Any, w: Any, b: float, out: Any) -> None:
    """Write x_i·w + b for all rows."""
    n, d = X.shape
    for i in range(n):
        out[i] = inner(X[i], w, d) + b


@jit_any_order
def weighted_sum(X: Any, c: Any, out: Any) -> None:
    """Write Σ c_i x_i."""
    n, d = X.shape
    out[:d] = 0.0
    for i in range(n):
        if c[i] != 0.0:
            x, factor = X[i], c[i]
            for j in range(d):
                out[j] += factor * x[j]


@jit_any_order
def add_squares(Z: Any, k: int, order: int, H: Any) -> None:
    """Add Zᵀ Z of the first k rows of Z to the lower half of H, four rows at a time."""
    whole = k - k % 4
    for r in range(0, whole, 4):
        z0, z1, z2, z3 = Z[r], Z[r + 1], Z[r + 2], Z[r + 3]
        for i in range(order):
            c0, c1, c2, c3, h = z0[i], z1[i], z2[i], z3[i], H[i]
            for j in range(i + 1):
                h[j] += c0 * z0[j] + c1 * z1[j] + c2 * z2[j] + c3 * z3[j]
    for r in range(whole, k):
        z = Z[r]
        for i in range(order):
            c, h = z[i], H[i]
            for j in range(i + 1):
                h[j] += c * z[j]


@jit
def factorise(H: Any, order: int) -> bool:
    """Cholesky in place, in the lower half; False if H is not positive definite to rounding."""
    for i in range(order):
        h = H[i]
        for j in range(i):
            h[j] = (h[j] - inner(h, H[j], j)) / H[j, j]
        before = h[i]
        pivot = before - inner(h, h, i)
        if not pivot > 1e-15 * before:
            return False
        h[i] = math.sqrt(pivot)
    return True


@jit_any_order
def solve(L: Any, order: int, x: Any) -> None:
    """Solve L Lᵀ x = x in place."""
    for i in range(order):
        x[i] = (x[i] - inner(L[i], x, i)) / L[i, i]
    for i in range(order - 1, -1, -1):
        x[i] /= L[i, i]
        row, value = L[i], x[i]
        for j in range(i):
            x[j] -= value * row[j]


@jit_any_order
def clipped(m: Any, a: Any, stiff: Any, C: Any, alpha: Any) -> float:
    """Write α_i = clip(a_i + σ_i (1 − m_i)); return Σ (α_i − a_i)²/σ_i."""
    moved = 0.0
    for i in range(m.shape[0]):
        value = min(max(a[i] + stiff[i] * (1.0 - m[i]), 0.0), C[i])
        alpha[i] = value
        moved += (value - a[i]) * (value - a[i]) / stiff[i]
    return moved


@jit_any_order
def slope(t: float, m: Any, u: Any, a: Any, C: Any, stiff: Any) -> tuple[float, float]:
    """Return Σ α_i(t) u_i, and Σ σ_i u_i² over the band, where m has moved on to m + t u."""
    pull, curvature = 0.0, 0.0
    for i in range(m.shape[0]):
        value = a[i] + stiff[i] * (1.0 - m[i] - t * u[i])
        pull += min(max(value, 0.0), C[i]) * u[i]
        curvature += stiff[i] * u[i] * u[i] if 0.0 < value < C[i] else 0.0
    return pull, curvature


@jit
def search(
    m: Any, u: Any, a: Any, C: Any, stiff: Any, constant: float, quadratic: float, descent: float
) -> float:
    """Return where the slope along a direction is zero, to a tenth of ``descent``."""
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(60):
        pull, curvature = slope(t, m, u, a, C, stiff)
        rise = constant + t * quadratic - pull
        if abs(rise) <= 0.1 * descent:
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


@jit
def by_features(
    X: Any, band: Any, k: int, stiff: Any, pad: float, g: Any, H: Any, Z: Any, step: Any
) -> bool:
    """Write the Newton step from the matrix D + Zᵀ Σ Z of order d + 1."""
    d = X.shape[1]
    for r in range(k):
        i = band[r]
        root, x, z = math.sqrt(stiff[i]), X[i], Z[r]
        for j in range(d):
            z[j] = root * x[j]
        z[d] = root * pad
    for i in range(d + 1):
        H[i, : i + 1] = 0.0
        H[i, i] = 1.0
    if pad:
        H[d, d] = 0.0
    add_squares(Z, k, d + 1, H)
    for j in range(d + 1):
        step[j] = -g[j]
    if not factorise(H, d + 1):
        return False
    solve(H, d + 1, step)
    return True


@jit
def by_rows(
    X: Any, K: Any, band: Any, k: int, stiff: Any, pad: float, g: Any, H: Any, Z: Any, step: Any
) -> bool:
    """Write the same from X_B X_Bᵀ + Σ⁻¹, where the band holds fewer rows than there are features."""
    d = X.shape[1]
    known = K.shape[0] > 0
    for r in range(k):
        i = band[r]
        if not known:
            Z[r, :d] = X[i]
        for q in range(r + 1):
            H[r, q] = K[i, band[q]] if known else inner(Z[r], Z[q], d)
        H[r, r] += 1.0 / stiff[i]
    if not factorise(H, k):
        return False
    p1, p2 = np.empty(k), np.ones(k)
    for r in range(k):
        p1[r] = -inner(X[band[r]], g, d)
    solve(H, k, p1)
    db = 0.0
    if pad:
        solve(H, k, p2)
        db = (-g[d] - p1.sum()) / p2.sum()
    for j in range(d):
        step[j] = -g[j]
    step[d] = db
    for r in range(k):
        c, x = p1[r] + db * p2[r], X[band[r]]
        for j in range(d):
            step[j] -= c * x[j]
    return True


@jit
def exact_residual(x: Any, w: Any, d: int, target: float, b: float) -> float:
    """Return target − x·w − b, summed in two doubles."""
    total, rest = two_sum(target, -b)
    for j in range(d):
        product, off = two_product(x[j], -w[j])
        total, lost = two_sum(total, product)
        rest += lost + off
    return total + rest


@jit
def finish(
    X: Any, K: Any, y: Any, C: Any, pad: float, band: Any, k: int, H: Any, w: Any, alpha: Any
) -> bool:
    """Solve the conditions of the band for w, b and its multipliers; False if that leaves the bounds."""
    d = X.shape[1]
    known = K.shape[0] > 0
    mean = 0.0
    for r in range(k):
        i = band[r]
        for q in range(r + 1):
            H[r, q] = K[i, band[q]] if known else inner(X[i], X[band[q]], d)
        mean += H[r, r]
    mean = (mean / k) or 1.0
    for r in range(k):
        if pad:
            for q in range(r + 1):
                H[r, q] += mean
        H[r, r] += 1e-13 * mean
    if not factorise(H, k):
        return False
    beta = y * alpha
    for r in range(k):
        beta[band[r]] = 0.0
    others = np.empty(d)
    weighted_sum(X, beta, others)
    rest = beta.sum() if pad else 0.0
    new = np.empty(k)
    for r in range(k):
        new[r] = y[band[r]] * alpha[band[r]]
    h = np.ones(k)
    if pad:
        solve(H, k, h)
    right, short = np.empty(k), np.empty(d)
    total = h.sum()
    for _ in range(REFINEMENTS):
        for j in range(d):
            short[j] = others[j] - w[j]
        for r in range(k):
            c, x = new[r], X[band[r]]
            for j in range(d):
                short[j] += c * x[j]
        missing = -(rest + new.sum()) if pad else 0.0
        for r in range(k):
            i = band[r]
            edge = exact_residual(X[i], w, d, y[i], w[d])
            right[r] = edge - inner(X[i], short, d) + (mean * missing if pad else 0.0)
        solve(H, k, right)
        db = (right.sum() - missing) / total if pad else 0.0
        for j in range(d):
            w[j] += short[j]
        for r in range(k):
            change = right[r] - (db * h[r] if pad else 0.0)
            new[r] += change
            x = X[band[r]]
            for j in range(d):
                w[j] += change * x[j]
        w[d] += db
    for r in range(k):
        i = band[r]
        value = y[i] * new[r]
        if not 0.0 <= value <= C[i]:
            return False
        alpha[i] = value
    return True


@jit
def worth(
    X: Any, y: Any, C: Any, pad: float, w: Any, m: Any, alpha: Any, v: Any
) -> tuple[float, float, float]:
    """Return the primal and the dual value, and by how much w is better longer; m and v are given."""
    n, d = X.shape
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


@jit
def begin(X: Any, y: Any, C: Any, pad: float, w: Any, alpha: Any, m: Any) -> float:
    """Write the plane between the class means, its multipliers and its margins; return its width."""
    n, d = X.shape
    hard = np.isinf(C[0])
    sums = np.zeros(2)
    for i in range(n):
        sums[0 if y[i] > 0.0 else 1] += 1.0 if hard else C[i]
    for i in range(n):
        unit = 1.0 if hard else C[i]
        whole = sums[0 if y[i] > 0.0 else 1] if pad else sums[0] + sums[1]
        alpha[i] = unit / whole
    weighted_sum(X, y * alpha, w)
    square = inner(w, w, d)
    largest = (min(sums[0], sums[1]) if pad else sums[0] + sums[1]) if not hard else np.inf
    best = (2.0 if pad else 1.0) / square if square > 0.0 else np.inf
    size = min(largest, best)
    if not size < np.inf:
        size = 1.0
    for i in range(n):
        alpha[i] *= size
    for j in range(d):
        w[j] *= size
    w[d] = 0.0
    values(X, w, 0.0, m)
    spread = 0.0
    plus, minus, mean_plus, mean_minus = 0, 0, 0.0, 0.0
    for i in range(n):
        if y[i] > 0.0:
            plus += 1
            mean_plus += m[i]
        else:
            minus += 1
            mean_minus += m[i]
    mean_plus /= max(plus, 1)
    mean_minus /= max(minus, 1)
    for i in range(n):
        spread += (m[i] - (mean_plus if y[i] > 0.0 else mean_minus)) ** 2
    for i in range(n):
        m[i] *= y[i]
    return math.sqrt(spread / n)


@jit
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


@jit
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


@jit
def small_problem(
    X: Any, K: Any, y: Any, C: Any, pad: float, tol: float, goal: float, w: Any, alpha: Any, report: Any
) -> None:
    """Write the optimal plane (w, b) and its multipliers, and what they are worth.

    X holds centred rows, K their inner products or nothing. ``goal`` is the relative gap at which to
    stop at once, ``tol`` the one that will do where no more progress is made.
    """
    n, d = X.shape
    hard = np.isinf(C[0])
    m, u, f = np.empty(n), np.empty(n), np.empty(n)
    a, stiff, best = np.empty(n), np.empty(n), np.empty(n)
    g, step, v, plane = np.empty(d + 1), np.empty(d + 1), np.empty(d + 1), np.empty(d + 1)
    trial, trial_alpha = np.empty(d + 1), np.empty(n)
    band = np.empty(n, np.int64)
    order = d + 1
    max_finish = 2 * order + 20
    H = np.empty((max(order, min(n, max_finish)), max(order, min(n, max_finish))))
    Z = np.empty((n, order))
    width = begin(X, y, C, pad, plane, alpha, m)
    square = 0.0
    for i in range(n):
        square += inner(X[i], X[i], d)
    square = square / n or 1.0
    a[:] = alpha
    sigma = 1.0 / max(width, 1e-3)
    if hard:
        sigma /= square
    for i in range(n):
        stiff[i] = sigma if hard else sigma * C[i]
    report[PRIMAL], report[DUAL], report[STEPS], report[PASSES] = np.inf, -np.inf, 0.0, 2.0
    best_gap, waited, steps, passes = np.inf, 0, 0, 3
    if pad:  # the bias that is best for this plane
        for i in range(n):
            u[i] = y[i]
        pull, _ = slope(0.0, m, u, a, C, stiff)
        t = 0.0
        if pull < 0.0:
            for i in range(n):
                u[i] = -u[i]
        t = search(m, u, a, C, stiff, 0.0, 0.0, 0.1 * abs(pull))
        plane[d] = t if pull > 0.0 else -t
        for i in range(n):
            m[i] += t * u[i]
    for _round in range(MAX_ROUNDS):
        k = 0
        for _step in range(MAX_STEPS):
            moved = clipped(m, a, stiff, C, alpha)
            k = 0
            s, sum_alpha = 0.0, 0.0
            for i in range(n):
                f[i] = y[i] * alpha[i]
                s += f[i]
                sum_alpha += alpha[i]
                if 0.0 < alpha[i] < C[i]:
                    band[k] = i
                    k += 1
            weighted_sum(X, f, v)
            for j in range(d):
                g[j] = plane[j] - v[j]
            g[d] = -s * pad
            passes += 1
            if k > 0:
                done = (
                    by_rows(X, K, band, k, stiff, pad, g, H, Z, step)
                    if k < order
                    else by_features(X, band, k, stiff, pad, g, H, Z, step)
                )
                if not done:
                    break
            elif pad and abs(s) > 1e-11 * sum_alpha:
                step[:d] = 0.0
                step[d] = -g[d]
            else:
                for j in range(d):
                    step[j] = -g[j]
                step[d] = 0.0
            decrement = -inner(g, step, d + 1)
            if not decrement > max(1e-30 * inner(plane, plane, d), 0.0):
                break
            if k > 0 and decrement <= INEXACTNESS * moved:
                break
            values(X, step, step[d], u)
            for i in range(n):
                u[i] *= y[i]
            constant, quadratic = inner(plane, step, d), inner(step, step, d)
            t = search(m, u, a, C, stiff, constant, quadratic, decrement)
            for j in range(d + 1):
                plane[j] += t * step[j]
            for i in range(n):
                m[i] += t * u[i]
            steps += 1
            passes += 1
        primal, dual, factor = worth(X, y, C, pad, plane, m, alpha, v)
        gap = (primal - dual) / primal if primal < np.inf else np.inf
        better = gap < best_gap
        if gap < 0.5 * best_gap:
            waited = 0
        if better:
            best_gap = gap
            report[PRIMAL], report[DUAL] = primal, dual
            for j in range(d + 1):
                w[j] = factor * plane[j]
            best[:] = alpha
        if best_gap <= goal:
            break
        if 0 < k <= max_finish and (best_gap <= FINISH_GAP or hard):
            trial[:] = plane
            trial_alpha[:] = alpha
            if finish(X, K, y, C, pad, band, k, H, trial, trial_alpha):
                values(X, trial, trial[d], f)
                for i in range(n):
                    f[i] *= y[i]
                    u[i] = y[i] * trial_alpha[i]
                weighted_sum(X, u, v)
                passes += 2
                primal, dual, factor = worth(X, y, C, pad, trial, f, trial_alpha, v)
                gap = (primal - dual) / primal if primal < np.inf else np.inf
                if gap < best_gap:
                    if gap < 0.5 * best_gap:
                        waited = 0
                    best_gap = gap
                    report[PRIMAL], report[DUAL] = primal, dual
                    for j in range(d + 1):
                        w[j] = factor * trial[j]
                    best[:] = trial_alpha
                if best_gap <= goal:
                    break
        waited += 1
        if waited > STALLED and best_gap <= tol:
            break
        a[:] = alpha
        for i in range(n):
            stiff[i] *= GROWTH
    alpha[:] = best
    if pad:
        balance(y, C, alpha)
        if not hard:
            centre_bias(X, y, C, alpha, w, f)
    report[STEPS], report[PASSES] = steps, passes
