"""svmlight lines of a stream, where most numbers are short: eight bytes are looked at together.

The digits at the start of eight bytes are counted by one test of all of them, and become a number by
three multiplications, whatever their count: no branch depends on the length of a number. A number of up
to 7 digits on either side of the point is w/10^k with w < 2^53, rounded once (Clinger 1990); any other
is left to ``read_decimal``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from maxmargin.kernels.decimal import EASY, read_decimal
from maxmargin.kernels.jit import jit

__all__ = ["read_examples", "trailing_zeros"]

NEWLINE, RETURN, TAB, SPACE, HASH, POINT, COLON, PLUS, MINUS = 10, 13, 9, 32, 35, 46, 58, 43, 45
LARGEST_INDEX = (1 << 31) - 1
TENS = 10.0 ** np.arange(9)
WHOLE_TENS = 10 ** np.arange(9)


def _intrinsic(function: Any) -> Callable[..., Any]:
    found: Callable[..., Any] = intrinsic(function)
    return found


@_intrinsic
def _eight(_context: Any, text: Any, k: Any) -> Any:
    """Bytes k … k + 7 of a text as one number, the first of them the lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(address, align=1)

    return types.uint64(text, k), generate


@_intrinsic
def trailing_zeros(_context: Any, a: Any) -> Any:
    """How many of the lowest bits are zero; 64 for zero."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@jit
def _digits(v: Any) -> tuple[int, int]:
    """How many of eight bytes are digits before the first that is none, and the number they are."""
    zeros = np.uint64(0x3030303030303030)
    u = v - zeros
    other = ((v + np.uint64(0x4646464646464646)) | u) & np.uint64(0x8080808080808080)
    bits = trailing_zeros(other) & np.uint64(0x78)  # 8 × the count
    if bits == np.uint64(0):
        return 0, 0
    u = u << (np.uint64(64) - bits)
    u = u * np.uint64(10) + (u >> np.uint64(8))
    pairs = np.uint64(0x000000FF000000FF)
    high = (u & pairs) * np.uint64(0x000F424000000064)
    u = high + ((u >> np.uint64(16)) & pairs) * np.uint64(0x0000271000000001)
    return np.int64(bits >> np.uint64(3)), np.int64(u >> np.uint64(32))


@jit
def _number(text: Any, k: int) -> tuple[float, int]:
    """A short number at k, and where it ends; k itself if it is not short. 18 bytes must be there."""
    minus = text[k] == MINUS
    at = k + np.int64(minus | (text[k] == PLUS))
    count, w = _digits(_eight(text, at))
    if count == 8 or count == 0:
        return 0.0, k
    at += count
    places = 0
    if text[at] == POINT:
        places, part = _digits(_eight(text, at + 1))
        w = w * WHOLE_TENS[places] + part
        at += 1 + places
    if places == 8 or (text[at] > SPACE and text[at] != HASH):
        return 0.0, k
    sign = 1.0 - 2.0 * minus
    return sign * (w / TENS[places]), at


@jit
def _index(text: Any, k: int, stop: int) -> tuple[int, int]:
    """The whole number that begins at k, and where it ends; −1 if there is none so short."""
    if k + 8 <= stop:
        count, index = _digits(_eight(text, k))
        if 0 < count < 8:
            return index, k + count
    first, index = k, 0
    while k < stop and np.uint8(text[k] - 48) <= 9 and k - first < 11:
        index = index * 10 + int(text[k] - 48)
        k += 1
    if k == first or k - first > 10:
        return -1, k
    return index, k


@jit
def read_examples(
    text: Any, k: int, data: Any, indices: Any, indptr: Any, labels: Any, row: int, line: int
) -> tuple[int, int, int]:
    """Read lines ``[label] index:value … [# comment]`` from byte k on, as far as they are plain.

    Fills ``data``, ``indices``, ``indptr[row + 1:]`` and ``labels[row:, 0:3]``: where a label begins and
    ends (the same byte if there is none), and its line. Returns where it stopped: byte, row and line.
    """
    stop, filled = text.shape[0], indptr[row]
    while k < stop:
        start = k
        while k < stop and (text[k] == SPACE or text[k] == TAB):
            k += 1
        label = k
        while k < stop and text[k] > SPACE and text[k] != HASH and text[k] != COLON:
            k += 1
        end = k
        if k < stop and text[k] == COLON:  # a feature: there is no label
            end = k = label
        here, last = filled, -1
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
            index, k = _index(text, k, stop)
            if index <= last or index > LARGEST_INDEX or k >= stop or text[k] != COLON:
                return start, row, line
            k += 1
            value, after = _number(text, k) if k + 18 <= stop else (0.0, k)
            if after == k:
                value, after, how = read_decimal(text, k, stop)
                if how != EASY or (after < stop and text[after] > SPACE and text[after] != HASH):
                    return start, row, line
            k = after
            last = index
            data[here] = value
            indices[here] = index
            here += 1
        if k < stop and text[k] != NEWLINE and text[k] != RETURN:  # a byte that text does not have
            return start, row, line
        if k + 1 < stop and text[k] == RETURN and text[k + 1] == NEWLINE:
            k += 1
        k = min(k + 1, stop)
        line += 1
        if label == end and here == filled:
            continue
        filled = here
        labels[row, 0], labels[row, 1], labels[row, 2] = label, end, line - 1
        row += 1
        indptr[row] = filled
    return k, row, line
