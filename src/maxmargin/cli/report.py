"""``maxmargin report``: one self-contained page about a file and a model."""

from __future__ import annotations

import html
import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.model_selection import train_test_split

from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
from maxmargin.cli.inputs import Table, check_columns, check_target, labels_of, open_table
from maxmargin.cli.model_inputs import read_validation
from maxmargin.cli.models import fit_by_name
from maxmargin.cli.options import MARGINS, Source
from maxmargin.cli.samples import (
    Sample,
    draw,
    in_memory,
    is_drawable,
    model_among,
    model_rows,
    verdict_among,
    verdict_rows,
)
from maxmargin.core.errors import InputError
from maxmargin.estimators.separability import Options, decide
from maxmargin.plots import XSpaceDisplay
from maxmargin.plots.report.gallery import (
    certificate_pictures,
    learning_pictures,
    machine_text,
    verdict_picture,
)
from maxmargin.plots.report.page import Proofs, badge, chips, gallery, picture, sentences
from maxmargin.plots.report.writing import data_section, errors_section, write_page, write_report
from maxmargin.rows import Rows, as_rows

MACHINES = 20  # whose certificates are written out
ENCODED = "Columns of text are encoded, and the proofs are about the features made of them."


def run(
    file: Source, model: str, C: float, intercept: bool, validate: str | None, share: float, out: str
) -> int:
    """Fit, judge and write the page; return 0."""
    check_target(out, "--out")
    table = open_table(file)
    labels = labels_of(table.y, file.path)
    check_columns(table, file, labels)
    small = is_drawable(table)
    table = in_memory(table, "report") if small else table
    X, y, X_val, y_val = table.X, table.y, None, None
    if validate is not None:
        other = read_validation(validate, file, table, labels)
        X_val, y_val = other.X, other.y
    elif share > 0:
        train, test = _split(y, share)
        X, y, X_val, y_val = X[train], y[train], X[test], y[test]
    estimator, note = fit_by_name(model, C, intercept, X, y)
    shown = "soft-margin" if note else model
    notes = [note] if note else []
    notes += [ENCODED] if table.encoding else []
    for note in notes:
        click.echo(note, err=True)
    options: dict[str, Any] = {
        "X_val": X_val,
        "y_val": y_val,
        "title": f"{shown} on {file.path}",
        "recipe": _recipe(file, model, C, intercept, validate, share, out),
        "notes": notes,
    }
    if small:
        known: dict[str, Any] = {
            "whole": (table.X, table.y),
            "names": table.names,
            "source": table.source,
        }
        target = write_report(out, estimator, X, y, **known, **options)
    else:
        target = _write_large_report(out, estimator, table._replace(X=X, y=y), table, **options)
    click.echo(str(target))
    return 0


def _recipe(
    file: Source, model: str, C: float, intercept: bool, validate: str | None, share: float, out: str
) -> str:
    """The command that makes the page again."""
    command = ["maxmargin", "report", file.path, "--model", model, "--out", out]
    options = {
        "--label": file.label,
        "--columns": ",".join(file.columns) or None,
        "--drop": ",".join(file.drop) or None,
        "--cache-dir": file.cache_dir,
        "--first-index": None if file.first_index is None else str(file.first_index),
        "--C": _exactly(C) if model in MARGINS else None,
        "--validate": validate,
        "--share": None if validate is not None else _exactly(share),
    }
    command += [part for name, value in options.items() if value is not None for part in (name, value)]
    command += [] if intercept else ["--no-intercept"]
    command += ["--one-hot"] if file.one_hot else []
    command += [] if file.header is None else ["--header" if file.header else "--no-header"]
    return shlex.join(command)


def _exactly(number: float) -> str:
    return repr(float(number)).removesuffix(".0")


def _split(y: np.ndarray, share: float) -> Any:
    """Which rows to train on, and which to validate on, every class in its proportion."""
    labels, counts = np.unique(y, return_counts=True)
    held = math.ceil(share * len(y))
    fewest = int(np.argmin(counts))
    if counts[fewest] < 2:
        raise _cannot_split(
            "every class must have two rows, one to train on and one to validate",
            f"1 row of class {labels.tolist()[fewest]!r}",
        )
    if min(held, len(y) - held) < len(labels):
        raise _cannot_split(
            f"a row of each of the {len(labels)} classes must fit into both parts",
            f"{len(y) - held} rows to train on and {held} to validate (--share {share:g})",
        )
    parts = train_test_split(np.arange(len(y)), test_size=share, stratify=y, random_state=0)
    missing = np.setdiff1d(labels, y[parts[0]]).tolist()
    if missing:
        raise _cannot_split(
            "every class must have a row to train on",
            f"none of class {missing[0]!r} with --share {share:g}",
        )
    return parts


