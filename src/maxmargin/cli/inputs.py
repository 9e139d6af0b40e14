"""A file as a command sees it: in memory if it is small, else as rows that are read in blocks.

Columns are taken as they stand unless options say otherwise. That may be an oversight: a column of row
numbers is no feature, and a column with a class for every other row is no label. Both are warned of.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from maxmargin.cli.options import Source
from maxmargin.cli.output import SOME
from maxmargin.core.errors import InputError, count, some
from maxmargin.core.labels import find_classes
from maxmargin.files.open import open_rows, read_data
from maxmargin.rows import Rows, as_rows
from maxmargin.rows.free_memory import allowance

# How far the reading of a file is, on standard error, for people who look at a terminal.
#
# Readers know nothing of it: the operating system tells how far into the file they are.

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


LARGE = 1 << 28  # bytes of a file that is not loaded
SHARE = 8  # nor is one that takes more than one part in so many of the memory left
PACKED = {".gz": 4, ".parquet": 4, ".pq": 4, ".npz": 4}  # how much larger they are when unpacked
REMEMBERED = "label", "columns", "header", "first_index"  # what a later file must be read with


class Table(NamedTuple):
    """Rows, labels (none: an empty array) and names, and how they were read."""

    X: Any  # a matrix, or rows of a file
    y: np.ndarray
    names: list[str]
    named: bool  # whether the file names its features
    about: dict[str, Any]
    encoding: dict[str, list[str]]

    @property
    def rows(self) -> Rows:
        """To predict: no names are compared but those of files."""
        return self.X if isinstance(self.X, Rows) else as_rows(self.X)

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and features there are."""
        n, d = (self.X.n, self.X.d) if isinstance(self.X, Rows) else self.X.shape
        return int(n), int(d)

    @property
    def source(self) -> dict[str, Any]:
        """Where the file holds what, for a proof."""
        return {key: self.about[key] for key in REMEMBERED if self.about.get(key) is not None}

    def remembered(self) -> dict[str, Any]:
        """What a model keeps, so that other files are read alike; plain JSON values."""
        return {**self.source, **({"categories": self.encoding} if self.encoding else {})}


def open_table(
    file: Source,
    *,
    label: str | bool | None = None,
    encoding: Mapping[str, Sequence[str]] | None = None,
    first_index: int | None = None,
    features: int | None = None,
    kind: str | None = None,
) -> Table:
    """Read a file, or open it if it is large; ``label`` False means that it has none."""
    given: dict[str, Any] = {
        "label": file.label if label is None else label,
        "columns": list(file.columns),
        "drop": list(file.drop),
        "header": file.header,
        "one_hot": file.one_hot,
        "encoding": encoding,
        "first_index": first_index if file.first_index is None else file.first_index,
        "features": features,
        "kind": kind,
    }
    if _is_large(file):
        with reading(file.path):
            rows = open_rows(file.path, cache_dir=file.cache_dir, **given)
        about = dict(rows.about)
        first = about.get("first_index", 0)
        names = rows.names or about.get("columns") or [str(j + first) for j in range(rows.d)]
        y = np.empty(0) if rows.labels is None else np.asarray(rows.labels)
        return Table(rows, y, names, rows.names is not None, about, about.get("encoding") or {})
    with reading(file.path):
        data = read_data(file.path, **given)
    short = file.path.lower().removesuffix(".gz")
    columnar = short.endswith((".parquet", ".pq", ".arrow", ".feather", ".ipc"))
    named = bool(columnar or data.source.get("header") or data.encoding)
    return Table(data.X, data.y, data.names, named, data.source, data.encoding)


