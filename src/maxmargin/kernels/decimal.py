"""Decimal text to the nearest double, ties to even: what ``float(text)`` gives, many millions a second.

A text is w·10^q with a whole number w. If w < 2^53 and |q| ≤ 22, both are doubles, and one division or
product rounds once (Clinger 1990). Otherwise w is multiplied by the 128 leading bits of 5^q, and the
leading bits of the product decide (Eisel and Lemire, "Number parsing at a gigabyte per second", 2021).
What neither decides — a subnormal number, one that overflows, more digits than 64 bits hold where they
matter, a whole number that no double holds — is left to the caller.

Eight bytes are looked at together: one test of all of them counts the digits they begin with, and three
multiplications make these a number, whatever their count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.kernels.jit import (
    double_of_bits,
    eight_bytes,
    high_half,
    jit,
    leading_zeros,
    trailing_zeros,
)

EASY, HARD = 0, 1
PLUS, MINUS, POINT, ZERO, E = 43, 45, 46, 48, 101
MIN_EXPONENT, MAX_EXPONENT = -342, 308  # exponents q beyond which every number underflows or overflows
DIGITS = 19  # decimal digits that 64 bits always hold
EXACT = np.uint64(1 << 53)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


def _leading_bits() -> np.ndarray:
    """The 128 leading bits of 5^q, upper half first; a reciprocal is rounded up."""
    table = np.empty((MAX_EXPONENT - MIN_EXPONENT + 1, 2), dtype=np.uint64)
    for q in range(MIN_EXPONENT, MAX_EXPONENT + 1):
        power = 5 ** abs(q)
        bits = power.bit_length()
        if q >= 0:
            c = power << (128 - bits) if bits <= 128 else power >> (bits - 128)
        else:
            c = (1 << (bits + 127)) // power + 1
            c >>= max(0, c.bit_length() - 128)
        table[q - MIN_EXPONENT] = c >> 64, c & 0xFFFFFFFFFFFFFFFF
    return table


POWERS_OF_FIVE = _leading_bits()
WHOLE_POWERS = np.array([10**k for k in range(9)], dtype=np.uint64)
POWERS_OF_TEN = np.array([10.0**k for k in range(23)])


@jit
def leading_digits(text: Any, k: int) -> tuple[Any, int]:
    """The number that the digits among bytes k … k + 7 are, up to the first other byte; and how many."""
    v = eight_bytes(text, k)
    # A byte that is no digit sets its upper bit in one of these; a carry spoils only what follows it.
    above, below = v + np.uint64(0x4646464646464646), v - np.uint64(0x3030303030303030)
    others = (above | below) & np.uint64(0x8080808080808080)
    if others == np.uint64(0):  # where this can be guessed, what follows need not wait for the count
        return _eight_digits(below), 8
    bits = trailing_zeros(others) & np.uint64(0x78)  # in the digits
    if bits == np.uint64(0):
        return np.uint64(0), 0
    # Zeros go in front. What a borrow has spoilt lies behind the digits, and is shifted out.
    return _eight_digits(below << (np.uint64(64) - bits)), np.int64(bits >> np.uint64(3))


@jit
def _eight_digits(v: Any) -> Any:
    """The number that eight digits are: pairs first, then fours, then all."""
    v = v * np.uint64(10) + (v >> np.uint64(8))
    pairs = np.uint64(0x000000FF000000FF)
    upper, lower = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)
    return ((v & pairs) * upper + ((v >> np.uint64(16)) & pairs) * lower) >> np.uint64(32)


@jit
def _append_digits(w: Any, text: Any, k: int, stop: int) -> tuple[Any, int]:
    """Append the digits from byte k on to a number w, modulo 2^64; and where they end."""
    last = min(k + 8, stop - 8)  # hardly any number has more than two times eight, and a few
    while k <= last:
        more, count = leading_digits(text, k)
        w, k = w * WHOLE_POWERS[count] + more, k + count
        if count < 8:
            return w, k
    while k < stop and np.uint8(text[k] - ZERO) <= 9:
        w, k = w * np.uint64(10) + np.uint64(text[k] - ZERO), k + 1
    return w, k


@jit
def _first_digits(text: Any, k: int, stop: int) -> tuple[Any, int, bool]:
    """Digits with a point among them as w·10^q, w of DIGITS digits; and whether other than 0 was cut."""
    w, q, digits, cut, point = np.uint64(0), 0, 0, False, False
    for p in range(k, stop):
        if text[p] == POINT:
            point = True
        elif digits < DIGITS:
            w = w * np.uint64(10) + np.uint64(text[p] - ZERO)
            digits += int(w > np.uint64(0))
            q -= point
        else:
            cut |= text[p] != ZERO
            q += not point
    return w, q, cut


@jit
def _nearest(w: Any, q: int) -> tuple[float, int]:
    """The double nearest to w·10^q for w > 0 and q within the limits; HARD where there is none."""
    zeros = leading_zeros(w)
    w = w << zeros
    five = POWERS_OF_FIVE[q - MIN_EXPONENT, 0]
    high, low = high_half(w, five), w * five
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the bits that follow may carry into those needed
        more = high_half(w, POWERS_OF_FIVE[q - MIN_EXPONENT, 1])
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
    return double_of_bits(bits), EASY


@jit
def _scaled(w: Any, q: int, cut: bool) -> tuple[float, int]:
    """The double nearest to w·10^q; if digits were cut off, the one that w and w + 1 agree on."""
    if w == np.uint64(0) and not cut:
        return 0.0, EASY
    if w <= EXACT and -22 <= q <= 22 and not cut:
        exact = np.float64(np.int64(w))
        return (exact / POWERS_OF_TEN[-q] if q < 0 else exact * POWERS_OF_TEN[q]), EASY
    if q < MIN_EXPONENT or q > MAX_EXPONENT or w == np.uint64(0):
        return 0.0, HARD
    value, how = _nearest(w, q)
    if cut and how == EASY:
        above, how = _nearest(w + np.uint64(1), q)
        if above != value:
            how = HARD
    return value, how


@jit
def _exponent(text: Any, k: int, stop: int) -> tuple[int, int]:
    """The whole number that begins at k, and where it ends; −k if there is none."""
    down = k < stop and text[k] == MINUS
    if down or (k < stop and text[k] == PLUS):
        k += 1
    first, power = k, 0
    while k < stop and np.uint8(text[k] - ZERO) <= 9:
        power = min(10 * power + int(text[k] - ZERO), 1_000_000)
        k += 1
    return (-power if down else power), (k if k > first else -k)


@jit
def _rest(
    text: Any, first: int, k: int, stop: int, w: Any, digits: int, places: int, point: bool
) -> tuple[float, int, int]:
    """The number whose digits are bytes first … k − 1, where there are many, or an exponent follows."""
    q, cut, end = -places, False, k
    if digits > DIGITS:
        w, q, cut = _first_digits(text, first, end)
    if k < stop and text[k] | 32 == E:
        power, k = _exponent(text, k + 1, stop)
        if k < 0:
            return 0.0, -k, HARD
        q += power
    if k == end and not point and (q or np.uint64(np.float64(w)) != w):
        return 0.0, k, HARD  # a whole number that perhaps no double holds
    value, how = _scaled(w, q, cut)
    return value, k, how


@jit
def read_decimal(text: Any, k: int, stop: int) -> tuple[float, int, int]:
    """Read the number that begins at k: its value, where it ends, and whether it was EASY.

    The byte after the number is the first that cannot belong to it; whether one may follow, the caller
    knows. A number without digits is HARD.
    """
    if k >= stop:
        return 0.0, k, HARD
    negative = text[k] == MINUS
    first = k + int(negative | (text[k] == PLUS))
    w, k = _append_digits(np.uint64(0), text, first, stop)
    digits, places, point = k - first, 0, k < stop and text[k] == POINT
    if point:
        w, after = _append_digits(w, text, k + 1, stop)
        places, k = after - k - 1, after
        digits += places
    if digits == 0:
        return 0.0, k, HARD
    if digits <= 15 and (k >= stop or text[k] | 32 != E):
        value, how = np.float64(np.int64(w)) / POWERS_OF_TEN[places], EASY
    else:
        value, k, how = _rest(text, first, k, stop, w, digits, places, point)
    return (-value if negative else value), k, how
