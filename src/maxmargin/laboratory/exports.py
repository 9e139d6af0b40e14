"""What can be saved: the state as a Python script, a run as a trace or a film, a model as a picture.

The script is the same estimator with the same parameters on the same doubles. It prints what the page
shows: the weights of every machine with all their digits, the errors, and the verdict on the watched
machine.
"""

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

from maxmargin._version import __version__
from maxmargin.core.errors import InputError
from maxmargin.estimators.separability import separability
from maxmargin.laboratory.problem import Side, Task
from maxmargin.laboratory.recipe import MARGIN_ALGORITHMS, Recipe, fit, write_recipe
from maxmargin.laboratory.state import read_choice
from maxmargin.plots.machine import stand_in
from maxmargin.plots.style import plain as text
from maxmargin.plots.style import pyplot

LINE_WIDTH = 100  # letters in a line of the script's data


def write_script(task: Task) -> dict[str, Any]:
    """Python text that reproduces the result."""
    if not task.sides:
        raise InputError(task.why)
    recipe = write_recipe(task)
    parts = [_opening(task, recipe), _data(task), _fit(task, recipe), _report(task), _verdict(task)]
    if task.state.hand is not None:
        parts.append(_by_hand(task, task.state.hand))
    return {"python": "\n\n".join(parts) + "\n", "name": f"maxmargin-{task.state.algorithm}.py"}


def write_trace(task: Task) -> dict[str, Any]:
    """The trace of the watched machine as the library writes it; its rows are those of the script."""
    side = task.watched
    _refuse_margin(task, "trace", "Choose another algorithm.")
    model = fit(task).model
    assert model is not None
    trace = list(model.machines_.values())[task.watch].trace_
    return {"json": trace.to_json(), "rows": task.state.trained, "name": f"trace-{_slug(side)}.json"}


def _refuse_margin(task: Task, kind: str, remedy: str) -> None:
    if task.state.algorithm in MARGIN_ALGORITHMS:
        raise InputError(
            f"a {kind} must be one of a perceptron, batch perceptron or pocket. Got a margin machine "
            f"instead, which makes no updates. {remedy}"
        )


def _slug(side: Side) -> str:
    """The machine's name as part of the name of a file."""
    return "".join(c if c.isalnum() else "-" for c in side.label).strip("-")


# The parts of the script.


def _opening(task: Task, recipe: Recipe) -> str:
    kinds = {type(value).__name__ for value in recipe.params.values()}
    rules = sorted(kind for kind in kinds if kind.startswith("Max"))
    text = (
        f'"""{recipe.kind.__name__} on {len(task.X)} points: from the lab, maxmargin {__version__}."""'
        "\n\nimport numpy as np\n\nimport maxmargin as mm"
    )
    return f"{text}\nfrom maxmargin.stopping import {', '.join(rules)}" if rules else text


def _data(task: Task) -> str:
    state, held = task.state, task.state.validating
    names = ", ".join(f"{code}: {_quoted(state.labels[code])}" for code in task.classes.tolist())
    text = f"# classes {{{names}}}\nX = {_array(task.X)}\ny = {_array(task.y)}"
    if len(held):
        text += f"\nX_val = {_array(state.points[held])}\ny_val = {_array(state.classes[held])}"
    return text


def _quoted(name: str) -> str:
    """A name in a comment, which must not end the line."""
    return ascii(name) if not name.isprintable() else repr(name)


def _array(values: np.ndarray) -> str:
    """The values with all their digits, in lines of a moderate length."""
    lines = [""]
    for part in map(repr, values.tolist()):
        if lines[-1] and len(lines[-1]) + len(part) > LINE_WIDTH:
            lines.append("")
        lines[-1] += f"{part}, "
    return "np.array([\n" + "\n".join(f"    {line.rstrip()}" for line in lines) + "\n])"


def _fit(task: Task, recipe: Recipe) -> str:
    params = "".join(f"    {name}={value!r},\n" for name, value in recipe.params.items())
    start = "".join(f", {name}={value!r}" for name, value in recipe.start.items())
    fitting = f"model.fit(X, y{start})"
    if task.state.algorithm == "hard":
        fitting = (
            f'try:\n    {fitting}\nexcept mm.NotSeparableError as error:\n    print("refused:", error)'
        )
    return f"model = mm.{recipe.kind.__name__}(\n{params})\n{fitting}"


def _report(task: Task) -> str:
    """Print weights and errors; of two classes a point on the plane is an error, as in E_in."""
    wrong = "model.predict(X) != y"
    lines = ["\ndef errors(X, y):"]  # two blank lines before it
    if len(task.sides) == 1:
        up = int(task.classes[1])
        lines.append(f"    signs = np.where(y == {up}, 1.0, -1.0)  # a point on the plane is an error")
        unknown = f" | ~np.isin(y, {task.classes.tolist()})"
        wrong = f"(signs * model.decision_function(X) <= 0){unknown}"
    lines.append(f"    return int(np.count_nonzero({wrong}))")
    body = [
        'print("weights:", np.column_stack([model.coef_, model.intercept_]).tolist())',
        'print("errors:", errors(X, y), "of", len(y))',
    ]
    if len(task.state.validating):
        body.append('print("validation errors:", errors(X_val, y_val), "of", len(y_val))')
    if task.state.algorithm in MARGIN_ALGORITHMS:
        body.append('print("certificate:", model.certificate_)')
    else:
        body.append('print("stop:", model.stop_reason_)')
    if task.state.algorithm == "hard":
        body = ['if hasattr(model, "coef_"):', *(f"    {line}" for line in body)]
    return "\n".join([*lines, "", "", *body])


