"""JSON values and back, each checked for what it must be: numbers, labels, arrays, records.

A :class:`Form` writes one kind of value and reads it back; a :func:`record` is a form made of the fields
of a dataclass. JSON has no number for nan, ∞ and −∞: where a float must stand they are null, "inf" and
"-inf". Where any value may stand, it has its type: None, True, whole numbers, finite floats, texts and
lists are themselves, all others an object with one tag, ``{"tuple": […]}``, ``{"float": "inf"}``.

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.size_limits import GRANTED_BYTES, MAX_EXPANSION, NUMBER_BYTES, in_proportion


def bad(name: str, allowed: str, given: Any) -> InputError:
    """Build the error of an entry that is not what it must be."""
    return InputError(f"{name} must be {allowed}. Got {reprlib.repr(given)} instead.")


# Values of any type, with their types: labels, names, parameters.

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


# Arrays.

MAX_LISTED = 100_000  # numbers up to which the arrays of a model are lists
MIN_SPARSE, SPARSE_SHARE = 10_000, 4  # larger arrays with fewer nonzeros than one in so many are sparse
SMALL = 1_000  # arrays that are lists in any case
PLACE_BYTES = 8  # bytes of the place of a number in a sparse array
# Of so many numbers of large sparse arrays one is written, zero or not.
NUMBERS_PER_PLACE = MAX_EXPANSION * (NUMBER_BYTES + PLACE_BYTES) // NUMBER_BYTES

KINDS = {float: np.dtype(np.float64), int: np.dtype(np.int64), bool: np.dtype(np.bool_)}
WORDS = {float: "numbers", int: "integers", bool: "true or false"}


class Parts:
    """What the arrays of one file may take in memory: in proportion to the bytes that are there.

    Parameters
    ----------
    arrays : mapping
        Arrays by name that lie beside a file of version 1. Each is there for one entry.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray] | None = None) -> None:
        self._arrays = dict(arrays or {})
        self._held, self._asked = sum(a.nbytes for a in self._arrays.values()), 0

    def take(self, name: Any) -> np.ndarray | None:
        """Return an array that nobody has taken yet."""
        return self._arrays.pop(name, None) if type(name) is str else None

    def allow(self, size: int, held: int = 0) -> bool:
        """Whether so many numbers more may be made, of so many bytes more."""
        self._asked += NUMBER_BYTES * size
        self._held += held
        return in_proportion(self._asked, self._held)


def plain(tree: Any) -> Any:
    """Return a tree of plain values with every array as (nested) lists."""
    return _mapped(tree, np.ndarray.tolist)


def pack(tree: Any) -> tuple[Any, bool]:
    """Return the tree as plain values, and whether some arrays in it are in base64."""
    arrays: list[np.ndarray] = []
    _mapped(tree, arrays.append)
    large = sum(a.size for a in arrays) > MAX_LISTED
    if not large and not any(map(_is_sparse, arrays)):
        return plain(tree), False
    many = NUMBER_BYTES * sum(a.size for a in arrays if _is_sparse(a)) > GRANTED_BYTES

    def packed(a: np.ndarray) -> Any:
        if a.size <= SMALL or not (large or _is_sparse(a)):
            return a.tolist()
        return _as_bytes(a, NUMBERS_PER_PLACE if many else None)

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


def _as_bytes(a: np.ndarray, every: int | None) -> dict[str, Any]:
    shape = list(a.shape)
    if not _is_sparse(a):
        return {"shape": shape, "data": _base64(a)}
    where = np.flatnonzero(_bits(a))
    if every is not None:
        where = np.union1d(where, np.arange(0, a.size, every))
    return {"shape": shape, "data": _base64(a.ravel()[where]), "where": _base64(where.astype(np.int64))}


def _base64(a: np.ndarray) -> str:
    return base64.b64encode(a.astype(a.dtype.newbyteorder("<")).tobytes()).decode("ascii")


def read_array(
    value: Any, kind: type, shape: tuple[int | None, ...], name: str, parts: Parts
) -> np.ndarray:
    """Return an array that was written as lists or bytes; everything about it is checked."""
    if type(value) is dict:
        array = _from_part if "part" in value else _from_bytes
        found: np.ndarray | None = array(value, KINDS[kind], name, parts)
    else:
        found = _from_lists(value, kind)
    if value == [] and shape[0] in (0, None):
        found = np.empty([n or 0 for n in shape], dtype=KINDS[kind])  # lists do not tell its width
    if (
        found is None
        or found.ndim != len(shape)
        or any(n not in (None, m) for n, m in zip(shape, found.shape, strict=True))
    ):
        wanted = " × ".join("any" if n is None else str(n) for n in shape)
        given = reprlib.repr(value) if found is None else " × ".join(map(str, found.shape))
        raise InputError(f"{name} must hold {wanted} {WORDS[kind]}. Got {given} instead.")
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


