"""What goes on while one watches: ``stream``, ``lab`` and ``demo``."""

from __future__ import annotations

from typing import Any

import click

from maxmargin.cli.group import Command
from maxmargin.cli.options import Source, as_json, from_file, kept, names, online, two_features

__all__ = ["COMMANDS", "demo", "lab", "stream"]


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


COMMANDS = stream, lab, demo
