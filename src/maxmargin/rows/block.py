"""A partition as it was read: a matrix, labels and weights, checked, and as rows and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.rows.base import Rows
from maxmargin.rows.csr import CsrRows
from maxmargin.rows.form import as_rows
from maxmargin.rows.sources import Source
from maxmargin.rows.structure import check_structure

__all__ = ["Block", "Weighted", "block_of", "matrix_of", "rows_of", "stacked"]


class Weighted(NamedTuple):
    """Labels of a partition together with weights."""

    labels: Any
    weight: Any


class Block(NamedTuple):
    """A partition as it was read."""

    X: Any  # a matrix
    labels: np.ndarray | None
    weight: np.ndarray | None
    names: list[str] | None = None  # of the features, where the partition knows them
    shown: str | None = None  # where it was read from


def block_of(X: Any, y: Any) -> Block:
    """A partition as it is handed over by an executor, or read now from where a source says."""
    if isinstance(X, Source):
        matrix, labels, names = X.read()
        return Block(matrix, labels, None, names, str(X))
    labels, weight = y if isinstance(y, Weighted) else (y, None)
    given = None if labels is None else labels_of(labels)
    return Block(X, given, None if weight is None else weights_of(weight))


def rows_of(X: Any) -> Rows:
    """A block of numbers, dense or sparse, as rows."""
    if hasattr(X, "to_numpy"):  # a data frame
        X = X.to_numpy()
    X = X if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        what = f"{X.ndim} dimensions, of type {X.dtype}"
        raise InputError(f"X must hold rows of real numbers. Got a partition of {what} instead.")
    check_structure(X, "a partition of X")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return as_rows(X)


def labels_of(y: Any) -> np.ndarray:
    """A block of labels as an array."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InputError(f"y must hold one label per row. Got {labels.ndim} dimensions instead.")
    return labels


def weights_of(weight: Any) -> np.ndarray:
    """A block of weights as an array of numbers ≥ 0."""
    given = np.asarray(weight)
    if given.ndim != 1 or given.dtype.kind not in "biuf":
        what = f"{given.ndim} dimensions, of type {given.dtype}"
        raise InputError(f"sample_weight must hold one number per row. Got {what} instead.")
    found = given.astype(np.float64)
    bad = found[~((found >= 0.0) & (found < np.inf))]
    if len(bad):
        worst = float(bad.min())
        raise InputError(
            f"sample_weight must hold finite numbers ≥ 0. Got {worst!r} among them instead."
        )
    return found


def matrix_of(rows: Rows) -> Any:
    """Rows as a matrix that can travel: dense, or CSR."""
    return rows.matrix if isinstance(rows, CsrRows) else rows.arrays[0]


def stacked(matrices: Sequence[Any]) -> Rows:
    """Matrices below each other, as rows."""
    if sparse.issparse(matrices[0]):
        return as_rows(sparse.csr_array(sparse.vstack(matrices, format="csr")))
    return as_rows(np.concatenate(matrices))
