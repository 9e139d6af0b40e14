"""``maxmargin report``: one self-contained page about a file and a model."""

from __future__ import annotations

import shlex
from typing import Any

import click
import numpy as np
from sklearn.model_selection import train_test_split

from maxmargin.cli.models import fitted
from maxmargin.cli.reading import read_data
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
        if other.X.shape[1] != X.shape[1]:
            raise InputError(
                f"{validate}: must have {X.shape[1]} features. Got {other.X.shape[1]} instead."
            )
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
        "--C": f"{C:g}" if model in ("soft-margin", "hard-margin") else None,
        "--validate": validate,
        "--share": None if validate is not None else f"{share:g}",
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
        title=f"{model} on {path}",
        recipe=shlex.join(command),
    )
    click.echo(str(target))
    return 0


def _split(X: Any, y: np.ndarray, share: float) -> Any:
    try:
        return train_test_split(X, y, test_size=share, stratify=y, random_state=0)
    except ValueError as error:
        raise InputError(
            f"the rows cannot be split for validation: {error} Name a file with --validate, or leave "
            "validation out with --share 0."
        ) from error
