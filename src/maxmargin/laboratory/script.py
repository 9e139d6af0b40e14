"""The state as a script: the same estimator with the same parameters on the same doubles.

What it prints is what the page shows: the weights of every machine with all their digits, the errors,
and the verdict on the machine that is watched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._version import __version__
from maxmargin.core.errors import InputError
from maxmargin.laboratory.problem import Task
from maxmargin.laboratory.recipe import MARGIN, Recipe, fit, write_recipe

WIDTH = 100  # letters in a line of data


def write_script(task: Task) -> dict[str, Any]:
    """Python text that reproduces the result."""
    if not task.sides:
        raise InputError(task.why)
    recipe = write_recipe(task)
    parts = [_opening(task, recipe), _data(task), _fit(task, recipe), _report(task), _verdict(task)]
    if task.state.hand is not None:
        parts.append(_by_hand(task))
    return {"python": "\n\n".join(parts) + "\n", "name": f"maxmargin-{task.state.algorithm}.py"}


def write_trace(task: Task) -> dict[str, Any]:
    """The trace of the watched machine as the library writes it; its rows are those of the script."""
    side = task.watched
    if task.state.algorithm in MARGIN:
        raise InputError(
            "a trace must be one of a perceptron, batch perceptron or pocket. Got a margin machine "
            "instead, which makes no updates. Choose another algorithm."
        )
    model = fit(task).model
    assert model is not None
    trace = list(model.machines_.values())[task.watch].trace_
    name = "".join(c if c.isalnum() else "-" for c in side.label).strip("-")
    return {"json": trace.to_json(), "rows": task.state.trained.tolist(), "name": f"trace-{name}.json"}


def _opening(task: Task, recipe: Recipe) -> str:
    rules = sorted(
        {type(v).__name__ for v in recipe.params.values() if type(v).__name__.startswith("Max")}
    )
    lines = [
        f'"""{recipe.kind.__name__} on {len(task.X)} points: from the lab, maxmargin {__version__}."""',
        "",
        "import numpy as np",
        "",
        "import maxmargin as mm",
    ]
    if rules:
        lines.append(f"from maxmargin.stopping import {', '.join(rules)}")
    return "\n".join(lines)


def _data(task: Task) -> str:
    state = task.state
    names = ", ".join(f"{code}: {_quoted(state.labels[code])}" for code in task.classes.tolist())
    text = f"# classes {{{names}}}\nX = np.array({_rows(task.X)})\ny = np.array({_list(task.y)})"
    if len(state.validating):
        held = state.points[state.validating], state.classes[state.validating]
        text += f"\nX_val = np.array({_rows(held[0])})\ny_val = np.array({_list(held[1])})"
    return text


def _quoted(name: str) -> str:
    """A name in a comment, which must not end the line."""
    return ascii(name) if not name.isprintable() else repr(name)


def _rows(X: np.ndarray) -> str:
    return _wrapped([f"[{x!r}, {y!r}]" for x, y in X.tolist()])


def _list(values: np.ndarray) -> str:
    return _wrapped([repr(v) for v in values.tolist()])


def _wrapped(parts: list[str]) -> str:
    lines, line = [], ""
    for part in parts:
        if line and len(line) + len(part) > WIDTH:
            lines.append(line)
            line = ""
        line += f"{part}, "
    lines.append(line)
    return "[\n" + "\n".join(f"    {one.rstrip()}" for one in lines) + "\n]"


def _fit(task: Task, recipe: Recipe) -> str:
    params = "".join(f"    {name}={value!r},\n" for name, value in recipe.params.items())
    start = "".join(f", {name}={value!r}" for name, value in recipe.start.items())
    fitting = f"model.fit(X, y{start})"
    text = f"model = mm.{recipe.kind.__name__}(\n{params})"
    if task.state.algorithm == "hard":
        return (
            f"{text}\ntry:\n    {fitting}\nexcept mm.NotSeparableError as error:\n"
            '    print("refused:", error)'
        )
    return f"{text}\n{fitting}"


def _report(task: Task) -> str:
    """Print weights and errors; of two classes a point on the plane is an error, as in E_in."""
    two = len(task.sides) == 1
    wrong = "model.predict(X) != y"
    lines = ["\ndef errors(X, y):"]  # two blank lines before it
    if two:
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
    if task.state.algorithm in MARGIN:
        body.append('print("certificate:", model.certificate_)')
    else:
        body.append('print("stop:", model.stop_reason_)')
    if task.state.algorithm == "hard":
        body = ['if hasattr(model, "coef_"):', *(f"    {line}" for line in body)]
    return "\n".join([*lines, "", "", *body])


def _verdict(task: Task) -> str:
    side = task.watched
    up = side.positive[0]
    mine = ""
    lines = [f"# the machine that is watched: {_quoted(side.label)}"]
    if len(task.sides) > 1 and len(side.negative) == 1:
        lines.append(f"mine = np.isin(y, {[side.negative[0], up]})")
        mine = "[mine]"
    lines += [
        f"sides = (y{mine} == {up}).astype(int)",
        f"verdict = mm.separability(X{mine}, sides, fit_intercept={task.state.options.intercept})",
        'print("verdict:", verdict.kind)',
        'print("fingerprint:", verdict.proof.to_dict()["data"])',
    ]
    return "\n".join(lines)


def _by_hand(task: Task) -> str:
    """Judge the weights set by hand, for the machine that is watched."""
    hand = task.state.hand
    assert hand is not None
    mine = "[mine]" if len(task.sides) > 1 and len(task.watched.negative) == 1 else ""
    bias = " + hand[2]" if task.state.options.intercept else ""
    return "\n".join(
        [
            f"hand = {list(hand)!r}  # weights set by hand",
            f"f = hand[0] * X{mine}[:, 0] + hand[1] * X{mine}[:, 1]{bias}",
            'print("by hand:", int(np.count_nonzero((2 * sides - 1) * f <= 0)), "of", len(f))',
        ]
    )
