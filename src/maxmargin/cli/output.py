"""What commands print: about models in sentences and in JSON, advice as options, and progress.

JSON has no infinity and no nan: null stands for them.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.verdict import Verdict
from maxmargin.cli.options import MODELS
from maxmargin.core.errors import Message, Remedy, plural
from maxmargin.estimators.margin_classifier import MarginClassifier, shortfall
from maxmargin.estimators.margin_machine import MarginMachine
from maxmargin.estimators.min_error_classifier import ErrorMachine, MinErrorClassifier, unproven
from maxmargin.estimators.pocket_perceptron import PocketPerceptron
from maxmargin.estimators.soft_margin_cv import SoftMarginSVCCV

MAX_LISTED = 8  # labels or columns that a sentence lists
WEIGHT_ROUNDING = 1e-12  # of w = Σ α y x, as a share of Σ α |x|
FUNCTIONS_AS_OPTIONS = {
    "machines_[label]": "--json",
    "maxmargin.open_rows": "--cache-dir",
    "maxmargin.saving.to_onnx": "maxmargin fit --onnx",
    "maxmargin.saving.to_liblinear": "maxmargin fit --liblinear",
}


def in_options(text: str) -> str:
    """Return a message with its remedies as options: those that the running command has."""
    return Message.of(text).worded(_as_option)


def _as_option(remedy: Remedy) -> str | None:
    """Return the option that does what a parameter does in Python; None if the command has none."""
    name = remedy.parameter
    if not name:
        return ""
    parameters = click.get_current_context().command.params
    option = FUNCTIONS_AS_OPTIONS.get(name, f"--{name.replace('_', '-')}")
    if option == "--drop" and any(p.name == "model" and p.opts == ["model"] for p in parameters):
        return "from the fit on: maxmargin fit --drop"  # the model needs all its features
    if option.startswith("-") and not any(option in p.opts for p in parameters):
        return None
    if name == "model":
        models = {python: shown for shown, python in MODELS.items()}
        return " or ".join([f"{option} {models[model]}" for model in remedy.values])
    if isinstance(remedy.values[0], bool):
        return " or ".join([option if yes else option.replace("--", "--no-") for yes in remedy.values])
    return f"{option} {remedy.value}" if isinstance(remedy.value, str) else option


def share(errors: int, n: int) -> str:
    """Return an error in percent, and what it is a share of."""
    percent = f"{100 * errors / n:.2f} %" if n else "nothing to judge"
    return f"{percent} ({errors:,} of {plural(n, 'row', ',')})"


def as_json(content: Any, indent: int | None = 1) -> str:
    """Return the content as a text of JSON."""
    return json.dumps(_finite(content), indent=indent, ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def key(label: Any) -> str:
    """Return a label, or a pair of them, as a key of JSON."""
    return " | ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def by_label(items: Mapping[Any, Any], content: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the content of items by their labels, or pairs of labels, for JSON."""
    return {key(label): content(item) for label, item in items.items()}


# A fitted model


def model_sentences(model: Any, reach: np.ndarray) -> list[str]:
    """Return lines about a fitted model; ``reach`` is the largest |x_j| of each feature."""
    lines = []
    if isinstance(model, SoftMarginSVCCV):
        folds, error = len(model.scores_), 1.0 - float(model.scores_.mean(axis=0).max())
        lines.append(
            f"C = {model.C_:.6g} by cross-validation ({folds} folds, error {100 * error:.2f} %)."
        )
    for label, machine in model.machines_.items():
        if len(model.machines_) == 1:
            lead = ""
        else:
            lead = f"{label[1]} against {label[0]}: " if isinstance(label, tuple) else f"{label}: "
        if isinstance(model, MarginClassifier):
            lines.append(lead + _margin_sentence(machine, reach))
        elif isinstance(machine, ErrorMachine):
            lines.append(lead + str(machine.bounds_))
        else:
            lines.append(lead + in_options(machine.stop_reason_.sentence))
    if isinstance(model, MarginClassifier):
        short = shortfall(model)
        return [*lines, *([] if short is None else [in_options(short)]), str(model.certificate_)]
    if isinstance(model, MinErrorClassifier):
        short = unproven(model)
        return lines if short is None else [*lines, in_options(short)]
    if isinstance(model, PocketPerceptron):
        bound = model.error_lower_bound_
        if isinstance(bound, float) and bound > 0:
            lines.append(f"No plane has a training error below {100 * bound:.2f} %.")
    return lines


def _margin_sentence(machine: MarginMachine, reach: np.ndarray) -> str:
    support = plural(len(machine.support_), "support vector", ",")
    bound = len(machine.bound_support_)
    kinds = f", {bound} of them within the slab or on the wrong side" if bound else ""
    gap = machine.certificate_.relative_gap
    if _is_flat(machine, reach):
        return (
            "w = 0 but for rounding, whatever C: the hinge loss is least with the same value "
            f"f(x) = b = {machine.intercept_:.6g} for all rows. {support}, relative gap {gap:.0e}."
        )
    return f"margin 1/‖w‖ = {machine.margin_:.6g}, {support}{kinds}, relative gap {gap:.0e}."


