"""A number in text, read as Python reads it, or refused with its place."""

from __future__ import annotations

import math

from maxmargin.core.errors import InputError

__all__ = ["MISSING", "is_index", "read_float", "read_number", "short"]

MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "nil", "?", "-", "."))  # in lower case


def short(text: str) -> str:
    """The text in quotes, cut so that an error stays one line."""
    return repr(text[:40])


def read_float(text: str) -> float | None:
    """Return the double nearest to a decimal text; Python's float would also take 1_0 for 10."""
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def is_index(text: str) -> bool:
    """Whether a text is a whole number of at most ten digits."""
    return text.isascii() and text.isdigit() and len(text) <= 10


def read_number(text: str, where: str, name: str, *, column: bool = False) -> float:
    """Return the value of feature ``name``: finite, and no whole number that would be rounded.

    Of a ``column`` of a table an error says how to do without it.
    """
    value = read_float(text)
    if value is not None and abs(value) >= 2**53 and _is_whole(text) and int(text) != value:
        raise InputError(
            f"{where}: feature {name} must be a number that a double holds. Got {short(text)} instead, "
            "which would be rounded. Subtract an offset, or write it with an exponent."
        )
    if value is not None and math.isfinite(value):
        return value
    if text.strip().lower() in MISSING:
        raise InputError(
            f"{where}: feature {name} must not be missing. Got {short(text)} instead. Fill it in, or "
            f"leave out {'the row, or the column (drop=[…])' if column else 'the line'}."
        )
    remedy = ", or leave the column out (drop=[…])" if column else ""
    if column and value is None:
        remedy = f", encode its column (one_hot=True){remedy}"
    raise InputError(
        f"{where}: feature {name} must be a finite number. Got {short(text)} instead. "
        f"Correct the file{remedy}."
    )


def _is_whole(text: str) -> bool:
    return text.strip().lstrip("+-").isdigit() and len(text) < 4_000
