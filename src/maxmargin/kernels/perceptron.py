"""The perceptron: for each row i in turn, if y_i (w·x_i + b) ≤ δ then z ← z + η y_i (x_i, 1).

``positive`` is the label code that counts as +1, all others count as −1: a machine of one-vs-rest
reads the same codes as the binary machine. ``scale`` holds 1/‖(x_i, 1)‖ where rows are normalised,
else nothing.

For the averaged weights, u collects (steps before the update) × (the update); then
z̄ = z − u/steps is the mean of the weights after each step (no cost where no mistake is made).

The online protocol in one sweep: for each row in turn predict, then see the label, then learn.

Prediction and learning are those of ``predict_one`` and ``learn_one``, bit for bit: the averaged weight
of a feature is z − u/steps, as in ``kernels.perceptron``, taken only where the row has an entry.

f(x_i) = w·x_i + b for chosen rows and several machines, errors, and lengths of padded rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.kernels.jit import jit
from maxmargin.kernels.rows import (
    AHEAD,
    add_row,
    dot,
    dot_in_order,
    norm_squared,
    prefetch_row,
    refresh_sketch,
    size,
    sketch_dot,
    sketch_width,
)

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


@jit
def _value(rows: Any, i: int, z: Any, u: Any, seen: int) -> float:
    """f(x_i) with the weights to predict with, summed in order."""
    d = z.shape[0] - 1
    total = 0.0
    if u.shape[0] == 0 or seen == 0:
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            total += rows.data[p] * z[rows.indices[p]]
        return total + z[d]
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        j = rows.indices[p]
        total += rows.data[p] * (z[j] - u[j] / seen)
    return total + (z[d] - u[d] / seen)


@jit
def progress(
    rows: Any, codes: Any, positives: Any, Z: Any, U: Any, counts: Any, rule: Any, predicted: Any
) -> None:
    """Write the code predicted for each sparse row, and learn from rows with a label (code ≥ 0).

    One machine predicts 1 if f(x) > 0, else 0; of several the first with the largest f(x) wins.
    """
    order = np.arange(codes.shape[0])
    scale = np.empty(0)
    for i in range(codes.shape[0]):
        winner = 0
        best = _value(rows, i, Z[0], U[0], counts[0, SEEN])
        if Z.shape[0] == 1:
            winner = 1 if best > 0.0 else 0
        for k in range(1, Z.shape[0]):
            f = _value(rows, i, Z[k], U[k], counts[k, SEEN])
            if f > best:
                best, winner = f, k
        predicted[i] = winner
        if codes[i] < 0:
            continue
        for k in range(Z.shape[0]):
            one = order[i : i + 1]
            steps(rows, codes, positives[k], scale, one, Z[k], U[k], counts[k], rule, rule.rates[k])


@jit
def decide_one(rows: Any, order: Any, z: Any, pad: float, out: Any) -> None:
    """Write f(x_i) for i in ``order``; the sign is that of the sum in order."""
    d = z.shape[0] - 1
    w = z[:d]
    bias = pad * z[d]
    for t in range(order.shape[0]):
        i = order[t]
        if t + AHEAD < order.shape[0]:
            prefetch_row(rows, order[t + AHEAD])
        total, error = dot(rows, i, w)
        f = total + bias
        if abs(f) <= error + 4e-16 * abs(bias):
            f = dot_in_order(rows, i, w) + bias
        out[t] = f


@jit
def decide(rows: Any, order: Any, Z: Any, pad: float, tile: int, out: Any) -> None:
    """Write f_k(x_i) into out[k, ·] for i in ``order``.

    Machines take turns on tiles of rows, so that a row is loaded once for all of them.
    """
    for start in range(0, order.shape[0], tile):
        part = order[start : start + tile]
        for k in range(Z.shape[0]):
            decide_one(rows, part, Z[k], pad, out[k][start : start + tile])


@jit
def count_errors(
    rows: Any, codes: Any, positives: Any, order: Any, Z: Any, pad: float, tile: int, out: Any
) -> None:
    """Add to out[k] the number of rows in ``order`` with y f_k(x_i) ≤ 0."""
    f = np.empty(min(tile, order.shape[0]))
    for start in range(0, order.shape[0], tile):
        part = order[start : start + tile]
        for k in range(Z.shape[0]):
            decide_one(rows, part, Z[k], pad, f)
            for t in range(part.shape[0]):
                y = 1.0 if codes[part[t]] == positives[k] else -1.0
                out[k] += y * f[t] <= 0.0


@jit
def inverse_lengths(rows: Any, pad: float, out: Any) -> None:
    """Write 1/‖(x_i, pad)‖ for every row, 1 for a row of zeros.

    Rows so short or so long that squares would leave the range of doubles are scaled first, by a power
    of two, which changes no bit of the others.
    """
    for i in range(out.shape[0]):
        largest = max(size(rows, i), pad)
        s = 1.0
        if largest > 0.0 and not 1e-140 < largest < 1e140:
            s = 2.0 ** np.floor(np.log2(largest))
        length = s * np.sqrt(norm_squared(rows, i, s) + (pad / s) * (pad / s))
        out[i] = 1.0
        if length > 0.0:
            out[i] = 1.0 / length
