"""Files that cannot be mapped are converted once, to a folder of rows beside them, and used again.

``NAME.rows`` holds one .npy file for each array: X of dense rows, or the values, columns and row ends of
sparse ones, and the labels. ``about.json`` says of which types and shapes they are, where the rows come
from, and has a checksum of every array and of itself. It is written last, and the folder has its name
only once it is whole.

A conversion knows which file its source was (its place on the disk, its size and its times) and what
was read of it; if any of these has changed, or it is broken, it is made anew. Processes that convert the
same file at once do no harm: the first one wins, and the others take what it made. Each user has
conversions of their own: what somebody else left is not believed.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.core.atomic_write import put_in_place, sweep, temporary_folder
from maxmargin.core.codec import (
    ANYTHING,
    COUNT,
    FLAG,
    TEXT,
    counts,
    entries,
    listed,
    maybe,
    named,
    one_of,
)
from maxmargin.core.errors import InputError
from maxmargin.core.memory import check_width
from maxmargin.files.numpy_files import read_header
from maxmargin.files.reader import Reader, ReadOptions, check_length
from maxmargin.rows.on_disk import FileRows, Section, map_section
from maxmargin.rows.sparse import ends_fault

FORMAT = "maxmargin rows 2"
ABOUT_NAME = "about.json"
CHUNK_BYTES = 1 << 24  # bytes at a time
MAX_FEATURES = np.iinfo(np.int32).max  # columns are 32-bit numbers; row ends are 64-bit ones
NATIVE = np.dtype(np.int32).str[0]  # the order of bytes
DENSE = {"X": f"{NATIVE}f[48]"}  # the arrays of a folder, and their types as regular expressions
SPARSE = {"data": f"{NATIVE}f[48]", "indices": f"{NATIVE}i4", "indptr": f"{NATIVE}i8"}
LABELS = {"labels": rf"\|[biu]1|{NATIVE}[iuf]\d{{1,2}}|{NATIVE}U[1-9]\d{{0,7}}"}
MAX_WORDS = {"b": (np.uint8, 1), "U": (np.uint32, 0x10FFFF)}  # of labels: truth values, characters
SOURCE = {  # how rows came from their source, if it is known
    "names": maybe(listed(TEXT)),
    "columns": maybe(listed(TEXT)),
    "label": maybe(TEXT),
    "header": maybe(FLAG),
    "first_index": maybe(COUNT),
    "encoding": maybe(named(listed(TEXT))),
}
ABOUT = entries(
    {
        "format": one_of(FORMAT),
        "n": counts(1, np.iinfo(np.int64).max - 1),
        "d": counts(1, MAX_FEATURES),
        "source": named(ANYTHING),
        "arrays": named(entries({"dtype": TEXT, "shape": listed(COUNT), "sum": COUNT})),
        "sum": COUNT,
    }
)


@contextmanager
def write_store(
    path: Path, about: dict[str, Any] | None = None, is_as_good: Callable[[], bool] = lambda: False
) -> Iterator[StoreWriter]:
    """Write rows block by block; a folder of this name is replaced at the end, if all went well.

    ``about`` is what else to keep, as plain JSON values: names of the features, the source. A folder
    that somebody else put there meanwhile stays if it ``is_as_good``.
    """
    with temporary_folder(path) as folder:
        made = folder / path.name
        made.mkdir()
        writer = StoreWriter(made, dict(about or {}))
        try:
            yield writer
            writer.finish()
        finally:
            writer.close()
        put_in_place(made, path, is_as_good)


class StoreWriter:
    """Adds blocks of rows to a folder."""

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self.folder, self.about = folder, about
        self._arrays: dict[str, _GrowingFile] = {}
        self._n = self._d = self._nonzeros = 0

    def add(self, X: Any, labels: np.ndarray | None = None) -> None:
        """Add a block: a dense matrix, or a CSR matrix; always of the same kind."""
        self._n += X.shape[0]
        self._d = max(self._d, X.shape[1])
        if labels is not None:
            self.add_labels(labels)
        if not sparse.issparse(X):
            self._append("X", X)
            return
        if self._d > MAX_FEATURES:
            raise InputError(
                f"{self.folder.name}: sparse rows must have at most {MAX_FEATURES:,} features. Got "
                f"{self._d:,} instead. Number them without gaps, or hash them."
            )
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        if not self._arrays.get("indptr"):
            self._append("indptr", np.zeros(1, np.int64))
        self._append("data", X.data)
        self._append("indices", X.indices.astype(np.int32, copy=False))
        self._append("indptr", X.indptr[1:].astype(np.int64) + self._nonzeros)
        self._nonzeros += X.nnz

    def add_labels(self, labels: np.ndarray) -> None:
        """Add labels of the next rows, all of one type."""
        self._append("labels", np.asarray(labels))

    def _append(self, name: str, values: np.ndarray) -> None:
        if name not in self._arrays:
            self._arrays[name] = _GrowingFile(self.folder / f"{name}.npy", values)
        self._arrays[name].append(values)

    def finish(self) -> None:
        """Write the shapes, now that they are known, and what the folder says of itself."""
        arrays = {name: array.finish() for name, array in self._arrays.items()}
        head = {"format": FORMAT, "n": self._n, "d": self._d, "source": self.about, "arrays": arrays}
        text = json.dumps({**head, "sum": _text_sum(head)}, ensure_ascii=False, allow_nan=False)
        (self.folder / ABOUT_NAME).write_text(text, "utf-8")

    def close(self) -> None:
        """Close all files."""
        for array in self._arrays.values():
            array.file.close()


class _GrowingFile:
    """A .npy file to which rows are added; they have the type and the form of ``values``."""

    def __init__(self, path: Path, values: np.ndarray) -> None:
        self.path, self.file = path, path.open("wb")
        self.dtype, self.row = values.dtype.newbyteorder("=").str, values.shape[1:]
        self.length = self.sum = 0
        self.file.write(_npy_header(self.dtype, (0, *self.row)))

    def append(self, values: np.ndarray) -> None:
        values = np.ascontiguousarray(values, dtype=self.dtype)
        self.length += len(values)
        self.sum += _sum(values)
        values.tofile(self.file)

    def finish(self) -> dict[str, Any]:
        shape = self.length, *self.row
        self.file.seek(0)
        self.file.write(_npy_header(self.dtype, shape))  # NumPy leaves room for a length of any size
        return {"dtype": self.dtype, "shape": shape, "sum": self.sum % (1 << 64)}


def _npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    out = io.BytesIO()
    about = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, about)
    return out.getvalue()


def _sum(values: np.ndarray) -> int:
    """The checksum: all words of four bytes (or all bytes) added up. No byte can change alone."""
    word = "<u4" if values.dtype.itemsize % 4 == 0 else "u1"
    return int(np.add.reduce(values.reshape(-1).view(word), dtype=np.uint64))


def _text_sum(head: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(head, sort_keys=True).encode())


def read_store(path: Path, largest: int | None = None, features: int | None = None) -> FileRows:
    """Open a folder that :func:`write_store` made; everything it says of itself is checked.

    Columns, row ends and labels too: compiled code goes where they point. ``features`` announces how
    many there are, where they are many more than the numbers of the file.
    """
    path = Path(path)
    if path.is_file():
        raise InputError(
            f"{path}: must be a folder of rows. Got a file instead, written by an earlier version. "
            "Convert its source again."
        )
    try:
        head = _read_about(path)
        n, d, source = head["n"], head["d"], head["source"]
        arrays = _arrays(path, head)
        stored = math.prod(arrays["X" if "X" in arrays else "data"].shape)
        for name, section in arrays.items():
            _check(section, name, head["arrays"][name]["sum"], d)
        labels = np.load(path / "labels.npy", allow_pickle=False) if "labels" in arrays else None
        if "indptr" in arrays:
            ends = np.load(path / "indptr.npy", mmap_mode="r", allow_pickle=False)
            _require(not ends_fault(ends, n, stored), "its row ends do not rise")
    except (FileNotFoundError, NotADirectoryError) as error:
        if not path.is_dir():
            raise InputError(f"{path}: {error.strerror}.") from error
        raise _broken(path, f"there is no {Path(error.filename).name}") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}.") from error
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise _broken(path, str(error).rstrip(".")) from error
    check_width(path, d, stored, features)
    chosen = [section for name, section in arrays.items() if name != "labels"]
    return FileRows(path, d, chosen, labels, source.get("names"), largest, source)


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise ValueError(why)


def _read_about(path: Path) -> dict[str, Any]:
    """What a folder says of itself."""
    said = json.loads((path / ABOUT_NAME).read_text("utf-8"))
    head: dict[str, Any] = ABOUT.read(said, "its description")
    total = head.pop("sum")
    _require(total == _text_sum(head), "the checksum of its description does not match")
    source = head["source"]
    for key, form in SOURCE.items():
        form.read(source.get(key), f"its {key}")
    _require(len(source.get("names") or range(head["d"])) == head["d"], "it must name every feature")
    return head


def _arrays(path: Path, head: dict[str, Any]) -> dict[str, Section]:
    """Where its arrays lie: of one of two kinds of rows, and of the types that the kernels read."""
    n, arrays = head["n"], head["arrays"]
    wanted = {**(DENSE if "X" in arrays else SPARSE), **(LABELS if "labels" in arrays else {})}
    _require(arrays.keys() == wanted.keys(), f"its arrays must be {', '.join(wanted)}")
    sections = {}
    for name, dtypes in wanted.items():
        place = path / f"{name}.npy"
        with place.open("rb") as file:
            header = read_header(file, name)
            length = file.seek(0, 2) - header.offset
        said, dtype, shape = arrays[name], header.dtype.str, header.shape
        same = (said["dtype"], tuple(said["shape"])) == (dtype, shape) and not header.by_columns
        _require(same and not header.offset % 64, f"its array {name} is another than it says")
        _require(re.fullmatch(dtypes, dtype) is not None, f"its array {name} has another type")
        _require(length == header.nbytes, f"its array {name} is cut off")
        sections[name] = Section(place, header.offset, dtype, shape)
    stored = sections["data"].shape[:1] if "data" in sections else ()
    shapes = {"X": (n, head["d"]), "data": stored, "indices": stored, "indptr": (n + 1,), "labels": (n,)}
    for name, section in sections.items():
        _require(section.shape == shapes[name], f"its array {name} must have the shape {shapes[name]}")
    return sections


def _check(section: Section, name: str, expected: int, d: int) -> None:
    """Compare an array with its checksum, piece by piece; columns and labels must be possible ones."""
    count, total, dtype = math.prod(section.shape), 0, np.dtype(section.dtype)
    flat = section._replace(shape=(count,))
    with section.path.open("rb") as file:
        step = CHUNK_BYTES // dtype.itemsize + 1
        for start in range(0, count, step):
            place = flat.between(start, min(start + step, count))
            values = map_section(file.fileno(), place)
            total += _sum(values)
            if name == "indices":
                _require(0 <= int(values.min()) <= int(values.max()) < d, "a column is beyond the last")
            if dtype.kind in MAX_WORDS:
                word, most = MAX_WORDS[dtype.kind]
                _require(int(values.view(word).max()) <= most, "its labels are no texts")
    _require(total % (1 << 64) == expected, f"the checksum of its array {name} does not match")


def _broken(path: Path, why: str) -> InputError:
    return InputError(
        f"{path}: not a whole folder of rows: {why}. Delete it; it is made again from its source."
    )


READING = 2  # to be raised when the same file and options are read in another way
CLOCK_TICK = 0.02  # seconds in which a file may change twice without a new time


def cached(reader: Reader, folder: Path | None) -> FileRows:
    """Open the conversion of a source, or convert it now."""
    path, options = reader.path, reader.options
    before = _identity(path)
    key = {"format": READING, "source": before, "options": json.loads(json.dumps(asdict(options)))}
    home = path.absolute().parent if folder is None else folder
    target = home / _name(path, options, beside=folder is None)
    sweep(home, f"{_stem(path)}.")
    rows = _reuse(target, key)
    if rows is None and not _writable(target, make=folder is not None):
        target = _own_folder() / _name(path, options, beside=False)
        sweep(target.parent, f"{_stem(path)}.")
        rows = _reuse(target, key)
    if rows is not None:
        return rows
    time.sleep(max(0.0, min(CLOCK_TICK, before["time"] * 1e-9 + CLOCK_TICK - time.time())))
    with write_store(target, {"key": key}, lambda: _reuse(target, key) is not None) as writer:
        n = 0
        for block in reader.read():
            writer.add(block)
            n += block.shape[0]
        writer.about |= {**reader.about, "names": reader.names}
        labels = reader.labels.array()
        if labels is not None:
            check_length(labels, n, reader.shown)
            writer.add_labels(labels)
    if _identity(path) != before:
        shutil.rmtree(target, ignore_errors=True)
        raise InputError(
            f"{reader.shown}: changed while it was read. Wait until it is whole, and open it again."
        )
    return read_store(target, features=options.features)


def _identity(path: Path) -> dict[str, Any]:
    """What tells a file from any other, and from what it was before."""
    found = path.stat()
    return {
        "name": path.name,
        "place": [found.st_dev, found.st_ino],
        "size": found.st_size,
        "time": found.st_mtime_ns,
        "changed": found.st_ctime_ns,
    }


def _reuse(target: Path, key: dict[str, Any]) -> FileRows | None:
    """The conversion, if it is there, ours, whole, and of this source."""
    try:
        owners = {place.stat().st_uid for place in (target, *target.iterdir())}
        if hasattr(os, "getuid") and owners != {_user()}:
            return None
        rows = read_store(target, features=key["options"]["features"])
    except (InputError, OSError, MemoryError):
        return None
    return rows if rows.about.get("key") == key else None


def _name(path: Path, options: ReadOptions, beside: bool) -> str:
    """A name that tells the source and the user; away from it, its folder is part of the sum."""
    folder = "" if beside else str(path.absolute().parent)
    given = json.dumps([asdict(options), folder, _user()], sort_keys=True)
    return f"{_stem(path)}.{hashlib.sha256(given.encode()).hexdigest()[:12]}.rows"


def _stem(path: Path) -> str:
    """The name of the source, cut off where the names made from it would be too long."""
    return os.fsencode(path.name)[:150].decode("utf-8", "ignore")


def _writable(target: Path, make: bool) -> bool:
    """Whether a conversion can be made; the folder that was asked for is made, and must be usable."""
    if make:
        target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with temporary_folder(target):
            return True
    except OSError:
        if make:
            raise
        return False


def _user() -> int | str:
    return os.getuid() if hasattr(os, "getuid") else ""


def _own_folder() -> Path:
    """A folder for temporary files that nobody else can write to."""
    folder = Path(tempfile.gettempdir()) / f"maxmargin-{_user()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        mine = not hasattr(os, "getuid") or (found.st_uid == _user() and not found.st_mode & 0o022)
        if stat.S_ISDIR(found.st_mode) and mine:
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="maxmargin-"))