def _from_bytes(value: dict[str, Any], dtype: np.dtype[Any], name: str, parts: Parts) -> np.ndarray:
    """An array in base64, sparse if the places of its numbers are there."""
    if not {"shape", "data"} <= value.keys() <= {"shape", "data", "where"}:
        raise bad(name, "lists, or an object with shape and data", value)
    try:
        array = _decoded(value["data"], dtype)
        if "where" in value:
            where = _decoded(value["where"], KINDS[int])
            parts.allow(0, array.nbytes + where.nbytes)
            return _spread(array, where, value["shape"], name, parts)
        return array.reshape(_sizes(value["shape"]))
    except (ValueError, TypeError, OverflowError):
        raise bad(name, "an array of its shape in base64", value) from None


def _decoded(text: Any, dtype: np.dtype[Any]) -> np.ndarray:
    raw = base64.b64decode(text if type(text) is str else "?", validate=True)
    return np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype)


def _from_part(value: dict[str, Any], dtype: np.dtype[Any], name: str, parts: Parts) -> np.ndarray:
    """An array that lies beside a file of version 1."""
    key = value["part"]
    array = parts.take(key)
    if array is None or array.dtype != dtype or not value.keys() <= {"part", "sparse"}:
        raise InputError(f"{name} must be in the part of the model. Got {reprlib.repr(value)} instead.")
    if "sparse" not in value:
        return array
    return _spread(array, parts.take(f"{key}.where"), value["sparse"], name, parts)


def _spread(
    array: np.ndarray, where: np.ndarray | None, shape: Any, name: str, parts: Parts
) -> np.ndarray:
    """The array of this shape that has numbers at some places, and zeros elsewhere."""
    sizes = _sizes(shape)
    size = math.prod(sizes) if sizes is not None else -1
    if (
        size < 0
        or where is None
        or where.dtype != np.int64
        or where.shape != array.shape
        or where.ndim != 1
        or (len(where) and (where[0] < 0 or where[-1] >= size or np.any(np.diff(where) <= 0)))
    ):
        raise InputError(f"{name} must be a sparse array with ascending places. Got others instead.")
    if not parts.allow(size):
        raise InputError(
            f"{name} must have a size in proportion to its part: at most {NUMBERS_PER_PLACE} zeros for "
            f"each number there. Got {size:,} numbers, of which {len(where):,} are there, instead. Save "
            "the model again with this version of maxmargin."
        )
    full = np.zeros(size, dtype=array.dtype)
    full[where] = array
    return full.reshape(sizes)


def _sizes(shape: Any) -> Any:
    """A shape as a tuple; None if it is none."""
    whole = type(shape) is list and all(type(n) is int and n >= 0 for n in shape)
    return tuple(shape) if whole else None


# Forms: how one kind of value is written and read.


@dataclass(frozen=True)
class Form:
    """One kind of value: ``write(value)`` makes JSON of it, ``read(json, name, parts)`` the value."""

    write: Callable[[Any], Any]
    read: Callable[[Any, str, Parts], Any]


def _typed(kind: type, words: str) -> Form:
    def read(value: Any, name: str, _: Parts) -> Any:
        if type(value) is not kind:
            raise bad(name, words, value)
        return value

    return Form(kind, read)


def checked(form: Form, test: Callable[[Any], bool], words: str) -> Form:
    """Return the form of values that also pass a test."""

    def read(value: Any, name: str, parts: Parts) -> Any:
        found = form.read(value, name, parts)
        if not test(found):
            raise bad(name, words, value)
        return found

    return Form(form.write, read)


def counts(least: int = 0, most: int = 2**63 - 1) -> Form:
    """Return the form of integers in a range."""
    words = f"an integer ≥ {least}"
    return checked(_typed(int, words), lambda v: least <= v <= most, words)


def one_of(*words: str) -> Form:
    """Return the form of a choice between words."""
    return checked(TEXT, lambda v: v in words, f"one of {', '.join(words)}")


def maybe(form: Form) -> Form:
    """Return the form of values that can be None."""
    return Form(
        lambda v: None if v is None else form.write(v),
        lambda v, name, parts: None if v is None else form.read(v, name, parts),
    )


def listed(form: Form, make: Callable[[list[Any]], Any] = list) -> Form:
    """Return the form of lists; ``make`` makes of the list read what it shall be."""

    def read(value: Any, name: str, parts: Parts) -> Any:
        if type(value) is not list:
            raise bad(name, "a list", value)
        return make([form.read(v, name, parts) for v in value])

    return Form(lambda values: [form.write(v) for v in values], read)


def row(forms: list[Form], make: Callable[[list[Any]], Any] = tuple) -> Form:
    """Return the form of a list with one form for each of its places."""

    def read(value: Any, name: str, parts: Parts) -> Any:
        if type(value) is not list or len(value) != len(forms):
            raise bad(name, f"a list of {len(forms)}", value)
        return make([form.read(v, name, parts) for form, v in zip(forms, value, strict=True)])

    return Form(lambda values: [f.write(v) for f, v in zip(forms, values, strict=True)], read)


