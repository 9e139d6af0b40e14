"""A margin machine as the page shows it: margin, multipliers, slack, certificate and conditions."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.estimators.margin_classifier import MarginMachine
from maxmargin.laboratory.messages import plain, quantity
from maxmargin.laboratory.problem import Side, Task
from maxmargin.laboratory.recipe import Fitted
from maxmargin.laboratory.verdicts import find_verdict

__all__ = ["conditions", "tell_machine", "tell_refusal"]


# The conditions of Karush, Kuhn and Tucker, one by one, with how far each is from holding.
#
# Minimise ½‖w‖² + C Σ ξ_i subject to y_i (w·x_i + b) ≥ 1 − ξ_i and ξ_i ≥ 0 (hard margin: no ξ). The
# problem is convex: a point at which all conditions hold is the optimum, and only there do they hold.

TOLERANCE = 1e-6  # residuals are shares: of ‖w‖, of Σ α, of 1, of the primal value


def conditions(side: Side, machine: MarginMachine, C: float | None, tol: float) -> list[dict[str, Any]]:
    """All conditions of one machine; ``C`` is None for the hard margin, ``tol`` its relative gap."""
    proof = machine.certificate_
    alpha, xi = machine.support_dual_, machine.late_slack_
    own = np.searchsorted(side.state.trained, side.rows)  # its rows among all training rows
    m = side.margins(np.append(machine.coef_, machine.intercept_)[None], side.rows)[0]
    a, slack = machine.dual_[own], machine.slack_[own]
    total = float(alpha.sum())
    signed = float(side.signs[side.rows] @ a)
    table = [
        (
            "Stationarity",
            "w = Σ α_i y_i x_i",
            "The normal of the plane is made of the support vectors alone.",
            proof.stationarity,
        )
    ]
    if side.pad:
        table.append(
            (
                "Balance",
                "Σ α_i y_i = 0",
                "Both classes pull equally: with the bias free, nothing is left over.",
                abs(signed) / total if total > 0 else 0.0,
            )
        )
    far = "y_i f(x_i) ≥ 1" if C is None else "y_i f(x_i) ≥ 1 − ξ_i"
    table.append(
        (
            "Primal feasibility",
            far,
            "Every point is beyond its edge of the slab, or pays for it.",
            proof.primal_infeasibility,
        )
    )
    if C is not None:
        least = float(xi.min(initial=0.0))
        table.append(("Slack", "ξ_i ≥ 0", "No point is paid for being right.", max(0.0, -least)))
    low = max(0.0, -float(alpha.min(initial=0.0)))
    if C is None:
        table.append(("Dual feasibility", "α_i ≥ 0", "Points can push the plane, not pull it.", low))
    else:
        high = max(0.0, float(alpha.max(initial=0.0)) / C - 1.0)
        table.append(
            (
                "Dual feasibility",
                "0 ≤ α_i ≤ C",
                "No point pushes harder than its price C.",
                max(low, high),
            )
        )
    scale = proof.primal if proof.primal > 0 else 1.0
    slackness = float(np.abs(a * (m - 1.0 + slack)).max(initial=0.0)) / scale
    edge = "α_i (y_i f(x_i) − 1) = 0" if C is None else "α_i (y_i f(x_i) − 1 + ξ_i) = 0"
    table.append(
        ("Complementary slackness", edge, "Only points on their edge or beyond push.", slackness)
    )
    if C is not None:
        held = float(np.abs((C - a) * slack).max(initial=0.0)) / scale
        table.append(
            (
                "Complementary slack",
                "(C − α_i) ξ_i = 0",
                "Only points at the full price have slack.",
                held,
            )
        )
    rows = [_row(*entry, TOLERANCE) for entry in table]
    meaning = "The least possible value is reached: no plane has less."
    return [*rows, _row("No gap", "primal = dual", meaning, proof.relative_gap, tol)]


def _row(name: str, formula: str, meaning: str, residual: float, tolerance: float) -> dict[str, Any]:
    return {
        "name": name,
        "formula": formula,
        "meaning": meaning,
        "residual": quantity(residual),
        "tolerance": tolerance,
        "holds": bool(residual <= tolerance),
    }


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
