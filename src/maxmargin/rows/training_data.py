"""What a fit is given: labelled rows, in this process or in partitions, and what is known of them.

Solvers see :class:`Partitions`, wherever the rows are. In this process there is one, without copies.
Matrices become rows here, and rows matrices that can travel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from maxmargin.core.labels import encode, find_classes
from maxmargin.rows.base import Rows
from maxmargin.rows.dense import DenseRows
from maxmargin.rows.on_disk import PartedRows
from maxmargin.rows.sparse import CsrRows

LEFT_OUT = -1  # the code of a row of weight zero


def as_rows(X: Any) -> Rows:
    """Wrap a validated matrix: CSR as it is, dense in C order (other layouts are copied once)."""
    if sparse.issparse(X):
        return CsrRows.from_matrix(X.tocsr())
    return DenseRows(np.ascontiguousarray(X))


def with_column(rows: Rows, value: float) -> Rows:
    """The rows with one more feature, the same for all."""
    if isinstance(rows, PartedRows):
        return rows.mapped(lambda block: with_column(block, value), more=1)
    column = np.full((rows.n, 1), value)
    if isinstance(rows, CsrRows):
        return as_rows(sparse.hstack([rows.matrix, sparse.csr_array(column)], format="csr"))
    return as_rows(np.hstack([rows.take(np.arange(rows.n)), column]))


def matrix_of(rows: Rows) -> Any:
    """Rows as a matrix that can travel: dense, or CSR."""
    if not rows.resident:
        rows = rows.between(0, rows.n)
    return rows.matrix if isinstance(rows, CsrRows) else rows.arrays[0]


def stacked(matrices: Sequence[Any]) -> Rows:
    """Matrices below each other, as rows."""
    if sparse.issparse(matrices[0]):
        return as_rows(sparse.csr_array(sparse.vstack(matrices, format="csr")))
    return as_rows(np.concatenate(matrices))


def is_parted(X: Any) -> bool:
    """Whether these are partitions: files, or a Dask collection."""
    return hasattr(X, "npartitions")


class Part(NamedTuple):
    """A partition as functions see it."""

    rows: Rows
    codes: np.ndarray  # of the labels, −1 of rows that are left out; empty if there are no labels
    weight: np.ndarray | None = None  # of the rows, if they have weights


class Partitions(Protocol):
    """Labelled rows in one partition or many, wherever they are: what solvers see of data."""

    n: int
    d: int
    classes: np.ndarray | None
    offsets: np.ndarray  # the number of the first row of each partition, and n
    rounds: int
    bytes_moved: int

    @property
    def parts(self) -> int:
        """How many partitions there are."""

    def each(
        self,
        function: Callable[..., Any],
        *small: Any,
        own: Sequence[Any] | None = None,
        combine: Callable[[list[Any]], Any] | None = None,
    ) -> list[Any]:
        """One pass: ``function(part, *small)`` of every partition, with its own state at the end."""

    def along(
        self, function: Callable[..., Any], start: Any, numbers: Sequence[int], own: Sequence[Any]
    ) -> Any:
        """Hand a state on: ``function(part, own[k], state)`` of partition ``numbers[k]``, in turn."""

    def changed(self, change: Callable[[Rows], Rows], d: int) -> Partitions:
        """The same partitions with other features."""

    @property
    def at_once(self) -> int:
        """How many partitions are read at the same time."""


class InMemory:
    """Rows in this process, in memory or in a file, as one partition without copies."""

    parts = at_once = 1
    bytes_moved = 0

    def __init__(self, part: Part, classes: np.ndarray | None) -> None:
        self.part, self.classes = part, classes
        self.n, self.d = part.rows.n, part.rows.d
        self.offsets = np.array([0, self.n])
        self.rounds = 0

    def each(
        self,
        function: Callable[..., Any],
        *small: Any,
        own: Sequence[Any] | None = None,
        combine: Callable[[list[Any]], Any] | None = None,
    ) -> list[Any]:
        """One pass: the only answer there is."""
        self.rounds += 1
        return [function(self.part, *small, *([] if own is None else own))]

    def along(
        self, function: Callable[..., Any], start: Any, numbers: Sequence[int], own: Sequence[Any]
    ) -> Any:
        """Hand a state on."""
        state = start
        for mine in own:
            state = function(self.part, mine, state)
        return state

    def changed(self, change: Callable[[Rows], Rows], d: int) -> InMemory:
        """The same rows with other features."""
        return InMemory(self.part._replace(rows=change(self.part.rows)), self.classes)


@dataclass(frozen=True)
class TrainingData:
    """Labelled rows, wherever they are, and what is known of them before they are learnt from."""

    rows: Partitions
    counts: np.ndarray  # of each class in each partition, rows of weight zero left out
    weights: np.ndarray  # of each class, all rows together; without weights the counts
    is_sparse: bool
    entries: int
    known_reach: np.ndarray | None = None  # max_i |x_ij|, if it has been looked for
    bad: tuple[int, int, float] | None = None  # row, column and value of the first nan or infinity
    names: list[str] | None = None  # of the features, where partitions know them
    inexact: str | None = None  # a type of numbers that are not doubles

    @property
    def n(self) -> int:
        """How many rows there are, those of weight zero left out."""
        return int(self.counts.sum())

    @property
    def classes(self) -> np.ndarray:
        """The labels that occur, sorted; the code of a label is its place among them."""
        assert self.rows.classes is not None
        return self.rows.classes

    @property
    def here(self) -> Part | None:
        """All rows, with the codes of their labels and their weights, if they are in this process."""
        return self.rows.part if isinstance(self.rows, InMemory) else None

    @property
    def reach(self) -> np.ndarray:
        """max_i |x_ij| for every feature j."""
        if self.known_reach is not None:
            return self.known_reach
        assert self.here is not None
        return self.here.rows.column_reach

    def over(self, rows: Partitions, reach: np.ndarray) -> TrainingData:
        """The same about other features of these rows."""
        more = rows.n * (rows.d - self.rows.d)
        return replace(self, rows=rows, known_reach=reach, entries=self.entries + more)

    def among(self, classes: np.ndarray) -> TrainingData:
        """The same with the classes of an earlier fit, among which the labels of partitions must be."""
        counts = np.zeros((len(self.counts), len(classes)), dtype=self.counts.dtype)
        counts[:, encode(self.classes, classes)] = self.counts
        self.rows.classes = classes
        return replace(self, counts=counts, weights=counts.sum(axis=0))


def in_memory(
    rows: Rows, y: np.ndarray, weight: np.ndarray | None = None, classes: np.ndarray | None = None
) -> TrainingData:
    """Rows in this process, with labels and weights, as one partition; ``classes`` if they are known."""
    kept = None if weight is None or weight.all() else np.flatnonzero(weight)
    labels = y if kept is None else y[kept]
    classes = find_classes(labels) if classes is None else classes
    codes = used = encode(labels, classes)
    if kept is not None:
        codes = np.full(rows.n, LEFT_OUT, np.int32)
        codes[kept] = used
    counts = np.bincount(used, minlength=len(classes))
    weights: np.ndarray = counts.astype(np.float64)
    if weight is not None:
        weights = np.bincount(used, weight if kept is None else weight[kept], len(classes))
    only = InMemory(Part(rows, codes, weight), classes)
    return TrainingData(only, counts[None], weights, rows.is_sparse, rows.entries)
