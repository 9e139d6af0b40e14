"""``maxmargin lab``: the page where points can be dragged, with data of one's own if a file is named."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["run"]


def run(
    host: str,
    port: int,
    open_browser: bool,
    data: str | None = None,
    label: str | None = None,
    columns: list[str] | None = None,
    drop: list[str] | None = None,
    header: bool | None = None,
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
    start = None if data is None else _start(data, label, columns, drop, header, features)
    return serve(host, port, open_browser=open_browser, start=start)


def _start(
    data: str,
    label: str | None,
    columns: list[str] | None,
    drop: list[str] | None,
    header: bool | None,
    features: list[str] | None,
) -> dict[str, Any]:
    """The state to open with; how it came about goes to standard error."""
    from maxmargin.cli.reading import read_data
    from maxmargin.laboratory.opening import opening

    table = read_data(data, label, columns or (), drop or (), header)
    state, note = opening(table.X, table.y, table.names, features or None, sample=True)
    if note:
        click.echo(note, err=True)
    return state
