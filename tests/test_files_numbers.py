"""Numbers in text: the kernel gives what float gives, to the last bit, or says that it cannot."""

import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit

from maxmargin.core.errors import InputError
from maxmargin.files.text import read_number
from maxmargin.kernels.decimal import EASY, read_decimal
from maxmargin.kernels.jit import pointer


def bits(value):
    return struct.pack("<d", value)


@njit
def read_array(content):
    return read_decimal(pointer(content), 0, len(content))


def read(text, rest=" "):
    return read_array(np.frombuffer((text + rest).encode(), np.uint8))


def check(text):
    """The kernel agrees with Python, or leaves the number to it; returns whether it was easy."""
    value, end, how = read(text)
    for rest in ("", " 1:2 3:4 5:6 7:8 9:10"):  # near the end of the text, and far from it
        other = read(text, rest)
        assert (bits(other[0]), other[1:]) == (bits(value), (end, how))
    if how == EASY:
        assert end == len(text)
        assert bits(value) == bits(float(text))
    return how == EASY


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(2.0**-1022)
@example(1.7976931348623157e308)
@example(-0.0)
def test_every_double_as_python_writes_it(value):
    easy = check(repr(value))
    assert easy or (abs(value) < 2.0**-1022 and value)  # what is left over is subnormal


digits = st.text("0123456789", min_size=0, max_size=30)


@given(
    st.sampled_from(["", "+", "-"]), digits, st.sampled_from(["", "."]), digits,
    st.one_of(st.just(""), st.integers(-400, 400).map(lambda e: f"e{e}")),
)  # fmt: skip
def test_any_decimal(sign, whole, point, part, power):
    text = sign + whole + point + (part if point else "") + power
    try:
        float(text)
    except ValueError:
        assert read(text)[2] != EASY
        return
    check(text)


@given(st.integers(2**52, 2**53 - 1), st.integers(-80, 80), st.sampled_from([-1, 0, 1]))
def test_halfway_between_two_doubles(mantissa, power, off):
    middle = Fraction(2 * mantissa + 1) * Fraction(2) ** (power - 1)
    k = middle.denominator.bit_length() - 1
    text = f"{10 * middle.numerator * 5**k + off}e{-k - 1}"
    check(text)


@pytest.mark.parametrize(
    "text",
    ["0", "-0", "1", "00012", "5.", ".5", "1e23", "1E+5", "9007199254740993.0", "9007199254740992",
     "123456789012345678e2", "0e99999", "1e-22", "8.5e22", "1234567890123456789.0",
     "0." + "0" * 40 + "7"],
)  # fmt: skip
def test_ordinary_numbers_are_easy(text):
    assert check(text)


@pytest.mark.parametrize(
    "text", ["", "+", ".", "e5", "1e", "1e+", "nan", "inf", "9007199254740993", "1e400", "5e-324", "_1"]
)
def test_what_needs_care_is_left_to_python(text):
    assert read(text)[2] != EASY


def test_the_end_of_the_number_is_found():
    for text, end in (("1.5:7", 3), ("2e3,4", 3), ("3_0", 1), ("0x10", 1), ("1.2.3", 3)):
        assert read(text)[1] == end


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("two", "one_hot=True"),
        ("", "must not be missing"),
        ("NA", "must not be missing"),
        ("nan", "must not be missing"),
        ("inf", "must be a finite number"),
        ("1e999", "must be a finite number"),
        ("1_0", "must be a finite number"),
        ("١", "must be a finite number"),
        ("9007199254740993", "would be rounded"),
    ],
)
def test_what_is_no_number_is_refused(text, words):
    with pytest.raises(InputError, match=words):
        read_number(text, "here", "a", column=True)
