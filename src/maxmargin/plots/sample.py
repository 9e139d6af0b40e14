"""Which rows are drawn: all of them, or a fixed sample of more than fit in a picture.

Every number is that of all rows. A sample holds the rows that a picture is about (support vectors, a
witness) and some of all the others, the same ones every time. The model that is drawn with it has the
weights and the certificate of all rows, and counts its support vectors among those of the sample.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.certificates.verdict import Verdict
from maxmargin.core.errors import InputError, Remedy
from maxmargin.core.memory import copy_limit
from maxmargin.estimators.margin_classifier import MarginClassifier
from maxmargin.plots.machine import machine_among
from maxmargin.rows import Rows, as_rows

MAX_DRAWN_ROWS = 5_000


class Sample(NamedTuple):
    """Some rows of the data: which, and what they hold."""

    rows: np.ndarray
    X: np.ndarray
    y: np.ndarray
    note: str


class Drawn(NamedTuple):
    """A model or a verdict with the rows that it is drawn over; a note if these are a sample."""

    subject: Any
    X: Any
    y: np.ndarray
    note: str = ""


def is_drawable(X: Any) -> bool:
    """Whether all rows can be drawn: a picture makes them dense, and copies them."""
    if not (isinstance(X, Rows) or sparse.issparse(X)):
        return True
    n, d = _shape(X)
    return n * d <= copy_limit()


def in_memory(X: Any, what: str) -> Any:
    """All rows in memory, which ``what`` needs; an error if there is no room."""
    if not is_drawable(X):
        n, d = _shape(X)
        raise InputError(
            f"{what} needs all rows in memory, at most {copy_limit():,} numbers. Got {n:,} × {d:,} "
            "instead.",
            Remedy("name a file of fewer rows"),
            Remedy("choose some of its features with {}", "columns"),
        )
    return load_drawable(X)


def load_drawable(X: Any) -> Any:
    """Rows of a file in memory if all of them can be drawn; whatever else as it is."""
    if not isinstance(X, Rows) or not is_drawable(X):
        return X
    rows: Any = X.select(np.arange(X.n))
    return rows.matrix if rows.is_sparse else rows.arrays.X


def draw(
    X: Any,
    y: np.ndarray,
    needed: Sequence[np.ndarray] = (),
    wanted: Sequence[np.ndarray] = (),
    max_rows: int = MAX_DRAWN_ROWS,
) -> Sample:
    """Draw a sample, the same one every time.

    One of each class and those that are ``needed`` are among them; up to a quarter are ``wanted``, the
    first ones first; the others are any.
    """
    n, d = _shape(X)
    most = min(n, max_rows, copy_limit() // d)
    firsts = np.unique(y, return_index=True)[1]
    kept = np.unique(np.concatenate([firsts, *needed]))
    if most < 4 * len(firsts) or most < len(kept):
        raise InputError(
            f"a picture needs {max(4 * len(firsts), len(kept)):,} rows in memory. Got {d:,} features "
            f"instead, which leave room for {most:,}.",
            Remedy("choose some of them with {}", "columns"),
        )
    for rows in wanted:
        left, rows = most // 4 - len(kept), np.setdiff1d(rows, kept)
        if left > 0 and len(rows):
            kept = np.append(kept, rows[:: -(-len(rows) // left)])
    others = np.random.default_rng(0).choice(n, most, replace=False)
    others = others[~np.isin(others, kept)][: most - len(kept)]
    rows = np.sort(np.append(kept, others))
    part: Any = X.take(rows) if isinstance(X, Rows) else X[rows]
    part = part.toarray() if sparse.issparse(part) else part
    note = (
        f"A fixed sample is drawn and counted: {len(rows):,} of {n:,} rows. "
        "Planes and proofs are those of all rows."
    )
    return Sample(rows, part, y[rows], note)


def draw_model(model: Any, X: Any, y: Any) -> Drawn:
    """The model over its training rows, or over a sample that prefers its support vectors.

    Those on the edges come first. The support vectors of the model are then counted in the sample.
    """
    if is_drawable(X):
        return Drawn(model, load_drawable(X), y)
    margin = isinstance(model, MarginClassifier)
    sample = draw(X, np.asarray(y), wanted=[model.free_support_, model.support_] if margin else [])
    found = copy.copy(model)
    vars(found).pop("feature_names_in_", None)  # rows of a picture have no names
    if margin:
        among = {label: machine_among(m, sample.rows) for label, m in model.machines_.items()}
        found.machines_ = among
    return Drawn(found, sample.X, sample.y, sample.note)


def draw_verdict(verdict: Verdict, X: Any, y: Any) -> Drawn:
    """The verdict over its rows, or over a sample that holds its witness or its nearest rows."""
    if is_drawable(X):
        return Drawn(verdict, load_drawable(X), y)
    y, witness = np.asarray(y), verdict.witness
    needed = [] if witness is None else [witness.rows]
    if verdict.margin is not None and verdict.w is not None:  # the nearest row of each side
        rows = X if isinstance(X, Rows) else as_rows(X)
        f = rows.times(verdict.w[:, None])[:, 0]
        ours = y == verdict.positive
        others = ~ours if verdict.negative is None else y == verdict.negative
        nearest = np.argmin(np.where(ours, f, np.inf)), np.argmax(np.where(others, f, -np.inf))
        needed.append(np.array(nearest))
    sample = draw(X, y, needed, [verdict.on_plane])
    if witness is not None:
        positive, negative = (
            np.searchsorted(sample.rows, part) for part in (witness.positive, witness.negative)
        )
        witness = replace(witness, positive=positive, negative=negative)
    on_plane = np.searchsorted(sample.rows, np.intersect1d(verdict.on_plane, sample.rows))
    counted = replace(verdict, witness=witness, on_plane=on_plane)
    return Drawn(counted, sample.X, sample.y, sample.note)


def _shape(X: Any) -> tuple[int, int]:
    n, d = (X.n, X.d) if isinstance(X, Rows) else np.shape(X)
    return int(n), int(d)
