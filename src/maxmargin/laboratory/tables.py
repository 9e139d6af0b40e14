"""Data as points of the page: text that was pasted or dropped, or rows and labels from Python.

Two features are shown as they are; more, or all of them, are projected. Of large tables a sample of rows
is taken, the same every time.
"""

from __future__ import annotations

import csv
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.checker import canonical
from maxmargin.core.errors import InputError, listed
from maxmargin.estimators.soft_margin import SoftMarginSVC
from maxmargin.laboratory.state import (
    LIMITS,
    MAX_NAME,
    MAX_NUMBER,
    MIN_COORDINATE,
    check_text,
    complain,
    read_bool,
    shortened,
)
from maxmargin.plots.data import choose_view
from maxmargin.rows.sparse import check_structure

PROJECTION = "projection"


def read_table(given: Mapping[str, Any]) -> dict[str, Any]:
    """Points, labels and names from text; the columns, so that others can be chosen."""
    text = check_text("text", given.get("text"), LIMITS["message"])
    header = given.get("header")
    if header is not None:
        read_bool("header", header)
    columns = read_columns(text, header)
    described = [{"name": c.name, "numeric": c.numeric} for c in columns]
    if read_bool("look", given.get("look", False)):  # only what there is to choose from
        return {"columns": described, "label": len(columns) - 1, "note": ""}
    label = choose_label(columns, given.get("label"))
    texts = [canonical(text) for text in columns[label].texts]
    classes = _in_order(list(dict.fromkeys(texts)))
    codes = np.array([classes.index(text) for text in texts])
    chosen, projected = choose_features(columns, label, given.get("features"))
    rows = np.column_stack([columns[k].values() for k in chosen])
    state, note = _state(rows, codes, classes, [columns[k].name for k in chosen], projected)
    return {
        "columns": described,
        "label": label,
        "features": PROJECTION if projected else chosen,
        **state,
        "rows": len(rows),
        "note": note,
    }


def opening(
    X: Any,
    y: Any,
    names: Sequence[Any] | None = None,
    features: Sequence[Any] | None = None,
    *,
    sample: bool = False,
) -> tuple[dict[str, Any], str]:
    """Return the state to open with, and a note on how it came about.

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
        Whether to sample from more rows than the page takes, rather than refuse them.
    """
    if names is None:
        names = getattr(X, "columns", None)
    rows = _as_table(X)
    n, d = rows.shape
    codes, labels = _as_classes(y, n)
    names = [f"x{_subscript(k + 1)}" for k in range(d)] if names is None else [str(f) for f in names]
    if len(names) != d:
        raise InputError(f"names must be {d}, one for each feature. Got {len(names)} instead.")
    most = LIMITS["points"]
    if n > most and not sample:
        raise InputError(
            f"X must have at most {most:,} rows: more cannot be told apart on the page. Got {n:,} "
            f"instead. Draw some: rows = np.random.default_rng(0).choice({n}, {most}, replace=False)."
        )
    if features is not None:
        places = _places(features, names)
        rows, names = rows[:, places], [names[k] for k in places]
    state, note = _state(rows, codes, labels, names, rows.shape[1] > 2)
    return {"v": 1, **state}, note


# Rows as points of the page: no more than it takes, in two coordinates.
#
# More than two features are shown along w of a soft margin, and across it; one alone, on a line.


def _state(
    rows: np.ndarray, codes: np.ndarray, labels: list[str], names: list[str], projected: bool
) -> tuple[dict[str, Any], str]:
    """Points, labels and names, and a note on how they came about."""
    kept, sampled = _sample(codes)
    rows, codes, shown = rows[kept], codes[kept], ""
    if projected:
        rows, names, shown = _project(rows, codes, names)
    elif len(names) == 1:
        rows, names = np.column_stack([rows, np.zeros(len(rows))]), [*names, "(nothing)"]
        shown = "There is one feature: the second coordinate is 0."
    points = [[a, b, code, 0] for (a, b), code in zip(rows.tolist(), codes.tolist(), strict=True)]
    state = {"points": points, "labels": _short(labels), "names": [name[:MAX_NAME] for name in names]}
    return state, f"{sampled} {shown}".strip()


def _sample(codes: np.ndarray) -> tuple[np.ndarray, str]:
    """All rows, or as many as the page takes, every class among them; the same ones every time."""
    n, most = len(codes), LIMITS["points"]
    if n <= most:
        return np.arange(n), ""
    firsts = np.unique(codes, return_index=True)[1]
    others = np.setdiff1d(np.arange(n), firsts)
    drawn = np.random.default_rng(0).choice(others, most - len(firsts), replace=False)
    note = f"Of {n:,} rows, {most:,} were drawn at random: as many as the page takes."
    return np.sort(np.append(firsts, drawn)), note


