"""What is looked at: ``plot`` and ``report``."""

from __future__ import annotations

import click

from maxmargin.cli.group import Command
from maxmargin.cli.options import (
    MARGINS,
    Source,
    check_own,
    from_file,
    is_given,
    two_features,
    with_model,
)

__all__ = ["COMMANDS", "KINDS", "plot", "report"]

OWN = {"C": MARGINS}  # a hard margin that has no solution is soft
UNUSED = {"separability": ("model", "C"), "path": ("C",)}  # what a picture has no use for
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


@click.command(cls=Command)
@from_file()
@with_model
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
    file: Source,
    model: str,
    C: float,
    no_intercept: bool,
    validate: str | None,
    share: float,
    out: str,
) -> int:
    """Write a page: the data, the verdict, the model, its certificate and pictures.

    The page is one HTML file that asks for nothing from outside. Its path is printed.
    """
    check_own(model, OWN)
    from maxmargin.cli.report import run

    return run(file, model, C, not no_intercept, validate, share, out)


@click.command(cls=Command)
@from_file()
@with_model
@click.option("--kind", type=click.Choice(KINDS), default="x-space", show_default=True)
@click.option(
    "--machine",
    metavar="LABEL",
    help="Of three or more classes: the class whose machine, against all others, is drawn.",
)
@click.option("--features", help="Two features to show, separated by a comma. [default: a projection]")
@click.option("--out", type=click.Path(), help="The picture.  [default: picture.png]")
@click.option(
    "--animate", "film", type=click.Path(), help="Write the film of a run: .gif, .mp4 or .html."
)
@click.option(
    "--slowly",
    type=click.FloatRange(0.02, 60),
    help="Seconds for each of the first ten updates of a film.  [default: 1.0]",
)
@click.option(
    "--quickly",
    type=click.FloatRange(0.02, 60),
    help="Seconds for each of the next hundred.  [default: 0.08]",
)
def plot(
    file: Source,
    model: str,
    C: float,
    no_intercept: bool,
    kind: str,
    machine: str | None,
    features: str | None,
    out: str | None,
    film: str | None,
    slowly: float | None,
    quickly: float | None,
) -> int:
    """Draw a picture of a model and its data, or the film of a perceptron's run.

    w-space, both-spaces, risk and risk-surface need two features and --no-intercept; weights and section
    two features and --model hard-margin; certificate a margin; mistakes and errors a perceptron. path
    shows the error of soft margins against C on held-out rows. Of three or more classes, x-space and
    path show all, and the others one machine, chosen with --machine.
    """
    check_own(model, OWN)
    for option in UNUSED.get(kind, ()):
        if is_given(option):
            raise click.UsageError(f"--kind {kind} has no use for --{option}. Leave it out.")
    shown = two_features(features)
    given = {"seconds_slow": slowly, "seconds_fast": quickly}
    tempo = {name: seconds for name, seconds in given.items() if seconds is not None}
    if film is None and tempo:
        raise click.UsageError("--slowly and --quickly are for a film. Name it with --animate.")
    if film is not None and out is not None:
        raise click.UsageError("--animate names the film, --out a picture. Leave one of them out.")
    from maxmargin.cli.plot import run

    target = "picture.png" if out is None else out
    return run(file, model, C, not no_intercept, kind, machine, shown, target, film, tempo)


COMMANDS = plot, report
