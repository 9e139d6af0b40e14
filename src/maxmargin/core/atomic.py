"""A file is replaced whole, or not at all: whatever happens in between, the old one stays."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from maxmargin.core.errors import InputError
from maxmargin.core.workplace import Workplace, sweep

__all__ = ["put_in_place", "replacing", "write_atomically"]


def write_atomically(
    path: str | os.PathLike[str], content: bytes, *, whole: str | os.PathLike[str] | None = None
) -> None:
    r"""Write a file in a folder beside it, bring it to the disk, then rename it.

    What processes left that were killed while they wrote this file is removed.

    Parameters
    ----------
    path : path
        The file; if it exists it is replaced, and keeps its permissions.
    content : bytes
        All of it.
    whole : path, optional
        The file of which this one is a part: errors then speak of that one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from maxmargin.saving import write_atomically
    >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> write_atomically(path, b"all of it\n")
    >>> path.read_bytes()
    b'all of it\n'
    """
    try:
        with replacing(path) as place, place.open("wb") as file:
            file.write(content)
    except (OSError, ValueError) as error:
        named = path if whole is None else whole
        there = isinstance(error, OSError) and Path(named).is_file()
        kept = "The file that was there is as it was" if there else "No file was made"
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"{named}: the file could not be written: {reason}. {kept}. "
            "Free some space, or choose another place."
        ) from error


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield where to make a file anew: in a folder beside it, from which it then takes its place.

    A link stays a link. A device or a pipe is written to as it is: there is nothing to replace.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        yield target
        return
    sweep(target.parent, target.name)
    work = Workplace(target)
    try:
        made = work.path / Path(path).name
        yield made
        put_in_place(made, target)
    finally:
        work.remove()


def put_in_place(made: Path, target: Path) -> None:
    """Bring a file to the disk, and rename it; one that it replaces leaves it its permissions."""
    with made.open("r+b") as file:
        os.fsync(file.fileno())
    if target.exists():
        shutil.copymode(target, made)
    os.replace(made, target)
    with contextlib.suppress(OSError):  # not every system lets a folder be synchronised
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
