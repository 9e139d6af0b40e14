"""Elimination modulo a prime, in doubles: sums of products of residues are whole numbers below 2^53.

A rank modulo a prime can only be too small, and then only if the prime divides a determinant; so the
largest of a few is taken. Columns are eliminated in halves, the right one after the left: nearly all of
the work is matrix products, and it can be ended at any time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from flint import fmpz, nmod_mat

from maxmargin.core.parameters import Deadline

LARGEST_PRIME = (1 << 21) - 9
EXACT_PRODUCTS = 1 << 10  # of two residues, whose sum doubles hold
FEW_COLUMNS = 8  # that are eliminated one by one
SMALL_ENTRIES = 1 << 16  # of a matrix that is eliminated in one call, a hundredth of a second
MAX_ENTRIES = 1 << 20  # of the products taken at a time


def primes() -> Iterator[int]:
    """All primes below 2^21, the largest first."""
    return (p for p in range(LARGEST_PRIME, 1, -2) if fmpz(p).is_prime())


def residues_of(numbers: np.ndarray, prime: int) -> np.ndarray:
    """Doubles modulo a prime, exactly: they are whole numbers times powers of two."""
    mantissa, exponent = np.frexp(numbers)
    whole = np.ldexp(mantissa, 53).astype(np.int64) % prime
    low, high = int(exponent.min(initial=0)), int(exponent.max(initial=0))
    powers = np.array([pow(2, e - 53, prime) for e in range(low, high + 1)], dtype=np.int64)
    return np.asarray(whole * powers[exponent - low] % prime)


def leading_columns(A: np.ndarray, prime: int, deadline: Deadline) -> list[int]:
    """Columns of residues that do not depend on those before them; ``A`` is overwritten."""
    return _eliminate(A, 0, A.shape[1], 0, prime, deadline)


def reduced(A: np.ndarray, prime: int, deadline: Deadline) -> tuple[list[int], np.ndarray]:
    """Leading columns P, and M with a_Q = a_P M for all rows a in the span, Q the other columns."""
    every = np.arange(A.shape[1])
    if A.size <= SMALL_ENTRIES:
        form, rank = nmod_mat(len(A), A.shape[1], list(map(int, A.flat)), prime).rref()
        numbers = np.array(list(map(int, form.entries())), dtype=np.float64).reshape(A.shape)
        columns = np.argmax(numbers[:rank] > 0, axis=1).tolist()
        return columns, numbers[:rank, np.delete(every, columns)]
    columns = _eliminate(A, 0, A.shape[1], 0, prime, deadline)
    U = A[: len(columns)]
    return columns, _upper_solved(U[:, columns], U[:, np.delete(every, columns)], prime)


def _eliminate(A: np.ndarray, left: int, right: int, top: int, p: int, deadline: Deadline) -> list[int]:
    """Eliminate these columns below row ``top``, where their multipliers are kept."""
    if top == len(A) or left == right:
        return []
    if right - left <= FEW_COLUMNS:
        deadline.check(doing=f"column {left:,} of {A.shape[1]:,} modulo a prime")
        return _eliminate_few(A, left, right, top, p)
    middle = (left + right) // 2
    first = _eliminate(A, left, middle, top, p, deadline)
    if first:
        below = top + len(first)
        held = _lower_solved(A[top:below, first], A[top:below, middle:right], p)
        A[top:below, middle:right] = held
        _subtract(A[below:, middle:right], A[below:, first], held, p, deadline)
    return first + _eliminate(A, middle, right, top + len(first), p, deadline)


def _eliminate_few(A: np.ndarray, left: int, right: int, top: int, p: int) -> list[int]:
    found = list[int]()
    for j in range(left, right):
        some = np.flatnonzero(A[top:, j])
        if len(some):
            k = top + int(some[0])
            A[[top, k]] = A[[k, top]]
            A[top + 1 :, j] = A[top + 1 :, j] * pow(int(A[top, j]), -1, p) % p
            rest = A[top + 1 :, j + 1 : right]
            rest -= A[top + 1 :, j, None] * A[top, j + 1 : right]
            rest %= p
            found.append(j)
            top += 1
            if top == len(A):
                break
    return found


def product(A: np.ndarray, B: np.ndarray, p: int) -> np.ndarray:
    """A B of residues, modulo the prime."""
    total = np.zeros((len(A), B.shape[1]))
    for start in range(0, A.shape[1], EXACT_PRODUCTS):
        total += A[:, start : start + EXACT_PRODUCTS] @ B[start : start + EXACT_PRODUCTS]
        total -= p * np.floor(total * (1.0 / p))  # a multiple too many or too few is left
    total[total < 0] += p
    total[total >= p] -= p
    return total


def _subtract(C: np.ndarray, A: np.ndarray, B: np.ndarray, p: int, deadline: Deadline) -> None:
    """Take A B off from C, some rows at a time."""
    step = max(1, MAX_ENTRIES // max(1, B.shape[1]))
    for start in range(0, len(C), step):
        deadline.check(doing=f"{len(C):,} rows modulo a prime")
        part = C[start : start + step]
        part -= product(A[start : start + step], B, p)
        part[part < 0] += p


def _lower_solved(L: np.ndarray, B: np.ndarray, p: int) -> np.ndarray:
    """L^-1 B for a lower triangle with ones on its diagonal."""
    n = len(L)
    if n == 1:
        return B
    upper = _lower_solved(L[: n // 2, : n // 2], B[: n // 2], p)
    lower = (B[n // 2 :] - product(L[n // 2 :, : n // 2], upper, p)) % p
    return np.vstack([upper, _lower_solved(L[n // 2 :, n // 2 :], lower, p)])


def _upper_solved(U: np.ndarray, B: np.ndarray, p: int) -> np.ndarray:
    """U^-1 B for an upper triangle."""
    n = len(U)
    if n <= 1:
        return B * (pow(int(U[0, 0]), -1, p) if n else 1) % p
    lower = _upper_solved(U[n // 2 :, n // 2 :], B[n // 2 :], p)
    upper = (B[: n // 2] - product(U[: n // 2, n // 2 :], lower, p)) % p
    return np.vstack([_upper_solved(U[: n // 2, : n // 2], upper, p), lower])


def outside_span(A: np.ndarray, columns: list[int], M: np.ndarray, p: int) -> np.ndarray:
    """Which rows of residues are not in a span; its columns and M as of :func:`reduced`."""
    others = np.delete(np.arange(A.shape[1]), columns)
    return np.asarray(np.any(A[:, others] != product(A[:, columns], M, p), axis=1))
