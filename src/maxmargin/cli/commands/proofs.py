"""Verdicts and their proofs: ``separable`` and ``verify``."""

from __future__ import annotations

import click

from maxmargin.cli.group import Command
from maxmargin.cli.options import Source, as_json, from_file

__all__ = ["COMMANDS", "separable", "verify"]


@click.command(cls=Command)
@from_file()
@click.option("--class", "one", metavar="LABEL", help="The class to tell from all others.")
@click.option("--against", "other", metavar="LABEL", help="… or from this class only.")
@click.option("--no-intercept", is_flag=True, help="Only planes through the origin.")
@click.option("--proof", type=click.Path(), help="Write the proof to this file (JSON).")
@as_json
def separable(
    file: Source,
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
    from maxmargin.cli.separable import run

    return run(file, one, other, not no_intercept, proof, as_json)


@click.command(cls=Command)
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


COMMANDS = separable, verify
