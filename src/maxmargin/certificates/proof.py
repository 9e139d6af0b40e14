"""A proof as a value: it can be saved, loaded, and checked against data by the independent checker.

A fingerprint of labelled rows that does not depend on how they are stored.

SHA-256 of four streams: the sides, the number of nonzero features of each row, their columns, and their
values as doubles. Dense, sparse, single and double precision forms of the same numbers have the same
fingerprint; the checker computes it in its own way. Rows in partitions are brought here for it one
partition after the other, as they are to be verified.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin import checker
from maxmargin.core.atomic_write import replacing
from maxmargin.core.errors import InputError, unwritable
from maxmargin.rows import CsrRows, Rows
from maxmargin.rows.partitions import brought_here
from maxmargin.rows.sparse import check_structure
from maxmargin.rows.training_data import is_parted


def label_text(label: Any) -> str:
    """Return the text that stands for a label in a proof."""
    return checker.canonical(str(label.item() if isinstance(label, np.generic) else label))


class Proof:
    """The proof of a verdict: what was found, in exact numbers, and the fingerprint of the data.

    Made by :func:`maxmargin.separability` (``verdict.proof``) and by ``HardMarginSVC.prove``, or read
    with :meth:`load`. The file format is described in ``docs/proof-format.md``. The fingerprint of large
    data is taken when it is first needed: save the proof before you change X in place.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> proof = mm.separability(X, y).proof
    >>> proof.verify(X, y)
    True
    >>> proof.verify([[0.0], [1.0], [2.0], [3.5]], y)
    False
    """

    def __init__(self, content: Mapping[str, Any], fingerprint: Callable[[], str] | None = None) -> None:
        self._content = {key: value for key, value in content.items() if key != "seal"}
        self._fingerprint = fingerprint

    @property
    def kind(self) -> str:
        """What is proven: "separable", "touching", "overlapping", "optimum" or "errors"."""
        return str(self._content["kind"])

    @property
    def content(self) -> Mapping[str, Any]:
        """The entries, without fingerprint and seal where those have not been needed yet."""
        return self._content

    @property
    def dimension(self) -> int:
        """The number of coefficients of a plane: the features, and the intercept if there is one."""
        return int(self._content["features"]) + bool(self._content["intercept"])

    def __repr__(self) -> str:
        return f"Proof({self.kind}, {self._content['rows']} rows, {self._content['features']} features)"

    def to_dict(self) -> dict[str, Any]:
        """Return all entries of the file, the fingerprint and the seal included."""
        if self._fingerprint is not None:  # reads the data: done when it is first needed
            self._content["data"] = self._fingerprint()
            self._fingerprint = None
        plain = json.dumps(self._content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return {**self._content, "seal": sha256(plain.encode()).hexdigest()}

    def parsed(self) -> dict[str, Any]:
        """Return the entries as the independent checker reads them from the file."""
        return checker.parse(json.dumps(self.to_dict()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Proof) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.to_dict()["seal"])

    def __reduce__(self) -> tuple[Any, ...]:
        return Proof, (self.to_dict(),)

    def with_source(self, **where: Any) -> Proof:
        """Return the proof with a note of where a file holds what (label, columns, first_index)."""
        return Proof({**self._content, **where}, self._fingerprint)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the proof as JSON; a file that is there already is replaced at once, or not at all."""
        text = json.dumps(self.to_dict(), indent=1) + "\n"
        try:
            with replacing(path) as place:
                place.write_bytes(text.encode("ascii"))
        except OSError as error:
            raise unwritable(path, error) from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Proof:
        """Read a proof; :class:`maxmargin.InputError` if the file is none, or its seal is broken."""
        try:
            return cls(checker.parse(Path(path).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                f"path must name a proof that can be read. Got {str(path)!r} instead: {reason}."
            ) from error
        except checker.Rejected as error:
            raise InputError(f"{path} must be an unchanged proof, but {error}. Make it anew.") from error

    def verify(self, X: Any, y: Any = None) -> bool:
        """Tell whether the proof holds for this data: every condition, in integers.

        All of it is done by ``maxmargin.checker``, in plain Python: about ten microseconds per row and
        half a microsecond per number, so that rows of three features take some four per number.
        :meth:`check` says why a proof is rejected. X may be rows of a file, with their labels, or a Dask
        collection, whose partitions are brought here one after the other.
        """
        try:
            self.check(X, y)
        except checker.Rejected:
            return False
        return True

    def check(self, X: Any, y: Any = None) -> None:
        """Raise ``maxmargin.checker.Rejected`` with the reason unless the proof holds for this data."""
        features = self._content["features"]
        if is_parted(X):
            parts = (row for part in brought_here(X, y) for row in _labelled(*part, features))
            checker.check(self.parsed(), parts)
            return
        given = getattr(X, "labels", None) if y is None else y
        checker.check(self.parsed(), _labelled(X, given, features))


def _labelled(X: Any, y: Any, features: int) -> Iterator[checker.Row]:
    """Each row as the checker wants it: the label as text, and the nonzero features."""
    labels = np.asarray(y).tolist()
    if not isinstance(X, Rows):
        X = _matrix(X)
    shape = (X.n, X.d) if isinstance(X, Rows) else X.shape
    checker.require(len(shape) == 2 and isinstance(labels, list), "X must be a matrix, y a list")
    checker.require(len(labels) == shape[0], "X and y must have the same number of rows")
    checker.require(shape[1] == features, f"X must have {features} features")
    if not isinstance(X, Rows):
        yield from _rows(X, labels)
        return
    for where, block in X.blocks():
        part = block.matrix if isinstance(block, CsrRows) else block.take(np.arange(block.n))
        yield from _rows(part, labels[where])


def _matrix(X: Any) -> Any:
    if not sparse.issparse(X):
        return np.asarray(X)
    check_structure(X)
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _rows(matrix: Any, labels: list[Any]) -> Iterator[checker.Row]:
    for i, label in enumerate(labels):
        if sparse.issparse(matrix):
            part = slice(matrix.indptr[i], matrix.indptr[i + 1])
            columns, values = matrix.indices[part].tolist(), matrix.data[part].tolist()
            row = dict(zip(columns, values, strict=True))
        else:
            row = {j: v for j, v in enumerate(matrix[i].tolist()) if v}
        yield str(label), row


def fingerprint(rows: Rows, y: np.ndarray) -> str:
    """Return the fingerprint of rows with sides ±1, in hexadecimal digits."""
    return fingerprint_of(streams_of(rows, y), rows.n, rows.d)


def fingerprint_of(parts: Iterable[list[np.ndarray]], n: int, d: int) -> str:
    """Return the fingerprint of n rows of d features from pieces of their four streams."""
    digests = [sha256() for _ in range(4)]
    for part in parts:
        for digest, values in zip(digests, part, strict=True):
            digest.update(values.data)
    whole = b"".join([digest.digest() for digest in digests])
    return sha256(b"maxmargin rows 1\n%d %d\n" % (n, d) + whole).hexdigest()


def streams_of(rows: Rows, y: np.ndarray) -> Iterator[list[np.ndarray]]:
    """Yield sides, counts, columns and values of the nonzero features of a block of rows at a time."""
    for where, block in rows.blocks():
        signs = np.where(y[where] > 0, ord("+"), ord("-")).astype(np.uint8)
        yield [np.ascontiguousarray(part) for part in (signs, *_features(block))]


def _features(block: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts, columns and values of the nonzero features, row by row."""
    if isinstance(block, CsrRows):
        a = block.arrays
        stored = a.data != 0
        row = np.repeat(np.arange(block.n), np.diff(a.indptr))[stored]
        counts = np.bincount(row, minlength=block.n)
        columns, values = a.indices[stored], a.data[stored]
    else:
        X = block.arrays.X  # type: ignore[union-attr]
        stored = X != 0
        counts = np.count_nonzero(stored, axis=1)
        columns, values = np.nonzero(stored)[1], X[stored]
    return counts.astype("<u8"), columns.astype("<u4"), values.astype("<f8")


def in_doubles(w: np.ndarray, b: float) -> dict[str, Any]:
    """A plane of doubles as text, exactly."""
    return {"w": [float(v).hex() for v in w], "b": float(b).hex()}


def integer_text(value: int) -> str:
    """Decimal digits, also of integers with many thousands of them, which str() refuses."""
    # Imported on use, like all exact arithmetic: a fit needs none.
    from flint import fmpz

    return str(fmpz(value))


def fraction_text(value: int | Fraction) -> str:
    """A whole number or a fraction as text."""
    p, q = integer_text(value.numerator), value.denominator
    return p if q == 1 else f"{p}/{integer_text(q)}"
