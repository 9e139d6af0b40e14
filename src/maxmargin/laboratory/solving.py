"""The main question of the page: what the data, the algorithm and the proof say.

A margin machine is shown with its margin, multipliers, slack, certificate and conditions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.estimators.margin_machine import MarginMachine
from maxmargin.laboratory.messages import in_lab, plain, quantity
from maxmargin.laboratory.problem import Side, Task, read_task
from maxmargin.laboratory.recipe import MARGIN, Fitted, fit
from maxmargin.laboratory.state import State
from maxmargin.laboratory.verdicts import find_verdict, tell_bound, tell_verdict
from maxmargin.rows import as_rows
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.perceptron.batch import Risk
from maxmargin.solvers.problem import Machine

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


# A recorded run of the watched machine: every update, and what it did to errors and risk.
#
# The trace is the library's. Errors after each update are counted as the library counts E_in, a row with
# y·f(x) ≤ 0, and R is its perceptron risk, for many weights at a time.

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
        "stop": in_lab(reason.sentence),
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


# How good weights are: errors of the model on all classes, and of weights set by hand.
#
# Two classes: a point is wrong if y·f(x) ≤ 0, so a point on the plane is an error (the library's E_in).
# More classes: it is wrong if the model predicts another class.


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
                "stop": _optimal(machine, fitted) if margins else in_lab(machine.stop_reason_.sentence),
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
