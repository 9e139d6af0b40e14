"""Rows and labels as the state that the lab opens with: two features, or a projection of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.checker import canonical
from maxmargin.core.errors import InputError
from maxmargin.laboratory.state import LARGEST, LIMITS, NAME
from maxmargin.laboratory.tables import draw_rows, pad, project
from maxmargin.rows.sparse import check_structure


def opening(
    X: Any,
    y: Any,
    names: Sequence[Any] | None = None,
    features: Sequence[Any] | None = None,
    *,
    sample: bool = False,
) -> tuple[dict[str, Any], str]:
    """A state and a note on how it came about.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
    y : array of shape (n,)
        At most five classes.
    names : sequence of d names, optional
        Otherwise the columns of a data frame, or x₁, x₂, ….
    features : two names or places, optional
        The features to show; otherwise more than two are projected.
    sample : bool
        Whether more rows than the page takes are drawn from, rather than refused.
    """
    names = _names(X, names)
    rows = _rows(X)
    codes, labels = _classes(y, len(rows))
    names = [f"x{_below(k + 1)}" for k in range(rows.shape[1])] if names is None else names
    if len(names) != rows.shape[1]:
        raise InputError(
            f"names must be {rows.shape[1]}, one for each feature. Got {len(names)} instead."
        )
    if len(rows) > LIMITS["points"] and not sample:
        raise _too_many(len(rows), LIMITS["points"])
    kept, sampled = draw_rows(codes)
    rows, codes, shown = rows[kept], codes[kept], ""
    if features is not None:
        places = _places(features, names)
        rows, names = rows[:, places], [names[k] for k in places]
    elif rows.shape[1] == 1:
        rows, names, shown = pad(rows, names)
    elif rows.shape[1] > 2:
        rows, names, shown = project(rows, codes, names)
    points = [[a, b, code, 0] for (a, b), code in zip(rows.tolist(), codes.tolist(), strict=True)]
    state = {"v": 1, "points": points, "labels": labels, "names": [name[:NAME] for name in names]}
    return state, f"{sampled} {shown}".strip()


def _names(X: Any, names: Sequence[Any] | None) -> list[str] | None:
    if names is None:
        names = getattr(X, "columns", None)
    return None if names is None else [str(name) for name in names]


def _rows(X: Any) -> np.ndarray:
    most = LIMITS["table_columns"]
    try:
        shape = np.shape(X)
        if len(shape) != 2 or shape[0] < 1 or not 1 <= shape[1] <= most:
            raise InputError(
                f"X must be a table of rows and 1 to {most} features. Got the shape {shape} instead. "
                "Choose some of its columns, or X.reshape(-1, 1) for one feature."
            )
        check_structure(X)
        rows = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(
            f"X must be a table of numbers. Got something else instead: {error}."
        ) from error
    bad = np.argwhere(~(np.abs(rows) <= LARGEST))
    if len(bad):
        row, column = bad[0].tolist()
        raise InputError(
            f"X must hold numbers up to {LARGEST:g} in size. Got {rows[row, column]} in row {row}, "
            f"column {column} instead. Leave the row out, or fill it in."
        )
    return rows + 0.0


def _classes(y: Any, n: int) -> tuple[np.ndarray, list[str]]:
    """The class of every row by number, and the names of the classes: sorted, the last is positive."""
    given = np.asarray(y)
    if given.shape != (n,):
        raise InputError(f"y must hold one label for each of the {n} rows. Got the shape {given.shape}.")
    try:
        classes, codes = np.unique(given, return_inverse=True)
    except TypeError as error:
        raise InputError("y must be labels of one kind, numbers or texts. Got a mixture.") from error
    if not 2 <= len(classes) <= LIMITS["classes"]:
        raise InputError(
            f"y must have 2 to {LIMITS['classes']} classes. Got {len(classes)} instead. "
            "Keep the rows of some classes, or tell one class from all others: y == label."
        )
    labels = [canonical(str(label))[:NAME] for label in classes.tolist()]
    if len(set(labels)) < len(labels) or "" in labels:
        labels = [f"class {k + 1}" for k in range(len(labels))]
    return codes, labels


def _too_many(n: int, most: int) -> InputError:
    return InputError(
        f"X must have at most {most:,} rows: more cannot be told apart on the page. Got {n:,} "
        f"instead. Draw some: rows = np.random.default_rng(0).choice({n}, {most}, replace=False)."
    )


def _places(features: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Where two features are that are given by their names or places."""
    some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    allowed = f"features must be two of {some}, or numbers from 0 to {len(names) - 1}."
    if isinstance(features, str) or len(features) != 2:
        raise InputError(f"{allowed} Got {features!r} instead.")
    places = []
    for feature in features:
        text = str(feature)
        place = names.index(text) if text in names else int(text) if _is_place(text) else len(names)
        if not 0 <= place < len(names):
            raise InputError(f"{allowed} Got {feature!r} instead.")
        places.append(place)
    if places[0] == places[1]:
        raise InputError(f"{allowed} Got {features[0]!r} twice instead.")
    return places


def _is_place(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _below(number: int) -> str:
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(number))
