"""f(x_i) = w·x_i + b for chosen rows and several machines, errors, and lengths of padded rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.kernels.jit import jit
from maxmargin.kernels.primitives import AHEAD, dot, dot_in_order, norm_squared, prefetch_row, size

__all__ = ["count_errors", "decide", "inverse_lengths"]


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
