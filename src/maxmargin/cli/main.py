"""``maxmargin``: one command, one family of subcommands.

Results go to standard output, progress to standard error. Exit codes: 0 yes or done, 1 a negative
verdict, 2 bad usage or bad input.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import click

from maxmargin._version import __version__

__all__ = ["main"]

F = TypeVar("F", bound=Callable[..., Any])
KINDS = (
    "x-space",
    "w-space",
    "both-spaces",
    "risk",
    "risk-surface",
    "weights",
    "section",
    "certificate",
    "separability",
    "mistakes",
    "errors",
    "path",
)
MODELS = "perceptron", "batch-perceptron", "pocket", "hard-margin", "soft-margin"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="maxmargin")
def main() -> None:
    """The linear classifier that comes with its proof."""


def _answer(work: Callable[[], int]) -> NoReturn:
    """End with the exit code of the work; errors are one line on standard error, and exit code 2."""
    try:
        code = work()
    except ValueError as error:  # InputError, or what scikit-learn says of the labels
        click.echo(f"Error: {' '.join(str(error).split())}", err=True)
        code = 2
    sys.exit(code)


def _from_file(command: F) -> F:
    """The options that say what of a file is meant."""
    for option in (
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether a table begins with names. [default: find out]",
        ),
        click.option("--drop", help="Columns to leave out, separated by commas."),
        click.option("--columns", help="Features, separated by commas. [default: all other columns]"),
        click.option(
            "--label", help="Column of the labels: a name or a number from 0. [default: the last]"
        ),
        click.argument("data", type=click.Path()),
    ):
        command = option(command)
    return command


def _with_model(command: F) -> F:
    """The options that choose a model."""
    for option in (
        click.option("--no-intercept", is_flag=True, help="Only planes through the origin."),
        click.option("--C", "C", type=float, default=1.0, show_default=True, help="Price of slack."),
        click.option("--model", type=click.Choice(MODELS), default="soft-margin", show_default=True),
    ):
        command = option(command)
    return command


def _names(text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",")]


@main.command()
@_from_file
@click.option("--class", "one", metavar="LABEL", help="The class to tell from all others.")
@click.option("--against", "other", metavar="LABEL", help="… or from this class only.")
@click.option("--no-intercept", is_flag=True, help="Only planes through the origin.")
@click.option("--proof", type=click.Path(), help="Write the proof to this file (JSON).")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def separable(
    data: str,
    label: str | None,
    columns: str | None,
    drop: str | None,
    header: bool | None,
    one: str | None,
    other: str | None,
    no_intercept: bool,
    proof: str | None,
    as_json: bool,
) -> None:
    """Is the data linearly separable? A verdict with an exact proof.

    DATA is a table (.csv, .tsv), svmlight text (.svm, .txt, …) or a matrix (.npy). Exit code 0:
    separable; 1: touching or overlapping; 2: the data cannot be used.
    """
    from maxmargin.cli.separable import run

    if other is not None and one is None:
        raise click.UsageError("--against needs --class.")
    _answer(
        lambda: run(
            data,
            label,
            _names(columns),
            _names(drop),
            one,
            other,
            not no_intercept,
            proof,
            as_json,
            header,
        )
    )


@main.command()
@click.argument("proof", type=click.Path())
@click.argument("data", type=click.Path())
@click.option("--label", help="Column of the labels, if the proof does not say.")
def verify(proof: str, data: str, label: str | None) -> None:
    """Check a proof against its data, by the independent checker.

    The same as ``python -m maxmargin.checker``. Exit code 0: the proof holds; 1: it is rejected; 2: a
    file cannot be used.
    """
    from maxmargin.checker.__main__ import main as check

    sys.exit(check([proof, data, *([] if label is None else ["--label", label])]))


@main.command()
@_from_file
@_with_model
@click.option("--validate", type=click.Path(), help="A file of validation rows.")
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
    data: str,
    label: str | None,
    columns: str | None,
    drop: str | None,
    header: bool | None,
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
    from maxmargin.cli.report import run

    _answer(
        lambda: run(
            data,
            label,
            _names(columns),
            _names(drop),
            model,
            C,
            not no_intercept,
            validate,
            share,
            out,
            header,
        )
    )


@main.command()
@_from_file
@_with_model
@click.option("--kind", type=click.Choice(KINDS), default="x-space", show_default=True)
@click.option("--features", help="Two features to show, separated by a comma. [default: a projection]")
@click.option("--out", type=click.Path(), default="picture.png", show_default=True, help="The picture.")
@click.option(
    "--animate", "film", type=click.Path(), help="Write the film of a run: .gif, .mp4 or .html."
)
@click.option(
    "--slowly",
    type=click.FloatRange(0.02, 60),
    default=1.0,
    show_default=True,
    help="Seconds for each of the first ten updates of a film.",
)
@click.option(
    "--quickly",
    type=click.FloatRange(0.02, 60),
    default=0.08,
    show_default=True,
    help="Seconds for each of the next hundred.",
)
def plot(
    data: str,
    label: str | None,
    columns: str | None,
    drop: str | None,
    header: bool | None,
    model: str,
    C: float,
    no_intercept: bool,
    kind: str,
    features: str | None,
    out: str,
    film: str | None,
    slowly: float,
    quickly: float,
) -> None:
    """Draw a picture of a model and its data, or the film of a perceptron's run.

    w-space and risk need two features and --no-intercept; weights and section two features and
    --model hard-margin; mistakes and errors a perceptron. path shows the error of soft margins against C
    on held-out rows.
    """
    from maxmargin.cli.plot import run

    shown = _names(features)
    if features is not None and len(shown) != 2:
        raise click.UsageError("--features takes two names or numbers, separated by a comma.")
    tempo = {"seconds_slow": slowly, "seconds_fast": quickly}
    file = data, label, _names(columns), _names(drop), header
    _answer(lambda: run(*file, model, C, not no_intercept, kind, shown, out, film, tempo))


@main.command()
@click.option(
    "--out",
    type=click.Path(),
    default="maxmargin-demo.html",
    show_default=True,
    help="The page that sums it up.",
)
@click.option("--quick", is_flag=True, help="Leave out the larger part (digits).")
def demo(out: str, quick: bool) -> None:
    """Tell the story of linear classification on data that ships with scikit-learn."""
    from maxmargin.cli.demo import run  # imported on use, so that --help is instant

    run(quick, out)
