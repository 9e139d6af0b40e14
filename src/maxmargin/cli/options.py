"""Options that several commands have, with the same names and the same words."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

import maxmargin as mm

Command = Callable[..., Any]  # the function of a command
MODELS = {  # and what Python calls them
    "perceptron": "Perceptron",
    "batch-perceptron": "BatchPerceptron",
    "pocket": "PocketPerceptron",
    "min-errors": "MinErrorClassifier",
    "hard-margin": "HardMarginSVC",
    "soft-margin": "SoftMarginSVC",
}
MARGINS = "hard-margin", "soft-margin"
DRAWN_MODELS_OF = {"C": MARGINS}  # a hard margin that has no solution is drawn as a soft one
DURATION = re.compile(r"(\d+|\d*\.\d+)\s*(ms|s|m|h|)")
SECONDS = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}


class Source(NamedTuple):
    """A data file, and what of it is meant."""

    path: str
    label: str | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    header: bool | None = None
    one_hot: bool = False
    cache_dir: str | None = None
    first_index: int | None = None


def together(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds arguments and options in this order."""
    return lambda command: functools.reduce(lambda done, add: add(done), reversed(decorators), command)


def names(text: str | None) -> tuple[str, ...]:
    """Split names at their commas."""
    return () if text is None else tuple([name.strip() for name in text.split(",")])


def data(required: bool = True, one_hot: bool = True) -> Callable[[Command], Command]:
    """Add DATA and the options that say what of it is meant; the command gets them as ``file``.

    ``one_hot=False`` is for commands with a model that says how text is encoded.
    """
    declared = [
        click.argument("data", type=click.Path(), required=required),
        click.option(
            "--label", help="Column of the labels: a name or a number from 0. [default: the last]"
        ),
        click.option("--columns", help="Features, separated by commas. [default: all other columns]"),
        click.option("--drop", help="Columns to leave out, separated by commas."),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether a table begins with names. [default: find out]",
        ),
        click.option(
            "--first-index",
            type=click.IntRange(0, 1),
            help="Index of the first feature of svmlight text. [default: 1, or as in training]",
        ),
        click.option(
            "--one-hot", is_flag=True, help="Encode columns of text, one feature per category."
        ),
        click.option(
            "--cache-dir",
            type=click.Path(),
            help="Folder for the converted form of a large file. [default: beside it]",
        ),
    ]
    if not one_hot:
        del declared[-2]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_file(**given: Any) -> Any:
            path = given.pop("data")
            chosen = {name: given.pop(name) for name in Source._fields if name in given}
            chosen |= {"columns": names(chosen["columns"]), "drop": names(chosen["drop"])}
            return command(file=None if path is None else Source(path, **chosen), **given)

        return together(*declared)(with_file)

    return decorate


def choice(flag: str, choices: Sequence[str], help: str | None = None) -> Callable[[Command], Command]:
    """Return an option with some words to choose from; the first is the default."""
    kind = click.Choice(list(choices))
    return click.option(flag, type=kind, default=choices[0], show_default=True, help=help)


def count(flag: str, default: int, help: str, least: int = 1) -> Callable[[Command], Command]:
    """Return an option that takes an integer."""
    kind = click.IntRange(least)
    return click.option(flag, type=kind, default=default, show_default=True, help=help)


no_intercept = click.option("--no-intercept", is_flag=True, help="Only planes through the origin.")
sides = together(
    click.option("--class", "one", metavar="LABEL", help="The class to tell from all others."),
    click.option("--against", "other", metavar="LABEL", help="… or from this class only."),
)
decimal = click.option(
    "--decimal", is_flag=True, help="Judge numbers as they are written, not as doubles."
)
proof = click.option("--proof", type=click.Path(), help="Write the proof to this file (JSON).")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
model = together(
    click.option(
        "--model",
        type=click.Choice(list(MODELS)),
        metavar="NAME",
        default="soft-margin",
        show_default=True,
        help=f"One of {', '.join(MODELS)}.",
    ),
    click.option("--C", "C", type=float, default=1.0, show_default=True, help="Price of slack."),
    no_intercept,
)
validate = click.option("--validate", type=click.Path(), help="A file of validation rows.")
perceptron_step = together(
    click.option(
        "--threshold",
        type=click.FloatRange(0),
        default=0.0,
        show_default=True,
        help="δ of the perceptron.",
    ),
    click.option(
        "--eta0",
        type=click.FloatRange(0, min_open=True),
        default=1.0,
        show_default=True,
        help="η, its step.",
    ),
)
checkpoint = together(
    click.option(
        "--checkpoint", type=click.Path(), help="Keep the state in this file, and go on from it."
    ),
    click.option(
        "--every", default="10s", show_default=True, help="Time between checkpoints: 10s, 500ms, 2m."
    ),
)
features = click.option(
    "--features", help="Two features to show, separated by a comma. [default: a projection]"
)


def is_given(option: str) -> bool:
    """Whether an option of the running command was given, not left at its default."""
    return click.get_current_context().get_parameter_source(option) != ParameterSource.DEFAULT


def check_model_options(model: str, models_of: Mapping[str, Sequence[str]]) -> None:
    """Refuse an option that the model does not use; ``models_of`` names the models that use it."""
    for option, models in models_of.items():
        if is_given(option) and model not in models:
            shown = f"--{option.replace('_', '-')}"
            raise click.UsageError(
                f"{shown} is for --model {' and '.join(models)}. Got --model {model} instead. Leave "
                f"{shown} out, or name another model."
            )


def check_every(checkpoint: str | None) -> None:
    """Refuse ``--every`` without ``--checkpoint``."""
    if checkpoint is None and is_given("every"):
        raise click.UsageError(
            "--every is for work with a --checkpoint. Got none. Name its file, or leave --every out."
        )


def as_seconds(every: str) -> float:
    """Return a duration in seconds: 10s, 500ms, 2m, 1h; a number alone is seconds."""
    found = DURATION.fullmatch(every.strip())
    if found is None:
        raise mm.InputError(
            f"--every must be a time such as 10s, 500ms, 2m or 1h. Got {every!r} instead."
        )
    return float(found[1]) * SECONDS[found[2]]


def two_features(text: str | None) -> tuple[str, ...]:
    """Return the two features to show, or none."""
    shown = names(text)
    if text is not None and len(shown) != 2:
        raise click.UsageError("--features takes two names or numbers, separated by a comma.")
    return shown
