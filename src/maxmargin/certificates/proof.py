"""A proof as a value: it can be saved, loaded, and checked against data by the independent checker.

A fingerprint of labelled rows that does not depend on how they are stored.

SHA-256 of four streams: the sides, the number of nonzero features of each row, their columns, and their
values as doubles. Dense, sparse, single and double precision forms of the same numbers have the same
fingerprint; the checker computes it in its own way. The partitions of rows elsewhere compute it one
after the other, and hand on its state.

SHA-256 whose state can be handed on: that of ``hashlib`` cannot leave its process.

See FIPS 180-4 (National Institute of Standards and Technology 2015).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from struct import pack
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from maxmargin import checker
from maxmargin.core.atomic_write import replacing
from maxmargin.core.errors import InputError, unwritable
from maxmargin.kernels.sha256 import FIRST, absorb
from maxmargin.rows import CsrRows, Rows
from maxmargin.rows.partitions import brought_here, is_parted
from maxmargin.rows.sparse import check_structure


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
        """What is proven: "separable", "touching", "overlapping" or "optimum"."""
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

        All of it is done by ``maxmargin.checker``, in plain Python: about half a microsecond per number
        of X. :meth:`check` says why a proof is rejected. X may be rows of a file, with their labels, or
        a Dask collection, whose partitions are brought here one after the other.
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
    matrix, labels = _matrix(X), np.asarray(y).tolist()
    checker.require(matrix.ndim == 2 and isinstance(labels, list), "X must be a matrix, y a list")
    checker.require(len(labels) == matrix.shape[0], "X and y must have the same number of rows")
    checker.require(matrix.shape[1] == features, f"X must have {features} features")
    return _rows(matrix, labels)


def _matrix(X: Any) -> Any:
    if isinstance(X, Rows):
        return _Parts(X)
    if sparse.issparse(X):
        check_structure(X)
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
    return np.asarray(X)


class _Parts(NamedTuple):
    """Rows that are read part by part."""

    rows: Rows
    ndim: int = 2

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.n, self.rows.d


def _rows(matrix: Any, labels: list[Any]) -> Iterator[checker.Row]:
    """Each row as the checker wants it: the label as text, and the nonzero features."""
    if isinstance(matrix, _Parts):
        for where, block in matrix.rows.blocks():
            part = block.matrix if isinstance(block, CsrRows) else block.take(np.arange(block.n))
            yield from _rows(part, labels[where])
        return
    for i, label in enumerate(labels):
        if sparse.issparse(matrix):
            part = slice(matrix.indptr[i], matrix.indptr[i + 1])
            columns, values = matrix.indices[part].tolist(), matrix.data[part].tolist()
            row = dict(zip(columns, values, strict=True))
        else:
            row = {j: v for j, v in enumerate(matrix[i].tolist()) if v}
        yield str(label), row


BLOCK = 64  # bytes


class Resumable(NamedTuple):
    """The digest of the bytes so far."""

    state: np.ndarray  # eight words, of all whole blocks
    rest: np.ndarray  # bytes that do not fill a block yet
    length: int  # bytes in all

    @classmethod
    def empty(cls) -> Self:
        """No bytes yet."""
        return cls(FIRST.copy(), np.empty(0, np.uint8), 0)

    def grown(self, data: np.ndarray) -> Self:
        """The digest after more bytes."""
        state, first = self.state.copy(), 0
        rest = self.rest
        if len(rest):
            first = min(BLOCK - len(rest), len(data))
            rest = np.concatenate([rest, data[:first]])
            if len(rest) == BLOCK:
                absorb(state, rest)
                rest = rest[:0]
        last = first + (len(data) - first) // BLOCK * BLOCK
        absorb(state, data[first:last])
        rest = np.concatenate([rest, data[last:]])
        return type(self)(state, rest, self.length + len(data))

    def digest(self) -> bytes:
        """The digest of all bytes: after a one, zeros, and their number in bits."""
        zeros = -(len(self.rest) + 9) % BLOCK
        end = b"\x80" + bytes(zeros) + pack(">Q", 8 * self.length)
        state = self.grown(np.frombuffer(bytearray(end), np.uint8)).state
        return state.astype(">u4").tobytes()


class Streams(NamedTuple):
    """The four streams as far as rows have been read: small, and can travel."""

    sides: Resumable
    counts: Resumable
    columns: Resumable
    values: Resumable

    @classmethod
    def empty(cls) -> Streams:
        """Before the first row."""
        return cls(*(Resumable.empty() for _ in range(4)))


def fingerprint(rows: Rows, y: np.ndarray) -> str:
    """Return the fingerprint of rows with sides ±1, in hexadecimal digits."""
    streams = [sha256() for _ in range(4)]
    for parts in _parts(rows, y):
        for stream, part in zip(streams, parts, strict=True):
            stream.update(part.data)
    return _whole([stream.digest() for stream in streams], rows.n, rows.d)


def continued(streams: Streams, rows: Rows, y: np.ndarray) -> Streams:
    """The streams with more rows at their end."""
    for parts in _parts(rows, y):
        pairs = zip(streams, parts, strict=True)
        streams = Streams(*(stream.grown(part.view(np.uint8)) for stream, part in pairs))
    return streams


def fingerprint_of(streams: Streams, n: int, d: int) -> str:
    """The fingerprint of all rows that went through the streams."""
    return _whole([stream.digest() for stream in streams], n, d)


def _whole(digests: list[bytes], n: int, d: int) -> str:
    return sha256(b"maxmargin rows 1\n%d %d\n" % (n, d) + b"".join(digests)).hexdigest()


def _parts(rows: Rows, y: np.ndarray) -> Iterator[list[np.ndarray]]:
    """Sides, counts, columns and values of the nonzero features, row by row, for one block at a time."""
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
