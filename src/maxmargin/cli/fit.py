"""``maxmargin fit``: from a file to a model file, with the certificate and the error."""

from __future__ import annotations

import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

import click

import maxmargin as mm
from maxmargin import cli
from maxmargin.cli import options

if TYPE_CHECKING:
    import numpy as np

MAX_FOLDS = 5
MAX_RECORDED_ROWS = 2_000  # of a picture, up to which a perceptron records every update
MODELS_OF = {  # which models an option is for
    "C": ("soft-margin",),
    "cv": ("soft-margin",),
    "tol": options.MARGINS,
    "threshold": ("perceptron",),
    "eta0": ("perceptron",),
    "average": ("perceptron",),
    "order": ("perceptron", "pocket"),
    "seed": ("perceptron", "pocket", "min-errors"),
    "max_iter": ("perceptron", "batch-perceptron"),
    "max_updates": ("pocket",),
    "jobs": options.MARGINS,
}
PARAMETERS = {"seed": "random_state", "jobs": "n_jobs"}  # options with another name in Python


@click.command()
@options.data()
@options.model
@click.option("--cv", is_flag=True, help="Choose C by cross-validation, from 1e-4 to 1e4.")
@options.choice(
    "--multi-class", ["ovr", "ovo"], "Of three or more classes: one machine per class, or per pair."
)
@click.option(
    "--tol",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Relative gap to stop at. [default: 1e-6 soft, 1e-9 hard]",
)
@options.perceptron_step
@options.choice("--order", ["cyclic", "shuffled", "random"], "Order of the rows.")
@click.option("--average", is_flag=True, help="Keep the mean of the weights of all steps.")
@options.count("--seed", 0, "Of random orders and searches.", least=0)
@options.count("--max-iter", 100, "Budget of epochs.")
@options.count("--max-updates", 10_000, "Budget of updates of the pocket.")
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    help="Budget of time, with --cv for all fits together. [default: none; 60 for min-errors]",
)
@options.count("--jobs", 1, "Machines, or folds of --cv, side by side.")
@options.checkpoint
@options.validate
@click.option("--out", type=click.Path(), help="Write the model to this file (JSON).")
@click.option("--onnx", type=click.Path(), help="Write it as an ONNX graph, too.")
@click.option("--liblinear", type=click.Path(), help="Write it as a LIBLINEAR model, too.")
@options.as_json
def fit(
    file: options.Source,
    model: str,
    checkpoint: str | None,
    every: str,
    validate: str | None,
    out: str | None,
    onnx: str | None,
    liblinear: str | None,
    as_json: bool,
    **settings: Any,
) -> int:
    """Fit a model; print its certificate, or why it stopped, and its error.

    Files too large for memory are read in blocks, over and over. Exit code 0: fitted; 1: no plane
    separates the classes (hard margin); 2: the data cannot be used.

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
      min-errors        no plane has fewer rows with y f(x) ≤ 0: proven
      each of them      max-seconds
    """  # noqa: D301  (click leaves the lines after a backspace as they are)
    options.check_model_options(model, MODELS_OF)
    options.check_every(checkpoint)
    if settings["cv"] and options.is_given("C"):
        raise click.UsageError("--cv chooses C, and --C says it. Leave one of them out.")
    if file.path == validate == "-":
        raise click.UsageError("Only one of DATA and --validate can be standard input.")
    import numpy as np

    from maxmargin.saving.model_file import check_model_name

    for path, option in ((out, "--out"), (onnx, "--onnx"), (liblinear, "--liblinear")):
        cli.inputs.check_target(path, option)
    if out is not None:
        check_model_name(out)
    seconds_between = options.as_seconds(every)
    table, labels = cli.inputs.open_labelled(file)
    other = None if validate is None else cli.inputs.open_validation(validate, file, table, labels)
    began = time.perf_counter()
    estimator = _estimator(model, table.y, file.path, **settings)
    work = estimator if checkpoint is None else mm.checkpoint(estimator, checkpoint, seconds_between)
    try:
        fitted = _fit(work, table, other if hasattr(estimator, "stop") else None)
    except mm.NotSeparableError as error:
        _print_not_separable(error, model, as_json)
        return 1
    seconds = time.perf_counter() - began
    if table.named:
        fitted.feature_names_in_ = np.array(table.names, dtype=object)
    fitted.encoding_ = table.reading
    getattr(fitted, "error_lower_bound_", None)  # computed now, so that the model file has it
    if out is not None:
        mm.save(fitted, out)
    if onnx is not None:
        mm.saving.to_onnx(fitted, onnx)
    if liblinear is not None:
        _write_liblinear(fitted, liblinear)
    content = {
        "model": model,
        "data": file.path,
        "rows": table.shape[0],
        "features": table.shape[1],
        "classes": labels,
        **cli.output.model_content(fitted, table.rows.column_reach),
        **_errors("training", fitted, table),
        "seconds": round(seconds, 3),
        **({} if other is None else _errors("validation", fitted, other)),
    }
    if as_json:
        click.echo(cli.output.as_json(content))
    else:
        _print_report(fitted, table, other, content)
    return 0


