"""``maxmargin verify``: a proof is checked against its data."""

from __future__ import annotations

import click


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
