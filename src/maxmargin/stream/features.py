"""Names of features become columns: in the order in which labelled examples bring them, or hashed."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.estimators.growing import LEAST_ROOM
from maxmargin.files.scratch import Scratch
from maxmargin.kernels.columns import find_columns, hash_numbers, put_names, tidy_rows
from maxmargin.stream.block import Block
from maxmargin.stream.hashing import bucket

__all__ = ["Features"]

FIRST_SIZE = 1 << 10
MARKED = 1 << 22  # columns up to which rows are sorted by marking them
NO_SPACE = np.zeros(0, np.int32), np.zeros(0, np.uint64), np.zeros(0, np.uint64)


class Features:
    """The features of a model, which has as many columns as ``learn_one`` would give it.

    Parameters
    ----------
    model : Perceptron
        Its ``feature_index_`` grows, and the room for its weights.
    bits : int, optional
        Hash names into 2^bits columns instead.
    """

    def __init__(self, model: Any, bits: int | None) -> None:
        self.model, self.bits = model, bits
        self._scratch, self._space = Scratch(), NO_SPACE
        index = getattr(model, "feature_index_", {})
        numbers = {n: int(n) for n in index if n.isascii() and n.isdigit() and len(n) <= 10}
        known = {n: j for n, j in numbers.items() if str(j) == n}  # 007 is a name and no number
        self._keys = np.array(list(known.values()), dtype=np.int64)
        self._places = np.array([index[n] for n in known], dtype=np.int64)
        self._table(max(FIRST_SIZE, 2 * len(known)))

    def _sorting(self, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Space for sorting, kept from block to block."""
        if not 0 < width <= MARKED:
            width = 0
        if len(self._space[0]) < width:
            words = (width >> 6) + 1
            marks, top = np.zeros(words, np.uint64), np.zeros((words >> 6) + 1, np.uint64)
            self._space = np.zeros(width, np.int32), marks, top
        return self._space if width else NO_SPACE

    def columns(
        self, block: Block, part: slice, data: np.ndarray, indptr: np.ndarray, grows: np.ndarray
    ) -> np.ndarray:
        """Return the columns of entries, sorted in each row; data and indptr are changed to match.

        They are good until the next call.

        Unknown features are left out where a row does not grow the dictionary (``grows``); entries that
        share a column are added up.
        """
        columns = self._found(block, part, data, indptr, grows)
        tidy_rows(columns, data, indptr, *self._sorting(self.model._state.Z.shape[1] - 1))
        return columns

    def _found(
        self, block: Block, part: slice, data: np.ndarray, indptr: np.ndarray, grows: np.ndarray
    ) -> np.ndarray:
        columns = self._scratch.array("columns", len(data), np.int64)
        if block.numbers is not None:
            numbers = block.numbers[part]
            if self.bits is not None:
                hash_numbers(numbers, data, (1 << self.bits) - 1, columns)
                return columns
            known = len(self.model.feature_index_)
            most = known + min(len(numbers), int(numbers.max(initial=-1)) + 1)
            if 2 * most > len(self._keys):
                self._table(2 * most)
            counts = np.empty(len(grows), dtype=np.int64)
            fresh = self._scratch.array("fresh", len(numbers), np.int64)
            table = self._keys, self._places, known
            new = find_columns(numbers, data, indptr, grows, *table, columns, counts, fresh)
            self._grow(list(map(str, fresh[:new].tolist())), counts)
            return columns
        assert block.names is not None
        names = block.names[part]
        if self.bits is not None:
            for p, name in enumerate(names):
                columns[p], sign = bucket(name, self.bits)
                data[p] *= sign
            return columns
        return self._named(names, columns, data, indptr, grows)

    def _named(
        self,
        names: list[str],
        columns: np.ndarray,
        data: np.ndarray,
        indptr: np.ndarray,
        grows: np.ndarray,
    ) -> np.ndarray:
        """What ``find_columns`` does, for names that are texts."""
        index = self.model.feature_index_
        fresh: dict[str, int] = {}
        counts = np.empty(len(grows), dtype=np.int64)
        filled, first = 0, 0
        for i, last in enumerate(indptr[1:].tolist()):
            for p in range(first, last):
                column = index.get(names[p], fresh.get(names[p]))
                if column is None:
                    if not grows[i]:
                        continue
                    column = fresh[names[p]] = len(index) + len(fresh)
                columns[filled], data[filled] = column, data[p]
                filled += 1
            first = last
            indptr[i + 1] = filled
            counts[i] = len(index) + len(fresh)
        self._grow(list(fresh), counts)
        return columns

    def _grow(self, fresh: list[str], counts: np.ndarray) -> None:
        """Take in new names; make as much room as one example after the other would have made."""
        model = self.model
        index = model.feature_index_
        index.update(zip(fresh, range(len(index), len(index) + len(fresh)), strict=True))
        model.n_features_in_ = len(index)
        now = room = model._state.Z.shape[1] - 1
        while len(counts) and counts[-1] > room:
            room = max(LEAST_ROOM, 2 * int(counts[np.searchsorted(counts, room, side="right")]))
        if room != now:
            model._resize(room)

    def _table(self, size: int) -> None:
        """A table of this size or larger, with the feature numbers known."""
        used = np.flatnonzero(self._keys >= 0)
        names, columns = self._keys[used], self._places[used]
        size = 1 << size.bit_length()
        self._keys = np.full(size, -1, dtype=np.int64)
        self._places = np.zeros(size, dtype=np.int64)
        put_names(self._keys, self._places, names, columns)
