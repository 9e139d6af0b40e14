"""f(x_i) = w·x_i + b for chosen rows and several machines, and the lengths of padded rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.kernels.jit import jit
from maxmargin.kernels.primitives import dot, dot_in_order, norm_squared

__all__ = ["decide", "inverse_lengths"]


@jit
def decide(rows: Any, order: Any, Z: Any, pad: float, tile: int, out: Any) -> None:
    """Write f_k(x_i) into out[k, ·] for i in ``order``; the sign is that of the sum in order.

    Machines take turns on tiles of rows, so that a row is loaded once for all of them.
    """
    d = Z.shape[1] - 1
    for start in range(0, order.shape[0], tile):
        stop = min(start + tile, order.shape[0])
        for k in range(Z.shape[0]):
            w = Z[k, :d]
            bias = pad * Z[k, d]
            for t in range(start, stop):
                total, error = dot(rows, order[t], w)
                f = total + bias
                if abs(f) <= error + 4e-16 * abs(bias):
                    f = dot_in_order(rows, order[t], w) + bias
                out[k, t] = f


@jit
def inverse_lengths(rows: Any, pad: float, out: Any) -> None:
    """Write 1/‖(x_i, pad)‖ for every row, 1 for a row of zeros."""
    for i in range(out.shape[0]):
        length = np.sqrt(norm_squared(rows, i) + pad * pad)
        out[i] = 1.0
        if length > 0.0:
            out[i] = 1.0 / length
