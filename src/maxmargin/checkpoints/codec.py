"""States of solvers as JSON: plain values are themselves, all others are objects with one tag.

Arrays are written in base64, the lowest byte first, and packed if that makes them much shorter (most
multipliers are at a bound), but never so much that a small file unpacks to a large state; nothing in a
state is ever run.
"""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np

from maxmargin.core.history import Epoch, History
from maxmargin.core.proportion import MAX_EXPANSION
from maxmargin.core.rules import StopReason
from maxmargin.core.state_forms import StateError, count, each, listed, number, numbers, whole
from maxmargin.core.trace import Trace, Update
from maxmargin.saving.arrays import plain
from maxmargin.saving.reading import Reader
from maxmargin.saving.verdicts import decode_reason, encode_reason
from maxmargin.solvers.margin.passes import MarginPoint
from maxmargin.solvers.margin.reduced import Iterate
from maxmargin.solvers.margin.tasks import Solved
from maxmargin.solvers.problem import Solution

__all__ = ["decode", "encode"]

SAMPLE = 1 << 16  # bytes that show whether packing pays
SHORT_BYTES = 4_096  # bytes of an array that may be packed to any length
DTYPES = ("<f8", "<i8", "|b1")
RECORDS = {"solution": Solution, "point": MarginPoint, "iterate": Iterate, "solved": Solved}
TAGS = {record: tag for tag, record in RECORDS.items()}


def encode(value: Any) -> Any:
    """Return a value as plain JSON."""
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        number = float(value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return [encode(v) for v in value]
    if type(value) is dict:
        return {"dict": {k: encode(v) for k, v in value.items()}}
    if type(value) is bytes:
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, np.ndarray):
        raw = np.ascontiguousarray(value).tobytes()
        packed = 2 * len(zlib.compress(raw[:SAMPLE], 1)) < len(raw[:SAMPLE])
        data = base64.b64encode(_pack(raw) if packed else raw).decode("ascii")
        return {"packed" if packed else "array": [value.dtype.str, list(value.shape), data]}
    if isinstance(value, StopReason):
        return {"reason": plain(encode_reason(value))}
    if isinstance(value, History):
        return {"history": [encode(list(epoch)) for epoch in value]}
    if isinstance(value, Trace):
        updates = [encode([u.step, u.row, u.margin, u.weights]) for u in value]
        return {"trace": [encode(value.start), updates]}
    if type(value) in TAGS:
        return {TAGS[type(value)]: {k: encode(v) for k, v in vars(value).items()}}
    raise TypeError(f"no state holds a {type(value).__name__}")


def decode(value: Any) -> Any:
    """Return what :func:`encode` wrote; :class:`StateError` if it wrote no such thing."""
    if type(value) is list:
        return [decode(v) for v in value]
    if type(value) is not dict:
        return value
    if len(value) != 1:
        raise StateError("a state must hold values with one tag. Got another instead.")
    ((tag, content),) = value.items()
    try:
        return _tagged(tag, content)
    except StateError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError, zlib.error) as error:
        raise StateError(f"a state must hold values with known tags. Got {tag!r}: {error}.") from None


def _tagged(tag: str, content: Any) -> Any:
    if tag == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if tag == "dict":
        return {k: decode(v) for k, v in content.items()}
    if tag == "bytes":
        return base64.b64decode(content, validate=True)
    if tag in ("array", "packed"):
        dtype, shape, data = content
        if dtype not in DTYPES:
            raise ValueError(f"arrays of type {dtype!r}")
        raw = base64.b64decode(data, validate=True)
        raw = _unpack(raw) if tag == "packed" else raw
        return np.frombuffer(raw, dtype).reshape([int(n) for n in shape]).copy()
    if tag == "reason":
        return decode_reason(Reader(content, "reason"))
    if tag == "history":
        lines = [decode(epoch) for epoch in content]
        each(listed(count, count, *[number] * (len(Epoch._fields) - 2)))(lines, "history")
        return History([Epoch(*line) for line in lines])
    if tag == "trace":
        start, updates = decode(content[0]), [decode(update) for update in content[1]]
        numbers(None)(start, "trace")
        update = listed(count, whole(-1, 2**63 - 1), number, numbers(len(start)))
        each(update)(updates, "trace")
        return Trace(start, [Update(*update) for update in updates])
    if tag in RECORDS:
        return RECORDS[tag](**{k: decode(v) for k, v in content.items()})
    raise ValueError("it is none")


def _pack(raw: bytes) -> bytes:
    """Pack bytes, at most so well that :func:`_unpack` takes them: then each byte keeps a bit."""
    packed = zlib.compress(raw, 1)
    if len(raw) > max(SHORT_BYTES, MAX_EXPANSION * len(packed)):
        only_codes = zlib.compressobj(1, strategy=zlib.Z_HUFFMAN_ONLY)
        packed = only_codes.compress(raw) + only_codes.flush()
    return packed


def _unpack(packed: bytes) -> bytes:
    """Unpack bytes that are in proportion to what is there."""
    most, unpacking = max(SHORT_BYTES, MAX_EXPANSION * len(packed)), zlib.decompressobj()
    raw = unpacking.decompress(packed, most + 1)
    if len(raw) > most or not unpacking.eof or unpacking.unused_data:
        raise ValueError("an array that is cut off, or packed out of proportion")
    return raw
