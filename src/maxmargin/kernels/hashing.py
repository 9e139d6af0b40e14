"""From feature numbers in a text to columns of the weights: through a growing dictionary, or hashed.

The dictionary is a table with open addressing: ``keys`` holds feature numbers (−1: free), ``places``
their columns; at most half of it is in use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.kernels.jit import jit, trailing_zeros

OFFSET, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a, 64 bits
MIX = np.uint64(0xFF51AFD7ED558CCD)
SHIFT, TOP, NEIGHBOUR_BITS = np.uint64(33), np.uint64(63), np.uint64(16)
ZERO, TEN = 48, 10


@jit
def _slot(keys: Any, key: Any) -> int:
    """Where a key is, or would be."""
    mask = np.uint64(keys.shape[0] - 1)
    at = np.uint64(key) + (np.uint64(key) >> NEIGHBOUR_BITS) * MIX  # neighbours stay neighbours
    while True:
        at &= mask
        if keys[at] == key or keys[at] < 0:
            return np.int64(at)
        at += np.uint64(1)


@jit
def put_names(keys: Any, places: Any, names: Any, columns: Any) -> None:
    """Write names and their columns into a table."""
    for j in range(names.shape[0]):
        at = _slot(keys, names[j])
        keys[at], places[at] = names[j], columns[j]


@jit
def find_columns(
    indices: Any,
    data: Any,
    indptr: Any,
    grows: Any,
    keys: Any,
    places: Any,
    known: int,
    columns: Any,
    counts: Any,
    fresh: Any,
) -> int:
    """Replace feature numbers by columns; unknown ones get the next column, in rows that grow.

    In other rows unknown features are left out. ``data`` and ``indptr`` are changed in place,
    ``counts[i]`` is the number of names after row i, ``fresh`` takes the new names in order. Returns how
    many these are.
    """
    new, filled, first = 0, np.int64(0), indptr[0]
    for i in range(grows.shape[0]):
        last = indptr[i + 1]
        for p in range(first, last):
            key = np.int64(indices[p])
            at = _slot(keys, key)
            if keys[at] < 0:
                if not grows[i]:
                    continue
                keys[at], places[at] = key, known + new
                fresh[new] = key
                new += 1
            columns[filled] = places[at]
            data[filled] = data[p]
            filled += 1
        first = last
        indptr[i + 1] = filled
        counts[i] = known + new
    return new


@jit
def _finish(h: Any, mask: int) -> tuple[int, float]:
    h ^= h >> SHIFT
    h *= MIX
    h ^= h >> SHIFT
    return np.int64(h & np.uint64(mask)), 1.0 if h >> TOP == np.uint64(0) else -1.0


@jit
def hash_text(text: Any, mask: int) -> tuple[int, float]:
    """The bucket of a name (in UTF-8), and the sign its values get there."""
    h = OFFSET
    for k in range(text.shape[0]):
        h = (h ^ np.uint64(text[k])) * PRIME
    return _finish(h, mask)


@jit
def hash_numbers(indices: Any, data: Any, mask: int, columns: Any) -> None:
    """Hash feature numbers by their decimal digits: 17 is hashed as the text "17"."""
    digits = np.empty(20, np.uint8)
    for p in range(indices.shape[0]):
        n, k = np.int64(indices[p]), 20
        while n > 0 or k == 20:
            k -= 1
            digits[k] = ZERO + n % TEN
            n //= TEN
        column, sign = hash_text(digits[k:], mask)
        columns[p] = column
        data[p] *= sign


@jit
def _sort_row(columns: Any, data: Any, keys: Any, values: Any) -> int:
    """Sort one row by column and add up entries of the same column in order; return how many remain."""
    m = columns.shape[0]
    for p in range(m):
        keys[p] = (columns[p] << 32) | p
        values[p] = data[p]
    keys.sort()
    filled = 0
    for p in range(m):
        column, value = keys[p] >> 32, values[keys[p] & 0xFFFFFFFF]
        if filled > 0 and columns[filled - 1] == column:
            data[filled - 1] += value
        else:
            columns[filled], data[filled] = column, value
            filled += 1
    return filled


@jit
def _mark_row(columns: Any, data: Any, keys: Any, values: Any, where: Any, marks: Any, top: Any) -> int:
    """The same through bits set for the columns of the row, read from the lowest to the highest.

    ``where`` holds a place per column, ``marks`` a bit per column and ``top`` a bit per word of marks.
    """
    one, filled = np.uint64(1), 0
    for p in range(columns.shape[0]):
        column = columns[p]
        word, bit = column >> 6, one << np.uint64(column & 63)
        if marks[word] & bit:
            values[where[column]] += data[p]
            continue
        marks[word] |= bit
        top[word >> 6] |= one << np.uint64(word & 63)
        where[column] = filled
        values[filled] = data[p]
        filled += 1
    filled = 0
    for t in range(top.shape[0]):
        words = top[t]
        while words:
            word = (t << 6) + np.int64(trailing_zeros(words))
            words &= words - one
            left = marks[word]
            while left:
                column = (word << 6) + np.int64(trailing_zeros(left))
                left &= left - one
                columns[filled], data[filled] = column, values[where[column]]
                filled += 1
            marks[word] = np.uint64(0)
        top[t] = np.uint64(0)
    return filled


@jit
def tidy_rows(columns: Any, data: Any, indptr: Any, where: Any, marks: Any, top: Any) -> None:
    """Sort every row by column, and add up entries of the same column, in place.

    ``where``, ``marks`` and ``top`` are scratch space for ``_mark_row``, all zero, or empty: then rows
    are sorted by comparing.
    """
    longest = 0
    for i in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    keys, values = np.empty(longest, np.int64), np.empty(longest)
    filled, first = np.int64(0), indptr[0]
    for i in range(indptr.shape[0] - 1):
        last = indptr[i + 1]
        m, tidy = last - first, True
        for p in range(first + 1, last):
            tidy &= columns[p - 1] < columns[p]
        if not tidy:
            row, numbers = columns[first:last], data[first:last]
            if where.shape[0] > 0:
                m = _mark_row(row, numbers, keys, values, where, marks, top)
            else:
                m = _sort_row(row, numbers, keys[:m], values)
        if filled < first:
            for p in range(m):
                columns[filled + p], data[filled + p] = columns[first + p], data[first + p]
        filled += m
        first = last
        indptr[i + 1] = filled
