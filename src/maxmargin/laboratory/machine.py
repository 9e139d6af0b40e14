"""A margin machine as the page shows it: margin, multipliers, slack, certificate and conditions."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.estimators.marginmachine import MarginMachine
from maxmargin.laboratory.kkt import conditions
from maxmargin.laboratory.numbers import plain, quantity
from maxmargin.laboratory.problem import Side, Task
from maxmargin.laboratory.recipe import Fitted
from maxmargin.laboratory.verdicts import find_verdict

__all__ = ["tell_machine", "tell_refusal"]

FLAT = "The optimum is w = 0, which is no plane: slack is cheaper than any slab. Raise C."
EDGE = 1e-6  # |y·f(x) − 1| up to which a point is on the edge of the slab


def tell_machine(task: Task, fitted: Fitted) -> dict[str, Any]:
    """The watched machine: the solution, and how it is known to be one."""
    assert fitted.model is not None
    machine: MarginMachine = list(fitted.model.machines_.values())[task.watch]
    side, proof = task.watched, machine.certificate_
    n = len(task.state.points)
    alpha, xi = np.zeros(n), np.zeros(n)
    alpha[task.state.trained], xi[task.state.trained] = machine.dual_, machine.slack_
    values = np.full(n, np.nan)
    some = np.flatnonzero(side.signs)
    z = np.append(machine.coef_, machine.intercept_)
    values[some] = side.margins(z[None], some)[0]
    progress = [[p.n_passes, p.primal, p.dual] for p in machine.progress_]
    bounded = task.state.algorithm == "soft"
    return {
        "weights": plain(z),
        "margin": quantity(machine.margin_),
        "slab": quantity(machine.slab_width_),
        "alpha": plain(alpha),
        "xi": plain(xi),
        "values": plain(values),
        "kind": _kinds(values, _free(task, machine)),
        "primal": quantity(proof.primal),
        "dual": quantity(proof.dual),
        "gap": quantity(proof.gap),
        "relative_gap": quantity(proof.relative_gap),
        "passes": machine.n_passes_,
        "progress": [p for p in progress if np.isfinite(p[1:]).all()],
        "support": task.state.trained[machine.support_].tolist(),
        "kkt": conditions(side, machine, task.state.options.C if bounded else None, fitted.model.tol),
        "note": " ".join([*fitted.notes, *([] if machine.coef_.any() else [FLAT])]),
    }


def tell_refusal(task: Task, fitted: Fitted) -> dict[str, Any]:
    """Why the hard margin has no solution, and the points that show it."""
    bad = [task.sides[k] for k in fitted.refused]
    side = task.watched if task.watch in fitted.refused else bad[0]
    witness = find_verdict(side).verdict.witness
    rows = [] if witness is None else side.rows[witness.rows].tolist()
    remedy = "The soft margin allows for slack."
    if len(task.sides) == 1:
        text = f"The hard margin has no solution: no plane separates {_pair(side)}. {remedy}"
    else:
        names = "; ".join(one.label for one in bad)
        text = f"The hard margin needs every machine separable. Not separable: {names}. {remedy}"
    return {"refused": text, "witness": rows}


def _pair(side: Side) -> str:
    return side.label.replace(" against ", " from ")


def _free(task: Task, machine: MarginMachine) -> np.ndarray:
    """Rows with 0 < α_i < C, which lie on the edge whatever rounding says."""
    return np.asarray(task.state.trained[machine.free_support_])


def _kinds(values: np.ndarray, free: np.ndarray) -> list[str | None]:
    known = ~np.isnan(values)
    kinds = np.full(len(values), None, dtype=object)
    kinds[known] = "inside"
    kinds[known & (values > 1.0)] = "outside"
    kinds[known & (values <= 0.0)] = "wrong side"
    kinds[known & (np.abs(values - 1.0) <= EDGE)] = "on the edge"
    kinds[free] = "on the edge"
    return list(kinds.tolist())
