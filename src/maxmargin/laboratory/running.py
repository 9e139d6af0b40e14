"""A recorded run of the watched machine: every update, and what it did to errors and risk.

The trace is the library's. Errors after each update are counted as the library counts E_in, a row with
y·f(x) ≤ 0, and R is its perceptron risk, for many weights at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.laboratory.numbers import plain
from maxmargin.laboratory.problem import Side, Task
from maxmargin.laboratory.recipe import Fitted
from maxmargin.rows import as_rows
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.perceptron.risk import Risk
from maxmargin.solvers.problem import Machine

__all__ = ["path_of", "tell_run"]

BLOCK = 1 << 20  # numbers at a time


def tell_run(task: Task, fitted: Fitted) -> dict[str, Any]:
    """The run of the watched machine, as the page plays it."""
    model, side, state = fitted.model, task.watched, task.state
    assert model is not None
    machine = list(model.machines_.values())[task.watch]
    trace, reason = machine.trace_, machine.stop_reason_
    Z = trace.weights
    errors, risk = path_of(side, Z)
    final = np.append(machine.coef_, machine.intercept_)
    validation = final_validation = None
    if len(side.validating):
        *validation, final_validation = _errors(side, np.vstack([Z, final]), side.validating).tolist()
    rows = np.array([u.row for u in trace], dtype=np.int64)
    rows = np.where(rows < 0, -1, state.trained[rows]) if len(rows) else rows
    return {
        "start": plain(trace.start),
        "updates": {
            "step": [u.step for u in trace],
            "row": rows.tolist(),
            "margin": [u.margin for u in trace],
            "weights": plain(Z[1:]),
        },
        "errors": errors.tolist(),
        "validation": validation,
        "best": np.minimum.accumulate(errors).tolist(),
        "risk": plain(risk),
        "n": len(side.rows),
        "validation_n": len(side.validating),
        "mistakes": machine.n_mistakes_,
        "epochs": machine.n_iter_,
        "stop": str(reason),
        "finished": bool(reason.solved),
        "cut": "max_updates" in reason.rule,
        "final": plain(final),
        "final_risk": float(path_of(side, final[None])[1][0]),
        "final_validation": final_validation,
        "final_note": _note(task, model),
        "words": {"update": "step" if state.algorithm == "batch" else "mistake"},
    }


def path_of(side: Side, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Training errors and R of a machine for each z of Z."""
    y = side.y
    machine = Machine("", 1, 0, np.arange(len(y)), np.ones(2))
    risk = Risk(Examples(as_rows(side.X), y, side.pad), [machine])
    errors = np.empty(len(Z), dtype=np.int64)
    values = np.empty(len(Z))
    for part in _parts(len(Z), len(y)):
        M = risk.margins(np.ascontiguousarray(Z[part]))
        errors[part] = np.count_nonzero(M <= 0, axis=1)
        values[part] = risk.value(M)
    return errors, values


def _errors(side: Side, Z: np.ndarray, rows: np.ndarray) -> np.ndarray:
    counts = np.empty(len(Z), dtype=np.int64)
    for part in _parts(len(Z), len(rows)):
        counts[part] = np.count_nonzero(side.margins(Z[part], rows) <= 0, axis=1)
    return counts


def _parts(many: int, rows: int) -> list[slice]:
    step = max(1, BLOCK // max(1, rows))
    return [slice(k, k + step) for k in range(0, many, step)]


def _note(task: Task, model: Any) -> str:
    """In what the model's weights may differ from those after the last update."""
    if task.state.algorithm == "perceptron" and task.state.options.averaged:
        return "the average of all iterates"
    if task.state.algorithm == "pocket":
        return "the pocket, polished" if model.polish else "the pocket: the best of all iterates"
    return ""
