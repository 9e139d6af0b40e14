"""A file is replaced whole, or not at all: whatever happens in between, the old one stays.

It is made in a temporary folder beside its place, brought to the disk, and renamed. The temporary folder
is named after the machine and the process: what a killed process left is removed by the next one.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from maxmargin.core.errors import InputError

MAX_STEM_BYTES = 200  # of a name that the folder is named after; a system may allow 255 in all


@contextlib.contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """Yield a folder beside ``target`` in which it can be made; it is removed at the end."""
    prefix = f".{_stem(target.name)}.{_machine()}-{os.getpid()}-"
    with tempfile.TemporaryDirectory("", prefix, target.parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def sweep(folder: Path, target: str) -> None:
    """Remove the temporary folders of processes that were killed while they made ``target…``."""
    ours = re.compile(rf"\.{re.escape(_stem(target))}.*\.{_machine()}-(\d+)-\w+")
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            found = ours.fullmatch(name)
            if found and not _runs(int(found[1])):
                shutil.rmtree(folder / name, ignore_errors=True)


def _runs(process: int) -> bool:
    """Whether a process of this machine is running; True in doubt."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True


def _stem(name: str) -> str:
    return os.fsencode(name)[:MAX_STEM_BYTES].decode("utf-8", "ignore")


def _machine() -> str:
    """The machine, and the container in it: what a number of a process is valid for."""
    place = "/proc/self/ns/pid"
    container = os.readlink(place) if os.path.islink(place) else ""
    return f"{zlib.crc32(f'{platform.node()} {container}'.encode()):08x}"


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    r"""Write a file beside its place, bring it to the disk, then rename it.

    Parameters
    ----------
    path : path
        The file; if it exists it is replaced, and keeps its permissions.
    content : bytes
        All of it.

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
        there = isinstance(error, OSError) and Path(path).is_file()
        kept = "The file that was there is as it was" if there else "No file was made"
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"{path}: the file could not be written: {reason}. {kept}. "
            "Free some space, or choose another place."
        ) from error


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield where to make a file anew; it takes its place at the end.

    A link stays a link. A device or a pipe is written to as it is: there is nothing to replace.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        yield target
        return
    sweep(target.parent, target.name)
    with temporary_folder(target) as folder:
        made = folder / Path(path).name
        yield made
        if target.exists():
            shutil.copymode(target, made)
        put_in_place(made, target)


def put_in_place(made: Path, target: Path, is_as_good: Callable[[], bool] = lambda: False) -> None:
    """Bring a file, or a folder of files, to the disk, and rename it.

    A folder that is there is replaced, unless it ``is_as_good``.
    """
    for part in made.iterdir() if made.is_dir() else (made,):
        with part.open("r+b") as file:
            os.fsync(file.fileno())
    while True:
        try:
            os.replace(made, target)
            break
        except OSError:
            if not made.is_dir() or not os.path.lexists(target):
                raise
        if is_as_good():
            return
        with contextlib.suppress(FileNotFoundError):  # a folder is not replaced: move it away first
            os.replace(target, Path(tempfile.mkdtemp(dir=made.parent)) / target.name)
    with contextlib.suppress(OSError):  # not every system lets a folder be synchronised
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
