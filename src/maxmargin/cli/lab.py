"""``maxmargin lab``: the page where points can be dragged, with data of one's own if a file is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

import maxmargin as mm
from maxmargin import cli
from maxmargin.cli import options


@click.command()
@options.data(required=False)
@options.features
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
def lab(
    file: options.Source | None, features: str | None, host: str, port: int, open_browser: bool
) -> int:
    """Open the lab: a page where points can be dragged and every update watched.

    DATA, if given, is what it opens with. The link is printed; Ctrl-C ends the lab.
    """
    shown = options.two_features(features)
    try:
        from maxmargin.laboratory.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "websockets"):
            raise
        raise mm.InputError(
            f"The lab needs {error.name}. Got no such module. Run: pip install 'maxmargin[lab]'."
        ) from error
    start = None if file is None else _opening_state(file, shown)
    return serve(host, port, open_browser=open_browser, start=start)


def _opening_state(file: options.Source, features: Sequence[str]) -> dict[str, Any]:
    """Return the state to open with; how it came about goes to standard error."""
    from maxmargin.laboratory.state import LIMITS
    from maxmargin.laboratory.tables import opening
    from maxmargin.plots.sample import draw, is_drawable, load_drawable

    table = cli.inputs.open_table(file)
    if is_drawable(table.X):
        table = table._replace(X=load_drawable(table.X))
    else:
        sample = draw(table.X, table.y, max_rows=LIMITS["points"])
        click.echo(f"{len(sample.y):,} of {len(table.y):,} rows are shown.", err=True)
        table = table._replace(X=sample.X, y=sample.y)
    state, note = opening(table.X, table.y, table.names, list(features) or None, sample=True)
    if note:
        click.echo(note, err=True)
    return state
