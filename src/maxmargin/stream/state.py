"""The state of a stream as a file: the model, the counts, and how far the input has been read.

It is JSON with a checksum, replaced whole or not at all; arrays of many numbers are written in base64
(doubles and integers of 64 bits, the lowest byte first), so that one file holds everything.
"""

from __future__ import annotations

import base64
import os
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from maxmargin.checkpoints.files import read_sealed, write_sealed
from maxmargin.core.errors import InputError
from maxmargin.saving.arrays import Parts, pack
from maxmargin.saving.model import describe, restore
from maxmargin.saving.reading import Reader
from maxmargin.stream.tally import Tally

__all__ = ["StreamState", "read_state", "write_state"]

FORMAT, VERSION = "maxmargin-stream", 1
DTYPES = {"<f8": np.float64, "<i8": np.int64}


@dataclass
class StreamState:
    """All that a stream needs to go on as if it had never ended."""

    model: Any
    tally: Tally = field(default_factory=Tally)
    bits: int | None = None  # of hashed feature names
    read: int = 0  # bytes of the input learned from,
    checksum: int = 0  # and their checksum
    written: int | None = None  # bytes of the file of predictions


def write_state(state: StreamState, path: str | os.PathLike[str]) -> None:
    """Replace the file by the present state; if that fails, the old one is as it was."""
    model, arrays = pack(describe(state.model))
    parts = {
        name: {
            "dtype": a.dtype.str,
            "shape": list(a.shape),
            "data": base64.b64encode(np.ascontiguousarray(a).tobytes()).decode("ascii"),
        }
        for name, a in arrays.items()
    }
    content = {
        "counts": asdict(state.tally),
        "input": {"bytes": state.read, "checksum": state.checksum},
        "written": state.written,
        "bits": state.bits,
        "model": model,
        "parts": parts,
    }
    write_sealed(path, FORMAT, VERSION, content)


def read_state(path: str | os.PathLike[str]) -> StreamState | None:
    """Return the state in a file; None if there is no file, :class:`InputError` if it is not whole."""
    content = read_sealed(path, FORMAT, VERSION)
    if content is None:
        return None
    try:
        return _decode(Reader(content, ""))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _decode(reader: Reader) -> StreamState:
    counts, place = reader.reader("counts"), reader.reader("input")
    tally = Tally(**{name: counts.count(name) for name in asdict(Tally())})
    bits, written = reader.take("bits"), reader.take("written")
    for value in (bits, written):
        if value is not None and (type(value) is not int or value < 0):
            raise InputError(f"bits and written must be null or integers ≥ 0. Got {value!r} instead.")
    arrays = {name: _array(name, value) for name, value in dict(reader.take("parts")).items()}
    state = StreamState(
        model=restore(reader.take("model"), Parts(arrays)),
        tally=tally,
        bits=bits,
        read=place.count("bytes"),
        checksum=place.count("checksum"),
        written=written,
    )
    for part in (counts, place, reader):
        part.done()
    return state


def _array(name: str, value: Any) -> np.ndarray:
    reader = Reader(value, f"parts.{name}")
    dtype, shape = reader.text("dtype"), reader.items("shape")
    try:
        data = base64.b64decode(reader.text("data"), validate=True)
        return np.frombuffer(data, DTYPES[dtype]).reshape(shape).copy()
    except (ValueError, TypeError, KeyError):
        raise InputError(f"parts.{name} must hold an array in base64. Got something else.") from None
