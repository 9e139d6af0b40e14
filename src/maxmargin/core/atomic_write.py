"""A file is replaced whole, or not at all: whatever happens in between, the old one stays.

Folders in which a file is made beside its place; those of processes that were killed are swept away.

The process that makes a folder holds a lock on a file in it. The system releases the lock when the
process ends, however it ends: a folder whose lock can be had belongs to nobody. Folders are named after
the machine as well, and only those of this machine are swept: on some network folders, others do not see
the lock.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from maxmargin.core.errors import InputError

LOCK = "lock"
LONGEST = 200  # bytes of a name that the folder is named after; a system may allow 255 in all


class Workplace:
    """A folder of this process, beside the file ``target`` that is made in it."""

    def __init__(self, target: Path) -> None:
        while True:
            self.path = Path(
                tempfile.mkdtemp(prefix=f".{_short(target.name)}.{_machine()}.", dir=target.parent)
            )
            with contextlib.suppress(FileNotFoundError):  # swept just before it was locked
                self._lock = os.open(self.path / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
                if _locked(self._lock) and (self.path / LOCK).exists():
                    return
                os.close(self._lock)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def sweep(folder: Path, name: str) -> None:
    """Remove what killed processes left in a folder while they made a file ``name…``."""
    ours = re.compile(rf"\.{re.escape(_short(name))}.*\.{_machine()}\.\w+")
    with contextlib.suppress(OSError):
        for left in [entry.path for entry in os.scandir(folder) if ours.fullmatch(entry.name)]:
            _sweep(Path(left))


def _sweep(folder: Path) -> None:
    """Remove one folder if nobody holds its lock."""
    with contextlib.suppress(OSError):
        folder.rmdir()  # killed before there was a lock
        return
    with contextlib.suppress(OSError):
        lock = os.open(folder / LOCK, os.O_RDWR)
        try:
            if _locked(lock, otherwise=False):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _locked(lock: int, otherwise: bool = True) -> bool:
    """Take a lock if nobody has it; where there are no locks, say ``otherwise``."""
    if sys.platform == "win32":
        return otherwise
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return otherwise and error.errno not in (errno.EAGAIN, errno.EACCES)
    return True


def _short(name: str) -> str:
    return os.fsencode(name)[:LONGEST].decode("utf-8", "ignore")


def _machine() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


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
