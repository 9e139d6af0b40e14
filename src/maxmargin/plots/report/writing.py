"""One page about one data set: the verdict and its proof, the model and its certificate, the pictures.

The page is one HTML file that asks for nothing from outside: pictures and proofs are inside it. It reads
well at phone and desk width, in light and in dark.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
from maxmargin.core.atomic_write import replacing
from maxmargin.core.errors import count, unwritable
from maxmargin.estimators.separability import Options, decide
from maxmargin.plots.data import read_points
from maxmargin.plots.report.gallery import (
    machine_blocks,
    machine_text,
    model_pictures,
    path_picture,
    regions_picture,
    verdict_picture,
)
from maxmargin.plots.report.page import Proofs, badge, chips, gallery, page, sentences, table

FEATURES = 12  # that are described


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
    proofs = Proofs(source)
    trained = len(np.asarray(y))
    of = f"on the {trained:,} training rows" if trained < len(points.X) else ""
    labels = points.classes[points.codes]
    ranges = points.X.min(axis=0), points.X.mean(axis=0), points.X.max(axis=0)
    told = _model(estimator, X, y, points.names, X_val, y_val, of)
    sections = [
        ("The data", data_section(labels, points.names, *ranges, trained)),
        ("Is it separable?", _verdict(verdict, everything, proofs, split=bool(of))),
        ("The model", sentences("\n".join(notes)) + told),
    ]
    if isinstance(verdict, MulticlassVerdict):
        blocks = machine_blocks(estimator, X, y, verdict, everything, points.names, proofs, of)
        sections.append(("Machine by machine", blocks))
    rows, truth = (X, y) if X_val is None else (X_val, y_val)
    classes = estimator.classes_.tolist()
    judged = errors_section(
        estimator.predict(rows), np.asarray(truth), classes, held_out=X_val is not None
    )
    sections.append(("How good is it?", judged))
    sections.append(("Make it again", f"<pre>{html.escape(recipe or _recipe(estimator))}</pre>"))
    return write_page(path, title or f"{type(estimator).__name__} on {len(points.X):,} rows", sections)


def write_page(path: str | PathLike[str], title: str, sections: Sequence[tuple[str, str]]) -> Path:
    """Write the page, whole or not at all."""
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
    described = zip(names[:FEATURES], low, mean, high, strict=False)
    features = [(name, f"{a:.4g}", f"{m:.4g}", f"{b:.4g}") for name, a, m, b in described]
    split = f" {trained:,} rows were trained on, {n - trained:,} were held out." if n > trained else ""
    more = f"\n<p>… and {count(d - FEATURES, 'more feature')}.</p>" if d > FEATURES else ""
    return (
        f"<p>{n:,} rows, {d} features, {len(labels)} classes.{split}</p>\n"
        f'<div class="pair">{table(("class", "rows", "share"), classes)}'
        f"{table(('feature', 'least', 'mean', 'largest'), features)}</div>{more}"
    )


def _verdict(
    verdict: Verdict | MulticlassVerdict, whole: tuple[Any, Any], proofs: Proofs, *, split: bool
) -> str:
    if isinstance(verdict, MulticlassVerdict):
        classes, pairs = (line for line in str(verdict).splitlines() if not line.startswith("·"))
        bad = {f"{a} and {b}": v.kind for (a, b), v in verdict.pairs.items() if not v.separable}
        rest = {str(label): v.kind for label, v in verdict.rest.items()}
        return "\n".join([sentences(classes), chips(rest), sentences(pairs), chips(bad)])
    of = f" on all {len(np.asarray(whole[1])):,} rows" if split else ""
    text = [f"<p>{badge(verdict.kind)}{of}</p>", sentences(str(verdict)), proofs.block(verdict)]
    picture = gallery([verdict_picture(verdict, *whole)])
    return "\n".join(['<div class="beside"><div>', *text, "</div>", picture, "</div>"])


def _model(estimator: Any, X: Any, y: Any, names: Sequence[str], X_val: Any, y_val: Any, of: str) -> str:
    two = len(estimator.classes_) == 2
    parts = [f"<pre>{html.escape(repr(estimator))}</pre>"]
    if not two and hasattr(estimator, "certificate_"):
        gap = f"{estimator.certificate_.relative_gap:.1e}"
        parts.append(
            f"<p>Each machine has its certificate, below: the largest relative gap is {gap}.</p>"
        )
    else:
        parts.append(machine_text(estimator, of))
    if two:
        pictures = list(model_pictures(estimator, X, y, names))
    else:
        pictures = [regions_picture(estimator, X, y, names)]
    pictures += path_picture(estimator, X, y, X_val, y_val)
    return "\n".join([*parts, gallery(pictures)])


def errors_section(said: np.ndarray, truth: np.ndarray, classes: list[Any], *, held_out: bool) -> str:
    """The share of wrong predictions, and the confusion matrix."""
    known = [*classes, *(label for label in np.unique(truth).tolist() if label not in classes)]
    counts = [[int(np.count_nonzero((truth == a) & (said == b))) for b in classes] for a in known]
    rows = [
        (str(a), *(_count(n, right=a == b) for n, b in zip(line, classes, strict=True)))
        for a, line in zip(known, counts, strict=True)
    ]
    wrong = int(np.count_nonzero(truth != said))
    kind = "validation" if held_out else "training"
    note = "" if held_out else " (No validation data was given: these are the rows it was trained on.)"
    return (
        f"<p>{wrong:,} of {len(truth):,} {kind} rows are wrong ({wrong / len(truth):.2%}).{note}</p>\n"
        + table(("truly\u00a0↓, said\u00a0→", *map(str, classes)), rows, kind="matrix", raw=True)
    )


def _count(number: int, *, right: bool) -> str:
    if not number:
        return '<span class="none">0</span>'
    return f"<b>{number:,}</b>" if right else f"{number:,}"


def _recipe(estimator: Any) -> str:
    return f"import maxmargin as mm\n\nmodel = mm.{estimator!r}.fit(X, y)\nprint(mm.separability(X, y))"
