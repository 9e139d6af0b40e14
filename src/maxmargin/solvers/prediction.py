"""Labels from planes: the class that wins at each row, where no decision values are asked for.

See :mod:`maxmargin.kernels.winners` for what decides. The same pass over the rows finds out whether all
numbers are finite and of a permitted size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.core.parameters import LARGEST
from maxmargin.kernels.winners import column_sides, largest, sides
from maxmargin.rows import Rows, as_rows

PRODUCT_ENTRIES = 1 << 16


def winners(X: Any, Z: np.ndarray) -> np.ndarray | None:
    """Return the number of the class that wins at each row of a matrix; the planes are the rows of Z.

    One plane decides between the classes 0 and 1. None is returned where a number is not finite or too
    large: then it is for the caller to say so.
    """
    heaviest = float(np.max(np.abs(Z[:, :-1]), initial=0.0))
    if not heaviest <= LARGEST:
        return None
    out = np.empty(X.shape[0], dtype=np.intp)
    decide = _sides if len(Z) == 1 else _largest
    return out if decide(X, np.ascontiguousarray(Z), heaviest, out) else None


def _sides(X: Any, Z: np.ndarray, heaviest: float, out: np.ndarray) -> bool:
    if sparse.issparse(X) or X.flags.c_contiguous or not X.flags.f_contiguous:
        return bool(sides(as_rows(X).arrays, Z[0], heaviest, out))
    return bool(column_sides(as_rows(X.T).arrays[0], Z[0], out))


def _largest(X: Any, Z: np.ndarray, heaviest: float, out: np.ndarray) -> bool:
    V = np.ascontiguousarray(Z[:, :-1].T)
    for where, block in _blocks(X):
        with np.errstate(invalid="ignore", over="ignore"):  # the kernel sees what is not allowed
            F = np.ascontiguousarray(block.times(V).T)
        if not largest(block.arrays, F, Z, heaviest, out[where]):
            return False
    return True


def _blocks(X: Any) -> Iterator[tuple[slice, Rows]]:
    """Rows whose numbers are still in the cache when their products have been computed."""
    if sparse.issparse(X):
        yield from as_rows(X).blocks()
        return
    length = max(1, PRODUCT_ENTRIES // X.shape[1])
    for start in range(0, len(X), length):
        where = slice(start, start + length)
        yield where, as_rows(X[where])
