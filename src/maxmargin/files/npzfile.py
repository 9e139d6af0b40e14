"""Archives of NumPy: a matrix X and labels y, or a sparse matrix of SciPy; streamed, never unpacked."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.core.proportion import GRANTED_BYTES, MAX_EXPANSION
from maxmargin.files.labels import check_labels
from maxmargin.files.npyfile import BLOCK, as_features, check_matrix, read_array, read_header
from maxmargin.files.npzsparse import TURNED, by_rows
from maxmargin.files.options import at_row
from maxmargin.files.reader import Reader
from maxmargin.rows.structure import ends_fault

__all__ = ["NpzReader"]

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
                "instead. Name their array (label=…), or their file (labels=…), or write them along: "
                "numpy.savez(file, …, y=labels)."
            )
        self.labels.add_values(check_labels(self._array(archive, name), self.shown))

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
            length = max(1, BLOCK // d)
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
        needed = ("data", "indices", "indptr") if form == "csr" else TURNED.get(form, ())
        if not needed or not set(needed) <= names:
            raise InputError(
                f"{self.shown}: a sparse matrix must be of the form csr, {', '.join(TURNED)}, with all "
                f"of its arrays. Got {form[:20]!r} and {', '.join(sorted(names)[:10])} instead. "
                "Save X.tocsr()."
            )
        if form == "csr":
            yield from self._streamed(archive, n, d)
            return
        sizes = {name: self._size(archive, name) for name in needed}
        X = by_rows(form, (n, d), sizes, partial(self._array, archive), self.shown)
        for start, stop in _pieces(X.indptr):
            part = X[start:stop]
            place = partial(self._sparse_place, start, part.indptr, part.indices)
            part.data = as_features(part.data.reshape(1, -1), place).ravel()
            yield part

    def _size(self, archive: zipfile.ZipFile, name: str) -> int:
        with archive.open(f"{name}.npy") as file:
            return read_header(file, self.shown).nbytes

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
        stop = int(np.searchsorted(indptr, indptr[start] + BLOCK, side="right")) - 1
        stop = min(n, max(stop, start + 1))
        yield start, stop
        start = stop
