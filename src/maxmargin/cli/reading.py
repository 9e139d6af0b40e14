"""Tables, svmlight text and NumPy matrices into memory; every error names the file and the line."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.checker import canonical
from maxmargin.core.errors import InputError
from maxmargin.estimators.door import check_exact

__all__ = ["Data", "read_data"]

TABLES, SVMLIGHT, MATRICES = (
    (".csv", ".tsv"),
    (".svm", ".svmlight", ".libsvm", ".txt", ".dat"),
    (".npy",),
)


class Data(NamedTuple):
    """Rows, labels and names, and where the file holds what."""

    X: Any
    y: np.ndarray
    names: list[str]
    source: dict[str, Any]


def read_data(
    path: str,
    label: str | None,
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    header: bool | None = None,
) -> Data:
    """Read a file whose ending says what it is; ``header`` None means to find out."""
    ending = Path(path).suffix.lower()
    try:
        if ending in TABLES:
            return _read_table(path, label, columns, drop, header)
        if ending in SVMLIGHT:
            if label is not None or columns or drop:
                raise InputError(
                    f"{path}: labels and features of svmlight text have no columns. "
                    "Leave out --label, --columns and --drop."
                )
            return _read_svmlight(path)
        if ending in MATRICES:
            return _read_matrix(path, label, columns, drop)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}. Name a file that can be read.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {error.reason}. Save the file as UTF-8.") from error
    endings = ", ".join((*TABLES, *SVMLIGHT, *MATRICES))
    raise InputError(f"{path}: the name of a data file must end in one of {endings}. Rename it.")


def _read_table(
    path: str, label: str | None, columns: Sequence[str], drop: Sequence[str], header: bool | None
) -> Data:
    lines = _lines(path)
    if not lines:
        raise InputError(f"{path}: must hold rows. Got none.")
    first = [field.strip() for field in lines[0][1]]
    if header is None:
        header = _is_header(path, first, label, lines[1][1] if len(lines) > 1 else [])
    names = first if header else list(map(str, range(len(first))))
    label_at, features_at = _places(path, names, label, columns, drop)
    values, labels = [], []
    for number, fields in lines[1:] if header else lines:
        where = f"{path}, line {number}"
        if len(fields) != len(names):
            raise InputError(f"{where}: must have {len(names)} fields. Got {len(fields)} instead.")
        if not fields[label_at].strip():
            raise InputError(f"{where}: the label must not be empty. Leave the row out, or fill it in.")
        labels.append(fields[label_at])
        values.append([_number(fields[k], where, names[k]) for k in features_at])
    if not values:
        raise InputError(f"{path}: must hold rows. Got none.")
    chosen = [names[k] for k in features_at]
    # A name that is repeated, or looks like a number, does not tell which column is meant.
    clear = len(set(names)) == len(names) and not any(_is_index(name) for name in names)
    source: dict[str, Any] = {
        "header": header,
        "label": names[label_at] if clear else str(label_at),
        "columns": chosen if clear else list(map(str, features_at)),
    }
    return Data(np.array(values).reshape(len(values), -1), _labels(labels), chosen, source)


def _lines(path: str) -> list[tuple[int, list[str]]]:
    """The lines that are not blank, with their numbers."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, delimiter="\t" if path.lower().endswith(".tsv") else ",", strict=True)
        try:
            return [(lines.line_num, f) for f in lines if len(f) > 1 or "".join(f).strip()]
        except csv.Error as error:
            raise InputError(f"{path}, line {lines.line_num}: {error}. Correct the file.") from error


def _is_header(path: str, first: Sequence[str], label: str | None, second: Sequence[str]) -> bool:
    """Whether the first line holds names."""
    own = len(first) - 1
    if label is not None:
        own = first.index(label) if label in first else int(label) if _is_index(label) else own
    features = [field for k, field in enumerate(first) if k != own and field]
    numbers = sum(_float(field) is not None for field in features)
    if 0 < numbers < len(features):
        raise InputError(
            f"{path}: the first line mixes names and numbers. Say what it is: --header or --no-header."
        )
    if not numbers:
        return bool(features)
    if label is not None and label in first and not _is_index(label):
        return True
    here, below = (line[own] if own < len(line) else "" for line in (first, second))
    return _float(here) is None and _float(below) is not None


