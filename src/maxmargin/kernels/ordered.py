"""Products whose every bit is the same for dense and sparse rows: all sums are taken in order."""

from __future__ import annotations

from typing import Any

from maxmargin.kernels.jit import jit
from maxmargin.kernels.primitives import add_products, add_row, dot_in_order

__all__ = ["combine", "products"]


@jit
def products(rows: Any, V: Any, out: Any) -> None:
    """Write X V: the columns of V take their turns within a row, so that they run side by side."""
    if V.shape[1] == 1:
        v = V.copy().ravel()
        for i in range(out.shape[0]):
            out[i, 0] = dot_in_order(rows, i, v)
        return
    out[:] = 0.0
    for i in range(out.shape[0]):
        add_products(rows, i, V, out[i])


@jit
def combine(rows: Any, C: Any, out: Any) -> None:
    """Add Cᵀ X to out, row after row; rows of weight zero are not even read."""
    for i in range(C.shape[0]):
        for k in range(C.shape[1]):
            if C[i, k] != 0.0:
                add_row(rows, i, C[i, k], out[k])
