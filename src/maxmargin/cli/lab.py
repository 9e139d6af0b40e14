"""``maxmargin lab``: the page where points can be dragged, with data of one's own if a file is named."""

from __future__ import annotations

from typing import Any

import click

from maxmargin.cli.options import Source


def run(
    host: str,
    port: int,
    open_browser: bool,
    file: Source | None = None,
    features: list[str] | None = None,
) -> int:
    """Serve the lab until Ctrl-C; the link goes to standard output."""
    try:
        from maxmargin.laboratory.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "websockets"):
            raise
        from maxmargin.core.errors import InputError  # on use: it brings scikit-learn along

        raise InputError(
            f"The lab needs {error.name}. Got no such module. Run: pip install 'maxmargin[lab]'."
        ) from error
    start = None if file is None else _start(file, features)
    return serve(host, port, open_browser=open_browser, start=start)


def _start(file: Source, features: list[str] | None) -> dict[str, Any]:
    """The state to open with; how it came about goes to standard error."""
    from maxmargin.cli.inputs import open_table
    from maxmargin.cli.samples import draw, in_memory, is_drawable
    from maxmargin.laboratory.opening import opening
    from maxmargin.laboratory.state import LIMITS

    table = open_table(file)
    if is_drawable(table):
        table = in_memory(table, "the lab")
    else:
        sample = draw(table, most=LIMITS["points"])
        click.echo(f"{len(sample.y):,} of {len(table.y):,} rows are shown.", err=True)
        table = table._replace(X=sample.X, y=sample.y)
    state, note = opening(table.X, table.y, table.names, features or None, sample=True)
    if note:
        click.echo(note, err=True)
    return state
