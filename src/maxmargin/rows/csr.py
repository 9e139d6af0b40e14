"""Sparse rows (CSR)."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from maxmargin.rows.arrays import Csr
from maxmargin.rows.base import Rows

__all__ = ["CsrRows"]


class CsrRows(Rows):
    """Rows of a CSR matrix, brought into canonical form once (the user's matrix is left alone)."""

    is_sparse = True

    def __init__(self, arrays: Csr, shape: tuple[int, int]) -> None:
        for a in (frozen := [a.view() for a in arrays]):
            a.flags.writeable = False  # one type for the kernels, memory maps included
        self._arrays = Csr(*frozen)
        self.n, self.d = shape

    @classmethod
    def from_matrix(cls, X: Any) -> Self:
        """Wrap a CSR matrix of SciPy."""
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        stored = X.indptr[-1]  # there may be empty space behind the last entry
        arrays = X.data[:stored], X.indices[:stored], X.indptr
        return cls(Csr(*(np.require(a, requirements="A") for a in arrays)), X.shape)

    @cached_property
    def matrix(self) -> Any:
        """The rows as a CSR array of SciPy, sharing memory.

        SciPy has one type for columns and row ends: better to convert the row ends. Its constructor
        would copy the arrays where they are a small part of larger ones.
        """
        data, indices, indptr = self._arrays
        if len(data) > np.iinfo(indices.dtype).max:
            indices = indices.astype(indptr.dtype)
        matrix = sparse.csr_array((self.n, self.d), dtype=data.dtype)
        matrix.data, matrix.indices = data, indices
        matrix.indptr = indptr.astype(indices.dtype, copy=False)
        matrix.has_canonical_format = True
        return matrix

    @property
    def arrays(self) -> Csr:
        """The form the compiled kernels read."""
        return self._arrays

    @property
    def entries(self) -> int:
        """Stored numbers."""
        return len(self._arrays.data)

    def between(self, start: int, stop: int) -> Self:
        """Rows start … stop−1, sharing values and indices."""
        a = self._arrays
        low, high = a.indptr[start], a.indptr[stop]
        part = Csr(a.data[low:high], a.indices[low:high], a.indptr[start : stop + 1] - low)
        return type(self)(part, (stop - start, self.d))

    def take(self, indices: np.ndarray) -> np.ndarray:
        """A few rows by index, dense, as doubles."""
        return np.asarray(self.matrix[indices].toarray(), dtype=np.float64)

    def select(self, indices: np.ndarray) -> CsrRows:
        """Rows by index (a copy)."""
        return self.from_matrix(self.matrix[indices])

    def times(self, V: np.ndarray) -> np.ndarray:
        """X V, block by block."""
        return np.concatenate(self.map(lambda _, block: np.asarray(block.matrix @ V)))

    def combine(self, C: np.ndarray) -> np.ndarray:
        """C X, block by block."""
        parts = self.map(lambda where, block: np.asarray((block.matrix.T @ C[:, where].T).T))
        return np.asarray(sum(parts, start=np.zeros((len(C), self.d))))

    def inner(self, some: np.ndarray, others: np.ndarray) -> np.ndarray:
        """x_i·x_j for i in ``some`` and j in ``others``; the rows stay sparse."""
        X = self.matrix
        return np.asarray((X[some] @ X[others].T).toarray(), dtype=np.float64)

    def square_lengths(self) -> np.ndarray:
        """‖x_i‖² for every row."""
        parts = (_square_lengths(block.matrix) for _, block in self.blocks())
        return np.concatenate([np.empty(0), *parts])

    def within(self, smallest: float, largest: float) -> bool:
        """Whether every stored number is 0 or between these: quicker than column by column."""
        for _, block in self.blocks():
            size = np.abs(block.arrays.data)
            if len(size) and size.min() == 0.0:
                size = size[size != 0.0]
            if len(size) and not (float(size.min()) >= smallest and float(size.max()) <= largest):
                return False
        return True

    @cached_property
    def column_reach(self) -> np.ndarray:
        """max_i |x_ij| for every feature j."""
        reach = np.zeros(self.d)
        with np.errstate(invalid="ignore"):  # nan is passed on, and refused at the door
            for _, block in self.blocks():
                np.maximum.at(reach, block.arrays.indices, np.abs(block.arrays.data))
        return reach


def _square_lengths(X: Any) -> np.ndarray:
    squares = sparse.csr_array((X.data.astype(np.float64) ** 2, X.indices, X.indptr), shape=X.shape)
    return np.asarray(squares.sum(axis=1)).ravel()
