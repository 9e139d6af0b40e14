"""Small files whole, in memory."""

from __future__ import annotations

import os
import shutil
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.core.proportion import MAX_EXPANSION, NUMBER_BYTES
from maxmargin.files.guess import guess_kind
from maxmargin.files.labels import check_length
from maxmargin.files.opening import in_our_words, make_reader, spooled
from maxmargin.files.options import find_kind, read_options
from maxmargin.files.reader import Reader, StartAgain

__all__ = ["Data", "collect", "read_data"]

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
    with in_our_words(shown), spooled(path) as (source, temporary):
        try:
            known = kind or (guess_kind(source) if temporary else find_kind(source))
            asked = read_options(shown, find_kind(source, known), dtype=np.float64, **options)
            if asked.kind == "rows":
                raise InputError(f"{shown}: this is a converted file. Name its source.")
            reader = make_reader(source, asked, shown)()
            X = collect(reader)
        finally:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)
    y = reader.labels.array()
    if y is not None:
        check_length(y, X.shape[0], shown)
    about = dict(reader.about)
    categories = about.pop("encoding", {})
    first = about.get("first_index", 0)
    names = reader.names or about.get("columns") or [str(j + first) for j in range(X.shape[1])]
    return Data(X, np.empty(0) if y is None else y, list(names), about, categories)


def collect(reader: Reader) -> Any:
    """All blocks of a reader as one matrix."""
    while True:
        try:
            return _joined(reader)
        except StartAgain:
            continue


def _joined(reader: Reader) -> Any:
    data, indices, steps = _Growing(np.float64), _Growing(np.int32), _Growing(np.int64)
    d, is_sparse = 0, False
    most = max(MAX_UNPACKED_BYTES, MAX_EXPANSION * reader.path.stat().st_size) // NUMBER_BYTES
    for block in reader.read():
        d, is_sparse = max(d, block.shape[1]), sparse.issparse(block)
        if len(data) + block.size > most:
            raise InputError(
                f"{reader.shown}: must unpack to at most {most:,} numbers to be read into memory. Got "
                "more instead. Use maxmargin.open_rows, which keeps them in a file."
            )
        data.extend(block.data if is_sparse else block.ravel())
        if is_sparse:
            indices.extend(block.indices)
            steps.extend(np.diff(block.indptr))
    if not is_sparse:
        return data.whole().reshape(-1, d)
    ends = np.concatenate([[0], np.cumsum(steps.whole())])
    if ends[-1] < 2**31:
        ends = ends.astype(np.int32)
    return sparse.csr_matrix((data.whole(), indices.whole(), ends), shape=(len(ends) - 1, d))


class _Growing:
    """An array that becomes longer in place, where the operating system allows it."""

    def __init__(self, dtype: Any) -> None:
        self._array, self._used = np.empty(1024, dtype=dtype), 0

    def extend(self, values: np.ndarray) -> None:
        """Add values at the end."""
        end = self._used + len(values)
        if end > len(self._array):
            self._array.resize(max(end, 6 * len(self._array) // 5), refcheck=False)
        self._array[self._used : end] = values
        self._used = end

    def __len__(self) -> int:
        return self._used

    def whole(self) -> np.ndarray:
        """What was added; nothing can be added any more."""
        self._array.resize(self._used, refcheck=False)
        return self._array
