"""Options that several commands have, with the same names and the same words."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import click
from click.core import ParameterSource

F = TypeVar("F", bound=Callable[..., Any])
MARGINS = "hard-margin", "soft-margin"
MODELS = "perceptron", "batch-perceptron", "pocket", *MARGINS


class Source(NamedTuple):
    """What of which file is meant."""

    path: str
    label: str | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    header: bool | None = None
    one_hot: bool = False
    cache_dir: str | None = None
    first_index: int | None = None


def is_given(option: str) -> bool:
    """Whether an option of the running command was given, not left at its default."""
    return click.get_current_context().get_parameter_source(option) != ParameterSource.DEFAULT


def names(text: str | None) -> tuple[str, ...]:
    """Names that were given with commas between them."""
    return () if text is None else tuple(name.strip() for name in text.split(","))


def from_file(required: bool = True, encoded: bool = True) -> Callable[[F], F]:
    """DATA and the options that say what of it is meant; the command gets them as ``file``.

    Text may be ``encoded`` (``--one-hot``), unless a model says how.
    """
    options = [
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
    ]
    if encoded:
        text = "Encode columns of text, one feature per category."
        options.append(click.option("--one-hot", is_flag=True, help=text))
    text = "Folder for the converted form of a large file. [default: beside it]"
    options.append(click.option("--cache-dir", type=click.Path(), help=text))

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def bundled(*given: Any, **rest: Any) -> Any:
            path, label = rest.pop("data"), rest.pop("label")
            columns, drop = names(rest.pop("columns")), names(rest.pop("drop"))
            how = rest.pop("header"), rest.pop("one_hot", False), rest.pop("cache_dir")
            first = rest.pop("first_index")
            file = None if path is None else Source(path, label, columns, drop, *how, first)
            return command(*given, file=file, **rest)

        decorated: Any = bundled
        for option in reversed(options):
            decorated = option(decorated)
        return cast(F, decorated)

    return decorate


def with_model(command: F) -> F:
    """The options that choose a model."""
    for option in (
        click.option("--no-intercept", is_flag=True, help="Only planes through the origin."),
        click.option("--C", "C", type=float, default=1.0, show_default=True, help="Price of slack."),
        click.option("--model", type=click.Choice(MODELS), default="soft-margin", show_default=True),
    ):
        command = option(command)
    return command


def check_own(model: str, own: Mapping[str, Sequence[str]]) -> None:
    """Refuse an option that the model has no use for; ``own`` says which models have one."""
    for option, models in own.items():
        if is_given(option) and model not in models:
            shown = f"--{option.replace('_', '-')}"
            raise click.UsageError(
                f"{shown} is for --model {' and '.join(models)}. Got --model {model} instead. Leave "
                f"{shown} out, or name another model."
            )


def kept(command: F) -> F:
    """The options of work that can be ended and go on."""

    @functools.wraps(command)
    def checked(*given: Any, **rest: Any) -> Any:
        if rest["checkpoint"] is None and is_given("every"):
            raise click.UsageError(
                "--every is for work with a --checkpoint. Got none. Name its file, or leave --every out."
            )
        return command(*given, **rest)

    every = click.option(
        "--every", default="10s", show_default=True, help="Time between checkpoints: 10s, 500ms, 2m."
    )
    what = "Keep the state in this file, and go on from it."
    return cast(F, click.option("--checkpoint", type=click.Path(), help=what)(every(checked)))


def as_json(command: F) -> F:
    """The option for machines."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(command)


def two_features(text: str | None) -> list[str]:
    """The two features to show, or none."""
    shown = list(names(text))
    if text is not None and len(shown) != 2:
        raise click.UsageError("--features takes two names or numbers, separated by a comma.")
    return shown


def online(command: F) -> F:
    """δ and η of the online perceptron."""
    threshold = click.option(
        "--threshold",
        type=click.FloatRange(0),
        default=0.0,
        show_default=True,
        help="δ of the perceptron.",
    )
    eta0 = click.option(
        "--eta0",
        type=click.FloatRange(0, min_open=True),
        default=1.0,
        show_default=True,
        help="η, its step.",
    )
    return threshold(eta0(command))
