"""``maxmargin audit``: the certificate of a model that was trained here or elsewhere."""

from __future__ import annotations

import math
from typing import Any

import click

import maxmargin as mm
from maxmargin import cli
from maxmargin.cli import options

TIGHTEST_TOL = 1e-9  # relative gap to which the optimum itself is found


@click.command()
@click.argument("model", type=click.Path())
@options.data(one_hot=False)
@click.option(
    "--C",
    "C",
    type=click.FloatRange(0, min_open=True),
    help="Price of slack; inf for the hard margin. [default: that of the model]",
)
@click.option(
    "--tol",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-3,
    show_default=True,
    help="Relative gap up to which it counts as the optimum.",
)
@options.as_json
def audit(model: str, file: options.Source, C: float | None, tol: float, as_json: bool) -> int:
    """Judge a model on its training data: how far from the optimum it is, and why.

    MODEL is a file of fit --out, of LIBLINEAR or LIBSVM (linear), or a table of weights (coef.csv: a
    line "name, weight" per feature and one named intercept, or w₁, …, w_d, b in a line).

    \b
    P = ½‖w‖² + C Σ max(0, 1 − y f(x)) is that of the model,
    D = Σ α − ½‖Σ α y x‖², 0 ≤ α ≤ C, Σ α y = 0, that of the optimum.
    Exit code 0: (P − D) / P ≤ tol; 1: it is not; 2: a file cannot be used.
    """  # noqa: D301  (click leaves the lines after a backspace as they are)
    fitted = cli.inputs.read_model(model, file.path)
    C = _price_of_slack(fitted, model) if C is None else C
    table = cli.inputs.open_for_model(fitted, file, labelled=True)
    cli.inputs.find_labels(table.y, file.path)
    try:
        found = mm.saving.audit(fitted, table.X, table.y, C, tol=min(TIGHTEST_TOL, tol))
    except mm.NotSeparableError as error:
        message = cli.output.in_options(error.message)
        failed = {"model": model, "optimal": False, "message": message}
        click.echo(cli.output.as_json(failed) if as_json else message[0].upper() + message[1:])
        return 1
    certificates = found if isinstance(found, dict) else {"": found}
    gap = max([certificate.relative_gap for certificate in certificates.values()])
    optimal = gap <= tol
    if as_json:
        content = {"model": model, "optimal": optimal, "tol": tol}
        if isinstance(found, dict):
            content["certificates"] = cli.output.by_label(found, cli.output.certificate_content)
        else:
            content["certificate"] = cli.output.certificate_content(found)
        click.echo(cli.output.as_json(content))
    else:
        for label, certificate in certificates.items():
            lead = f"{cli.output.key(label)}: " if isinstance(found, dict) else ""
            click.echo(f"{lead}{certificate}")
        verdict = "Optimal" if optimal else "Not optimal"
        click.echo(f"{verdict}: (P − D) / P = {max(gap, 0.0):.1e}, and {tol:g} is allowed.")
    return 0 if optimal else 1


def _price_of_slack(model: Any, path: str) -> float:
    """Return the C of a model that tells it."""
    for name in ("C_", "C"):
        value = getattr(model, name, None)
        if value is not None:
            return float(value)
    if isinstance(model, mm.HardMarginSVC):
        return math.inf
    raise mm.InputError(
        f"{path}: the model does not tell its C. Give it with --C; inf means the hard margin."
    )
