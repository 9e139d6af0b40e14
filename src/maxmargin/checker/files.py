"""The files a proof may be about: tables, svmlight text and matrices of NumPy.

Each reader yields the label and the nonzero features of one row after the other.
"""

from __future__ import annotations

import ast
import csv
import gzip
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from struct import Struct
from struct import error as StructError
from typing import Any, TextIO

from maxmargin.checker.form import Unreadable

Row = tuple[str, Mapping[int, float]]  # the label as written, and the features that are not zero


def read(path: str, proof: Mapping[str, Any], label: str | None = None) -> Iterator[Row]:
    r"""Yield the rows of a file; the label column is ``label``, else that of the proof, else the last.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from maxmargin.checker import read
    >>> path = Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("height,width,label\n1.5,0,yes\n0,2,no\n")
    >>> list(read(str(path), {"features": 2}, "label"))
    [('yes', {0: 1.5}), ('no', {1: 2.0})]
    """
    name = path.lower()
    ending = Path(name.removesuffix(".gz")).suffix
    if ending not in READERS or (ending == ".npy" and name.endswith(".gz")):
        raise Unreadable(
            f"{path}: must be a file {', '.join(READERS)}, the texts also with .gz. Got another kind. "
            "Write its rows as one of these; the proof holds for the same numbers in the same order."
        )
    try:
        yield from READERS[ending](path, proof, proof.get("label") if label is None else label)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Unreadable(f"{path}: {reason}. Name a file that can be read.") from None
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: {error.reason}. Save the file as UTF-8.") from None


def _open(path: str, newline: str | None = "") -> TextIO:
    """Open a text, compressed or not."""
    if path.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline=newline)
    return open(path, encoding="utf-8-sig", newline=newline)


def _read_table(path: str, proof: Mapping[str, Any], label: str | None) -> Iterator[Row]:
    """Read a .csv or .tsv file, whose first line is a header if it has a feature that is no number."""
    with _open(path) as file:
        tabs = path.lower().removesuffix(".gz").endswith(".tsv")
        lines = csv.reader(file, delimiter="\t" if tabs else ",", strict=True)
        width = 0
        try:
            for fields in lines:
                if len(fields) < 2 and not "".join(fields).strip():
                    continue
                if not width:
                    width, names = len(fields), [field.strip() for field in fields]
                    features = (
                        names[:-1]
                        if label is None
                        else [name for k, name in enumerate(names) if label not in (name, str(k))]
                    )
                    header = proof.get("header", any(name and _float(name) is None for name in features))
                    label_at, features_at = _places(path, proof, label, names if header else [], width)
                    if header:
                        continue
                where = f"{path}:{lines.line_num}"
                if len(fields) != width:
                    raise Unreadable(
                        f"{where}: must have {width} fields. Got {len(fields)}. Correct the file."
                    )
                texts = _encoded([fields[k] for k in features_at], proof.get("categories"), where)
                yield fields[label_at], _features(texts, where)
        except csv.Error as error:
            raise Unreadable(f"{path}:{lines.line_num}: {error}. Correct the file.") from None


def _read_svmlight(path: str, proof: Mapping[str, Any], label: str | None) -> Iterator[Row]:
    """Read lines such as ``+1 qid:3 1:0.5 7:-2 # comment``."""
    first = proof.get("first_index", 1)
    with _open(path, None) as file:
        for line_number, line in enumerate(file, 1):
            where = f"{path}:{line_number}"
            label, *pairs = line.partition("#")[0].split() or [""]
            if not label:
                continue
            if ":" in label:
                raise Unreadable(
                    f"{where}: must begin with a label. Got {label[:40]!r}. Correct the file."
                )
            texts: dict[int, str] = {}
            last = -1
            for index, _, text in (pair.partition(":") for pair in pairs if not pair.startswith("qid:")):
                j = _index(index)
                if j is None or not last < j - first < proof["features"]:
                    allowed = f"indices must increase, from {first} to {proof['features'] + first - 1}"
                    raise Unreadable(f"{where}: {allowed}. Got {index[:40]!r}. Correct the file.")
                last = j - first
                texts[last] = text
            yield label, _features(texts.items(), where)


