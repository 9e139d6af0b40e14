"""Certificates in fractions: the exact value of a plane, and of multipliers brought to feasibility.

Doubles are fractions, so both values are free of rounding: what a certificate states is compared with
them. Labels are ±1, ``C`` is one bound per row, infinite for a hard margin. Nothing here imports the
package.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from exact import dot, in_fractions

__all__ = ["exact_dual", "exact_least", "exact_primal"]


def exact_least(X, y, w, b):
    """The least y_i (w·x_i + b)."""
    return min(_margins(X, y, w, b))


def exact_primal(X, y, C, w, b):
    """½‖w‖² + Σ C_i ξ_i; for a hard margin ½‖w‖² of the plane scaled to margin 1."""
    (w,) = in_fractions([w])
    if math.isinf(C[0]):
        least = exact_least(X, y, w, b)
        return dot(w, w) / 2 / least**2 if least > 0 else math.inf
    slack = [max(Fraction(0), 1 - m) for m in _margins(X, y, w, b)]
    return dot(w, w) / 2 + dot([Fraction(c) for c in np.asarray(C).tolist()], slack)


def exact_dual(X, y, C, alpha, bias=True):
    """Σ α_i − ½‖Σ α_i y_i x_i‖² of multipliers within their bounds that balance, or 0 if that is more.

    The nearest at hand: clipped to 0 … C_i, and the heavier side in proportion less.
    """
    alpha = [Fraction(a) for a in np.clip(alpha, 0.0, C).tolist()]
    sides = [
        sum((a for a, s in zip(alpha, y, strict=True) if s == side), Fraction(0)) for side in (1, -1)
    ]
    if bias:
        share = {1: 1, -1: 1}
        if sides[0] != sides[1]:
            heavier = 1 if sides[0] > sides[1] else -1
            share[heavier] = min(sides) / max(sides)
        alpha = [a * share[int(s)] for a, s in zip(alpha, y, strict=True)]
        assert sum(a * int(s) for a, s in zip(alpha, y, strict=True)) == 0
    v = [Fraction(0)] * np.shape(X)[1]
    for x, s, a in zip(in_fractions(X), y, alpha, strict=True):
        if a:
            v = [p + int(s) * a * e if e else p for p, e in zip(v, x, strict=True)]
    return max(sum(alpha) - dot(v, v) / 2, Fraction(0))


def _margins(X, y, w, b):
    (w,) = in_fractions([w]) if not isinstance(w[0], Fraction) else (w,)
    b = Fraction(float(b))
    return [
        int(s) * (sum((p * e for p, e in zip(w, x, strict=True) if e), Fraction(0)) + b)
        for x, s in zip(in_fractions(X), y, strict=True)
    ]
