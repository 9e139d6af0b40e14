"""Which columns were taken for what, and a warning where that looks like an oversight.

A column of row numbers is no feature, and a column with a class for every other row is no label: both
come about when the columns of a table are taken as they stand.
"""

from __future__ import annotations

import re
from typing import Any

import click
import numpy as np

from maxmargin.cli.inputs import Table
from maxmargin.cli.options import Source
from maxmargin.cli.output import SOME
from maxmargin.core.errors import InputError, count, some

__all__ = ["check_columns", "columns_used"]

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
