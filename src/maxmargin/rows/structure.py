"""Whether the arrays of a sparse matrix fit its shape.

Compiled code, SciPy's and ours, reads and writes wherever indices and row ends point, and does not look
first. So they are looked at once, where a matrix comes in: integers of a known type, row ends that rise
from zero to no more than there is, indices below the number of columns. That is a minimum and a maximum,
a small part of one product with a vector. Indices that are not sorted, or repeated, are sound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError

__all__ = ["check_structure", "compressed_fault", "ends_fault"]

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
