"""Matrices of NumPy and SciPy in .npy and .npz files.

A .npy matrix is mapped as it is where it can be, else read block by block. An archive holds a matrix X
and labels y, or a sparse matrix of SciPy: it is streamed, and never unpacked. A sparse matrix that is
not stored by rows is read whole, and converted.
"""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError, Remedy
from maxmargin.core.memory import GRANTED_BYTES, MAX_EXPANSION, NUMBER_BYTES, allowance, in_proportion
from maxmargin.files.reader import Reader, ReadOptions, at_row
from maxmargin.files.tables import choose
from maxmargin.rows.base import rounded
from maxmargin.rows.on_disk import FileRows, Section
from maxmargin.rows.sparse import check_structure, ends_fault

BLOCK_ENTRIES = 1 << 20  # numbers


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


def read_matrix_header(path: Path, shown: object) -> Header:
    """Read the beginning of a .npy file that holds a matrix of numbers, all of it."""
    with path.open("rb") as file:
        header = read_header(file, shown)
    size = path.stat().st_size - header.offset
    if header.dtype.hasobject or size < header.nbytes:
        raise InputError(
            f"{shown}: must hold {header.nbytes:,} bytes of numbers. Got {size:,} instead: it is cut "
            "off, or holds Python objects. Save it again as numbers."
        )
    check_matrix(header, shown)
    return header


LEAVE_OUT = Remedy("leave the row out"), Remedy("fill it in"), Remedy("subtract an offset")


def as_features(
    block: np.ndarray, place: Callable[[int, int], str], remedies: Sequence[Remedy] = LEAVE_OUT
) -> np.ndarray:
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
            f"{place(i, j)} must be a finite number that a double holds. Got {block[i, j]} instead.",
            *remedies,
        )
    return values


def map_npy(path: Path, options: ReadOptions, shown: object) -> FileRows | None:
    """Map a matrix that has the form of rows already; None if it does not."""
    header = read_matrix_header(path, shown)
    native = header.dtype in (np.float64, np.float32) and header.dtype.isnative
    ready = native and not header.by_columns and header.offset % header.dtype.itemsize == 0
    whole = options.label is False and not options.columns and not options.drop
    if not (ready and whole and options.dtype in (None, header.dtype.name) and header.shape[1]):
        return None
    return FileRows(
        path, header.shape[1], [Section(path, header.offset, header.dtype.str, header.shape)]
    )