def arrays(kind: type, *shape: int | None) -> Form:
    """Return the form of arrays of this kind and shape; None in the shape stands for any length."""
    return Form(
        lambda a: np.asarray(a, dtype=KINDS[kind]),
        lambda v, name, parts: read_array(v, kind, shape, name, parts),
    )


def _write_number(value: float) -> float | str | None:
    number = float(value)
    if math.isfinite(number):
        return number
    return None if math.isnan(number) else ("inf" if number > 0 else "-inf")


def _read_number(value: Any, name: str, _: Parts) -> float:
    if type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if value is None or (type(value) is str and value in ("inf", "-inf")):
        return math.nan if value is None else float(value)
    raise bad(name, "a number, 'inf', '-inf' or null", value)


TEXT, FLAG = _typed(str, "a text"), _typed(bool, "true or false")
COUNT = counts()
NUMBER = Form(_write_number, _read_number)  # may be infinite, or not known
FINITE = checked(NUMBER, math.isfinite, "a finite number")
ANYTHING = Form(lambda v: v, lambda v, name, parts: v)
VALUE = Form(encode, lambda v, name, parts: decode(v, name))
FRACTION_TEXT = Form(to_fraction, lambda v, name, parts: from_fraction(v))
HINTS = {str: TEXT, bool: FLAG, int: COUNT, float: NUMBER}


def form_of(hint: Any) -> Form:
    """Return the form that follows from the type of a field."""
    if hint in HINTS:
        return HINTS[hint]
    inside = get_args(hint)
    if get_origin(hint) is UnionType and len(inside) == 2 and inside[1] is NoneType:
        return maybe(form_of(inside[0]))
    if get_origin(hint) is tuple and inside[1:] == (...,):
        return listed(form_of(inside[0]), tuple)
    if get_origin(hint) is tuple:
        return row([form_of(h) for h in inside])
    hints = get_type_hints(hint)  # a NamedTuple
    return row([form_of(hints[name]) for name in hint._fields], lambda values: hint(*values))


def record(
    kind: type,
    keys: Mapping[str, str] | None = None,
    /,
    *,
    optional: tuple[str, ...] = (),
    make: Callable[..., Any] | None = None,
    **forms: Form,
) -> Form:
    """Return the form of a dataclass: an object with an entry for each field.

    Parameters
    ----------
    kind : type
        The dataclass.
    keys : mapping, optional
        The fields that are written, and what their entries are called; else all, by their own names.
    optional : tuple of str
        Fields without an entry where they are None; one that is not there has its default.
    make : callable, optional
        What makes the value of the fields read; else the dataclass.
    **forms : Form
        The forms of fields whose types do not tell.
    """
    hints = get_type_hints(kind)
    names = dict(keys) if keys is not None else {field.name: field.name for field in fields(kind)}
    known = {field: forms[field] if field in forms else form_of(hints[field]) for field in names}

    def write(value: Any) -> dict[str, Any]:
        found = {field: getattr(value, field) for field in names}
        kept = {f: v for f, v in found.items() if v is not None or f not in optional}
        return {names[field]: known[field].write(v) for field, v in kept.items()}

    def read(value: Any, name: str, parts: Parts) -> Any:
        reader = Reader(value, name, parts)
        there = {f: key for f, key in names.items() if key in reader or f not in optional}
        found = {field: reader.take(key, known[field]) for field, key in there.items()}
        reader.done()
        return (make or kind)(**found)

    return Form(write, read)


class Reader:
    """The entries of an object, taken one by one; :meth:`done` refuses those that nobody asked for.

    Parameters
    ----------
    value : dict
        The object.
    name : str
        How to call it in errors.
    parts : Parts, optional
        What its arrays may take.
    """

    def __init__(self, value: Any, name: str, parts: Parts | None = None) -> None:
        if type(value) is not dict:
            raise bad(name or "the model", "an object", value)
        self._left: dict[str, Any] = dict(value)
        self.name, self.parts = name, Parts() if parts is None else parts

    def called(self, key: str) -> str:
        """Return the name of an entry in errors."""
        return f"{self.name}.{key}" if self.name else key

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def take(self, key: str, form: Form = ANYTHING) -> Any:
        """Return an entry of this form."""
        if key not in self._left:
            raise InputError(f"{self.name or 'the model'} must have an entry {key!r}. Got none instead.")
        return form.read(self._left.pop(key), self.called(key), self.parts)

    def reader(self, key: str) -> Reader:
        """Return an entry that is an object."""
        return Reader(self.take(key), self.called(key), self.parts)

    def readers(self, key: str, length: int) -> Iterator[Reader]:
        """Yield the objects in a list of so many."""
        for k, value in enumerate(self.take(key, row([ANYTHING] * length))):
            yield Reader(value, f"{self.called(key)}[{k}]", self.parts)

    def rest(self) -> dict[str, Any]:
        """Return the entries not asked for yet, and count them as taken."""
        left, self._left = self._left, {}
        return left

    def done(self) -> None:
        """Refuse entries that were not asked for."""
        for key in self._left:
            raise InputError(
                f"{self.name or 'the model'} must not have an entry {key!r}. Got one instead."
            )
