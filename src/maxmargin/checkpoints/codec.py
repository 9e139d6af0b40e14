"""States of solvers as JSON: plain values are themselves, all others are objects with one tag.

Arrays are written in base64, the lowest byte first; nothing in a state is ever run.
"""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.history import Epoch, History
from maxmargin.core.rules import StopReason
from maxmargin.core.trace import Trace, Update
from maxmargin.saving.arrays import plain
from maxmargin.saving.reading import Reader
from maxmargin.saving.verdicts import decode_reason, encode_reason
from maxmargin.solvers.problem import Solution

__all__ = ["decode", "encode"]

DTYPES = ("<f8", "<i8", "|b1")


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
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
        return {"array": [value.dtype.str, list(value.shape), data]}
    if isinstance(value, StopReason):
        return {"reason": plain(encode_reason(value))}
    if isinstance(value, History):
        return {"history": [encode(list(epoch)) for epoch in value]}
    if isinstance(value, Trace):
        updates = [encode([u.step, u.row, u.margin, u.weights]) for u in value]
        return {"trace": [encode(value.start), updates]}
    if isinstance(value, Solution):
        return {"solution": {k: encode(v) for k, v in vars(value).items()}}
    raise TypeError(f"no state holds a {type(value).__name__}")


def decode(value: Any) -> Any:
    """Return what :func:`encode` wrote."""
    if type(value) is list:
        return [decode(v) for v in value]
    if type(value) is not dict:
        return value
    if len(value) != 1:
        raise InputError("a state must hold values with one tag. Got another instead.")
    ((tag, content),) = value.items()
    try:
        return _tagged(tag, content)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(f"a state must hold values with known tags. Got {tag!r}: {error}.") from None


def _tagged(tag: str, content: Any) -> Any:
    if tag == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if tag == "dict":
        return {k: decode(v) for k, v in content.items()}
    if tag == "bytes":
        return base64.b64decode(content, validate=True)
    if tag == "array":
        dtype, shape, data = content
        if dtype not in DTYPES:
            raise ValueError(f"arrays of type {dtype!r}")
        return np.frombuffer(base64.b64decode(data, validate=True), dtype).reshape(shape).copy()
    if tag == "reason":
        return decode_reason(Reader(content, "reason", {}))
    if tag == "history":
        return History([Epoch(*decode(epoch)) for epoch in content])
    if tag == "trace":
        start, updates = content
        return Trace(decode(start), [Update(*decode(update)) for update in updates])
    if tag == "solution":
        return Solution(**{k: decode(v) for k, v in content.items()})
    raise ValueError("it is none")
