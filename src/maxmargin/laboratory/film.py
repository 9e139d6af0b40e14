"""A run as a film and a model as a picture, drawn by the library."""

from __future__ import annotations

import base64
import re
import tempfile
import warnings
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.estimators.separability import separability
from maxmargin.laboratory.problem import Task
from maxmargin.laboratory.recipe import MARGIN, fit, write_recipe
from maxmargin.laboratory.state import read_choice
from maxmargin.plots.machine import stand_in
from maxmargin.plots.style import pyplot

FORMATS = ("gif", "png")
SLOW, FAST = 10, 40  # updates of a film, which must be drawn within the seconds of a request
MANY = 500  # points beyond which there are half as many
DPI = 80


def draw(task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
    """The run of the watched machine as GIF, or the model as PNG, in base64."""
    form = read_choice("format", given.get("format", "gif"), FORMATS)
    side = task.watched  # a sentence if there is nothing to draw
    pyplot()  # a sentence on how to get matplotlib, if it is not there
    named = _pictured(task)
    with warnings.catch_warnings():  # on budgets, and on letters that no font has
        warnings.simplefilter("ignore")
        data = _film(task, named) if form == "gif" else _picture(task, named)
    name = "".join(c if c.isalnum() else "-" for c in side.label).strip("-")
    return {
        "base64": base64.b64encode(data).decode("ascii"),
        "name": f"maxmargin-{task.state.algorithm}-{name}.{form}",
        "type": f"image/{form}",
    }


def _film(task: Task, named: np.ndarray) -> bytes:
    from maxmargin.plots.film.animation import animate

    if task.state.algorithm in MARGIN:
        raise InputError(
            "a film must be one of a perceptron, batch perceptron or pocket. Got a margin machine "
            "instead, which makes no updates. Save it as PNG."
        )
    model = _fit(task, named)
    label = list(model.machines_)[task.watch]
    machine, X, y = stand_in(model, task.X, named, label)
    few = 1 if len(X) <= MANY else 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.gif"
        animate(
            machine.trace_,
            X,
            y,
            path,
            slow=SLOW // few,
            fast=FAST // few,
            names=[_plain(name) for name in task.state.names],
            title=type(model).__name__,
            dpi=DPI,
        )
        return path.read_bytes()


def _picture(task: Task, named: np.ndarray) -> bytes:
    from matplotlib.figure import Figure

    from maxmargin.plots.separation import SeparabilityDisplay
    from maxmargin.plots.xspace import XSpaceDisplay

    figure = Figure(figsize=(8.0, 5.5), layout="constrained")
    ax = figure.subplots()
    names = [_plain(name) for name in task.state.names]
    if fit(task).model is None:  # refused: the picture shows why
        side = task.watched
        up = _plain(task.state.labels[side.positive[0]])
        sides = np.array([f"0: not {up}", f"1: {up}"])[side.y]
        verdict = separability(side.X, sides, fit_intercept=task.state.options.intercept)
        SeparabilityDisplay.from_verdict(verdict, side.X, sides, ax=ax)
        ax.set(xlabel=names[0], ylabel=names[1])
    else:
        XSpaceDisplay.from_estimator(_fit(task, named), task.X, named, names=names, ax=ax)
    file = BytesIO()
    figure.savefig(file, format="png", dpi=2 * DPI)
    return file.getvalue()


def _fit(task: Task, named: np.ndarray) -> Any:
    """The same fit with labels as they are to be written."""
    recipe = write_recipe(task)
    return recipe.kind(**recipe.params).fit(task.X, named, **recipe.start)


def _pictured(task: Task) -> np.ndarray:
    """Labels to be written, in the order of the classes: numbers, names, or names with a number."""
    names = [task.state.labels[code] for code in task.classes.tolist()]
    places = np.searchsorted(task.classes, task.y)
    numbers = []
    if all(re.fullmatch(r"[+\-−]?\d{1,9}", name, re.ASCII) for name in names):
        numbers = [int(name.replace("−", "-")) for name in names]
    if numbers and numbers == sorted(set(numbers)):
        return np.array(numbers)[places]
    printable = [_plain(name) for name in names]
    if printable != sorted(set(printable)):
        printable = [f"{k + 1}: {name}" for k, name in enumerate(printable)]
    return np.array(printable)[places]


def _plain(name: str) -> str:
    """A name that is text and no formula."""
    return "".join(c if c.isprintable() else "?" for c in name).replace("$", r"\$").strip() or "?"
