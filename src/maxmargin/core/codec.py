"""JSON values and back, each checked for what it must be: numbers, labels, records.

A :class:`Form` writes one kind of value and reads it back. :func:`entries` makes the form of an object
of its entries, :func:`record` of the fields of a class. JSON has no number for nan, ∞ and −∞: where a
float must stand they are null, "inf" and "-inf". Where any value may stand, it has its type: None, True,
whole numbers, finite floats, texts and lists are themselves, all others an object with one tag,
``{"tuple": […]}``, ``{"float": "inf"}``.
"""

from __future__ import annotations

import datetime
import math
import re
import reprlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.memory import MAX_EXPANSION


def bad(name: str, allowed: str, given: Any) -> InputError:
    """Build the error of an entry that is not what it must be."""
    return InputError(f"{name or 'the model'} must be {allowed}. Got {reprlib.repr(given)} instead.")


# Values of any type, with their types: labels, names, parameters.

# Types of labels: bool, integers, floats up to doubles, texts, bytes, dates and times.
DTYPE = re.compile(
    r"\|b1|\|[iu]1|[<>][iu][248]|[<>]f[248]|[<>]U\d{1,6}|\|S\d{1,6}|[<>][Mm]8(\[\d{0,9}[A-Za-zμ]{1,2}\])?"
)
OBJECTS = "objects"
MAX_LEVELS = 200  # of lists within values: the same on every Python, whatever its stack holds
MIN_TEXT_BYTES = 4_096  # bytes that a vector of texts within other values may take in any case
FRACTION = re.compile(r"(-?[0-9a-f]+)/([1-9a-f][0-9a-f]*)")
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def _is_plain(value: Any) -> bool:
    """Whether JSON has this value and its type."""
    plain = value is None or type(value) in (bool, int, str)
    return plain or (type(value) is float and math.isfinite(value))


def encode(value: Any, name: str = "the value", level: int = 0) -> Any:
    """Return a value as plain JSON; :class:`InputError` if it is none of the known types."""
    if _is_plain(value):
        return value
    if level == MAX_LEVELS:
        raise _too_deep(name)
    if type(value) is list:
        return [encode(v, name, level + 1) for v in value]
    if isinstance(value, np.generic):
        written = encode_labels(np.array([value]), name)
        return {"numpy": written["dtype"], "value": written["values"][0]}
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return {"array": encode_labels(value, name)}
    for tag, (kind, write, _) in TAGS.items():
        if type(value) is kind or (kind is dict and isinstance(value, Mapping)):
            return {tag: encode(write(value), name, level + 1)}
    raise InputError(
        f"{name} must be made of numbers, texts, dates, tuples, lists or dicts to be saved. "
        f"Got {value!r} instead."
    )


def decode(value: Any, name: str = "the value", level: int = 0) -> Any:
    """Return the value that :func:`encode` wrote."""
    if _is_plain(value):
        return value
    if level == MAX_LEVELS:
        raise _too_deep(name)
    if type(value) is list:
        return [decode(v, name, level + 1) for v in value]
    if type(value) is dict and value.keys() == {"numpy", "value"}:
        return decode_labels({"dtype": value["numpy"], "values": [value["value"]]}, name)[0]
    try:
        ((tag, content),) = value.items()
        if tag == "array":
            return decode_labels(content, name)
        return TAGS[tag][2](decode(content, name, level + 1))
    except InputError:
        raise
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        raise bad(name, "a value with a known tag", value) from None


def _too_deep(name: str) -> InputError:
    return InputError(f"{name} must be nested at most {MAX_LEVELS} levels deep. Got more instead.")


def _tuple(content: Any) -> tuple[Any, ...]:
    if type(content) is not list:
        raise TypeError
    return tuple(content)


def _dict(content: Any) -> dict[Any, Any]:
    found = dict(_tuple(content))
    if len(found) < len(content):
        raise ValueError
    return found


def to_fraction(value: Fraction) -> str:
    """Write a fraction in hexadecimal digits, of which there may be any number."""
    return f"{value.numerator:x}/{value.denominator:x}"


def from_fraction(text: Any) -> Fraction:
    """Read what :func:`to_fraction` wrote."""
    found = FRACTION.fullmatch(text) if type(text) is str else None
    if found is None:
        raise bad("a fraction", "a text such as -1f/2a", text)
    return Fraction(int(found[1], 16), int(found[2], 16))


# By tag: the type, what is written instead of a value, and the way back; errors on it are expected.
TAGS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "float": (float, repr, FLOATS.__getitem__),
    "tuple": (tuple, list, _tuple),
    "dict": (dict, lambda value: [list(pair) for pair in value.items()], _dict),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "fraction": (Fraction, to_fraction, from_fraction),
}


