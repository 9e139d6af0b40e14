"""How good weights are: errors of the model on all classes, and of weights set by hand.

Two classes: a point is wrong if y·f(x) ≤ 0, so a point on the plane is an error (the library's E_in).
More classes: it is wrong if the model predicts another class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.laboratory.numbers import plain, quantity
from maxmargin.laboratory.problem import Side, Task
from maxmargin.laboratory.running import path_of

__all__ = ["judge_model", "judge_weights", "side_margin"]


def judge_model(task: Task, model: Any) -> dict[str, Any]:
    """Errors of the fitted model on training and validation points of all classes."""
    state = task.state
    predicted = np.empty(0, dtype=np.int64)
    if len(state.points):
        # Of two classes a model may have been fitted to 0 and 1 in their place.
        places = np.searchsorted(model.classes_, model.predict(state.points))
        predicted = task.classes[places]
    wrong = predicted != state.classes
    if len(task.sides) == 1:
        known = np.isin(state.classes, task.classes)
        margins = task.watched.margins(_planes(model)[:1], np.arange(len(wrong)))[0]
        wrong = np.where(known, margins <= 0, True)
    return {
        "errors": int(wrong[state.trained].sum()),
        "n": len(state.trained),
        "validation_errors": int(wrong[state.validating].sum()),
        "validation_n": len(state.validating),
        "wrong": np.flatnonzero(wrong).tolist(),
    }


def judge_weights(side: Side, weights: list[float]) -> dict[str, Any]:
    """Errors and risk of weights set by hand, for one machine."""
    Z = np.array([weights])
    everything = np.flatnonzero(side.signs)
    values = np.full(len(side.signs), np.nan)
    values[everything] = side.margins(Z, everything)[0]
    wrong = values <= 0
    errors, risk = path_of(side, Z)
    return {
        "errors": int(errors[0]),
        "n": len(side.rows),
        "validation_errors": int(wrong[side.validating].sum()),
        "validation_n": len(side.validating),
        "risk": quantity(risk[0]),
        "wrong": np.flatnonzero(wrong).tolist(),
        "values": plain(values),
        "margin": side_margin(side, Z[0]),
    }


def side_margin(side: Side, z: np.ndarray) -> float | None:
    """The least y·f(x)/‖w‖ of the training points: negative if one is wrong; None if w = 0."""
    length = float(np.hypot(z[0], z[1]))
    if not length > 0:
        return None
    return quantity(side.margins(z[None], side.rows)[0].min() / length + 0.0)  # no −0.0


def _planes(model: Any) -> np.ndarray:
    return np.column_stack([model.coef_, model.intercept_])
