"""``maxmargin predict``: a label for each row of a file."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np

from maxmargin.cli.inputs import check_target
from maxmargin.cli.model_inputs import read_for, read_model
from maxmargin.cli.options import Source
from maxmargin.cli.output import finite, share
from maxmargin.estimators.multiclass import chosen
from maxmargin.saving import write_atomically

AT_ONCE = 100_000  # lines


def run(path: str, file: Source, scores: bool, out: str | None, as_json: bool) -> int:
    """Print the labels; return 0."""
    check_target(out, "--out")
    model = read_model(path, file.path)
    table = read_for(model, file)
    values = model.decision_function(table.rows)
    labels = chosen(values, model.classes_)
    wrong = _errors(labels, table.y, model.classes_, asked=file.label is not None)
    content: dict[str, Any] = {"labels": labels.tolist()}
    if scores:
        content["scores"] = values.tolist()
    if wrong is not None:
        content |= {"errors": wrong, "error": wrong / len(labels)}
    if as_json:
        _put([json.dumps(finite(content), ensure_ascii=False)], out)
    else:
        _put(_lines(labels, values if scores else None), out)
    if wrong is not None:
        click.echo(f"Prediction error: {share(wrong, len(labels))}.", err=True)
    return 0


def _errors(labels: np.ndarray, y: np.ndarray, classes: Any, asked: bool) -> int | None:
    """How many labels are wrong; None if the file has none.

    Text formats have a label in every row, whatever it is: if none of them is a class of the model, they
    stand for labels that nobody knows, unless their column was ``asked`` for.
    """
    if not len(y):
        return None
    if (labels.dtype.kind in "SU") != (y.dtype.kind in "SU"):
        labels, y = labels.astype(str), y.astype(str)
        classes = None if classes is None else classes.astype(str)
    if not asked and classes is not None and not np.any(np.isin(y, classes)):
        return None
    return int(np.count_nonzero(labels != y))


def _lines(labels: np.ndarray, values: np.ndarray | None) -> list[str]:
    texts = list(map(str, labels.tolist()))
    if values is None:
        return texts
    columns = values.reshape(len(texts), -1).tolist()
    return ["\t".join((text, *map(repr, row))) for text, row in zip(texts, columns, strict=True)]


def _put(lines: list[str], out: str | None) -> None:
    if out is not None:
        write_atomically(out, ("\n".join(lines) + "\n").encode())
        return
    for start in range(0, len(lines), AT_ONCE):
        click.echo("\n".join(lines[start : start + AT_ONCE]))
