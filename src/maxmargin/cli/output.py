"""What there is to say about a fitted model: certificates of margins, reasons of perceptrons."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Any

import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.core.errors import InputError, count
from maxmargin.estimators.margin_classifier import MarginClassifier, MarginMachine, shortfall
from maxmargin.estimators.pocket_perceptron import PocketPerceptron
from maxmargin.estimators.soft_margin_cv import SoftMarginSVCCV

# Words of the command line: what Python calls by one name has another one here.

SPOKEN = {
    "For C → ∞ use HardMarginSVC": "For C → ∞ use --model hard-margin",
    "Use SoftMarginSVC(C=…), which allows for slack": "Use --model soft-margin, which allows for slack",
    "Allow more updates, or use PocketPerceptron or": "Allow more updates (--max-updates), or use",
    "PocketPerceptron or a soft margin": "--model pocket or --model soft-margin",
    "PocketPerceptron keeps": "--model pocket keeps",
    "Allow more epochs (max_iter)": "Allow more epochs (--max-iter)",
    "Allow more time, or": "Allow more time (--max-seconds), or",
    "machines_[label] tells the whole story": "--json tells the whole story",
    "Pass C to audit a soft margin": "Audit a soft margin with --C",
    "Use maxmargin.open_rows, which keeps them in a file": "Keep them in a file, with --cache-dir",
    "Fit with multi_class='ovr'": "Fit with --multi-class ovr",
    "Use maxmargin.saving.to_onnx for": "Use maxmargin fit --onnx for",
    "Use maxmargin.saving.to_liblinear for": "Use maxmargin fit --liblinear for",
    "y must hold at least two classes": "the labels must be of at least two classes",
}
READING = "label|columns|drop|header|one_hot|first_index|cache_dir"  # options that commands may have
UNSAID = "encoding|labels|dtype|features|kind"  # and those that none has
ADVICE = re.compile(rf"(, or |, | and |)([^.,;()]*) \(({READING}|{UNSAID})=[^)]*\)")
GIVEN = re.compile(rf"\b({READING})=…")
SOME = 8  # labels or columns that are written out
DURATION = re.compile(r"(\d+|\d*\.\d+)\s*(ms|s|m|h|)")
UNITS = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}


def spoken(text: str, options: Collection[str] = ()) -> str:
    """Turn the advice of an error or a stopping rule into options: those that the command has."""
    for python, here in SPOKEN.items():
        text = text.replace(python, here)

    def advice(found: re.Match[str]) -> str:
        option = f"--{found[3].replace('_', '-')}"
        if option == "--drop" and option not in options:  # a model needs all its features
            begins, first = ("", "f") if found[1] else (" " if found[2][:1] == " " else "", "F")
            return f"{found[1]}{begins}{first}it the model without the column (maxmargin fit --drop)"
        if option not in options or found[3] in UNSAID.split("|"):
            return ""
        shown = "--header or --no-header" if option == "--header" else option
        return f"{found[1]}{found[2]} ({shown})"

    said = ADVICE.sub(advice, text)
    if said != text:  # what is left of a sentence begins it
        said = re.sub(r"\. ?\.(?!\.)", ".", said)
        said = re.sub(r"(?<=\.) ?, (?:or )?(\w)", lambda found: f" {found[1].upper()}", said)
    return GIVEN.sub(lambda found: f"--{found[1].replace('_', '-')}", said)


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
        said += _unfinished(model)
        return [*said, str(model.certificate_)]
    for label, machine in machines.items():
        said.append(("" if len(machines) == 1 else _side(label)) + str(machine.stop_reason_))
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


def _unfinished(model: Any) -> list[str]:
    """How far the optimum is at most, if a budget ended the work."""
    short = shortfall(model.certificate_, model.tol)
    if not short:
        return []
    remedy = "Scale the features alike, or raise --tol."
    if model.max_seconds is not None:
        remedy = "Raise --max-seconds or --tol."
    if model.certificate_.primal == math.inf:
        remedy = "Raise --max-seconds, or use --model soft-margin, which allows for slack."
    return [f"It {short}. {remedy}"]


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
