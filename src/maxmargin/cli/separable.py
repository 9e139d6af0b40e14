"""``maxmargin separable``: the verdict on a file, in words or as JSON, and its proof as a file."""

from __future__ import annotations

from typing import Any

import click

import maxmargin as mm
from maxmargin import cli
from maxmargin.cli import options


@click.command()
@options.data()
@click.option("--class", "one", metavar="LABEL", help="The class to tell from all others.")
@click.option("--against", "other", metavar="LABEL", help="… or from this class only.")
@options.no_intercept
@click.option("--proof", type=click.Path(), help="Write the proof to this file (JSON).")
@options.as_json
def separable(
    file: options.Source,
    one: str | None,
    other: str | None,
    no_intercept: bool,
    proof: str | None,
    as_json: bool,
) -> int:
    """Is the data linearly separable? A verdict with an exact proof.

    Exit code 0: separable; 1: touching or overlapping; 2: the data cannot be used.
    """
    if other is not None and one is None:
        raise click.UsageError("--against needs --class.")
    if proof is not None and file.one_hot:
        raise click.UsageError(
            "--proof is about the numbers in the file, --one-hot makes others. Leave one of them out."
        )
    from maxmargin.estimators.separability import decide

    cli.inputs.check_target(proof, "--proof")
    table, labels = cli.inputs.open_labelled(file)
    verdict = decide(
        table.X,
        table.y,
        fit_intercept=not no_intercept,
        names=table.names,
        sides=None if one is None else _sides(labels, one, other),
    )
    if isinstance(verdict, mm.MulticlassVerdict):
        if proof is not None:
            raise mm.InputError(
                "--proof needs two classes. "
                f"Got {len(verdict.rest)}: {', '.join(map(str, list(verdict.rest)[:10]))}. "
                "Choose with --class LABEL (against all others), or --class LABEL --against LABEL."
            )
        content: dict[str, Any] = {
            "rest": cli.output.by_label(verdict.rest, cli.output.verdict_content),
            "pairs": cli.output.by_label(verdict.pairs, cli.output.verdict_content),
        }
    else:
        content = cli.output.verdict_content(verdict)
        if proof is not None:
            verdict.proof.with_source(**table.source).save(proof)
    click.echo(cli.output.as_json(content) if as_json else str(verdict))
    if cli.inputs.columns_used(table) and not as_json:
        click.echo(cli.inputs.columns_used(table))
    return 0 if verdict.separable else 1


def _sides(labels: list[Any], one: str, other: str | None) -> tuple[Any, Any]:
    """Return the labels that --class and --against mean; None for all others."""
    positive = cli.inputs.label_called(one, labels, "--class")
    negative = None if other is None else cli.inputs.label_called(other, labels, "--against")
    if positive == negative:
        raise mm.InputError(f"--class and --against must be two classes. Got {one!r} twice.")
    return positive, negative