class NpyReader(Reader):
    """Read a matrix of any numbers in any order, its label in a column."""

    def blocks(self) -> Iterator[Any]:
        """Yield dense blocks."""
        header = read_matrix_header(self.path, self.shown)
        layout = choose(self.shown, list(map(str, range(header.shape[1]))), False, self.options)
        self.about |= layout.source()
        order = "F" if header.by_columns else "C"
        shape = header.shape
        matrix = np.memmap(self.path, header.dtype, "r", header.offset, shape, order)  # type: ignore[call-overload]
        length = max(1, BLOCK_ENTRIES // shape[1])
        for start in range(0, shape[0], length):
            block = np.array(matrix[start : start + length])
            if layout.label_at is not None:
                found, codes = np.unique(block[:, layout.label_at], return_inverse=True)
                self.labels.add_texts(codes, [str(value) for value in found.tolist()])
            yield as_features(block[:, layout.features_at], partial(self.place, start))


SPARSE_FORMS = {  # what each form is made of
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
}
CONVERSION_COPIES = 4  # of its arrays that are in memory while a matrix is turned, at most


NUMPY_PACKS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # a byte of others may unpack to any number


class NpzReader(Reader):
    """Read an .npz file."""

    def blocks(self) -> Iterator[Any]:
        """Yield dense blocks, or sparse ones."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                names = {name.removesuffix(".npy") for name in archive.namelist()}
                if {info.compress_type for info in archive.infolist()} - NUMPY_PACKS:
                    raise NotImplementedError("It is packed in another way than numpy does")
                self._read_labels(archive, names)
                if {"data", "shape", "format"} <= names:
                    yield from self._sparse(archive, names)
                elif "X" in names:
                    yield from self._dense(archive)
                else:
                    raise InputError(
                        f"{self.shown}: must hold X (and y), or a sparse matrix saved by "
                        f"scipy.sparse.save_npz. Got {', '.join(sorted(names)[:10]) or 'nothing'} "
                        "instead. Save it with numpy.savez(file, X=…, y=…)."
                    )
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            why = " ".join(str(error).split())[:200]
            raise InputError(
                f"{self.shown}: must be a whole archive saved by numpy.savez. {why}. Save it again."
            ) from error

    def _array(self, archive: zipfile.ZipFile, name: str) -> np.ndarray:
        """A whole array: row ends, labels, a shape."""
        with archive.open(f"{name}.npy") as file:
            return read_array(file, self._most(), self.shown)

    def _most(self) -> int:
        """How many bytes may be unpacked at a time."""
        return max(GRANTED_BYTES, MAX_EXPANSION * self.path.stat().st_size)

    def _take(self, file: Any, dtype: np.dtype[Any], count: int) -> np.ndarray:
        """The next numbers of an array."""
        size = count * dtype.itemsize
        content = file.read(size) if size <= self._most() else b""
        if len(content) < size:
            raise InputError(
                f"{self.shown}: must hold whole arrays, as long as they say. Got one cut off, or with "
                "rows out of proportion to the file, instead. Save it again."
            )
        return np.frombuffer(content, dtype)

    def _read_labels(self, archive: zipfile.ZipFile, names: set[str]) -> None:
        label = self.options.label
        if label is False:
            return
        name = "y" if label is None else str(label)
        if name not in names:
            raise InputError(
                f"{self.shown}: must hold the labels as {name}. Got {', '.join(sorted(names)[:10])} "
                "instead.",
                Remedy("name their array", "label", ...),
                Remedy("name their file", "labels", ...),
                Remedy("write them along: numpy.savez(file, …, y=labels)"),
            )
        self.labels.add_values(self._array(archive, name))

    def _dense(self, archive: zipfile.ZipFile) -> Iterator[np.ndarray]:
        with archive.open("X.npy") as file:
            header = read_header(file, self.shown)
            check_matrix(header, self.shown)
            n, d = header.shape
            if header.by_columns and n > 1 and d > 1:
                raise InputError(
                    f"{self.shown}: X must be stored row by row. Got it column by column instead. Save "
                    "numpy.ascontiguousarray(X)."
                )
            if not d:
                raise InputError(f"{self.shown}: must have at least one feature. Got none. Save others.")
            length = max(1, BLOCK_ENTRIES // d)
            for start in range(0, n, length):
                rows = min(length, n - start)
                block = self._take(file, header.dtype, rows * d).reshape(rows, d)
                yield as_features(block, partial(self.place, start))

    def _sparse_place(self, before: int, ends: np.ndarray, columns: np.ndarray, _: int, p: int) -> str:
        row = before + int(np.searchsorted(ends, p, side="right")) - 1
        return f"{at_row(self.shown, row)}: feature {columns[p]}"

    def _sparse(self, archive: zipfile.ZipFile, names: set[str]) -> Iterator[Any]:
        form = self._array(archive, "format").tolist()
        form = form.decode("ascii", "replace") if isinstance(form, bytes) else str(form)
        shape = self._array(archive, "shape")
        right = shape.shape == (2,) and shape.dtype.kind in "iu"
        n, d = shape.tolist() if right else (0, 0)
        if not (1 <= n < 2**63 and 1 <= d < 2**63):
            raise InputError(
                f"{self.shown}: must hold rows of a sparse matrix. Got none. Save it again."
            )
        needed = ("data", "indices", "indptr") if form == "csr" else SPARSE_FORMS.get(form, ())
        if not needed or not set(needed) <= names:
            raise InputError(
                f"{self.shown}: a sparse matrix must be of the form csr, {', '.join(SPARSE_FORMS)}, "
                f"with all of its arrays. Got {form[:20]!r} and {', '.join(sorted(names)[:10])} "
                "instead. Save X.tocsr()."
            )
        if form == "csr":
            yield from self._streamed(archive, n, d)
            return
        X = self._by_rows(archive, form, (n, d))
        place = partial(self._sparse_place, 0, X.indptr, X.indices)
        X.data = as_features(X.data.reshape(1, -1), place).ravel()
        yield X

    def _by_rows(self, archive: zipfile.ZipFile, form: str, shape: tuple[int, int]) -> Any:
        """Return a matrix of another form as CSR; it is read whole."""
        held = 0
        for name in SPARSE_FORMS[form]:
            with archive.open(f"{name}.npy") as file:
                held += read_header(file, self.shown).nbytes
        if not in_proportion(NUMBER_BYTES * max(shape), held):
            raise InputError(
                f"{self.shown}: a sparse matrix stored as {form} must have rows and columns in "
                f"proportion to its numbers. Got {shape[0]:,} × {shape[1]:,} with {held:,} bytes "
                "instead. Save X.tocsr()."
            )
        needed, left = CONVERSION_COPIES * held, allowance()
        if left is not None and needed > left:
            raise InputError(
                f"{self.shown}: a sparse matrix stored as {form} must fit into memory to be turned into "
                f"rows, {needed:,} bytes. Got {left:,} bytes of memory instead. Save X.tocsr()."
            )
        data, *places = [self._array(archive, name) for name in SPARSE_FORMS[form]]
        try:
            if data.dtype.kind not in "biuf" or any(part.dtype.kind not in "iu" for part in places):
                raise ValueError(f"its arrays are of types {data.dtype} and {places[0].dtype}")
            if form == "coo":
                matrix = sparse.coo_array((data, tuple(places)), shape)
            else:
                kinds = {"csc": sparse.csc_array, "bsr": sparse.bsr_array}
                matrix = kinds[form]((data, *places), shape)
            check_structure(matrix, "it")
            return matrix.tocsr()
        except (ValueError, TypeError, IndexError, ZeroDivisionError) as error:
            why = " ".join(str(error).split())[:200]
            raise InputError(
                f"{self.shown}: must hold a sparse matrix saved by scipy.sparse.save_npz. Got a damaged "
                f"one instead: {why}. Save it again."
            ) from error

    def _streamed(self, archive: zipfile.ZipFile, n: int, d: int) -> Iterator[Any]:
        indptr = self._array(archive, "indptr")
        right = indptr.dtype.kind in "iu" and indptr.shape == (n + 1,)
        indptr = indptr.astype(np.int64) if right else np.empty(0, np.int64)
        if not right or ends_fault(indptr, n, np.iinfo(np.int64).max):
            raise InputError(
                f"{self.shown}: must hold the ends of its {n} rows. Got others instead. Save it again."
            )
        with archive.open("data.npy") as data, archive.open("indices.npy") as indices:
            kinds = [read_header(file, self.shown).dtype for file in (data, indices)]
            if kinds[0].kind not in "biuf" or kinds[1].kind not in "iu":
                raise InputError(f"{self.shown}: must hold numbers. Got {kinds[0]}. Save numbers.")
            for start, stop in _pieces(indptr):
                count = int(indptr[stop] - indptr[start])
                values = self._take(data, kinds[0], count).reshape(1, -1)
                columns = self._take(indices, kinds[1], count).astype(np.int64)
                if count and not 0 <= columns.min() <= columns.max() < d:
                    raise InputError(f"{self.shown}: column numbers must be below {d}. Save it again.")
                ends = indptr[start : stop + 1] - indptr[start]
                place = partial(self._sparse_place, start, ends, columns)
                filled = as_features(values, place).ravel()
                yield sparse.csr_array((filled, columns, ends), shape=(stop - start, d))


def _pieces(indptr: np.ndarray) -> Iterator[tuple[int, int]]:
    """Stretches of rows that hold about as many numbers as a block."""
    start, n = 0, len(indptr) - 1
    while start < n:
        stop = int(np.searchsorted(indptr, indptr[start] + BLOCK_ENTRIES, side="right")) - 1
        stop = min(n, max(stop, start + 1))
        yield start, stop
        start = stop
