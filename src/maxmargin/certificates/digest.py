"""A fingerprint of labelled rows that does not depend on how they are stored.

SHA-256 of four streams: the sides, the number of nonzero features of each row, their columns, and their
values as doubles. Dense, sparse, single and double precision forms of the same numbers have the same
fingerprint; the checker computes it in its own way.
"""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from maxmargin.rows import CsrRows, Rows

__all__ = ["fingerprint"]


def fingerprint(rows: Rows, y: np.ndarray) -> str:
    """Return the fingerprint of rows with sides ±1, in hexadecimal digits."""
    streams = [sha256() for _ in range(4)]
    for where, block in rows.blocks():
        parts = _parts(block)
        signs = np.where(y[where] > 0, ord("+"), ord("-")).astype(np.uint8)
        for stream, part in zip(streams, (signs, *parts), strict=True):
            stream.update(np.ascontiguousarray(part).data)
    whole = sha256(b"maxmargin rows 1\n%d %d\n" % (rows.n, rows.d))
    for stream in streams:
        whole.update(stream.digest())
    return whole.hexdigest()


def _parts(block: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
