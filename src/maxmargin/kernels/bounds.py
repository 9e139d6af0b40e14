"""What the sums of a certificate prove: bounds that hold for the stored doubles, rounding included.

The sums come in two doubles each, value + rest, with a bound on what both lack. A sum of t terms in two
doubles is off by t² u² Σ|terms| at most, and its value by one rounding more (Ogita, Rump and Oishi
2005); u = 2⁻⁵³.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.kernels.jit import jit_ieee
from maxmargin.kernels.rows import UNDERFLOW, UNIT_ROUNDOFF, two_product, two_sum

U = UNIT_ROUNDOFF
UP, DOWN = 1.0 + 4.0 * U, 1.0 - 4.0 * U  # more than three roundings of a value
ERROR_ROUNDING = 1.01  # more than all roundings of an error


@jit_ieee
def square_bound(x: Any) -> float:
    """‖x‖², at least."""
    total, rest = 0.0, 0.0
    for value in x:
        product, off = two_product(value, value)
        total, lost = two_sum(total, product)
        rest += lost + off
    square = UP * (total + rest) + UNDERFLOW
    return square if square < np.inf else np.inf


@jit_ieee
def bounded_sum(terms: Any, sign: float) -> float:
    """The sum of a few terms, rounded up (sign 1) or down (−1) by its error; nan if out of range."""
    total, rest, size = 0.0, 0.0, 0.0
    for term in terms:
        total, lost = two_sum(total, term)
        rest += lost
        size += abs(term)
    found = total + rest + sign * 4.0 * (len(terms) * U) ** 2 * size
    return found if np.isfinite(found) else np.nan


@jit_ieee
def primal_bound(square: float, slack: Any) -> float:
    """½‖w‖² + Σ C_i ξ_i, at most; the second sum is given in two doubles and an error."""
    primal = bounded_sum((0.5 * square, slack[0], slack[1], slack[2]), 1.0)
    return UP * primal


@jit_ieee
def dual_bound(sides: Any, bias: bool, v: Any) -> tuple[float, float]:
    """Return the dual value of feasible multipliers, at least, and how far those given are from balance.

    ``sides`` holds value, rest and error of Σ α_i (x_i, 1) over rows with y = 1 and over the others. If
    there is a bias, the multipliers of the heavier side are taken in proportion less, so that they
    balance. Writes Σ α_i y_i x_i of these into v.
    """
    value, rest, error = sides[0], sides[1], sides[2]
    d = v.shape[0]
    plus, minus = value[0, d] + rest[0, d], value[1, d] + rest[1, d]
    balance, lost = two_sum(value[0, d], -value[1, d])
    low = lost + (rest[0, d] - rest[1, d])
    excess = balance + low  # Σ α_i y_i
    doubt = 3.0 * U * (abs(lost) + abs(rest[0, d]) + abs(rest[1, d])) + error[0, d] + error[1, d]
    less, wrong, side, heavy, share, imbalance = 0.0, 0.0, 0, plus, 0.0, 0.0
    if bias:
        if excess != 0.0:
            imbalance = abs(excess) / (plus + minus) if plus + minus > 0.0 else np.inf
        if not min(plus, minus) > 0.0:
            for j in range(d):
                v[j] = 0.0
            return 0.0, imbalance
        side, heavy = (0, plus) if excess > 0.0 else (1, minus)
        # ρ Σ α_i x_i of the heavier side is ``excess`` times the mean of its rows, off by this share.
        share = max(error[0, d] / plus, error[1, d] / minus)
        less = excess
        total_doubt = doubt + abs(excess) * share + 4.0 * U * (abs(excess) + abs(low))
        wrong = total_doubt + abs(excess) * (16.0 * U + 2.0 * share)  # of the excess
    square, below = 0.0, 0.0
    for j in range(d):
        difference, lost = two_sum(value[0, j], -value[1, j])
        low = lost + (rest[0, j] - rest[1, j])
        off = error[0, j] + error[1, j] + 3.0 * U * (abs(lost) + abs(rest[0, j]) + abs(rest[1, j]))
        if bias:
            mean = (value[side, j] + rest[side, j]) / heavy
            low -= less * mean
            off += abs(less) * max(error[0, j] / plus, error[1, j] / minus) + 4.0 * U * abs(low)
            largest = max(abs(value[0, j] + rest[0, j]) / plus, abs(value[1, j] + rest[1, j]) / minus)
            off += wrong * largest
        v[j] = difference + low
        reach = UP * ((1.0 + 2.0 * U) * abs(v[j]) + ERROR_ROUNDING * off)
        product, off = two_product(reach, reach)
        square, lost = two_sum(square, product)
        below += lost + off
    square = UP * (square + below) + UNDERFLOW
    terms = (
        value[0, d],
        value[1, d],
        rest[0, d],
        rest[1, d],
        -ERROR_ROUNDING * doubt,
        -abs(less),
        -2.0 * ERROR_ROUNDING * wrong,
        -0.5 * square,
    )
    dual = DOWN * bounded_sum(terms, -1.0)
    return (dual if dual > 0.0 else 0.0), imbalance


@jit_ieee
def lengths_of(w: Any, edge: float, v: Any) -> tuple[float, float]:
    """Return ‖w‖ and ‖w/edge − v‖."""
    length, away = 0.0, 0.0
    for j in range(w.shape[0]):
        length += w[j] * w[j]
        off = w[j] / edge - v[j]
        away += off * off
    return math.sqrt(length), math.sqrt(away)
