"""One page about one data set: the verdict and its proof, the model and its certificate, the pictures.

The page is one HTML file that asks for nothing from outside: pictures and proofs are inside it. It reads
well at phone and desk width, in light and in dark.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._version import __version__
from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
from maxmargin.core.atomic_write import replacing
from maxmargin.core.errors import plural, unwritable
from maxmargin.estimators.error_bounds import ErrorBounds
from maxmargin.estimators.min_errors import fewest_errors_of
from maxmargin.estimators.progress import time_limit
from maxmargin.estimators.separability import Options, decide
from maxmargin.plots.data import read_labelled
from maxmargin.plots.machine import machine_name, stand_in
from maxmargin.plots.report.pictures import (
    gallery,
    model_pictures,
    path_pictures,
    regions_pictures,
    verdict_picture,
)
from maxmargin.plots.sample import Drawn, draw_model, load_drawable
from maxmargin.rows import Rows

MAX_DESCRIBED_FEATURES = 12
MAX_PICTURED_MACHINES = 10
MAX_NUMBERS_OF_ERRORS = 20_000  # of data for which the fewest errors are looked for,
SECONDS_OF_ERRORS = 3.0  # so long
MAX_PROOF_BYTES = 1 << 21  # of all proofs on a page together
MAX_CHIPS = 60  # names in a row


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
    X, y : array-like, or rows of a file
        The training data. Of more rows than fit in pictures a sample is drawn; numbers are those of all.
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
    X = load_drawable(X)
    whole = (X, y) if whole is None else (load_drawable(whole[0]), whole[1])
    report = Report(estimator, X, y, X_val, y_val, whole, names, title, recipe, source, notes)
    return report.write(path)


@dataclass(frozen=True)
class Report:
    """A page about a model; the fields are the parameters of :func:`write_report`."""

    estimator: Any
    X: Any
    y: Any
    X_val: Any
    y_val: Any
    whole: tuple[Any, Any]
    names: Sequence[str] | None = None
    title: str = ""
    recipe: str = ""
    source: Mapping[str, Any] | None = None
    notes: Sequence[str] = ()

    @cached_property
    def drawn(self) -> Drawn:
        """The model with the training rows that are drawn, and a note if they are a sample."""
        return draw_model(self.estimator, self.X, self.y)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the page, whole or not at all."""
        rows, codes, classes, names = read_labelled(*self.whole, self.estimator, self.names)
        verdict = decide(*self.whole, Options(getattr(self.estimator, "fit_intercept", True)), names)
        proofs, trained = Proofs(self.source), len(np.asarray(self.y))
        part = trained if trained < rows.n else None  # of the rows, if not all were trained on
        sections = [
            ("The data", data_section(rows, classes[codes], names, trained)),
            (
                "Is it separable?",
                verdict_section(verdict, proofs, *self.whole, whole_named=bool(part))
                + self._fewest_errors(verdict, rows, proofs),
            ),
            ("The model", self._model_section(verdict, names, part)),
        ]
        if isinstance(verdict, MulticlassVerdict):
            machines = _Machines(self, verdict, names, proofs, part)
            sections.append(("Machine by machine", machines.section()))
        sections.append(("How good is it?", self._errors_section()))
        recipe = self.recipe or _recipe(self.estimator)
        sections.append(("Reproduce this report", f"<pre>{html.escape(recipe)}</pre>"))
        title = self.title or f"{type(self.estimator).__name__} on {rows.n:,} rows"
        try:
            with replacing(path) as place:
                place.write_bytes(page(title, sections).encode())
        except OSError as error:
            raise unwritable(path, error) from error
        return Path(path)

    def _model_section(
        self, verdict: Verdict | MulticlassVerdict, names: Sequence[str], part: int | None
    ) -> str:
        """What was fitted, its certificate or why it stopped, and its pictures."""
        model, two = self.estimator, isinstance(verdict, Verdict)
        notes = [*self.notes, *([self.drawn.note] if self.drawn.note else [])]
        if not two and hasattr(model, "certificate_"):
            gap = f"{model.certificate_.relative_gap:.1e}"
            text = f"<p>Each machine has its certificate, below: the largest relative gap is {gap}.</p>"
        else:
            text = machine_text(model, part)
        if two:
            pictures = model_pictures(self.drawn, (model, self.X, self.y), names)
        else:
            pictures = regions_pictures(self.drawn, names)
        if not self.drawn.note:
            pictures += path_pictures(model, self.X, self.y, self.X_val, self.y_val)
        shown = f"<pre>{html.escape(repr(model))}</pre>"
        return "\n".join([sentences("\n".join(notes)), shown, text, gallery(pictures)])

    def _fewest_errors(self, verdict: Verdict | MulticlassVerdict, rows: Rows, proofs: Proofs) -> str:
        """How few errors a plane can make: for small data of two classes that overlap."""
        small = rows.n * rows.d <= MAX_NUMBERS_OF_ERRORS
        if isinstance(verdict, MulticlassVerdict) or verdict.separable or not small:
            return ""
        X, y = self.whole
        intercept = getattr(self.estimator, "fit_intercept", True)
        with time_limit("report", SECONDS_OF_ERRORS) as deadline:
            found = fewest_errors_of(X, y, Options(intercept, deadline=deadline))
        made = int(np.count_nonzero(self.estimator.predict(X) != np.asarray(y)))
        return errors_text(found, made, rows.n, proofs)

    def _errors_section(self) -> str:
        held_out = self.X_val is not None
        rows, truth = (self.X_val, self.y_val) if held_out else (self.X, self.y)
        classes = self.estimator.classes_.tolist()
        return errors_section(
            self.estimator.predict(rows), np.asarray(truth), classes, held_out=held_out
        )


