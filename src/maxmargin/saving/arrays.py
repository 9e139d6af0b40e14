"""Arrays of numbers in a model: written as lists, or in an ``.npz`` part where they are large or sparse.

In the JSON text a part is named by ``{"part": "a3"}``; of a sparse array the part holds the entries that
are not zero, and ``{"part": "a3", "sparse": [1, 200001]}`` gives the shape. A zero is 0.0: −0.0 is kept.
Sparse arrays of many numbers come with some of their zeros, so that a part is never small beside what is
made of it.

JSON text with a checksum, written so that no byte of it can change unnoticed.

One entry per line; the last one is ``"checksum"``: SHA-256 of all that stands before it.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NoReturn

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.size_limits import GRANTED_BYTES, MAX_EXPANSION, NUMBER_BYTES, in_proportion

LARGE = 100_000  # numbers up to which a model is one file
SPARSE, SHARE = 10_000, 4  # larger arrays with fewer nonzeros than one in so many also go to the part
SMALL = 1_000  # arrays that stay in the text in any case
PLACE_BYTES = 8  # bytes of the place of a number in a sparse array
# Of so many numbers of large sparse arrays one is written, zero or not.
NUMBERS_PER_PLACE = MAX_EXPANSION * (NUMBER_BYTES + PLACE_BYTES) // NUMBER_BYTES

KINDS = {float: np.dtype(np.float64), int: np.dtype(np.int64), bool: np.dtype(np.bool_)}
WORDS = {float: "numbers", int: "integers", bool: "true or false"}


class Parts:
    """Arrays that lie in a file of their own. Each is there for one entry, and is taken once.

    Parameters
    ----------
    arrays : mapping
        The arrays by name. Together they allow for as many zeros as are in proportion to their size.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray] | None = None) -> None:
        self._arrays = dict(arrays or {})
        self._held, self._asked = sum(a.nbytes for a in self._arrays.values()), 0

    def take(self, name: Any) -> np.ndarray | None:
        """An array that nobody has taken yet."""
        return self._arrays.pop(name, None) if type(name) is str else None

    def allow(self, size: int) -> bool:
        """Whether so many numbers more may be made of these arrays."""
        self._asked += NUMBER_BYTES * size
        return in_proportion(self._asked, self._held)


def plain(tree: Any) -> Any:
    """Return a tree of plain values with every array as (nested) lists."""
    if isinstance(tree, np.ndarray):
        return tree.tolist()
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [plain(value) for value in tree]
    return tree


def pack(tree: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """Return the tree as plain values, and the arrays for the part, if there should be one."""
    arrays = list(_arrays(tree))
    large = sum(a.size for a in arrays) > LARGE
    if not large and not any(_is_sparse(a) for a in arrays):
        return plain(tree), {}
    parts: dict[str, np.ndarray] = {}
    many = NUMBER_BYTES * sum(a.size for a in arrays if _is_sparse(a)) > GRANTED_BYTES

    def packed(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.size > SMALL and (large or _is_sparse(value)):
            return _put(value, parts, NUMBERS_PER_PLACE if many else None)
        if isinstance(value, dict):
            return {key: packed(v) for key, v in value.items()}
        if isinstance(value, list):
            return [packed(v) for v in value]
        return plain(value)

    return packed(tree), parts


def _arrays(tree: Any) -> Any:
    if isinstance(tree, np.ndarray):
        yield tree
    elif isinstance(tree, dict | list):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from _arrays(value)


def _is_sparse(a: np.ndarray) -> bool:
    if a.size <= SPARSE or a.dtype != np.float64:
        return False
    return bool(SHARE * np.count_nonzero(_bits(a)) < a.size)


def _bits(a: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(a).view(np.int64)  # −0.0 is not zero here


def _put(a: np.ndarray, parts: dict[str, np.ndarray], every: int | None) -> dict[str, Any]:
    name = f"a{len(parts)}"
    if not _is_sparse(a):
        parts[name] = np.ascontiguousarray(a)
        return {"part": name}
    where = np.flatnonzero(_bits(a))
    if every is not None:
        where = np.union1d(where, np.arange(0, a.size, every))
    parts[name] = a.ravel()[where]
    parts[f"{name}.where"] = where.astype(np.int64)
    return {"part": name, "sparse": list(a.shape)}


def read_array(
    value: Any, kind: type, shape: tuple[int | None, ...], name: str, parts: Parts
) -> np.ndarray:
    """Return an array that was written as lists or put into a part; everything about it is checked."""
    array = _from_part(value, kind, name, parts) if type(value) is dict else _from_lists(value, kind)
    if value == [] and shape[0] in (0, None):
        array = np.empty([n or 0 for n in shape], dtype=KINDS[kind])  # lists do not tell its width
    wanted = " × ".join("any" if n is None else str(n) for n in shape)
    fits = array is not None and array.ndim == len(shape)
    if (
        array is None
        or not fits
        or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True))
    ):
        given = reprlib.repr(value) if array is None else " × ".join(map(str, array.shape))
        raise InputError(f"{name} must hold {wanted} {WORDS[kind]}. Got {given} instead.")
    if kind is float and not np.all(np.isfinite(array)):
        raise InputError(f"{name} must hold finite numbers. Got nan or infinity instead.")
    return array


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


def _from_part(value: dict[str, Any], kind: type, name: str, parts: Parts) -> np.ndarray:
    key, shape = value.get("part"), value.get("sparse")
    array = parts.take(key)
    if array is None or array.dtype != KINDS[kind] or not value.keys() <= {"part", "sparse"}:
        raise InputError(f"{name} must be in the part of the model. Got {reprlib.repr(value)} instead.")
    if "sparse" not in value:
        return array
    where = parts.take(f"{key}.where")
    shape = shape if isinstance(shape, list) else [-1]
    size = math.prod(shape) if all(type(n) is int and n >= 0 for n in shape) else -1
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
    if not np.all(np.isfinite(array)):
        raise InputError(f"{name} must hold finite numbers. Got nan or infinity instead.")
    full = np.zeros(size, dtype=array.dtype)
    full[where] = array
    return full.reshape(tuple(shape))


END = re.compile(rb',\n "checksum": "([0-9a-f]{64})"\n}\n')
LENGTH = len(b',\n "checksum": "' + b"0" * 64 + b'"\n}\n')


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
    end = END.fullmatch(text[-LENGTH:])
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
    body = text[:-LENGTH]
    if sha256(body).hexdigest().encode("ascii") != end[1]:
        raise InputError(
            f"{where}: the {what} file was changed after it was saved: its checksum does not match. "
            f"Take an unchanged copy, or save the {what} again."
        )
    try:
        found = json.loads(body + b"\n}", object_pairs_hook=_distinct, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: a {what} file must be JSON: {error}.") from None
    if type(found) is not dict:
        raise InputError(f"{where}: a {what} file must be a JSON object. Got something else instead.")
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")
