"""On which side of a plane each row lies, decided exactly.

First in floating point: with |a_ij| ≤ 1 the computed value of a_i·z differs from the true one by less
than γ_{k+4} Σ|z_j|, where k is the number of terms, γ_k = ku/(1 − ku) and u = 2^-53, whatever the order
of the sum (Higham 2002, section 3.1), plus what underflow may take. Rows nearer to the plane than that
are decided in integers: all at once where the numbers are so small that sums of doubles are exact, else
one by one.

The same numbers bound the largest margin γ. A plane attains min_i a_i·z/‖w‖. Convex combinations p and q
of the two classes are 2γ apart at least: γ ≤ ½‖p − q‖. Through the origin γ ≤ ‖Σ λ_i a_i‖ with λ ≥ 0,
Σ λ_i = 1.

Last, a plane of whole numbers is written in doubles, if one near it has the same signs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from operator import mul
from typing import NamedTuple

import numpy as np

from maxmargin.rows import CsrRows, DenseRows, Rows
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, primitive

UNDERFLOW = 2.0**-600  # far more than underflow can take from a sum of a billion terms
ROUNDED_BELOW = 2.0**-900  # a scaled number this small may have been rounded
EXACT_IN_DOUBLES = 1 << 53  # whole numbers below it are doubles
ROWS_AT_A_TIME = 4_096
DENSE_ENTRY_IN = 50  # rows with fewer than one entry in so many are not made dense


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
    values, bound = _in_doubles(rows, z, offset)
    of = np.sign(values).astype(np.int8)
    near = np.flatnonzero(np.abs(values) <= bound)
    at_once = None if offset else _sparse_integers(rows, near, z)
    if at_once is not None:
        of[near] = at_once
        return Signs(of, len(near), values, bound)
    exact, plane = (rows, z) if offset else (rows.plain, rows.plane_of_plain(z))
    for start in range(0, len(near), ROWS_AT_A_TIME):
        rows.deadline.check()
        part = near[start : start + ROWS_AT_A_TIME]
        of[part] = _exactly(exact, part, plane, offset)
    return Signs(of, len(near), values, bound)


def revalued(rows: ExactRows, z: Sequence[Number], known: Signs) -> Signs:
    """The same with signs that are known, of the same rows and plane in other coordinates."""
    return Signs(known.of, known.exact, *_in_doubles(rows, z, 0))


def _in_doubles(rows: ExactRows, z: Sequence[Number], offset: int) -> tuple[np.ndarray, float]:
    """The values a_i·z − offset in floating point, and the bound of their errors."""
    *plane, shift = rounded([*z, offset]).tolist()
    bound = error_bound(np.array([*plane, shift]), rows.terms + 1)
    return rows.values(np.array(plane)) - shift, bound


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
        or any(z[j] >= EXACT_IN_DOUBLES or z[j] <= -EXACT_IN_DOUBLES for j in used)
        or rows.rows is not rows.given
        or rows.is_rounded
    ):
        return None
    if rows.given.entries * DENSE_ENTRY_IN < rows.n * rows.d or not all(
        isinstance(z[j], int) for j in used
    ):
        return None
    A = rows.block(which)[:, used]
    features = [j for j in used if j < rows.d]
    size = np.abs(rows.given.take(which)[:, features])
    if np.any((size > 0.0) & (size * rows.fold[features] < ROUNDED_BELOW)):  # rounded, perhaps to zero
        return None
    A = np.ldexp(A, -_lowest_bit(A))
    v = np.array([float(z[j]) for j in used])
    if float(np.max(np.abs(A) @ np.abs(v))) < 2.0**52:
        return np.asarray(A @ v)
    if float(np.max(np.abs(A))) < 2.0**80 and float(np.sum(np.abs(v))) <= 2.0**25:
        return _in_limbs(A, v)
    return None


def _sparse_integers(rows: ExactRows, which: np.ndarray, z: Sequence[Number]) -> np.ndarray | None:
    """The signs of many sparse rows of small whole numbers, for a plane of long ones."""
    plain = rows.given.is_sparse and rows.rows is rows.given and not rows.is_rounded
    numbers = [v for v in z if isinstance(v, int)]
    if not plain or not len(which) or len(numbers) < len(z):
        return None
    A = rows.sparse_block(which)
    if float(np.min(np.abs(A.data), initial=1.0)) < ROUNDED_BELOW:
        return None
    A.data = np.ldexp(A.data, -_lowest_bit(A.data))
    if float(np.max(abs(A).sum(axis=1), initial=0.0)) >= 2.0**35:
        return None
    A = A.astype(np.int64)
    bits, mask = max(map(int.bit_length, numbers)), (1 << 27) - 1
    total = np.zeros(len(which), dtype=np.int64)  # what is carried on from the limbs below
    rest = np.zeros(len(which), dtype=np.int64)
    for low in range(0, bits, 27):
        limb = [(v >> low & mask) if v >= 0 else -(-v >> low & mask) for v in numbers]
        rest |= total & mask
        total = (total >> 27) + A @ np.array(limb, dtype=np.int64)
    return np.asarray(np.where(total != 0, np.sign(total), np.sign(rest)), dtype=np.int8)


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


EXACT_DISTANCE_ENTRIES = 1 << 20  # numbers of the rows whose distance is computed exactly, at most
NEGLIGIBLE_WEIGHT = 2.0**-200  # weights against the largest that are left out
SUM_UNDERFLOW = 2.0**-900  # far more than underflow can take from a sum of a billion terms


def root(square: Fraction, up: bool) -> float:
    """The square root, rounded down or up."""
    p, q = square.numerator, square.denominator
    if p == 0:
        return 0.0
    shift = 2 * max(0, 70 + (q.bit_length() - p.bit_length() + 1) // 2)
    whole = math.isqrt((p << shift) // q)
    exact = whole * whole * q == p << shift
    value = _as_double(whole if exact or not up else whole + 1, shift // 2, up)
    if math.isinf(value):
        return value
    bad = Fraction(value) ** 2 < square if up else Fraction(value) ** 2 > square
    return float(np.nextafter(value, math.inf if up else 0.0)) if bad else value


def _as_double(whole: int, shift: int, up: bool) -> float:
    try:
        return whole / (1 << shift)
    except OverflowError:
        return math.inf if up else sys.float_info.max


def attained(rows: ExactRows, plane: Sequence[Number], found: Signs) -> float:
    """The margin of a separating plane, rounded down."""
    z = [int(v) for v in plane]  # without a face no fractions are needed
    square = _square([(v, -k) for v, k in zip(z, rows.powers, strict=False)])
    near = np.flatnonzero(found.values <= float(found.values.min()) + 2.0 * found.bound)
    if len(near) * rows.terms > EXACT_DISTANCE_ENTRIES:  # no row is nearer than the bound says
        scale = 1 << max([v.bit_length() for v in z])
        least = Fraction(float(found.values.min()) - found.bound) * scale
        if least <= 0:
            return 0.0
    else:
        found_near = rows.integers(near.tolist())
        values = [sum(map(mul, a.ints, map(z.__getitem__, a.columns))) for a in found_near]
        least = min([Fraction(value, 1 << a.m) for value, a in zip(values, found_near, strict=True)])
    return root(least * least / square, up=False)


def not_exceeded(rows: ExactRows, support: Sequence[int], weights: Sequence[float]) -> float:
    """An upper bound on the largest margin from weights ≥ 0 on some rows, rounded up."""
    held = [(int(i), w) for i, w in zip(support, weights, strict=True) if w > 0]
    sides = [[(i, w) for i, w in held if rows.y[i] == s] for s in (1.0, -1.0)] if rows.pad else [held]
    if not all(sides):
        return math.inf
    many = len(held) * rows.terms > EXACT_DISTANCE_ENTRIES // 8
    if many and rows.rows is rows.given and not rows.is_rounded:
        return _not_exceeded_rounded(rows, sides)
    sums, scales, totals = zip(*[_weighted_sum(rows, side) for side in sides], strict=True)
    scale = max(scales)
    factors = [math.prod(totals) // t << scale - s for t, s in zip(totals, scales, strict=True)]
    # Σ over the sides of factor · sum, divided by 2^scale and by the product of the totals
    mean: dict[int, int] = {}
    for part, factor in zip(sums, factors, strict=True):
        for j, v in part.items():
            mean[j] = mean.get(j, 0) + factor * v
    mean.pop(rows.d, None)
    common = math.prod(totals) * len(sides) << scale
    square = _square([(v, rows.powers[j]) for j, v in mean.items()])
    return root(square / common**2, up=True)


def _not_exceeded_rounded(rows: ExactRows, sides: list[list[tuple[int, float]]]) -> float:
    """The same in floating point, with a bound on its error added."""
    mean, doubt, most = np.zeros(rows.d), np.zeros(rows.d), 0
    for side in sides:
        which, weights = np.array([i for i, _ in side]), np.array([w for _, w in side])
        weights = weights / float(weights.max())
        weights[weights < NEGLIGIBLE_WEIGHT] = 0.0
        part, total = rows.given.select(which), math.fsum(weights)
        most = max(most, len(which))
        mean += part.combine((weights * rows.y[which])[None])[0] / total
        for where, block in part.blocks():
            doubt += _magnitude(block).combine(weights[where][None])[0] / total
    k = (most + 10) * 2.0**-53
    error = doubt * (2.0 * k / (1.0 - k)) + SUM_UNDERFLOW  # twice: for its own rounding
    bound = float(np.linalg.norm(mean)) + float(np.linalg.norm(error))
    return bound / len(sides) * (1.0 + 2.0 * (rows.d + 10) * 2.0**-53)


def _magnitude(block: Rows) -> Rows:
    """The rows |x_i|."""
    if isinstance(block, CsrRows):
        return CsrRows.from_matrix(abs(block.matrix))
    return DenseRows(np.abs(block.take(np.arange(block.n))))


def _weighted_sum(rows: ExactRows, held: list[tuple[int, float]]) -> tuple[dict[int, int], int, int]:
    """Σ w_i a_i by column, as integers and an exponent, and Σ w_i, both times the same factor."""
    ratios = [w.as_integer_ratio() for _, w in held]
    common = max([q for _, q in ratios])
    whole = [p * (common // q) for p, q in ratios]
    found = rows.integers([i for i, _ in held])
    scale = max([a.m for a in found])
    total: dict[int, int] = {}
    for weight, a in zip(whole, found, strict=True):
        factor = weight << scale - a.m
        for j, v in a.entries():
            total[j] = total.get(j, 0) + factor * v
    return total, scale, sum(whole)


def _square(numbers: Sequence[tuple[int, int]]) -> Fraction:
    """Σ (v · 2^e)² for pairs of integers v and e."""
    low = min([0, *[e for v, e in numbers if v]])
    total = sum([(v << e - low) ** 2 for v, e in numbers if v])
    return Fraction(total, 1 << -2 * low)


# Each factor rounds the numbers differently: one that puts a bias between two neighbouring doubles is
# likely among a few.
ROUNDING_FACTORS = (1, 3, 5, 7, 9, 11, 13, 17, 19, 23, 29, 31)
MAX_EXPONENT, MIN_EXPONENT = 1000, -1060  # exponents that a plane may have

DoublePlane = tuple[np.ndarray, float]


def from_doubles(rows: ExactRows, w: np.ndarray, b: float) -> list[int]:
    """The plane in the coordinates of the exact rows, as whole numbers."""
    ratios = [v.as_integer_ratio() for v in (*w.tolist(), *([b] if rows.pad else []))]
    places = [k - q.bit_length() + 1 for (_, q), k in zip(ratios, [*rows.powers, 0], strict=False)]
    low = min([e for (p, _), e in zip(ratios, places, strict=True) if p])
    return primitive([p << e - low if p else 0 for (p, _), e in zip(ratios, places, strict=True)])


def to_doubles(rows: ExactRows, z: Sequence[Number]) -> tuple[DoublePlane, list[int], Signs] | None:
    """The plane in the coordinates of the user, with what its doubles are exactly, and all signs > 0."""
    for w, b in _candidates(rows, z):
        if not (np.all(np.isfinite(w)) and np.isfinite(b) and np.any(w)):
            continue
        plane = from_doubles(rows, w, b)
        found = signs(rows, plane)
        if np.all(found.of > 0):
            return (w, b), plane, found
    return None


def nearest(rows: ExactRows, z: Sequence[Number]) -> DoublePlane:
    """The plane rounded to doubles, whether it does as well or not."""
    return next(_candidates(rows, z))


def _candidates(rows: ExactRows, z: Sequence[Number]) -> Iterator[DoublePlane]:
    exponents = [*[-k for k in rows.powers], 0]
    sizes = [size(v) + e for v, e in zip(z, exponents, strict=False) if v]
    # The largest number is about one, unless that makes the smallest too small.
    shift = max(sizes) if max(sizes) - min(sizes) < -MIN_EXPONENT else min(sizes) - MIN_EXPONENT
    shift = max(shift, max(sizes) - MAX_EXPONENT)
    for factor in ROUNDING_FACTORS:
        numbers = [_rounded(v * factor, e - shift) for v, e in zip(z, exponents, strict=False)]
        yield np.array(numbers[: rows.d]), numbers[rows.d] if rows.pad else 0.0


def _rounded(value: Number, exponent: int) -> float:
    """Value · 2^exponent as a double."""
    p, q = value.numerator, value.denominator
    return ratio(p << exponent, q) if exponent >= 0 else ratio(p, q << -exponent)
