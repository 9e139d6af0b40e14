"""Checks of what a message holds, in one voice: what is allowed, what was given, what to do."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from maxmargin.core.errors import InputError
from maxmargin.laboratory.limits import LARGEST

__all__ = [
    "check_keys",
    "check_list",
    "check_text",
    "check_window",
    "complain",
    "read_bool",
    "read_choice",
    "read_count",
    "read_number",
    "read_vector",
    "shown",
]

_REPR = reprlib.Repr()
_REPR.maxlevel, _REPR.maxstring, _REPR.maxother, _REPR.maxlist, _REPR.maxdict = 2, 60, 60, 4, 4


def shown(value: Any) -> str:
    """A short text of whatever was given."""
    return _REPR.repr(value)


def complain(name: str, allowed: str, given: Any, remedy: str = "") -> InputError:
    """Build the error every check raises: allowed, given, remedy."""
    return InputError(f"{name} must be {allowed}. Got {shown(given)} instead. {remedy}".rstrip())


def check_keys(name: str, value: Any, known: Sequence[str]) -> Mapping[str, Any]:
    """Return a dict whose keys are all among ``known``."""
    if not isinstance(value, Mapping):
        raise complain(name, "an object with named entries", value)
    for key in value:
        if key not in known:
            raise InputError(
                f"{name} must hold only the entries {', '.join(known)}. Got {shown(key)} instead. "
                "Leave it out."
            )
    return value


def read_number(name: str, value: Any, *, least: float = -LARGEST, most: float = LARGEST) -> float:
    """Return a number, neither infinite nor nan, within bounds that are part of the range."""
    allowed = f"a number from {least:g} to {most:g}"
    if type(value) not in (int, float):
        raise complain(name, allowed, value)
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        number = math.inf
    if not least <= number <= most:
        raise complain(name, allowed, value)
    return number


def read_count(name: str, value: Any, *, least: int, most: int) -> int:
    """Return an integer from ``least`` to ``most``."""
    if type(value) is not int or not least <= value <= most:
        raise complain(name, f"an integer from {least} to {most}", value)
    return value


def read_bool(name: str, value: Any) -> bool:
    """Return true or false."""
    if type(value) is not bool:
        raise complain(name, "true or false", value)
    return value


def read_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise complain(name, "one of " + ", ".join(choices), value)
    return value


def check_list(name: str, value: Any, allowed: str, least: int, most: int) -> Sequence[Any]:
    """Return a list of ``least`` to ``most`` entries."""
    if not isinstance(value, list | tuple) or not least <= len(value) <= most:
        given = value
        if isinstance(value, list | tuple):
            given = f"a list of {len(value)}"
            raise InputError(f"{name} must be {allowed}. Got {given} instead.")
        raise complain(name, allowed, given)
    return value


def check_text(name: str, value: Any, most: int) -> str:
    """Return a text of at most so many letters that UTF-8 can hold."""
    if not isinstance(value, str) or len(value) > most:
        raise complain(name, f"a text of at most {most:,} letters", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise complain(name, "a text without half characters (lone surrogates)", value) from None
    return value


def read_vector(name: str, value: Any, length: int) -> list[float]:
    """Return a list of so many numbers."""
    entries = check_list(name, value, f"a list of {length} numbers", length, length)
    return [read_number(f"{name}[{k}]", v) for k, v in enumerate(entries)]


def check_window(name: str, value: Any, pairs: int) -> list[float]:
    """Return lo, hi, lo, hi … with lo < hi, far enough apart for doubles."""
    ends = read_vector(name, value, 2 * pairs)
    for low, high in zip(ends[::2], ends[1::2], strict=True):
        if not high - low > 1e-12 * max(abs(low), abs(high), 1e-30):
            raise complain(name, "pairs of a lower and a larger upper end", value)
    return ends
