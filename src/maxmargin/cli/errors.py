"""``maxmargin errors``: the fewest errors of any plane on a file, with a proof."""

from __future__ import annotations

import sys
from typing import Any

import click

import maxmargin as mm
from maxmargin import cli
from maxmargin.cli import options
from maxmargin.cli.separable import categories, named_sides


@click.command()
@options.data()
@options.sides
@options.no_intercept
@options.decimal
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="Budget of time.",
)
@options.proof
@options.as_json
def errors(
    file: options.Source,
    one: str | None,
    other: str | None,
    no_intercept: bool,
    decimal: bool,
    max_seconds: float,
    proof: str | None,
    as_json: bool,
) -> int:
    """How many training errors must a plane make? The fewest, with a proof.

    Finds a plane with few errors, and proves that no plane makes fewer. A row on the plane is an error.
    Rows are numbered from 0.

    Exit code 0: proven; 2: the data cannot be used; 3: the bounds have not met when --max-seconds ended,
    and are printed. The proof is one of both bounds in any case.
    """
    cli.inputs.check_target(proof, "--proof")
    table, labels = cli.inputs.open_labelled(file)
    sides = named_sides(labels, one, other)
    if sides is None and len(labels) > 2:
        raise mm.InputError(
            f"{file.path}: errors are counted for two classes. Got {len(labels)}: "
            f"{', '.join(map(str, labels[:10]))}. Choose with --class LABEL (against all others), or "
            "--class LABEL --against LABEL."
        )
    found = _fewest(table, sides, not no_intercept, "decimal" if decimal else "binary", max_seconds)
    if proof is not None:
        found.proof.with_source(**table.source, **categories(table)).save(proof)
    click.echo(cli.output.as_json(_content(found)) if as_json else str(found))
    if cli.inputs.columns_used(table) and not as_json:
        click.echo(cli.inputs.columns_used(table))
    return 0 if found.proven else 3


def _fewest(
    table: Any, sides: tuple[Any, Any] | None, intercept: bool, numbers: str, max_seconds: float
) -> mm.ErrorBounds:
    """Return the bounds for the classes asked for; a bar shows them on a terminal."""
    from maxmargin.estimators.min_errors import fewest_errors_of
    from maxmargin.estimators.progress import time_limit
    from maxmargin.estimators.separability import Options

    with time_limit("errors", max_seconds, verbose=int(sys.stderr.isatty())) as deadline:
        asked = Options(intercept, numbers=numbers, deadline=deadline)
        return fewest_errors_of(table.X, table.y, asked, table.names, sides)


def _content(found: mm.ErrorBounds) -> dict[str, Any]:
    """Return bounds on the errors for JSON; the witnesses and the tree are in the proof."""
    proof = found.proof.content
    return {
        "lower": found.lower,
        "upper": found.upper,
        "proven": found.proven,
        "late": found.late,
        "positive": proof["positive"],
        "negative": proof["negative"],
        "w": found.w.tolist(),
        "b": found.b,
        "plane_is_exact": found.plane_is_exact,
        "margin": found.margin,
        "given_up": found.given_up.tolist(),
        "n_complete": list(found.n_complete),
        "n_overlap": list(found.n_overlap),
        "witnesses": len(found.witnesses),
        "branches": len(proof["tree"]["branches"]) if "tree" in proof else 0,
        "swept": "sweep" in proof,
    }
