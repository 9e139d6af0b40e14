"""The perceptron: for each row i in turn, if y_i (w·x_i + b) ≤ δ then z ← z + η c_i y_i (x_i, 1).

``positive`` is the label code that counts as +1, all others count as −1: a machine of one-vs-rest reads
the same codes as the binary machine. Of averaged weights, u collects (steps before the update) × (the
update); then z̄ = z − u/steps is the mean of the weights after each step, and costs nothing where no
mistake is made.

Also: the online protocol (predict, see the label, learn), decision values, errors, and row lengths.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.kernels.jit import jit, jit_inner
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


# Columns of ``clock``: epochs since the weights waited for, and after how many others are waited for.
SINCE, HORIZON = 0, 1


class Labels(NamedTuple):
    """What every row counts as."""

    codes: np.ndarray  # of its label
    scale: np.ndarray  # 1/‖(x_i, 1)‖ where rows are normalised, else nothing
    weight: np.ndarray  # c_i, a factor on its steps, or nothing


class Rule(NamedTuple):
    """The update rule: δ, padding and steps."""

    delta: float  # δ: a row is a mistake while y·f(x) ≤ δ
    pad: float  # the fictitious coordinate: 1 if the bias is learned, else 0
    rates: np.ndarray  # η times the class weight, per machine and label code


class Memory(NamedTuple):
    """All that one machine carries from epoch to epoch."""

    z: np.ndarray
    u: np.ndarray  # what averaging needs, or nothing
    counts: np.ndarray
    earlier: np.ndarray  # weights that are waited for
    clock: np.ndarray


class Lines(NamedTuple):
    """What is written down of each epoch."""

    mistakes: np.ndarray
    errors: np.ndarray  # of the weights to predict with, or nothing
    running: np.ndarray  # errors of the weights at hand, where there is a pocket
    norm: np.ndarray  # ‖w‖ of the weights to predict with


SINGLE_LIMIT = 1e37  # a single-precision sum beyond this may have overflowed


@jit_inner
def steps(
    rows: Any,
    labels: Labels,
    positive: int,
    order: Any,
    z: Any,
    u: Any,
    count: Any,
    rule: Rule,
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
        y = 1.0 if labels.codes[i] == positive else -1.0
        s = labels.scale[i] if labels.scale.shape[0] > 0 else 1.0
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
            step = rates[labels.codes[i]] * y * s
            if labels.weight.shape[0] > 0:
                step *= labels.weight[i]
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
    labels: Labels,
    positives: Any,
    order: Any,
    Z: Any,
    U: Any,
    counts: Any,
    rule: Rule,
    tile: int,
) -> None:
    """Run machine after machine over each tile of rows, so that a row is loaded once for all."""
    for start in range(0, order.shape[0], tile):
        part = order[start : start + tile]
        for k in range(positives.shape[0]):
            steps(rows, labels, positives[k], part, Z[k], U[k], counts[k], rule, rule.rates[k])


@jit
def repeated(z: Any, earlier: Any, clock: Any) -> int:
    """Return after how many epochs the weights are exactly what they were; 0 if they are not.

    One earlier value is kept and moved on at epochs 1, 2, 4, 8, … (Brent 1980), which finds a cycle of
    any length with the memory of one weight vector.
    """
    clock[SINCE] += 1
    same = True
    for j in range(z.shape[0]):
        same = same and z[j] == earlier[j]
    if same:
        return int(clock[SINCE])
    if clock[SINCE] == clock[HORIZON]:
        for j in range(z.shape[0]):
            earlier[j] = z[j]
        clock[SINCE] = 0
        clock[HORIZON] *= 2
    return 0


@jit
def norm(z: Any) -> float:
    """‖w‖, summed from left to right: the same bits in a compiled run and in one that is watched."""
    total = 0.0
    for j in range(z.shape[0] - 1):
        total += z[j] * z[j]
    return np.sqrt(total)


@jit
def epochs(
    rows: Any,
    labels: Labels,
    positive: int,
    orders: Any,
    machine: Memory,
    rule: Rule,
    repeats: bool,
    lines: Lines,
) -> tuple[int, int]:
    """Run as many epochs as there are lines; write down each, and return how many there were.

    They end early after one without a mistake, and when no updates are left. If epoch ``repeats`` epoch,
    they end as well when the weights are what they were; the second number says how many epochs ago.
    """
    z, u, count = machine.z, machine.u, machine.counts
    mean, predictor = np.empty(u.shape[0]), z
    for e in range(lines.mistakes.shape[0]):
        made = count[MADE]
        order = orders[e % orders.shape[0]]
        steps(rows, labels, positive, order, z, u, count, rule, rule.rates[0])
        if u.shape[0] > 0:
            for j in range(u.shape[0]):
                mean[j] = z[j] - u[j] / count[SEEN]
            predictor = mean
        if lines.errors.shape[0] > 0:
            lines.errors[e] = wrong(rows, labels.codes, positive, order, predictor, rule.pad)
        lines.mistakes[e] = count[MADE] - made
        lines.norm[e] = norm(predictor)
        if lines.mistakes[e] == 0:
            return e + 1, 0
        period = repeated(z, machine.earlier, machine.clock) if repeats else 0
        if period > 0 or count[LEFT] <= 0:
            return e + 1, period
    return lines.mistakes.shape[0], 0


@jit_inner
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
    rows: Any, labels: Labels, positives: Any, Z: Any, U: Any, counts: Any, rule: Rule, predicted: Any
) -> None:
    """Write the code predicted for each sparse row, then learn from it if it has a label (code ≥ 0).

    Prediction and learning are those of ``predict_one`` and ``learn_one``, bit for bit. One machine
    predicts 1 if f(x) > 0, else 0; of several the first with the largest f(x) wins.
    """
    order = np.arange(labels.codes.shape[0])
    for i in range(labels.codes.shape[0]):
        winner = 0
        best = _value(rows, i, Z[0], U[0], counts[0, SEEN])
        if Z.shape[0] == 1:
            winner = 1 if best > 0.0 else 0
        for k in range(1, Z.shape[0]):
            f = _value(rows, i, Z[k], U[k], counts[k, SEEN])
            if f > best:
                best, winner = f, k
        predicted[i] = winner
        if labels.codes[i] < 0:
            continue
        for k in range(Z.shape[0]):
            one = order[i : i + 1]
            steps(rows, labels, positives[k], one, Z[k], U[k], counts[k], rule, rule.rates[k])


@jit_inner
def decide_one(rows: Any, order: Any, z: Any, pad: float, start: int, out: Any) -> None:
    """Write f(x_i) for i in ``order`` from out[start] on; the sign is that of the sum in order."""
    w, bias = z[:-1], pad * z[-1]
    for t in range(order.shape[0]):
        i = order[t]
        if t + AHEAD < order.shape[0]:
            prefetch_row(rows, order[t + AHEAD])
        total, error = dot(rows, i, w)
        f = total + bias
        if abs(f) <= error + 4e-16 * abs(bias):
            f = dot_in_order(rows, i, w) + bias
        out[start + t] = f


@jit
def decide(rows: Any, order: Any, Z: Any, pad: float, tile: int, out: Any) -> None:
    """Write f_k(x_i) into out[k, ·] for i in ``order``.

    Machines take turns on tiles of rows, so that a row is loaded once for all of them.
    """
    for start in range(0, order.shape[0], tile):
        part = order[start : start + tile]
        for k in range(Z.shape[0]):
            decide_one(rows, part, Z[k], pad, start, out[k])


@jit_inner
def wrong(rows: Any, codes: Any, positive: int, order: Any, z: Any, pad: float) -> int:
    """The number of rows in ``order`` with y f(x_i) ≤ 0."""
    w, bias, number = z[:-1], pad * z[-1], 0
    for t in range(order.shape[0]):
        i = order[t]
        if t + AHEAD < order.shape[0]:
            prefetch_row(rows, order[t + AHEAD])
        total, error = dot(rows, i, w)
        f = total + bias
        if abs(f) <= error + 4e-16 * abs(bias):
            f = dot_in_order(rows, i, w) + bias
        y = 1.0 if codes[i] == positive else -1.0
        number += y * f <= 0.0
    return number


@jit
def count_errors(
    rows: Any, codes: Any, positives: Any, order: Any, Z: Any, pad: float, tile: int, out: Any
) -> None:
    """Add to out[k] the number of rows in ``order`` with y f_k(x_i) ≤ 0, machines in turn as above."""
    for start in range(0, order.shape[0], tile):
        part = order[start : start + tile]
        for k in range(positives.shape[0]):
            out[k] += wrong(rows, codes, positives[k], part, Z[k], pad)


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
