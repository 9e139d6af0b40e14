"""Small margin machines: one or many in one call, and the certificates of many.

Problem p is on the rows ``rows[first[p]]`` … of X, with their labels ±1 and bounds C_i. Its rows are
centred and scaled, it is solved (:mod:`maxmargin.kernels.small_problem`), and what is found goes back to
the coordinates in which the rows were given. Where the next problem is on the same rows, these and their
inner products are kept. Then plane and multipliers are measured on the rows as they were given, by the
loops that measure every certificate.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.core.parameters import LARGEST, SMALLEST
from maxmargin.kernels.bounds import dual_bound, lengths_of, primal_bound, square_bound
from maxmargin.kernels.jit import at, further, jit_ieee, jit_part, run_stage
from maxmargin.kernels.margin import measure
from maxmargin.kernels.rows import UNDERFLOW, UNIT_ROUNDOFF
from maxmargin.kernels.small_algebra import exact_residual
from maxmargin.kernels.small_memory import (
    BEST,
    BEST_PLANE,
    CENTRE,
    DUAL,
    GOAL,
    LOG,
    PASSES,
    PRIMAL,
    RESULT,
    ROUNDS,
    SCALE,
    STAGES,
    TOLERANCE,
    long_vector,
    short_vector,
    whole_problem,
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
    here, margins, known, growth = z, slack, line, 1.0
    for attempt in range(2):
        growth = certify(X, y, C, bias, here, alpha, margins, known)
        line[PASSES] += 1.0
        if attempt or growth <= 1.0:
            break
        here, margins, known = z * growth, np.empty(slack.shape[0]), np.empty(line.shape[0])
    if known[PRIMAL] < line[PRIMAL]:
        known[PASSES] = line[PASSES]
        for j in range(z.shape[0]):
            z[j] = here[j]
        for i in range(slack.shape[0]):
            slack[i] = margins[i]
        for j in range(line.shape[0]):
            line[j] = known[j]


@jit_part
def centre_rows(X: Any, n: int, d: int, pad: float, centre: Any) -> float:
    """Subtract the mean of the rows (with a bias), divide by a power of two, and return this.

    It is near the largest number there is then; nan if the numbers are not finite.
    """
    for j in range(d):
        centre[j] = 0.0
    if pad:
        for i in range(n):
            x = further(X, i * d)
            for j in range(d):
                centre[j] += x[j]
        for j in range(d):
            centre[j] /= n
    most, strange = 0.0, 0.0
    for i in range(n):
        x = further(X, i * d)
        for j in range(d):
            x[j] -= centre[j]
            most = max(most, abs(x[j]))
            strange += 0.0 * x[j]  # nan from nan and from infinity
    if strange != 0.0:
        return np.nan
    if most == 0.0:
        return 1.0
    scale = 2.0 ** round(math.log2(most))
    for e in range(n * d):
        X[e] /= scale
    return scale


@jit_part
def take_rows(U: Any, rows: Any, first: int, p: Any, centre: Any) -> float:
    """Copy, centre and scale the rows of a problem; write their inner products; return the scale."""
    for i in range(p.n):
        x = further(p.X, i * p.d)
        for j in range(p.d):
            x[j] = U[rows[first + i], j]
    scale = centre_rows(p.X, p.n, p.d, p.pad, centre)
    if p.products:
        for i in range(p.n):
            p.K[i * p.n + i] = np.nan  # to be computed, see ``line_of_products``
    return scale


@jit_part
def is_same(rows: Any, first: Any, p: int, scale: float) -> bool:
    """Whether the rows of a problem are in the memory, those of the one before or of another call."""
    n = first[p + 1] - first[p]
    if p == 0:
        return scale > 0.0
    if first[p] - first[p - 1] != n:
        return False
    for i in range(n):  # noqa: SIM110 - Numba knows no generators in all()
        if rows[first[p] + i] != rows[first[p] - n + i]:
            return False
    return True


@jit_part
def write_result(work: Any, unit: float, line: Any, rounds: Any, number: int) -> None:
    """Write what a problem is worth, and its rounds, if there is a place for them."""
    for k in range(4):
        line[k] = work[RESULT + k]
    line[PRIMAL] /= unit
    line[DUAL] /= unit
    if number < rounds.shape[0]:
        for k in range(int(work[ROUNDS])):
            rounds[number, k, 0] = work[LOG + 3 * k]
            rounds[number, k, 1] = work[LOG + 3 * k + 1] / unit
            rounds[number, k, 2] = work[LOG + 3 * k + 2] / unit


@jit_ieee
def many_problems(
    batch: Any,
    pad: float,
    stop: Any,
    memory: Any,
    stages: Any,
    Z: Any,
    alpha: Any,
    report: Any,
    rounds: Any,
) -> None:
    """Solve all problems of a batch (X, rows, first, y, C); what goes with ``rows`` is as long.

    ``rounds`` has a line (passes, primal, dual) for each round of each problem, or none. ``stop`` holds
    the gap that is wanted and a smaller one that is tried for. A problem that is not
    solved to the first, or is not finite, has an infinite primal value. ``memory`` is for the largest
    problem; where it holds a scale, it holds the rows of the first.
    """
    X, rows, first, y, C = batch
    given, row_numbers = memory
    d, most = X.shape[1], (row_numbers.shape[0] - STAGES) // 2
    work, numbers = at(given, 0), at(row_numbers, 0)
    work[TOLERANCE], work[GOAL] = stop
    numbers[2 * most], numbers[2 * most + 1] = stages[1], stages[2]
    centre, z = short_vector(work, most, d, CENTRE), short_vector(work, most, d, BEST_PLANE)
    found = long_vector(work, most, BEST)
    for number in range(first.shape[0] - 1):
        start, n = first[number], first[number + 1] - first[number]
        p = whole_problem(work, most, n, d, pad)
        if not is_same(rows, first, number, work[SCALE]):
            work[SCALE] = take_rows(X, rows, start, p, centre)
        scale, line = work[SCALE], report[number]
        unit = scale * scale
        line[PRIMAL] = np.inf
        if not SMALLEST <= scale <= LARGEST:
            continue
        for i in range(n):
            p.y[i], p.C[i] = y[start + i], C[start + i] * unit
        run_stage(stages[0], work, numbers, most, n, d, 0, 0.0, pad)
        write_result(work, unit, line, rounds, number)
        if not (line[PRIMAL] < np.inf and line[PRIMAL] - line[DUAL] <= stop[0] * line[PRIMAL]):
            line[PRIMAL] = np.inf
            continue
        for j in range(d):
            Z[number, j] = z[j] / scale
        # What is lost in b would be lost by every margin.
        Z[number, d] = exact_residual(centre, at(Z, number * (d + 1)), d, z[d], 0.0) if pad else 0.0
        for i in range(n):
            alpha[start + i] = min(found[i] / unit, C[start + i])


@jit_ieee
def certify_problems(batch: Any, bias: bool, tol: float, Z: Any, alpha: Any, report: Any) -> None:
    """Certify planes, and write the slacks of their rows into the second column of alpha.

    One that is further than ``tol`` from the optimum has an infinite primal value.
    """
    X, rows, first, y, C = batch
    for p in range(first.shape[0] - 1):
        line = report[p]
        if not line[PRIMAL] < np.inf:
            continue
        start, end = first[p], first[p + 1]
        if rows[end - 1] - rows[start] == end - start - 1 and is_a_range(rows, start, end):
            U = X[rows[start] : rows[start] + end - start]
        else:
            U = np.empty((end - start, X.shape[1]))
            for i in range(end - start):
                U[i] = X[rows[start + i]]
        mine, slack = slice(start, end), np.empty(end - start)
        certify_best(U, y[mine], C[mine], bias, Z[p], alpha[0, mine], slack, line)
        alpha[1, mine] = slack
        if not line[PRIMAL] < np.inf or line[PRIMAL] - line[DUAL] > tol * line[PRIMAL]:
            line[PRIMAL] = np.inf


@jit_part
def is_a_range(rows: Any, start: int, end: int) -> bool:
    """Whether row numbers follow each other."""
    for i in range(start, end):  # noqa: SIM110 - see above
        if rows[i] - i != rows[start] - start:
            return False
    return True
