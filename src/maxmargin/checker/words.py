"""What both sides of the checker say and read: rejections, labels, and numbers in text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any


class Rejected(Exception):  # noqa: N818 - a verdict, as main prints it
    """The proof does not hold; the message says which condition fails, and where.

    Examples
    --------
    >>> from maxmargin.checker import Rejected, parse
    >>> try:
    ...     parse('{"format": "something else"}')
    ... except Rejected as reason:
    ...     print(reason)
    format must be "maxmargin proof"
    """


class Unreadable(Exception):  # noqa: N818 - the same
    """A file cannot be read as a proof or as data; the message says where, and what to do.

    Examples
    --------
    >>> from maxmargin.checker import Unreadable, read
    >>> try:
    ...     next(read("rows.docx", {}))
    ... except Unreadable as reason:
    ...     print(str(reason).partition(",")[0])
    rows.docx: must be a file .csv
    """


def require(holds: bool, condition: str) -> None:
    """Reject the proof unless the condition holds.

    Examples
    --------
    >>> from maxmargin.checker import Rejected, require
    >>> try:
    ...     require(1 > 2, "1 must be more than 2")
    ... except Rejected as reason:
    ...     print(reason)
    1 must be more than 2
    """
    if not holds:
        raise Rejected(condition)


def canonical(label: str) -> str:
    """Return the text that stands for all ways to write a label: "1" for " 1.0" and "+1".

    Examples
    --------
    >>> from maxmargin.checker import canonical
    >>> canonical(" 1.0"), canonical("+1"), canonical("yes")
    ('1', '1', 'yes')
    """
    label = label.strip()
    if re.fullmatch("[+-]?[0-9]{1,4000}", label):
        return str(int(label))
    try:
        value = float(label)
        return str(int(value)) if value.is_integer() else repr(value) if math.isfinite(value) else label
    except ValueError:
        return label


# Numbers in a proof are texts: float.hex(), an integer of any length, or a fraction.

FREE_BITS = 1 << 26  # integers up to these, together, cost seconds at most, whatever the text
BITS_PER_CHARACTER = 32  # a digit stands for 3.3 bits; an eighth of the numbers may have all the digits
DIGITS_PER_NUMBER = 1500  # a double has at most 2,098 bits, 632 digits; products of two twice as many
POSITIVE = re.compile("0*[1-9][0-9]*")
RATIONAL = re.compile(f"(-?)([0-9]+)(?:/({POSITIVE.pattern}))?")


def is_number(text: Any) -> bool:
    """Tell whether a value of the proof is a number in text."""
    if type(text) is not str:
        return False
    try:
        return bool(RATIONAL.fullmatch(text)) or ("0x" in text and float.fromhex(text).hex() == text)
    except (ValueError, OverflowError):
        return False


def integer(digits: str) -> int:
    """Return the integer of many digits, half by half: int() refuses thousands of them at once."""
    if len(digits) <= 600:
        return int(digits)
    half = len(digits) // 2
    return integer(digits[:-half]) * int(10**half) + integer(digits[-half:])


def common_denominator(texts: Sequence[str]) -> tuple[list[int], int]:
    """Return integers and one positive denominator for numbers in text.

    Numbers of one plane or one sum come from one system of equations, so that they share their
    denominator but for factors. Others would make a short text into integers of any length.
    """
    ratios = list(map(ratio, texts))
    bound = FREE_BITS + BITS_PER_CHARACTER * sum(map(len, texts))  # of all the integers together
    common = 1
    for denominator in {denominator for _, denominator in ratios}:
        common = math.lcm(common, denominator)
        short = common.bit_length() * len(texts) <= bound
        require(
            short, "the numbers of a plane or sum must have a common denominator of their own length"
        )
    return [numerator * (common // denominator) for numerator, denominator in ratios], common


def ratio(text: str) -> tuple[int, int]:
    """Return numerator and positive denominator of a number in text."""
    if rational := RATIONAL.fullmatch(text):
        sign, numerator, denominator = rational.groups("1")
        return integer(numerator) * (-1 if sign == "-" else 1), integer(denominator)
    return float.fromhex(text).as_integer_ratio()
