"""Rows that stay where they are, in partitions: on the workers of a cluster, or in a simulation of one.

There is one operation, a *round*: a pure function of a partition and of a small state runs wherever the
partition is, and returns a small summary. The summaries come back in the order of the partitions, so
sums over them have the same bits however many workers there are. A partition is read again in every
round: nothing that could be lost is kept elsewhere than here. Remote rows are not ``Rows``: what would
need a number per row in one place cannot be asked of them by mistake.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.core.labels import encode
from maxmargin.rows.base import Rows
from maxmargin.rows.csr import CsrRows
from maxmargin.rows.form import as_rows

__all__ = ["Executor", "Part", "RemoteRows", "matrix_of", "moved", "opened", "stacked"]


class Executor(Protocol):
    """Where partitions are, and how a function is run on them."""

    parts: int

    def run(
        self, function: Callable[..., Any], numbers: Sequence[int], given: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """Return ``function(X, y, *given[k])`` of each partition ``numbers[k]``, in this order."""


class Part(NamedTuple):
    """A partition as functions see it."""

    rows: Rows
    codes: np.ndarray  # of the labels; empty if there are none


class RemoteRows:
    """Rows in partitions, of which those without rows are left out.

    Parameters
    ----------
    executor : Executor
        Runs functions on partitions.
    numbers, lengths : sequence of int
        The partitions that hold rows, and how many.
    d : int
        The number of features.
    classes : numpy.ndarray or None
        The labels; the code of a label is its place among them.
    """

    def __init__(
        self,
        executor: Executor,
        numbers: Sequence[int],
        lengths: Sequence[int],
        d: int,
        classes: np.ndarray | None,
    ) -> None:
        self._executor, self._numbers = executor, list(numbers)
        self.lengths = np.array(lengths, dtype=np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        self.n, self.d, self.classes = int(self.offsets[-1]), d, classes
        self.rounds = self.bytes_moved = 0

    @property
    def parts(self) -> int:
        """How many partitions there are."""
        return len(self._numbers)

    def each(
        self, function: Callable[..., Any], *small: Any, own: Sequence[Any] | None = None
    ) -> list[Any]:
        """One round: ``function(part, *small)`` of every partition, with its own state at the end."""
        states = [small if own is None else (*small, own[k]) for k in range(self.parts)]
        given = [(function, self.classes, *state) for state in states]
        results = self._executor.run(opened, self._numbers, given)
        self.rounds += 1
        self.bytes_moved += sum(map(moved, given)) + sum(map(moved, results))
        return results

    def split(self, indices: np.ndarray) -> list[np.ndarray]:
        """Ascending row numbers, as numbers within each partition."""
        cuts = np.searchsorted(indices, self.offsets)
        pairs = zip(cuts[:-1], cuts[1:], self.offsets[:-1], strict=True)
        return [indices[low:high] - first for low, high, first in pairs]


def opened(X: Any, y: Any, function: Callable[..., Any], classes: np.ndarray | None, *state: Any) -> Any:
    """Run a function on a partition; this is what workers call."""
    codes = np.empty(0, np.int32) if classes is None else encode(labels_of(y), classes)
    return function(Part(rows_of(X), codes), *state)


def rows_of(X: Any) -> Rows:
    """A block of numbers, dense or sparse, as rows."""
    if hasattr(X, "to_numpy"):  # a data frame
        X = X.to_numpy()
    X = X if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        what = f"{X.ndim} dimensions, of type {X.dtype}"
        raise InputError(f"X must hold rows of real numbers. Got a partition of {what} instead.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return as_rows(X)


def labels_of(y: Any) -> np.ndarray:
    """A block of labels as an array."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InputError(f"y must hold one label per row. Got {labels.ndim} dimensions instead.")
    return labels


def matrix_of(rows: Rows) -> Any:
    """Rows as a matrix that can travel: dense, or CSR."""
    return rows.matrix if isinstance(rows, CsrRows) else rows.arrays[0]


def stacked(matrices: Sequence[Any]) -> Rows:
    """Matrices below each other, as rows."""
    if sparse.issparse(matrices[0]):
        return as_rows(sparse.csr_array(sparse.vstack(matrices, format="csr")))
    return as_rows(np.concatenate(matrices))


def moved(values: Any) -> int:
    """How many bytes some values take on their way."""
    buffers: list[pickle.PickleBuffer] = []
    head = io.BytesIO()
    pickler = pickle.Pickler(head, protocol=5, buffer_callback=buffers.append)
    pickler.fast = True  # the same whichever objects happen to be shared
    pickler.dump(values)
    return head.tell() + sum(buffer.raw().nbytes for buffer in buffers)