def _read_npy(path: str, proof: Mapping[str, Any], label: str | None) -> Iterator[Row]:
    """Read a matrix written by numpy.save."""
    content = Path(path).read_bytes()
    try:
        magic, version = content[:6], content[6]
        start = 10 if version == 1 else 12
        end = start + int.from_bytes(content[8:start], "little")
        header = ast.literal_eval(content[start : min(end, start + 10_000)].decode("ascii").strip())
        by_columns, (height, width) = header["fortran_order"], header["shape"]
        order, kind = NPY[header["descr"]]
        lines = Struct(f"{order}{height if by_columns else width}{kind}").iter_unpack(content[end:])
        if (
            magic != b"\x93NUMPY"
            or len(content) - end != height * width * Struct(kind).size
            or height < 1
        ):
            raise ValueError  # a matrix without rows could say that it has any number of columns
    except (
        ArithmeticError,
        LookupError,
        MemoryError,
        RecursionError,
        SyntaxError,
        TypeError,
        ValueError,
        StructError,
    ):
        remedy = "Save it anew with numpy.save(file, matrix.astype(float))."
        raise Unreadable(
            f"{path}: must hold one matrix of numbers: {', '.join(NPY)}. {remedy}"
        ) from None
    label_at, features_at = _places(path, proof, label, [], width)
    for i, values in enumerate(zip(*lines, strict=True) if by_columns else lines):
        row = [float(values[k]) for k in features_at]
        if not all(map(math.isfinite, row)) or row != [values[k] for k in features_at]:
            raise Unreadable(f"{path}, row {i}: features must be finite. Correct the file.")
        yield str(values[label_at]), {j: value for j, value in enumerate(row) if value}


READERS = dict.fromkeys((".csv", ".tsv"), _read_table)
READERS |= dict.fromkeys((".svm", ".svmlight", ".libsvm", ".txt", ".dat"), _read_svmlight)
READERS[".npy"] = _read_npy
LETTERS = {
    "f8": "d",
    "f4": "f",
    "f2": "e",
    "i8": "q",
    "i4": "i",
    "i2": "h",
    "u8": "Q",
    "u4": "I",
    "u2": "H",
}
NPY = {order + kind: (order, letter) for order in "<>" for kind, letter in LETTERS.items()}
NPY |= {"|i1": ("<", "b"), "|u1": ("<", "B"), "|b1": ("<", "?")}


def _places(
    path: str, proof: Mapping[str, Any], label: str | None, names: list[str], width: int
) -> tuple[int, list[int]]:
    """Return where the label and the features are in a row of ``width`` fields."""

    def place(name: str) -> int:
        k = names.index(name) if names.count(name) == 1 else _index(name)
        if k is None or k >= width:
            known = f"a number from 0 to {width - 1}" + (
                " or a name that the header has once" if names else ""
            )
            where = (
                "Try --label." if name == label else "The proof is about a file that has this column."
            )
            raise Unreadable(f"{path}: a column must be {known}. Got {name[:40]!r}. {where}")
        return k

    label_at = width - 1 if label is None else place(label)
    others = [k for k in range(width) if k != label_at]
    features_at = [place(name) for name in proof["columns"]] if "columns" in proof else others
    wanted = len(proof["categories"]) if "categories" in proof else proof["features"]
    if len(features_at) != wanted or label_at in features_at:
        raise Unreadable(
            f"{path}: must have {wanted} features besides the label. Got {len(others)}. "
            "Name the file of the proof, and with --label its column of labels."
        )
    return label_at, features_at


def _encoded(texts: list[str], categories: list[list[str]] | None, where: str) -> list[tuple[int, str]]:
    """Return features with their texts: of categories one of zeros and ones for each."""
    if categories is None:
        return list(enumerate(texts))
    found, j = [], 0
    for text, known in zip(texts, categories, strict=True):
        if not known:
            found.append((j, text))
        elif text.strip() in known:
            found.append((j + known.index(text.strip()), "1"))
        else:
            some = ", ".join(known[:8])
            raise Unreadable(
                f"{where}: must be among the categories {some}. Got {text[:40]!r}. Correct the file."
            )
        j += max(1, len(known))
    return found


def _features(entries: Iterable[tuple[int, str]], where: str) -> dict[int, float]:
    """Return the nonzero features of a row from their texts."""
    features = {}
    for j, text in entries:
        value = _float(text)
        if value is None or not math.isfinite(value):
            raise Unreadable(
                f"{where}: features must be finite numbers. Got {text[:40]!r}. Correct the file."
            )
        if value:
            features[j] = value
    return features


def _float(text: str) -> float | None:
    """Return the double that a text stands for, if any; Python would also take 1_0 for 10."""
    try:
        value = float(text) if text.isascii() and "_" not in text else None
        if value is not None and abs(value) >= 2**53 and re.fullmatch("[ +-]*[0-9]{1,4000} *", text):
            return value if int(text) == value else None  # an integer that a double does not hold
        return value
    except ValueError:
        return None


def _index(text: str) -> int | None:
    """Return the number that a text of at most ten digits stands for, if it is one."""
    return int(text) if re.fullmatch("[0-9]{1,10}", text) else None
