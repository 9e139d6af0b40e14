"""Model files of version 1: their large arrays lay in a second file beside them; both still load.

Where an array belongs, the text says ``{"part": "a0"}``, or ``{"part": "a0", "sparse": [1, 200001]}``
with the places of the numbers in ``a0.where``.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.core.codec import TEXT, bad, entries
from maxmargin.core.errors import InputError
from maxmargin.files.numpy_files import read_array

NAME = re.compile(r"[^/\\\0]+\.[0-9a-f]{16}\.npz")
PART = entries({"file": TEXT.checked(NAME.fullmatch, "a file name ending in .npz"), "sha256": TEXT})


def put_arrays(content: dict[str, Any], path: Path) -> None:
    """Put the arrays of a part, if the file has one, into the places that they belong to."""
    if "part" not in content:
        return
    arrays = _arrays(**PART.read(content.pop("part"), "part"), beside=path)
    left: list[tuple[str, Any]] = [("", content)]
    while left:
        name, inside = left.pop()
        for key, value in list(inside.items() if type(inside) is dict else enumerate(inside)):
            called = f"{name}.{key}".lstrip(".")
            if type(value) is dict and type(value.get("part")) is str:
                inside[key] = _taken(value, arrays, called)
            elif type(value) in (dict, list):
                left.append((called, value))


def _taken(value: dict[str, Any], arrays: dict[str, np.ndarray], name: str) -> Any:
    """Return the array, or the sparse one, that a value names; each array is for one place."""
    key = value["part"]
    needed = [key, f"{key}.where"] if "sparse" in value else [key]
    if not arrays.keys() >= set(needed):
        raise bad(name, "in the part of the model", value)
    data, *where = [arrays.pop(each) for each in needed]
    return {"shape": value["sparse"], "data": data, "where": where[0]} if where else data


def _arrays(file: str, sha256: str, beside: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a part, by name, if it is unchanged."""
    try:
        data = beside.with_name(file).read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"the part {file!r} of this model must lie beside it. Got no such file instead. "
            "Copy both files together."
        ) from None
    except OSError as error:
        raise InputError(f"its part {file!r} cannot be read: {error.strerror or error}.") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise InputError(
            f"its part {file!r} was changed after it was saved: the checksum does not match. "
            "Take an unchanged copy, or save the model again."
        )
    try:
        return _stored_arrays(data)
    except (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
        raise InputError(f"its part {file!r} must hold arrays: {error}.") from None


def _stored_arrays(data: bytes) -> dict[str, np.ndarray]:
    """Return arrays that were stored without compression: they are no larger than the file."""
    found: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if sum(info.file_size for info in members) > len(data):
            raise ValueError("its arrays lie on top of each other")
        for info in members:
            if info.compress_type != zipfile.ZIP_STORED or not info.filename.endswith(".npy"):
                raise ValueError("it holds something else than stored arrays")
            with archive.open(info) as file:
                array = read_array(file, info.file_size, info.filename)
            found[info.filename.removesuffix(".npy")] = np.array(array, order="C")
    return found
