"""The perceptron: for each row i in turn, if y_i (w·x_i + b) ≤ δ then z ← z + η y_i (x_i, 1).

``positive`` is the label code that counts as +1, all others count as −1: a machine of one-vs-rest
reads the same codes as the binary machine. ``scale`` holds 1/‖(x_i, 1)‖ where rows are normalised,
else nothing.

For the averaged weights, u collects (steps before the update) × (the update); then
z̄ = z − u/steps is the mean of the weights after each step (no cost where no mistake is made).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.kernels.jit import jit
from maxmargin.kernels.primitives import (
    AHEAD,
    add_row,
    dot,
    dot_in_order,
    prefetch_row,
    refresh_sketch,
    sketch_dot,
    sketch_width,
)

__all__ = ["LEFT", "MADE", "READ", "SEEN", "Rule", "sweep"]

# Columns of ``counts``: rows looked at, updates made, updates left, rows read in full.
SEEN, MADE, LEFT, READ = 0, 1, 2, 3


class Rule(NamedTuple):
    """The update rule: δ, padding and steps."""

    delta: float  # δ: a row is a mistake while y·f(x) ≤ δ
    pad: float  # the fictitious coordinate: 1 if the bias is learned, else 0
    rates: np.ndarray  # η times the class weight, per machine and label code


SINGLE_LIMIT = 1e37  # a single-precision sum beyond this may have overflowed


@jit
def steps(
    rows: Any,
    codes: Any,
    positive: int,
    scale: Any,
    order: Any,
    z: Any,
    u: Any,
    count: Any,
    rule: Any,
    rates: Any,
) -> None:
    """Visit the rows in ``order`` until they or the updates left run out."""
    d = z.shape[0] - 1
    w = z[:d]
    v = np.empty(sketch_width(rows), np.float32)
    blur = refresh_sketch(rows, w, v)
    seen, made, left, read = count[SEEN], count[MADE], count[LEFT], count[READ]
    for k in range(order.shape[0]):
        if left <= 0:
            break
        if k + AHEAD < order.shape[0]:
            prefetch_row(rows, order[k + AHEAD])
        i = order[k]
        y = 1.0 if codes[i] == positive else -1.0
        s = scale[i] if scale.shape[0] > 0 else 1.0
        bias = rule.pad * z[d]
        seen += 1
        if blur < np.inf:
            rough = y * (sketch_dot(rows, i, v) + bias)
            sure = rough - blur - 1e-15 * abs(bias)
            if s * sure > rule.delta * (1.0 + 1e-15) and rough < SINGLE_LIMIT:
                continue
        read += 1
        total, error = dot(rows, i, w)
        f = total + bias
        if abs(s * (y * f) - rule.delta) <= s * (error + 4e-16 * abs(bias)) + 4e-16 * rule.delta:
            f = dot_in_order(rows, i, w) + bias
        if s * (y * f) <= rule.delta:
            step = rates[codes[i]] * y * s
            if u.shape[0] > 0:
                late = seen - 1
                add_row(rows, i, late * step, u)
                u[d] += late * step * rule.pad
            add_row(rows, i, step, w)
            z[d] += step * rule.pad
            made += 1
            left -= 1
            blur = refresh_sketch(rows, w, v)
    count[SEEN], count[MADE], count[LEFT], count[READ] = seen, made, left, read


@jit
def sweep(
    rows: Any,
    codes: Any,
    positives: Any,
    scale: Any,
    order: Any,
    Z: Any,
    U: Any,
    counts: Any,
    rule: Any,
    tile: int,
) -> None:
    """Run machine after machine over each tile of rows, so that a row is loaded once for all."""
    for start in range(0, order.shape[0], tile):
        part = order[start : start + tile]
        for k in range(positives.shape[0]):
            steps(rows, codes, positives[k], scale, part, Z[k], U[k], counts[k], rule, rule.rates[k])
