"""Rows that stay where they are, in partitions: on the workers of a cluster.

There is one operation, a *round*: a pure function of a partition and of a small state runs wherever the
partition is, and returns a small summary. The summaries come back in the order of the partitions, so
sums over them have the same bits however many workers there are. A partition is read again in every
round: nothing that could be lost is kept elsewhere than here. Remote rows are not ``Rows``: what would
need a number per row in one place cannot be asked of them by mistake.

Whoever runs a function on a partition reads it first, and forgets it afterwards. So a lost worker costs
no more than another read; a small description of each partition travels, and nothing but names of files
is ever pickled.

X, y and weights of Dask become one collection first, a partition of which is a triple of theirs. Dask
optimises every collection by itself: two columns of the same Parquet files may then end in other
partitions, since small files are read several at a time, and how many depends on the columns. Of its
optimisations only the choice of columns is used, which leaves partitions as they are.
"""

from __future__ import annotations

import io
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.rows.base import Rows
from maxmargin.rows.sparse import check_structure
from maxmargin.rows.training_data import Combine, Function, Part, Partitions, as_rows, codes_of


def joined(*given: Any) -> Any:
    """A collection of triples from the partitions of X, of X and y, or of X, y and weights."""
    if all(map(_is_frame, given)):
        from dask import dataframe

        together: Any = dataframe.map_partitions
        options = {"meta": (None, object), "align_dataframes": False, "enforce_metadata": False}
        return together(_triple, *given, **options).simplify()
    from dask import array

    blocks = [_blocks(one) if _is_frame(one) else one for one in given]
    axes = [(one, tuple(range(one.ndim))) for one in blocks]
    together = array.blockwise
    options = {"align_arrays": False, "dtype": object, "meta": np.empty(0, object)}
    return together(_triple, (0,), *[part for pair in axes for part in pair], **options)


def cut(vector: Any, lengths: tuple[int, ...], wanted: tuple[int, ...]) -> Any:
    """An array or a series, whose partitions have these lengths, in partitions of others."""
    from dask import array

    blocks = _blocks(vector) if _is_frame(vector) else vector
    arrays = blocks.map_blocks(np.asarray, dtype=object, meta=np.empty(0, object))
    made: Any = array.Array
    return made(arrays.dask, arrays.name, (lengths,), meta=arrays._meta).rechunk((wanted,))


def _is_frame(collection: Any) -> bool:
    """Whether this is a data frame or a series."""
    return not hasattr(collection, "chunks")


def _blocks(frame: Any) -> Any:
    """The partitions of a data frame or series as the blocks of an array of one dimension."""
    from dask import array

    plain = frame.simplify()
    keys = plain.__dask_keys__()
    lengths = (np.nan,) * len(keys)
    made: Any = array.Array
    return made(plain.__dask_graph__(), keys[0][0], (lengths,), meta=np.empty(0, object))


def _triple(X: Any, y: Any = None, weight: Any = None) -> tuple[Any, Any, Any]:
    """What belongs together, on a worker; of a matrix Dask hands over the list of its blocks."""
    return X[0] if isinstance(X, list) else X, y, weight


class Source(ABC):
    """One partition."""

    @abstractmethod
    def read(self) -> tuple[Any, np.ndarray | None, list[str] | None]:
        """The matrix, the labels and the names of the features, the same each time."""


class Sources:
    """Partitions that estimators take in place of X and y.

    Parameters
    ----------
    parts : sequence of Source
        The partitions, in order.
    client : distributed.Client or None
        The cluster that reads them; None is Dask's own scheduler.
    """

    ndim = 2

    def __init__(self, parts: Sequence[Source], client: Any = None) -> None:
        self.parts, self.client = tuple(parts), client

    @property
    def npartitions(self) -> int:
        """How many partitions there are."""
        return len(self.parts)


