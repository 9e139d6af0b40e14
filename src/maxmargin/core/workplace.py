"""Folders in which a file is made beside its place; those of processes that were killed are swept away.

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
from pathlib import Path

__all__ = ["Workplace", "sweep"]

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
