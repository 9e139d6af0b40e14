"""The compiled kernels, called as the solvers call them: the one place that knows their arguments."""

from __future__ import annotations

import numpy as np

from maxmargin.kernels.perceptron import (
    LEFT,
    MADE,
    READ,
    SEEN,
    Labels,
    Rule,
    count_errors,
    decide,
    inverse_lengths,
    sweep,
)
from maxmargin.kernels.rows import with_sketch
from maxmargin.rows import as_rows

__all__ = ["decisions", "drive", "errors", "lengths"]

FOR_EVER = 1 << 62


def drive(
    X,
    codes,
    order,
    *,
    positives=(1,),
    delta=0.0,
    eta=1.0,
    start=None,
    pad=1.0,
    normalize=False,
    weight=None,
    average=False,
    left=FOR_EVER,
    tile=FOR_EVER,
    sketch=False,
):
    """Run ``sweep`` once over ``order``; return Z, U and the counts (seen, made, left, read)."""
    rows = as_rows(X)
    arrays = with_sketch(rows).arrays if sketch else rows.arrays
    k = len(positives)
    Z = np.zeros((k, rows.d + 1)) if start is None else np.array(start, dtype=np.float64)
    U = np.zeros(Z.shape if average else (k, 0))
    counts = np.zeros((k, 4), dtype=np.int64)
    counts[:, LEFT] = left
    classes = int(np.max(codes)) + 1
    rates = eta * np.tile(np.ones(classes) if weight is None else np.asarray(weight, float), (k, 1))
    scale = lengths(X, pad) if normalize else np.empty(0)
    codes, positives = np.asarray(codes, dtype=np.int32), np.asarray(positives, dtype=np.int64)
    order = np.asarray(order, dtype=np.int64)
    rule = Rule(delta, pad, rates)
    labels = Labels(codes, scale, np.empty(0))
    sweep(arrays, labels, positives, order, Z, U, counts, rule, tile)
    named = {"seen": SEEN, "made": MADE, "left": LEFT, "read": READ}
    return Z, U, {name: counts[:, column] for name, column in named.items()}


def lengths(X, pad=1.0):
    """1/‖(x_i, pad)‖ by ``inverse_lengths``."""
    rows = as_rows(X)
    out = np.empty(rows.n)
    inverse_lengths(rows.arrays, pad, out)
    return out


def decisions(X, Z, order=None, pad=1.0, tile=FOR_EVER):
    """f_k(x_i) by ``decide``."""
    rows, Z = as_rows(X), np.asarray(Z, dtype=np.float64)
    order = np.arange(rows.n) if order is None else np.asarray(order, dtype=np.int64)
    out = np.empty((len(Z), len(order)))
    decide(rows.arrays, order, Z, pad, tile, out)
    return out


def errors(X, codes, positives, Z, pad=1.0, tile=FOR_EVER):
    """The number of rows with y·f(x) ≤ 0 by ``count_errors``."""
    rows, out = as_rows(X), np.zeros(len(Z), dtype=np.int64)
    codes, positives = np.asarray(codes, dtype=np.int32), np.asarray(positives, dtype=np.int64)
    count_errors(rows.arrays, codes, positives, np.arange(rows.n), Z, pad, tile, out)
    return out
