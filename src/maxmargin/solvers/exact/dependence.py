"""Linear dependence of rows, exactly: independent rows, and the weights with which rows cancel.

Ranks are found modulo a prime, where a rank can only be too small, and then only with odds of about
one in 2^61; solutions are found over the rationals and checked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import fmpz_mat, nmod_mat

from maxmargin.solvers.exact.whole import ExactRows, primitive

__all__ = ["PRIME", "cancel", "independent", "pivots"]

PRIME = (1 << 61) - 1


def pivots(A: Sequence[Sequence[int]]) -> list[int]:
    """The columns in which the echelon form of A has its leading ones."""
    form, rank = nmod_mat([[v % PRIME for v in row] for row in A], PRIME).rref()
    columns, j = [], 0
    for k in range(rank):
        while int(form[k, j]) == 0:
            j += 1
        columns.append(j)
    return columns


def independent(A: Sequence[Sequence[int]]) -> list[int]:
    """Rows of A that span all of them: each that does not depend on those before it."""
    return pivots(list(zip(*A, strict=True)))


def cancel(
    rows: ExactRows, support: Sequence[int], free: Sequence[int] = ()
) -> tuple[dict[int, int], dict[int, int]] | None:
    """Return weights λ_i > 0 on (some of) the support, and μ_i of any sign on the free rows, with

    Σ λ_i a_i + Σ μ_i a_i = 0; None unless these rows cancel in exactly one way, and with such signs.
    """
    which = [*free, *support]
    found = rows.whole(which)
    used = [j for j, column in enumerate(zip(*(ints for ints, _ in found), strict=True)) if any(column)]
    A = [[ints[j] for j in used] for ints, _ in found]
    if not used:
        return None
    R = independent(A)
    if len(R) != len(A) - 1:
        return None
    (q,) = set(range(len(A))) - set(R)
    C = pivots([A[i] for i in R])
    M = fmpz_mat([[A[i][j] for i in R] for j in C])
    solution, scale = M.solve(fmpz_mat([[-A[q][j]] for j in C])).numer_denom()
    weights = [0] * len(A)
    for i, v in zip([*R, q], [*solution.entries(), scale], strict=True):
        weights[i] = int(v)
    total = fmpz_mat([weights]) * fmpz_mat(A)
    if any(v != 0 for v in total.entries()):
        return None
    sign = -1 if sum(w < 0 for w in weights[len(free) :]) * 2 > len(support) else 1
    weights = primitive([sign * w << m for w, (_, m) in zip(weights, found, strict=True)])
    held = dict(zip(which[len(free) :], weights[len(free) :], strict=True))
    if min(held.values()) < 0 or max(held.values()) == 0:
        return None
    return {i: w for i, w in held.items() if w}, dict(zip(free, weights, strict=False))


def as_support(weights: dict[int, int]) -> np.ndarray:
    """The rows with weights, in order."""
    return np.array(sorted(weights), dtype=np.int64)
