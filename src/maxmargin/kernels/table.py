"""Lines of a table to numbers and the places of texts, as long as they are plain; see ``text``."""

from __future__ import annotations

from typing import Any

from maxmargin.kernels.decimal import EASY, read_decimal
from maxmargin.kernels.instructions import pointer
from maxmargin.kernels.jit import jit
from maxmargin.kernels.text import NEWLINE, RETURN, SPACE, TAB, line_end

__all__ = ["SKIP", "TEXT", "read_table"]

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
