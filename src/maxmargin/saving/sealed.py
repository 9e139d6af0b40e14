"""Sealed texts: JSON objects with a checksum, written whole and read only if no byte has changed.

A sealed text has one entry per line; the last one is ``"checksum"``: SHA-256 of all that stands before.
Models, checkpoints of fits and those of streams are such files.

Arrays in them are nested lists. Large and sparse ones are bytes in base64, the lowest byte first:
``{"shape": [1, 110001], "data": "…"}``; of a sparse array ``data`` holds the numbers at the places
``where`` of the flattened array, and all others are 0.0 (−0.0 is kept). Sparse arrays of many numbers
come with some of their zeros, so that a file is never small beside what is made of it.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import reprlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from maxmargin._version import __version__
from maxmargin.core.atomic_write import write_atomically
from maxmargin.core.codec import Form, bad
from maxmargin.core.errors import InputError
from maxmargin.core.memory import GRANTED_BYTES, MAX_EXPANSION, NUMBER_BYTES, in_proportion

SEAL = re.compile(rb',\n "checksum": "([0-9a-f]{64})"\n}\n')
SEAL_LENGTH = len(b',\n "checksum": "' + b"0" * 64 + b'"\n}\n')


def seal(content: dict[str, Any]) -> bytes:
    """Return the text of an object, with its checksum.

    Examples
    --------
    >>> from maxmargin.saving import seal
    >>> print(seal({"answer": 42}).decode(), end="")
    {
     "answer": 42,
     "checksum": "6b76ff8b31dc9dc7807a1ca149367621f5243c11100f8b879b4f9f2c54647038"
    }
    """
    try:
        lines = [f" {json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in content.items()]
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the content must be plain JSON values: {error}.") from error
    body = ("{\n" + ",\n".join(lines)).encode("ascii")
    return body + b',\n "checksum": "%s"\n}\n' % sha256(body).hexdigest().encode("ascii")


def unseal(text: bytes, where: str, what: str = "model") -> dict[str, Any]:
    """Return the object in a sealed text; :class:`InputError` if anything in it has changed.

    Parameters
    ----------
    text : bytes
        The content of the file.
    where, what : str
        The file, and what it should be, for the errors.

    Examples
    --------
    >>> from maxmargin.saving import seal, unseal
    >>> unseal(seal({"answer": 42}), "answer.json")
    {'answer': 42}
    """
    if not text:
        raise InputError(f"{where}: a {what} file is not empty. This one is: save the {what} again.")
    end = SEAL.fullmatch(text[-SEAL_LENGTH:])
    if end is None:
        if not text.startswith(b"{"):
            raise InputError(
                f"{where}: must be a {what} file that maxmargin wrote, which is JSON. Got another kind "
                f"of file instead. Name the {what} file."
            )
        raise InputError(
            f"{where}: this is not a whole {what} file of maxmargin: its end is missing or changed. "
            f"Save the {what} again."
        )
    body = text[:-SEAL_LENGTH]
    if sha256(body).hexdigest().encode("ascii") != end[1]:
        raise InputError(
            f"{where}: the {what} file was changed after it was saved: its checksum does not match. "
            f"Take an unchanged copy, or save the {what} again."
        )
    try:
        found = json.loads(body + b"\n}", object_pairs_hook=_distinct, parse_constant=no_number)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: a {what} file must be JSON: {error}.") from None
    if type(found) is not dict:
        raise InputError(f"{where}: a {what} file must be a JSON object. Got something else instead.")
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)


def no_number(word: str) -> NoReturn:
    """Refuse the words for nan and infinity that Python's JSON would read."""
    raise ValueError(f"{word} is not a number")


def write_sealed(path: str | os.PathLike[str], kind: str, version: int, content: dict[str, Any]) -> None:
    """Replace a file; if that fails, the old one is as it was, and :class:`InputError` says so."""
    head = {"format": kind, "version": version, "library": __version__}
    write_atomically(path, seal({**head, **content}))


def read_sealed(path: str | os.PathLike[str], kind: str, version: int) -> dict[str, Any] | None:
    """Return the content of a file of this kind; None if there is no file."""
    try:
        text = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: the checkpoint cannot be read: {error.strerror or error}.") from error
    content = unseal(text, str(path), "checkpoint")
    found = content.pop("format", None), content.pop("version", None)
    content.pop("library", None)
    if found[0] != kind:
        raise InputError(f"{path}: must be a file of format {kind!r}. Got {found[0]!r} instead.")
    if type(found[1]) is not int or found[1] != version:
        old = type(found[1]) is int and found[1] < version
        raise InputError(
            f"{path}: maxmargin {__version__} reads format version {version}. Got {found[1]!r} instead. "
            f"{'Remove the file to begin anew.' if old else 'Update maxmargin.'}"
        )
    return content


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


def arrays(kind: type, *shape: int | None) -> Form:
    """Return the form of arrays of this kind and shape; None in the shape stands for any length."""
    return Form(
        lambda a: np.asarray(a, dtype=KINDS[kind]),
        lambda v, name: read_array(v, kind, shape, name),
    )
