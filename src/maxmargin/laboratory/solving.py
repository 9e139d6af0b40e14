"""The main question of the page: what the data, the algorithm and the proof say."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.laboratory.judging import judge_model, side_margin
from maxmargin.laboratory.machine import tell_machine, tell_refusal
from maxmargin.laboratory.numbers import plain, quantity
from maxmargin.laboratory.problem import Task, read_task
from maxmargin.laboratory.recipe import MARGIN, Fitted, fit
from maxmargin.laboratory.running import path_of, tell_run
from maxmargin.laboratory.state import State
from maxmargin.laboratory.verdicts import tell_bound, tell_verdict

__all__ = ["solve"]


def solve(state: State, *, quick: bool = False) -> dict[str, Any]:
    """Everything about the data and the algorithm.

    The verdict and the mistake bound of the watched machine, a line for every machine, the run of a
    perceptron or the certificate of a margin machine, and the errors of the whole model. Rows are those
    of the state. ``quick`` means fewer updates and no polish of the pocket, while a point is moved.
    """
    task = read_task(state)
    counts = {"n": len(state.points), "trained": len(state.trained), "scheme": state.options.scheme}
    if not task.sides:
        return {**counts, **_nothing(task)}
    fitted = fit(task, quick=quick)
    margin = state.algorithm in MARGIN
    answer: dict[str, Any] = {
        **counts,
        "usable": True,
        "why": "",
        "machines": _machines(task, fitted),
        "watch": task.watch,
        "run": None,
        "bound": tell_bound(task.watched),
        "verdict": tell_verdict(task.watched),
        "machine": None,
        "judged": None,
        "planes": [],
    }
    if fitted.model is None:
        return {**answer, "machine": tell_refusal(task, fitted)}
    answer["run"] = None if margin else tell_run(task, fitted)
    answer["machine"] = tell_machine(task, fitted) if margin else None
    answer["judged"] = judge_model(task, fitted.model)
    answer["planes"] = [machine["weights"] for machine in answer["machines"]]
    return answer


def _nothing(task: Task) -> dict[str, Any]:
    verdict: dict[str, Any] | None = None
    if len(task.classes) == 1:
        verdict = {
            **dict.fromkeys(("plane", "margin", "nearest", "witness", "fingerprint")),
            "status": "one class",
            "sentence": task.why,
            "proven": True,
            "hulls": {"positive": [], "negative": []},
        }
    empty = dict.fromkeys(("run", "bound", "machine", "judged"))
    return {
        **empty,
        "usable": False,
        "why": task.why,
        "machines": [],
        "watch": 0,
        "verdict": verdict,
        "planes": [],
    }


def _machines(task: Task, fitted: Fitted) -> list[dict[str, Any]]:
    """A line for every machine."""
    if fitted.model is None:
        return [_refused(task, k, fitted) for k in range(len(task.sides))]
    lines = []
    for side, machine in zip(task.sides, fitted.model.machines_.values(), strict=True):
        z = np.append(machine.coef_, machine.intercept_)
        margins = hasattr(machine, "certificate_")
        lines.append(
            {
                "label": side.label,
                "positive": list(side.positive),
                "negative": [k for k in side.negative if k in task.classes],
                "weights": plain(z),
                "errors": int(path_of(side, z[None])[0][0]),
                "n": len(side.rows),
                "mistakes": None if margins else machine.n_mistakes_,
                "stop": _optimal(machine, fitted) if margins else str(machine.stop_reason_),
                "margin": quantity(machine.margin_) if margins else side_margin(side, z),
                "gap": quantity(machine.certificate_.gap) if margins else None,
            }
        )
    return lines


def _refused(task: Task, k: int, fitted: Fitted) -> dict[str, Any]:
    side = task.sides[k]
    empty = dict.fromkeys(("weights", "errors", "mistakes", "margin", "gap"))
    return {
        **empty,
        "label": side.label,
        "positive": list(side.positive),
        "negative": [c for c in side.negative if c in task.classes],
        "n": len(side.rows),
        "stop": "Not separable." if k in fitted.refused else "Separable, but other machines are not.",
    }


def _optimal(machine: Any, fitted: Fitted) -> str:
    proof = machine.certificate_
    assert fitted.model is not None
    if proof.relative_gap <= fitted.model.tol:
        return f"Optimal: the relative gap is {proof.relative_gap:.1e} after {proof.n_passes} passes."
    return " ".join(fitted.notes) or f"The relative gap is {proof.relative_gap:.1e}."