def _project(
    X: np.ndarray, codes: np.ndarray, names: Sequence[str]
) -> tuple[np.ndarray, list[str], str]:
    """Points along w and along the largest other direction, their names, and a note.

    w is that of a soft margin with C = 1 on features of mean 0 and spread 1 each: of the first class
    against the others, if there are several. The lengths shown are those of the scaled features.
    """
    spread = X.std(axis=0)
    scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SoftMarginSVC(C=1.0).fit(scaled, codes)
    view = choose_view(scaled, model.coef_[0], "projection", None, list(names))
    flat = np.round(view.flat(scaled), 9) + 0.0
    note = (
        f"{len(names)} features, each scaled to mean 0 and spread 1, are shown along the normal w of a "
        "soft margin (C = 1) and along the largest other direction."
    )
    return flat, list(view.names), note


def _short(names: Sequence[str]) -> list[str]:
    """Names of a length that fits the page, still different."""
    short = [
        name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 4]}… {k}" for k, name in enumerate(names)
    ]
    if len(set(short)) == len(short) and "" not in short:
        return short
    return [f"class {k + 1}" for k in range(len(names))]


# Text, pasted or dropped, as columns; a refusal names the line.
#
# Fields are separated by tabs, semicolons or commas, whichever the first line has most of.

SEPARATORS = "\t;,"


@dataclass(frozen=True)
class Column:
    """One column of text."""

    name: str
    texts: list[str]
    lines: list[int]  # where in the file

    @cached_property
    def distinct(self) -> list[str]:
        """The different texts, in order of appearance."""
        return list(dict.fromkeys(self.texts))

    @cached_property
    def numeric(self) -> bool:
        """Whether numbers are meant: half of the texts are some, gaps aside."""
        filled = [text for text in self.texts if text]
        return bool(filled) and 2 * sum(_number(text) is not None for text in filled) >= len(filled)

    def values(self) -> np.ndarray:
        """The numbers; an error names the line of the first text that is none."""
        numbers = [_number(text) for text in self.texts]
        for text, number, line in zip(self.texts, numbers, self.lines, strict=True):
            if number is None or (number != 0 and not MIN_COORDINATE <= abs(number) <= MAX_NUMBER):
                given = "an empty field" if not text else repr(text[:40])
                raise InputError(
                    f"line {line}: {self.name} must be 0, or a number from {MIN_COORDINATE:g} to "
                    f"{MAX_NUMBER:g} in size. Got {given} instead. Correct the line or leave it out, or "
                    "choose another column."
                )
        return np.array(numbers, dtype=np.float64) + 0.0


def read_columns(text: str, header: bool | None) -> list[Column]:
    """The columns of a table; ``header`` None means to find out whether the first line has names."""
    lines = _lines(text.removeprefix("\ufeff"))
    if not lines:
        raise InputError("a table must hold rows. Got none. Paste rows of numbers and a label.")
    wide = len(lines[0][1])
    for number, fields in lines:
        if len(fields) != wide:
            raise InputError(
                f"line {number}: must have {wide} fields, as line {lines[0][0]} has. "
                f"Got {len(fields)} instead. Correct the line."
            )
    if wide > LIMITS["table_columns"]:
        raise InputError(f"a table must have at most {LIMITS['table_columns']} columns. Got {wide}.")
    if wide < 2:
        raise InputError(
            "a table must have at least two columns, features and a label, separated by commas, "
            "semicolons or tabs. Got one."
        )
    first, below = lines[0][1], lines[1][1] if len(lines) > 1 else []
    if header is None:
        header = _is_header(first, below)
    body = lines[1:] if header else lines
    if not body:
        raise InputError("a table must hold rows below its header. Got none.")
    if len(body) > LIMITS["table_rows"]:
        raise InputError(
            f"a table must have at most {LIMITS['table_rows']:,} rows. Got {len(body):,}. "
            "Paste a part of it."
        )
    names = [(header and name) or f"column {k + 1}" for k, name in enumerate(first)]
    numbers = [number for number, _ in body]
    return [
        Column(name[: 4 * MAX_NAME], [fields[k] for _, fields in body], numbers)
        for k, name in enumerate(names)
    ]


