"""A fingerprint of labelled rows that does not depend on how they are stored.

SHA-256 of four streams: the sides, the number of nonzero features of each row, their columns, and their
values as doubles. Dense, sparse, single and double precision forms of the same numbers have the same
fingerprint; the checker computes it in its own way. The partitions of rows elsewhere compute it one
after the other, and hand on its state.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from maxmargin.certificates.resumable import Resumable
from maxmargin.rows import CsrRows, Rows

__all__ = ["Streams", "continued", "fingerprint", "fingerprint_of"]


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
