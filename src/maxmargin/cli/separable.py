"""``maxmargin separable`` and ``verify``: the verdict on a file with its proof, and a proof checked."""

from __future__ import annotations

import sys
from typing import Any

import click

import maxmargin as mm
from maxmargin import cli
from maxmargin.cli import options


@click.command()
@options.data()
@options.sides
@options.no_intercept
@options.decimal
@click.option("--no-margin", is_flag=True, help="Any plane will do: do not look for a large margin.")
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Budget of time.")
@options.proof
@options.as_json
def separable(
    file: options.Source,
    one: str | None,
    other: str | None,
    no_intercept: bool,
    decimal: bool,
    no_margin: bool,
    max_seconds: float | None,
    proof: str | None,
    as_json: bool,
) -> int:
    """Is the data linearly separable? A verdict with an exact proof.

    Exit code 0: separable; 1: touching or overlapping; 2: the data cannot be used; 3: --max-seconds
    ended first, and what is known is printed.
    """
    from maxmargin.estimators.progress import time_limit
    from maxmargin.estimators.separability import Options, decide

    cli.inputs.check_target(proof, "--proof")
    table, labels = cli.inputs.open_labelled(file)
    sides = named_sides(labels, one, other)
    numbers = "decimal" if decimal else "binary"
    with time_limit("separable", max_seconds, verbose=int(sys.stderr.isatty())) as deadline:
        asked = Options(not no_intercept, margin=not no_margin, numbers=numbers, deadline=deadline)
        verdict = decide(table.X, table.y, asked, table.names, sides)
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
        if proof is not None and verdict.proof is not None:
            verdict.proof.with_source(**table.source, **categories(table)).save(proof)
    click.echo(cli.output.as_json(content) if as_json else str(verdict))
    if cli.inputs.columns_used(table) and not as_json:
        click.echo(cli.inputs.columns_used(table))
    return 0 if verdict.separable else 3 if verdict.undecided else 1


def categories(table: Any) -> dict[str, Any]:
    """Return the categories of encoded columns, for the proof; none of the others."""
    columns = table.about.get("columns") or []
    encoded = [list(table.encoding.get(name, [])) for name in columns]
    return {"categories": encoded} if table.encoding else {}


def named_sides(labels: list[Any], one: str | None, other: str | None) -> tuple[Any, Any] | None:
    """Return the labels that --class and --against mean, None for all others; None without them."""
    if one is None:
        if other is not None:
            raise click.UsageError("--against needs --class.")
        return None
    positive = cli.inputs.label_called(one, labels, "--class")
    negative = None if other is None else cli.inputs.label_called(other, labels, "--against")
    if positive == negative:
        raise mm.InputError(f"--class and --against must be two classes. Got {one!r} twice.")
    return positive, negative


@click.command()
@click.argument("proof", type=click.Path())
@click.argument("data", type=click.Path())
@click.option("--label", help="Column of the labels, if the proof does not say.")
def verify(proof: str, data: str, label: str | None) -> int:
    """Check a proof against its data, by the independent checker.

    The same as ``python -m maxmargin.checker``. Exit code 0: the proof holds; 1: it is rejected; 2: a
    file cannot be used, or is no proof.
    """
    from maxmargin.checker.__main__ import main as check

    return check([proof, data, *([] if label is None else ["--label", label])])
