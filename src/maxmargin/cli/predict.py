"""``maxmargin predict``: a label for each row of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from maxmargin import cli
from maxmargin.cli import options

if TYPE_CHECKING:
    import numpy as np

LINES_AT_ONCE = 100_000


@click.command()
@click.argument("model", type=click.Path())
@options.data(one_hot=False)
@click.option("--scores", is_flag=True, help="Also the decision values f(x), after a tab.")
@click.option("--out", type=click.Path(), help="Write to this file. [default: standard output]")
@options.as_json
def predict(model: str, file: options.Source, scores: bool, out: str | None, as_json: bool) -> None:
    """Predict a label for each row of DATA, one per line.

    MODEL is a file of fit --out (or of LIBLINEAR, LIBSVM, or a table of weights). Columns are found by
    their names, and encoded as they were in training. If DATA has the label column of the training data,
    or --label names it, the error is printed on standard error.
    """
    from maxmargin.estimators.base import chosen
    from maxmargin.saving import write_atomically

    cli.inputs.check_target(out, "--out")
    fitted = cli.inputs.read_model(model, file.path)
    table = cli.inputs.open_for_model(fitted, file)
    values = fitted.decision_function(table.rows)
    labels = chosen(values, fitted.classes_)
    errors = _errors(labels, table.y, fitted.classes_, label_named=file.label is not None)
    if as_json:
        content: dict[str, Any] = {"labels": labels.tolist()}
        content |= {"scores": values.tolist()} if scores else {}
        content |= {} if errors is None else {"errors": errors, "error": errors / len(labels)}
        lines: Sequence[str] = [cli.output.as_json(content, indent=None)]
    else:
        lines = _lines(labels, values if scores else None)
    if out is not None:
        write_atomically(out, ("\n".join(lines) + "\n").encode())
    else:
        for start in range(0, len(lines), LINES_AT_ONCE):
            click.echo("\n".join(lines[start : start + LINES_AT_ONCE]))
    if errors is not None:
        click.echo(f"Prediction error: {cli.output.share(errors, len(labels))}.", err=True)


def _errors(labels: np.ndarray, y: np.ndarray, classes: Any, label_named: bool) -> int | None:
    """Return how many labels are wrong; None if the file has none.

    Text formats have a label in every row, whatever it is: if none of them is a class of the model, they
    stand for labels that nobody knows, unless an option named their column.
    """
    import numpy as np

    if not len(y):
        return None
    if (labels.dtype.kind in "SU") != (y.dtype.kind in "SU"):
        labels, y = labels.astype(str), y.astype(str)
        classes = None if classes is None else classes.astype(str)
    if not label_named and classes is not None and not np.any(np.isin(y, classes)):
        return None
    return int(np.count_nonzero(labels != y))


def _lines(labels: np.ndarray, values: np.ndarray | None) -> list[str]:
    texts = [str(label) for label in labels.tolist()]
    if values is None:
        return texts
    columns = values.reshape(len(texts), -1).tolist()
    return ["\t".join([text, *map(repr, row)]) for text, row in zip(texts, columns, strict=True)]
