"""On which side of a plane each row lies, decided exactly.

First in floating point: with |a_ij| ≤ 1 the computed value of a_i·z differs from the true one by less
than γ_{k+4} Σ|z_j|, where k is the number of terms, γ_k = ku/(1 − ku) and u = 2^-53, whatever the order
of the sum (Higham 2002, section 3.1), plus what underflow may take. Rows nearer to the plane than that
are decided in integers: all at once where the numbers are so small that sums of doubles are exact, else
one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

import numpy as np

from maxmargin.solvers.exact.whole import ExactRows, Number

__all__ = ["Signs", "error_bound", "ratio", "rounded", "signs", "size"]

UNDERFLOW = 2.0**-600  # far more than underflow can take from a sum of a billion terms
TINY = 2.0**-900
LIMIT = 1 << 53  # whole numbers below it are doubles
CHUNK = 4_096
FEW = 50  # rows with fewer than one entry in so many are not made dense


class Signs(NamedTuple):
    """Signs of a_i·z (−1, 0 or 1), and how many of them floating point left open."""

    of: np.ndarray
    exact: int
    values: np.ndarray  # in floating point
    bound: float  # of their errors


def rounded(z: Sequence[Number]) -> np.ndarray:
    """The numbers as doubles, scaled by a power of two to at most one, each rounded once."""
    scale = 1 << max(0, *map(size, z))
    return np.array([ratio(v.numerator, v.denominator * scale) for v in z])


def size(v: Number) -> int:
    """An exponent e with |v| ≤ 2^e: of a whole number, its bits."""
    return v.numerator.bit_length() - v.denominator.bit_length() + 1


def ratio(p: int, q: int) -> float:
    """Return p/q rounded once, also where it is smaller than doubles can be."""
    try:
        return p / q  # true division of integers is correctly rounded
    except OverflowError:
        return math.inf if (p > 0) == (q > 0) else -math.inf


def error_bound(z: np.ndarray, terms: int) -> float:
    """Bound on the error of ``ExactRows.values`` if each z_j is within a relative 2^-52 of the truth.

    A value is a sum of at most so many terms that are not zero.
    """
    k = (terms + 6) * 2.0**-53
    return float(np.sum(np.abs(z))) * (1.0 + 1e-9) * k / (1.0 - k) + UNDERFLOW


def signs(rows: ExactRows, z: Sequence[Number], offset: int = 0) -> Signs:
    """Return the sign of a_i·z − offset for every row."""
    *plane, shift = rounded([*z, offset]).tolist()
    values = rows.values(np.array(plane)) - shift
    bound = error_bound(np.array([*plane, shift]), rows.terms + 1)
    of = np.sign(values).astype(np.int8)
    near = np.flatnonzero(np.abs(values) <= bound)
    for start in range(0, len(near), CHUNK):
        rows.deadline.check()
        part = near[start : start + CHUNK]
        of[part] = _exactly(rows, part, z, offset)
    return Signs(of, len(near), values, bound)


def _exactly(rows: ExactRows, which: np.ndarray, z: Sequence[Number], offset: int) -> np.ndarray:
    """The same for a few rows, in integers."""
    used = [j for j, v in enumerate(z) if v]
    few = _small_integers(rows, which, z, used, offset)
    if few is not None:
        return np.asarray(np.sign(few), dtype=np.int8)
    weights = [z[j] for j in used]
    result = []
    for columns, ints, m in rows.integers(which.tolist()):
        if rows.given.is_sparse:
            total = sum(map(mul, ints, map(z.__getitem__, columns)))
        else:
            total = sum(map(mul, weights, map(ints.__getitem__, used)))
        total -= offset << m
        result.append((total > 0) - (total < 0))
    return np.array(result, dtype=np.int8)


def _small_integers(
    rows: ExactRows, which: np.ndarray, z: Sequence[Number], used: list[int], offset: int
) -> np.ndarray | None:
    """Numbers with the signs of the values, by sums of doubles that are whole numbers below 2^53."""
    if (
        not used
        or offset
        or any(z[j] >= LIMIT or z[j] <= -LIMIT for j in used)
        or rows.rows is not rows.given
    ):
        return None
    if rows.given.entries * FEW < rows.n * rows.d or not all(isinstance(z[j], int) for j in used):
        return None
    A = rows.block(which)[:, used]
    features = [j for j in used if j < rows.d]
    size = np.abs(rows.given.take(which)[:, features])
    if np.any((size > 0.0) & (size * rows.fold[features] < TINY)):  # rounded, perhaps to zero
        return None
    A = np.ldexp(A, -_lowest_bit(A))
    v = np.array([float(z[j]) for j in used])
    if float(np.max(np.abs(A) @ np.abs(v))) < 2.0**52:
        return np.asarray(A @ v)
    if float(np.max(np.abs(A))) < 2.0**80 and float(np.sum(np.abs(v))) <= 2.0**25:
        return _in_limbs(A, v)
    return None


def _in_limbs(A: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The signs of A v for whole numbers below 2^80: in three limbs, whose products doubles hold."""
    base = 2.0**27
    limbs = []
    for _ in range(2):
        upper = np.floor(A / base)
        limbs.append(((A - upper * base) @ v).astype(np.int64))
        A = upper
    low, middle, high = *limbs, (A @ v).astype(np.int64)
    middle += low >> 27
    high += middle >> 27
    rest = (low & (2**27 - 1)) | (middle & (2**27 - 1))  # not negative
    return np.asarray(np.where(high != 0, np.sign(high), np.sign(rest)))


def _lowest_bit(A: np.ndarray) -> int:
    """The exponent of the lowest bit set in any entry."""
    some = A[A != 0.0]
    if not len(some):
        return 0
    mantissa, exponent = np.frexp(some)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    trailing = np.log2((whole & -whole).astype(np.float64)).astype(np.int64)
    return int(np.min(exponent - 53 + trailing))
