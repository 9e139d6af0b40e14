"""Many small soft margins in one call, each with its certificate.

Problem p is on the rows ``rows[first[p]]`` … of X, with their labels ±1 and bounds C_i. Its rows are
centred and scaled, it is solved (:mod:`maxmargin.kernels.small_problem`), and plane and multipliers are
measured on the rows as they were given, by the loops that measure every certificate. Where the next
problem is on the same rows, these and their inner products are kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.kernels.bounds import dual_bound, lengths_of, primal_bound, square_bound
from maxmargin.kernels.jit import jit_ieee
from maxmargin.kernels.margin import measure
from maxmargin.kernels.rows import UNDERFLOW, UNIT_ROUNDOFF
from maxmargin.kernels.small_problem import (
    DUAL,
    PASSES,
    PRIMAL,
    centre_rows,
    exact_residual,
    inner,
    small_problem,
)
from maxmargin.rows.base import Dense

# Places in a line of ``report``, beside PRIMAL and DUAL (as certified), STEPS and PASSES.
STATIONARITY, IMBALANCE, COMPLEMENTARITY, COLUMNS = 4, 5, 6, 7
WORTHWHILE_GAIN = 1e-12  # of the primal value: rounding in slacks that is worth one more pass


@jit_ieee
def share(part: float, whole: float) -> float:
    """Return part/whole; 0 of nothing, infinite if only the whole is nothing."""
    if part == 0.0:
        return 0.0
    return part / whole if whole > 0.0 else np.inf


@jit_ieee
def certify(X: Any, y: Any, C: Any, bias: bool, z: Any, alpha: Any, slack: Any, line: Any) -> float:
    """Write primal and dual value and the residuals; return by how much w might better be longer."""
    d = X.shape[1]
    w, v, V = z[:d], np.empty(d), np.zeros((3, 2, d + 1))
    slack[:] = 0.0
    rows = Dense(X, np.empty((0, 0), np.int16), np.empty(0))
    found = measure(rows, y, alpha, C, w, z[d], 1.0, slack, V)
    rounding = 3.0 * ((found.support + 2) * UNIT_ROUNDOFF) ** 2
    for side in range(2):
        for j in range(d + 1):
            V[2, side, j] = rounding * V[2, side, j] + UNDERFLOW
    dual, imbalance = dual_bound(V, bias, v)
    length, away = lengths_of(w, 1.0, v)
    primal = primal_bound(square_bound(w), (found.slack, found.slack_rest, found.slack_error))
    if not primal < np.inf:
        primal = np.inf
    line[PRIMAL], line[DUAL] = primal, dual
    line[STATIONARITY] = share(away, length)
    line[IMBALANCE] = max(imbalance, found.outside)
    line[COMPLEMENTARITY] = share(found.complementarity, primal)
    gain = found.near - 2.0 * found.stretch * primal
    return 1.0 / (1.0 - found.stretch) if gain > WORTHWHILE_GAIN * primal else 1.0


@jit_ieee
def certify_best(X: Any, y: Any, C: Any, bias: bool, z: Any, alpha: Any, slack: Any, line: Any) -> None:
    """Certify a plane, or a slightly longer one if slack that is rounding alone is dear."""
    growth = certify(X, y, C, bias, z, alpha, slack, line)
    line[PASSES] += 1.0
    if growth > 1.0:
        longer, less, other = z * growth, np.empty_like(slack), line.copy()
        certify(X, y, C, bias, longer, alpha, less, other)
        line[PASSES] += 1.0
        if other[PRIMAL] < line[PRIMAL]:
            other[PASSES] = line[PASSES]
            z[:], slack[:], line[:] = longer, less, other


@jit_ieee
def to_centre(U: Any, pad: float, X: Any, K: Any, centre: Any) -> float:
    """Write centred and scaled rows, and their inner products if they are few; return the scale."""
    d = U.shape[1]
    scale = centre_rows(U, pad, X, centre)
    for i in range(K.shape[0]):
        for k in range(i + 1):
            K[i, k] = K[k, i] = inner(X[i], X[k], d)
    return scale


@jit_ieee
def many_problems(
    X: Any,
    rows: Any,
    first: Any,
    y: Any,
    C: Any,
    pad: float,
    tol: float,
    Z: Any,
    alpha: Any,
    report: Any,
) -> None:
    """Solve all problems; ``y``, ``C`` and ``alpha`` go along with ``rows``, and so does what is late.

    alpha has two columns, the multipliers and the slacks. A problem that is not solved to ``tol`` here,
    or is not finite, has an infinite primal value.
    """
    d = X.shape[1]
    centre, z = np.empty(d), np.empty(d + 1)
    U, A, K, scale = np.empty((0, d)), np.empty((0, d)), np.empty((0, 0)), 1.0
    for p in range(first.shape[0] - 1):
        mine = slice(first[p], first[p + 1])
        n = first[p + 1] - first[p]
        same = p > 0 and n == U.shape[0] and np.all(rows[mine] == rows[first[p - 1] : first[p]])
        if not same:
            U, A = np.empty((n, d)), np.empty((n, d))
            for i in range(n):
                U[i] = X[rows[first[p] + i]]
            order = n if n <= d else 0
            K = np.empty((order, order))
            scale = to_centre(U, pad, A, K, centre)
        line, unit = report[p], scale * scale
        line[:] = np.inf
        if not 0.0 < unit < np.inf:
            continue
        signs, bounds, found, slack = y[mine], C[mine], np.empty(n), np.empty(n)
        goal, no_rounds = min(0.5 * tol, 1e-14), np.empty((0, 3))
        small_problem(A, K, signs, bounds * unit, pad, 0.5 * tol, goal, z, found, line, no_rounds)
        if not (line[PRIMAL] < np.inf and line[PRIMAL] - line[DUAL] <= 0.5 * tol * line[PRIMAL]):
            line[PRIMAL] = np.inf
            continue
        for j in range(d):
            z[j] /= scale
        z[d] = exact_residual(centre, z, d, z[d], 0.0) if pad else 0.0
        for i in range(n):
            found[i] = min(found[i] / unit, bounds[i])
        certify_best(U, signs, bounds, pad > 0.0, z, found, slack, line)
        if not math.isfinite(line[PRIMAL]) or line[PRIMAL] - line[DUAL] > tol * line[PRIMAL]:
            line[PRIMAL] = np.inf
        Z[p] = z
        alpha[mine, 0], alpha[mine, 1] = found, slack
