"""A file of rows that can be used without reading it: what text formats are converted to, once.

The arrays follow each other, each at a multiple of 4,096 bytes: X of dense rows, or the values, columns
and row ends of sparse ones, then the label codes. What they are stands at the end of the file in JSON,
with a checksum of every array and of itself. A file that was not finished has no end, and is refused.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from scipy import sparse

from maxmargin.core.atomic_write import Workplace, put_in_place
from maxmargin.core.errors import InputError
from maxmargin.core.size_limits import check_room_for_labels, check_width
from maxmargin.rows.on_disk import FileRows, Section, map_section
from maxmargin.rows.sparse import ends_fault

MAGIC = b"maxmargin rows 1\n"
ALIGN_BYTES = 4096
TAIL_BYTES = 8 + 8 + len(MAGIC)  # length of the JSON text, its checksum, and the magic word again
CHUNK_BYTES = 1 << 24  # bytes at a time
MAX_FEATURES = np.iinfo(np.int32).max  # columns are 32-bit numbers; row ends are 64-bit ones
NUMBERS = tuple(np.dtype(kind).str for kind in (np.float64, np.float32))
PLACE_TYPE, END_TYPE = np.dtype(np.int32).str, np.dtype(np.int64).str
DENSE = {"X": NUMBERS}  # the arrays of a file, and their types
SPARSE = {"data": NUMBERS, "indices": (PLACE_TYPE,), "indptr": (END_TYPE,)}
CODES = {"codes": (PLACE_TYPE,)}
PLACES = ("indices", "codes")  # arrays that say where something is
MAX_COUNTS = {"n": np.iinfo(np.int64).max - 1, "d": MAX_FEATURES}


def _is_texts(value: Any) -> bool:
    return type(value) is list and all(type(text) is str for text in value)


ABOUT: dict[str, Callable[[Any], bool]] = {  # how rows came from their source
    "names": _is_texts,
    "columns": _is_texts,
    "label": lambda value: type(value) is str,
    "header": lambda value: type(value) is bool,
    "first_index": lambda value: type(value) is int,
    "encoding": lambda value: type(value) is dict and all(map(_is_texts, value.values())),
}


class StoreWriter:
    """Write rows block by block; the file has its name only once it is whole.

    Parameters
    ----------
    path : path
        The file to make; one that exists is replaced at the end.
    about : dict
        What else to keep: names of the features, the source. Plain JSON values.
    """

    def __init__(self, path: Path, about: dict[str, Any] | None = None) -> None:
        self.path, self.about = Path(path), dict(about or {})
        self._parts: dict[str, _Part] = {}
        self._labels: list[np.ndarray] = []
        self._ends: list[np.ndarray] = []
        self._n = self._d = self._nonzeros = 0
        self._place = Workplace(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            for part in self._parts.values():
                part.file.close()
            self._place.remove()

    def add(self, X: Any, labels: np.ndarray | None = None) -> None:
        """Add a block: a dense matrix, or a CSR matrix; always of the same kind."""
        self._n += X.shape[0]
        self._d = max(self._d, X.shape[1])
        if labels is not None:
            self._labels.append(np.asarray(labels))
        if not sparse.issparse(X):
            self._part("X").write(X)
            return
        if self._d > MAX_FEATURES:
            raise InputError(
                f"{self.path}: sparse rows must have at most {MAX_FEATURES:,} features. Got "
                f"{self._d:,} instead. Number them without gaps, or hash them."
            )
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self._part("data").write(X.data)
        self._part("indices").write(X.indices.astype(np.int32, copy=False))
        self._ends.append(X.indptr[1:].astype(np.int64) + self._nonzeros)
        self._nonzeros += X.nnz

    def _part(self, name: str) -> _Part:
        if name not in self._parts:
            self._parts[name] = _Part(self._place.path / name)
        return self._parts[name]

    def _finish(self) -> None:
        if self._ends:
            self._part("indptr").write(np.concatenate([np.zeros(1, np.int64), *self._ends]))
        head: dict[str, Any] = {"n": self._n, "d": self._d, "about": self.about, "classes": None}
        if self._labels:
            classes, codes = np.unique(np.concatenate(self._labels), return_inverse=True)
            self._part("codes").write(codes.astype(np.int32))
            head["classes"] = {"dtype": classes.dtype.str, "values": classes.tolist()}
        whole = self._place.path / "whole"
        with whole.open("wb") as out:
            out.write(MAGIC)
            head["arrays"] = {name: self._append(out, part) for name, part in self._parts.items()}
            text = json.dumps(head, ensure_ascii=False, allow_nan=False).encode()
            out.write(text)
            out.write(b"%08d%08x" % (len(text), zlib.crc32(text)))
            out.write(MAGIC)
        put_in_place(whole, self.path)

    def _append(self, out: BinaryIO, part: _Part) -> dict[str, Any]:
        out.write(b"\0" * (-out.tell() % ALIGN_BYTES))
        offset = out.tell()
        part.file.close()
        with part.path.open("rb") as source:
            shutil.copyfileobj(source, out, CHUNK_BYTES)
        part.path.unlink()
        shape = (self._n, self._d) if part.path.name == "X" else (part.count,)
        return {"offset": offset, "dtype": part.dtype, "shape": shape, "sum": part.sum}


class _Part:
    """One array on its way into the file."""

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, path.open("wb")
        self.dtype, self.count, self.sum = "", 0, 0

    def write(self, values: np.ndarray) -> None:
        """Append values of the same type as before."""
        values = np.ascontiguousarray(values).ravel()
        if self.dtype and values.dtype.str != self.dtype:
            values = values.astype(self.dtype)
        self.dtype = values.dtype.str
        self.count += len(values)
        self.sum = (self.sum + _sum(values)) % (1 << 64)
        values.tofile(self.file)


def read_store(path: Path, largest: int | None = None, features: int | None = None) -> FileRows:
    """Open a file that :class:`StoreWriter` made; everything it says of itself is checked.

    Columns, row ends and codes too: compiled code goes where they point. ``features`` announces how many
    there are, where they are many more than the numbers of the file.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            head, end = _head(file, path)
            sections = _sections(head)
            ranges = _check(file, path, head, sections, end)
            n, d = head["n"], head["d"]
            stored = math.prod(sections["X" if "X" in sections else "data"].shape)
            check_width(path, d, stored, features)
            if "indptr" in sections:
                ends = map_section(file.fileno(), sections["indptr"])
                _require(not ends_fault(ends, n, stored), "its row ends do not rise")
                _require(ranges["indices"] < d, "a column is beyond the last")
            labels = None
            if head["classes"] is not None:
                dtype, values = _classes(head["classes"], n)
                check_room_for_labels(path, n, dtype.itemsize, stored)
                classes = np.array(values, dtype=dtype).reshape(len(values))
                _require(ranges["codes"] < len(classes), "a label is none of its classes")
                labels = classes[map_section(file.fileno(), sections["codes"])]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}.") from error
    except InputError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise _broken(path, str(error)) from error
    chosen = [sections[name] for name in ("X", "data", "indices", "indptr") if name in sections]
    about = head["about"]
    return FileRows(path, d, chosen, labels, about.get("names"), largest, about)


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise ValueError(why)


