"""What there is to say about a fitted model: certificates of margins, reasons of perceptrons."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.cli.words import counted, key
from maxmargin.estimators.marginmachine import MarginAttributes, MarginMachine
from maxmargin.estimators.pocket import PocketPerceptron
from maxmargin.estimators.softmargincv import SoftMarginSVCCV

__all__ = ["certificate_content", "describe", "sentences"]

NUMBERS = (
    "problem",
    "primal",
    "dual",
    "gap",
    "relative_gap",
    "stationarity",
    "primal_infeasibility",
    "dual_infeasibility",
    "complementarity",
    "margin",
    "n_passes",
)


def sentences(model: Any) -> list[str]:
    """Lines for people."""
    said = []
    machines = model.machines_
    if isinstance(model, SoftMarginSVCCV):
        folds, error = len(model.scores_), 1.0 - float(model.scores_.mean(axis=0).max())
        said.append(
            f"C = {model.C_:.6g} by cross-validation ({folds} folds, error {100 * error:.2f} %)."
        )
    if isinstance(model, MarginAttributes):
        for label, machine in machines.items():
            said.append(_margin_sentence(machine, "" if len(machines) == 1 else _side(label)))
        said += _unfinished(model)
        said.append(str(model.certificate_))
        if len(machines) > 1:
            said[-1] += f"\n  · The largest gap of {len(machines)} machines."
        return said
    for label, machine in machines.items():
        said.append(("" if len(machines) == 1 else _side(label)) + str(machine.stop_reason_))
    if isinstance(model, PocketPerceptron):
        least = model.error_lower_bound_
        if isinstance(least, float) and least > 0:
            said.append(f"No plane has a training error below {100 * least:.2f} %.")
    return said


def _side(label: Any) -> str:
    return f"{label[1]} against {label[0]}: " if isinstance(label, tuple) else f"{label}: "


def _margin_sentence(machine: MarginMachine, side: str) -> str:
    support = f"{counted(len(machine.support_), 'support vector')}"
    bound = len(machine.bound_support_)
    kinds = f", {bound} of them beyond the edges of the slab" if bound else ""
    gap = max(machine.certificate_.relative_gap, 0.0)
    return f"{side}margin 1/‖w‖ = {machine.margin_:.6g}, {support}{kinds}, relative gap {gap:.0e}."


def _unfinished(model: Any) -> list[str]:
    """How far the optimum is at most, if a budget ended the work."""
    worst = model.certificate_
    if worst.relative_gap <= model.tol:
        return []
    far = "no bound on its distance from the optimum is known yet"
    if math.isfinite(worst.gap) and worst.dual > 0.0:
        far = f"the objective is above the optimum by at most {100 * worst.gap / worst.dual:.3g} %"
    remedy = "Scale the features alike, or raise --tol."
    if model.max_seconds is not None:
        remedy = "Raise --max-seconds or --tol."
    return [f"It stopped before the relative gap was {model.tol:g}: {far}. {remedy}"]


def describe(model: Any) -> dict[str, Any]:
    """The same for machines."""
    content: dict[str, Any] = {}
    machines = model.machines_
    if isinstance(model, SoftMarginSVCCV):
        errors = (1.0 - model.scores_.mean(axis=0)).tolist()
        content |= {"C": model.C_, "cv": {"Cs": model.Cs_.tolist(), "errors": errors}}
    elif hasattr(model, "C"):
        content["C"] = model.C
    tell = _margin_content if isinstance(model, MarginAttributes) else _perceptron_content
    told = {key(label): tell(machine) for label, machine in machines.items()}
    if len(machines) == 1:
        content |= next(iter(told.values()))
    else:
        content["machines"] = told
    if isinstance(model, PocketPerceptron):
        least = model.error_lower_bound_
        bounds = {key(k): v for k, v in least.items()} if isinstance(least, dict) else least
        content["error_lower_bound"] = bounds
    return content


def _margin_content(machine: MarginMachine) -> dict[str, Any]:
    return {
        "margin": machine.margin_,
        "support": len(machine.support_),
        "bound_support": len(machine.bound_support_),
        "certificate": certificate_content(machine.certificate_),
    }


def _perceptron_content(machine: Any) -> dict[str, Any]:
    reason = machine.stop_reason_
    return {
        "updates": int(machine.n_mistakes_),
        "epochs": int(machine.n_iter_),
        "length": float(np.linalg.norm(machine.coef_)),
        "stop_reason": {"rule": reason.rule, "sentence": reason.sentence, "solved": reason.solved},
    }


def certificate_content(certificate: Certificate) -> dict[str, Any]:
    """Every number of a certificate."""
    content = {name: getattr(certificate, name) for name in NUMBERS}
    return {**content, "findings": list(certificate.findings)}
