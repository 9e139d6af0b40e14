"""Text to numbers: lines of svmlight to sparse rows, lines of a table to numbers and places of texts.

The kernels fill arrays row by row and stop at the first line that they do not understand: a mistake, a
number that needs care, a quoted field with something special in it. The caller reads that line by slow
and thorough means, and lets the kernel go on behind it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.kernels.decimal import EASY, leading_digits, read_decimal
from maxmargin.kernels.jit import jit, pointer

TAB, NEWLINE, RETURN, SPACE = 9, 10, 13, 32
MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, its bits as if drawn


@jit
def line_end(text: Any, k: int, stop: int) -> int:
    """Where the next line begins."""
    while k < stop and text[k] != NEWLINE and text[k] != RETURN:
        k += 1
    if k + 1 < stop and text[k] == RETURN and text[k + 1] == NEWLINE:
        k += 1
    return min(k + 1, stop)


@jit
def number_texts(array: Any, places: Any, codes: Any, firsts: Any) -> int:
    """Number texts in the order in which they appear, equal ones alike; return how many there are.

    Text i is bytes ``places[i, 0]`` … ``places[i, 1]`` − 1. ``codes[i]`` becomes its number, and
    ``firsts[number]`` the first i that has it.
    """
    text, size = pointer(array), 4
    while size < 2 * places.shape[0]:
        size *= 2
    slots, found = np.full(size, -1, np.int32), 0
    for i in range(places.shape[0]):
        low, length = places[i, 0], places[i, 1] - places[i, 0]
        h = np.uint64(length)
        for k in range(length):
            h = (h ^ np.uint64(text[low + k])) * MIX
        at = np.int64((h ^ (h >> np.uint64(32))) & np.uint64(size - 1))
        while slots[at] >= 0:
            there = places[firsts[slots[at]], 0]
            same = places[firsts[slots[at]], 1] - there == length
            for k in range(length if same else 0):
                same &= text[there + k] == text[low + k]
            if same:
                break
            at = (at + 1) & (size - 1)
        if slots[at] < 0:
            slots[at], firsts[found] = found, i
            found += 1
        codes[i] = slots[at]
    return found


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


QUOTE = 34
SKIP, TEXT = -1, -2  # what to do with a field: ignore it, or (TEXT − k) keep the place of the k-th text


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
    array: Any, k: int, delimiter: int, roles: Any, numbers: Any, texts: Any, row: int
) -> tuple[int, int]:
    """Read lines of fields from byte k on, each line of as many fields as there are ``roles``.

    A role is the column of ``numbers`` where a number goes, SKIP, or TEXT − j for a text, whose place
    goes to ``texts[row, j, 0:2]``, without quotes and spaces around it.
    """
    text, stop, width = pointer(array), array.shape[0], roles.shape[0]
    while k < stop:
        start = k
        while k < stop and (text[k] == SPACE or (text[k] == TAB and delimiter != TAB)):
            k += 1
        if k >= stop or text[k] == NEWLINE or text[k] == RETURN:
            k = line_end(text, k, stop)
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
        k = line_end(text, k, stop)
        row += 1
    return k, row
