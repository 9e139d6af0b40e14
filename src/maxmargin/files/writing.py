"""Write svmlight text that gives the same numbers when it is read."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.core.atomic import replacing
from maxmargin.core.errors import InputError
from maxmargin.files.labels import check_labels
from maxmargin.rows.structure import check_structure

__all__ = ["write_svmlight"]

BLOCK = 1 << 18  # numbers at a time


def write_svmlight(
    X: Any, y: Any, path: str | os.PathLike[str], *, first_index: int = 1, comment: str = ""
) -> None:
    """Write rows and labels as svmlight text; a name that ends in .gz is compressed.

    Numbers are written with the fewest digits that give the same double (at most 17). Of a dense matrix
    zeros are left out; of a sparse one all entries are written, also those that are zero, and entries of
    the same place are added up. A zero is written for the last feature (and for the first, if indices
    count from 0) where no row has it, so that the features can be counted.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Finite numbers.
    y : array of shape (n,)
        Labels: numbers, or strings without spaces, colons and number signs.
    path : path
        The file to write.
    first_index : {1, 0}
        The index of the first feature.
    comment : str
        Lines to put first, each after a number sign.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import maxmargin as mm
    >>> path = Path(tempfile.mkdtemp()) / "rows.svm"
    >>> mm.write_svmlight([[0.5, 0.0], [0.0, 2.0]], [1, -1], path)
    >>> print(path.read_text(), end="")
    1 1:0.5
    -1 2:2
    """
    check_structure(X)
    rows: Any = sparse.csr_array(X) if sparse.issparse(X) else np.atleast_2d(np.asarray(X))
    labels = [_label(value) for value in check_labels(np.asarray(y), "y").tolist()]
    _check(rows, labels, first_index)
    target = Path(path)
    opened = gzip.open if target.suffix.lower() == ".gz" else open
    first_row = _needed(rows, first_index)
    n = rows.shape[0]
    length = max(1, BLOCK * n // max(1, rows.nnz if sparse.issparse(rows) else rows.size))
    try:
        with replacing(target) as place, opened(place, "wb") as file:
            file.write("".join(f"# {line}\n" for line in comment.splitlines()).encode())
            for start in range(0, n, length):
                part = sparse.csr_array(rows[start : start + length])
                part.sum_duplicates()
                part = part.astype(np.int8) if part.dtype == bool else part
                file.write(
                    _lines(
                        part,
                        labels[start : start + length],
                        first_index,
                        first_row if start == 0 else [],
                    )
                )
    except OSError as error:
        raise InputError(
            f"{target}: {error.strerror or error}. Name a file that can be written."
        ) from error


def _needed(rows: Any, first: int) -> list[int]:
    """Indices that no row has, and without which features could not be counted."""
    used = (
        np.unique(rows.indices) if sparse.issparse(rows) else np.flatnonzero(np.any(rows != 0, axis=0))
    )
    ends = {0, rows.shape[1] - 1} if first == 0 else {rows.shape[1] - 1}
    return sorted(j + first for j in ends - set(used[[0, -1]].tolist() if len(used) else []))


def _lines(part: Any, labels: list[str], first: int, needed: list[int]) -> bytes:
    values = list(map(_text, part.data.tolist()))
    indices = (part.indices.astype(np.int64) + first).tolist()
    ends = part.indptr.tolist()
    lines = []
    for i, label in enumerate(labels):
        low, high = ends[i], ends[i + 1]
        pairs = [f"{j}:{v}" for j, v in zip(indices[low:high], values[low:high], strict=True)]
        if needed and i == 0:
            before = [f"{j}:0" for j in needed if j == 0 and j < part.shape[1] - 1 + first]
            pairs = [*before, *pairs, *(f"{j}:0" for j in needed if f"{j}:0" not in before)]
        lines.append(" ".join((label, *pairs)))
    return ("\n".join(lines) + "\n").encode()


def _text(value: float) -> str:
    """The shortest text of a number, without a needless point."""
    return repr(value).removesuffix(".0")


def _label(value: Any) -> str:
    text = value if isinstance(value, str) else _text(value)
    if not text or any(c.isspace() or c in ":#" for c in text):
        raise InputError(
            f"y must hold labels without spaces, colons and number signs. Got {text[:40]!r} instead. "
            "Rename the class."
        )
    return text


def _check(rows: Any, labels: list[str], first_index: int) -> None:
    values = rows.data if sparse.issparse(rows) else rows
    if rows.ndim != 2 or values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise InputError(f"X must be a matrix of numbers. Got shape {rows.shape}, type {values.dtype}.")
    if len(labels) != rows.shape[0]:
        raise InputError(f"y must hold {rows.shape[0]} labels, one for each row. Got {len(labels)}.")
    if not np.all(np.isfinite(values)):
        raise InputError(
            "X must hold finite numbers. Got nan or infinity. Drop the row, or fill the gap."
        )
    if first_index not in (0, 1):
        raise InputError(f"first_index must be 0 or 1. Got {first_index!r} instead.")
