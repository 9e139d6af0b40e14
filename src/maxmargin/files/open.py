"""Opens a data file of any kind, as rows that need not fit into memory, or as arrays that do.

The name of a file says what it is. What comes through a pipe has no name: its first bytes say it.
"""

from __future__ import annotations

import errno
import gzip
import os
import re
import shutil
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError, Remedy
from maxmargin.core.memory import MAX_EXPANSION, NUMBER_BYTES
from maxmargin.files.arrow import ArrowReader
from maxmargin.files.cache import cached, read_store
from maxmargin.files.numpy_files import NpyReader, NpzReader, map_npy, read_array
from maxmargin.files.reader import (
    Labels,
    Names,
    Reader,
    ReadOptions,
    check_labels,
    check_length,
    find_kind,
    read_options,
)
from maxmargin.files.svmlight import SvmlightReader
from maxmargin.files.tables import CsvReader
from maxmargin.rows.on_disk import FileRows

READERS: dict[str, type[Reader]] = {
    "csv": CsvReader,
    "tsv": CsvReader,
    "svmlight": SvmlightReader,
    "npy": NpyReader,
    "npz": NpzReader,
    "parquet": ArrowReader,
    "arrow": ArrowReader,
}
FILE_SIGNATURES = {
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"maxmargin rows": "rows",
}
SVMLIGHT_LINE = re.compile(rb"[^\s,#:]+(?:\s+qid:\S+)?\s+[0-9]+:[^\s,]")
GUESS_BYTES = 1 << 16


def guess_kind(path: Path) -> str:
    """Tell npy, npz, Parquet, Arrow, svmlight and tables apart."""
    with path.open("rb") as file:
        start = file.read(GUESS_BYTES)
    for mark, kind in FILE_SIGNATURES.items():
        if start.startswith(mark):
            return kind
    if start.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(path) as file:
                start = file.read(GUESS_BYTES)
        except (OSError, EOFError, zlib.error):
            return "csv"  # its reader says what is wrong
    lines = [line for line in start.split(b"\n")[:100] if line.strip()]
    if any(SVMLIGHT_LINE.match(line.strip()) for line in lines):
        return "svmlight"
    return "tsv" if lines and b"\t" in lines[0] and b"," not in lines[0] else "csv"


def open_rows(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    label: str | int | bool | None = None,
    columns: Names = None,
    drop: Names = None,
    header: bool | None = None,
    one_hot: bool = False,
    encoding: Mapping[str, Sequence[str]] | None = None,
    labels: Any = None,
    dtype: Any = None,
    first_index: int | None = None,
    features: int | None = None,
    kind: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    backend: Any = None,
) -> Any:
    r"""Open a data file of any size as rows, which ``fit`` takes in place of X and y.

    A matrix of NumPy (C order, float64 or float32, labels elsewhere) is used as it is. Any other file is
    converted once, in pieces, to a folder of arrays beside it, ``NAME.….rows``, which the same user uses
    from then on as long as the source and the options stay the same.

    Parameters
    ----------
    path : path
        svmlight (.svm, .svmlight, .libsvm, .txt, .dat), .csv, .tsv (all also in .gz), .parquet, .arrow,
        .feather, .npy, .npz, a converted .rows folder, or ``"-"`` for standard input.
    label : str, int, False or None
        The column of the labels, by name or number; None is the last one, False is none at all. In an
        .npz file the name of their array, None is ``y``. svmlight rows begin with their label.
    columns, drop : list of names or numbers, optional
        The features to use, in this order (all); the features to leave out.
    header : bool, optional
        Whether the first line of a table holds names. None finds out.
    one_hot : bool
        Whether columns of text become features, one for each category.
    encoding : dict, optional
        ``{column: [categories]}``, as in ``rows.about["encoding"]`` of the rows a model was fitted to.
    labels : array or path, optional
        Labels that are not in the file: an array, a .npy file, or a text with one in each line.
    dtype : {None, "float64", "float32"}
        How numbers are stored. None keeps single precision where the file has it.
    first_index : int, optional
        The index of the first feature of svmlight rows (None is 1, and an index 0 is refused).
    features : int, optional
        How many features there are, in svmlight, .npz and .rows. None is what the file says: its
        shape, or the largest index. Sparse rows with more than two million features, and more than 96
        for each number in the file, are taken only if this announces them.
    kind : str, optional
        What the file is, if its name does not tell: csv, tsv, svmlight, npy, npz, parquet, arrow, rows.
    cache_dir : path, optional
        A folder for the conversion, other than that of the source.
    backend : distributed.Client or "dask", optional
        Open many files as the partitions of one data set, which the workers of a Dask cluster read
        themselves, or with "dask" whatever Dask runs tasks on. Then ``path`` may be a pattern such as
        ``"rows/*.parquet"``, a folder, or a list of names, all of one kind. Row groups of Parquet files
        are read as they are; other files are converted by the first worker that needs them. Nothing is
        read yet.

    Returns
    -------
    FileRows
        With ``labels``, ``names``, ``shape``, and ``about``, which says how the file was read. With a
        ``backend``, :class:`maxmargin.files.partitions.FilePartitions` instead.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> path = Path(tempfile.mkdtemp()) / "marks.csv"
    >>> _ = path.write_text("homework,exam,passed\n90,80,yes\n40,30,no\n50,40,no\n")
    >>> rows = mm.open_rows(path, label="passed")
    >>> mm.HardMarginSVC().fit(rows).score(rows)
    1.0
    """
    given: dict[str, Any] = {
        "label": label,
        "columns": columns,
        "drop": drop,
        "header": header,
        "one_hot": one_hot,
        "encoding": encoding,
        "dtype": dtype,
        "first_index": first_index,
        "features": features,
    }
    if backend is not None:
        from maxmargin.files.partitions import open_parts

        if labels is not None:
            raise InputError(
                "labels must be None for files in partitions. Got labels instead.",
                Remedy("name their column", "label", ...),
            )
        return open_parts(path, backend, kind, cache_dir, given)
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(
            f"path must name one file. Got {path!r} instead. To open many as one, name a backend, "
            "such as backend='dask'."
        )
    shown = os.fspath(path)
    with opened(path, kind) as (source, kind, temporary):
        if labels is not None:
            given["label"] = False
        options = read_options(shown, kind, **given)
        rows = open_source(source, options, None if temporary else cache_dir, shown)
        if temporary is not None:
            if rows.path != source:  # it was converted
                source.unlink()
            weakref.finalize(rows, shutil.rmtree, temporary, ignore_errors=True)
        if labels is not None:
            rows.labels = _given_labels(labels, rows.n, shown)
        return rows


