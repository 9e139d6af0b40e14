"""What can be asked of a file, and how the place of a mistake is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.errors import InputError

Names = Sequence[str | int] | None

ENDINGS = {
    "csv": (".csv",),
    "tsv": (".tsv",),
    "svmlight": (".svm", ".svmlight", ".libsvm", ".txt", ".dat"),
    "npy": (".npy",),
    "npz": (".npz",),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "rows": (".rows",),
}
KINDS = tuple(ENDINGS)
ELSEWHERE = {  # files that people have, and what to do with them
    (".xlsx", ".xls", ".ods"): "Save the sheet as .csv.",
    (
        ".jsonl",
        ".ndjson",
        ".json",
    ): "Learn from JSON lines with maxmargin.stream, or write them as .csv.",
}
TEXTS = ("csv", "tsv", "svmlight")  # these may be compressed with gzip
TABLES = ("csv", "tsv", "parquet", "arrow")  # columns with names, some of text perhaps
COLUMNS = (*TABLES, "npy")  # columns with names or numbers


class Options(NamedTuple):
    """Everything that decides what is read from a file; plain JSON values."""

    kind: str
    label: str | bool | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    header: bool | None = None
    one_hot: bool = False
    encoding: dict[str, list[str]] | None = None
    dtype: str | None = None
    first_index: int | None = None
    features: int | None = None


def at_line(path: object, line: int) -> str:
    """The place of a mistake in text, as editors understand it; standard input is ``-``."""
    return f"{path}:{line}"


def at_row(path: object, row: int) -> str:
    """The place of a mistake where there are no lines; rows count from 0, as in NumPy."""
    return f"{path}, row {row}"


def find_kind(path: Path, kind: str | None = None) -> str:
    """Tell what a file holds by its name, unless it is said."""
    if kind is not None:
        if kind not in KINDS:
            raise InputError(f"kind must be one of {', '.join(KINDS)}. Got {kind!r} instead.")
        return kind
    name = path.name.lower()
    short = name.removesuffix(".gz")
    for known, endings in ENDINGS.items():
        if short.endswith(endings):
            if short != name and known not in TEXTS:
                raise InputError(f"{path}: only text may be compressed. Decompress it with gunzip.")
            return known
    every = ", ".join(ending for group in ENDINGS.values() for ending in group)
    for others, do in ELSEWHERE.items():
        if short.endswith(others):
            raise InputError(f"{path}: the name of a data file must end in one of {every}. {do}")
    raise InputError(
        f"{path}: the name of a data file must end in one of {every} (text also in .gz). "
        "Rename it, or say what it is (kind=…)."
    )


def read_options(
    path: object,
    kind: str,
    *,
    label: str | int | bool | None = None,
    columns: Names = None,
    drop: Names = None,
    header: bool | None = None,
    one_hot: bool = False,
    encoding: Mapping[str, Sequence[str]] | None = None,
    dtype: Any = None,
    first_index: int | None = None,
    features: int | None = None,
) -> Options:
    """Check what was asked for; an option that a kind of file does not have is refused."""
    if label is True:
        raise InputError("label must be a column, False (there is none) or None. Got True instead.")
    given = {
        "columns": (bool(columns), COLUMNS),
        "drop": (bool(drop), COLUMNS),
        "header": (header is not None, ("csv", "tsv")),
        "one_hot": (one_hot or bool(encoding), TABLES),
        "first_index": (first_index is not None, ("svmlight",)),
        "features": (features is not None, ("svmlight", "npz", "rows")),
        "label": (isinstance(label, (str, int)) and label is not False, (*COLUMNS, "npz")),
    }
    for name, (asked, kinds) in given.items():
        if asked and kind not in kinds:
            raise InputError(
                f"{path}: {name}=… is for {', '.join(kinds)}; in a {kind} file there is no such thing. "
                "Leave it out."
            )
    if first_index not in (None, 0, 1):
        raise InputError(f"first_index must be 0, 1 or None (1). Got {first_index!r} instead.")
    if features is not None and not 1 <= features <= 2**31:
        raise InputError(f"features must be a count from 1 to 2³¹ or None. Got {features!r} instead.")
    return Options(
        kind,
        str(label) if isinstance(label, int) and not isinstance(label, bool) else label,
        _texts("columns", columns),
        _texts("drop", drop),
        header,
        bool(one_hot) or bool(encoding),
        _read_encoding(encoding),
        _read_dtype(dtype),
        first_index,
        features,
    )


def _texts(name: str, columns: Names) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise InputError(f"{name} must be a list of columns. Got {columns!r}. Write [{columns!r}].")
    found = tuple(str(column) for column in columns or ())
    if len(set(found)) < len(found):
        twice = next(column for column in found if found.count(column) > 1)
        raise InputError(f"{name} must name a column once. Got {twice!r} twice instead.")
    return found


def _read_encoding(encoding: Mapping[str, Sequence[str]] | None) -> dict[str, list[str]] | None:
    if encoding is None:
        return None
    if not isinstance(encoding, Mapping) or any(isinstance(v, str) for v in encoding.values()):
        raise InputError(f"encoding must be a dict {{column: [categories]}}. Got {encoding!r} instead.")
    return {str(name): [str(value) for value in values] for name, values in encoding.items()}


def _read_dtype(dtype: Any) -> str | None:
    if dtype is None:
        return None
    try:
        name = str(np.dtype(dtype).name)
    except TypeError:
        name = ""
    if name not in ("float32", "float64"):
        raise InputError(f"dtype must be float64, float32 or None. Got {dtype!r} instead.")
    return name
