"""Linear dependence of rows, exactly: independent rows, and the weights with which rows cancel.

Ranks are found modulo primes, where a rank can only be too small, and then only if each of them divides
a determinant; solutions are found over the rationals and checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import fmpz_mat, nmod_mat

from maxmargin.core.parameters import Deadline
from maxmargin.solvers.exact.integer_rows import ExactRows, primitive

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
