"""``maxmargin fit``: from a file to a model file, with the certificate and the error."""

from __future__ import annotations

import json
import time
import warnings
from typing import Any

import click
import numpy as np

from maxmargin.cli.inputs import Table, check_columns, check_target, columns_used, labels_of, open_table
from maxmargin.cli.model_inputs import read_validation
from maxmargin.cli.models import Wishes, estimator
from maxmargin.cli.options import Source
from maxmargin.cli.output import SOME, as_seconds, describe, finite, key, sentences, share, spoken
from maxmargin.cli.separable import verdict_content
from maxmargin.core.errors import BudgetWarning, NotSeparableError, count, some
from maxmargin.saving import save, to_liblinear, to_onnx
from maxmargin.saving.checkpoint import checkpoint
from maxmargin.saving.model_file import check_model_name


def run(file: Source, wishes: Wishes) -> int:
    """Fit and print; return 1 if the hard margin has no solution, else 0."""
    for option in ("out", "onnx", "liblinear"):
        check_target(getattr(wishes, option), f"--{option}")
    if wishes.out is not None:
        check_model_name(wishes.out)
    every = as_seconds(wishes.every)
    table = open_table(file)
    labels = labels_of(table.y, file.path)
    check_columns(table, file, labels)
    other = None
    if wishes.validate is not None:
        other = read_validation(wishes.validate, file, table, labels)
    began = time.perf_counter()
    try:
        model = estimator(wishes, table.y, file.path)
        fitting = model if wishes.checkpoint is None else checkpoint(model, wishes.checkpoint, every)
        model = _fit(fitting, table, other, hasattr(model, "stop"))
    except NotSeparableError as error:
        _say_not_separable(error, wishes)
        return 1
    seconds = time.perf_counter() - began
    if table.named:
        model.feature_names_in_ = np.array(table.names, dtype=object)
    model.encoding_ = table.remembered()
    _write(model, wishes)
    n, d = table.shape
    reach = table.rows.column_reach
    content: dict[str, Any] = {
        "model": wishes.model,
        "data": file.path,
        "rows": n,
        "features": d,
        "classes": labels,
        **describe(model, reach),
        "training_errors": _errors(model, table),
        "seconds": round(seconds, 3),
    }
    content["training_error"] = content["training_errors"] / n
    if other is not None:
        content["validation_errors"] = _errors(model, other)
        content["validation_error"] = content["validation_errors"] / other.shape[0]
    if wishes.as_json:
        click.echo(json.dumps(finite(content), indent=1, ensure_ascii=False))
        return 0
    shown = "standard input" if file.path == "-" else file.path
    classes = f"{len(labels):,} classes ({some(labels, SOME)})"
    click.echo(f"{shown}: {count(n, 'row', ',')}, {count(d, 'feature', ',')}, {classes}.")
    if columns_used(table):
        click.echo(columns_used(table))
    for sentence in sentences(model, reach):
        click.echo(sentence)
    click.echo(f"Training error: {share(content['training_errors'], n)}.")
    if other is not None:
        click.echo(f"Validation error: {share(content['validation_errors'], other.shape[0])}.")
    return 0


def _fit(model: Any, table: Table, other: Table | None, watches: bool) -> Any:
    X, y = table.X, table.y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)  # what is printed says it
        if other is not None and watches:  # perceptrons watch the validation error
            return model.fit(X, y, X_val=other.X, y_val=other.y)
        return model.fit(X, y)


def _errors(model: Any, table: Table) -> int:
    return int(np.count_nonzero(model.predict(table.rows) != table.y))


def _write(model: Any, wishes: Wishes) -> None:
    if wishes.out is not None:
        save(model, wishes.out)
    if wishes.onnx is not None:
        to_onnx(model, wishes.onnx)
    if wishes.liblinear is not None:
        classes = model.classes_.tolist()
        numbers = None
        if any(not isinstance(label, int) or isinstance(label, bool) for label in classes):
            numbers = list(range(len(classes)))
            pairs = ", ".join(f"{k} for {label}" for k, label in zip(numbers, classes, strict=True))
            click.echo(f"{wishes.liblinear}: labels of LIBLINEAR are integers: {pairs}.", err=True)
        to_liblinear(model, wishes.liblinear, numbers)


def _say_not_separable(error: NotSeparableError, wishes: Wishes) -> None:
    """The verdict, instead of a model."""
    verdicts = error.verdicts
    if wishes.as_json:
        found = {key(label): verdict_content(verdict) for label, verdict in verdicts.items()}
        content: dict[str, Any] = {"model": wishes.model, "separable": False}
        content["message"] = spoken(error.message)
        if len(found) == 1:
            content["verdict"] = next(iter(found.values()))
        else:
            content["verdicts"] = found
        click.echo(json.dumps(finite(content), indent=1, ensure_ascii=False))
        return
    if len(verdicts) > 1:
        click.echo(spoken(error.message))
    for verdict in verdicts.values():
        click.echo(str(verdict))
    if len(verdicts) == 1:  # the verdict says all that the error says, but what to do
        click.echo("Use --model soft-margin, which allows for slack.")
