"""``maxmargin plot``: one picture of a file and a model, or the film of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from maxmargin.cli.columns import check_columns
from maxmargin.cli.inputs import cannot_write, check_target, open_table
from maxmargin.cli.needs import FILM, NEEDS, check_need, find_label, labels_of
from maxmargin.cli.options import Source
from maxmargin.cli.pictures import Picture
from maxmargin.cli.samples import in_memory, is_drawable
from maxmargin.core.errors import InputError

__all__ = ["run"]

ENDINGS = (".png", ".svg", ".pdf", ".jpg")


def run(
    file: Source,
    model: str,
    C: float,
    intercept: bool,
    kind: str,
    machine: str | None,
    features: list[str],
    out: str,
    film: str | None,
    tempo: dict[str, float],
) -> int:
    """Draw and save; print where; return 0."""
    from maxmargin.plots.style import pyplot

    pyplot().switch_backend("Agg")
    name, need = (f"--kind {kind}", NEEDS[kind]) if film is None else ("--animate", FILM)
    if features and not need.features:
        raise InputError(f"--features is for x-space, separability and --animate. Got {name} instead.")
    if film is None:
        _check_out(out)
    else:
        _check_film(film, kind)
    data = open_table(file)
    labels = labels_of(data.y, file.path)
    alone = None if machine is None else find_label(machine, labels)
    n, d = data.shape
    check_need(
        name, need, model=model, intercept=intercept, d=d, n=n, labels=labels, alone=machine is not None
    )
    check_columns(data, file, labels)
    shown = {"features": tuple(map(_column(data.names), features))} if features else {}
    if need.shows == "rows" or is_drawable(data):
        data = in_memory(data, name)
    picture = Picture(data, model, C, intercept, alone, shown)
    if film is not None:
        picture.film(film, tempo)
    else:
        _save(picture.draw(kind), out, picture.machine_name, picture.note)
    click.echo(out if film is None else film)
    return 0


def _check_out(out: str) -> None:
    if Path(out).suffix.lower() not in ENDINGS:
        raise InputError(f"--out must end in one of {', '.join(ENDINGS)}. Got {out!r} instead.")
    check_target(out, "--out")


def _check_film(film: str, kind: str) -> None:
    from maxmargin.plots.film.writers import find_writer

    if kind != "x-space":
        raise InputError(f"--kind {kind} and --animate are two pictures. Leave one of them out.")
    find_writer(film, "--animate")


def _column(names: list[str]) -> Callable[[str], int]:
    def column(name: str) -> int:
        if name in names:
            return names.index(name)
        if name.isascii() and name.isdigit() and int(name) < len(names):
            return int(name)
        raise InputError(f"--features must name two of {', '.join(names[:20])}. Got {name!r} instead.")

    return column


def _save(display: Any, out: str, machine: str, note: str) -> None:
    ax = getattr(display, "ax_", None)
    figure = display.figure_ if ax is None and hasattr(display, "figure_") else None
    if figure is None:
        figure = (ax if ax is not None else display.x_ax_).figure
    if machine:
        figure.suptitle(": ".join(filter(None, (figure.get_suptitle(), machine))))
    if note:
        click.echo(note, err=True)
        figure.supxlabel(note, fontsize=9, color="#4D4D4D")
    try:
        figure.savefig(out, dpi=150)
    except OSError as error:
        raise cannot_write(out, "--out", error.strerror or str(error)) from error
