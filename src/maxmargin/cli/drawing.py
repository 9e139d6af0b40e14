"""The model of a picture, and its rows: of more than can be drawn, a fixed sample.

Every number is that of all rows. A sample holds the rows that a picture is about (support vectors, a
witness) and some of all the others, the same ones every time. The model that is drawn with it has the
weights and the certificate of all rows, and counts its support vectors among those of the sample.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import maxmargin as mm
from maxmargin.certificates.verdict import Verdict
from maxmargin.cli.inputs import Table
from maxmargin.cli.options import MODELS
from maxmargin.core.errors import BudgetWarning, InputError, NotSeparableError
from maxmargin.core.memory import copy_limit
from maxmargin.estimators.margin_classifier import MarginClassifier
from maxmargin.rows import Rows

MAX_DRAWN_ROWS = 5_000
MAX_RECORDED_ROWS = 2_000  # up to which a perceptron records every update


def fit_to_draw(name: str, C: float, intercept: bool, X: Any, y: Any) -> tuple[Any, str]:
    """Return a fitted model and a note: the soft margin, where the hard margin has no solution."""
    record = {"record": len(y) <= MAX_RECORDED_ROWS}
    given: dict[str, dict[str, Any]] = {
        "perceptron": record,
        "batch-perceptron": record,
        "pocket": {"random_state": 0},
        "hard-margin": {},
        "soft-margin": {"C": C},
    }

    def fit(name: str) -> Any:
        return getattr(mm, MODELS[name])(fit_intercept=intercept, **given[name]).fit(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)  # the reason of stopping is shown
        try:
            return fit(name), ""
        except NotSeparableError:
            note = f"No plane separates the classes. Drawn instead: the soft margin with C = {C:g}."
            return fit("soft-margin"), note


class Sample(NamedTuple):
    """Some rows of a table: which, and what they hold."""

    rows: np.ndarray
    X: np.ndarray
    y: np.ndarray
    note: str


def is_drawable(table: Table) -> bool:
    """Whether all rows can be drawn: a picture makes them dense, and copies them."""
    n, d = table.shape
    return isinstance(table.X, np.ndarray) or n * d <= copy_limit()


def in_memory(table: Table, what: str) -> Table:
    """The table with all rows in memory, which ``what`` needs; an error if there is no room."""
    if not is_drawable(table):
        n, d = table.shape
        raise InputError(
            f"{what} needs all rows in memory, at most {copy_limit():,} numbers. Got {n:,} × {d:,} "
            "instead. Name a file of fewer rows, or choose some of its features with --columns."
        )
    if not isinstance(table.X, Rows):
        return table
    rows: Any = table.X.select(np.arange(table.X.n))
    return table._replace(X=rows.matrix if rows.is_sparse else rows.arrays.X)


def draw(
    table: Table,
    needed: Sequence[np.ndarray] = (),
    wanted: Sequence[np.ndarray] = (),
    max_rows: int = MAX_DRAWN_ROWS,
) -> Sample:
    """Draw a sample, the same one every time.

    One of each class and those that are ``needed`` are among them; up to a quarter are ``wanted``, the
    first ones first; the others are any.
    """
    n, d = table.shape
    most = min(n, max_rows, copy_limit() // d)
    firsts = np.unique(table.y, return_index=True)[1]
    kept = np.unique(np.concatenate([firsts, *needed]))
    if most < 4 * len(firsts) or most < len(kept):
        raise InputError(
            f"a picture needs {max(4 * len(firsts), len(kept)):,} rows in memory. Got {d:,} features "
            f"instead, which leave room for {most:,}. Choose some of them with --columns."
        )
    for rows in wanted:
        left, rows = most // 4 - len(kept), np.setdiff1d(rows, kept)
        if left > 0 and len(rows):
            kept = np.append(kept, rows[:: -(-len(rows) // left)])
    others = np.random.default_rng(0).choice(n, most, replace=False)
    others = others[~np.isin(others, kept)][: most - len(kept)]
    rows = np.sort(np.append(kept, others))
    X: Any = table.X.take(rows) if isinstance(table.X, Rows) else table.X[rows]
    X = X.toarray() if sparse.issparse(X) else X
    note = (
        f"A fixed sample is drawn and counted: {len(rows):,} of {n:,} rows. "
        "Planes and proofs are those of all rows."
    )
    return Sample(rows, X, table.y[rows], note)


def model_rows(model: Any) -> list[np.ndarray]:
    """The rows that the picture of a model wants: its support vectors, first those on the edges."""
    return [model.free_support_, model.support_] if isinstance(model, MarginClassifier) else []


def model_among(model: Any, rows: np.ndarray) -> Any:
    """The model with its support vectors counted among these rows."""
    from maxmargin.plots.machine import machine_among

    found = copy.copy(model)
    vars(found).pop("feature_names_in_", None)  # rows of a picture have no names
    if isinstance(model, MarginClassifier):
        found.machines_ = {label: machine_among(m, rows) for label, m in model.machines_.items()}
    return found


def verdict_among(verdict: Verdict, rows: np.ndarray) -> Verdict:
    """The verdict with its witness counted among these rows, which hold it."""
    witness = verdict.witness
    if witness is not None:
        places = (np.searchsorted(rows, part) for part in (witness.positive, witness.negative))
        positive, negative = places
        witness = replace(witness, positive=positive, negative=negative)
    on_plane = np.searchsorted(rows, np.intersect1d(verdict.on_plane, rows))
    return replace(verdict, witness=witness, on_plane=on_plane)


def verdict_rows(verdict: Verdict, table: Table) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The rows that the picture of a verdict needs, and those that it wants."""
    needed: list[np.ndarray] = [] if verdict.witness is None else [verdict.witness.rows]
    if verdict.margin is not None and verdict.w is not None:  # the nearest row of each side
        f = table.rows.times(verdict.w[:, None])[:, 0]
        ours = table.y == verdict.positive
        others = ~ours if verdict.negative is None else table.y == verdict.negative
        nearest = np.argmin(np.where(ours, f, np.inf)), np.argmax(np.where(others, f, -np.inf))
        needed.append(np.array(nearest))
    return needed, [verdict.on_plane]
