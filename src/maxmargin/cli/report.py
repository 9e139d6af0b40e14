"""``maxmargin report``: one self-contained page about a file and a model."""

from __future__ import annotations

import math
import shlex
from typing import Any

import click
import numpy as np
from sklearn.model_selection import train_test_split

from maxmargin.cli.columns import check_columns
from maxmargin.cli.inputs import check_target, open_table
from maxmargin.cli.matching import read_validation
from maxmargin.cli.models import fit_by_name
from maxmargin.cli.needs import labels_of
from maxmargin.cli.options import MARGINS, Source
from maxmargin.cli.samples import in_memory, is_drawable
from maxmargin.core.errors import InputError

__all__ = ["run"]

ENCODED = "Columns of text are encoded, and the proofs are about the features made of them."


def run(
    file: Source, model: str, C: float, intercept: bool, validate: str | None, share: float, out: str
) -> int:
    """Fit, judge and write the page; return 0."""
    from maxmargin.plots.report.writing import write_report

    check_target(out, "--out")
    table = open_table(file)
    labels = labels_of(table.y, file.path)
    check_columns(table, file, labels)
    small = is_drawable(table)
    table = in_memory(table, "report") if small else table
    X, y, X_val, y_val = table.X, table.y, None, None
    if validate is not None:
        other = read_validation(validate, file, table, labels)
        X_val, y_val = other.X, other.y
    elif share > 0:
        train, test = _split(y, share)
        X, y, X_val, y_val = X[train], y[train], X[test], y[test]
    estimator, note = fit_by_name(model, C, intercept, X, y)
    shown = "soft-margin" if note else model
    notes = [note] if note else []
    notes += [ENCODED] if table.encoding else []
    for note in notes:
        click.echo(note, err=True)
    options: dict[str, Any] = {
        "X_val": X_val,
        "y_val": y_val,
        "title": f"{shown} on {file.path}",
        "recipe": _recipe(file, model, C, intercept, validate, share, out),
        "notes": notes,
    }
    if small:
        known: dict[str, Any] = {
            "whole": (table.X, table.y),
            "names": table.names,
            "source": table.source,
        }
        target = write_report(out, estimator, X, y, **known, **options)
    else:
        from maxmargin.cli.largepage import write_large_report

        target = write_large_report(out, estimator, table._replace(X=X, y=y), table, **options)
    click.echo(str(target))
    return 0


def _recipe(
    file: Source, model: str, C: float, intercept: bool, validate: str | None, share: float, out: str
) -> str:
    """The command that makes the page again."""
    command = ["maxmargin", "report", file.path, "--model", model, "--out", out]
    options = {
        "--label": file.label,
        "--columns": ",".join(file.columns) or None,
        "--drop": ",".join(file.drop) or None,
        "--cache-dir": file.cache_dir,
        "--first-index": None if file.first_index is None else str(file.first_index),
        "--C": _exactly(C) if model in MARGINS else None,
        "--validate": validate,
        "--share": None if validate is not None else _exactly(share),
    }
    command += [part for name, value in options.items() if value is not None for part in (name, value)]
    command += [] if intercept else ["--no-intercept"]
    command += ["--one-hot"] if file.one_hot else []
    command += [] if file.header is None else ["--header" if file.header else "--no-header"]
    return shlex.join(command)


def _exactly(number: float) -> str:
    return repr(float(number)).removesuffix(".0")


def _split(y: np.ndarray, share: float) -> Any:
    """Which rows to train on, and which to validate on, every class in its proportion."""
    labels, counts = np.unique(y, return_counts=True)
    held = math.ceil(share * len(y))
    fewest = int(np.argmin(counts))
    if counts[fewest] < 2:
        raise _cannot_split(
            "every class must have two rows, one to train on and one to validate",
            f"1 row of class {labels.tolist()[fewest]!r}",
        )
    if min(held, len(y) - held) < len(labels):
        raise _cannot_split(
            f"a row of each of the {len(labels)} classes must fit into both parts",
            f"{len(y) - held} rows to train on and {held} to validate (--share {share:g})",
        )
    parts = train_test_split(np.arange(len(y)), test_size=share, stratify=y, random_state=0)
    missing = np.setdiff1d(labels, y[parts[0]]).tolist()
    if missing:
        raise _cannot_split(
            "every class must have a row to train on",
            f"none of class {missing[0]!r} with --share {share:g}",
        )
    return parts


def _cannot_split(allowed: str, given: str) -> InputError:
    return InputError(
        f"to hold out rows for validation, {allowed}. Got {given} instead. Use --share 0 to leave "
        "validation out, --validate FILE to name other rows, or another --share."
    )
