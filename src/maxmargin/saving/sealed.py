"""JSON text with a checksum, written so that no byte of it can change unnoticed.

One entry per line; the last one is ``"checksum"``: SHA-256 of all that stands before it.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any, NoReturn

from maxmargin.core.errors import InputError

__all__ = ["seal", "unseal"]

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
