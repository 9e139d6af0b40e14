"""The page about a file whose rows cannot all be drawn: numbers of all rows, pictures of a sample."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
from maxmargin.cli.inputs import Table
from maxmargin.cli.samples import Sample, draw, model_among, model_rows, verdict_among, verdict_rows
from maxmargin.estimators.separability import decide
from maxmargin.plots import XSpaceDisplay
from maxmargin.plots.report.gallery import (
    certificate_pictures,
    learning_pictures,
    machine_text,
    verdict_picture,
)
from maxmargin.plots.report.page import Proofs, badge, chips, gallery, page, picture, sentences, table
from maxmargin.rows import as_rows
from maxmargin.saving import write_atomically

__all__ = ["write_large_report"]

FEATURES = 12  # that are described
MACHINES = 20  # whose certificates are written out


def write_large_report(
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
    verdict = decide(whole.X, whole.y, fit_intercept=model.fit_intercept, names=whole.names)
    sample = draw(trained, wanted=model_rows(model))
    said = "\n".join([*notes, sample.note])
    click.echo(sample.note, err=True)
    judged = (trained.X, trained.y, "training") if y_val is None else (X_val, y_val, "validation")
    sections = [
        ("The data", _data(whole, len(trained.y))),
        ("Is it separable?", _verdict(verdict, whole)),
        ("The model", sentences(said) + _model(model, trained, sample)),
        ("How good is it?", _judged(model, *judged)),
        ("Make it again", f"<pre>{html.escape(recipe)}</pre>"),
    ]
    write_atomically(path, page(title, sections).encode())
    return Path(path)


def _data(whole: Table, trained: int) -> str:
    """Classes, and the least, mean and largest value of features, in one pass."""
    n, d = whole.shape
    labels, counts = np.unique(whole.y, return_counts=True)
    classes = [
        (str(a), f"{k:,}", f"{k / n:.1%}") for a, k in zip(labels.tolist(), counts.tolist(), strict=True)
    ]
    low, high, total = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d)
    block: Any
    for _, block in whole.rows.blocks():
        X = block.matrix if block.is_sparse else block.arrays.X
        least, most = X.min(axis=0), X.max(axis=0)
        low = np.minimum(low, least.toarray().ravel() if block.is_sparse else least)
        high = np.maximum(high, most.toarray().ravel() if block.is_sparse else most)
        total += np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()
    described = zip(whole.names[:FEATURES], low, total / n, high, strict=False)
    features = [(name, f"{a:.4g}", f"{m:.4g}", f"{b:.4g}") for name, a, m, b in described]
    more = f"\n<p>… and {d - FEATURES} more features.</p>" if d > FEATURES else ""
    held = f" {trained:,} rows were trained on, {n - trained:,} were held out." if n > trained else ""
    return (
        f"<p>{n:,} rows, {d} features, {len(labels)} classes.{held}</p>\n"
        f'<div class="pair">{table(("class", "rows", "share"), classes)}'
        f"{table(('feature', 'least', 'mean', 'largest'), features)}</div>{more}"
    )


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


def _judged(model: Any, X: Any, y: np.ndarray, kind: str) -> str:
    said, classes = model.predict(X if hasattr(X, "blocks") else as_rows(X)), model.classes_.tolist()
    counts = [[int(np.count_nonzero((y == a) & (said == b))) for b in classes] for a in classes]
    wrong = int(np.count_nonzero(y != said))
    rows = [(str(a), *(f"{k:,}" for k in line)) for a, line in zip(classes, counts, strict=True)]
    return f"<p>{wrong:,} of {len(y):,} {kind} rows are wrong ({wrong / len(y):.2%}).</p>\n" + table(
        ("truly\u00a0↓, said\u00a0→", *map(str, classes)), rows, kind="matrix", raw=True
    )
