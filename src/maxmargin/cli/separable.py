"""``maxmargin separable``: the verdict on a file, in words or as JSON, and its proof as a file."""

from __future__ import annotations

import json
import sys
from typing import Any

import click
import numpy as np

from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
from maxmargin.checker import canonical
from maxmargin.cli.inputs import Table, check_columns, check_target, columns_used, labels_of, open_table
from maxmargin.cli.options import Source
from maxmargin.cli.output import finite, key
from maxmargin.core.errors import InputError
from maxmargin.estimators.progress import time_limit
from maxmargin.estimators.separability import Options, decide

UNDECIDED = 3  # the exit code if time ended first


def run(
    file: Source,
    one: str | None,
    other: str | None,
    options: dict[str, Any],
    proof: str | None,
    max_seconds: float | None,
    as_json: bool,
) -> int:
    """Print the verdict; return 0 if the classes are separable, 3 if time ended first, else 1."""
    check_target(proof, "--proof")
    data = open_table(file)
    check_columns(data, file, labels_of(data.y, file.path))
    sides = None if one is None else _sides(data, one, other)
    with time_limit("separable", max_seconds, verbose=int(sys.stderr.isatty())) as deadline:
        verdict = decide(data.X, data.y, Options(**options, deadline=deadline), data.names, sides)
    if isinstance(verdict, MulticlassVerdict):
        if proof is not None:
            raise InputError(
                "--proof needs two classes. "
                f"Got {len(verdict.rest)}: {', '.join(map(str, list(verdict.rest)[:10]))}. "
                "Choose with --class LABEL (against all others), or --class LABEL --against LABEL."
            )
        content: Any = {
            "rest": {key(label): verdict_content(v) for label, v in verdict.rest.items()},
            "pairs": {key(label): verdict_content(v) for label, v in verdict.pairs.items()},
        }
    else:
        content = verdict_content(verdict)
        if proof is not None and verdict.proof is not None:
            verdict.proof.with_source(**data.source).save(proof)
    click.echo(json.dumps(finite(content), indent=1, ensure_ascii=False) if as_json else str(verdict))
    if columns_used(data) and not as_json:
        click.echo(columns_used(data))
    if verdict.separable:
        return 0
    return UNDECIDED if verdict.undecided else 1


def _sides(data: Table, one: str, other: str | None) -> tuple[Any, Any]:
    """The labels of the data that were asked for; None for all others."""
    known = {canonical(str(value)): value for value in np.unique(data.y).tolist()}
    found = []
    for name in (one, other):
        if name is not None and canonical(name) not in known:
            some = ", ".join(list(known)[:20])
            raise InputError(
                f"--class and --against must be among the labels {some}. Got {name!r} instead."
            )
        found.append(None if name is None else known[canonical(name)])
    if found[0] == found[1]:
        raise InputError(f"--class and --against must be two classes. Got {one!r} twice.")
    return found[0], found[1]


def verdict_content(verdict: Verdict) -> dict[str, Any]:
    """The verdict for machines; exact weights are fractions in text, as in the proof."""
    precision = verdict.precision
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
        "runs_to_infinity": _directions(verdict),
        "precision": None if precision is None else precision._asdict(),
        "work": verdict.work._asdict(),
    }
    if verdict.kind == "undecided":
        content["likely_separable"] = verdict.likely_separable
    for part in ("witness", "span"):
        if verdict.proof is not None and part in verdict.proof.content:
            content[part] = verdict.proof.content[part]
    return content


def _directions(verdict: Verdict) -> dict[str, str] | None:
    """Where coefficients run, if that is known at once: null where it takes many more verdicts."""
    if not verdict.knows_directions:
        return None
    return {name: {1: "+", -1: "-", 0: "either"}[sign] for name, sign in verdict.infinite.items()}
