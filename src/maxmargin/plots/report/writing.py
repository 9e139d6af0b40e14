"""One page about one data set: the verdict and its proof, the model and its certificate, the pictures.

The page is one HTML file that asks for nothing from outside: pictures and proofs are inside it. It reads
well at phone and desk width, in light and in dark.
"""

from __future__ import annotations

import html
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
from maxmargin.core.atomic_write import replacing
from maxmargin.core.errors import plural, unwritable
from maxmargin.estimators.separability import Options, decide
from maxmargin.plots.data import read_points
from maxmargin.plots.machine import machine_name, stand_in
from maxmargin.plots.report.gallery import (
    model_pictures,
    path_pictures,
    regions_pictures,
    verdict_picture,
)
from maxmargin.plots.report.page import Proofs, badge, chips, facts, gallery, page, sentences, table

MAX_DESCRIBED_FEATURES = 12  # that are described
PICTURED_MACHINES = 10  # machines that have pictures


def write_report(
    path: str | PathLike[str],
    estimator: Any,
    X: Any,
    y: Any,
    *,
    X_val: Any = None,
    y_val: Any = None,
    whole: tuple[Any, Any] | None = None,
    names: Sequence[str] | None = None,
    title: str = "",
    recipe: str = "",
    source: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> Path:
    """Write a page about a fitted linear classifier and its training data.

    Parameters
    ----------
    path : path
        The HTML file to write.
    estimator : fitted classifier of this package
        With its certificate or history.
    X, y : array-like
        The training data.
    X_val, y_val : array-like, optional
        Validation data, for the confusion matrix; without it the training data is judged, and the page
        says so.
    whole : pair (X, y), optional
        All rows, of which X, y are those trained on; the verdict and its proof are about these.
    names : sequence of str, optional
        Names of the features; default those of a data frame, or x0, x1 and so on.
    title : str, optional
        Heading of the page.
    recipe : str, optional
        Commands that make the page again.
    source : mapping, optional
        Where the data file holds what, noted in the proofs for their checker (label, columns).
    notes : sequence of str, optional
        What else there is to say about the model.

    Returns
    -------
    Path
        Where the page is.

    Examples
    --------
    >>> import tempfile
    >>> import maxmargin as mm
    >>> X, y = [[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = mm.plots.write_report(f"{folder}/report.html", mm.HardMarginSVC().fit(X, y), X, y)
    ...     "The gap" in page.read_text(encoding="utf-8")
    True
    """
    everything = (X, y) if whole is None else whole
    points = read_points(*everything, estimator, names)
    intercept = getattr(estimator, "fit_intercept", True)
    verdict = decide(*everything, Options(intercept), points.names)
    proofs, names, trained = Proofs(source), points.names, len(np.asarray(y))
    split = trained < len(points.X)
    of = f"on the {trained:,} training rows" if split else ""
    two = isinstance(verdict, Verdict)
    about = [f"<pre>{html.escape(repr(estimator))}</pre>"]
    if not two and hasattr(estimator, "certificate_"):
        gap = f"{estimator.certificate_.relative_gap:.1e}"
        about.append(
            f"<p>Each machine has its certificate, below: the largest relative gap is {gap}.</p>"
        )
    else:
        about.append(machine_text(estimator, of))
    draw = model_pictures if two else regions_pictures
    pictures = draw(estimator, X, y, names) + path_pictures(estimator, X, y, X_val, y_val)
    labels = points.classes[points.codes]
    ranges = points.X.min(axis=0), points.X.mean(axis=0), points.X.max(axis=0)
    drawn, rows_judged = (verdict, *everything), len(labels) if split else None
    sections = [
        ("The data", data_section(labels, names, *ranges, trained)),
        ("Is it separable?", verdict_section(verdict, proofs, drawn, rows_judged)),
        ("The model", "\n".join([sentences("\n".join(notes)), *about, gallery(pictures)])),
    ]
    if isinstance(verdict, MulticlassVerdict):
        machines = getattr(estimator, "machines_", {})
        known: dict[Hashable, Verdict] = dict([*verdict.rest.items(), *verdict.pairs.items()])
        verdicts = {label: known[label] for label in machines or verdict.rest}
        blocks = _Machines(estimator, X, y, everything, names, proofs, of, machines, verdicts)
        sections.append(("Machine by machine", blocks.section()))
    rows, truth = (X, y) if X_val is None else (X_val, y_val)
    predicted, classes = estimator.predict(rows), estimator.classes_.tolist()
    judged = errors_section(predicted, np.asarray(truth), classes, held_out=X_val is not None)
    sections.append(("How good is it?", judged))
    heading = title or f"{type(estimator).__name__} on {len(points.X):,} rows"
    return write_page(path, heading, sections, recipe or _recipe(estimator))


def write_page(
    path: str | PathLike[str], title: str, sections: Sequence[tuple[str, str]], recipe: str
) -> Path:
    """Write the page, whole or not at all; it ends with the commands that make it again."""
    sections = [*sections, ("Reproduce this report", f"<pre>{html.escape(recipe)}</pre>")]
    try:
        with replacing(path) as place:
            place.write_bytes(page(title, sections).encode())
    except OSError as error:
        raise unwritable(path, error) from error
    return Path(path)


def data_section(
    y: np.ndarray,
    names: Sequence[str],
    low: np.ndarray,
    mean: np.ndarray,
    high: np.ndarray,
    trained: int,
) -> str:
    """Classes and their sizes; the least, mean and largest value of the first features."""
    n, d = len(y), len(names)
    labels, counts = np.unique(y, return_counts=True)
    classes = [
        (str(label), f"{k:,}", f"{k / n:.1%}")
        for label, k in zip(labels.tolist(), counts.tolist(), strict=True)
    ]
    described = zip(names[:MAX_DESCRIBED_FEATURES], low, mean, high, strict=False)
    features = [(name, f"{a:.4g}", f"{m:.4g}", f"{b:.4g}") for name, a, m, b in described]
    split = f" {trained:,} rows were trained on, {n - trained:,} were held out." if n > trained else ""
    more = (
        f"\n<p>… and {plural(d - MAX_DESCRIBED_FEATURES, 'more feature')}.</p>"
        if d > MAX_DESCRIBED_FEATURES
        else ""
    )
    return (
        f"<p>{n:,} rows, {d} features, {len(labels)} classes.{split}</p>\n"
        f'<div class="pair">{table(("class", "rows", "share"), classes)}'
        f"{table(('feature', 'least', 'mean', 'largest'), features)}</div>{more}"
    )


def verdict_section(
    verdict: Verdict | MulticlassVerdict,
    proofs: Proofs,
    drawn: tuple[Any, Any, Any],
    rows: int | None = None,
) -> str:
    """The verdict on ``rows`` rows, its proof, and what is ``drawn``: a verdict and its data."""
    if isinstance(verdict, MulticlassVerdict):
        classes, pairs = (line for line in str(verdict).splitlines() if not line.startswith("·"))
        bad = {f"{a} and {b}": v.kind for (a, b), v in verdict.pairs.items() if not v.separable}
        rest = {str(label): v.kind for label, v in verdict.rest.items()}
        return "\n".join([sentences(classes), chips(rest), sentences(pairs), chips(bad)])
    of = "" if rows is None else f" on all {rows:,} rows"
    text = [f"<p>{badge(verdict.kind)}{of}</p>", sentences(str(verdict)), proofs.block(verdict)]
    picture = gallery([verdict_picture(*drawn)])
    return "\n".join(['<div class="beside"><div>', *text, "</div>", picture, "</div>"])


def machine_text(machine: Any, of: str = "") -> str:
    """The certificate of a margin machine and what it is of, or why a perceptron stopped."""
    if hasattr(machine, "certificate_"):
        return facts(str(machine.certificate_), of)
    if hasattr(machine, "stop_reason_"):
        return f"<p>{html.escape(str(machine.stop_reason_))}</p>"
    return ""


@dataclass(frozen=True)
class _Machines:
    """More than two classes: every machine with its verdict, its proof and its pictures."""

    estimator: Any
    X: Any
    y: Any
    whole: tuple[Any, Any]
    names: Sequence[str]
    proofs: Proofs
    of: str  # which rows the certificates are of
    machines: Mapping[Hashable, Any]  # none of another package's model
    verdicts: Mapping[Hashable, Verdict]

    def section(self) -> str:
        """A block for each machine, the first one open, and a table of those beyond ten."""
        labels = list(self.verdicts)
        blocks = [self._block(label, opened=label == labels[0]) for label in labels[:PICTURED_MACHINES]]
        kind = "pairs of classes" if isinstance(labels[0], tuple) else "classes"
        about, rest = "Open a line to see its proof and its pictures.", labels[PICTURED_MACHINES:]
        if rest:
            about = f"The first {len(blocks)} are shown with pictures, the other {len(rest)} in a table."
            summary = f"<summary>{len(rest)} more machines</summary>"
            blocks.append(f"<details>\n{summary}\n{self._table(rest)}\n</details>")
        return "\n".join([f"<p>{len(labels)} {kind}, and a machine for each. {about}</p>", *blocks])

    def _block(self, label: Hashable, *, opened: bool) -> str:
        name, verdict, text = machine_name(label), self.verdicts[label], ""
        pictures = [verdict_picture(verdict, *self.whole)]
        if self.machines:
            text = machine_text(self.machines[label], self.of)
            pictures += model_pictures(*stand_in(self.estimator, self.X, self.y, label), self.names)
        return "\n".join(
            [
                f"<details{' open' if opened else ''}>",
                f"<summary>{html.escape(name)} {badge(verdict.kind)}</summary>",
                sentences(str(verdict)),
                self.proofs.block(verdict, name),
                text,
                gallery(pictures),
                "</details>",
            ]
        )

    def _table(self, labels: Sequence[Hashable]) -> str:
        margin = hasattr(self.estimator, "certificate_")
        head = ["machine", "verdict", "proof"]
        if self.machines:
            head[2:2] = ["margin", "relative gap", "wrong"] if margin else ["epochs", "updates", "wrong"]
        rows = []
        for label in labels:
            name, verdict = machine_name(label), self.verdicts[label]
            row = [name, badge(verdict.kind), self.proofs.link(verdict, name)]
            if self.machines:
                machine, part, truth = stand_in(self.estimator, self.X, self.y, label)
                if margin:
                    gap = machine.certificate_.relative_gap
                    numbers = [f"{machine.margin_:.4g}", f"{gap:.1e}"]
                else:
                    numbers = [f"{machine.n_iter_:,}", f"{machine.n_mistakes_:,}"]
                row[2:2] = [*numbers, f"{np.count_nonzero(machine.predict(part) != truth):,}"]
            rows.append(row)
        return table(head, rows, raw=True)


def errors_section(
    predicted: np.ndarray, truth: np.ndarray, classes: list[Any], *, held_out: bool
) -> str:
    """The share of wrong predictions, and the confusion matrix."""
    known = [*classes, *(label for label in np.unique(truth).tolist() if label not in classes)]
    counts = [[int(np.count_nonzero((truth == a) & (predicted == b))) for b in classes] for a in known]
    rows = [
        (str(a), *(_count(n, right=a == b) for n, b in zip(line, classes, strict=True)))
        for a, line in zip(known, counts, strict=True)
    ]
    wrong = int(np.count_nonzero(truth != predicted))
    kind = "validation" if held_out else "training"
    note = "" if held_out else " (No validation data was given: these are the rows it was trained on.)"
    return (
        f"<p>{wrong:,} of {len(truth):,} {kind} rows are wrong ({wrong / len(truth):.2%}).{note}</p>\n"
        + table(("actual\u00a0↓, predicted\u00a0→", *map(str, classes)), rows, kind="matrix", raw=True)
    )


def _count(number: int, *, right: bool) -> str:
    if not number:
        return '<span class="none">0</span>'
    return f"<b>{number:,}</b>" if right else f"{number:,}"


def _recipe(estimator: Any) -> str:
    return f"import maxmargin as mm\n\nmodel = mm.{estimator!r}.fit(X, y)\nprint(mm.separability(X, y))"