def _head(file: BinaryIO, path: Path) -> tuple[dict[str, Any], int]:
    """What the file says of itself, and where that begins."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL_BYTES))
    tail = file.read(TAIL_BYTES)
    if len(tail) < TAIL_BYTES or not tail.endswith(MAGIC):
        raise _broken(path, "it does not end as it should")
    length = int(tail[:8])
    if not 0 <= length <= size - TAIL_BYTES:
        raise _broken(path, "its description is longer than the file")
    file.seek(size - TAIL_BYTES - length)
    text = file.read(length)
    if tail[:16] != b"%08d%08x" % (length, zlib.crc32(text)):
        raise _broken(path, "the checksum of its description does not match")
    head = json.loads(text)
    whole = type(head) is dict and head.keys() == {"n", "d", "about", "classes", "arrays"}
    _require(whole, "its description lacks an entry")
    counts = all(type(head[key]) is int and 1 <= head[key] <= MAX_COUNTS[key] for key in MAX_COUNTS)
    parts = all(type(head[key]) is dict for key in ("about", "arrays"))
    _require(counts and parts, "its description has another form")
    about = head["about"]
    for key, right in ABOUT.items():
        _require(about.get(key) is None or right(about[key]), f"it says of {key} what cannot be")
    named = about.get("names") is None or len(about["names"]) == head["d"]
    _require(named, "it must name every feature")
    return head, size - TAIL_BYTES - length


def _sections(head: dict[str, Any]) -> dict[str, Section]:
    """Where its arrays lie: of one of two kinds of rows, and of the types that the kernels read."""
    n, arrays = head["n"], head["arrays"]
    form = DENSE if "X" in arrays else SPARSE
    wanted = {**form, **({} if head["classes"] is None else CODES)}
    _require(arrays.keys() == wanted.keys(), f"its arrays must be {', '.join(wanted)}")
    sections = {}
    for name, dtypes in wanted.items():
        about = arrays[name]
        known = type(about) is dict and about.keys() == {"offset", "dtype", "shape", "sum"}
        _require(known and about["dtype"] in dtypes, f"its array {name} must be of {dtypes}")
        shape = about["shape"]
        counts = type(shape) is list and all(type(v) is int and v >= 0 for v in shape)
        _require(counts and type(about["offset"]) is int, f"its array {name} must have a shape")
        sections[name] = Section(about["offset"], about["dtype"], tuple(shape))
    stored = sections["data"].shape if form is SPARSE else ()
    shapes = {"X": (n, head["d"]), "data": stored, "indices": stored, "indptr": (n + 1,), "codes": (n,)}
    for name, section in sections.items():
        _require(section.shape == shapes[name], f"its array {name} must have the shape {shapes[name]}")
    _require(form is DENSE or len(stored) == 1, "its array data must be a vector")
    return sections


def _classes(known: Any, n: int) -> tuple[np.dtype[Any], list[Any]]:
    """The labels that the codes of n rows stand for, and their type."""
    right = type(known) is dict and known.keys() == {"dtype", "values"} and type(known["values"]) is list
    _require(right and type(known["dtype"]) is str, "its classes must have a type and values")
    found = re.fullmatch(r"[|<>][biufU]\d{1,8}", known["dtype"])
    plain = {type(value) for value in known["values"]} <= {bool, int, float, str}
    few = found is not None and len(known["values"]) <= n
    _require(plain and few, "its classes must be labels of its rows")
    return np.dtype(known["dtype"]), known["values"]


def _check(
    file: BinaryIO, path: Path, head: dict[str, Any], sections: dict[str, Section], end: int
) -> dict[str, int]:
    """Compare every array with its checksum; holes between arrays must be empty.

    Returns the largest number of each array of places; none of them is negative.
    """
    place, ranges = 0, {}
    for name, section in sorted(sections.items(), key=lambda item: item[1].offset):
        before = max(place, len(MAGIC))
        if section.offset != before + -before % ALIGN_BYTES or section.offset + section.nbytes > end:
            raise _broken(path, f"its array {name} is cut off")
        file.seek(place)
        if file.read(section.offset - place).strip(b"\0") not in (b"", MAGIC):
            raise _broken(path, "there is something between its arrays")
        place = section.offset + section.nbytes
        words, step, total, highest = section.nbytes // 4, CHUNK_BYTES // 4, 0, -1
        flat = Section(section.offset, PLACE_TYPE if name in PLACES else "<u4", (words,))
        for start in range(0, words, step):
            values = map_section(file.fileno(), flat.between(start, min(start + step, words)))
            total += _sum(values)
            if name in PLACES:
                _require(int(values.min()) >= 0, f"its array {name} has a negative number")
                highest = max(highest, int(values.max()))
        ranges[name] = highest
        if total % (1 << 64) != head["arrays"][name]["sum"]:
            raise _broken(path, f"the checksum of its array {name} does not match")
    return ranges


def _sum(values: np.ndarray) -> int:
    """The checksum: all words of four bytes added up. No byte can change alone."""
    return int(np.add.reduce(values.view("<u4"), dtype=np.uint64))


def _broken(path: Path, why: str) -> InputError:
    return InputError(
        f"{path}: this is not a whole file of rows: {why}. Delete it; it is made again from its source."
    )
