"""svmlight text: ``label [qid:…] index:value … [# comment]``, indices rising, from 0 or from 1.

If any index is 0, features count from 0, else from 1; ``first_index`` says it beforehand, which matters
for a file that is to fit a model: its rows may leave out the first feature.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.files.numbers import is_index, read_number, short
from maxmargin.files.reader import Reader, StartAgain
from maxmargin.files.textsource import TextSource
from maxmargin.kernels.text import read_svmlight

__all__ = ["SvmlightReader", "parse_line"]

Row = tuple[str, list[int], list[float]]


def parse_line(line: str, where: str) -> Row | None:
    """Label, indices and values of one line; None if there is nothing in it."""
    label, *pairs = line.partition("#")[0].split() or [""]
    if not label:
        return None
    if ":" in label:
        raise InputError(
            f"{where}: must begin with a label. Got {short(label)} instead. Write 0 if there is none."
        )
    indices: list[int] = []
    values: list[float] = []
    last = -1
    for pair in pairs:
        index, colon, text = pair.partition(":")
        if index == "qid":
            continue
        if not colon or not is_index(index) or not last < int(index) < 2**31:
            raise InputError(
                f"{where}: features must be index:value with increasing indices from 0 or 1. "
                f"Got {short(pair)}{f' after index {last}' if indices else ''} instead. "
                "Correct the file."
            )
        last = int(index)
        indices.append(last)
        values.append(read_number(text, where, index))
    return label, indices, values


class SvmlightReader(Reader):
    """Read svmlight text into sparse rows."""

    _room: tuple[np.ndarray, np.ndarray] | None = None

    def blocks(self) -> Iterator[Any]:
        """Yield CSR matrices."""
        self._first = 1 if self.options.first_index is None else self.options.first_index
        self._first = self.about.get("first_index", self._first)
        self._d, self._nonzeros = self.options.features or 0, 0
        empty = True
        with TextSource(self.path, self.shown) as source:
            while source.advance():
                X = self._block(source)
                if X.shape[0]:
                    empty = False
                    yield X
        if empty:
            return
        if not self._nonzeros and not self.options.features:
            raise InputError(f"{self.shown}: must hold at least one feature. Got none.")
        self.about["first_index"] = self._first
        yield sparse.csr_array((0, self._d))

    def _block(self, source: TextSource) -> Any:
        text = source.array
        lines = source.ends + 1
        data, indices = self._scratch(len(text) // 4 + 1)
        indptr = np.zeros(lines + 1, dtype=np.int64)
        labels = np.zeros((lines, 2), dtype=np.int64)
        strange: list[tuple[int, str]] = []
        place = row = 0
        while True:
            place, row = read_svmlight(text, place, data, indices, indptr, labels, row)
            if place >= len(text):
                break
            start, where = place, source.where(place)
            place, line = next(source.lines(place))
            if (found := parse_line(line, where)) is not None:
                low, high = int(indptr[row]), int(indptr[row]) + len(found[1])
                indices[low:high], data[low:high] = found[1], found[2]
                indptr[row + 1] = high
                labels[row] = start
                strange.append((row, found[0]))
                row += 1
        self._add_labels(source, labels[:row], strange)
        end = int(indptr[row])
        columns = self._columns(indices[:end], indptr, source, labels[:row])
        X = sparse.csr_array((data[:end].copy(), columns, indptr[: row + 1]), shape=(row, self._d))
        X.has_canonical_format = True
        return X

    def _scratch(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for this many numbers and their indices, the same for every block."""
        if self._room is None or len(self._room[0]) < count:
            self._room = np.empty(count), np.empty(count, dtype=np.int32)
        return self._room

    def _add_labels(
        self, source: TextSource, places: np.ndarray, strange: list[tuple[int, str]]
    ) -> None:
        if self.options.label is False or not len(places):
            return
        codes, texts = source.distinct(places)
        for row, text in strange:
            codes[row] = len(texts)
            texts.append(text)
        used = np.unique(codes)
        self.labels.add_texts(np.searchsorted(used, codes), [texts[k] for k in used.tolist()])

    def _columns(
        self, indices: np.ndarray, indptr: np.ndarray, source: TextSource, places: np.ndarray
    ) -> np.ndarray:
        """Indices counted from 0."""
        if not len(indices):
            return indices.copy()
        if self._first == 1 and indices.min() == 0:
            if self.options.first_index is None:
                self.about["first_index"] = 0
                raise StartAgain
            self._refuse(0, indices, indptr, source, places)
        columns = indices - np.int32(self._first)
        largest = int(columns.max()) + 1
        if self.options.features is not None and largest > self._d:
            self._refuse(int(indices.max()), indices, indptr, source, places)
        self._d = max(self._d, largest)
        self._nonzeros += len(indices)
        return columns

    def _refuse(
        self, index: int, indices: np.ndarray, indptr: np.ndarray, source: TextSource, places: np.ndarray
    ) -> None:
        bad = int(np.flatnonzero(indices == index)[0])
        row = int(np.searchsorted(indptr[1 : len(places) + 1], bad, side="right"))
        limit = f" to {self._first + self._d - 1}" if self.options.features is not None else ""
        raise InputError(
            f"{source.where(int(places[row, 0]))}: indices must run from {self._first}{limit}. "
            f"Got {index} instead. Say from where they count (first_index=0 or 1) and how many features "
            "there are (features=…), or correct the file."
        )