def _is_large(file: Source) -> bool:
    """Whether a file is not to be loaded: by its size, its kind, or because it was said."""
    if file.path == "-" or file.cache_dir is not None or file.path.lower().endswith(".rows"):
        return True
    try:
        size = os.stat(file.path).st_size
    except (OSError, ValueError):
        return False  # its reader says what is wrong
    left = allowance()
    limit = LARGE if left is None else min(LARGE, left // SHARE)
    return size * PACKED.get(Path(file.path).suffix.lower(), 1) > limit


def check_target(path: str | None, option: str) -> None:
    """Refuse a file that cannot be written before any work is done."""
    if path is None:
        return
    target = Path(path)
    if target.is_dir() or not target.absolute().parent.is_dir():
        reason = "it is a folder" if target.is_dir() else "there is no such folder"
        raise cannot_write(path, option, reason)


def cannot_write(path: str, option: str, reason: str) -> InputError:
    """The error of a file that cannot be written."""
    return InputError(f"{option} must name a file that can be written. Got {path!r}: {reason}.")


def check_labelled(y: np.ndarray, path: str) -> None:
    """Refuse a file without labels."""
    if not len(y):
        raise InputError(f"{path}: must hold labels. Got none. Name their column with --label.")


def labels_of(y: np.ndarray, path: str) -> list[Any]:
    """The labels, sorted: two or more."""
    check_labelled(y, path)
    try:
        labels: list[Any] = find_classes(y).tolist()
    except InputError:
        raise InputError(
            f"{path}: the labels must be of two or more classes. Got {y.tolist()[0]!r} alone instead. "
            "Name another column with --label, or another file."
        ) from None
    except ValueError:  # scikit-learn: measurements are no labels
        few = ", ".join(f"{value:g}" for value in np.unique(y)[:3].tolist())
        raise InputError(
            f"{path}: the labels must be classes: words or whole numbers. Got {few}, … instead. "
            "Name the column of the labels with --label."
        ) from None
    return labels


FEW = 10  # rows that may stand in the order of a feature by chance, and classes that may be rare
MANY = 5  # classes from which on they may be too many for the rows
WIDE = 1_000  # columns that are looked at
ID = re.compile(
    r"(|.*[^a-z0-9])(id|idx|index|ids|row|rownum|rownames|uid|uuid|unnamed: ?\d+|#)", re.IGNORECASE
)
LABELS = ("y", "label", "labels", "target", "class", "outcome")
CAMEL = re.compile(r".*[a-z](Id|ID|Index)")


def columns_used(table: Table) -> str:
    """A sentence with the first features and the label; empty if the file does not name columns."""
    label = table.about.get("label")
    if label is None and not table.named:
        return ""
    names = [name or "(no name)" for name in table.names]
    label = "" if label is None else f" Label: {label}."
    return f"{'Features' if table.named else 'Features, by column'}: {some(names, SOME)}.{label}"


def check_columns(table: Table, file: Source, labels: list[Any]) -> None:
    """Warn of features that look like row numbers; refuse, or warn of, labels that look like them."""
    _check_label(table, file, labels)
    _look_for_label(table, file)
    for name, drop, why in _suspects(table):
        shown = f"column {name}" if name else "the column without a name"
        click.echo(
            f"Warning: {file.path}: {shown} {why}, and is used as a feature. If it only numbers the "
            f"rows, leave it out: --drop {_quoted(drop)}.",
            err=True,
        )


def _check_label(table: Table, file: Source, labels: list[Any]) -> None:
    n, label = len(table.y), table.about.get("label")
    if len(labels) < MANY or 2 * len(labels) <= n:
        return
    last = "" if file.label is not None else ", the last one"
    where = "" if label is None else f" in column {label}{last}"
    got = f"{len(labels):,} classes among {count(n, 'row', ',')}{where}"
    do = "" if label is None else " Name the column of the labels with --label."
    if len(labels) > FEW and label is not None and file.label is None:
        others = some(table.names, SOME)
        raise InputError(
            f"{file.path}: the labels must be classes of several rows each. Got {got} instead.{do} "
            f"The others are {others}."
        )
    click.echo(f"Warning: {file.path}: {got}: most classes have a single row.{do}", err=True)


def _look_for_label(table: Table, file: Source) -> None:
    """The last column was taken for the label; another one may be called so."""
    found = [name for name in table.names if name.lower() in LABELS]
    label = table.about.get("label")
    if table.named and found and label is not None and file.label is None and not file.columns:
        if label.lower() in LABELS:
            return
        click.echo(
            f"Warning: {file.path}: column {found[0]} is used as a feature, and {label}, the last one, "
            f"as the label. If {found[0]} holds the labels, say so: --label {_quoted(found[0])}.",
            err=True,
        )


def _suspects(table: Table) -> list[tuple[str, str, str]]:
    """Features that number the rows: the name, how --drop calls it, and what it looks like."""
    n = len(table.y)
    found = [
        (name, name, f"has {len(kinds):,} different texts in {count(n, 'row', ',')}")
        for name, kinds in table.encoding.items()
        if len(kinds) > FEW and 2 * len(kinds) > n
    ]
    columns = table.about.get("columns")
    if not columns or len(table.names) > WIDE or table.rows.is_sparse:
        return found
    first: Any = next(iter(table.rows.blocks()))[1].arrays  # of a large file the first rows
    X = np.asarray(first.X)
    whole = (np.floor(X) == X) & (np.abs(X) < 2**53)
    for j in np.flatnonzero(whole.all(axis=0)).tolist():
        name = table.names[j]
        if table.encoding and (name not in columns or name in table.encoding):
            continue
        why = _numbering(X[:, j], name)
        if why:
            found.append((name, name if table.encoding else columns[j], why))
    return found


def _numbering(column: np.ndarray, name: str) -> str:
    """What makes a column of whole numbers look like numbers of rows; empty if nothing does."""
    steps = np.diff(column)
    if len(column) >= FEW and (np.all(steps == 1) or np.all(steps == -1)):
        return "counts the rows"
    if len(column) >= FEW and (np.all(steps > 0) or np.all(steps < 0)):
        return "holds whole numbers in order, all different"
    if _is_id(name) and len(np.unique(column)) == len(column) > 2:
        return "holds a different whole number in every row"
    return ""


def _is_id(name: str) -> bool:
    return not name or bool(ID.fullmatch(name) or CAMEL.fullmatch(name))


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else f'"{name}"'
