"""What there is to say about a fitted model: certificates of margins, reasons of perceptrons."""

from __future__ import annotations

import math
import re
from typing import Any

import click
import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.core.errors import InputError, Message, Remedy, count
from maxmargin.estimators.margin_classifier import MarginClassifier, shortfall
from maxmargin.estimators.margin_machine import MarginMachine
from maxmargin.estimators.pocket_perceptron import PocketPerceptron
from maxmargin.estimators.soft_margin_cv import SoftMarginSVCCV

# What Python calls by one name has another one on the command line.

MODEL_NAMES = {
    "Perceptron": "perceptron",
    "BatchPerceptron": "batch-perceptron",
    "PocketPerceptron": "pocket",
    "HardMarginSVC": "hard-margin",
    "SoftMarginSVC": "soft-margin",
}
FUNCTIONS = {
    "machines_[label]": "--json",
    "maxmargin.open_rows": "--cache-dir",
    "maxmargin.saving.to_onnx": "maxmargin fit --onnx",
    "maxmargin.saving.to_liblinear": "maxmargin fit --liblinear",
}
SOME = 8  # labels or columns that are written out
DURATION = re.compile(r"(\d+|\d*\.\d+)\s*(ms|s|m|h|)")
UNITS = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}


def spoken(text: str) -> str:
    """Return a message with its remedies as options: those that the running command has."""
    return Message.of(text).worded(as_option)


def as_option(remedy: Remedy) -> str | None:
    """Return the option that does what a parameter does in Python; None if the command has none."""
    name = remedy.parameter
    if not name:
        return ""
    parameters = click.get_current_context().command.params
    option = FUNCTIONS.get(name, f"--{name.replace('_', '-')}")
    if option == "--drop" and any(p.name == "model" and p.opts == ["model"] for p in parameters):
        return "from the fit on: maxmargin fit --drop"  # it needs all its features
    if option.startswith("-") and not any(option in p.opts for p in parameters):
        return None
    if name == "model":
        return " or ".join(f"{option} {MODEL_NAMES[model]}" for model in remedy.values)
    if isinstance(remedy.values[0], bool):
        return " or ".join(option if yes else option.replace("--", "--no-") for yes in remedy.values)
    return f"{option} {remedy.value}" if isinstance(remedy.value, str) else option


def as_seconds(text: str) -> float:
    """Read a duration: 10s, 500ms, 2m, 1h; a number alone is seconds."""
    found = DURATION.fullmatch(text.strip())
    if found is None:
        raise InputError(f"--every must be a time such as 10s, 500ms, 2m or 1h. Got {text!r} instead.")
    return float(found[1]) * UNITS[found[2]]


def share(errors: int, n: int) -> str:
    """An error in percent, and what it is a share of."""
    percent = f"{100 * errors / n:.2f} %" if n else "nothing to judge"
    return f"{percent} ({errors:,} of {count(n, 'row', ',')})"


def key(label: Any) -> str:
    """A label, or a pair of them, as a key of JSON."""
    return " | ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def finite(value: Any) -> Any:
    """The same value for JSON, which has no infinity and no nan: null stands for them."""
    if isinstance(value, dict):
        return {key: finite(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


ROUNDING = 1e-12  # of w = Σ α y x, as a share of Σ α |x|
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


def sentences(model: Any, reach: np.ndarray) -> list[str]:
    """Lines for people; ``reach`` is the largest |x_j| of each feature."""
    said = []
    machines = model.machines_
    if isinstance(model, SoftMarginSVCCV):
        folds, error = len(model.scores_), 1.0 - float(model.scores_.mean(axis=0).max())
        said.append(
            f"C = {model.C_:.6g} by cross-validation ({folds} folds, error {100 * error:.2f} %)."
        )
    if isinstance(model, MarginClassifier):
        for label, machine in machines.items():
            said.append(_margin_sentence(machine, "" if len(machines) == 1 else _side(label), reach))
        short = shortfall(model)
        return [*said, *([] if short is None else [spoken(short)]), str(model.certificate_)]
    for label, machine in machines.items():
        said.append(("" if len(machines) == 1 else _side(label)) + spoken(machine.stop_reason_.sentence))
    if isinstance(model, PocketPerceptron):
        least = model.error_lower_bound_
        if isinstance(least, float) and least > 0:
            said.append(f"No plane has a training error below {100 * least:.2f} %.")
    return said


def _side(label: Any) -> str:
    return f"{label[1]} against {label[0]}: " if isinstance(label, tuple) else f"{label}: "


def _margin_sentence(machine: MarginMachine, side: str, reach: np.ndarray) -> str:
    support = count(len(machine.support_), "support vector", ",")
    bound = len(machine.bound_support_)
    kinds = f", {bound} of them within the slab or on the wrong side" if bound else ""
    gap = machine.certificate_.relative_gap
    if _is_flat(machine, reach):
        return (
            f"{side}w = 0 but for rounding, whatever C: the hinge loss is least with the same value "
            f"f(x) = b = {machine.intercept_:.6g} for all rows. {support}, relative gap {gap:.0e}."
        )
    return f"{side}margin 1/‖w‖ = {machine.margin_:.6g}, {support}{kinds}, relative gap {gap:.0e}."


def _is_flat(machine: MarginMachine, reach: np.ndarray) -> bool:
    """Whether w = Σ α y x is what rounding leaves of 0: then 1/‖w‖ is no margin."""
    total = float(machine.support_dual_.sum())
    return bool(np.all(np.abs(machine.coef_) <= ROUNDING * total * reach))


def describe(model: Any, reach: np.ndarray) -> dict[str, Any]:
    """The same for machines."""

    def tell(machine: Any) -> dict[str, Any]:
        if isinstance(model, MarginClassifier):
            return _margin_content(machine, reach)
        return _perceptron_content(machine)

    content: dict[str, Any] = {}
    machines = model.machines_
    if isinstance(model, SoftMarginSVCCV):
        errors = (1.0 - model.scores_.mean(axis=0)).tolist()
        content |= {"C": model.C_, "cv": {"Cs": model.Cs_.tolist(), "errors": errors}}
    elif hasattr(model, "C"):
        content["C"] = model.C
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


def _margin_content(machine: MarginMachine, reach: np.ndarray) -> dict[str, Any]:
    return {
        "margin": math.inf if _is_flat(machine, reach) else machine.margin_,
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
