"""The sketch: 16 bits per entry, with which an epoch reads a quarter of the memory.

Perceptron epochs on large dense data wait for memory, not for arithmetic. Most rows are classified
correctly with room to spare, and to see that, 16 bits per entry are enough: with
unit_j = max_i |x_ij| / 32767 and q_ij = round(x_ij / unit_j),

    |w·x_i − Σ_j w_j unit_j q_ij| ≤ ½ Σ_j |w_j| unit_j.

A kernel that finds y·f̂ − error > δ from the sketch knows that the row is no mistake; every other row
is read in full. Decisions, updates and weights are therefore the same with and without the sketch.
It costs a quarter of the memory of X and about two passes to make.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from maxmargin.kernels.jit import jit
from maxmargin.rows import DenseRows, Rows

__all__ = ["with_sketch", "worth_sketching"]

LEVELS = 32767
NOTHING = 1e-290  # smaller columns are zero to the sketch, whose unit of 1/32767 covers them
WORTH = 1 << 22  # entries; smaller data lives in the processor's caches anyway


@jit
def fill(X: Any, per_unit: Any, sketch: Any) -> None:
    """Write q_ij = round(x_ij · per_unit_j)."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            sketch[i, j] = np.int16(np.rint(X[i, j] * per_unit[j]))


def worth_sketching(rows: Rows) -> TypeGuard[DenseRows]:
    """Whether a sketch of these rows saves more than it costs: large, dense, doubles."""
    return isinstance(rows, DenseRows) and rows.X.dtype == np.float64 and rows.entries >= WORTH


def with_sketch(rows: DenseRows) -> DenseRows:
    """Return the same rows with a sketch beside them."""
    reach = rows.column_reach
    unit = np.where(reach > NOTHING, reach, 1.0) / LEVELS
    sketch = np.empty(rows.X.shape, dtype=np.int16)
    for where, _ in rows.blocks():
        fill(rows.X[where], 1.0 / unit, sketch[where])
    return DenseRows(rows.X, sketch, unit)