def _estimator(
    model: str,
    y: np.ndarray,
    path: str,
    *,
    no_intercept: bool,
    multi_class: str,
    max_seconds: float | None,
    **settings: Any,
) -> Any:
    """Return the model that was asked for; a progress bar is shown only to people."""
    given = {
        PARAMETERS.get(name, name): settings[name]
        for name, models in MODELS_OF.items()
        if model in models and settings[name] is not None
    }
    given |= {
        "fit_intercept": not no_intercept,
        "multi_class": multi_class,
        "verbose": int(sys.stderr.isatty()),
    }
    if model in options.MARGINS or (model == "min-errors" and max_seconds is not None):
        given["max_seconds"] = max_seconds
    elif max_seconds is not None:
        given["stop"] = mm.stopping.MaxSeconds(max_seconds)
    if given.pop("cv", False):
        del given["C"]
        return mm.SoftMarginSVCCV(cv=_folds(y, path), **given)
    return getattr(mm, options.MODELS[model])(**given)


def fit_to_draw(name: str, C: float, intercept: bool, X: Any, y: Any) -> tuple[Any, str]:
    """Return a fitted model and a note: the soft margin, where the hard margin has no solution."""
    record = {"record": len(y) <= MAX_RECORDED_ROWS}
    given: dict[str, dict[str, Any]] = {
        "perceptron": record,
        "batch-perceptron": record,
        "pocket": {"random_state": 0},
        "min-errors": {},
        "hard-margin": {},
        "soft-margin": {"C": C},
    }

    def fit(name: str) -> Any:
        return getattr(mm, options.MODELS[name])(fit_intercept=intercept, **given[name]).fit(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)  # the reason of stopping is shown
        try:
            return fit(name), ""
        except mm.NotSeparableError:
            note = f"No plane separates the classes. Drawn instead: the soft margin with C = {C:g}."
            return fit("soft-margin"), note


def _folds(y: np.ndarray, path: str) -> int:
    """Return how many folds there can be with every class in each."""
    label, fewest = cli.inputs.rarest(y)
    if fewest < 2:
        raise mm.InputError(
            f"{path}: --cv needs at least 2 rows of every class. Got 1 row of {label!r} instead. "
            "Add rows, or choose C yourself with --C."
        )
    return min(MAX_FOLDS, fewest)


def _fit(model: Any, table: cli.inputs.Table, validation: cli.inputs.Table | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)  # what is printed says it
        if validation is None:
            return model.fit(table.X, table.y)
        return model.fit(table.X, table.y, X_val=validation.X, y_val=validation.y)


def _errors(kind: str, model: Any, table: cli.inputs.Table) -> dict[str, float]:
    wrong = int((model.predict(table.rows) != table.y).sum())
    return {f"{kind}_errors": wrong, f"{kind}_error": wrong / table.shape[0]}


def _write_liblinear(model: Any, path: str) -> None:
    classes = model.classes_.tolist()
    numbers = None
    if any(not isinstance(label, int) or isinstance(label, bool) for label in classes):
        numbers = list(range(len(classes)))
        pairs = ", ".join([f"{k} for {label}" for k, label in enumerate(classes)])
        click.echo(f"{path}: labels of LIBLINEAR are integers: {pairs}.", err=True)
    mm.saving.to_liblinear(model, path, numbers)


def _print_report(
    model: Any, table: cli.inputs.Table, other: cli.inputs.Table | None, content: dict[str, Any]
) -> None:
    from maxmargin.core.errors import listed, plural

    (n, d), labels = table.shape, content["classes"]
    shown = "standard input" if content["data"] == "-" else content["data"]
    classes = f"{len(labels):,} classes ({listed(labels, cli.output.MAX_LISTED)})"
    lines = [f"{shown}: {plural(n, 'row', ',')}, {plural(d, 'feature', ',')}, {classes}."]
    lines += filter(None, [cli.inputs.columns_used(table)])
    lines += cli.output.model_sentences(model, table.rows.column_reach)
    lines.append(f"Training error: {cli.output.share(content['training_errors'], n)}.")
    if other is not None:
        errors = cli.output.share(content["validation_errors"], other.shape[0])
        lines.append(f"Validation error: {errors}.")
    click.echo("\n".join(lines))


def _print_not_separable(error: mm.NotSeparableError, model: str, as_json: bool) -> None:
    """Print the verdict, instead of a model."""
    message, verdicts = cli.output.in_options(error.message), error.verdicts
    if as_json:
        found = cli.output.by_label(verdicts, cli.output.verdict_content)
        about = {"verdicts": found} if len(found) > 1 else {"verdict": next(iter(found.values()))}
        click.echo(cli.output.as_json({"model": model, "separable": False, "message": message, **about}))
        return
    if len(verdicts) > 1:
        click.echo(message)
    for verdict in verdicts.values():
        click.echo(str(verdict))
    if len(verdicts) == 1:  # the verdict says all that the error says, but what to do
        click.echo("Use --model soft-margin, which allows for slack.")