def _is_flat(machine: MarginMachine, reach: np.ndarray) -> bool:
    """Whether w = Σ α y x is what rounding leaves of 0: then 1/‖w‖ is no margin."""
    total = float(machine.support_dual_.sum())
    return bool(np.all(np.abs(machine.coef_) <= WEIGHT_ROUNDING * total * reach))


def model_content(model: Any, reach: np.ndarray) -> dict[str, Any]:
    """Return the same for JSON."""
    content: dict[str, Any] = {}
    if isinstance(model, SoftMarginSVCCV):
        errors = (1.0 - model.scores_.mean(axis=0)).tolist()
        content |= {"C": model.C_, "cv": {"Cs": model.Cs_.tolist(), "errors": errors}}
    elif hasattr(model, "C"):
        content["C"] = model.C
    machines = by_label(model.machines_, lambda machine: _machine_content(machine, reach))
    content |= {"machines": machines} if len(machines) > 1 else next(iter(machines.values()))
    if isinstance(model, PocketPerceptron):
        bound = model.error_lower_bound_
        content["error_lower_bound"] = by_label(bound, float) if isinstance(bound, dict) else bound
    return content


def _machine_content(machine: Any, reach: np.ndarray) -> dict[str, Any]:
    if isinstance(machine, MarginMachine):
        return {
            "margin": math.inf if _is_flat(machine, reach) else machine.margin_,
            "support": len(machine.support_),
            "bound_support": len(machine.bound_support_),
            "certificate": certificate_content(machine.certificate_),
        }
    if isinstance(machine, ErrorMachine):
        bounds = machine.bounds_
        return {
            "errors": bounds.upper,
            "errors_lower_bound": bounds.lower,
            "proven": bounds.proven,
            "best_error": machine.best_error_,
            "error_lower_bound": machine.error_lower_bound_,
            "given_up": bounds.given_up.tolist(),
            "margin": bounds.margin,
            "n_overlap": list(bounds.n_overlap),
            "plane_is_exact": bounds.plane_is_exact,
        }
    reason = machine.stop_reason_
    return {
        "updates": int(machine.n_mistakes_),
        "epochs": int(machine.n_iter_),
        "length": float(np.linalg.norm(machine.coef_)),
        "stop_reason": {"rule": reason.rule, "sentence": reason.sentence, "solved": reason.solved},
    }


def certificate_content(certificate: Certificate) -> dict[str, Any]:
    """Return every number of a certificate, and its findings."""
    gaps = {"gap": certificate.gap, "relative_gap": certificate.relative_gap}
    return {**asdict(certificate), **gaps}


def verdict_content(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict for JSON; exact weights are fractions in text, as in the proof."""
    content: dict[str, Any] = {
        "kind": verdict.kind,
        "statistical_name": verdict.statistical_name,
        "positive": verdict.positive,
        "negative": verdict.negative,
        "w": None if verdict.w is None else verdict.w.tolist(),
        "b": verdict.b,
        "plane_is_exact": verdict.plane_is_exact,
        "margin": None if verdict.margin is None else list(verdict.margin),
        "on_plane": verdict.on_plane.tolist(),
        "runs_to_infinity": None,
        "precision": None if verdict.precision is None else verdict.precision._asdict(),
        "work": verdict.work._asdict(),
    }
    if verdict.knows_directions:  # else it takes many more verdicts
        signs = {1: "+", -1: "-", 0: "either"}
        content["runs_to_infinity"] = {name: signs[sign] for name, sign in verdict.infinite.items()}
    if verdict.undecided:
        content["likely_separable"] = verdict.likely_separable
    for part in ("witness", "span"):
        if verdict.proof is not None and part in verdict.proof.content:
            content[part] = verdict.proof.content[part]
    return content


# How far the reading of a file is, on standard error, for people who look at a terminal: readers know
# nothing of it, the operating system tells how far into the file they are.

BAR_AFTER_SECONDS = 0.5
BAR_INTERVAL_SECONDS = 0.1
OPEN_FILES = Path("/proc/self/fd")


@contextmanager
def progress_bar(path: str) -> Iterator[None]:
    """Show a bar while a file is read: bytes read of its bytes; nothing unless there is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(path, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(path: str, done: threading.Event) -> None:
    if done.wait(BAR_AFTER_SECONDS):
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    known = os.path.isfile(path)
    name = "standard input" if path == "-" else os.path.basename(path)
    columns = [TextColumn("reading {task.fields[name]}"), BarColumn(), DownloadColumn()]
    with Progress(
        *columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as progress:
        task = progress.add_task("", name=name, total=os.path.getsize(path) if known else None)
        while not done.wait(BAR_INTERVAL_SECONDS):
            progress.update(task, completed=bytes_read(path) if known else 0)


def bytes_read(path: str) -> int:
    """Return how far into a file this process has read; 0 if it is not open, or nobody can tell."""
    found = 0
    try:
        wanted = os.stat(path)
        for entry in OPEN_FILES.iterdir():
            try:
                if os.path.samestat(entry.stat(), wanted):
                    text = (OPEN_FILES.parent / "fdinfo" / entry.name).read_text()
                    found = max(found, int(text.split()[1]))
            except (OSError, ValueError, IndexError):
                continue
    except OSError:
        return 0
    return found