def encode_labels(
    labels: np.ndarray, name: str = "classes", free: int = MIN_TEXT_BYTES
) -> dict[str, Any]:
    """Return a vector of labels (or of other values) with its type.

    An array of texts has room for the longest in every place. If that is more than ``free`` bytes, and
    out of proportion to the texts, they are written in a narrower type, or as objects.
    """
    if not _fits(labels.dtype, labels.tolist(), free):
        labels = np.array(labels.tolist())
        labels = labels if _fits(labels.dtype, labels.tolist(), free) else labels.astype(object)
    if labels.dtype.kind == "O":
        return {"dtype": OBJECTS, "values": [encode(v, name) for v in labels.tolist()]}
    if not DTYPE.fullmatch(labels.dtype.str):
        raise InputError(
            f"{name} must hold numbers, texts, dates or objects to be saved. "
            f"Got the type {labels.dtype} instead. Convert them."
        )
    values = labels.astype(np.int64) if labels.dtype.kind in "Mm" else labels
    return {"dtype": labels.dtype.str, "values": [encode(v, name) for v in values.tolist()]}


def _fits(dtype: np.dtype[Any], values: list[Any], free: int) -> bool:
    """Whether texts fill an array of this type, up to a factor; numbers always do."""
    if dtype.kind not in "US":
        return True
    length = sum(len(v) for v in values if type(v) in (str, bytes))
    return len(values) * dtype.itemsize <= max(free, MAX_EXPANSION * length)


def decode_labels(value: Any, name: str = "classes", free: int = MIN_TEXT_BYTES) -> np.ndarray:
    """Return the vector that :func:`encode_labels` wrote; every value must fit its type."""
    if (
        type(value) is not dict
        or value.keys() != {"dtype", "values"}
        or type(value["values"]) is not list
    ):
        raise bad(name, "an object with dtype and values", value)
    dtype, values = value["dtype"], [decode(v, name) for v in value["values"]]
    if dtype == OBJECTS:
        return object_vector(values)
    if type(dtype) is not str or not DTYPE.fullmatch(dtype):
        raise bad(f"{name}.dtype", "a type of labels", dtype)
    try:
        if dtype[1] in "Mm":
            labels = np.array(values, dtype=np.int64).astype(dtype)
            fits = {type(v) for v in values} <= {int}
        else:
            fits = _fits(np.dtype(dtype), values, free)  # before there is an array of this type
            labels = np.array(values if fits else [], dtype=dtype)
            fits = fits and repr(labels.tolist()) == repr(values)  # the same values, of the same types
    except (ValueError, TypeError, OverflowError):
        fits = False
    if not fits:
        raise bad(f"{name}.values", f"a list of values of type {dtype}", values)
    return labels


def object_vector(values: list[Any]) -> np.ndarray:
    """Return a vector of Python objects, whatever they are."""
    objects = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        objects[k] = value
    return objects


# Forms: how one kind of value is written and read.


@dataclass(frozen=True)
class Form:
    """One kind of value: ``write(value)`` makes JSON of it, ``read(json, name)`` the value."""

    write: Callable[[Any], Any]
    read: Callable[[Any, str], Any]

    def checked(self, test: Callable[[Any], Any], words: str) -> Form:
        """Return the form of values that also pass a test."""

        def read(value: Any, name: str) -> Any:
            found = self.read(value, name)
            if not test(found):
                raise bad(name, words, value)
            return found

        return Form(self.write, read)

    def mapped(self, before: Callable[[Any], Any], after: Callable[[Any], Any]) -> Form:
        """Return a form that writes ``before(value)``, and reads ``after(what was written)``."""
        return Form(
            lambda value: self.write(before(value)), lambda value, name: after(self.read(value, name))
        )


def _typed(kind: type, words: str) -> Form:
    def read(value: Any, name: str) -> Any:
        if type(value) is not kind:
            raise bad(name, words, value)
        return value

    return Form(kind, read)


def counts(least: int = 0, most: int = 2**63 - 1) -> Form:
    """Return the form of integers in a range."""
    words = f"an integer ≥ {least}"
    return _typed(int, words).checked(lambda v: least <= v <= most, words)


def one_of(*words: str) -> Form:
    """Return the form of a choice between words."""
    return TEXT.checked(lambda v: v in words, f"one of {', '.join(words)}")


def maybe(form: Form) -> Form:
    """Return the form of values that can be None."""
    return Form(
        lambda v: None if v is None else form.write(v),
        lambda v, name: None if v is None else form.read(v, name),
    )


def listed(form: Form) -> Form:
    """Return the form of lists of any length."""

    def read(value: Any, name: str) -> list[Any]:
        if type(value) is not list:
            raise bad(name, "a list", value)
        return [form.read(v, name) for v in value]

    return Form(lambda values: [form.write(v) for v in values], read)


