"""``maxmargin report``: one self-contained page about a file and a model."""

from __future__ import annotations

import shlex

import click

from maxmargin import cli
from maxmargin.cli import options
from maxmargin.cli.fit import fit_to_draw

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
    from maxmargin.plots.report.page import Report
    from maxmargin.plots.sample import load_drawable

    cli.inputs.check_target(out, "--out")
    table, labels = cli.inputs.open_labelled(file)
    whole = load_drawable(table.X)
    X, y, X_val, y_val = whole, table.y, None, None
    if validate is not None:
        other = cli.inputs.open_validation(validate, file, table, labels)
        X_val, y_val = other.X, other.y
    elif share > 0:
        train, test = cli.inputs.hold_out(y, share, f"--share {share:g}", OTHER_SHARE)
        X, y, X_val, y_val = X[train], y[train], X[test], y[test]
    estimator, note = fit_to_draw(model, C, not no_intercept, X, y)
    notes = [note] if note else []
    notes += [ENCODED] if table.encoding else []
    page = Report(
        estimator,
        X,
        y,
        X_val,
        y_val,
        whole=(whole, table.y),
        names=table.names,
        title=f"{'soft-margin' if note else model} on {file.path}",
        recipe=_recipe(model),
        source=table.source,
        notes=notes,
    )
    for text in filter(None, [*notes, page.drawn.note]):
        click.echo(text, err=True)
    click.echo(str(page.write(out)))


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
