"""Entries of a JSON object, taken one by one, each checked for what it must be."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.saving.arrays import Parts, read_array

__all__ = ["Reader", "bad", "from_extended", "to_extended"]

WORDS = {None: math.nan, "inf": math.inf, "-inf": -math.inf}  # what JSON has no number for


def bad(name: str, allowed: str, given: Any) -> InputError:
    """Build the error of an entry that is not what it must be."""
    return InputError(f"{name} must be {allowed}. Got {reprlib.repr(given)} instead.")


def to_extended(value: float) -> float | str | None:
    """Write a float that may be infinite ("inf") or not known (null)."""
    number = float(value)
    if math.isfinite(number):
        return number
    return None if math.isnan(number) else ("inf" if number > 0 else "-inf")


def from_extended(value: Any, name: str) -> float:
    """Read what :func:`to_extended` wrote."""
    if type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if value is None or (type(value) is str and value in WORDS):
        return WORDS[value]
    raise bad(name, "a number, 'inf', '-inf' or null", value)


class Reader:
    """The entries of an object; :meth:`done` refuses those that nobody asked for.

    Parameters
    ----------
    value : dict
        The object.
    name : str
        How to call it in errors.
    parts : Parts, optional
        The arrays that lie in a file of their own.
    """

    def __init__(self, value: Any, name: str, parts: Parts | None = None) -> None:
        if type(value) is not dict:
            raise bad(name or "the model", "an object", value)
        self._left: dict[str, Any] = dict(value)
        self.name, self.parts = name, Parts() if parts is None else parts

    def called(self, key: str) -> str:
        """The name of an entry in errors."""
        return f"{self.name}.{key}" if self.name else key

    def __iter__(self) -> Iterator[str]:
        return iter(self._left)

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def take(self, key: str) -> Any:
        """Return an entry as it is."""
        if key not in self._left:
            raise InputError(f"{self.name or 'the model'} must have an entry {key!r}. Got none instead.")
        return self._left.pop(key)

    def text(self, key: str) -> str:
        """Return an entry that is a text."""
        value = self.take(key)
        if type(value) is not str:
            raise bad(self.called(key), "a text", value)
        return value

    def flag(self, key: str) -> bool:
        """Return an entry that is true or false."""
        value = self.take(key)
        if type(value) is not bool:
            raise bad(self.called(key), "true or false", value)
        return value

    def count(self, key: str, least: int = 0) -> int:
        """Return an entry that is an integer of at least ``least``."""
        value = self.take(key)
        if type(value) is not int or not least <= value < 2**63:
            raise bad(self.called(key), f"an integer ≥ {least}", value)
        return value

    def number(self, key: str) -> float:
        """Return an entry that is a finite number."""
        value = self.extended(key)
        if not math.isfinite(value):
            raise bad(self.called(key), "a finite number", value)
        return value

    def extended(self, key: str) -> float:
        """Return an entry that is a number, infinite or not known."""
        return from_extended(self.take(key), self.called(key))

    def extended_list(self, key: str, length: int | None = None) -> Sequence[float]:
        """Return such numbers in a list."""
        return [from_extended(v, self.called(key)) for v in self.items(key, length)]

    def items(self, key: str, length: int | None = None) -> list[Any]:
        """Return an entry that is a list (of so many)."""
        value = self.take(key)
        if type(value) is not list or (length is not None and len(value) != length):
            raise bad(
                self.called(key), "a list" + (f" of {length}" if length is not None else ""), value
            )
        return value

    def texts(self, key: str) -> Sequence[str]:
        """Return an entry that is a list of texts."""
        values = self.items(key)
        if any(type(value) is not str for value in values):
            raise bad(self.called(key), "a list of texts", values)
        return values

    def reader(self, key: str) -> Reader:
        """Return an entry that is an object."""
        return Reader(self.take(key), self.called(key), self.parts)

    def readers(self, key: str, length: int | None = None) -> Iterator[Reader]:
        """Yield the objects in a list."""
        for k, value in enumerate(self.items(key, length)):
            yield Reader(value, f"{self.called(key)}[{k}]", self.parts)

    def array(self, key: str, kind: type, shape: tuple[int | None, ...]) -> np.ndarray:
        """Return an array of this kind and shape; None in the shape stands for any length."""
        return read_array(self.take(key), kind, shape, self.called(key), self.parts)

    def done(self) -> None:
        """Refuse entries that were not asked for."""
        if self._left:
            key = next(iter(self._left))
            raise InputError(
                f"{self.name or 'the model'} must not have an entry {key!r}. Got one instead."
            )

    def rest(self) -> Mapping[str, Any]:
        """Return the entries not asked for yet, and count them as taken."""
        left, self._left = self._left, {}
        return left
