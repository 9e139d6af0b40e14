"""Many files as partitions: each is read where it is used, by whichever worker has it to do.

A worker is sent the name of a file and what to read of it; it opens the file with the same readers as
anybody, works on its rows, and forgets them. A Parquet file is read by row groups, as it is. Any other
file is converted by the first worker that needs it, as by :func:`maxmargin.open_rows`.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.files.arrow import ArrowReader, row_groups
from maxmargin.files.open import collect, open_source, os_errors_as_input_errors
from maxmargin.files.reader import ENDINGS, ReadOptions, find_kind, read_options
from maxmargin.rows.partitions import Source, Sources
from maxmargin.rows.training_data import matrix_of

MIN_PARTITION_ENTRIES = 1 << 22  # numbers of a partition, at least, where row groups are put together
CONVERTED_NAME = re.compile(r"\.[0-9a-f]{12}\.rows($|/)")  # of what was made from other files

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class FilePartitions(Sources):
    """Labelled rows of many files, made by :func:`maxmargin.open_rows` with a ``backend``.

    ``fit`` and ``score`` of the classifiers that take Dask collections, :func:`maxmargin.separability`
    and :func:`maxmargin.certify` take it in place of X and y; ``predict`` and ``decision_function`` give
    Dask arrays.

    Attributes
    ----------
    files : list of Path
        The files, in the order of their rows.
    npartitions : int
        How many partitions there are: one per file, or one per few row groups of a Parquet file.
    """

    def __init__(self, files: Sequence[Path], parts: Sequence[Source], client: Any) -> None:
        super().__init__(parts, client)
        self.files = list(files)

    def __repr__(self) -> str:
        many = f"{len(self.files)} files, {self.npartitions} partitions"
        return f"FilePartitions({str(self.files[0])!r}, …: {many})"


def open_parts(
    paths: Paths, backend: Any, kind: str | None, cache_dir: Any, given: dict[str, Any]
) -> FilePartitions:
    """Find the files, and say how they are cut into partitions; none is read yet."""
    client = _client_of(backend)
    files = _files(paths, kind)
    if given["one_hot"] and not given["encoding"]:
        raise InputError(
            "one_hot on files in partitions must come with the categories, since no file knows those of "
            "the others. Got none instead. Pass encoding={column: [categories]}."
        )
    kinds = {find_kind(file, kind) for file in files}
    if len(kinds) > 1:
        raise InputError(
            f"files in partitions must be of one kind. Got {', '.join(sorted(kinds))} instead. Name "
            "those of one kind, such as *.parquet."
        )
    (kind,) = kinds
    options = read_options(files[0], kind, **given)
    parts: list[Source] = []
    for file in files:
        if kind == "parquet":
            parts += _row_groups(file, options)
        else:
            parts.append(FilePart(os.fspath(file), options, cache_dir))
    if not parts:
        raise InputError(f"{files[0]} and the others must hold rows. Got none. Name other files.")
    return FilePartitions(files, parts, client)


def _client_of(backend: Any) -> Any:
    if isinstance(backend, str) and backend == "dask":
        return None
    if all(hasattr(backend, name) for name in ("get", "gather", "scheduler_info")):
        return backend
    raise InputError(f"backend must be None, 'dask' or a distributed.Client. Got {backend!r} instead.")


def _files(paths: Paths, kind: str | None) -> list[Path]:
    """The files of a pattern, a folder, or a list of names."""
    names = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[Path] = []
    for name in (os.fspath(name) for name in names):
        if "://" in name:
            raise InputError(
                f"{name}: files in partitions must be in a folder that all workers see. Got an address "
                "instead. Use dask.dataframe.read_parquet, and pass the data frame."
            )
        some = [name] if Path(name).is_file() else sorted(glob.glob(name, recursive=True))
        for one in map(Path, some):
            found += _in_folder(one, kind) if one.is_dir() and not _is_store(one) else [one]
        if not some and not glob.has_magic(name):
            raise InputError(f"{name}: No such file or folder. Name files that can be read.")
    found = [file for file in found if not CONVERTED_NAME.search(file.as_posix())]
    if not found:
        raise InputError(
            f"{', '.join(map(str, names))}: no file has such a name. Name files that exist."
        )
    return [file.absolute() for file in found]


def _in_folder(folder: Path, kind: str | None) -> list[Path]:
    """The data files of a folder; others are left out, and those that begin with a dot or a line."""
    endings = tuple(ending for group in ENDINGS.values() for ending in group)
    names = sorted(file.name for file in folder.iterdir() if file.is_file() or _is_store(file))
    return [
        folder / name
        for name in names
        if name[:1] not in "._" and (kind or name.lower().removesuffix(".gz").endswith(endings))
    ]


def _is_store(path: Path) -> bool:
    return path.suffix.lower() == ".rows"


def _row_groups(file: Path, options: ReadOptions) -> Iterator[Source]:
    """A few row groups at a time."""
    with os_errors_as_input_errors(os.fspath(file)):
        sizes, columns = row_groups(file)
    first, rows = 0, 0
    for k, size in enumerate(sizes):
        rows += size
        if rows * columns >= MIN_PARTITION_ENTRIES or k + 1 == len(sizes):
            if rows:
                yield RowGroups(os.fspath(file), options, range(first, k + 1))
            first, rows = k + 1, 0


@contextmanager
def _on_a_worker(path: str) -> Iterator[None]:
    """Errors of the operating system as errors of input, with what may be different there."""
    try:
        with os_errors_as_input_errors(path):
            yield
    except InputError as error:
        if isinstance(error.__cause__, OSError):
            raise error.retold("{} Every worker must reach it under this name.".format) from error
        raise


class FilePart(Source):
    """A file of any kind, converted by the first worker that needs it."""

    def __init__(self, path: str, options: ReadOptions, cache_dir: Any) -> None:
        self.path, self.options, self.cache_dir = path, options, cache_dir

    def __str__(self) -> str:
        return self.path

    def read(self) -> tuple[Any, np.ndarray | None, list[str] | None]:
        """The matrix, the labels and the names of the features."""
        with _on_a_worker(self.path):
            rows = open_source(Path(self.path), self.options, self.cache_dir, self.path)
        return matrix_of(rows.between(0, rows.n)), rows.labels, rows.names


class RowGroups(Source):
    """Some row groups of a Parquet file."""

    def __init__(self, path: str, options: ReadOptions, groups: range) -> None:
        self.path, self.options, self.groups = path, options, groups

    def __str__(self) -> str:
        return f"{self.path}, row groups {self.groups.start} to {self.groups.stop - 1}"

    def read(self) -> tuple[Any, np.ndarray | None, list[str] | None]:
        """The matrix, the labels and the names of the features."""
        with _on_a_worker(self.path):
            reader = ArrowReader(Path(self.path), self.options, str(self), self.groups)
            X = collect(reader)
        return X, reader.labels.array(), reader.names
