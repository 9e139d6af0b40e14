"""Files that cannot be mapped are converted once, to a folder of rows beside them, and used again.

A conversion knows which file its source was (its place on the disk, its size and its times) and
what was read of it; if any of these has changed, or it is broken, it is made anew. It gets its
name when it is whole, so that processes that convert the same file at once do no harm: the last one
wins, and all are right. Each user has conversions of their own: what somebody else left is not believed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from maxmargin.core.atomic_write import sweep, temporary_folder
from maxmargin.core.errors import InputError
from maxmargin.files.reader import Reader, ReadOptions, check_length
from maxmargin.rows.on_disk import FileRows
from maxmargin.rows.store import read_store, write_store

LOOKS = 3  # at a conversion that was just made
FORMAT = 2  # to be raised when the same file and options are read in another way
CLOCK_TICK = 0.02  # seconds in which a file may change twice without a new time


def cached(reader: Reader, folder: Path | None) -> FileRows:
    """Open the conversion of a source, or convert it now."""
    path, options = reader.path, reader.options
    before = _identity(path)
    key = {"format": FORMAT, "source": before, "options": _plain(options)}
    home = path.absolute().parent if folder is None else folder
    target = home / _name(path, options, beside=folder is None)
    sweep(home, f"{_stem(path)}.")
    rows = _reuse(target, key)
    if rows is None and not _writable(target, make=folder is not None):
        target = _own_folder() / _name(path, options, beside=False)
        sweep(target.parent, f"{_stem(path)}.")
        rows = _reuse(target, key)
    if rows is not None:
        return rows
    time.sleep(max(0.0, min(CLOCK_TICK, before["time"] * 1e-9 + CLOCK_TICK - time.time())))
    convert(reader, target, {"key": key})
    if _identity(path) != before:
        shutil.rmtree(target, ignore_errors=True)
        raise InputError(
            f"{reader.shown}: changed while it was read. Wait until it is whole, and open it again."
        )
    for _ in range(LOOKS):  # another process may be putting the same rows there, at this moment
        rows = _reuse(target, key)
        if rows is not None:
            return rows
    return read_store(target, features=options.features)


def _identity(path: Path) -> dict[str, Any]:
    """What tells a file from any other, and from what it was before."""
    found = path.stat()
    return {
        "name": path.name,
        "place": [found.st_dev, found.st_ino],
        "size": found.st_size,
        "time": found.st_mtime_ns,
        "changed": found.st_ctime_ns,
    }


def convert(reader: Reader, target: Path, about: dict[str, Any]) -> None:
    """Write what a reader yields as a folder of rows."""
    with write_store(target, about) as writer:
        rows = 0
        for block in reader.read():
            writer.add(block)
            rows += block.shape[0]
        writer.about |= {**reader.about, "names": reader.names}
        labels = reader.labels.array()
        if labels is not None:
            check_length(labels, rows, reader.shown)
            writer.add_labels(labels)


def _reuse(target: Path, key: dict[str, Any]) -> FileRows | None:
    """The conversion, if it is there, ours, whole, and of this source."""
    try:
        owners = {place.stat().st_uid for place in (target, *target.iterdir())}
        if hasattr(os, "getuid") and owners != {_user()}:
            return None
        rows = read_store(target, features=key["options"]["features"])
    except (InputError, OSError, MemoryError):
        return None
    return rows if rows.about.get("key") == key else None


def _plain(options: ReadOptions) -> Any:
    return json.loads(json.dumps(asdict(options)))


def _name(path: Path, options: ReadOptions, beside: bool) -> str:
    """A name that tells the source and the user; away from it, its folder is part of the sum."""
    folder = "" if beside else str(path.absolute().parent)
    given = json.dumps([asdict(options), folder, _user()], sort_keys=True)
    return f"{_stem(path)}.{hashlib.sha256(given.encode()).hexdigest()[:12]}.rows"


def _stem(path: Path) -> str:
    """The name of the source, cut off where the names made from it would be too long."""
    return os.fsencode(path.name)[:150].decode("utf-8", "ignore")


def _writable(target: Path, make: bool) -> bool:
    """Whether a conversion can be made; the folder that was asked for is made, and must be usable."""
    if make:
        target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with temporary_folder(target):
            return True
    except OSError:
        if make:
            raise
        return False


def _user() -> int | str:
    return os.getuid() if hasattr(os, "getuid") else ""


def _own_folder() -> Path:
    """A folder for temporary files that nobody else can write to."""
    folder = Path(tempfile.gettempdir()) / f"maxmargin-{_user()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        mine = not hasattr(os, "getuid") or (found.st_uid == _user() and not found.st_mode & 0o022)
        if stat.S_ISDIR(found.st_mode) and mine:
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="maxmargin-"))
