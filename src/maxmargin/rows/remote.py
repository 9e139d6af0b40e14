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
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from maxmargin.core.labels import encode
from maxmargin.rows.base import Rows
from maxmargin.rows.block import block_of, rows_of

__all__ = ["Executor", "Part", "RemoteRows", "moved", "opened"]

LEFT_OUT = -1  # the code of a row of weight zero


class Executor(Protocol):
    """Where partitions are, and how a function is run on them."""

    parts: int

    def run(
        self,
        function: Callable[..., Any],
        numbers: Sequence[int],
        given: Sequence[tuple[Any, ...]],
        combine: Callable[[list[Any]], Any] | None = None,
    ) -> list[Any]:
        """Return ``function(X, y, *given[k])`` of each partition ``numbers[k]``, in this order.

        With ``combine``, neighbours are combined where they are, until few are left.
        """

    def chain(
        self,
        function: Callable[..., Any],
        numbers: Sequence[int],
        given: Sequence[tuple[Any, ...]],
        start: Any,
    ) -> Any:
        """Hand a state on: ``function(X, y, *given[k], state)`` of partition ``numbers[k]``, in turn."""

    @property
    def at_once(self) -> int:
        """How many partitions are read at the same time."""


class Part(NamedTuple):
    """A partition as functions see it."""

    rows: Rows
    codes: np.ndarray  # of the labels, −1 of rows that are left out; empty if there are no labels
    weight: np.ndarray | None = None  # of the rows, if they have weights


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
        self._change: Callable[[Rows], Rows] | None = None

    @property
    def parts(self) -> int:
        """How many partitions there are."""
        return len(self._numbers)

    def each(
        self,
        function: Callable[..., Any],
        *small: Any,
        own: Sequence[Any] | None = None,
        combine: Callable[[list[Any]], Any] | None = None,
    ) -> list[Any]:
        """One round: ``function(part, *small)`` of every partition, with its own state at the end."""
        function = self._seeing(function)
        states = [small if own is None else (*small, own[k]) for k in range(self.parts)]
        given = [(function, self.classes, *state) for state in states]
        results = self._executor.run(opened, self._numbers, given, combine)
        self.rounds += 1
        self.bytes_moved += sum(map(moved, given)) + sum(map(moved, results))
        return results

    def along(
        self, function: Callable[..., Any], start: Any, numbers: Sequence[int], own: Sequence[Any]
    ) -> Any:
        """Hand a state on: ``function(part, own[k], state)`` of partition ``numbers[k]``, in turn.

        One graph, and a part of a round: what makes up a round the caller says. A graph of all
        partitions would have them read ahead, to wait in memory: see ``at_once``.
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

    def _seeing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function of a partition as it is seen here."""
        return function if self._change is None else partial(_changed, function, self._change)

    def split(self, indices: np.ndarray) -> list[np.ndarray]:
        """Ascending row numbers, as numbers within each partition."""
        cuts = np.searchsorted(indices, self.offsets)
        pairs = zip(cuts[:-1], cuts[1:], self.offsets[:-1], strict=True)
        return [indices[low:high] - first for low, high, first in pairs]


def opened(X: Any, y: Any, function: Callable[..., Any], classes: np.ndarray | None, *state: Any) -> Any:
    """Run a function on a partition; this is what workers call."""
    block = block_of(X, y)
    rows, codes = rows_of(block.X), np.empty(0, np.int32)
    if classes is not None:
        assert block.labels is not None
        if block.weight is None:
            codes = encode(block.labels, classes)
        else:
            kept = np.flatnonzero(block.weight)
            codes = np.full(rows.n, LEFT_OUT, np.int32)
            codes[kept] = encode(block.labels[kept], classes)
    return function(Part(rows, codes, block.weight), *state)


def _changed(
    function: Callable[..., Any], change: Callable[[Rows], Rows], part: Part, *state: Any
) -> Any:
    return function(part._replace(rows=change(part.rows)), *state)


def _handed(
    X: Any, y: Any, function: Callable[..., Any], classes: np.ndarray, own: Any, before: tuple[Any, int]
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
    return head.tell() + sum(buffer.raw().nbytes for buffer in buffers)
