"""Lines of svmlight text to sparse rows, as long as they are plain; see ``text``."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.kernels.decimal import EASY, leading_digits, read_decimal
from maxmargin.kernels.instructions import pointer
from maxmargin.kernels.jit import jit
from maxmargin.kernels.text import NEWLINE, RETURN, SPACE, TAB, line_end

__all__ = ["read_svmlight"]

HASH, ZERO, COLON = 35, 48, 58
LARGEST_INDEX = (1 << 31) - 1


@jit
def _is_qid(text: Any, k: int, stop: int) -> bool:
    if text[k] != 113 or k + 3 >= stop:
        return False
    return text[k + 1] == 105 and text[k + 2] == 100 and text[k + 3] == COLON


@jit
def _read_index(text: Any, k: int, stop: int) -> tuple[int, int]:
    """The whole number that begins at k, and where it ends; one of no or too many digits is −1."""
    first, index = k, np.int64(0)
    if k + 8 <= stop:
        found, count = leading_digits(text, k)
        if 0 < count < 8:
            return np.int64(found), k + count
    while k < stop and np.uint8(text[k] - ZERO) <= 9 and k - first <= 10:
        index = index * 10 + np.int64(text[k] - ZERO)
        k += 1
    return (index if 0 < k - first <= 10 else np.int64(-1)), k


@jit
def read_svmlight(
    array: Any,
    k: int,
    data: Any,
    indices: Any,
    indptr: Any,
    labels: Any,
    row: int,
    line: int,
    bare: bool,
) -> tuple[int, int, int]:
    """Read lines ``[label] [qid:…] index:value … [# comment]`` from byte k on.

    Fills ``data``, ``indices``, ``indptr[row + 1:]`` and ``labels[row:, 0:3]``: where a label begins and
    ends, and its line. If lines may be ``bare``, a label that is missing ends where it begins. Returns
    where it stopped: byte, row and line.
    """
    text, stop, filled = pointer(array), array.shape[0], indptr[row]
    while k < stop:
        start = k
        while k < stop and (text[k] == SPACE or text[k] == TAB):
            k += 1
        label = k
        while k < stop and text[k] > SPACE and text[k] != HASH and text[k] != COLON:
            k += 1
        if k < stop and text[k] == COLON:  # a feature: there is no label
            if not bare:
                return start, row, line
            k = label
        end, here, last = k, filled, -1
        while k < stop:
            c = text[k]
            if c in (SPACE, TAB):
                k += 1
                continue
            if c in (NEWLINE, RETURN, HASH):
                break
            index, after = _read_index(text, k, stop)
            if index < 0 and _is_qid(text, k, stop):
                while k < stop and text[k] > SPACE and text[k] != HASH:
                    k += 1
                continue
            if index <= last or index > LARGEST_INDEX or after >= stop or text[after] != COLON:
                return start, row, line
            value, k, how = read_decimal(text, after + 1, stop)
            if how != EASY or (k < stop and text[k] > SPACE and text[k] != HASH):
                return start, row, line
            last = index
            data[here] = value
            indices[here] = index
            here += 1
        k = line_end(text, k, stop)
        line += 1
        if label == end and here == filled:
            continue
        filled = here
        labels[row, 0], labels[row, 1], labels[row, 2] = label, end, line - 1
        row += 1
        indptr[row] = filled
    return k, row, line
