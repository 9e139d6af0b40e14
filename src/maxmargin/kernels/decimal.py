"""Decimal text to the nearest double, ties to even: what ``float(text)`` gives, many millions a second.

A text is w·10^q with a whole number w. If w < 2^53 and |q| ≤ 22, both are doubles, and one division or
product rounds once (Clinger 1990). Otherwise w is multiplied by the 128 leading bits of 5^q, and the
leading bits of the product decide (Eisel and Lemire, "Number parsing at a gigabyte per second", 2021).
What neither decides — a subnormal number, one that overflows, more digits than 64 bits hold where they
matter, a whole number that no double holds — is left to the caller.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from maxmargin.kernels.jit import jit

__all__ = ["EASY", "HARD", "leading_digits", "read_decimal"]

EASY, HARD = 0, 1
LEAST, MOST = -342, 308  # exponents q beyond which every number underflows or overflows
DIGITS = 19  # decimal digits that 64 bits always hold
EXACT = np.uint64(1 << 53)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


def _leading_bits() -> np.ndarray:
    """The 128 leading bits of 5^q, upper half first; a reciprocal is rounded up."""
    table = np.empty((MOST - LEAST + 1, 2), dtype=np.uint64)
    for q in range(LEAST, MOST + 1):
        power = 5 ** abs(q)
        bits = power.bit_length()
        if q >= 0:
            c = power << (128 - bits) if bits <= 128 else power >> (bits - 128)
        else:
            c = (1 << (bits + 127)) // power + 1
            c >>= max(0, c.bit_length() - 128)
        table[q - LEAST] = c >> 64, c & 0xFFFFFFFFFFFFFFFF
    return table


POWERS_OF_FIVE = _leading_bits()
WHOLE_POWERS = np.array([10**k for k in range(9)], dtype=np.uint64)
POWERS_OF_TEN = np.array([10.0**k for k in range(23)])


def _intrinsic(function: Any) -> Callable[..., Any]:
    """Mark a function that writes instructions; what it returns is called in kernels alone."""
    found: Callable[..., Any] = intrinsic(function)
    return found


@_intrinsic
def _high_half(_context: Any, a: Any, b: Any) -> Any:
    """The upper 64 bits of a product of two 64-bit numbers."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        x, y = (builder.zext(argument, wide) for argument in arguments)
        return builder.trunc(builder.lshr(builder.mul(x, y), ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@_intrinsic
def _leading_zeros(_context: Any, a: Any) -> Any:
    """How many leading bits of a number other than zero are zero."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@_intrinsic
def _trailing_zeros(_context: Any, a: Any) -> Any:
    """How many of the last bits of a number other than zero are zero."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@_intrinsic
def _double_of_bits(_context: Any, a: Any) -> Any:
    """The double that these 64 bits are."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate


@_intrinsic
def _eight_bytes(_context: Any, text: Any, k: Any) -> Any:
    """Bytes k … k + 7 of a text as one number, the first of them the lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        found = builder.load(address, align=1)
        return found if sys.byteorder == "little" else builder.bswap(found)

    return types.uint64(text, k), generate


@jit
def leading_digits(text: Any, k: int) -> tuple[Any, int]:
    """The number that the digits among bytes k … k + 7 are, up to the first other byte; and how many."""
    v = _eight_bytes(text, k)
    # A byte that is no digit sets its upper bit in one of these; a carry spoils only what follows it.
    above, below = v + np.uint64(0x4646464646464646), v - np.uint64(0x3030303030303030)
    others = (above | below) & np.uint64(0x8080808080808080)
    if others == np.uint64(0):
        return _eight_digits(below), 8
    count = _trailing_zeros(others) >> np.uint64(3)
    if count == np.uint64(0):
        return np.uint64(0), 0
    # Zeros go in front. What a borrow has spoilt lies behind the digits, and is shifted out.
    return _eight_digits(below << (np.uint64(64) - (count << np.uint64(3)))), np.int64(count)


@jit
def _eight_digits(v: Any) -> Any:
    """The number that eight digits are: pairs first, then fours, then all."""
    v = v * np.uint64(10) + (v >> np.uint64(8))
    pairs = np.uint64(0x000000FF000000FF)
    upper, lower = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)
    return ((v & pairs) * upper + ((v >> np.uint64(16)) & pairs) * lower) >> np.uint64(32)


@jit
def _nearest(w: Any, q: int) -> tuple[float, int]:
    """The double nearest to w·10^q for w > 0 and LEAST ≤ q ≤ MOST; HARD where there is none."""
    zeros = _leading_zeros(w)
    w = w << zeros
    five = POWERS_OF_FIVE[q - LEAST, 0]
    high, low = _high_half(w, five), w * five
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the bits that follow may carry into those needed
        more = _high_half(w, POWERS_OF_FIVE[q - LEAST, 1])
        low = low + more
        if more > low:
            high = high + np.uint64(1)
    if low == ONES and (q < -27 or q > 55):
        return 0.0, HARD
    top = high >> np.uint64(63)
    shift = top + np.uint64(9)
    mantissa = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + np.int64(top) - np.int64(zeros) + 1023
    if exponent <= 0:
        return 0.0, HARD
    halfway = low <= np.uint64(1) and -4 <= q <= 23 and mantissa & np.uint64(3) == np.uint64(1)
    if halfway and mantissa << shift == high:
        mantissa = mantissa & ~np.uint64(1)
    mantissa = (mantissa + (mantissa & np.uint64(1))) >> np.uint64(1)
    if mantissa >= np.uint64(1 << 53):
        mantissa = np.uint64(1 << 52)
        exponent += 1
    if exponent >= 0x7FF:
        return 0.0, HARD
    bits = (mantissa & ~np.uint64(1 << 52)) | (np.uint64(exponent) << np.uint64(52))
    return _double_of_bits(bits), EASY


@jit
def _scaled(w: Any, q: int, cut: bool) -> tuple[float, int]:
    """The double nearest to w·10^q; if digits were cut off, the one that w and w + 1 agree on."""
    if w == np.uint64(0) and not cut:
        return 0.0, EASY
    if w <= EXACT and -22 <= q <= 22 and not cut:
        return (w / POWERS_OF_TEN[-q] if q < 0 else w * POWERS_OF_TEN[q]), EASY
    if q < LEAST or q > MOST or w == np.uint64(0):
        return 0.0, HARD
    value, how = _nearest(w, q)
    if cut and how == EASY:
        above, how = _nearest(w + np.uint64(1), q)
        if above != value:
            how = HARD
    return value, how


@jit
def read_decimal(text: Any, k: int, stop: int) -> tuple[float, int, int]:
    """Read the number that begins at k: its value, where it ends, and whether it was EASY.

    The byte after the number is the first that cannot belong to it; whether one may follow, the caller
    knows. A number without digits is HARD.
    """
    negative = False
    if k < stop and (text[k] == 45 or text[k] == 43):
        negative = text[k] == 45
        k += 1
    w, q, digits, cut, whole = np.uint64(0), 0, 0, False, True
    first = k
    while k < stop and np.uint8(text[k] - 48) <= 9:
        if digits < DIGITS:
            w = w * np.uint64(10) + np.uint64(text[k] - 48)
            if w:
                digits += 1
        else:
            cut = cut or text[k] != 48
            q += 1
        k += 1
    found = k > first
    if k < stop and text[k] == 46:
        whole = False
        k += 1
        point = k
        while digits == 0 and k < stop and text[k] == 48:
            q, k = q - 1, k + 1
        while digits + 8 <= DIGITS and k + 8 <= stop:
            more, count = leading_digits(text, k)
            w = w * WHOLE_POWERS[count] + more
            digits, q, k = digits + count, q - count, k + count
            if count < 8:
                break
        while k < stop and np.uint8(text[k] - 48) <= 9:
            if digits < DIGITS:
                w = w * np.uint64(10) + np.uint64(text[k] - 48)
                if w:
                    digits += 1
                q -= 1
            else:
                cut = cut or text[k] != 48
            k += 1
        found = found or k > point
    if not found:
        return 0.0, k, HARD
    if k < stop and (text[k] == 101 or text[k] == 69):
        whole = False
        k += 1
        down = False
        if k < stop and (text[k] == 45 or text[k] == 43):
            down = text[k] == 45
            k += 1
        first, power = k, 0
        while k < stop and np.uint8(text[k] - 48) <= 9:
            power = min(10 * power + int(text[k] - 48), 1_000_000)
            k += 1
        if k == first:
            return 0.0, k, HARD
        q += -power if down else power
    if whole and digits > 15 and (q or np.uint64(np.float64(w)) != w):
        return 0.0, k, HARD  # perhaps no double holds it
    value, how = _scaled(w, q, cut)
    return (-value if negative else value), k, how
