"""Sealed texts: JSON objects with a checksum, written whole and read only if no byte has changed.

A sealed text has one entry per line; the last one is ``"checksum"``: SHA-256 of all that stands before.
Models, checkpoints of fits and those of streams are such files.
"""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

from maxmargin._version import __version__
from maxmargin.core.atomic_write import sweep, write_atomically
from maxmargin.core.errors import InputError

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
    target = Path(os.path.realpath(path))
    sweep(target.parent, target.name)
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