def named(form: Form) -> Form:
    """Return the form of objects with entries of any name."""

    def read(value: Any, name: str) -> dict[str, Any]:
        if type(value) is not dict:
            raise bad(name, "an object", value)
        return {key: form.read(v, f"{name}.{key}") for key, v in value.items()}

    return Form(lambda values: {key: form.write(v) for key, v in values.items()}, read)


def row(forms: list[Form]) -> Form:
    """Return the form of a list with one form for each of its places."""

    def read(value: Any, name: str) -> list[Any]:
        if type(value) is not list or len(value) != len(forms):
            raise bad(name, f"a list of {len(forms)}", value)
        return [f.read(v, f"{name}[{k}]") for k, (f, v) in enumerate(zip(forms, value, strict=True))]

    return Form(lambda values: [f.write(v) for f, v in zip(forms, values, strict=True)], read)


def _write_number(value: float) -> float | str | None:
    number = float(value)
    if math.isfinite(number):
        return number
    return None if math.isnan(number) else ("inf" if number > 0 else "-inf")


def _read_number(value: Any, name: str) -> float:
    if type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if value is None or (type(value) is str and value in ("inf", "-inf")):
        return math.nan if value is None else float(value)
    raise bad(name, "a number, 'inf', '-inf' or null", value)


TEXT, FLAG = _typed(str, "a text"), _typed(bool, "true or false")
COUNT = counts()
NUMBER = Form(_write_number, _read_number)  # may be infinite, or not known
FINITE = NUMBER.checked(math.isfinite, "a finite number")
ANYTHING = Form(lambda v: v, lambda v, name: v)
VALUE = Form(encode, lambda v, name: decode(v, name))
FRACTION_TEXT = Form(to_fraction, lambda v, name: from_fraction(v))
HINTS = {str: TEXT, bool: FLAG, int: COUNT, float: NUMBER}


def form_of(hint: Any) -> Form:
    """Return the form that follows from the type of a field."""
    if hint in HINTS:
        return HINTS[hint]
    inside = get_args(hint)
    if get_origin(hint) is UnionType and len(inside) == 2 and inside[1] is NoneType:
        return maybe(form_of(inside[0]))
    if get_origin(hint) is tuple:
        endless = inside[1:] == (...,)
        members = listed(form_of(inside[0])) if endless else row(list(map(form_of, inside)))
        return members.mapped(list, tuple)
    hints = get_type_hints(hint)  # a NamedTuple
    return row([form_of(hints[name]) for name in hint._fields]).mapped(list, lambda found: hint(*found))


def entries(forms: Mapping[str, Form], optional: Collection[str] = ()) -> Form:
    """Return the form of an object with these entries and no others, as a dict; some may be absent."""

    def write(values: Mapping[str, Any]) -> dict[str, Any]:
        return {key: form.write(values[key]) for key, form in forms.items() if key in values}

    def read(value: Any, name: str) -> dict[str, Any]:
        if type(value) is not dict:
            raise bad(name, "an object", value)
        for key in forms.keys() - value.keys() - set(optional):
            raise InputError(f"{name or 'the model'} must have an entry {key!r}. Got none instead.")
        for key in value.keys() - forms.keys():
            raise InputError(f"{name or 'the model'} must not have an entry {key!r}. Got one instead.")
        there = {key: form for key, form in forms.items() if key in value}
        called = {key: f"{name}.{key}" if name else key for key in there}
        return {key: form.read(value[key], called[key]) for key, form in there.items()}

    return Form(write, read)


def record(
    kind: type,
    /,
    *,
    called: Mapping[str, str] | None = None,
    omit: Collection[str] = (),
    optional: Collection[str] = (),
    make: Callable[..., Any] | None = None,
    **forms: Form,
) -> Form:
    """Return the form of the objects of a class: an entry for each field of a dataclass, or named here.

    An entry is called as its field without a last underscore, unless ``called`` says how. Optional
    fields have no entry where they are None. ``make`` makes a value of the fields read; else the class
    does. ``forms`` are those of fields whose types do not tell.
    """
    hints = get_type_hints(kind)
    known = {f.name for f in fields(kind)} if is_dataclass(kind) else set()
    keys = {name: (called or {}).get(name, name.rstrip("_")) for name in [*hints, *forms]}
    keys = {name: key for name, key in keys.items() if name in known | forms.keys() and name not in omit}
    inside = {key: forms[name] if name in forms else form_of(hints[name]) for name, key in keys.items()}

    def before(value: Any) -> dict[str, Any]:
        found = {name: getattr(value, name) for name in keys}
        return {keys[name]: v for name, v in found.items() if v is not None or name not in optional}

    def after(found: dict[str, Any]) -> Any:
        return (make or kind)(**{name: found[key] for name, key in keys.items() if key in found})

    return entries(inside, {keys[name] for name in optional}).mapped(before, after)
