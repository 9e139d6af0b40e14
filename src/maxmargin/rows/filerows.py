"""Rows in a file: mapped into memory whole where there is room for its addresses, else window by window.

The operating system reads pages when they are used and forgets them when it needs the space; nothing is
copied. While one block is worked on, the next one is read in advance.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.rows.arrays import Csr
from maxmargin.rows.base import BLOCK_ENTRIES
from maxmargin.rows.csr import CsrRows
from maxmargin.rows.dense import DenseRows
from maxmargin.rows.parted import PartedRows
from maxmargin.rows.room import room

__all__ = ["FileRows", "Section", "map_section"]

SHARE = 4  # a file is mapped whole if it takes one part in so many of the addresses left


class Section(NamedTuple):
    """Where an array lies in a file."""

    offset: int
    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Its length in bytes."""
        return int(np.dtype(self.dtype).itemsize * np.prod(self.shape, dtype=np.int64))

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
    flat = np.frombuffer(window, section.dtype, count=int(np.prod(section.shape)), offset=skip)
    return flat.reshape(section.shape)


class FileRows(PartedRows):
    """Labelled rows of a file, used by ``fit`` in place of X; made by :func:`maxmargin.open_rows`.

    Attributes
    ----------
    path : Path
        The file that is read.
    labels : numpy.ndarray or None
        One label per row.
    names : list of str or None
        Names of the features.
    shape : (n, d)
        How many rows and features there are.
    about : dict
        How the rows came from their source: columns, label, categories.
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
        try:
            self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}.") from error
        sparse = len(sections) == 3
        n = sections[2].shape[0] - 1 if sparse else sections[0].shape[0]
        self.n, self.d = n, d
        self._indptr = map_section(self._file, sections[2]) if sparse else np.empty(0, np.int64)
        whole = self._map(0, n) if self._fits() else None
        fetch = self._map if whole is None else partial(_between, whole)
        entries = int(np.prod(sections[0].shape, dtype=np.int64))
        largest = min(BLOCK_ENTRIES, room() // 4) if largest is None else largest
        super().__init__(fetch, (n, d), entries, sparse, self._read_ahead, whole, largest)

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        return f"FileRows({str(self.path)!r}, {self.n:,} rows, {self.d:,} features, {kind})"

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def __reduce__(self) -> Any:
        given = self.path, self.d, self._sections, self.labels, self.names, self._largest, self.about
        return FileRows, given

    def _fits(self) -> bool:
        """Whether there is room for the addresses of the whole file."""
        size = sum(section.nbytes for section in self._sections)
        left = _addresses_left()
        return left is None or SHARE * size <= left

    def _places(self, start: int, stop: int) -> list[Section]:
        """Where rows start … stop−1 lie."""
        if len(self._sections) == 1:
            return [self._sections[0].between(start, stop)]
        low, high = int(self._indptr[start]), int(self._indptr[stop])
        return [section.between(low, high) for section in self._sections[:2]]

    def _map(self, start: int, stop: int) -> DenseRows | CsrRows:
        first, *more = (map_section(self._file, place) for place in self._places(start, stop))
        if not more:
            return DenseRows(first)
        indptr = self._indptr[start : stop + 1]
        return CsrRows(Csr(first, more[0], indptr - indptr[0]), (stop - start, self.d))

    def _read_ahead(self, start: int, stop: int) -> None:
        """Ask the operating system to read rows that will be needed next; it does so meanwhile."""
        if hasattr(os, "posix_fadvise"):
            for place in self._places(start, stop):
                os.posix_fadvise(self._file, place.offset, place.nbytes, os.POSIX_FADV_WILLNEED)


def _between(whole: DenseRows | CsrRows, start: int, stop: int) -> DenseRows | CsrRows:
    return whole.between(start, stop)


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
