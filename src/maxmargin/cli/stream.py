"""``maxmargin stream``: examples on standard input, predictions on standard output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import click

import maxmargin as mm
from maxmargin.cli import options

if TYPE_CHECKING:
    from maxmargin.stream.session import StreamState


@click.command()
@click.argument("data", type=click.Path(), default="-")
@options.perceptron_step
@click.option("--average", is_flag=True, help="Predict with the mean of the weights of all steps.")
@options.no_intercept
@click.option("--labels", help="All labels, separated by commas. [default: as they come]")
@click.option("--hash", "bits", type=click.IntRange(1, 28), help="Hash feature names to 2^BITS columns.")
@click.option(
    "--report", type=click.IntRange(0), default=0, help="Report mistakes every so many examples."
)
@options.checkpoint
@options.choice(
    "--resume",
    ["skip", "go-on", "never"],
    "With a checkpoint there: skip what was learned of the same input, take the input as new, or "
    "begin anew.",
)
@click.option("--save", "model_path", type=click.Path(), help="Write the model at the end (JSON).")
@click.option("--out", type=click.Path(), help="Write predictions here. [default: standard output]")
@options.as_json
def stream(data: str, no_intercept: bool, labels: str | None, **given: Any) -> int:
    """Learn online: predict each example before learning it.

    DATA (default: standard input) is svmlight text or JSON lines, {"x": {name: value, …}, "y": label}.
    An update is made if y f(x) ≤ δ: w ← w + η y x, b ← b + η y. An example without a label (in svmlight
    none or ?, in JSON no y or null) is only predicted. Predictions go to standard output; the
    progressive error, and how many examples had no label, to standard error.
    """
    options.check_every(given["checkpoint"])
    given |= {"intercept": not no_intercept, "labels": options.names(labels)}
    if data == "-":
        return run(**given)
    with open(data, "rb") as stdin:
        return run(**given, stdin=stdin)


def run(
    threshold: float = 0.0,
    eta0: float = 1.0,
    average: bool = False,
    intercept: bool = True,
    labels: Sequence[str] = (),
    bits: int | None = None,
    report: int = 0,
    out: str | None = None,
    as_json: bool = False,
    checkpoint: str | None = None,
    every: str = "10s",
    resume: str = "skip",
    model_path: str | None = None,
    stdin: BinaryIO | None = None,
    stdout: BinaryIO | None = None,
) -> int:
    """Learn from standard input until it ends, or Ctrl-C; return 0."""
    from maxmargin.saving.model_file import check_model_name
    from maxmargin.stream.learner import Learner
    from maxmargin.stream.session import Session, open_predictions
    from maxmargin.stream.text_input import Lines

    source = sys.stdin.buffer if stdin is None else stdin
    target = sys.stdout.buffer if stdout is None else stdout
    seconds = options.as_seconds(every)
    if model_path is not None:
        check_model_name(model_path)
    model = mm.Perceptron(threshold, eta0, average=average, fit_intercept=intercept, random_state=0)
    announced = fixed_labels(labels) if labels else None
    state = _state(model, bits, announced, checkpoint, resume)
    lines = Lines(source, checked=checkpoint is not None)
    learner = Learner(state.model, bits, announced)
    with open_predictions(out, target, as_json, state.written or 0) as predictions:
        session = Session(state, learner, lines, predictions, _say, report, checkpoint, seconds)
        try:
            session.run(skip=state.read if resume == "skip" else 0)
        except BrokenPipeError:  # nobody reads on: what was not read is not in the checkpoint either
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), target.fileno())
    if model_path is not None:
        mm.save(state.model, model_path)
    _say(state.tally.summary())
    return 0


def fixed_labels(texts: Sequence[str]) -> dict[str, Any]:
    """The labels that were announced, by their texts: numbers if all of them are."""
    from maxmargin.checker import canonical
    from maxmargin.files.reader import typed_labels

    names = [canonical(text) for text in texts]
    if len(names) < 2 or "" in names or len(set(names)) < len(names):
        raise mm.InputError(
            f"--labels must name two or more distinct labels, separated by commas. "
            f"Got {','.join(texts)!r} instead."
        )
    return dict(zip(names, typed_labels(names).tolist(), strict=True))


def _say(text: str) -> None:
    click.echo(text, err=True)


def _state(
    model: mm.Perceptron, bits: int | None, labels: Any, checkpoint: str | None, resume: str
) -> StreamState:
    """The state in the checkpoint, if there is one and it is to be resumed; else a fresh one."""
    from maxmargin.stream.session import StreamState, read_state

    if checkpoint is None:
        if resume != "skip":
            raise mm.InputError("--resume is for a stream with a --checkpoint. Name its file.")
        return StreamState(model, bits=bits)
    state = None if resume == "never" else read_state(checkpoint)
    if state is None:
        return StreamState(model, bits=bits)
    if type(state.model) is not type(model):
        raise mm.InputError(
            f"{checkpoint}: the checkpoint must be of a perceptron. Got {type(state.model).__name__} "
            "instead. Use --resume never to begin anew."
        )
    _check_parameters(state.model, model, checkpoint)
    if state.bits != bits:
        raise mm.InputError(
            f"{checkpoint}: the checkpoint was made with --hash {state.bits}, and {bits} is asked for. "
            "Use the same options, or --resume never to begin anew."
        )
    known = getattr(state.model, "classes_", None)
    if labels is not None and (known is None or known.tolist() != sorted(labels.values())):
        raise mm.InputError(
            f"{checkpoint}: the checkpoint knows other labels than --labels. Use the same ones, or "
            "--resume never to begin anew."
        )
    learned = f"{state.tally.examples:,} examples, {state.read:,} bytes of input"
    _say(f"Resumed {checkpoint}: {learned}.")
    return state


def _check_parameters(saved: Any, asked: Any, where: str) -> None:
    """Refuse to go on with other parameters than those of the checkpoint."""
    before, now = saved.get_params(), asked.get_params()
    for name, value in now.items():
        if before[name] != value:
            option = {"fit_intercept": "--no-intercept"}.get(name, f"--{name}")
            raise mm.InputError(
                f"{where}: the checkpoint was made with {name}={before[name]!r}, and {option} asks for "
                f"{value!r}. Use the same options, or --resume never to begin anew."
            )
