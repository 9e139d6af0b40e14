"""JSON values and back, each checked for what it must be: numbers, labels, arrays, records.

A :class:`Form` writes one kind of value and reads it back. :func:`entries` makes the form of an object
of its entries, :func:`record` of the fields of a class. JSON has no number for nan, ∞ and −∞: where a
float must stand they are null, "inf" and "-inf". Where any value may stand, it has its type: None, True,
whole numbers, finite floats, texts and lists are themselves, all others an object with one tag,
``{"tuple": […]}``, ``{"float": "inf"}``.

Arrays are nested lists. Large and sparse ones are bytes in base64, the lowest byte first:
``{"shape": [1, 110001], "data": "…"}``; of a sparse array ``data`` holds the numbers at the places
``where`` of the flattened array, and all others are 0.0 (−0.0 is kept). Sparse arrays of many numbers
come with some of their zeros, so that a file is never small beside what is made of it.
"""

from __future__ import annotations

import base64
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
from maxmargin.core.memory import GRANTED_BYTES, MAX_EXPANSION, NUMBER_BYTES, in_proportion


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


# Arrays.

MAX_LISTED_NUMBERS = 100_000  # numbers up to which the arrays of a model are lists
MAX_LIST_LENGTH = 1_000  # numbers of an array that is a list in any case
MIN_SPARSE, SPARSE_SHARE = 10_000, 4  # larger arrays with fewer nonzeros than one in so many are sparse
PLACE_BYTES = 8  # bytes of the place of a number in a sparse array
# Of so many numbers of large sparse arrays one is written, zero or not.
NUMBERS_PER_PLACE = MAX_EXPANSION * (NUMBER_BYTES + PLACE_BYTES) // NUMBER_BYTES

KINDS = {float: np.dtype(np.float64), int: np.dtype(np.int64), bool: np.dtype(np.bool_)}
WORDS = {float: "numbers", int: "integers", bool: "true or false"}


def plain(tree: Any) -> Any:
    """Return a tree of plain values with every array as (nested) lists."""
    return _mapped(tree, np.ndarray.tolist)


def pack(tree: Any) -> tuple[Any, bool]:
    """Return the tree as plain values, and whether some arrays in it are in base64."""
    arrays: list[np.ndarray] = []
    _mapped(tree, arrays.append)
    large = sum([a.size for a in arrays]) > MAX_LISTED_NUMBERS
    if not large and not any(map(_is_sparse, arrays)):
        return plain(tree), False
    with_zeros = NUMBER_BYTES * sum(a.size for a in arrays if _is_sparse(a)) > GRANTED_BYTES

    def packed(a: np.ndarray) -> Any:
        if a.size <= MAX_LIST_LENGTH or not (large or _is_sparse(a)):
            return a.tolist()
        return _as_bytes(a, with_zeros)

    return _mapped(tree, packed), True


def _mapped(tree: Any, change: Callable[[np.ndarray], Any]) -> Any:
    """Return the tree with a function of each array in its place."""
    if isinstance(tree, np.ndarray):
        return change(tree)
    if isinstance(tree, dict):
        return {key: _mapped(value, change) for key, value in tree.items()}
    return [_mapped(value, change) for value in tree] if isinstance(tree, list) else tree


def _is_sparse(a: np.ndarray) -> bool:
    if a.size <= MIN_SPARSE or a.dtype != np.float64:
        return False
    return bool(SPARSE_SHARE * np.count_nonzero(_bits(a)) < a.size)