def _places(
    path: str, names: list[str], label: str | None, columns: Sequence[str], drop: Sequence[str]
) -> tuple[int, list[int]]:
    def place(name: str) -> int:
        if names.count(name) == 1:
            return names.index(name)
        if _is_index(name) and int(name) < len(names):
            return int(name)
        some = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        raise InputError(
            f"{path}: a column must be one of {some}, or a number from 0 to {len(names) - 1}. "
            f"Got {name!r} instead."
        )

    label_at = len(names) - 1 if label is None else place(label)
    out = {label_at, *map(place, drop)}
    features = [place(name) for name in columns] if columns else list(range(len(names)))
    if columns and label_at in features:
        raise InputError(f"{path}: the label column {names[label_at]!r} must not be a feature.")
    features = [k for k in features if k not in out]
    if not features:
        raise InputError(f"{path}: must have at least one feature besides the label. Got none.")
    return label_at, features


def _read_svmlight(path: str) -> Data:
    data: list[float] = []
    indices: list[int] = []
    indptr = [0]
    labels: list[str] = []
    with open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            where = f"{path}, line {number}"
            label, *pairs = line.partition("#")[0].split() or [""]
            if not label:
                continue
            if ":" in label:
                raise InputError(f"{where}: must begin with a label. Got {label[:40]!r} instead.")
            last = -1
            for pair in pairs:
                index, colon, text = pair.partition(":")
                if index == "qid":
                    continue
                if not colon or not _is_index(index) or not last < int(index) < 2**31:
                    raise InputError(
                        f"{where}: features must be index:value with increasing indices from 0 or 1. "
                        f"Got {pair[:40]!r} instead."
                    )
                last = int(index)
                indices.append(last)
                data.append(_number(text, where, index))
            indptr.append(len(data))
            labels.append(label)
    if not labels:
        raise InputError(f"{path}: must hold rows. Got none.")
    if not indices:
        raise InputError(f"{path}: must hold at least one feature. Got none.")
    first = 0 if min(indices) == 0 else 1
    shape = len(labels), max(indices) - first + 1
    X = sparse.csr_matrix((np.array(data), np.array(indices) - first, np.array(indptr)), shape=shape)
    names = [str(j + first) for j in range(shape[1])]
    return Data(X, _labels(labels), names, {"first_index": first})


def _read_matrix(path: str, label: str | None, columns: Sequence[str], drop: Sequence[str]) -> Data:
    try:
        with open(path, "rb") as file:
            matrix = np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{path}: must be a matrix saved by numpy.save. {error}") from error
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise InputError(f"{path}: must hold a matrix of numbers, with the labels in a column.")
    if not len(matrix):
        raise InputError(f"{path}: must hold rows. Got none.")
    names = list(map(str, range(matrix.shape[1])))
    label_at, features_at = _places(path, names, label, columns, drop)
    gaps = np.flatnonzero(matrix[:, label_at] != matrix[:, label_at])  # nan
    if len(gaps):
        raise InputError(f"{path}, row {gaps[0]}: the label must not be nan. Leave the row out.")
    y = _labels([str(v) for v in matrix[:, label_at].tolist()])
    chosen = [names[k] for k in features_at]
    source = {"label": names[label_at], "columns": chosen}
    check_exact(matrix[:, features_at])
    return Data(matrix[:, features_at].astype(np.float64), y, chosen, source)


def _labels(texts: Sequence[str]) -> np.ndarray:
    """Labels as numbers if all of them are, else as text."""
    texts = [canonical(text) for text in texts]
    numbers = [_float(text) for text in texts]
    if any(value is None or not abs(value) < 2**53 for value in numbers):
        return np.array(texts)
    values = np.array(numbers, dtype=np.float64)
    return values.astype(np.int64) if np.all(values == np.floor(values)) else values


def _is_whole(text: str) -> bool:
    return text.strip().lstrip("+-").isdigit() and len(text) < 4_000


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10


def _number(text: str, where: str, name: str) -> float:
    value = _float(text)
    if value is not None and abs(value) >= 2**53 and _is_whole(text) and int(text) != value:
        raise InputError(
            f"{where}: feature {name} must be a number that a double holds. Got {text[:40]!r} instead, "
            "which would be rounded. Subtract an offset, or write it with an exponent."
        )
    if value is None or not math.isfinite(value):
        raise InputError(
            f"{where}: feature {name} must be a finite number. Got {text[:40]!r} instead. "
            "Correct the file, or leave the column out with --drop."
        )
    return value


def _float(text: str) -> float | None:
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None
