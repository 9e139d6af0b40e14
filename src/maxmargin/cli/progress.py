"""How far the reading of a file is, on standard error, for people who look at a terminal.

Readers know nothing of it: the operating system tells how far into the file they are.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["bytes_read", "reading"]

PATIENCE = 0.5  # seconds before anything is shown
OFTEN = 0.1  # seconds from one look to the next
OPEN = Path("/proc/self/fd")


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Show a bar while a file is read: bytes read of its bytes; nothing unless there is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(path, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(path: str, done: threading.Event) -> None:
    if done.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    known = os.path.isfile(path)
    name = "standard input" if path == "-" else os.path.basename(path)
    columns = [TextColumn("reading {task.fields[name]}"), BarColumn(), DownloadColumn()]
    with Progress(
        *columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as progress:
        task = progress.add_task("", name=name, total=os.path.getsize(path) if known else None)
        while not done.wait(OFTEN):
            progress.update(task, completed=bytes_read(path) if known else 0)


def bytes_read(path: str) -> int:
    """How far into a file this process has read; 0 if it is not open, or nobody can tell."""
    found = 0
    try:
        wanted = os.stat(path)
        for entry in OPEN.iterdir():
            try:
                if os.path.samestat(entry.stat(), wanted):
                    text = (OPEN.parent / "fdinfo" / entry.name).read_text()
                    found = max(found, int(text.split()[1]))
            except (OSError, ValueError, IndexError):
                continue
    except OSError:
        return 0
    return found
