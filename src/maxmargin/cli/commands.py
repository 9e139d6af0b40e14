"""What each command takes: its arguments, its options and its help.

``fit``, ``predict`` and ``audit`` are about models; ``separable`` and ``verify`` about verdicts and
their proofs; ``plot`` and ``report`` draw; ``stream``, ``lab`` and ``demo`` run while one watches. What
a command does is in the file of its name, which is imported when the command runs: help and completion
load nothing heavy.
"""

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
    names,
    online,
    two_features,
    with_model,
)

__all__ = ["audit", "demo", "fit", "lab", "plot", "predict", "report", "separable", "stream", "verify"]

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


MODEL_OPTIONS = {  # which models an option is for
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
    check_own(given["model"], MODEL_OPTIONS)
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


@click.command(cls=Command)
@from_file()
@click.option("--class", "one", metavar="LABEL", help="The class to tell from all others.")
@click.option("--against", "other", metavar="LABEL", help="… or from this class only.")
@click.option("--no-intercept", is_flag=True, help="Only planes through the origin.")
@click.option("--decimal", is_flag=True, help="Judge numbers as they are written, not as doubles.")
@click.option("--no-margin", is_flag=True, help="Any plane will do: do not look for a large margin.")
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Budget of time.")
@click.option("--proof", type=click.Path(), help="Write the proof to this file (JSON).")
@as_json
def separable(
    file: Source,
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
    if other is not None and one is None:
        raise click.UsageError("--against needs --class.")
    if proof is not None and file.one_hot:
        raise click.UsageError(
            "--proof is about the numbers in the file, --one-hot makes others. Leave one of them out."
        )
    from maxmargin.cli.separable import run

    options = {
        "fit_intercept": not no_intercept,
        "numbers": "decimal" if decimal else "binary",
        "margin": not no_margin,
    }
    return run(file, one, other, options, proof, max_seconds, as_json)


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


PICTURE_OPTIONS = {"C": MARGINS}  # a hard margin that has no solution is soft
UNUSED = {"separability": ("model", "C"), "path": ("C",)}  # what a picture has no use for
PICTURES = (
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
    check_own(model, PICTURE_OPTIONS)
    from maxmargin.cli.report import run

    return run(file, model, C, not no_intercept, validate, share, out)


@click.command(cls=Command)
@from_file()
@with_model
@click.option("--kind", type=click.Choice(PICTURES), default="x-space", show_default=True)
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
    check_own(model, PICTURE_OPTIONS)
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


@click.command(cls=Command)
@click.argument("data", type=click.Path(), default="-")
@online
@click.option("--average", is_flag=True, help="Predict with the mean of the weights of all steps.")
@click.option("--no-intercept", is_flag=True, help="Only planes through the origin.")
@click.option("--labels", help="All labels, separated by commas. [default: as they come]")
@click.option("--hash", "bits", type=click.IntRange(1, 28), help="Hash feature names to 2^BITS columns.")
@click.option(
    "--report", type=click.IntRange(0), default=0, help="Report mistakes every so many examples."
)
@kept
@click.option(
    "--resume",
    type=click.Choice(["skip", "go-on", "never"]),
    default="skip",
    show_default=True,
    help="With a checkpoint there: skip what was learned of the same input, take the input as new, or "
    "begin anew.",
)
@click.option("--save", "model_path", type=click.Path(), help="Write the model at the end (JSON).")
@click.option("--out", type=click.Path(), help="Write predictions here. [default: standard output]")
@as_json
def stream(data: str, no_intercept: bool, labels: str | None, **given: Any) -> int:
    """Learn online: predict each example before learning it.

    DATA (default: standard input) is svmlight text or JSON lines, {"x": {name: value, …}, "y": label}.
    An update is made if y f(x) ≤ δ: w ← w + η y x, b ← b + η y. An example without a label (in svmlight
    none or ?, in JSON no y or null) is only predicted. Predictions go to standard output; the
    progressive error, and how many examples had no label, to standard error.
    """
    from maxmargin.cli.stream import run

    given |= {"intercept": not no_intercept, "labels": names(labels)}
    if data == "-":
        return run(**given)
    with open(data, "rb") as stdin:
        return run(**given, stdin=stdin)


@click.command(cls=Command)
@from_file(required=False)
@click.option("--features", help="Two features to show, separated by a comma. [default: a projection]")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; any but this computer's own lets others in, with a token in the link.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8421, show_default=True, help="0 finds a free one."
)
@click.option("--open/--no-open", "open_browser", default=True, help="Whether to open the browser.")
def lab(file: Source | None, features: str | None, host: str, port: int, open_browser: bool) -> int:
    """Open the lab: a page where points can be dragged and every update watched.

    DATA, if given, is what it opens with. The link is printed; Ctrl-C ends the lab.
    """
    shown = two_features(features)
    from maxmargin.cli.lab import run

    return run(host, port, open_browser, file, shown)


@click.command(cls=Command)
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
    from maxmargin.cli.demo import run

    run(quick, out)
