"""The two forms in which compiled kernels read rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Csr", "Dense"]


class Dense(NamedTuple):
    """A C-ordered matrix, and optionally its 16-bit sketch (see ``kernels.sketch``)."""

    X: np.ndarray  # (n, d) float64 or float32, read-only
    sketch: np.ndarray  # (n, d) int16, or (0, 0) if there is none
    unit: np.ndarray  # (d,) float64: x_ij = unit_j · sketch_ij up to half a unit


class Csr(NamedTuple):
    """Compressed sparse rows in canonical form: indices sorted, no duplicates."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
