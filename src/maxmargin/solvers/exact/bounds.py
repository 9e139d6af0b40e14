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
from flint import fmpz_mat

from maxmargin.solvers.exact.signs import Signs
from maxmargin.solvers.exact.whole import ExactRows

__all__ = ["attained", "not_exceeded", "root"]

NEAREST = 1 << 20  # numbers of the rows whose distance is computed exactly, at most


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


def attained(rows: ExactRows, z: Sequence[int], found: Signs) -> float:
    """The margin of a separating plane, rounded down."""
    square = sum((_scaled(v, -k) ** 2 for v, k in zip(z, rows.powers, strict=False)), Fraction(0))
    near = np.flatnonzero(found.values <= float(found.values.min()) + 2.0 * found.bound)
    if len(near) * rows.D > NEAREST:  # no row is nearer than the bound says
        scale = 1 << max(v.bit_length() for v in z)
        least = Fraction(float(found.values.min()) - found.bound) * scale
        if least <= 0:
            return 0.0
    else:
        least = min(Fraction(sum(map(mul, ints, z)), 1 << m) for ints, m in rows.whole(near.tolist()))
    return root(least * least / square, up=False)


def not_exceeded(rows: ExactRows, support: Sequence[int], weights: Sequence[float]) -> float:
    """An upper bound on the largest margin from weights ≥ 0 on some rows, rounded up."""
    held = [(int(i), Fraction(w)) for i, w in zip(support, weights, strict=True) if w > 0]
    if rows.pad:
        totals = {s: sum((w for i, w in held if rows.y[i] == s), Fraction(0)) for s in (1.0, -1.0)}
        if not all(totals.values()):
            return math.inf
        held = [(i, w / (2 * totals[float(rows.y[i])])) for i, w in held]
    elif held:
        total = sum((w for _, w in held), Fraction(0))
        held = [(i, w / total) for i, w in held]
    if not held:
        return math.inf
    found = rows.whole([i for i, _ in held])
    scaled = [w / (1 << m) for (_, w), (_, m) in zip(held, found, strict=True)]
    common = math.lcm(*(w.denominator for w in scaled))
    row = fmpz_mat([[w.numerator * (common // w.denominator) for w in scaled]])
    total_row = (row * fmpz_mat([ints[: rows.d] for ints, _ in found])).entries()
    square = sum(
        (_scaled(int(v), k) ** 2 for v, k in zip(total_row, rows.powers, strict=True)), Fraction(0)
    )
    return root(square / common**2, up=True)


def _scaled(value: int, exponent: int) -> Fraction:
    """Value · 2^exponent."""
    return Fraction(value << exponent) if exponent >= 0 else Fraction(value, 1 << -exponent)
