"""``maxmargin report``: one self-contained page about a file and a model."""

from __future__ import annotations

import math
import shlex
from typing import Any

import click
import numpy as np
from sklearn.model_selection import train_test_split

from maxmargin.cli.models import fitted
from maxmargin.cli.reading import Data, read_data
from maxmargin.core.errors import InputError

__all__ = ["run"]


def run(
    path: str,
    label: str | None,
    columns: list[str],
    drop: list[str],
    model: str,
    C: float,
    intercept: bool,
    validate: str | None,
    share: float,
    out: str,
    header: bool | None = None,
) -> int:
    """Fit, judge and write the page; return 0."""
    from maxmargin.plots.report import write_report

    data = read_data(path, label, columns, drop, header)
    X, y, X_val, y_val = data.X, data.y, None, None
    whole = data.X, data.y
    if validate is not None:
        other = read_data(validate, label, columns, drop, header)
        _check_validation(validate, data, other)
        X_val, y_val = other.X, other.y
    elif share > 0:
        X, X_val, y, y_val = _split(X, y, share)
    estimator, notes = fitted(model, C, intercept, X, y)
    for note in notes:
        click.echo(note, err=True)
    command = ["maxmargin", "report", path, "--model", model, "--out", out]
    options = {
        "--label": label,
        "--columns": ",".join(columns) or None,
        "--drop": ",".join(drop) or None,
        "--C": _exactly(C) if model in ("soft-margin", "hard-margin") else None,
        "--validate": validate,
        "--share": None if validate is not None else _exactly(share),
    }
    command += [part for name, value in options.items() if value is not None for part in (name, value)]
    command += [] if intercept else ["--no-intercept"]
    command += [] if header is None else ["--header" if header else "--no-header"]
    target = write_report(
        out,
        estimator,
        X,
        y,
        X_val=X_val,
        y_val=y_val,
        whole=whole,
        names=data.names,
        title=f"{'soft-margin' if notes else model} on {path}",
        recipe=shlex.join(command),
        source=data.source,
        notes=notes,
    )
    click.echo(str(target))
    return 0


def _exactly(number: float) -> str:
    return repr(float(number)).removesuffix(".0")


def _split(X: Any, y: np.ndarray, share: float) -> Any:
    """Training rows, validation rows, and the labels of both, every class in its proportion."""
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
    parts = train_test_split(X, y, test_size=share, stratify=y, random_state=0)
    missing = np.setdiff1d(labels, parts[2]).tolist()
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


def _check_validation(path: str, data: Data, other: Data) -> None:
    """Refuse validation rows that the model cannot judge."""
    if other.X.shape[1] != data.X.shape[1]:
        raise InputError(
            f"{path}: must have {data.X.shape[1]} features, as the rows trained on. "
            f"Got {other.X.shape[1]} instead. Give it the same columns."
        )
    known = np.unique(data.y).tolist()
    strange = [label for label in np.unique(other.y).tolist() if label not in known]
    if strange:
        some = ", ".join(map(repr, known[:8])) + (", …" if len(known) > 8 else "")
        raise InputError(
            f"{path}: labels must be among those trained on, {some}. Got {strange[0]!r} instead. "
            "Leave these rows out, or train on some of them."
        )
