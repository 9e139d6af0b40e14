"""More than two classes on the page: every machine with its verdict, its proof and its pictures."""

from __future__ import annotations

import html
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
from maxmargin.plots.machine import machine_name, stand_in
from maxmargin.plots.report.gallery import model_pictures, verdict_picture
from maxmargin.plots.report.images import gallery
from maxmargin.plots.report.page import Proofs, badge, facts, sentences, table

__all__ = ["machine_blocks", "machine_text"]

SHOWN = 10  # machines that have pictures


def machine_blocks(
    estimator: Any,
    X: Any,
    y: Any,
    verdict: MulticlassVerdict,
    whole: tuple[Any, Any],
    names: Sequence[str],
    proofs: Proofs,
    of: str = "",
) -> str:
    """Return a block for each machine, the first one open, and a table of those beyond ten."""
    verdicts = _verdicts(estimator, verdict)
    first = dict(list(verdicts.items())[:SHOWN])
    blocks = [
        _block(estimator, X, y, label, verdicts[label], whole, names, proofs, of, opened=place == 0)
        for place, label in enumerate(first)
    ]
    rest = {label: v for label, v in verdicts.items() if label not in first}
    kind = "pairs of classes" if isinstance(next(iter(verdicts)), tuple) else "classes"
    told = "Open a line to see its proof and its pictures."
    if rest:
        told = f"The first {SHOWN} are shown with pictures, the other {len(rest)} in a table."
        blocks.append(
            f"<details>\n<summary>{len(rest)} more machines</summary>\n"
            f"{_table(estimator, X, y, rest, proofs)}\n</details>"
        )
    return "\n".join([f"<p>{len(verdicts)} {kind}, and a machine for each. {told}</p>", *blocks])


def machine_text(machine: Any, of: str = "") -> str:
    """Return the certificate of a margin machine and what it is of, or why a perceptron stopped."""
    if hasattr(machine, "certificate_"):
        return facts(str(machine.certificate_), of)
    if hasattr(machine, "stop_reason_"):
        return f"<p>{html.escape(str(machine.stop_reason_))}</p>"
    return ""


def _verdicts(estimator: Any, verdict: MulticlassVerdict) -> dict[Hashable, Verdict]:
    """The verdict about each machine; of a model without machines, about each class."""
    known: dict[Hashable, Verdict] = dict(verdict.rest)
    known.update(verdict.pairs.items())
    return {label: known[label] for label in getattr(estimator, "machines_", verdict.rest)}


def _block(
    estimator: Any,
    X: Any,
    y: Any,
    label: Hashable,
    verdict: Verdict,
    whole: tuple[Any, Any],
    names: Sequence[str],
    proofs: Proofs,
    of: str,
    *,
    opened: bool,
) -> str:
    name, text = machine_name(label), ""
    pictures = [verdict_picture(verdict, *whole)]
    if hasattr(estimator, "machines_"):
        machine, rows, labels = stand_in(estimator, X, y, label)
        text = machine_text(estimator.machines_[label], of)
        pictures += model_pictures(machine, rows, labels, names)
    return "\n".join(
        [
            f"<details{' open' if opened else ''}>",
            f"<summary>{html.escape(name)} {badge(verdict.kind)}</summary>",
            sentences(str(verdict)),
            proofs.block(verdict, name),
            text,
            gallery(pictures),
            "</details>",
        ]
    )


def _table(estimator: Any, X: Any, y: Any, verdicts: dict[Hashable, Verdict], proofs: Proofs) -> str:
    machines = getattr(estimator, "machines_", {})
    margin = hasattr(estimator, "certificate_")
    head = ["machine", "verdict", "proof"]
    if machines:
        head[2:2] = ["margin", "relative gap", "wrong"] if margin else ["epochs", "updates", "wrong"]
    rows = []
    for label, verdict in verdicts.items():
        row = [machine_name(label), badge(verdict.kind), proofs.link(verdict, machine_name(label))]
        if machines:
            machine, part, labels = stand_in(estimator, X, y, label)
            wrong = f"{np.count_nonzero(machine.predict(part) != labels):,}"
            if margin:
                facts = [f"{machine.margin_:.4g}", f"{machine.certificate_.relative_gap:.1e}"]
            else:
                facts = [f"{machine.n_iter_:,}", f"{machine.n_mistakes_:,}"]
            row[2:2] = [*facts, wrong]
        rows.append(row)
    return table(head, rows, raw=True)
