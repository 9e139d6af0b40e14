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

from maxmargin.core.errors import InputError
from maxmargin.files.numpy_files import read_array
from maxmargin.saving.codec import TEXT, bad, checked, entries

NAME = re.compile(r"[^/\\\0]+\.[0-9a-f]{16}\.npz")
PART = entries({"file": checked(TEXT, NAME.fullmatch, "a file name ending in .npz"), "sha256": TEXT})


def with_arrays(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the entries of a file with the arrays of its part in their places, if it has a part."""
    if "part" not in content:
        return content
    arrays = _arrays(**PART.read(content["part"], "part"), beside=path)
    return {key: _filled(v, key, arrays) for key, v in content.items() if key != "part"}


def _filled(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return a value with its arrays; each of them is for one place."""
    if type(value) is list:
        return [_filled(v, name, arrays) if type(v) in (dict, list) else v for v in value]
    if type(value) is not dict:
        return value
    key = value.get("part")
    if type(key) is not str:
        return {entry: _filled(v, f"{name}.{entry}", arrays) for entry, v in value.items()}
    needed = [key, f"{key}.where"] if "sparse" in value else [key]
    if not arrays.keys() >= set(needed):
        raise bad(name, "in the part of the model", value)
    found = [arrays.pop(each) for each in needed]
    if len(found) == 1:
        return found[0]
    return {"shape": value["sparse"], "data": found[0], "where": found[1]}


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
