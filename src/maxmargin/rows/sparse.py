"""Sparse rows (CSR), and whether the arrays of a sparse matrix fit its shape.

Compiled code, SciPy's and ours, reads and writes wherever indices and row ends point, and does not look
first. So they are looked at once, where a matrix comes in: integers of a known type, row ends that rise
from zero to no more than there is, indices below the number of columns. That is a minimum and a maximum,
a small part of one product with a vector. Indices that are not sorted, or repeated, are sound.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.rows.base import Csr, Rows


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
        with np.errstate(invalid="ignore"):  # nan is passed on, and refused by validation
            for _, block in self.blocks():
                np.maximum.at(reach, block.arrays.indices, np.abs(block.arrays.data))
        return reach


def _square_lengths(X: Any) -> np.ndarray:
    squares = sparse.csr_array((X.data.astype(np.float64) ** 2, X.indices, X.indptr), shape=X.shape)
    return np.asarray(squares.sum(axis=1)).ravel()


INDEX_TYPES = (np.dtype(np.int32), np.dtype(np.int64))  # SciPy has no others


def check_structure(X: Any, name: str = "X") -> None:
    """Refuse a sparse matrix whose arrays point outside of it; anything else is none of its business."""
    if not sparse.issparse(X):
        return
    fault = _fault(X)
    if fault:
        raise InputError(
            f"{name} must be a sparse matrix whose arrays fit its shape, {tuple(X.shape)}. Got one in "
            f"which {fault}. Make it anew from its entries: scipy.sparse.coo_array((data, (row, col)), "
            "shape)."
        )


def compressed_fault(indptr: np.ndarray, indices: np.ndarray, shape: tuple[int, int]) -> str:
    """What is wrong with the row ends and columns of CSR rows of this shape; empty if nothing is."""
    n, d = shape
    if indptr.dtype not in INDEX_TYPES or indices.dtype not in INDEX_TYPES:
        return f"indptr and indices are of types {indptr.dtype} and {indices.dtype}, not int32 or int64"
    if indices.ndim != 1:
        return f"indices have the shape {indices.shape}"
    return ends_fault(indptr, n, len(indices)) or _outside("an index", indices[: indptr[-1]], d)


def ends_fault(indptr: np.ndarray, n: int, entries: int) -> str:
    """What is wrong with the ends of n rows that have at most so many entries; empty if nothing is."""
    if indptr.shape != (n + 1,):
        return f"indptr has the shape {indptr.shape}, not {(n + 1,)}"
    if indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        return "indptr does not rise from 0"
    return "" if indptr[-1] <= entries else f"indptr ends at {indptr[-1]}, with {entries} indices"


def _fault(X: Any) -> str:
    if X.ndim != 2:
        return f"there are {X.ndim} dimensions, not 2"
    n, d = X.shape
    if X.format in ("csr", "csc"):
        return _lengths(X.data, 1, X.indices) or compressed_fault(
            X.indptr, X.indices, (n, d) if X.format == "csr" else (d, n)
        )
    if X.format == "bsr":
        return _lengths(X.data, 3, X.indices) or _blocks_fault(X)
    if X.format == "coo":
        return _coordinates_fault(X)
    if X.format == "dia":
        if X.offsets.dtype not in INDEX_TYPES or X.offsets.ndim != 1:
            return f"offsets are of type {X.offsets.dtype} and shape {X.offsets.shape}"
        return _lengths(X.data, 2, X.offsets) or _outside("an offset", X.offsets, 2**31, -(2**31))
    if X.format == "lil":
        rows, data = X.rows, X.data
        if len(rows) != n or [len(row) for row in rows] != [len(row) for row in data]:
            return "there are not as many indices as numbers in each of its rows"
        return next(filter(None, (_outside("an index", np.array(row), d) for row in rows if row)), "")
    keys = np.array(list(X.keys()), dtype=np.int64).reshape(-1, 2)  # a dictionary of keys
    return _outside("a row", keys[:, 0], n) or _outside("a column", keys[:, 1], d)


def _blocks_fault(X: Any) -> str:
    (n, d), (height, width) = X.shape, X.data.shape[1:]
    if not height or not width or n % height or d % width:
        return f"blocks of {height} × {width} do not divide it"
    return compressed_fault(X.indptr, X.indices, (n // height, d // width))


def _coordinates_fault(X: Any) -> str:
    for what, places, size in (("a row", X.row, X.shape[0]), ("a column", X.col, X.shape[1])):
        if places.dtype not in INDEX_TYPES or places.ndim != 1:
            return f"{what} is of type {places.dtype}, not int32 or int64"
        fault = _lengths(X.data, 1, places) or _outside(what, places, size)
        if fault:
            return fault
    return ""


def _lengths(data: np.ndarray, ndim: int, places: np.ndarray) -> str:
    if data.ndim != ndim or len(data) != len(places):
        return f"there are numbers of the shape {data.shape} for {len(places)} places"
    return ""


def _outside(what: str, places: np.ndarray, size: int, least: int = 0) -> str:
    if not len(places):
        return ""
    low, high = int(places.min()), int(places.max())
    if least <= low and high < size:
        return ""
    return f"{what} is {low if low < least else high}, not from {least} to {size - 1}"
