"""Rows that are fetched part by part and not kept: from a file, or made from other rows on the way.

Whatever the parts come from, a pass is the same: fetch a block, work on it, forget it. Only a few blocks
are in memory at any time. While one is worked on, a thread reads the next, and only that one; where
there is little memory left for a thread, parts are read when they are asked for.

Arrays in a file are mapped into memory: whole where there is room for their addresses, else in windows.
The operating system reads pages when they are used and forgets them when it needs the space; nothing is
copied. Numbers of rows and offsets are 64-bit integers: a file may hold any number of entries.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.core.memory import addresses_left, allowance, cache_limit, copy_limit
from maxmargin.rows.base import BLOCK_ENTRIES, Csr, Dense, DenseRows, Rows
from maxmargin.rows.sparse import CsrRows

T = TypeVar("T")

MIN_THREAD_ENTRIES = 1 << 17  # numbers in a part from which on a thread is worth its start
THREAD_BYTES = 1 << 28  # to be left for a thread: its stack, and what malloc reserves for it


def read_ahead(
    read: Callable[[int, int], T], places: Sequence[tuple[int, int]], numbers: float
) -> Iterator[tuple[slice, T]]:
    """Yield each place and what ``read(start, stop)`` returns for it; parts hold about so many numbers.

    An error in the thread is raised where its part is asked for. The thread ends with the iteration,
    also one that is given up.
    """
    left = allowance() if len(places) > 1 and numbers >= MIN_THREAD_ENTRIES else 0
    if left is not None and left < THREAD_BYTES:
        for start, stop in places:
            yield slice(start, stop), read(start, stop)
        return
    with ThreadPoolExecutor(1, "maxmargin-read") as pool:
        coming = pool.submit(read, *places[0])
        for (start, stop), after in zip(places, (*places[1:], None), strict=True):
            part = coming.result()
            if after is not None:
                coming = pool.submit(read, *after)
            yield slice(start, stop), part


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
        if self._whole is not None and self._entries <= cache_limit():
            return self._whole
        return self.between(0, self.n) if self._entries <= copy_limit() else None

    def blocks(self, entries: int = BLOCK_ENTRIES) -> Iterator[tuple[slice, Any]]:
        """Yield the rows block by block; the next block is read while this one is used."""
        length = self.block_length(entries)
        places = [(start, min(start + length, self.n)) for start in range(0, self.n, length)]
        return read_ahead(self._read, places, length * self.entries / max(self.n, 1))

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
        return self.copied(numbers) if share <= copy_limit() else SelectedRows(self, numbers, int(share))

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
        near = origin.copied(numbers[: len(numbers) * copy_limit() // max(entries, 1)])
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


ADDRESS_SHARE = 4  # a file is mapped whole if it takes one part in so many of the addresses left


class Section(NamedTuple):
    """Where an array lies: in a file, from this byte on."""

    path: Path
    offset: int
    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Its length in bytes."""
        return np.dtype(self.dtype).itemsize * math.prod(self.shape)

    def between(self, start: int, stop: int) -> Section:
        """Entries start … stop−1 along the first axis."""
        step = np.dtype(self.dtype).itemsize * math.prod(self.shape[1:])
        return Section(
            self.path, self.offset + start * step, self.dtype, (stop - start, *self.shape[1:])
        )


def map_section(file: int, section: Section) -> np.ndarray:
    """Return an array that lies in the file of this descriptor; read-only, and nothing is read yet."""
    if not section.nbytes:
        return np.empty(section.shape, section.dtype)
    skip = section.offset % mmap.ALLOCATIONGRANULARITY
    length, low = skip + section.nbytes, section.offset - skip
    window = mmap.mmap(file, length, access=mmap.ACCESS_READ, offset=low)
    count = math.prod(section.shape)
    return np.frombuffer(window, section.dtype, count=count, offset=skip).reshape(section.shape)