def _lines(text: str) -> list[tuple[int, list[str]]]:
    """The lines that are not blank, with their numbers; spaces around fields are left out."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    best = max(SEPARATORS, key=first.count)
    reader = csv.reader(StringIO(text, newline=""), delimiter=best, strict=True)
    try:
        stripped = ((reader.line_num, [field.strip() for field in fields]) for fields in reader)
        return [(number, fields) for number, fields in stripped if any(fields)]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num}: {error}. Correct the line.") from error


def _is_header(first: Sequence[str], below: Sequence[str]) -> bool:
    """Whether the first line holds names: a column has a number below something that is none."""
    numbers = [_number(text) is not None for text in first]
    if not any(numbers):
        return not below or any(_number(text) is not None for text in below)
    pairs = zip(numbers, below, strict=False)
    return not all(numbers) and any(not here and _number(text) is not None for here, text in pairs)


def _number(text: str) -> float | None:
    if not re.fullmatch(r"[+\-−]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII):
        return None
    value = float(text.replace("−", "-"))
    return value if math.isfinite(value) else None


# Which columns of a table are the label and the features.


def choose_label(columns: Sequence[Column], wanted: Any) -> int:
    """The column of the label: as wanted, or the last of few words, or one of few numbers at an end."""
    if wanted is not None:
        place = find_column("label", columns, wanted)
    else:
        last = len(columns) - 1
        texts = [k for k, column in enumerate(columns) if not column.numeric]
        few_words = [k for k in texts if _can_be_label(columns[k])]
        ends = [k for k in (0, last) if _can_be_label(columns[k])]
        place = [last, *ends, *texts, *few_words][-1]
    _check_label(columns[place])
    return place


def _in_order(classes: list[str]) -> list[str]:
    """The classes, sorted as numbers if they are, else as text: of two, the last is the positive one."""
    try:
        return sorted(classes, key=lambda text: (float(text.replace("−", "-")), text))
    except ValueError:
        return sorted(classes)


def choose_features(columns: Sequence[Column], label: int, wanted: Any) -> tuple[list[int], bool]:
    """Two columns, or all of them to be projected; by default the first two of numbers."""
    numeric = [k for k, column in enumerate(columns) if column.numeric and k != label]
    if not numeric:
        raise InputError(
            "a table must have a column of numbers besides the label. Got none. Choose another label."
        )
    if wanted is None:
        return numeric[:2], False
    if wanted == PROJECTION:
        if len(numeric) < 2:
            raise InputError("a projection needs at least two columns of numbers. Got one.")
        return numeric, True
    if not isinstance(wanted, list | tuple) or len(wanted) != 2:
        raise complain("features", f"two columns or '{PROJECTION}'", wanted)
    places = [find_column("features", columns, one) for one in wanted]
    if places[0] == places[1] or label in places:
        raise complain("features", "two different columns, neither of them the label", wanted)
    return places, False


def find_column(name: str, columns: Sequence[Column], wanted: Any) -> int:
    """The place of a column, given by its place or its name."""
    names = [column.name for column in columns]
    if type(wanted) is int and 0 <= wanted < len(columns):
        return wanted
    if isinstance(wanted, str) and wanted in names:
        return names.index(wanted)
    raise InputError(
        f"{name} must name a column: {listed(names, 8)}, or a number from 0 to {len(names) - 1}. "
        f"Got {shortened(wanted)} instead."
    )


def _can_be_label(column: Column) -> bool:
    """Whether it has few different values; gaps are refused later, with their line."""
    many = len(column.distinct)
    return many >= 2 and many - ("" in column.distinct) <= LIMITS["classes"]


def _check_label(column: Column) -> None:
    most = LIMITS["classes"]
    if "" in column.distinct:
        line = column.lines[column.texts.index("")]
        raise InputError(
            f"line {line}: the label {column.name} must not be empty. Leave the line out, or fill it in."
        )
    if not 2 <= len(column.distinct) <= most:
        raise InputError(
            f"the label must have 2 to {most} different values. Got {len(column.distinct)} in "
            f"{column.name} instead. Choose another column."
        )


# Rows and labels that come from Python.


def _as_table(X: Any) -> np.ndarray:
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
    bad = np.argwhere(~(np.abs(rows) <= MAX_NUMBER))
    if len(bad):
        row, column = bad[0].tolist()
        raise InputError(
            f"X must hold numbers up to {MAX_NUMBER:g} in size. Got {rows[row, column]} in row {row}, "
            f"column {column} instead. Leave the row out, or fill it in."
        )
    return rows + 0.0


def _as_classes(y: Any, n: int) -> tuple[np.ndarray, list[str]]:
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
    return codes, [canonical(str(label)) for label in classes.tolist()]


def _places(features: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Where two features are that are given by their names or places."""
    allowed = f"features must be two of {listed(names, 8)}, or numbers from 0 to {len(names) - 1}."
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


def _subscript(number: int) -> str:
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(number))
