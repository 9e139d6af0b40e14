"""The main answer of the page: what the data, the algorithm and the proof say.

A margin machine is shown with its margin, multipliers, slack, certificate and conditions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.estimators.margin_machine import MarginMachine
from maxmargin.laboratory.problem import Side, Task, read_task
from maxmargin.laboratory.protocol import in_lab
from maxmargin.laboratory.recipe import MARGIN_ALGORITHMS, Fitted, fit
from maxmargin.laboratory.state import State
from maxmargin.laboratory.verdicts import analyse, describe_bound, describe_verdict


def solve(state: State, *, quick: bool = False) -> dict[str, Any]:
    """Everything about the data and the algorithm.

    The verdict and the mistake bound of the watched machine, a line for every machine, the run of a
    perceptron or the certificate of a margin machine, and the errors of the whole model. Rows are those
    of the state. ``quick`` means fewer updates and no polish of the pocket, while a point is moved.
    """
    task = read_task(state)
    answer: dict[str, Any] = {
        "n": len(state.points),
        "trained": len(state.trained),
        "scheme": state.options.scheme,
        "usable": bool(task.sides),
        "why": task.why,
        "machines": [],
        "watch": task.watch if task.sides else 0,
        "planes": [],
        **dict.fromkeys(("run", "bound", "verdict", "machine", "judged")),
    }
    if not task.sides:
        return answer | {"verdict": _one_class(task) if len(task.classes) == 1 else None}
    fitted = fit(task, quick=quick)
    answer["machines"] = _machines(task, fitted)
    answer["bound"] = describe_bound(task.watched)
    answer["verdict"] = describe_verdict(task.watched)
    if fitted.model is None:
        return answer | {"machine": _refusal(task, fitted)}
    if state.algorithm in MARGIN_ALGORITHMS:
        answer["machine"] = _margin_machine(task, fitted)
    else:
        answer["run"] = _run(task, fitted)
    answer["judged"] = _judge_model(task, fitted.model)
    answer["planes"] = [machine["weights"] for machine in answer["machines"]]
    return answer


def _one_class(task: Task) -> dict[str, Any]:
    return {
        **dict.fromkeys(("plane", "margin", "fewest_errors", "nearest", "witness", "fingerprint")),
        "status": "one class",
        "sentence": task.why,
        "proven": True,
        "hulls": {"positive": [], "negative": []},
    }


def _machines(task: Task, fitted: Fitted) -> list[dict[str, Any]]:
    """A line for every machine."""
    lines: list[dict[str, Any]] = [
        {
            **dict.fromkeys(("weights", "errors", "mistakes", "margin", "gap")),
            "label": side.label,
            "positive": side.positive,
            "negative": [k for k in side.negative if k in task.classes],
            "n": len(side.rows),
        }
        for side in task.sides
    ]
    if fitted.model is None:
        for k, line in enumerate(lines):
            refused = k in fitted.refused
            line["stop"] = "Not separable." if refused else "Separable, but other machines are not."
        return lines
    for line, side, machine in zip(lines, task.sides, fitted.model.machines_.values(), strict=True):
        z = np.append(machine.coef_, machine.intercept_)
        line |= {"weights": z, "errors": errors_and_risk(side, z[None], side.rows)[0][0]}
        if hasattr(machine, "certificate_"):
            line |= {"margin": machine.margin_, "gap": machine.certificate_.gap}
            line["stop"] = _optimality(machine, fitted)
        else:
            line |= {"margin": _margin(side, z), "mistakes": machine.n_mistakes_}
            line["stop"] = in_lab(machine.stop_reason_.sentence)
    return lines


def _optimality(machine: Any, fitted: Fitted) -> str:
    proof = machine.certificate_
    assert fitted.model is not None
    if proof.relative_gap <= fitted.model.tol:
        return f"Optimal: the relative gap is {proof.relative_gap:.1e} after {proof.n_passes} passes."
    return " ".join(fitted.notes) or f"The relative gap is {proof.relative_gap:.1e}."


def _margin(side: Side, z: np.ndarray) -> float | None:
    """The least y·f(x)/‖w‖ of the training points: negative if one is wrong; None if w = 0."""
    length = float(np.hypot(z[0], z[1]))
    if not length > 0:
        return None
    return float(side.margins(z[None], side.rows)[0].min() / length + 0.0)  # no −0.0


# The watched machine of a hard or soft margin: the solution, and how it is known to be one.

NO_PLANE = "The optimum is w = 0, which is no plane: slack is cheaper than any slab. Raise C."
EDGE_TOLERANCE = 1e-6  # |y·f(x) − 1| up to which a point is on the edge of the slab


def _margin_machine(task: Task, fitted: Fitted) -> dict[str, Any]:
    assert fitted.model is not None
    machine: MarginMachine = list(fitted.model.machines_.values())[task.watch]
    side, proof, trained = task.watched, machine.certificate_, task.state.trained
    n = len(task.state.points)
    alpha, xi = np.zeros(n), np.zeros(n)
    alpha[trained], xi[trained] = machine.dual_, machine.slack_
    z = np.append(machine.coef_, machine.intercept_)
    values = _all_margins(side, z)
    progress = [[p.n_passes, p.primal, p.dual] for p in machine.progress_]
    C = task.state.options.C if task.state.algorithm == "soft" else None
    return {
        "weights": z,
        "margin": machine.margin_,
        "slab": machine.slab_width_,
        "alpha": alpha,
        "xi": xi,
        "values": values,
        # Rows with 0 < α_i < C lie on the edge whatever rounding says.
        "kind": _kinds(values, trained[machine.free_support_]),
        "primal": proof.primal,
        "dual": proof.dual,
        "gap": proof.gap,
        "relative_gap": proof.relative_gap,
        "passes": machine.n_passes_,
        "progress": [p for p in progress if np.isfinite(p[1:]).all()],
        "support": trained[machine.support_],
        "kkt": _conditions(side, machine, C, fitted.model.tol),
        "note": " ".join([*fitted.notes, *([] if machine.coef_.any() else [NO_PLANE])]),
    }


def _all_margins(side: Side, z: np.ndarray) -> np.ndarray:
    """y·f(x) of all points of the state; nan for classes the machine does not know."""
    values = np.full(len(side.signs), np.nan)
    known = np.flatnonzero(side.signs)
    values[known] = side.margins(z[None], known)[0]
    return values


def _kinds(values: np.ndarray, free: np.ndarray) -> np.ndarray:
    kinds = np.full(len(values), None, dtype=object)
    kinds[~np.isnan(values)] = "inside"
    kinds[values > 1.0] = "outside"
    kinds[values <= 0.0] = "wrong side"
    kinds[np.abs(values - 1.0) <= EDGE_TOLERANCE] = "on the edge"
    kinds[free] = "on the edge"
    return kinds


def _refusal(task: Task, fitted: Fitted) -> dict[str, Any]:
    """Why the hard margin has no solution, and the points that show it."""
    bad = [task.sides[k] for k in fitted.refused]
    side = task.watched if task.watch in fitted.refused else bad[0]
    witness = analyse(side).verdict.witness
    remedy = "The soft margin allows for slack."
    if len(task.sides) == 1:
        pair = side.label.replace(" against ", " from ")
        text = f"The hard margin has no solution: no plane separates {pair}. {remedy}"
    else:
        names = "; ".join(one.label for one in bad)
        text = f"The hard margin needs every machine separable. Not separable: {names}. {remedy}"
    return {"refused": text, "witness": [] if witness is None else side.rows[witness.rows]}


# The conditions of Karush, Kuhn and Tucker, one by one, with how far each is from holding.
#
# Minimise ½‖w‖² + C Σ ξ_i subject to y_i (w·x_i + b) ≥ 1 − ξ_i and ξ_i ≥ 0 (hard margin: no ξ). The
# problem is convex: a point at which all conditions hold is the optimum, and only there do they hold.

KKT_TOLERANCE = 1e-6  # residuals are shares: of ‖w‖, of Σ α, of 1, of the primal value

# Name, formula for the hard margin and for the soft margin ("" if there is no such condition), meaning.
CONDITIONS = (
    (
        "Stationarity",
        "w = Σ α_i y_i x_i",
        "w = Σ α_i y_i x_i",
        "The normal of the plane is made of the support vectors alone.",
    ),
    (
        "Balance",
        "Σ α_i y_i = 0",
        "Σ α_i y_i = 0",
        "Both classes pull equally: with the bias free, nothing is left over.",
    ),
    (
        "Primal feasibility",
        "y_i f(x_i) ≥ 1",
        "y_i f(x_i) ≥ 1 − ξ_i",
        "Every point is beyond its edge of the slab, or pays for it.",
    ),
    ("Slack", "", "ξ_i ≥ 0", "No point is paid for being right."),
    ("Dual feasibility", "α_i ≥ 0", "", "Points can push the plane, not pull it."),
    ("Dual feasibility", "", "0 ≤ α_i ≤ C", "No point pushes harder than its price C."),
    (
        "Complementary slackness",
        "α_i (y_i f(x_i) − 1) = 0",
        "α_i (y_i f(x_i) − 1 + ξ_i) = 0",
        "Only points on their edge or beyond push.",
    ),
    ("Complementary slack", "", "(C − α_i) ξ_i = 0", "Only points at the full price have slack."),
    (
        "No gap",
        "primal = dual",
        "primal = dual",
        "The least possible value is reached: no plane has less.",
    ),
)


def _conditions(side: Side, machine: MarginMachine, C: float | None, tol: float) -> list[dict[str, Any]]:
    """All conditions of one machine; ``C`` is None for the hard margin, ``tol`` its relative gap."""
    proof = machine.certificate_
    alpha = machine.support_dual_
    own = np.searchsorted(side.state.trained, side.rows)  # its rows among all training rows
    m = side.margins(np.append(machine.coef_, machine.intercept_)[None], side.rows)[0]
    a, slack = machine.dual_[own], machine.slack_[own]
    total = float(alpha.sum())
    scale = proof.primal if proof.primal > 0 else 1.0
    below = max(0.0, -float(alpha.min(initial=0.0)))
    residuals = {
        "Stationarity": proof.stationarity,
        "Primal feasibility": proof.primal_infeasibility,
        "Dual feasibility": below,
        "Complementary slackness": np.abs(a * (m - 1.0 + slack)).max(initial=0.0) / scale,
        "No gap": proof.relative_gap,
    }
    if side.pad:
        signed = float(side.signs[side.rows] @ a)
        residuals["Balance"] = abs(signed) / total if total > 0 else 0.0
    if C is not None:
        above = float(alpha.max(initial=0.0)) / C - 1.0
        residuals["Dual feasibility"] = max(below, above)
        residuals["Slack"] = max(0.0, -float(machine.late_slack_.min(initial=0.0)))
        residuals["Complementary slack"] = np.abs((C - a) * slack).max(initial=0.0) / scale
    table = []
    for name, hard, soft, meaning in CONDITIONS:
        formula = hard if C is None else soft
        if formula and name in residuals:
            tolerance = tol if name == "No gap" else KKT_TOLERANCE
            table.append(
                {
                    "name": name,
                    "formula": formula,
                    "meaning": meaning,
                    "residual": residuals[name],
                    "tolerance": tolerance,
                    "holds": residuals[name] <= tolerance,
                }
            )
    return table


# A recorded run of the watched machine: every update, and what it did to errors and risk.
#
# The trace is the library's. Errors after each update are counted as the library counts E_in, a row with
# y·f(x) ≤ 0, and R is its perceptron risk, for many weights at a time.

MAX_MARGINS = 1 << 20  # numbers at a time


def _run(task: Task, fitted: Fitted) -> dict[str, Any]:
    """The run of the watched machine, as the page plays it."""
    model, side, state = fitted.model, task.watched, task.state
    assert model is not None
    machine = list(model.machines_.values())[task.watch]
    trace, reason = machine.trace_, machine.stop_reason_
    Z = trace.weights
    errors, risk = errors_and_risk(side, Z, side.rows)
    final = np.append(machine.coef_, machine.intercept_)
    validation = final_validation = None
    if len(side.validating):
        counts, _ = errors_and_risk(side, np.vstack([Z, final]), side.validating)
        validation, final_validation = counts[:-1], counts[-1]
    rows = np.array([u.row for u in trace], dtype=np.int64)
    return {
        "start": trace.start,
        "updates": {
            "step": np.array([u.step for u in trace]),
            "row": np.where(rows < 0, -1, state.trained[rows]),
            "margin": np.array([u.margin for u in trace]),
            "weights": Z[1:],
        },
        "errors": errors,
        "validation": validation,
        "best": np.minimum.accumulate(errors),
        "risk": risk,
        "n": len(side.rows),
        "validation_n": len(side.validating),
        "mistakes": machine.n_mistakes_,
        "epochs": machine.n_iter_,
        "stop": in_lab(reason.sentence),
        "finished": bool(reason.solved),
        "cut": "max_updates" in reason.rule,
        "final": final,
        "final_risk": errors_and_risk(side, final[None], side.rows)[1][0],
        "final_validation": final_validation,
        "final_note": _note(task, model),
        "words": {"update": "step" if state.algorithm == "batch" else "mistake"},
    }


def errors_and_risk(side: Side, Z: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Errors and R of a machine on some rows for each z of Z."""
    errors, risk = np.empty(len(Z), dtype=np.int64), np.empty(len(Z))
    step = max(1, MAX_MARGINS // max(1, len(rows)))
    for k in range(0, len(Z), step):
        M = side.margins(Z[k : k + step], rows)
        errors[k : k + step] = np.count_nonzero(M <= 0, axis=1)
        risk[k : k + step] = np.maximum(0.0, -M).sum(axis=1)
    return errors, risk


def _note(task: Task, model: Any) -> str:
    """In what the model's weights may differ from those after the last update."""
    if task.state.algorithm == "perceptron" and task.state.options.averaged:
        return "the average of all iterates"
    if task.state.algorithm == "pocket":
        return "the pocket, polished" if model.polish else "the pocket: the best of all iterates"
    return ""


# How good weights are: errors of the model on all classes, and of weights set by hand.
#
# Two classes: a point is wrong if y·f(x) ≤ 0, so a point on the plane is an error (the library's E_in).
# More classes: it is wrong if the model predicts another class.


def _judge_model(task: Task, model: Any) -> dict[str, Any]:
    """Errors of the fitted model on training and validation points of all classes."""
    state = task.state
    # Of two classes a model may have been fitted to 0 and 1 in their place.
    places = np.searchsorted(model.classes_, model.predict(state.points))
    wrong = task.classes[places] != state.classes
    if len(task.sides) == 1:
        z = np.append(model.coef_[0], model.intercept_[0])
        wrong = ~(_all_margins(task.watched, z) > 0)  # so is a point of neither class
    return {
        "errors": wrong[state.trained].sum(),
        "n": len(state.trained),
        "validation_errors": wrong[state.validating].sum(),
        "validation_n": len(state.validating),
        "wrong": np.flatnonzero(wrong),
    }


def judge_weights(side: Side, weights: list[float]) -> dict[str, Any]:
    """Errors and risk of weights set by hand, for one machine."""
    z = np.array(weights)
    values = _all_margins(side, z)
    wrong = values <= 0
    errors, risk = errors_and_risk(side, z[None], side.rows)
    return {
        "errors": errors[0],
        "n": len(side.rows),
        "validation_errors": wrong[side.validating].sum(),
        "validation_n": len(side.validating),
        "risk": risk[0],
        "wrong": np.flatnonzero(wrong),
        "values": values,
        "margin": _margin(side, z),
    }
