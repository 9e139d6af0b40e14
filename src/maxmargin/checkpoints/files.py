"""JSON files with a checksum and a format, replaced whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from maxmargin._version import __version__
from maxmargin.core.atomic import write_atomically
from maxmargin.core.errors import InputError
from maxmargin.core.workplace import sweep
from maxmargin.saving.sealed import seal, unseal

__all__ = ["read_sealed", "write_sealed"]


def write_sealed(path: str | os.PathLike[str], kind: str, version: int, content: dict[str, Any]) -> None:
    """Replace a file; if that fails, the old one is as it was, and :class:`InputError` says so."""
    head = {"format": kind, "version": version, "library": __version__}
    write_atomically(path, seal({**head, **content}))


def read_sealed(
    path: str | os.PathLike[str], kind: str, version: int, oldest: int = 1
) -> dict[str, Any] | None:
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
    if type(found[1]) is not int or not oldest <= found[1] <= version:
        known = f"{oldest} to {version}" if oldest < version else f"{version}"
        old = type(found[1]) is int and found[1] < oldest
        raise InputError(
            f"{path}: maxmargin {__version__} reads format version {known}. Got {found[1]!r} instead. "
            f"{'Remove the file to begin anew.' if old else 'Update maxmargin.'}"
        )
    return content