def brought_here(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Yield matrix and labels of the partitions, brought here one after the other."""
    if isinstance(X, Sources):
        for part in X.parts:
            matrix, labels, _ = part.read()
            yield matrix, labels
        return
    if hasattr(X, "chunks") and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if not hasattr(y, "to_delayed") or X.npartitions != y.npartitions:
        raise InputError(
            f"y must be a Dask array or series with the partitions of X, {X.npartitions} of them. Got "
            f"{type(y).__name__} of {getattr(y, 'npartitions', 1)} instead. Take both from one table, "
            "or rechunk y."
        )
    for part in joined(X, y).to_delayed(optimize_graph=False):
        yield part.compute()[:2]


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


Given = Sequence[tuple[Any, ...]]  # small values for each of the partitions


class Executor(Protocol):
    """Where partitions are, and how a function is run on them."""

    parts: int

    def run(
        self, function: Function, numbers: Sequence[int], given: Given, combine: Combine | None = None
    ) -> list[Any]:
        """Return ``function(X, y, *given[k])`` of each partition ``numbers[k]``, in this order.

        With ``combine``, neighbours are combined where they are, until few are left.
        """

    def chain(self, function: Function, numbers: Sequence[int], given: Given, start: Any) -> Any:
        """Hand a state on: ``function(X, y, *given[k], state)`` of partition ``numbers[k]``, in turn."""

    @property
    def at_once(self) -> int:
        """How many partitions are read at the same time."""


def split(rows: Partitions, indices: np.ndarray) -> list[np.ndarray]:
    """Ascending row numbers, as numbers within each partition."""
    cuts = np.searchsorted(indices, rows.offsets)
    pairs = zip(cuts[:-1], cuts[1:], rows.offsets[:-1], strict=True)
    return [indices[low:high] - first for low, high, first in pairs]


class RemoteRows(Partitions):
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
        self._change: Callable[[Rows], Rows] | None = None

    @property
    def parts(self) -> int:
        """How many partitions there are."""
        return len(self._numbers)

    def _asked(self, function: Function, states: Given, combine: Combine | None) -> list[Any]:
        function = self._seeing(function)
        given = [(function, self.classes, *state) for state in states]
        results = self._executor.run(opened, self._numbers, given, combine)
        self.bytes_moved += sum(map(moved, given)) + sum(map(moved, results))
        return results

    def along(self, function: Function, start: Any, numbers: Sequence[int], own: Sequence[Any]) -> Any:
        """Hand a state on, by one graph.

        A graph of all partitions would have them read ahead, to wait in memory: see ``at_once``.
        """
        some, function = [self._numbers[number] for number in numbers], self._seeing(function)
        given = [(function, self.classes, mine) for mine in own]
        state, size = self._executor.chain(_handed, some, given, (start, 0))
        self.bytes_moved += sum(map(moved, given)) + size
        return state

    @property
    def at_once(self) -> int:
        """How many partitions are read at the same time."""
        return self._executor.at_once

    def changed(self, change: Callable[[Rows], Rows], d: int) -> RemoteRows:
        """The same partitions with other features: rows are changed before a function sees them."""
        other = RemoteRows(self._executor, self._numbers, self.lengths.tolist(), d, self.classes)
        other._change = change
        return other

    def _seeing(self, function: Function) -> Function:
        """The function of a partition as it is seen here."""
        return function if self._change is None else partial(_changed, function, self._change)


def opened(X: Any, y: Any, function: Function, classes: np.ndarray | None, *state: Any) -> Any:
    """Run a function on a partition; this is what workers call."""
    block = block_of(X, y)
    rows, codes = rows_of(block.X), np.empty(0, np.int32)
    if classes is not None:
        assert block.labels is not None
        codes = codes_of(block.labels, classes, block.weight)
    return function(Part(rows, codes, block.weight), *state)


def _changed(function: Function, change: Callable[[Rows], Rows], part: Part, *state: Any) -> Any:
    return function(part._replace(rows=change(part.rows)), *state)


def _handed(
    X: Any, y: Any, function: Function, classes: np.ndarray, own: Any, before: tuple[Any, int]
) -> tuple[Any, int]:
    """Hand a state on, and add up what it takes on its way."""
    state, size = before
    after = opened(X, y, function, classes, own, state)
    return after, size + moved(state) + moved(after)


def moved(values: Any) -> int:
    """How many bytes some values take on their way."""
    buffers: list[pickle.PickleBuffer] = []
    head = io.BytesIO()
    pickler = pickle.Pickler(head, protocol=5, buffer_callback=buffers.append)
    pickler.fast = True  # the same whichever objects happen to be shared
    pickler.dump(values)
    return head.tell() + sum([buffer.raw().nbytes for buffer in buffers])
