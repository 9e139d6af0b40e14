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

from maxmargin.rows.arrays import Csr, Dense
from maxmargin.rows.base import BLOCK_ENTRIES, Rows
from maxmargin.rows.csr import CsrRows
from maxmargin.rows.dense import DenseRows
from maxmargin.rows.room import room

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
    ahead : callable, optional
        Told which rows will be asked for next, so that they can be read in advance.
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
        ahead: Callable[[int, int], None] | None = None,
        whole: DenseRows | CsrRows | None = None,
        largest: int = BLOCK_ENTRIES,
    ) -> None:
        self._fetch, self._entries, self._ahead, self._whole = fetch, entries, ahead, whole
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

    def blocks(self, entries: int = BLOCK_ENTRIES) -> Iterator[tuple[slice, Any]]:
        """Yield the rows block by block; the next block is announced before this one is used."""
        length = self.block_length(entries)
        for start in range(0, self.n, length):
            stop = min(start + length, self.n)
            block = self._fetch(start, stop)
            if self._ahead is not None and stop < self.n:
                self._ahead(stop, min(stop + length, self.n))
            yield slice(start, stop), block

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

    def _chosen(self, indices: np.ndarray) -> Iterator[tuple[np.ndarray, DenseRows | CsrRows]]:
        """Yield places in ``indices`` and the rows there, block by block."""
        indices = np.asarray(indices)
        if indices.dtype == bool:
            indices = np.flatnonzero(indices)
        length = self.block_length()
        sequence = np.argsort(indices, kind="stable")
        home = indices[sequence] // length
        for part in np.split(sequence, np.flatnonzero(np.diff(home)) + 1):
            if len(part):
                low, high = int(indices[part[0]]), int(indices[part[-1]]) + 1
                yield part, self._fetch(low, high).select(indices[part] - low)

    def take(self, indices: np.ndarray) -> np.ndarray:
        """A few rows by index, dense, as doubles."""
        out = np.empty((len(np.arange(self.n)[indices]), self.d))
        for places, rows in self._chosen(indices):
            out[places] = rows.take(np.arange(rows.n))
        return out

    def select(self, indices: np.ndarray) -> Rows:
        """Rows by index: copied into memory if they are few, else fetched from here each time."""
        indices = np.arange(self.n)[indices]
        share = self.entries * len(indices) / max(self.n, 1)
        if share > room():
            fetch = self._selected(indices)
            shape = len(indices), self.d
            return PartedRows(fetch, shape, int(share), self.is_sparse, largest=self._largest)
        return self._copied(indices)

    def _selected(self, indices: np.ndarray) -> Fetch:
        return lambda start, stop: self._copied(indices[start:stop])

    def _copied(self, indices: np.ndarray) -> DenseRows | CsrRows:
        parts = list(self._chosen(indices))
        if not self.is_sparse:
            kind = self._fetch(0, min(1, self.n)).arrays[0].dtype
            X = np.empty((len(indices), self.d), dtype=kind)
            for places, rows in parts:
                X[places] = rows.arrays[0]
            return DenseRows(X)
        if not parts:
            return CsrRows.from_matrix(sparse.csr_array((0, self.d)))
        stack = sparse.vstack([rows.matrix for _, rows in parts], format="csr")  # type: ignore[union-attr]
        back = np.empty(len(indices), dtype=np.int64)
        back[np.concatenate([places for places, _ in parts])] = np.arange(len(indices))
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
            self._ahead,
            largest=self._largest,
        )
