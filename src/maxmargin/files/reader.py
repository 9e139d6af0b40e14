"""What every reader of files does: blocks of features one after the other, and labels on the side.

What is read is decided by :class:`ReadOptions`. Labels come block after block: texts become numbers only
if all of them are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.checker import canonical
from maxmargin.core.errors import InputError, Remedy
from maxmargin.core.memory import (
    CHARACTER_BYTES,
    NUMBER_BYTES,
    check_room_for_labels,
    check_width,
    in_proportion,
)
from maxmargin.files.text import read_float

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


@dataclass(frozen=True)
class ReadOptions:
    """Everything that decides what is read from a file, checked by :func:`read_options`; plain JSON."""

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
        f"{path}: the name of a data file must end in one of {every} (text also in .gz).",
        Remedy("rename it"),
        Remedy("say what it is", "kind", ...),
    )


def read_options(path: object, kind: str, **given: Any) -> ReadOptions:
    """Check what was asked for; an option that a kind of file does not have is refused."""
    asked = ReadOptions(kind, **given)
    label = asked.label
    if label is True:
        raise InputError("label must be a column, False (there is none) or None. Got True instead.")
    of_kinds = {
        "columns": (bool(asked.columns), COLUMNS),
        "drop": (bool(asked.drop), COLUMNS),
        "header": (asked.header is not None, ("csv", "tsv")),
        "one_hot": (asked.one_hot or bool(asked.encoding), TABLES),
        "first_index": (asked.first_index is not None, ("svmlight",)),
        "features": (asked.features is not None, ("svmlight", "npz", "rows")),
        "label": (isinstance(label, (str, int)) and label is not False, (*COLUMNS, "npz")),
    }
    for name, (used, kinds) in of_kinds.items():
        if used and kind not in kinds:
            raise InputError(
                f"{path}: options must suit the kind of file. Got one of {', '.join(kinds)} files for a "
                f"{kind} file instead.",
                Remedy("leave out {}", name, ...),
            )
    if asked.first_index not in (None, 0, 1):
        raise InputError(f"first_index must be 0, 1 or None (1). Got {asked.first_index!r} instead.")
    if asked.features is not None and not 1 <= asked.features <= 2**31:
        raise InputError(
            f"features must be a count from 1 to 2³¹ or None. Got {asked.features!r} instead."
        )
    return replace(
        asked,
        label=label if label is None or label is False else str(label),
        columns=_texts("columns", asked.columns),
        drop=_texts("drop", asked.drop),
        one_hot=bool(asked.one_hot) or bool(asked.encoding),
        encoding=_read_encoding(asked.encoding),
        dtype=_read_dtype(asked.dtype),
    )


def _texts(name: str, columns: Names) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise InputError(f"{name} must be a list of columns. Got {columns!r}. Write [{columns!r}].")
    return tuple(map(str, columns or ()))


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


MAX_CLASSES = 1_000_000  # different labels
MISSING_LABELS = "", "NA", "N/A", "<NA>", "null", "NULL"
NO_NUMBERS = "nan", "inf", "infinity"


class Labels:
    """The labels of a file; of texts that stand for the same number, such as 1 and +1.0, one is kept.

    Parameters
    ----------
    path : object
        The file, for errors.
    """

    def __init__(self, path: object) -> None:
        self.path = path
        self._known: dict[str, int] = {}
        self._codes: list[np.ndarray] = []
        self._typed: list[np.ndarray] = []
        self._rows = 0
        self.entries = 0  # numbers in the rows so far

    def add_texts(self, codes: np.ndarray, texts: Sequence[str]) -> None:
        """Add labels ``texts[code]``."""
        places = [self._known.setdefault(canonical(text), len(self._known)) for text in texts]
        for text, place in zip(texts, places, strict=True):
            if _is_missing(text):
                row = self._rows + int(np.argmax(np.array(places)[codes] == place))
                raise InputError(
                    f"{at_row(self.path, row)}: a label must not be missing. Got {text!r} instead. "
                    "Leave its row out, or fill it in."
                )
        self._rows += len(codes)
        if len(self._known) > MAX_CLASSES:
            raise InputError(
                f"{self.path}: labels must be classes. Got more than {MAX_CLASSES:,} different ones "
                "instead.",
                Remedy("name the column of the labels", "label", ...),
            )
        self._codes.append(np.array(places, dtype=np.int32)[codes])

    def add_values(self, values: np.ndarray) -> None:
        """Add labels that have a type already."""
        self._typed.append(check_labels(np.asarray(values), self.path, self._rows))
        self._rows += len(self._typed[-1])

    def array(self) -> np.ndarray | None:
        """All labels, or None if there were none."""
        if self._typed:
            size = max(part.itemsize for part in self._typed)
            check_room_for_labels(self.path, self._rows, size, self.entries)
            return np.concatenate(self._typed)
        if not self._codes:
            return None
        longest = max(map(len, self._known))
        check_room_for_labels(self.path, self._rows, CHARACTER_BYTES * longest, self.entries)
        return np.asarray(typed_labels(list(self._known))[np.concatenate(self._codes)])


def check_length(labels: np.ndarray, rows: int, path: object) -> None:
    """Refuse labels that are more or fewer than the rows."""
    if len(labels) != rows:
        raise InputError(
            f"{path}: must hold a label for each of the {rows:,} rows. Got {len(labels):,} labels "
            "instead. Write both anew, from the same rows."
        )


def check_labels(values: np.ndarray, shown: object, before: int = 0) -> np.ndarray:
    """Labels that have a type: one for each row, none of them missing; there are rows ``before``."""
    values = values.ravel() if values.ndim == 2 and 1 in values.shape else values
    if values.ndim != 1 or values.dtype.kind not in "biufSU":
        raise InputError(
            f"{shown}: labels must be a vector of numbers or strings. Got shape {values.shape} and type "
            f"{values.dtype} instead."
        )
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        where = at_row(shown, before + row)
        raise InputError(f"{where}: the label must not be {values[row]}. Leave the row out.")
    values = np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values
    if values.dtype.kind == "U" and len(values):  # as wide as the longest, and no wider
        values = values.astype(f"U{max(1, int(np.char.str_len(values).max()))}", copy=False)
    return values


def _is_missing(text: str) -> bool:
    """Whether a text says that there is no label, or is no number though it is written as one."""
    return text.strip() in MISSING_LABELS or text.strip().lower().lstrip("+-") in NO_NUMBERS


def typed_labels(texts: Sequence[str]) -> np.ndarray:
    """Canonical texts as numbers if all of them are, whole ones if all are whole, else as texts."""
    found = [read_float(text) for text in texts]
    numbers = [value for value in found if value is not None and abs(value) < 2**53]
    if len(numbers) < len(texts):
        return np.array(texts)
    values = np.array(numbers, dtype=np.float64)
    return values.astype(np.int64) if np.all(values == np.floor(values)) else values


class Reader(ABC):
    """Read a file block by block.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        What to read of it.
    shown : object
        Its name in errors.
    """

    def __init__(self, path: Path, options: ReadOptions, shown: object) -> None:
        self.path, self.options, self.shown = path, options, shown
        self.labels = Labels(shown)
        self.names: list[str] | None = None  # of the features, if the file names them
        self.about: dict[str, Any] = {}  # what a later file must be read with, and a proof tells

    @abstractmethod
    def blocks(self) -> Iterator[Any]:
        """Yield matrices, all dense or all sparse; ``names`` and ``about`` are known at the end."""

    def read(self) -> Iterator[Any]:
        """Yield the blocks in the type asked for, from the beginning."""
        self.labels = Labels(self.shown)
        n = d = entries = 0
        size = self.path.stat().st_size
        for X in self.blocks():
            yield self._as_type(X, n)
            n += X.shape[0]
            d, entries = max(d, X.shape[1]), entries + X.size
            self.labels.entries = entries
            if not in_proportion(NUMBER_BYTES * n, size):  # every label is kept in memory
                raise InputError(
                    f"{self.shown}: must have a row for every few bits of the file. Got {n:,} rows and "
                    f"more in {size:,} bytes instead. Write it again, not compressed."
                )
        if not n:
            raise InputError(f"{self.shown}: must hold rows. Got none. Name another file.")
        check_width(self.shown, d, entries, self.options.features)

    def place(self, before: int, i: int, j: int) -> str:
        """Where an entry of a block is, in words."""
        return f"{at_row(self.shown, before + i)}: feature {j}"

    def _as_type(self, X: Any, before: int) -> Any:
        if self.options.dtype is None or X.dtype == self.options.dtype:
            return X
        with np.errstate(over="ignore"):
            changed = X.astype(self.options.dtype)
        values = changed if isinstance(changed, np.ndarray) else changed.data
        if not np.all(np.isfinite(values)):
            bad = int(np.argwhere(~np.isfinite(values))[0, 0])
            row = bad if values is changed else int(np.searchsorted(changed.indptr, bad, "right")) - 1
            raise InputError(
                f"{at_row(self.shown, before + row)}: must hold numbers that {changed.dtype} can hold. "
                "Got a larger one. Use dtype='float64', or divide its column."
            )
        return changed
