"""Margin machines as JSON: multipliers, slacks, progress and the certificate of each."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from maxmargin.certificates.certificate import Certificate
from maxmargin.core.errors import InputError
from maxmargin.estimators.marginmachine import MarginAttributes, MarginMachine
from maxmargin.estimators.softmargin import SoftMarginSVC
from maxmargin.estimators.softmargincv import SoftMarginSVCCV
from maxmargin.saving.reading import Reader, bad, from_extended, to_extended
from maxmargin.solvers.margin.choice import SOLVERS
from maxmargin.solvers.margin.tasks import Pass

__all__ = ["decode_margins", "encode_margins"]

NUMBERS = (
    "primal",
    "dual",
    "stationarity",
    "primal_infeasibility",
    "dual_infeasibility",
    "complementarity",
)


def encode_margins(model: Any) -> dict[str, Any]:
    """Return what fitted margin machines hold beside classes and weights."""
    written: dict[str, Any] = {"machines": [_encode(m) for m in model.machines_.values()]}
    if isinstance(model, (SoftMarginSVC, SoftMarginSVCCV)):
        written["fitted_C"] = float(model._fitted_C)
    if isinstance(model, SoftMarginSVCCV):
        written["chosen_C"] = float(model.C_)
        written["Cs"] = np.asarray(model.Cs_, dtype=np.float64)
        written["scores"] = [[to_extended(v) for v in row] for row in model.scores_.tolist()]
    return written


def decode_margins(
    model: MarginAttributes, reader: Reader, Z: np.ndarray, labels: list[Hashable]
) -> None:
    """Put the machines written into a model that has its classes; Z holds their weights."""
    parts = zip(labels, Z, reader.readers("machines", len(labels)), strict=True)
    model.machines_ = {label: _decode(part, label, z) for label, z, part in parts}
    model._Z = Z
    model.n_passes_ = max(m.n_passes_ for m in model.machines_.values())
    model.n_iter_ = model.n_passes_
    if isinstance(model, (SoftMarginSVC, SoftMarginSVCCV)):
        model._fitted_C = reader.number("fitted_C")
    if isinstance(model, SoftMarginSVCCV):
        model.C_ = reader.number("chosen_C")
        model.Cs_ = reader.array("Cs", float, (None,))
        rows = reader.items("scores")
        if any(type(row) is not list or len(row) != len(model.Cs_) for row in rows):
            raise bad(reader.called("scores"), f"lists of {len(model.Cs_)} numbers", rows)
        table = [[from_extended(v, reader.called("scores")) for v in row] for row in rows]
        model.scores_ = np.array(table, dtype=np.float64).reshape(len(rows), len(model.Cs_))


def _encode(machine: MarginMachine) -> dict[str, Any]:
    return {
        "rows": int(machine.n_rows),
        "support": machine.support_.astype(np.int64),
        "dual": np.asarray(machine.support_dual_, dtype=np.float64),
        "bound": np.asarray(machine.support_bound_, dtype=np.bool_),
        "late": machine.late_.astype(np.int64),
        "slack": np.asarray(machine.late_slack_, dtype=np.float64),
        "certificate": _encode_certificate(machine.certificate_),
        "progress": [[int(p.n_passes), *map(to_extended, p[1:])] for p in machine.progress_],
        "solver": machine.solver_,
    }


def _decode(reader: Reader, label: Hashable, z: np.ndarray) -> MarginMachine:
    n = reader.count("rows", least=1)
    support = _places(reader, "support", n)
    late = _places(reader, "late", n)
    certificate = _decode_certificate(reader.reader("certificate"))
    machine = MarginMachine(
        label=label,
        coef_=z[:-1].copy(),
        intercept_=float(z[-1]),
        support_=support,
        support_dual_=_positive(reader, "dual", len(support)),
        support_bound_=reader.array("bound", bool, (len(support),)),
        late_=late,
        late_slack_=_positive(reader, "slack", len(late)),
        certificate_=certificate,
        n_passes_=certificate.n_passes,
        n_rows=n,
        progress_=tuple(_pass(value, reader.called("progress")) for value in reader.items("progress")),
        solver_=_solver(reader),
    )
    reader.done()
    return machine


def _solver(reader: Reader) -> str:
    """How it was found; files of earlier versions do not say, and there was one way then."""
    if "solver" not in reader:
        return "newton"
    word = reader.text("solver")
    if word not in SOLVERS[1:]:
        raise bad(reader.called("solver"), "one of " + ", ".join(SOLVERS[1:]), word)
    return word


def _places(reader: Reader, key: str, n: int) -> np.ndarray:
    """Training rows, ascending."""
    rows = reader.array(key, int, (None,))
    if len(rows) and (rows[0] < 0 or rows[-1] >= n or np.any(np.diff(rows) <= 0)):
        raise InputError(f"{reader.called(key)} must hold rows from 0 to {n - 1}, ascending.")
    return rows


def _positive(reader: Reader, key: str, length: int) -> np.ndarray:
    values = reader.array(key, float, (length,))
    if np.any(values <= 0.0):
        raise InputError(f"{reader.called(key)} must hold numbers > 0. Got others instead.")
    return values


def _pass(value: Any, name: str) -> Pass:
    if type(value) is not list or len(value) != 3 or type(value[0]) is not int or value[0] < 0:
        raise bad(name, "a list of passes, primal and dual values", value)
    return Pass(value[0], from_extended(value[1], name), from_extended(value[2], name))


def _encode_certificate(certificate: Certificate) -> dict[str, Any]:
    margin = certificate.margin
    return {
        "problem": certificate.problem,
        **{name: to_extended(getattr(certificate, name)) for name in NUMBERS},
        "n_passes": int(certificate.n_passes),
        "margin": None if margin is None else [to_extended(v) for v in margin],
        "findings": list(certificate.findings),
    }


def _decode_certificate(reader: Reader) -> Certificate:
    problem = reader.text("problem")
    numbers = {name: reader.extended(name) for name in NUMBERS}
    passes = reader.count("n_passes")
    margin, name = reader.take("margin"), reader.called("margin")
    pair: tuple[float, float] | None = None
    if margin is not None:
        if type(margin) is not list or len(margin) != 2:
            raise bad(name, "two numbers or null", margin)
        pair = from_extended(margin[0], name), from_extended(margin[1], name)
    findings = tuple(reader.texts("findings"))
    reader.done()
    if math.isnan(numbers["primal"]) or math.isnan(numbers["dual"]):
        raise bad(reader.name, "a certificate with primal and dual value", None)
    return Certificate(problem, **numbers, n_passes=passes, margin=pair, findings=findings)