def open_source(
    source: Path,
    options: ReadOptions,
    cache_dir: str | os.PathLike[str] | None,
    shown: object,
) -> FileRows:
    """Return the rows of one file; it is converted if it has to be."""
    if options.kind == "rows":
        return read_store(source, features=options.features)
    if options.kind == "npy":
        rows = map_npy(source, options, shown)
        if rows is not None:
            return rows
    reader = READERS[options.kind](source, options, shown)
    return cached(reader, None if cache_dir is None else Path(cache_dir))


@contextmanager
def opened(
    path: str | os.PathLike[str], kind: str | None = None
) -> Iterator[tuple[Path, str, Path | None]]:
    """Yield the file to read, its kind, and the temporary folder to which a pipe was copied first."""
    with os_errors_as_input_errors(os.fspath(path)):
        is_pipe = isinstance(path, str) and path == "-"
        source = Path(path)
        if not is_pipe:
            is_store = kind == "rows" or (kind is None and source.suffix.lower() == ".rows")
            if source.is_dir() and not is_store:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
            if source.is_dir() or stat.S_ISREG(source.stat().st_mode):
                yield source, find_kind(source, kind), None
                return
        with _spooled(sys.stdin.buffer if is_pipe else source.open("rb")) as copy:
            yield copy, find_kind(copy, kind or guess_kind(copy)), copy.parent


@contextmanager
def _spooled(pipe: IO[bytes]) -> Iterator[Path]:
    """Copy a pipe to a temporary folder, which is removed if an error follows."""
    folder = Path(tempfile.mkdtemp(prefix="maxmargin-"))
    try:
        with (folder / "input").open("wb") as copy:
            shutil.copyfileobj(pipe, copy, 1 << 20)
        if pipe is not sys.stdin.buffer:
            pipe.close()
        yield folder / "input"
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def os_errors_as_input_errors(shown: object) -> Iterator[None]:
    """Errors of the operating system as errors of input."""
    try:
        yield
    except OSError as error:
        why = f"{shown}: {error.strerror or error}"
        unread = isinstance(error, (FileNotFoundError, IsADirectoryError, PermissionError))
        if unread and str(error.filename) == str(shown):
            raise InputError(f"{why}. Name a file that can be read.") from error
        of = "" if error.filename is None else f" ({error.filename})"
        raise InputError(
            f"{why}{of}. Name a file that can be read.",
            Remedy("name a folder with room for its conversion", "cache_dir", ...),
        ) from error
    except ValueError as error:
        if isinstance(error, InputError) or "null" not in str(error):
            raise
        raise InputError(f"{shown!r}: is no name of a file. Name a file that can be read.") from error


