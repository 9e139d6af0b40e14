"""``maxmargin audit``: the certificate of a model that was trained here or elsewhere."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from maxmargin.certificates.certificate import Certificate
from maxmargin.cli.inputs import labels_of
from maxmargin.cli.model_inputs import read_for, read_model
from maxmargin.cli.options import Source
from maxmargin.cli.output import certificate_content, finite, key, spoken
from maxmargin.core.errors import InputError, NotSeparableError
from maxmargin.estimators.hard_margin import HardMarginSVC
from maxmargin.saving import audit

EXACTLY = 1e-9  # relative gap to which the optimum itself is found


def run(path: str, file: Source, C: float | None, tol: float, as_json: bool) -> int:
    """Print the certificate; return 0 if the model is the optimum within ``tol``, else 1."""
    model = read_model(path, file.path)
    C = _price(model, path) if C is None else C
    table = read_for(model, file, labelled=True)
    labels_of(table.y, file.path)
    try:
        found = audit(model, table.X, table.y, C, tol=min(EXACTLY, tol))
    except NotSeparableError as error:
        message = spoken(error.message)
        content = {"model": path, "optimal": False, "message": message}
        line = message[0].upper() + message[1:]
        click.echo(json.dumps(content, indent=1, ensure_ascii=False) if as_json else line)
        return 1
    alone = isinstance(found, Certificate)
    certificates = {None: found} if isinstance(found, Certificate) else found
    optimal = all(certificate.relative_gap <= tol for certificate in certificates.values())
    if as_json:
        told = {key(label): certificate_content(c) for label, c in certificates.items()}
        judged: dict[str, Any] = {"model": path, "optimal": optimal, "tol": tol}
        judged |= {"certificate": next(iter(told.values()))} if alone else {"certificates": told}
        click.echo(json.dumps(finite(judged), indent=1, ensure_ascii=False))
        return 0 if optimal else 1
    for label, certificate in certificates.items():
        side = "" if alone else f"{key(label)}: "
        click.echo(f"{side}{certificate}")
    worst = max(certificate.relative_gap for certificate in certificates.values())
    verdict = "Optimal" if optimal else "Not optimal"
    click.echo(f"{verdict}: (P − D) / P = {max(worst, 0.0):.1e}, and {tol:g} is allowed.")
    return 0 if optimal else 1


def _price(model: Any, path: str) -> float:
    """The C of a model that tells it."""
    for name in ("C_", "C"):
        value = getattr(model, name, None)
        if value is not None:
            return float(value)
    if isinstance(model, HardMarginSVC):
        return math.inf
    raise InputError(
        f"{path}: the model does not tell its C. Give it with --C; inf means the hard margin."
    )
