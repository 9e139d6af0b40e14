"""Bytes of text: the ends of lines, and equal texts.

The kernels that read lines, ``svmlight`` and ``table``, fill arrays row by row and stop at the first
line that they do not understand: a mistake, a number that needs care, a quoted field with something
special in it. The caller reads that line by slow and thorough means, and lets the kernel go on behind
it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.kernels.instructions import pointer
from maxmargin.kernels.jit import jit

__all__ = ["NEWLINE", "RETURN", "SPACE", "TAB", "line_end", "number_texts"]

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
