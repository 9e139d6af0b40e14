"""Bounds on the largest margin, exactly: what a plane attains, and what no plane exceeds.

A plane attains min_i a_i·z/‖w‖. Convex combinations p and q of the two classes are 2γ apart at least,
γ being the largest margin: γ ≤ ½‖p − q‖. Through the origin γ ≤ ‖Σ λ_i a_i‖ with λ ≥ 0, Σ λ_i = 1.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from operator import mul

import numpy as np

from maxmargin.rows import CsrRows, DenseRows, Rows
from maxmargin.solvers.exact.signs import Signs
from maxmargin.solvers.exact.whole import ExactRows, Number

__all__ = ["attained", "not_exceeded", "root"]

NEAREST = 1 << 20  # numbers of the rows whose distance is computed exactly, at most
TINY = 2.0**-200  # weights against the largest that are left out
UNDERFLOW = 2.0**-900  # far more than underflow can take from a sum of a billion terms


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
    if len(near) * rows.terms > NEAREST:  # no row is nearer than the bound says
        scale = 1 << max(v.bit_length() for v in z)
        least = Fraction(float(found.values.min()) - found.bound) * scale
        if least <= 0:
            return 0.0
    else:
        least = min(
            Fraction(sum(map(mul, a.ints, map(z.__getitem__, a.columns))), 1 << a.m)
            for a in rows.integers(near.tolist())
        )
    return root(least * least / square, up=False)


def not_exceeded(rows: ExactRows, support: Sequence[int], weights: Sequence[float]) -> float:
    """An upper bound on the largest margin from weights ≥ 0 on some rows, rounded up."""
    held = [(int(i), w) for i, w in zip(support, weights, strict=True) if w > 0]
    sides = [[(i, w) for i, w in held if rows.y[i] == s] for s in (1.0, -1.0)] if rows.pad else [held]
    if not all(sides):
        return math.inf
    if len(held) * rows.terms > NEAREST // 8 and rows.rows is rows.given:
        return _not_exceeded_rounded(rows, sides)
    sums, scales, totals = zip(*(_weighted_sum(rows, side) for side in sides), strict=True)
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
        weights[weights < TINY] = 0.0
        part, total = rows.given.select(which), math.fsum(weights)
        most = max(most, len(which))
        mean += part.combine((weights * rows.y[which])[None])[0] / total
        for where, block in part.blocks():
            doubt += _magnitude(block).combine(weights[where][None])[0] / total
    k = (most + 10) * 2.0**-53
    error = doubt * (2.0 * k / (1.0 - k)) + UNDERFLOW  # twice: for its own rounding
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
    common = max(q for _, q in ratios)
    whole = [p * (common // q) for p, q in ratios]
    found = rows.integers(i for i, _ in held)
    scale = max(a.m for a in found)
    total: dict[int, int] = {}
    for weight, a in zip(whole, found, strict=True):
        factor = weight << scale - a.m
        for j, v in a.entries():
            total[j] = total.get(j, 0) + factor * v
    return total, scale, sum(whole)


def _square(numbers: Sequence[tuple[int, int]]) -> Fraction:
    """Σ (v · 2^e)² for pairs of integers v and e."""
    low = min([0, *(e for v, e in numbers if v)])
    total = sum((v << e - low) ** 2 for v, e in numbers if v)
    return Fraction(total, 1 << -2 * low)
