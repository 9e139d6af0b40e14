"""A plane of whole numbers as a plane of doubles, if there is one near it that does as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from maxmargin.solvers.exact.signs import Signs, ratio, signs, size
from maxmargin.solvers.exact.whole import ExactRows, Number, primitive

__all__ = ["DoublePlane", "from_doubles", "nearest", "to_doubles"]

# Each factor rounds the numbers differently: one that puts a bias between two neighbouring doubles is
# likely among a few.
FACTORS = (1, 3, 5, 7, 9, 11, 13, 17, 19, 23, 29, 31)
HIGH, LOW = 1000, -1060  # exponents that a plane may have

DoublePlane = tuple[np.ndarray, float]


def from_doubles(rows: ExactRows, w: np.ndarray, b: float) -> list[int]:
    """The plane in the coordinates of the exact rows, as whole numbers."""
    ratios = [v.as_integer_ratio() for v in (*w.tolist(), *([b] if rows.pad else []))]
    places = [k - q.bit_length() + 1 for (_, q), k in zip(ratios, [*rows.powers, 0], strict=False)]
    low = min(e for (p, _), e in zip(ratios, places, strict=True) if p)
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
    exponents = [*(-k for k in rows.powers), 0]
    sizes = [size(v) + e for v, e in zip(z, exponents, strict=False) if v]
    # The largest number is about one, unless that makes the smallest too small.
    shift = max(sizes) if max(sizes) - min(sizes) < -LOW else min(sizes) - LOW
    shift = max(shift, max(sizes) - HIGH)
    for factor in FACTORS:
        numbers = [_rounded(v * factor, e - shift) for v, e in zip(z, exponents, strict=False)]
        yield np.array(numbers[: rows.d]), numbers[rows.d] if rows.pad else 0.0


def _rounded(value: Number, exponent: int) -> float:
    """Value · 2^exponent as a double."""
    p, q = value.numerator, value.denominator
    return ratio(p << exponent, q) if exponent >= 0 else ratio(p, q << -exponent)