class MappedFile:
    """Rows in open files: X, or the values, columns and row ends of sparse rows."""

    def __init__(self, d: int, sections: Sequence[Section]) -> None:
        self._files: list[int] = []
        for section in sections:
            try:
                self._files.append(os.open(section.path, os.O_RDONLY | getattr(os, "O_BINARY", 0)))
            except OSError as error:
                raise InputError(f"{section.path}: {error.strerror}.") from error
        self._sections, self.d = tuple(sections), d
        self.is_sparse = len(sections) == 3
        self.n = sections[2].shape[0] - 1 if self.is_sparse else sections[0].shape[0]
        self.entries = math.prod(sections[0].shape)
        self._indptr = map_section(self._files[-1], sections[-1]) if self.is_sparse else None
        self.whole = self._window(0, self.n) if self._fits() else None

    def __del__(self) -> None:
        for file in self._files:
            os.close(file)

    def fetch(self, start: int, stop: int) -> DenseRows | CsrRows:
        """Rows start … stop−1; their pages are read when they are used."""
        return self._window(start, stop) if self.whole is None else self.whole.between(start, stop)

    def read(self, start: int, stop: int) -> DenseRows | CsrRows:
        """The same with all pages in memory, for a thread that is one part ahead."""
        if hasattr(os, "posix_fadvise"):  # one request for all of them, not one for each fault
            for file, place in self._places(start, stop):
                os.posix_fadvise(file, place.offset, place.nbytes, os.POSIX_FADV_WILLNEED)
        rows = self.fetch(start, stop)
        for values in rows.arrays[: 2 if self.is_sparse else 1]:
            values.reshape(-1).view(np.uint8)[:: mmap.PAGESIZE].max(initial=0)  # a byte of each page
        return rows

    def _fits(self) -> bool:
        """Whether there is room for the addresses of the whole file."""
        left = addresses_left()
        return left is None or ADDRESS_SHARE * sum(section.nbytes for section in self._sections) <= left

    def _places(self, start: int, stop: int) -> list[tuple[int, Section]]:
        """Where the numbers of rows start … stop−1 lie, and in which file."""
        if self._indptr is None:
            return [(self._files[0], self._sections[0].between(start, stop))]
        low, high = int(self._indptr[start]), int(self._indptr[stop])
        parts = (section.between(low, high) for section in self._sections[:2])
        return list(zip(self._files, parts, strict=False))

    def _window(self, start: int, stop: int) -> DenseRows | CsrRows:
        first, *more = (map_section(*place) for place in self._places(start, stop))
        if self._indptr is None:
            return DenseRows(first)
        indptr = self._indptr[start : stop + 1]
        return CsrRows(Csr(first, more[0], indptr - indptr[0]), (stop - start, self.d))


class FileRows(PartedRows):
    r"""Labelled rows of a file, used by ``fit`` in place of X; made by :func:`maxmargin.open_rows`.

    Attributes
    ----------
    path : Path
        The file that is read, or the folder.
    labels : numpy.ndarray or None
        One label per row.
    names : list of str or None
        Names of the features.
    shape : (n, d)
        How many rows and features there are.
    about : dict
        How the rows came from their source: columns, label, categories.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> path = Path(tempfile.mkdtemp()) / "marks.csv"
    >>> _ = path.write_text("homework,exam,passed\n90,80,yes\n40,30,no\n50,40,no\n")
    >>> rows = mm.open_rows(path, label="passed")
    >>> rows.shape, rows.names, rows.labels.tolist()
    ((3, 2), ['homework', 'exam'], ['yes', 'no', 'no'])
    """

    def __init__(
        self,
        path: Path,
        d: int,
        sections: Sequence[Section],
        labels: np.ndarray | None = None,
        names: Sequence[str] | None = None,
        largest: int | None = None,
        about: dict[str, Any] | None = None,
    ) -> None:
        self.path, self.labels, self.about = path, labels, dict(about or {})
        self.names = None if names is None else list(names)
        self._sections = tuple(sections)
        file = MappedFile(d, sections)
        largest = min(BLOCK_ENTRIES, copy_limit() // 4) if largest is None else largest
        shape = file.n, d
        super().__init__(file.fetch, shape, file.entries, file.is_sparse, file.read, file.whole, largest)

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        return f"FileRows({str(self.path)!r}, {self.n:,} rows, {self.d:,} features, {kind})"

    def __reduce__(self) -> Any:
        given = self.path, self.d, self._sections, self.labels, self.names, self._largest, self.about
        return FileRows, given
