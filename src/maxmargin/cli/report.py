"""``maxmargin report``: one self-contained page about a file and a model."""

from __future__ import annotations

import html
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import maxmargin as mm
from maxmargin import cli
from maxmargin.cli import options

if TYPE_CHECKING:
    import numpy as np

MAX_MACHINES = 20  # whose certificates are written out
ENCODED = "Columns of text are encoded, and the proofs are about the features made of them."
OTHER_SHARE = (
    "Use --share 0 to leave validation out, --validate FILE to name other rows, or another --share."
)


@click.command()
@options.data()
@options.model
@options.validate
@click.option(
    "--share",
    type=click.FloatRange(0, 0.9),
    default=0.2,
    show_default=True,
    help="Without --validate: the share of rows held out; 0 for none.",
)
@click.option(
    "--out", type=click.Path(), default="report.html", show_default=True, help="The page to write."
)
def report(
    file: options.Source,
    model: str,
    C: float,
    no_intercept: bool,
    validate: str | None,
    share: float,
    out: str,
) -> None:
    """Write a page: the data, the verdict, the model, its certificate and pictures.

    The page is one HTML file that asks for nothing from outside. Its path is printed.
    """
    options.check_model_options(model, options.DRAWN_MODELS_OF)
    from maxmargin.plots.report.writing import write_report

    cli.inputs.check_target(out, "--out")
    table, labels = cli.inputs.open_labelled(file)
    small = cli.drawing.is_drawable(table)
    table = cli.drawing.in_memory(table, "report") if small else table
    X, y, X_val, y_val = table.X, table.y, None, None
    if validate is not None:
        other = cli.inputs.open_validation(validate, file, table, labels)
        X_val, y_val = other.X, other.y
    elif share > 0:
        train, test = cli.inputs.hold_out(y, share, f"--share {share:g}", OTHER_SHARE)
        X, y, X_val, y_val = X[train], y[train], X[test], y[test]
    estimator, note = cli.drawing.fit_to_draw(model, C, not no_intercept, X, y)
    notes = [note] if note else []
    notes += [ENCODED] if table.encoding else []
    for text in notes:
        click.echo(text, err=True)
    page: dict[str, Any] = {
        "X_val": X_val,
        "y_val": y_val,
        "title": f"{'soft-margin' if note else model} on {file.path}",
        "recipe": _recipe(model),
        "notes": notes,
    }
    if small:
        page |= {"whole": (table.X, table.y), "names": table.names, "source": table.source}
        target = write_report(out, estimator, X, y, **page)
    else:
        target = _write_large_report(out, estimator, table._replace(X=X, y=y), table, **page)
    click.echo(str(target))


def _recipe(model: str) -> str:
    """Return the command that makes the page again."""
    context = click.get_current_context()
    words = ["maxmargin", "report"]
    unused = [option for option, models in options.DRAWN_MODELS_OF.items() if model not in models]
    unused += ["share"] if context.params["validate"] is not None else []
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif (
            value is None
            or parameter.name in unused
            or (value is False and not parameter.secondary_opts)
        ):
            continue
        elif isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
        elif isinstance(value, float):
            words += [parameter.opts[0], str(value).removesuffix(".0")]
        else:
            words += [parameter.opts[0], str(value)]
    return shlex.join(words)


def _write_large_report(
    path: str,
    model: Any,
    trained: cli.inputs.Table,
    whole: cli.inputs.Table,
    *,
    X_val: Any,
    y_val: np.ndarray | None,
    title: str,
    recipe: str,
    notes: Sequence[str],
) -> Path:
    """Write a page about a model of the rows ``trained``, which are some or all of ``whole``."""
    from maxmargin.estimators.separability import Options, decide
    from maxmargin.plots.report import page, writing
    from maxmargin.rows import Rows, as_rows

    verdict = decide(whole.X, whole.y, Options(model.fit_intercept), whole.names)
    drawn: Any = (verdict, None, None)
    if isinstance(verdict, mm.Verdict):
        rows = cli.drawing.draw(whole, *cli.drawing.verdict_rows(verdict, whole))
        drawn = cli.drawing.verdict_among(verdict, rows.rows), rows.X, rows.y
    sample = cli.drawing.draw(trained, wanted=cli.drawing.model_rows(model))
    click.echo(sample.note, err=True)
    X, y = (trained.X, trained.y) if y_val is None else (X_val, y_val)
    predicted = model.predict(X if isinstance(X, Rows) else as_rows(X))
    classes, proofs = model.classes_.tolist(), page.Proofs(whole.source)
    sections = [
        ("The data", writing.data_section(whole.y, whole.names, *_ranges(whole), len(trained.y))),
        ("Is it separable?", writing.verdict_section(verdict, proofs, drawn)),
        ("The model", _model(model, trained, sample, [*notes, sample.note])),
        ("How good is it?", writing.errors_section(predicted, y, classes, held_out=y_val is not None)),
    ]
    return writing.write_page(path, title, sections, recipe)


def _ranges(table: cli.inputs.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the least, mean and largest value of every feature, in one pass."""
    import numpy as np

    n, d = table.shape
    low, high, total = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d)
    block: Any
    for _, block in table.rows.blocks():
        X = block.matrix if block.is_sparse else block.arrays.X
        least, most = X.min(axis=0), X.max(axis=0)
        low = np.minimum(low, least.toarray().ravel() if block.is_sparse else least)
        high = np.maximum(high, most.toarray().ravel() if block.is_sparse else most)
        total += np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()
    return low, total / n, high


def _model(model: Any, trained: cli.inputs.Table, sample: cli.drawing.Sample, notes: list[str]) -> str:
    from maxmargin.plots.report import page, writing

    parts = [page.sentences("\n".join(notes)) + f"<pre>{html.escape(repr(model))}</pre>"]
    for label, machine in list(model.machines_.items())[:MAX_MACHINES]:
        alone = len(model.machines_) == 1
        text = writing.machine_text(machine)
        summary = f"<summary>{html.escape(str(label))}</summary>"
        parts.append(text if alone else f"<details>\n{summary}\n{text}\n</details>")
    return "\n".join([*parts, page.gallery(_pictures(model, trained, sample))])


def _pictures(model: Any, trained: cli.inputs.Table, sample: cli.drawing.Sample) -> list[str]:
    from maxmargin.plots.report import gallery, page

    data = cli.drawing.model_among(model, sample.rows), sample.X, sample.y
    seen, draw = (
        "The predicted classes, and a sample of its rows.",
        mm.plots.XSpaceDisplay.from_estimator,
    )
    shown = page.picture("The model", seen, draw, *data, names=trained.names)
    if len(model.machines_) > 1:
        return [shown]
    if hasattr(model, "certificate_"):
        return [shown, *gallery.certificate_pictures(*data)]
    return [shown, *gallery.learning_pictures(model, trained.X, trained.y)]
