"""Models: ``fit``, ``predict`` and ``audit``."""

from __future__ import annotations

from typing import Any

import click

from maxmargin.cli.group import Command
from maxmargin.cli.options import (
    MARGINS,
    Source,
    as_json,
    check_own,
    from_file,
    is_given,
    kept,
    online,
    with_model,
)

__all__ = ["AUDIT", "COMMANDS", "FIT", "audit", "fit", "predict"]


# Help with formulas: what each model minimises, and when it stops.

FIT = """\
Fit a model; print its certificate, or why it stopped, and its error.

Files too large for memory are read in blocks, over and over. Exit code 0: fitted; 1: no plane separates
the classes (hard margin); 2: the data cannot be used.

\b
When it stops, with f(x) = w·x + b and y = ±1:
  soft-margin       P = ½‖w‖² + C Σ ξ,  ξ = max(0, 1 − y f(x))
                    D = Σ α − ½‖Σ α y x‖²,  0 ≤ α ≤ C,  Σ α y = 0
                    (P − D) / P ≤ tol
  hard-margin       the same with ξ = 0 and C = ∞;  or no plane separates
                    the classes: Σ α y (x, 1) = 0, α ≥ 0, Σ α > 0
  perceptron        y f(x) > δ for all rows (else w ← w + η y x, b ← b + η y);
                    or w, b are exactly those of an earlier epoch;
                    or max-iter epochs
  batch-perceptron  R = Σ max(0, −y f(x)) = 0 with f(x) ≠ 0 for all rows;
                    or max-iter steps
  pocket            y f(x) > 0 for all rows;  or max-updates updates
  each of them      max-seconds
"""

AUDIT = """\
Judge a model on its training data: how far from the optimum it is, and why.

MODEL is a file of fit --out, of LIBLINEAR or LIBSVM (linear), or a table of weights (coef.csv: a line
"name, weight" per feature and one named intercept, or w₁, …, w_d, b in a line).

\b
P = ½‖w‖² + C Σ max(0, 1 − y f(x)) is that of the model,
D = Σ α − ½‖Σ α y x‖², 0 ≤ α ≤ C, Σ α y = 0, that of the optimum.
Exit code 0: (P − D) / P ≤ tol; 1: it is not; 2: a file cannot be used.
"""


OWN = {  # which models an option is for
    "C": ("soft-margin",),
    "cv": ("soft-margin",),
    "tol": MARGINS,
    "threshold": ("perceptron",),
    "eta0": ("perceptron",),
    "average": ("perceptron",),
    "order": ("perceptron", "pocket"),
    "seed": ("perceptron", "pocket"),
    "max_iter": ("perceptron", "batch-perceptron"),
    "max_updates": ("pocket",),
    "jobs": MARGINS,
}


@click.command(cls=Command, help=FIT)
@from_file()
@with_model
@click.option("--cv", is_flag=True, help="Choose C by cross-validation, from 1e-4 to 1e4.")
@click.option(
    "--multi-class",
    type=click.Choice(["ovr", "ovo"]),
    default="ovr",
    show_default=True,
    help="Of three or more classes: one machine per class, or per pair.",
)
@click.option(
    "--tol",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Relative gap to stop at. [default: 1e-6 soft, 1e-9 hard]",
)
@online
@click.option(
    "--order",
    type=click.Choice(["cyclic", "shuffled", "random"]),
    default="cyclic",
    show_default=True,
    help="Order of the rows.",
)
@click.option("--average", is_flag=True, help="Keep the mean of the weights of all steps.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of random orders.")
@click.option(
    "--max-iter",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Budget of epochs.",
)
@click.option(
    "--max-updates",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="Budget of updates of the pocket.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    help="Budget of time, with --cv for all fits together. [default: none]",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Machines, or folds of --cv, side by side.",
)
@kept
@click.option("--validate", type=click.Path(), help="A file of validation rows.")
@click.option("--out", type=click.Path(), help="Write the model to this file (JSON).")
@click.option("--onnx", type=click.Path(), help="Write it as an ONNX graph, too.")
@click.option("--liblinear", type=click.Path(), help="Write it as a LIBLINEAR model, too.")
@as_json
def fit(file: Source, **given: Any) -> int:
    """Fit a model; print its certificate, or why it stopped, and its error."""
    check_own(given["model"], OWN)
    if given["cv"] and is_given("C"):
        raise click.UsageError("--cv chooses C, and --C says it. Leave one of them out.")
    if file.path == given["validate"] == "-":
        raise click.UsageError("Only one of DATA and --validate can be standard input.")
    from maxmargin.cli.fit import run
    from maxmargin.cli.models import Wishes

    return run(file, Wishes(**given))


@click.command(cls=Command)
@click.argument("model", type=click.Path())
@from_file(encoded=False)
@click.option("--scores", is_flag=True, help="Also the decision values f(x), after a tab.")
@click.option("--out", type=click.Path(), help="Write to this file. [default: standard output]")
@as_json
def predict(model: str, file: Source, scores: bool, out: str | None, as_json: bool) -> int:
    """Predict a label for each row of DATA, one per line.

    MODEL is a file of fit --out (or of LIBLINEAR, LIBSVM, or a table of weights). Columns are found by
    their names, and encoded as they were in training. If DATA has the label column of the training data,
    or --label names it, the error is printed on standard error.
    """
    from maxmargin.cli.predict import run

    return run(model, file, scores, out, as_json)


@click.command(cls=Command, help=AUDIT)
@click.argument("model", type=click.Path())
@from_file(encoded=False)
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
@as_json
def audit(model: str, file: Source, C: float | None, tol: float, as_json: bool) -> int:
    """Judge a model on its training data: how far from the optimum it is, and why."""
    from maxmargin.cli.audit import run

    return run(model, file, C, tol, as_json)


COMMANDS = fit, predict, audit