def _given_labels(labels: Any, n: int, shown: object) -> np.ndarray:
    if isinstance(labels, (str, os.PathLike)):
        found = _read_label_file(Path(labels))
        shown = labels
    else:
        found = check_labels(np.asarray(labels), "labels")
        shown = "labels"
    check_length(found, n, shown)
    return found


def _read_label_file(path: Path) -> np.ndarray:
    if path.suffix.lower() == ".npy":
        with path.open("rb") as file:
            return check_labels(read_array(file, path.stat().st_size, path), path)
    try:
        texts = [line.strip() for line in path.read_text("utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: must be text in UTF-8. Save the file as UTF-8.") from error
    book = Labels(path)
    distinct = sorted(set(texts))
    place = {text: k for k, text in enumerate(distinct)}
    book.add_texts(np.array([place[text] for text in texts], dtype=np.int64), distinct)
    found = book.array()
    return np.empty(0) if found is None else found


MAX_UNPACKED_BYTES = 1 << 30  # bytes that a small file may unpack to in memory


class Data(NamedTuple):
    """Rows, labels and names, and where the file holds what."""

    X: Any
    y: np.ndarray
    names: list[str]
    source: dict[str, Any]
    encoding: dict[str, list[str]] = {}  # noqa: RUF012 - never changed


def read_data(path: str | os.PathLike[str], *, kind: str | None = None, **options: Any) -> Data:
    r"""Read a data file that fits into memory: X, y and the names of the features.

    Numbers are doubles, and no file is written.

    Parameters
    ----------
    path : path
        A file of any kind that :func:`maxmargin.open_rows` opens, or ``"-"`` for standard input.
    kind : str, optional
        What the file is, if its name does not tell.
    **options
        label, columns, drop, header, one_hot, encoding, first_index and features, as for
        :func:`maxmargin.open_rows`.

    Returns
    -------
    Data
        ``X`` (an array, or a CSR matrix if the file is sparse), ``y`` (empty without labels),
        ``names``, ``source`` (where the file holds the label and the features, for a proof) and
        ``encoding`` (the categories of columns of text).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tumours.csv")
    ...     _ = file.write_text("size,shade,kind\n1,2.5,benign\n4,3,malign\n")
    ...     data = mm.read_data(file, label="kind")
    >>> data.X.tolist(), data.y.tolist(), data.names
    ([[1.0, 2.5], [4.0, 3.0]], ['benign', 'malign'], ['size', 'shade'])
    """
    shown = os.fspath(path)
    with opened(path, kind) as (source, kind, temporary):
        asked = read_options(shown, kind, dtype=np.float64, **options)
        if kind == "rows":
            raise InputError(f"{shown}: this is a conversion. Name its source.")
        reader = READERS[kind](source, asked, shown)
        X = collect(reader)
    if temporary is not None:
        shutil.rmtree(temporary, ignore_errors=True)
    y = reader.labels.array()
    if y is not None:
        check_length(y, X.shape[0], shown)
    return described(X, y, reader.names, reader.about)


def described(
    X: Any, labels: np.ndarray | None, names: Sequence[str] | None, about: Mapping[str, Any]
) -> Data:
    """Return rows and what is known of them; features without names are called by their numbers."""
    source = dict(about)
    categories, first = source.pop("encoding", None) or {}, source.get("first_index", 0)
    names = names or source.get("columns") or [str(j + first) for j in range(X.shape[1])]
    return Data(X, np.empty(0) if labels is None else labels, list(names), source, categories)


def collect(reader: Reader) -> Any:
    """All blocks of a reader as one matrix of doubles."""
    blocks: list[Any] = []
    size, most = 0, max(MAX_UNPACKED_BYTES, MAX_EXPANSION * reader.path.stat().st_size) // NUMBER_BYTES
    for block in reader.read():
        blocks.append(block)
        size += block.size
        if size > most:
            raise InputError(
                f"{reader.shown}: must unpack to at most {most:,} numbers to be read into memory. Got "
                "more instead.",
                Remedy("keep them in a file, with {}", "maxmargin.open_rows"),
            )
    if not sparse.issparse(blocks[0]):
        return np.concatenate(blocks, dtype=np.float64)
    index = np.int32 if size < 2**31 else np.int64
    steps = [np.zeros(1, index), *(np.diff(block.indptr) for block in blocks)]
    ends = np.cumsum(np.concatenate(steps), dtype=index)
    data = np.concatenate([block.data for block in blocks], dtype=np.float64)
    indices = np.concatenate([block.indices for block in blocks], dtype=index)
    shape = len(ends) - 1, max(block.shape[1] for block in blocks)
    return sparse.csr_matrix((data, indices, ends), shape=shape)
