"""Rows that are fetched part by part and not kept: from a file, or made from other rows on the way.

Whatever the parts come from, a pass is the same: fetch a block, work on it, forget it. Only a few blocks
are in memory at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from maxmargin.rows.ahead import in_turn
from maxmargin.rows.arrays import Csr, Dense
from maxmargin.rows.base import BLOCK_ENTRIES, Rows
from maxmargin.rows.csr import CsrRows
from maxmargin.rows.dense import DenseRows
from maxmargin.rows.room import in_memory, room

__all__ = ["PartedRows"]

Fetch = Callable[[int, int], DenseRows | CsrRows]


class PartedRows(Rows):
    """Rows start … stop−1 are what ``fetch(start, stop)`` returns, each time it is called.

    Parameters
    ----------
    fetch : callable
        A pure function: the same rows for the same numbers.
    shape : (n, d)
        How many rows and features there are.
    entries : int
        Stored numbers.
    is_sparse : bool
        Whether ``fetch`` returns sparse rows.
    read : callable, optional
        The same for rows that are used all together, in a pass; called by a thread, one block ahead.
    whole : Rows, optional
        All of them, where they can be reached at once (a file mapped whole); no copy is made of it.
    largest : int
        Numbers in a block, at most (but always one row).
    """

    resident = False

    def __init__(
        self,
        fetch: Fetch,
        shape: tuple[int, int],
        entries: int,
        is_sparse: bool,
        read: Fetch | None = None,
        whole: DenseRows | CsrRows | None = None,
        largest: int = BLOCK_ENTRIES,
    ) -> None:
        self._fetch, self._entries, self._read, self._whole = fetch, entries, read or fetch, whole
        self._largest = largest
        self.n, self.d = shape
        self.is_sparse = is_sparse

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and features there are."""
        return self.n, self.d

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, key: Any) -> Rows:
        """Rows by slice, mask or index, as scikit-learn's splitters ask for them."""
        return self.select(np.atleast_1d(np.arange(self.n)[key]))

    @property
    def arrays(self) -> NoReturn:
        """There are none for all rows at once."""
        raise TypeError("these rows are not in memory: go through blocks() or stretches()")

    @property
    def entries(self) -> int:
        """Stored numbers."""
        return self._entries

    def block_length(self, entries: int = BLOCK_ENTRIES) -> int:
        """How many rows hold about ``entries`` numbers, or what a block holds at most."""
        return super().block_length(min(entries, self._largest))

    def between(self, start: int, stop: int) -> DenseRows | CsrRows:  # type: ignore[override]
        """Rows start … stop−1, fetched now."""
        return self._fetch(start, stop)

    def at_once(self) -> DenseRows | CsrRows | None:
        """All rows as if in memory, if memory holds them: mapped, or fetched where there is room."""
        if self._whole is not None and self._entries <= in_memory():
            return self._whole
        return self.between(0, self.n) if self._entries <= room() else None

    def blocks(self, entries: int = BLOCK_ENTRIES) -> Iterator[tuple[slice, Any]]:
        """Yield the rows block by block; the next block is read while this one is used."""
        length = self.block_length(entries)
        places = [(start, min(start + length, self.n)) for start in range(0, self.n, length)]
        return in_turn(self._read, places, length * self.entries / max(self.n, 1))

    def stretches(self, order: np.ndarray) -> Iterator[tuple[slice, Dense | Csr, np.ndarray, int]]:
        """Yield pieces of ``order`` that lie in one block each."""
        if self._whole is not None:
            yield from self._whole.stretches(order)
            return
        length = self.block_length()
        home = order // length
        cuts = [0, *(np.flatnonzero(np.diff(home)) + 1).tolist(), len(order)]
        for start, stop in pairwise(cuts):
            if start == stop:
                continue
            first = int(home[start]) * length
            block = self._fetch(first, min(first + length, self.n))
            yield slice(start, stop), block.arrays, order[start:stop] - first, first

    def _windows(
        self, numbers: np.ndarray
    ) -> Iterator[tuple[np.ndarray, DenseRows | CsrRows, np.ndarray]]:
        """Yield places in ``numbers``, a window with the rows there, and their places in it."""
        length = self.block_length()
        sequence = np.argsort(numbers, kind="stable")
        home = numbers[sequence] // length
        for part in np.split(sequence, np.flatnonzero(np.diff(home)) + 1):
            if len(part):
                low, high = int(numbers[part[0]]), int(numbers[part[-1]]) + 1
                yield part, self._fetch(low, high), numbers[part] - low

    def take(self, indices: np.ndarray) -> np.ndarray:
        """A few rows by index, dense, as doubles."""
        numbers = _numbers(indices)
        out = np.empty((len(numbers), self.d))
        for places, window, local in self._windows(numbers):
            out[places] = window.take(local)
        return out

    def select(self, indices: np.ndarray) -> Rows:
        """Rows by index: copied into memory if they are few, else fetched from here each time."""
        numbers = _numbers(indices)
        share = self.entries * len(numbers) / max(self.n, 1)
        return self.copied(numbers) if share <= room() else SelectedRows(self, numbers, int(share))

    def copied(self, numbers: np.ndarray) -> DenseRows | CsrRows:
        """Rows by number, in memory; the file is read in its order, once."""
        if not self.is_sparse:
            X = np.empty((len(numbers), self.d), self._fetch(0, min(1, self.n)).arrays[0].dtype)
            for places, window, local in self._windows(numbers):
                X[places] = window.arrays[0][local]
            return DenseRows(X)
        parts = [(places, window.select(local)) for places, window, local in self._windows(numbers)]
        if not parts:
            return CsrRows.from_matrix(sparse.csr_array((0, self.d)))
        stack = sparse.vstack([rows.matrix for _, rows in parts], format="csr")  # type: ignore[union-attr]
        sequence = np.concatenate([places for places, _ in parts])
        if np.array_equal(sequence, np.arange(len(sequence))):  # in order already: no second copy
            return CsrRows.from_matrix(stack)
        back = np.empty_like(sequence)
        back[sequence] = np.arange(len(sequence))
        return CsrRows.from_matrix(sparse.csr_array(stack)[back])

    def times(self, V: np.ndarray) -> np.ndarray:
        """X V, block by block."""
        out = np.empty((self.n, *V.shape[1:]))
        for where, block in self.blocks():
            out[where] = block.times(V)
        return out

    def combine(self, C: np.ndarray) -> np.ndarray:
        """C X, block by block."""
        out = np.zeros((len(C), self.d))
        for where, block in self.blocks():
            out += block.combine(C[:, where])
        return out

    def square_lengths(self) -> np.ndarray:
        """‖x_i‖² for every row."""
        return np.concatenate([np.empty(0), *(block.square_lengths() for _, block in self.blocks())])

    @cached_property
    def column_reach(self) -> np.ndarray:
        """max_i |x_ij| for every feature j."""
        reach = np.zeros(self.d)
        for _, block in self.blocks():
            reach = np.maximum(reach, block.column_reach)
        return reach

    def mapped(self, change: Callable[[Any], Any], more: int = 0) -> PartedRows:
        """The same rows, each block changed on the way; ``more`` features are added to each row."""
        return PartedRows(
            lambda start, stop: change(self._fetch(start, stop)),
            (self.n, self.d + more),
            self.entries + more * self.n,
            self.is_sparse,
            lambda start, stop: change(self._read(start, stop)),
            largest=self._largest,
        )


