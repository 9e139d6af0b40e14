"""One page about one data set: the verdict and its proof, the model and its certificate, the pictures.

The page is one HTML file that asks for nothing from outside: pictures are inside it. It reads well at
phone and desk width, in light and in dark.
"""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Callable, Sequence
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._version import __version__
from maxmargin.certificates.verdict import MulticlassVerdict, Verdict
from maxmargin.core.errors import InputError
from maxmargin.estimators.separability import decide
from maxmargin.plots.certificate import CertificateDisplay
from maxmargin.plots.data import Points, read_points
from maxmargin.plots.learning import ErrorDisplay
from maxmargin.plots.separation import SeparabilityDisplay
from maxmargin.plots.style import pyplot
from maxmargin.plots.xspace import XSpaceDisplay

__all__ = ["write_report"]

DPI = 110
LARGEST = 1 << 21  # bytes of a proof that is put on the page


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

    Returns
    -------
    Path
        Where the page is.
    """
    X_all, y_all = (X, y) if whole is None else whole
    points = read_points(X_all, y_all, estimator, names)
    intercept = getattr(estimator, "fit_intercept", True)
    verdict = decide(X_all, y_all, fit_intercept=intercept, names=points.names)
    trained = len(np.asarray(y))
    sections = [
        ("The data", _data(points, trained)),
        ("Is it separable?", _verdict(verdict, X_all, y_all)),
        ("The model", _model(estimator, X, y, points.names)),
        ("How good is it?", _judged(estimator, X, y, X_val, y_val)),
        ("Make it again", f"<pre>{html.escape(recipe or _recipe(estimator))}</pre>"),
    ]
    page = _page(title or f"{type(estimator).__name__} on {len(points.X):,} rows", sections)
    target = Path(path)
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"the report must be a file that can be written. Got {str(path)!r} instead: {reason}."
        ) from error
    return target


def _page(title: str, sections: Sequence[tuple[str, str]]) -> str:
    template = resources.files("maxmargin.plots").joinpath("report.html").read_text(encoding="utf-8")
    body = "\n".join(
        f"<section><h2>{html.escape(name)}</h2>\n{part}</section>" for name, part in sections
    )
    for key, value in {"TITLE": html.escape(title), "VERSION": __version__, "BODY": body}.items():
        template = template.replace("{{" + key + "}}", value)
    return template


def _data(points: Points, trained: int) -> str:
    counts = np.bincount(points.codes, minlength=len(points.labels))
    rows = [
        (str(label), f"{count:,}", f"{count / len(points.X):.1%}")
        for label, count in zip(points.labels, counts, strict=True)
    ]
    low, high, mean = points.X.min(axis=0), points.X.max(axis=0), points.X.mean(axis=0)
    some = list(zip(points.names, low, mean, high, strict=True))
    features = [(name, f"{a:.4g}", f"{m:.4g}", f"{b:.4g}") for name, a, m, b in some[:12]]
    more = f"<p>… and {len(some) - 12} more features.</p>" if len(some) > 12 else ""
    held = len(points.X) - trained
    split = f" {trained:,} rows were trained on, {held:,} were held out." if held else ""
    return (
        f"<p>{len(points.X):,} rows, {len(points.names)} features, {len(points.labels)} classes."
        f"{split}</p>"
        + _table(("class", "rows", "share"), rows)
        + _table(("feature", "least", "mean", "largest"), features)
        + more
    )


def _verdict(verdict: Verdict | MulticlassVerdict, X: Any, y: Any) -> str:
    text = _sentences(str(verdict))
    if isinstance(verdict, MulticlassVerdict):
        return text
    seal = verdict.proof.to_dict()
    return (
        text
        + _picture(lambda ax: SeparabilityDisplay.from_verdict(verdict, X, y, ax=ax), "the verdict")
        + f"<p>Fingerprint of the data: <code>{seal['data']}</code><br>Seal of the proof: "
        f"<code>{seal['seal']}</code></p>" + _download(seal)
    )


def _download(proof: dict[str, Any]) -> str:
    """The proof itself, to be saved and checked, unless it is large."""
    text = json.dumps(proof, indent=1).encode("ascii")
    if len(text) > LARGEST:
        return "<p>(The proof is too large for this page: verdict.proof.save writes it.)</p>"
    data = base64.b64encode(text).decode()
    link = f'<a download="proof.json" href="data:application/json;base64,{data}">Save the proof</a>'
    return f"<p>{link}, and check it: <code>python -m maxmargin.checker proof.json DATA</code></p>"


def _sentences(text: str) -> str:
    """A text whose lines begin with · as a list."""
    lines = text.replace("\n  ", " ").splitlines()
    parts = [(line.startswith("·"), html.escape(line.lstrip("· "))) for line in lines]
    return "".join(f"<p class=item>{line}</p>" if item else f"<p>{line}</p>" for item, line in parts)


def _model(estimator: Any, X: Any, y: Any, names: Sequence[str]) -> str:
    parts = [f"<pre>{html.escape(repr(estimator))}</pre>"]
    if hasattr(estimator, "certificate_"):
        for label, machine in estimator.machines_.items():
            name = f"{label}: " if len(estimator.machines_) > 1 else ""
            parts.append(f"<pre>{html.escape(name + str(machine.certificate_))}</pre>")
    if hasattr(estimator, "stop_reason_"):
        parts.append(f"<p>{html.escape(str(estimator.stop_reason_))}</p>")
    parts.append(
        _picture(
            lambda ax: XSpaceDisplay.from_estimator(estimator, X, y, names=names, ax=ax), "the model"
        )
    )
    if len(estimator.classes_) == 2:
        if hasattr(estimator, "certificate_"):
            parts.append(_figure(CertificateDisplay.from_estimator(estimator, X, y), "the certificate"))
        elif hasattr(estimator, "history_"):
            parts.append(_picture(lambda ax: ErrorDisplay.from_estimator(estimator, ax=ax), "learning"))
    return "\n".join(parts)


def _judged(estimator: Any, X: Any, y: Any, X_val: Any, y_val: Any) -> str:
    held = X_val is not None
    data, truth = (X_val, y_val) if held else (X, y)
    said, truth = estimator.predict(data), np.asarray(truth)
    classes = estimator.classes_
    matrix = [[int(np.count_nonzero((truth == a) & (said == b))) for b in classes] for a in classes]
    wrong = int(np.count_nonzero(truth != said))
    kind = "validation" if held else "training"
    note = "" if held else " (No validation data was given: these are the rows it was trained on.)"
    head = ("truly ↓, said →", *map(str, classes.tolist()))
    rows = [(str(label), *map(str, line)) for label, line in zip(classes.tolist(), matrix, strict=True)]
    return (
        f"<p>{wrong} of {len(truth)} {kind} rows are wrong ({wrong / len(truth):.2%}).{note}</p>"
        + _table(head, rows)
    )


def _recipe(estimator: Any) -> str:
    return f"import maxmargin as mm\n\nmodel = mm.{estimator!r}.fit(X, y)\nprint(mm.separability(X, y))"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table><tr>{top}</tr>{body}</table></div>'


def _picture(draw: Callable[[Any], Any], name: str) -> str:
    figure, ax = pyplot().subplots(figsize=(8.0, 5.0), layout="constrained")
    draw(ax)
    return _image(figure, name)


def _figure(display: Any, name: str) -> str:
    return _image(display.figure_, name)


def _image(figure: Any, name: str) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, facecolor="white")
    pyplot().close(figure)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<figure><img alt="{html.escape(name)}" src="data:image/png;base64,{data}"></figure>'
