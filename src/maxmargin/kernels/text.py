"""Lines of text to numbers: svmlight rows and table rows, as long as they are plain.

A kernel fills arrays row by row and stops at the first line that it does not understand: a mistake, a
number that needs care, a quoted field with something special in it. The caller reads that line by slow
and thorough means, and lets the kernel go on behind it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.kernels.decimal import EASY, leading_digits, read_decimal
from maxmargin.kernels.jit import jit

__all__ = ["SKIP", "TEXT", "pack_texts", "read_svmlight", "read_table"]

NEWLINE, RETURN, TAB, SPACE, QUOTE, HASH, COLON = 10, 13, 9, 32, 34, 35, 58
LARGEST_INDEX = (1 << 31) - 1
SKIP, TEXT = -1, -2  # what to do with a field: ignore it, or (TEXT − k) keep the place of the k-th text


@jit
def _line_end(text: Any, k: int, stop: int) -> int:
    """Where the next line begins."""
    while k < stop and text[k] != NEWLINE and text[k] != RETURN:
        k += 1
    if k + 1 < stop and text[k] == RETURN and text[k + 1] == NEWLINE:
        k += 1
    return min(k + 1, stop)


@jit
def _is_qid(text: Any, k: int, stop: int) -> bool:
    if text[k] != 113 or k + 3 >= stop:
        return False
    return text[k + 1] == 105 and text[k + 2] == 100 and text[k + 3] == COLON


@jit
def read_svmlight(
    text: Any, k: int, data: Any, indices: Any, indptr: Any, labels: Any, row: int
) -> tuple[int, int]:
    """Read lines ``label [qid:…] index:value … [# comment]`` from byte k on.

    Fills ``data``, ``indices``, ``indptr[row + 1:]`` and the places ``labels[row:, 0:2]``, where a label
    begins and ends. Returns the byte where it stopped, and the number of rows.
    """
    stop, filled = text.shape[0], indptr[row]
    while k < stop:
        start = k
        while k < stop and (text[k] == SPACE or text[k] == TAB):
            k += 1
        label = k
        while k < stop and text[k] > SPACE and text[k] != HASH:
            if text[k] == COLON:
                return start, row
            k += 1
        end = k
        here, last = filled, np.int64(-1)
        while k < stop:
            c = text[k]
            if c in (SPACE, TAB):
                k += 1
                continue
            if c in (NEWLINE, RETURN):
                break
            if c == HASH:
                while k < stop and text[k] != NEWLINE and text[k] != RETURN:
                    k += 1
                break
            if _is_qid(text, k, stop):
                while k < stop and text[k] > SPACE and text[k] != HASH:
                    k += 1
                continue
            first, index = k, np.int64(0)
            if k + 8 <= stop:
                found, count = leading_digits(text, k)
                index, k = np.int64(found), k + count
            while k < stop and np.uint8(text[k] - 48) <= 9:
                index = index * 10 + np.int64(text[k] - 48)
                k += 1
            if k == first or k - first > 10 or k >= stop or text[k] != COLON:
                return start, row
            if index <= last or index > LARGEST_INDEX:
                return start, row
            value, k, how = read_decimal(text, k + 1, stop)
            if how != EASY or (k < stop and text[k] > SPACE and text[k] != HASH):
                return start, row
            last = index
            data[here] = value
            indices[here] = index
            here += 1
        if label == end and here > filled:
            return start, row
        if k < stop and text[k] != NEWLINE and text[k] != RETURN:  # a byte that text does not have
            return start, row
        k = _line_end(text, k, stop)
        if label == end:
            continue
        filled = here
        labels[row, 0], labels[row, 1] = label, end
        row += 1
        indptr[row] = filled
    return k, row


@jit
def _field_end(text: Any, k: int, stop: int, mark: int) -> int:
    """Where a field ends: before its mark, at the end of the line, or at a quote that needs care."""
    while k < stop:
        c = text[k]
        if c in (mark, NEWLINE, RETURN, QUOTE):
            break
        k += 1
    return k


@jit
def read_table(
    text: Any, k: int, delimiter: int, roles: Any, numbers: Any, texts: Any, row: int
) -> tuple[int, int]:
    """Read lines of fields from byte k on, each line of as many fields as there are ``roles``.

    A role is the column of ``numbers`` where a number goes, SKIP, or TEXT − j for a text, whose place
    goes to ``texts[row, j, 0:2]``, without quotes and spaces around it.
    """
    stop, width = text.shape[0], roles.shape[0]
    while k < stop:
        start = k
        while k < stop and (text[k] == SPACE or (text[k] == TAB and delimiter != TAB)):
            k += 1
        if k >= stop or text[k] == NEWLINE or text[k] == RETURN:
            k = _line_end(text, k, stop)
            continue
        k = start
        for j in range(width):
            role, quoted = roles[j], k < stop and text[k] == QUOTE
            first = k + 1 if quoted else k
            if role >= 0 and not quoted:
                while k < stop and (text[k] == SPACE or (text[k] == TAB and delimiter != TAB)):
                    k += 1
                value, k, how = read_decimal(text, k, stop)
                if how != EASY:
                    return start, row
                numbers[row, role] = value
                while k < stop and (text[k] == SPACE or (text[k] == TAB and delimiter != TAB)):
                    k += 1
                end = k
            else:
                k = end = _field_end(text, first, stop, QUOTE if quoted else delimiter)
                if quoted:
                    if k >= stop or text[k] != QUOTE:
                        return start, row
                    k += 1
            last = k >= stop or text[k] == NEWLINE or text[k] == RETURN
            if last != (j == width - 1) or (not last and text[k] != delimiter):
                return start, row
            if not last:
                k += 1
            if role == SKIP or (role >= 0 and not quoted):
                continue
            while first < end and (text[first] == SPACE or text[first] == TAB):
                first += 1
            while first < end and (text[end - 1] == SPACE or text[end - 1] == TAB):
                end -= 1
            if first == end:
                return start, row
            if role <= TEXT:
                texts[row, TEXT - role, 0], texts[row, TEXT - role, 1] = first, end
                continue
            value, after, how = read_decimal(text, first, end)
            if how != EASY or after != end:
                return start, row
            numbers[row, role] = value
        k = _line_end(text, k, stop)
        row += 1
    return k, row


@jit
def pack_texts(text: Any, places: Any, packed: Any) -> int:
    """Write texts of up to seven bytes as numbers, their length included; −1 for the others, counted."""
    longer = 0
    for i in range(places.shape[0]):
        first, end = places[i, 0], places[i, 1]
        if end - first > 7:
            packed[i] = -1
            longer += 1
            continue
        code = np.int64(end - first)
        for k in range(first, end):
            code = (code << 8) | np.int64(text[k])
        packed[i] = code
    return longer