class SelectedRows(PartedRows):
    """Some rows of others, too many to be copied: the first ones are, as far as there is room."""

    def __init__(self, origin: PartedRows, numbers: np.ndarray, entries: int) -> None:
        shape = len(numbers), origin.d
        near = origin.copied(numbers[: len(numbers) * room() // max(entries, 1)])
        self._origin, self._numbers, self._near = origin, numbers, near

        def fetch(start: int, stop: int) -> DenseRows | CsrRows:
            return near.between(start, stop) if stop <= near.n else origin.copied(numbers[start:stop])

        super().__init__(fetch, shape, entries, origin.is_sparse, largest=origin._largest)

    def take(self, indices: np.ndarray) -> np.ndarray:
        """A few rows by index, dense, as doubles."""
        indices = _numbers(indices)
        out, far = np.empty((len(indices), self.d)), indices >= self._near.n
        out[~far] = self._near.take(indices[~far])
        out[far] = self._origin.take(self._numbers[indices[far]])
        return out

    def select(self, indices: np.ndarray) -> Rows:
        """Rows by index: copied into memory if they are few, else fetched each time."""
        return self._origin.select(self._numbers[_numbers(indices)])


def _numbers(indices: np.ndarray) -> np.ndarray:
    """The numbers of rows chosen by number or by a mask."""
    indices = np.asarray(indices)
    return np.flatnonzero(indices) if indices.dtype == bool else indices
