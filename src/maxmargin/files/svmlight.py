"""svmlight text: ``label [qid:…] index:value … [# comment]``, indices rising.

Features count from 1, as the format has it, and an index 0 is refused: ``first_index=0`` reads the files
that count from 0, as scikit-learn writes them. Nothing is guessed from the indices that occur, since the
rows of a file may leave out the first feature. What is written gives the same numbers when it is read.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.core.atomic_write import replacing
from maxmargin.core.errors import InputError, Remedy
from maxmargin.files.reader import Reader, check_labels
from maxmargin.files.text import (
    LINE,
    Scratch,
    TextSource,
    as_text,
    at_line,
    distinct,
    is_index,
    line_ends,
    read_number,
    short,
)
from maxmargin.kernels.text import read_svmlight
from maxmargin.rows.sparse import check_structure

Row = tuple[str, list[int], list[float]]


def parse_line(line: str, where: str, bare: bool = False) -> Row | None:
    """Label, indices and values of one line; None if there is nothing in it.

    Where lines may be ``bare``, the label of one that begins with a feature is empty.
    """
    label, *pairs = line.partition("#")[0].split() or [""]
    if not label:
        return None
    if ":" in label:
        if not bare:
            raise InputError(
                f"{where}: must begin with a label. Got {short(label)} instead. "
                "Write 0 if there is none."
            )
        label, pairs = "", [label, *pairs]
    indices: list[int] = []
    values: list[float] = []
    last = -1
    for pair in pairs:
        index, colon, text = pair.partition(":")
        if index == "qid":
            continue
        if not colon or not is_index(index) or not last < int(index) < 2**31:
            raise InputError(
                f"{where}: features must be index:value with increasing indices from 0 or 1. "
                f"Got {short(pair)}{f' after index {last}' if indices else ''} instead. "
                f"Correct the file{'' if colon else ', or let the name of a table end in .csv'}."
            )
        last = int(index)
        indices.append(last)
        values.append(read_number(text, where, index))
    return label, indices, values


class Parsed:
    """The rows of a text, up to the first line that is wrong.

    Parameters
    ----------
    text : bytes
        Whole lines.
    line : int
        The number of the first.
    shown : object
        The name of their source in errors.
    scratch : Scratch
        Space for values and indices, good until it is used again.
    bare : bool
        Whether labels may be missing; such a one is empty.

    Attributes
    ----------
    data, indices, indptr : numpy.ndarray
        Values and indices of the features, and where those of each row begin and end.
    codes, texts : numpy.ndarray, list of str
        Which of the texts is the label of each row.
    lines : numpy.ndarray
        The line of each row.
    next_line : int
        The line after the text, or one that is wrong.
    error : InputError or None
        What is wrong with the line after these rows.
    """

    def __init__(
        self, text: bytes, line: int, shown: object, scratch: Scratch, bare: bool = False
    ) -> None:
        self.error: InputError | None = None
        array, most = np.frombuffer(text, np.uint8), line_ends(text, 0, len(text)) + 1
        data = scratch.array("data", len(text) // 4 + 1)
        indices = scratch.array("indices", len(data), np.int32)
        indptr, labels = np.zeros(most + 1, dtype=np.int64), np.empty((most, 3), dtype=np.int64)
        row, place = 0, 0
        while True:
            arrays = data, indices, indptr, labels
            place, row, line = read_svmlight(array, place, *arrays, row, line, bare)
            if place >= len(text):
                break
            raw = LINE.match(text, place)[0]  # type: ignore[index]  # it matches anything
            where = partial(at_line, shown, line)
            try:
                found = parse_line(as_text(raw, where), where(), bare)
            except InputError as error:
                self.error = error
                break
            if found is not None:
                name, low = found[0].encode(), indptr[row]
                start, high = place + raw.find(name), low + len(found[1])
                indices[low:high], data[low:high] = found[1:]
                labels[row], indptr[row + 1] = (start, start + len(name), line), high
                row += 1
            place, line = place + len(raw), line + 1
        self.next_line = line
        self.codes, firsts = distinct(text, labels[:row])
        self.texts: list[str] = []
        for first, (low, high, line) in zip(firsts.tolist(), labels[firsts].tolist(), strict=True):
            try:
                self.texts.append(as_text(text[low:high], partial(at_line, shown, line)))
            except InputError as error:
                row, self.error = first, error
                break
        end = indptr[row]
        self.data, self.indices, self.indptr = data[:end], indices[:end], indptr[: row + 1]
        self.codes, self.lines = self.codes[:row], labels[:row, 2]


class SvmlightReader(Reader):
    """Read svmlight text into sparse rows; zeros that the file writes are kept."""

    def blocks(self) -> Iterator[Any]:
        """Yield CSR matrices."""
        self._first = 1 if self.options.first_index is None else self.options.first_index
        self._d, self._nonzeros = self.options.features or 0, 0
        self._scratch = Scratch()
        empty = True
        with TextSource(self.path, self.shown) as source:
            while source.advance():
                X = self._block(source)
                if X.shape[0]:
                    empty = False
                    yield X
        if empty:
            return
        if not self._nonzeros and not self.options.features:
            raise InputError(
                f"{self.shown}: must hold at least one feature, in lines such as 1 1:0.5 2:3. Got none. "
                "If it is a table, let its name end in .csv."
            )
        self.about["first_index"] = self._first
        yield sparse.csr_array((0, self._d))

    def _block(self, source: TextSource) -> Any:
        rows = Parsed(source.text, source.first, self.shown, self._scratch)
        if rows.error is not None:
            raise rows.error
        if self.options.label is not False:
            self.labels.add_texts(rows.codes, rows.texts)
        columns = self._columns(rows)
        shape = len(rows.lines), self._d
        X = sparse.csr_array((rows.data.copy(), columns, rows.indptr), shape=shape)
        X.has_canonical_format = True
        return X

    def _columns(self, rows: Parsed) -> np.ndarray:
        """Indices counted from 0."""
        indices = rows.indices
        if not len(indices):
            return indices.copy()
        if indices.min() < self._first:
            self._refuse(rows, indices < self._first)
        count = int(indices.max()) + 1 - self._first
        if self.options.features is not None and count > self._d:
            self._refuse(rows, indices >= self._first + self._d)
        self._d = max(self._d, count)
        self._nonzeros += len(indices)
        return indices - np.int32(self._first)

    def _refuse(self, rows: Parsed, wrong: np.ndarray) -> None:
        bad = int(np.argmax(wrong))
        row = int(np.searchsorted(rows.indptr[1:], bad, side="right"))
        limit = f" to {self._first + self._d - 1}" if self.options.features is not None else ""
        raise InputError(
            f"{at_line(self.shown, int(rows.lines[row]))}: indices must run from {self._first}{limit}. "
            f"Got {rows.indices[bad]} instead.",
            Remedy("say from where they count", "first_index", (0, 1)),
            Remedy("say how many features there are", "features", ...),
            Remedy("correct the file"),
        )


BLOCK_ENTRIES = 1 << 18  # numbers at a time


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
    n = rows.shape[0]
    length = max(1, BLOCK_ENTRIES * n // max(1, rows.nnz if sparse.issparse(rows) else rows.size))
    try:
        with replacing(target) as place, opened(place, "wb") as file:
            file.write("".join(f"# {line}\n" for line in comment.splitlines()).encode())
            for start in range(0, n, length):
                part = sparse.csr_array(rows[start : start + length])
                part.sum_duplicates()
                part = part.astype(np.int8) if part.dtype == bool else part
                if start == 0:
                    part = _with_ends(part, rows, first_index)
                file.write(_lines(part, labels[start : start + length], first_index))
    except OSError as error:
        raise InputError(
            f"{target}: {error.strerror or error}. Name a file that can be written."
        ) from error


def _with_ends(part: Any, rows: Any, first: int) -> Any:
    """The first rows, with zeros for features that no row has and that tell how many there are."""
    used = rows.indices if sparse.issparse(rows) else np.flatnonzero(np.any(rows != 0, axis=0))
    ends = np.setdiff1d([0, rows.shape[1] - 1][first:], used)
    data = np.append(part.data, np.zeros(len(ends), part.dtype))
    row = np.append(part.tocoo().row, np.zeros(len(ends), int))
    return sparse.csr_array((data, (row, np.append(part.indices, ends))), shape=part.shape)


def _lines(part: Any, labels: list[str], first: int) -> bytes:
    values = list(map(_text, part.data.tolist()))
    indices = (part.indices.astype(np.int64) + first).tolist()
    ends = part.indptr.tolist()
    lines = []
    for label, low, high in zip(labels, ends, ends[1:], strict=False):
        pairs = [f"{j}:{v}" for j, v in zip(indices[low:high], values[low:high], strict=True)]
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
