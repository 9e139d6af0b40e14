"""Matrices of NumPy: mapped as they are where they can be, else read block by block."""

from __future__ import annotations

import math
import tokenize
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.files.layout import Layout, choose
from maxmargin.files.options import Options, at_row
from maxmargin.files.reader import Reader
from maxmargin.rows.doubles import rounded
from maxmargin.rows.filerows import FileRows
from maxmargin.rows.mapping import Section

__all__ = ["NpyReader", "as_features", "map_npy", "read_array", "read_header"]

BLOCK = 1 << 20  # numbers


class Header(NamedTuple):
    """What a .npy file says of itself."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    offset: int

    @property
    def nbytes(self) -> int:
        """The length of its numbers."""
        return math.prod(self.shape) * self.dtype.itemsize


# What reading a damaged header ends with: NumPy takes it apart as Python text.
DAMAGED = (
    ValueError,
    EOFError,
    TypeError,
    SyntaxError,
    RecursionError,
    MemoryError,
    tokenize.TokenError,
)


def read_header(file: Any, shown: object) -> Header:
    """Read the beginning of a .npy file."""
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version} is not known")
        reads = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        shape, by_columns, dtype = reads[version](file)
        if min(shape, default=0) < 0 or not dtype.itemsize:
            raise ValueError(f"Its shape is {shape}, its type {dtype}")
    except DAMAGED as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(
            f"{shown}: must hold an array saved by numpy.save. {why}. Save it again."
        ) from error
    return Header(shape, by_columns, dtype, file.tell())


def read_array(file: Any, most: int, shown: object) -> np.ndarray:
    """Read a whole array, if it has at most so many bytes."""
    header = read_header(file, shown)
    if header.dtype.hasobject:
        raise InputError(f"{shown}: must hold numbers or texts. Got Python objects. Save numbers.")
    content = file.read(header.nbytes) if header.nbytes <= most else b""
    if len(content) < header.nbytes:
        raise InputError(
            f"{shown}: must hold an array of {header.nbytes:,} bytes, as it says. Got fewer, or far "
            "fewer that are packed, instead. Save it again, not compressed."
        )
    values = np.frombuffer(content, header.dtype)
    return values.reshape(header.shape[::-1]).T if header.by_columns else values.reshape(header.shape)


def check_matrix(header: Header, shown: object) -> None:
    """Refuse what is no matrix of numbers."""
    if len(header.shape) != 2 or header.dtype.kind not in "biuf":
        raise InputError(
            f"{shown}: must hold a matrix of numbers, a row for each example. Got an array of shape "
            f"{header.shape} and type {header.dtype}. Save another."
        )
    if not header.shape[0]:
        raise InputError(f"{shown}: must hold rows. Got none. Name another file.")


def as_features(block: np.ndarray, place: Callable[[int, int], str]) -> np.ndarray:
    """Numbers as doubles or singles, refused where they are not finite or would be rounded.

    ``place(i, j)`` says in words where an entry is.
    """
    dtype = np.float32 if block.dtype.kind == "f" and block.dtype.itemsize <= 4 else np.float64
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(block, dtype=dtype)
    wrong = ~np.isfinite(values)
    off = rounded(block)
    if off is not None:
        wrong |= off
    if np.any(wrong):
        i, j = np.argwhere(wrong)[0].tolist()
        raise InputError(
            f"{place(i, j)} must be a finite number that a double holds. "
            f"Got {block[i, j]} instead. Leave the row out, fill it in, or subtract an offset."
        )
    return values


def map_npy(path: Path, options: Options, shown: object) -> FileRows | None:
    """Map a matrix that has the form of rows already; None if it does not."""
    with path.open("rb") as file:
        header = read_header(file, shown)
    _check_length(path, header, shown)
    check_matrix(header, shown)
    native = header.dtype in (np.float64, np.float32) and header.dtype.isnative
    ready = native and not header.by_columns and header.offset % header.dtype.itemsize == 0
    whole = options.label is False and not options.columns and not options.drop
    if not (ready and whole and options.dtype in (None, header.dtype.name) and header.shape[1]):
        return None
    return FileRows(path, header.shape[1], [Section(header.offset, header.dtype.str, header.shape)])


def _check_length(path: Path, header: Header, shown: object) -> None:
    size = path.stat().st_size - header.offset
    if header.dtype.hasobject or size < header.nbytes:
        raise InputError(
            f"{shown}: must hold {header.nbytes:,} bytes of numbers. Got {size:,} instead: it is cut "
            "off, or holds Python objects. Save it again as numbers."
        )


class NpyReader(Reader):
    """Read a matrix of any numbers in any order, its label in a column."""

    def blocks(self) -> Iterator[Any]:
        """Yield dense blocks."""
        with self.path.open("rb") as file:
            header = read_header(file, self.shown)
        _check_length(self.path, header, self.shown)
        check_matrix(header, self.shown)
        layout = choose(self.shown, list(map(str, range(header.shape[1]))), False, self.options)
        self.about |= layout.source()
        order = "F" if header.by_columns else "C"
        shape = header.shape
        matrix = np.memmap(self.path, header.dtype, "r", header.offset, shape, order)  # type: ignore[call-overload]
        length = max(1, BLOCK // shape[1])
        for start in range(0, shape[0], length):
            block = np.array(matrix[start : start + length])
            self._add_labels(block, layout, start)
            yield as_features(block[:, layout.features_at], partial(self.place, start))

    def _add_labels(self, block: np.ndarray, layout: Layout, before: int) -> None:
        if layout.label_at is None:
            return
        values = block[:, layout.label_at]
        gaps = np.flatnonzero(values != values)
        if len(gaps):
            where = at_row(self.shown, before + int(gaps[0]))
            raise InputError(f"{where}: the label must not be nan. Leave the row out.")
        found, codes = np.unique(values, return_inverse=True)
        self.labels.add_texts(codes, [str(value) for value in found.tolist()])
