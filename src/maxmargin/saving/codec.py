"""Labels, names and parameters as JSON, each with its type.

None, True, whole numbers, finite floats, texts and lists are themselves. Whatever JSON has no word for
is an object with one tag: ``{"tuple": […]}``, ``{"numpy": "<f4", "value": 0.5}``, ``{"float": "inf"}``.

Entries of a JSON object, taken one by one, each checked for what it must be.
"""

from __future__ import annotations

import datetime
import math
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.size_limits import MAX_EXPANSION
from maxmargin.saving.arrays import Parts, read_array

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


# Types of labels: bool, integers, floats up to doubles, texts, bytes, dates and times.
DTYPE = re.compile(
    r"\|b1|\|[iu]1|[<>][iu][248]|[<>]f[248]|[<>]U\d{1,6}|\|S\d{1,6}|[<>][Mm]8(\[\d{0,9}[A-Za-zμ]{1,2}\])?"
)
OBJECTS = "objects"
SHORT_BYTES = 4_096  # bytes of a vector of texts within other values, also where the texts are few
FRACTION = re.compile(r"(-?[0-9a-f]+)/([1-9a-f][0-9a-f]*)")


def encode(value: Any, name: str = "the value") -> Any:
    """Return a value as plain JSON; :class:`InputError` if it is none of the known types."""
    if isinstance(value, np.generic):
        written = encode_labels(np.array([value]), name)
        return {"numpy": written["dtype"], "value": written["values"][0]}
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) is list:
        return [encode(v, name) for v in value]
    if type(value) is tuple:
        return {"tuple": [encode(v, name) for v in value]}
    if isinstance(value, Mapping):
        return {"dict": [[encode(k, name), encode(v, name)] for k, v in value.items()]}
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return {"array": encode_labels(value, name)}
    for tag, (kind, write, _) in TAGS.items():
        if type(value) is kind:
            return {tag: write(value)}
    raise InputError(
        f"{name} must be made of numbers, texts, dates, tuples, lists or dicts to be saved. "
        f"Got {value!r} instead."
    )


def decode(value: Any, name: str = "the value") -> Any:
    """Return the value that :func:`encode` wrote."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is list:
        return [decode(v, name) for v in value]
    if type(value) is dict and value.keys() == {"numpy", "value"}:
        labels = decode_labels({"dtype": value["numpy"], "values": [value["value"]]}, name)
        return labels[0]
    if type(value) is not dict or len(value) != 1:
        raise bad(name, "a value with a known tag", value)
    ((tag, content),) = value.items()
    try:
        return _tagged(tag, content, name)
    except (ValueError, TypeError, OverflowError):
        raise bad(name, "a value with a known tag", value) from None


def _tagged(tag: str, content: Any, name: str) -> Any:
    if tag == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if tag == "tuple" and type(content) is list:
        return tuple(decode(v, name) for v in content)
    if tag == "dict" and type(content) is list:
        pairs = [(decode(k, name), decode(v, name)) for k, v in content]
        if len(dict(pairs)) == len(pairs):
            return dict(pairs)
    if tag == "array":
        return decode_labels(content, name)
    if tag in TAGS and type(content) is str:
        return TAGS[tag][2](content)
    raise ValueError


def to_fraction(value: Fraction) -> str:
    """Write a fraction in hexadecimal digits, of which there may be any number."""
    return f"{value.numerator:x}/{value.denominator:x}"


def from_fraction(text: Any) -> Fraction:
    """Read what :func:`to_fraction` wrote."""
    found = FRACTION.fullmatch(text) if type(text) is str else None
    if found is None:
        raise bad("a fraction", "a text such as -1f/2a", text)
    return Fraction(int(found[1], 16), int(found[2], 16))


TAGS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "fraction": (Fraction, to_fraction, from_fraction),
}


def encode_labels(labels: np.ndarray, name: str = "classes", free: int = SHORT_BYTES) -> dict[str, Any]:
    """Return a vector of labels (or of other values) with its type.

    An array of texts has room for the longest in every place. If that is more than ``free`` bytes, and
    out of proportion to the texts, they are written in a narrower type, or as objects.
    """
    if labels.dtype.kind in "US" and not _fits(labels.dtype, labels.tolist(), free):
        labels = np.array(labels.tolist())
        labels = labels if _fits(labels.dtype, labels.tolist(), free) else labels.astype(object)
    if labels.dtype.kind == "O":
        return {"dtype": OBJECTS, "values": [encode(v, name) for v in labels.tolist()]}
    if not DTYPE.fullmatch(labels.dtype.str):
        raise InputError(
            f"{name} must hold numbers, texts, dates or objects to be saved. "
            f"Got the type {labels.dtype} instead. Convert them."
        )
    if labels.dtype.kind in "Mm":
        return {"dtype": labels.dtype.str, "values": labels.astype(np.int64).tolist()}
    return {"dtype": labels.dtype.str, "values": [encode(v, name) for v in labels.tolist()]}


def _fits(dtype: np.dtype[Any], values: list[Any], free: int) -> bool:
    """Whether texts fill an array of this type, up to a factor; numbers always do."""
    if dtype.kind not in "US":
        return True
    length = sum(len(v) for v in values if type(v) in (str, bytes))
    return len(values) * dtype.itemsize <= max(free, MAX_EXPANSION * length)


def decode_labels(value: Any, name: str = "classes", free: int = SHORT_BYTES) -> np.ndarray:
    """Return the vector that :func:`encode_labels` wrote; every value must fit its type."""
    if (
        type(value) is not dict
        or value.keys() != {"dtype", "values"}
        or type(value["values"]) is not list
    ):
        raise bad(name, "an object with dtype and values", value)
    dtype, values = value["dtype"], [decode(v, name) for v in value["values"]]
    if dtype == OBJECTS:
        objects = np.empty(len(values), dtype=object)
        for k, v in enumerate(values):
            objects[k] = v
        return objects
    if type(dtype) is not str or not DTYPE.fullmatch(dtype):
        raise bad(f"{name}.dtype", "a type of labels", dtype)
    try:
        if dtype[1] in "Mm":
            labels = np.array(values, dtype=np.int64).astype(dtype)
            fits = {type(v) for v in values} <= {int}
        elif not _fits(np.dtype(dtype), values, free):
            raise ValueError
        else:
            labels = np.array(values, dtype=dtype)
            back = labels.tolist()
            fits = repr(back) == repr(values)  # the same values, of the same types
    except (ValueError, TypeError, OverflowError):
        fits = False
    if not fits:
        raise bad(f"{name}.values", f"a list of values of type {dtype}", values)
    return labels