def _is_pair(task: Task) -> bool:
    """Whether the watched machine knows two of several classes only."""
    return len(task.sides) > 1 and len(task.watched.negative) == 1


def _verdict(task: Task) -> str:
    side = task.watched
    up = side.positive[0]
    mine = "[mine]" if _is_pair(task) else ""
    lines = [f"# the machine that is watched: {_quoted(side.label)}"]
    if mine:
        lines.append(f"mine = np.isin(y, {[side.negative[0], up]})")
    lines += [
        f"sides = (y{mine} == {up}).astype(int)",
        f"verdict = mm.separability(X{mine}, sides, fit_intercept={task.state.options.intercept})",
        'print("verdict:", verdict.kind)',
        'print("fingerprint:", verdict.proof.to_dict()["data"])',
    ]
    return "\n".join(lines)


def _by_hand(task: Task, hand: tuple[float, float, float]) -> str:
    """Judge the weights set by hand, for the machine that is watched."""
    mine = "[mine]" if _is_pair(task) else ""
    bias = " + hand[2]" if task.state.options.intercept else ""
    return (
        f"hand = {list(hand)!r}  # weights set by hand\n"
        f"f = hand[0] * X{mine}[:, 0] + hand[1] * X{mine}[:, 1]{bias}\n"
        'print("by hand:", int(np.count_nonzero((2 * sides - 1) * f <= 0)), "of", len(f))'
    )


# Films and pictures, drawn by the library.

DPI = 80
SLOW_UPDATES, FAST_UPDATES = 10, 40  # of a film, which must be drawn within the seconds of a request
MAX_POINTS = 500  # beyond which a film shows half as many updates


def draw(task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
    """The run of the watched machine as GIF, or the model as PNG, in base64."""
    form = read_choice("format", given.get("format", "gif"), ("gif", "png"))
    side = task.watched  # a sentence if there is nothing to draw
    pyplot()  # a sentence on how to get matplotlib, if it is not there
    with warnings.catch_warnings():  # on budgets, and on letters that no font has
        warnings.simplefilter("ignore")
        data = _film(task) if form == "gif" else _picture(task)
    return {
        "base64": base64.b64encode(data).decode("ascii"),
        "name": f"maxmargin-{task.state.algorithm}-{_slug(side)}.{form}",
        "type": f"image/{form}",
    }


def _film(task: Task) -> bytes:
    from maxmargin.plots.film.animation import animate

    _refuse_margin(task, "film", "Save it as PNG.")
    model, labels = _fit_labelled(task)
    machine, X, y = stand_in(model, task.X, labels, list(model.machines_)[task.watch])
    share = 1 if len(X) <= MAX_POINTS else 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.gif"
        animate(
            machine.trace_,
            X,
            y,
            path,
            slow=SLOW_UPDATES // share,
            fast=FAST_UPDATES // share,
            names=[_printable(name) for name in task.state.names],
            title=type(model).__name__,
            dpi=DPI,
        )
        return path.read_bytes()


def _picture(task: Task) -> bytes:
    from matplotlib.figure import Figure

    from maxmargin.plots.separability import SeparabilityDisplay
    from maxmargin.plots.x_space import XSpaceDisplay

    figure = Figure(figsize=(8.0, 5.5), layout="constrained")
    ax = figure.subplots()
    names = [_printable(name) for name in task.state.names]
    if fit(task).model is None:  # refused: the picture shows why
        side = task.watched
        up = _printable(task.state.labels[side.positive[0]])
        sides = np.array([f"0: not {up}", f"1: {up}"])[side.y]
        verdict = separability(side.X, sides, fit_intercept=task.state.options.intercept)
        SeparabilityDisplay.from_verdict(verdict, side.X, sides, ax=ax)
        ax.set(xlabel=text(names[0]), ylabel=text(names[1]))
    else:
        model, labels = _fit_labelled(task)
        XSpaceDisplay.from_estimator(model, task.X, labels, names=names, ax=ax)
    file = BytesIO()
    figure.savefig(file, format="png", dpi=2 * DPI)
    return file.getvalue()


def _fit_labelled(task: Task) -> tuple[Any, np.ndarray]:
    """The same fit with labels as they are to be written, and these labels."""
    recipe, labels = write_recipe(task), _printable_labels(task)
    return recipe.kind(**recipe.params).fit(task.X, labels, **recipe.start), labels


def _printable_labels(task: Task) -> np.ndarray:
    """Labels to be written, in the order of the classes: numbers, names, or names with a number."""
    names = [task.state.labels[code] for code in task.classes.tolist()]
    places = np.searchsorted(task.classes, task.y)
    if all(re.fullmatch(r"[+\-−]?\d{1,9}", name, re.ASCII) for name in names):
        numbers = [int(name.replace("−", "-")) for name in names]
        if numbers == sorted(set(numbers)):
            return np.array(numbers)[places]
    printable = [_printable(name) for name in names]
    if printable != sorted(set(printable)):
        printable = [f"{k + 1}: {name}" for k, name in enumerate(printable)]
    return np.array(printable)[places]


def _printable(name: str) -> str:
    """A name without line breaks and other signs that cannot be drawn."""
    return "".join(c if c.isprintable() else "?" for c in name).strip() or "?"