def _cannot_split(allowed: str, given: str) -> InputError:
    return InputError(
        f"to hold out rows for validation, {allowed}. Got {given} instead. Use --share 0 to leave "
        "validation out, --validate FILE to name other rows, or another --share."
    )


def _write_large_report(
    path: str,
    model: Any,
    trained: Table,
    whole: Table,
    *,
    X_val: Any,
    y_val: np.ndarray | None,
    title: str,
    recipe: str,
    notes: Sequence[str],
) -> Path:
    """Write a page about a model of the rows ``trained``, which are some or all of ``whole``."""
    verdict = decide(whole.X, whole.y, Options(model.fit_intercept), whole.names)
    sample = draw(trained, wanted=model_rows(model))
    said = "\n".join([*notes, sample.note])
    click.echo(sample.note, err=True)
    X, y = (trained.X, trained.y) if y_val is None else (X_val, y_val)
    predicted = model.predict(X if isinstance(X, Rows) else as_rows(X))
    classes = model.classes_.tolist()
    sections = [
        ("The data", data_section(whole.y, whole.names, *_ranges(whole), len(trained.y))),
        ("Is it separable?", _verdict(verdict, whole)),
        ("The model", sentences(said) + _model(model, trained, sample)),
        ("How good is it?", errors_section(predicted, y, classes, held_out=y_val is not None)),
        ("Make it again", f"<pre>{html.escape(recipe)}</pre>"),
    ]
    return write_page(path, title, sections)


def _ranges(table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The least, mean and largest value of every feature, in one pass."""
    n, d = table.shape
    low, high, total = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d)
    block: Any
    for _, block in table.rows.blocks():
        X = block.matrix if block.is_sparse else block.arrays.X
        least, most = X.min(axis=0), X.max(axis=0)
        low = np.minimum(low, least.toarray().ravel() if block.is_sparse else least)
        high = np.maximum(high, most.toarray().ravel() if block.is_sparse else most)
        total += np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()
    return low, total / n, high


def _verdict(verdict: Verdict | MulticlassVerdict, whole: Table) -> str:
    if isinstance(verdict, MulticlassVerdict):
        rest = {str(label): v.kind for label, v in verdict.rest.items()}
        pairs = {f"{a} and {b}": v.kind for (a, b), v in verdict.pairs.items() if not v.separable}
        return "\n".join([sentences(str(verdict)), chips(rest), chips(pairs)])
    sample = draw(whole, *verdict_rows(verdict, whole))
    shown = gallery([verdict_picture(verdict_among(verdict, sample.rows), sample.X, sample.y)])
    proof = Proofs(whole.source).block(verdict)
    text = f"<p>{badge(verdict.kind)}</p>\n{sentences(str(verdict))}\n{proof}"
    return f'<div class="beside"><div>\n{text}\n</div>\n{shown}\n</div>'


def _model(model: Any, trained: Table, sample: Sample) -> str:
    parts = [f"<pre>{html.escape(repr(model))}</pre>"]
    for label, machine in list(model.machines_.items())[:MACHINES]:
        alone = len(model.machines_) == 1
        text = machine_text(machine)
        summary = f"<summary>{html.escape(str(label))}</summary>"
        parts.append(text if alone else f"<details>\n{summary}\n{text}\n</details>")
    return "\n".join([*parts, gallery(list(_pictures(model, trained, sample)))])


def _pictures(model: Any, trained: Table, sample: Sample) -> Iterator[str]:
    drawn = model_among(model, sample.rows)
    yield picture(
        lambda ax: XSpaceDisplay.from_estimator(drawn, sample.X, sample.y, names=trained.names, ax=ax),
        "The model",
        "What it says where, and a sample of the rows it was trained on.",
    )
    if len(model.machines_) > 1:
        return
    if hasattr(model, "certificate_"):
        yield from certificate_pictures(drawn, sample.X, sample.y)
    else:
        yield from learning_pictures(model, trained.X, trained.y)