def data_section(rows: Rows, labels: np.ndarray, names: Sequence[str], trained: int) -> str:
    """Classes and their sizes; the least, mean and largest value of the first features."""
    n, d = rows.n, rows.d
    kinds, counts = np.unique(labels, return_counts=True)
    classes = [
        (str(label), f"{k:,}", f"{k / n:.1%}")
        for label, k in zip(kinds.tolist(), counts.tolist(), strict=True)
    ]
    described = zip(names[:MAX_DESCRIBED_FEATURES], *_ranges(rows), strict=False)
    features = [(name, f"{a:.4g}", f"{m:.4g}", f"{b:.4g}") for name, a, m, b in described]
    split = f" {trained:,} rows were trained on, {n - trained:,} were held out." if n > trained else ""
    more = (
        f"\n<p>… and {plural(d - MAX_DESCRIBED_FEATURES, 'more feature')}.</p>"
        if d > MAX_DESCRIBED_FEATURES
        else ""
    )
    return (
        f"<p>{n:,} rows, {d} features, {len(kinds)} classes.{split}</p>\n"
        f'<div class="pair">{table(("class", "rows", "share"), classes)}'
        f"{table(('feature', 'least', 'mean', 'largest'), features)}</div>{more}"
    )


def _ranges(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the least, mean and largest value of every feature, in one pass."""
    low, high, total = np.full(rows.d, np.inf), np.full(rows.d, -np.inf), np.zeros(rows.d)
    block: Any
    for _, block in rows.blocks():
        X = block.matrix if block.is_sparse else block.arrays.X
        least, most = X.min(axis=0), X.max(axis=0)
        low = np.minimum(low, least.toarray().ravel() if block.is_sparse else least)
        high = np.maximum(high, most.toarray().ravel() if block.is_sparse else most)
        total += np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()
    return low, total / rows.n, high


def verdict_section(
    verdict: Verdict | MulticlassVerdict, proofs: Proofs, X: Any, y: Any, *, whole_named: bool
) -> str:
    """The verdict on the rows X, y, with its proof; ``whole_named``: say that it is on all rows."""
    if isinstance(verdict, MulticlassVerdict):
        classes, pairs = (line for line in str(verdict).splitlines() if not line.startswith("·"))
        bad = {f"{a} and {b}": v.kind for (a, b), v in verdict.pairs.items() if not v.separable}
        rest = {str(label): v.kind for label, v in verdict.rest.items()}
        return "\n".join([sentences(classes), chips(rest), sentences(pairs), chips(bad)])
    of = f" on all {len(y):,} rows" if whole_named else ""
    text = [f"<p>{badge(verdict.kind)}{of}</p>", sentences(str(verdict)), proofs.block(verdict)]
    picture = gallery([verdict_picture(verdict, X, y)])
    return "\n".join(['<div class="beside"><div>', *text, "</div>", picture, "</div>"])


def errors_text(found: ErrorBounds, made: int, n: int, proofs: Proofs) -> str:
    """The fewest errors of any plane on n rows, with their proof, beside those that the model made."""
    least = plural(int(found.lower), "error")
    best = "" if found.proven else f"The best plane found makes {plural(int(found.upper), 'error')}. "
    return (
        f"\n<p>No plane makes fewer than <b>{least}</b> on the {n:,} rows (proven). {best}"
        f"This model makes {made:,}. A row on the plane is an error.</p>\n"
        f"<p>{proofs.link(found, 'errors')}</p>"
    )


def machine_text(machine: Any, part: int | None = None) -> str:
    """The certificate of a machine, or its bounds, on ``part`` of the rows; or why it stopped."""
    if hasattr(machine, "certificate_"):
        of = "" if part is None else f"on the {part:,} training rows"
        return facts(str(machine.certificate_), of)
    if hasattr(machine, "bounds_"):
        return _bounds_text(machine.bounds_, part)
    if hasattr(machine, "stop_reason_"):
        return f"<p>{html.escape(str(machine.stop_reason_))}</p>"
    return ""


def _bounds_text(bounds: Any, part: int | None) -> str:
    """The fewest errors of any plane, or between which bounds they are; of one machine or several."""
    if isinstance(bounds, dict):
        proven = sum(one.proven for one in bounds.values())
        return (
            "<p>Each machine has its bounds on the fewest errors, below: "
            f"{proven} of {len(bounds)} are proven to make no more than they must.</p>"
        )
    of = "" if part is None else f" On the {part:,} training rows, by their numbers there."
    return sentences(f"{bounds}{of}")


@dataclass(frozen=True)
class _Machines:
    """More than two classes: every machine with its verdict, its proof and its pictures."""

    report: Report
    verdict: MulticlassVerdict
    names: Sequence[str]
    proofs: Proofs
    part: int | None  # of the rows, if the certificates are not about all of them

    @cached_property
    def machines(self) -> Mapping[Hashable, Any]:
        """The machines by label; none of another package's model."""
        return getattr(self.report.estimator, "machines_", {})

    @cached_property
    def verdicts(self) -> Mapping[Hashable, Verdict]:
        """The verdict on each machine."""
        known: dict[Hashable, Verdict] = dict([*self.verdict.rest.items(), *self.verdict.pairs.items()])
        return {label: known[label] for label in self.machines or self.verdict.rest}

    def section(self) -> str:
        """A block for each machine, the first one open, and a table of those beyond ten."""
        labels = list(self.verdicts)
        blocks = [
            self._block(label, opened=label == labels[0]) for label in labels[:MAX_PICTURED_MACHINES]
        ]
        kind = "pairs of classes" if isinstance(labels[0], tuple) else "classes"
        about, rest = "Open a line to see its proof and its pictures.", labels[MAX_PICTURED_MACHINES:]
        if rest:
            about = f"The first {len(blocks)} are shown with pictures, the other {len(rest)} in a table."
            summary = f"<summary>{len(rest)} more machines</summary>"
            blocks.append(f"<details>\n{summary}\n{self._table(rest)}\n</details>")
        return "\n".join([f"<p>{len(labels)} {kind}, and a machine for each. {about}</p>", *blocks])

    def _block(self, label: Hashable, *, opened: bool) -> str:
        name, verdict, text = machine_name(label), self.verdicts[label], ""
        pictures = [verdict_picture(verdict, *self.report.whole)]
        if self.machines:
            text = machine_text(self.machines[label], self.part)
            model, X, y, note = self.report.drawn
            drawn = Drawn(*stand_in(model, X, y, label), note)
            pictures += model_pictures(drawn, self._rows(label), self.names)
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
        margin, bounded = [hasattr(self.report.estimator, a) for a in ("certificate_", "bounds_")]
        head = ["machine", "verdict", "proof"]
        if self.machines:
            about = ["margin", "relative gap"] if margin else ["epochs", "updates"]
            head[2:2] = [*(["errors", "at least"] if bounded else about), "wrong"]
        rows = []
        for label in labels:
            name, verdict = machine_name(label), self.verdicts[label]
            row = [name, badge(verdict.kind), self.proofs.link(verdict, name)]
            if self.machines:
                machine, X, truth = self._rows(label)
                if margin:
                    gap = machine.certificate_.relative_gap
                    numbers = [f"{machine.margin_:.4g}", f"{gap:.1e}"]
                elif bounded:
                    numbers = [f"{machine.bounds_.upper:g}", f"{machine.bounds_.lower:g}"]
                else:
                    numbers = [f"{machine.n_iter_:,}", f"{machine.n_mistakes_:,}"]
                row[2:2] = [*numbers, f"{np.count_nonzero(machine.predict(X) != truth):,}"]
            rows.append(row)
        return table(head, rows, raw=True)

    def _rows(self, label: Hashable) -> tuple[Any, Any, np.ndarray]:
        """The machine of a label as a classifier of two classes, with its training rows."""
        return stand_in(self.report.estimator, self.report.X, self.report.y, label)


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


# Pieces of the page, as HTML: tables, sentences, proofs to save, and the whole.


def page(title: str, sections: Sequence[tuple[str, str]]) -> str:
    """Return the page with its sections, each a heading and what stands below it."""
    body = "\n".join(
        f"<section>\n<h2>{html.escape(name)}</h2>\n{part}\n</section>" for name, part in sections
    )
    return fill_template("report/report.html", title=html.escape(title), version=__version__, body=body)


def fill_template(file: str, **parts: str) -> str:
    """Return a template of this package with its ``{{names}}`` replaced by the parts, all at once."""
    template = resources.files("maxmargin.plots").joinpath(file).read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, kind: str = "", raw: bool = False
) -> str:
    """Return a table; ``raw`` cells are HTML already, but for the first of each row."""
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = []
    for first, *others in rows:
        cells = others if raw else [html.escape(cell) for cell in others]
        body.append(
            f"<tr><th>{html.escape(first)}</th>"
            + "".join(f"<td>{cell}</td>" for cell in cells)
            + "</tr>"
        )
    return (
        f'<div class="wide"><table class="{kind}">'
        + (f"<thead><tr>{top}</tr></thead>\n" if head else "")
        + f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def sentences(text: str) -> str:
    """Return a text as paragraphs; lines that begin with · are a list."""
    lines = text.replace("\n  ", " ").splitlines()
    kinds = [' class="item"' if line.startswith("·") else "" for line in lines]
    said = [html.escape(line.lstrip("· ")) for line in lines]
    return "\n".join(f"<p{kind}>{line}</p>" for kind, line in zip(kinds, said, strict=True))


def chips(kinds: Mapping[str, str]) -> str:
    """Return names, each with the kind of its verdict, one after the other."""
    some = list(kinds.items())[:MAX_CHIPS]
    parts = [f'<span class="chip">{html.escape(name)} {badge(kind)}</span>' for name, kind in some]
    more = len(kinds) - len(some)
    return f"<p>{' '.join(parts)}{f' and {more} more' if more else ''}</p>" if parts else ""


def facts(text: str, of: str = "") -> str:
    """Return a printed certificate, name, value and meaning in columns, as a table under its heading.

    ``of`` says beside the heading which rows it is about.
    """
    heading, *lines = text.splitlines()
    heading += f", {of}" if of else ""
    fields = [re.split(r"\s{2,}", line.strip()) for line in lines]
    rows = [row for row in fields if len(row) == 3]
    found = "\n".join(line.strip() for line, row in zip(lines, fields, strict=True) if len(row) != 3)
    return f"<p>{html.escape(heading)}</p>\n{table((), rows, kind='facts')}\n{sentences(found)}"


def badge(kind: str) -> str:
    """Return the kind of a verdict as a coloured word."""
    return f'<span class="badge {kind}">{kind}</span>'


class Proofs:
    """Proofs as files inside the page, as many as there is room for."""

    def __init__(self, source: Mapping[str, Any] | None = None) -> None:
        self.source = dict(source or {})
        self.room = MAX_PROOF_BYTES

    def link(self, verdict: Verdict | ErrorBounds, name: str = "") -> str:
        """Return a link that saves the proof, or says that there is no room for it."""
        text = json.dumps(self._content(verdict), indent=1).encode("ascii")
        if len(text) > self.room:
            return "too large for this page: verdict.proof.save writes it"
        self.room -= len(text)
        data, file = base64.b64encode(text).decode(), self._file(name)
        return f'<a download="{file}" href="data:application/json;base64,{data}">Save the proof</a>'

    def block(self, verdict: Verdict, name: str = "") -> str:
        """Return fingerprint and seal of a proof, and how to check it."""
        content, link = self._content(verdict), self.link(verdict, name)
        check = f", and check it: <code>python -m maxmargin.checker {self._file(name)} DATA</code>"
        return (
            f'<p class="seal">Fingerprint of the data: <code>{content["data"]}</code><br>'
            f"Seal of the proof: <code>{content['seal']}</code></p>\n"
            f"<p>{link}{check if '</a>' in link else '.'}</p>"
        )

    def _content(self, verdict: Verdict | ErrorBounds) -> dict[str, Any]:
        assert verdict.proof is not None  # the time was not limited
        return verdict.proof.with_source(**self.source).to_dict()

    def _file(self, name: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
        return f"proof-{plain}.json" if plain else "proof.json"
