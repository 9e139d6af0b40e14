"""Sparse rows (CSR)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.rows.arrays import Csr
from maxmargin.rows.base import Rows

__all__ = ["CsrRows"]


class CsrRows(Rows):
    """Rows of a CSR matrix, brought into canonical form once (the user's matrix is left alone)."""

    def __init__(self, X: Any) -> None:
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.matrix = X
        self.n, self.d = X.shape
        frozen = [a.view() for a in (X.data, X.indices, X.indptr)]
        for a in frozen:
            a.flags.writeable = False  # one type for the kernels, memory maps included
        self._arrays = Csr(*frozen)

    @property
    def arrays(self) -> Csr:
        """The form the compiled kernels read."""
        return self._arrays

    @property
    def entries(self) -> int:
        """Stored numbers."""
        return int(self.matrix.nnz)

    def between(self, start: int, stop: int) -> CsrRows:
        """Rows start … stop−1, sharing values and indices."""
        m = self.matrix
        low, high = m.indptr[start], m.indptr[stop]
        part = (m.data[low:high], m.indices[low:high], m.indptr[start : stop + 1] - low)
        block = sparse.csr_array(part, shape=(stop - start, self.d))
        block.has_canonical_format = True
        return CsrRows(block)

    def take(self, indices: np.ndarray) -> np.ndarray:
        """A few rows by index, dense, as doubles."""
        return np.asarray(self.matrix[indices].toarray(), dtype=np.float64)

    def select(self, indices: np.ndarray) -> CsrRows:
        """Rows by index (a copy)."""
        return CsrRows(self.matrix[indices])

    def times(self, V: np.ndarray) -> np.ndarray:
        """X V."""
        return np.asarray(self.matrix @ V)

    def combine(self, C: np.ndarray) -> np.ndarray:
        """Cᵀ X."""
        return np.asarray(self.matrix.T @ C).T

    def reach(self) -> float:
        """Max |x_ij|, nan if an entry is nan."""
        data = self.matrix.data
        return float(max(data.max(), -data.min())) if data.size else 0.0
