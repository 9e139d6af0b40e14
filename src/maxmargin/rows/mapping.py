"""Arrays in a file, mapped into memory: whole where there is room for their addresses, else in windows.

The operating system reads pages when they are used and forgets them when it needs the space; nothing is
copied. Numbers of rows and offsets are 64-bit integers: a file may hold any number of entries.
"""

from __future__ import annotations

import math
import mmap
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.rows.arrays import Csr
from maxmargin.rows.csr import CsrRows
from maxmargin.rows.dense import DenseRows

__all__ = ["MappedFile", "Section", "map_section"]

SHARE = 4  # a file is mapped whole if it takes one part in so many of the addresses left


class Section(NamedTuple):
    """Where an array lies in a file."""

    offset: int
    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Its length in bytes."""
        return np.dtype(self.dtype).itemsize * math.prod(self.shape)

    def between(self, start: int, stop: int) -> Section:
        """Entries start … stop−1 along the first axis."""
        step = int(np.dtype(self.dtype).itemsize * np.prod(self.shape[1:], dtype=np.int64))
        return Section(self.offset + start * step, self.dtype, (stop - start, *self.shape[1:]))


def map_section(file: int, section: Section) -> np.ndarray:
    """Return an array that lies in the file of this descriptor; read-only, and nothing is read yet."""
    if not section.nbytes:
        return np.empty(section.shape, section.dtype)
    page = mmap.ALLOCATIONGRANULARITY
    low = section.offset // page * page
    skip = section.offset - low
    window = mmap.mmap(file, skip + section.nbytes, access=mmap.ACCESS_READ, offset=low)
    count = int(np.prod(section.shape, dtype=np.int64))
    return np.frombuffer(window, section.dtype, count=count, offset=skip).reshape(section.shape)


class MappedFile:
    """Rows in an open file: X, or the values, columns and row ends of sparse rows."""

    def __init__(self, path: Path, d: int, sections: Sequence[Section]) -> None:
        try:
            self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}.") from error
        self._sections, self.d = tuple(sections), d
        self.is_sparse = len(sections) == 3
        self.n = sections[2].shape[0] - 1 if self.is_sparse else sections[0].shape[0]
        self.entries = int(np.prod(sections[0].shape, dtype=np.int64))
        self._indptr = map_section(self._file, sections[2]) if self.is_sparse else np.empty(0, np.int64)
        self.whole = self._window(0, self.n) if self._fits() else None

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def fetch(self, start: int, stop: int) -> DenseRows | CsrRows:
        """Rows start … stop−1; their pages are read when they are used."""
        return self._window(start, stop) if self.whole is None else self.whole.between(start, stop)

    def read(self, start: int, stop: int) -> DenseRows | CsrRows:
        """The same with all pages in memory, for a thread that is one part ahead."""
        if hasattr(os, "posix_fadvise"):  # one request for all of them, not one for each fault
            for place in self._places(start, stop):
                os.posix_fadvise(self._file, place.offset, place.nbytes, os.POSIX_FADV_WILLNEED)
        rows = self.fetch(start, stop)
        for values in rows.arrays[: 2 if self.is_sparse else 1]:
            values.reshape(-1).view(np.uint8)[:: mmap.PAGESIZE].max(initial=0)  # a byte of each page
        return rows

    def _fits(self) -> bool:
        """Whether there is room for the addresses of the whole file."""
        left = _addresses_left()
        return left is None or SHARE * sum(section.nbytes for section in self._sections) <= left

    def _places(self, start: int, stop: int) -> list[Section]:
        """Where rows start … stop−1 lie."""
        if not self.is_sparse:
            return [self._sections[0].between(start, stop)]
        low, high = int(self._indptr[start]), int(self._indptr[stop])
        return [section.between(low, high) for section in self._sections[:2]]

    def _window(self, start: int, stop: int) -> DenseRows | CsrRows:
        first, *more = (map_section(self._file, place) for place in self._places(start, stop))
        if not more:
            return DenseRows(first)
        indptr = self._indptr[start : stop + 1]
        return CsrRows(Csr(first, more[0], indptr - indptr[0]), (stop - start, self.d))


def _addresses_left() -> int | None:
    """How many bytes of address space the process may still use, or None if nothing limits it."""
    if sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        used = 0
    return max(0, limit - used)