def _bits(a: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(a).view(np.int64)  # −0.0 is not zero here


def _as_bytes(a: np.ndarray, with_zeros: bool) -> dict[str, Any]:
    if not _is_sparse(a):
        return {"shape": list(a.shape), "data": _base64(a)}
    where = np.flatnonzero(_bits(a))
    if with_zeros:
        where = np.union1d(where, np.arange(0, a.size, NUMBERS_PER_PLACE))
    data, places = _base64(a.ravel()[where]), _base64(where.astype(np.int64))
    return {"shape": list(a.shape), "data": data, "where": places}


def _base64(a: np.ndarray) -> str:
    return base64.b64encode(a.astype(a.dtype.newbyteorder("<")).tobytes()).decode("ascii")


def check_expansion(tree: Any) -> None:
    """Refuse sparse arrays that would take memory out of proportion to the numbers that are there."""
    held = asked = 0
    left = [tree]
    while left:
        value = left.pop()
        if type(value) is dict and {"shape", "data"} <= value.keys():
            held += sum([_held_bytes(value[name]) for name in ("data", "where") if name in value])
            if "where" in value and _is_shape(value["shape"]):
                asked += NUMBER_BYTES * math.prod(value["shape"])
        elif type(value) in (dict, list):
            inside = value.values() if type(value) is dict else value
            left += [v for v in inside if type(v) in (dict, list)]
    if not in_proportion(asked, held):
        raise InputError(
            "a model must have sparse arrays in proportion to what is there of them: at most "
            f"{NUMBERS_PER_PLACE} zeros for each number there. Got {asked:,} bytes made of {held:,} "
            "instead. Save the model again with this version of maxmargin."
        )


def _held_bytes(data: Any) -> int:
    if isinstance(data, np.ndarray):
        return data.nbytes
    return 3 * len(data) // 4 if type(data) is str else 0


def _is_shape(shape: Any) -> bool:
    return type(shape) is list and all(type(n) is int and n >= 0 for n in shape)


def read_array(value: Any, kind: type, shape: tuple[int | None, ...], name: str) -> np.ndarray:
    """Return an array that was written as lists or bytes; everything about it is checked."""
    found: np.ndarray | None
    if isinstance(value, np.ndarray):  # of version 1
        found = value if value.dtype == KINDS[kind] else None
    elif type(value) is dict:
        found = _from_bytes(value, KINDS[kind], name)
    elif value == [] and shape[0] in (0, None):
        found = np.empty([n or 0 for n in shape], dtype=KINDS[kind])  # lists do not tell its width
    else:
        found = _from_lists(value, kind)
    if (
        found is None
        or found.ndim != len(shape)
        or any(n not in (None, m) for n, m in zip(shape, found.shape, strict=True))
    ):
        wanted = " × ".join("any" if n is None else str(n) for n in shape)
        got = reprlib.repr(value) if found is None else " × ".join(map(str, found.shape))
        raise InputError(f"{name} must hold {wanted} {WORDS[kind]}. Got {got} instead.")
    if kind is float and not np.all(np.isfinite(found)):
        raise InputError(f"{name} must hold finite numbers. Got nan or infinity instead.")
    if kind is bool and np.any(found.view(np.uint8) > 1):
        raise InputError(f"{name} must hold true or false. Got other bytes instead.")
    return found


def _from_lists(value: Any, kind: type) -> np.ndarray | None:
    """Nested lists as an array; None if they do not make one of this kind."""
    if type(value) is not list:
        return None
    allowed = {int, float} if kind is float else {kind}
    rows = value if value and type(value[0]) is list else [value]
    if any(type(row) is not list or not set(map(type, row)) <= allowed for row in rows):
        return None
    try:
        return np.array(value, dtype=KINDS[kind])
    except (ValueError, TypeError, OverflowError):
        return None


def _from_bytes(value: dict[str, Any], dtype: np.dtype[Any], name: str) -> np.ndarray:
    """Return an array in base64, sparse if the places of its numbers are there."""
    if not {"shape", "data"} <= value.keys() <= {"shape", "data", "where"}:
        raise bad(name, "lists, or an object with shape and data", value)
    shape = value["shape"]
    try:
        if not _is_shape(shape):
            raise ValueError
        array = _decoded(value["data"], dtype)
        if "where" not in value:
            return array.reshape(shape)
        where = _decoded(value["where"], KINDS[int])
    except (ValueError, TypeError, OverflowError):
        raise bad(name, "an array of its shape in base64", value) from None
    size = math.prod(shape)
    if (
        where.ndim != 1
        or where.shape != array.shape
        or (len(where) and (where[0] < 0 or where[-1] >= size or np.any(np.diff(where) <= 0)))
    ):
        raise InputError(f"{name} must be a sparse array with ascending places. Got others instead.")
    full = np.zeros(size, dtype=dtype)
    full[where] = array
    return full.reshape(shape)


def _decoded(data: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Return an array from base64, or one of version 1; ValueError or TypeError if it is neither."""
    if isinstance(data, np.ndarray):
        if data.dtype != dtype:
            raise ValueError
        return data
    return np.frombuffer(base64.b64decode(data, validate=True), dtype.newbyteorder("<")).astype(dtype)


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


def arrays(kind: type, *shape: int | None) -> Form:
    """Return the form of arrays of this kind and shape; None in the shape stands for any length."""
    return Form(
        lambda a: np.asarray(a, dtype=KINDS[kind]),
        lambda v, name: read_array(v, kind, shape, name),
    )


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
