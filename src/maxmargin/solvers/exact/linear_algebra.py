"""Linear dependence of rows, exactly: independent rows, and the weights with which rows cancel.

Ranks are found modulo primes, where a rank can only be too small, and then only if each of them divides
a determinant; solutions are found over the rationals and checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from flint import fmpz_mat, nmod_mat

from maxmargin.core.parameters import Deadline
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, primitive

PRIMES = (1 << 61) - 1, (1 << 63) - 25, (1 << 64) - 59
CONFIRMED_ENTRIES = 2_500  # numbers of a matrix whose rank is confirmed in integers
SOLVE_SECONDS = (
    3e-8  # seconds for each n³ of a system of n numbers of 53 bits, measured for n = 40 … 400
)


def solve(M: Any, rhs: Any, deadline: Deadline) -> tuple[list[list[int]], int]:
    """The solution of a regular system of integers: integers, and their common denominator > 0.

    It cannot be interrupted, so it is not begun if the time is likely to end before it does.
    """
    bits = max(max(abs(v) for v in row).bit_length() for row in M)
    deadline.check(SOLVE_SECONDS * len(M) ** 3 * (bits / 53) ** 1.5 * max(1.0, len(rhs[0]) / 2))
    solution: Any = fmpz_mat(M).solve(fmpz_mat(rhs))
    numerators, scale = solution.numer_denom()
    return [[int(v) for v in row] for row in numerators.tolist()], int(scale)


Sparse = dict[int, int]


def solve_sparse(
    M: Sequence[Sparse], rhs: Sequence[Sparse], deadline: Deadline
) -> list[tuple[Sparse, int]]:
    """The same for few entries: for each unknown its integers by right-hand side, and their scale.

    Equations of one unknown, and unknowns of one equation, need no elimination.
    """
    size, known = len(M), list[tuple[int, int]]()
    homes: list[set[int]] = [set() for _ in range(size)]
    for i, row in enumerate(M):
        for j in row:
            homes[j].add(i)
    left = [set(row) for row in M]
    first = [(i, next(iter(left[i]))) for i in range(size) if len(left[i]) == 1]
    last = [(next(iter(homes[j])), j) for j in range(size) if len(homes[j]) == 1]
    later, open_i, open_j = list[tuple[int, int]](), set(range(size)), set(range(size))
    while first or last:
        forward = bool(first)
        i, j = first.pop() if forward else last.pop()
        if i not in open_i or j not in open_j:
            continue
        (known if forward else later).append((i, j))
        open_i.discard(i)
        open_j.discard(j)
        for k in homes[j]:
            left[k].discard(j)
            if k in open_i and len(left[k]) == 1:
                first.append((k, next(iter(left[k]))))
        for k in left[i]:
            homes[k].discard(i)
            if k in open_j and len(homes[k]) == 1:
                last.append((next(iter(homes[k])), k))
    x: list[dict[int, Number]] = [{} for _ in range(size)]
    for i, j in known:
        x[j] = _solved_for(M[i], rhs[i], j, x, 1)
    scale, core, unknown = 1, sorted(open_i), sorted(open_j)
    if core:
        sides = [_solved_for({**M[i], -1: 1}, rhs[i], -1, x, 1) for i in core]
        which = sorted({k for side in sides for k in side})
        common = lcm(*(v.denominator for side in sides for v in side.values()))
        matrix = [[M[i].get(j, 0) for j in unknown] for i in core]
        right = [[int(side.get(k, 0) * common) for k in which] or [0] for side in sides]
        found, scale = solve(matrix, right, deadline)
        scale *= common
        for j, values in zip(unknown, found, strict=True):
            x[j] = {k: v for k, v in zip(which, values, strict=False) if v}
        for _, j in known:
            x[j] = {k: v * scale for k, v in x[j].items()}
    for i, j in reversed(later):
        x[j] = _solved_for(M[i], rhs[i], j, x, scale)
    result = []
    for numbers in x:
        common = lcm(*[v.denominator for v in numbers.values()])
        result.append(({k: int(v * common) for k, v in numbers.items()}, scale * common))
    return result


def _solved_for(
    row: Sparse, side: Sparse, j: int, x: Sequence[dict[int, Number]], scale: int
) -> dict[int, Number]:
    """An equation solved for the one unknown that is not known yet."""
    total: dict[int, Number] = {k: v * scale for k, v in side.items()}
    for u, c in row.items():
        if u != j:
            for k, v in x[u].items():
                total[k] = total.get(k, 0) - c * v
    pivot = row[j]
    exact = {k: Fraction(v) / pivot for k, v in total.items() if v}
    return {k: v.numerator if v.denominator == 1 else v for k, v in exact.items()}


def pivots(A: Sequence[Sequence[int]]) -> list[int]:
    """The columns in which the echelon form of A has its leading ones."""
    best: list[int] = []
    full = min(len(A), len(A[0]))
    if len(A) * len(A[0]) <= CONFIRMED_ENTRIES:
        full = fmpz_mat(A).rank()
    for prime in PRIMES:
        form, rank = nmod_mat([[v % prime for v in row] for row in A], prime).rref()
        columns, j = [], 0
        for k in range(rank):
            while int(form[k, j]) == 0:
                j += 1
            columns.append(j)
        best = max(best, columns, key=len)
        if len(best) == full:
            return best
    if len(A) * len(A[0]) <= CONFIRMED_ENTRIES:  # each prime divides a determinant
        exact, _, rank = fmpz_mat(A).rref()
        return [next(j for j in range(len(A[0])) if int(exact[k, j]) != 0) for k in range(rank)]
    return best


def independent(A: Sequence[Sequence[int]]) -> list[int]:
    """Rows of A that span all of them: each that does not depend on those before it."""
    return pivots(list(zip(*A, strict=True)))


def dependency(A: Sequence[Sequence[int]], deadline: Deadline) -> list[int] | None:
    """Integers with which rows of integers add to zero; None unless unique up to a factor."""
    used = [j for j, column in enumerate(zip(*A, strict=True)) if any(column)]
    A = [[row[j] for j in used] for row in A]
    R = independent(A) if used else []
    if len(R) != len(A) - 1:
        return None
    (q,) = set(range(len(A))) - set(R)
    weights = [0] * len(A)
    weights[q] = 1
    if R:
        C = pivots([A[i] for i in R])
        M = [[A[i][j] for i in R] for j in C]
        solution, scale = solve(M, [[-A[q][j]] for j in C], deadline)
        for i, v in zip([*R, q], [*(row[0] for row in solution), scale], strict=True):
            weights[i] = v
        if any(v != 0 for v in (fmpz_mat([weights]) * fmpz_mat(A)).entries()):
            return None
    return weights


def cancel(
    rows: ExactRows, support: Sequence[int], free: Sequence[int], given: dict[int, int] | None = None
) -> tuple[dict[int, int], dict[int, int]] | None:
    """Return λ_i > 0 on (some of) the support and μ_i of any sign on free rows that cancel.

    Σ λ_i a_i + Σ μ_i a_i = 0. Weights that are ``given`` for some rows keep their proportions. None
    unless the rows cancel in exactly one way, and with such signs.
    """
    given = given or {}
    which = [*free, *support]
    _, A, scales = rows.compact([*which, *given])
    if given:
        target, scale = _combined(A[len(which) :], scales[len(which) :], list(given.values()))
        A, scales = [*A[: len(which)], target], [*scales[: len(which)], scale]
    weights = dependency(A, rows.deadline)
    if weights is None:
        return None
    weights = [w << m for w, m in zip(weights, scales, strict=True)]
    held = weights[len(free) :]
    if sum(w < 0 for w in held) * 2 > len(held):
        weights = [-w for w in weights]
    weights = primitive(weights)
    held = weights[len(free) :]
    if min(held) < 0 or max(held) == 0 or (given and held[-1] == 0):
        return None
    total = {i: w for i, w in zip(support, held, strict=False) if w}
    for i, w in given.items():
        total[i] = total.get(i, 0) + w * held[-1]
    return total, dict(zip(free, weights, strict=False))


def _combined(A: list[list[int]], scales: list[int], weights: list[int]) -> tuple[list[int], int]:
    """Σ c_i a_i as integers and an exponent."""
    scale = max(scales)
    total = [0] * len(A[0])
    for c, ints, m in zip(weights, A, scales, strict=True):
        factor = c << scale - m
        total = [t + factor * v for t, v in zip(total, ints, strict=True)]
    return total, scale
