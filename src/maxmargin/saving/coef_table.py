"""Weights in a table: ``coef.csv``, as one writes it by hand or from a data frame.

Three forms are read, with commas, semicolons or tabs:

- one line per feature, ``name, weight`` or ``name, weight, weight, …`` with one column per class, whose
  labels stand in the header; one line is named ``intercept`` (or ``bias``, ``b``, ``(Intercept)``);
- a header of feature names, one line of weights per class; a column ``intercept``, and for three or more
  classes a column ``class`` with the labels;
- numbers only: w₁, …, w_d, b in a line (or in a column), one line per class.
"""

from __future__ import annotations

import csv
import os

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.saving.liblinear_libsvm import Lines, label_vector, read_text
from maxmargin.saving.linear_model import LinearModel

BIAS = ("intercept", "(intercept)", "intercept_", "bias", "b", "const")
CLASS = ("class", "label", "classes")


def from_coef_csv(path: str | os.PathLike[str]) -> LinearModel:
    r"""Read the weights of a linear model from a table.

    Parameters
    ----------
    path : path
        A table with commas, semicolons or tabs: one line per feature with its name and weight; or a
        header of feature names and a line of weights per class; or numbers only, w and then b.

    Returns
    -------
    LinearModel
        For two classes positive on the larger one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from maxmargin.saving import from_coef_csv
    >>> path = Path(tempfile.mkdtemp()) / "coef.csv"
    >>> _ = path.write_text("feature,weight\nhomework,0.5\nexam,0.5\nintercept,-50\n")
    >>> model = from_coef_csv(path)
    >>> model.feature_names_in_.tolist(), model.intercept_.tolist()
    (['homework', 'exam'], [-50.0])
    """
    lines = Lines(read_text(path), path)
    table = _table(lines)
    first = table[0][1]
    if all(map(_is_number, first)):
        Z = np.array([_floats(number, cells, lines) for number, cells in table])
        Z = Z.T if Z.shape[1] == 1 else Z
        if Z.shape[1] < 2 or len(Z) == 2:
            lines.fail(
                "w and b must be in one line for two classes, else one line per class. Got others."
            )
        return LinearModel(Z[:, :-1], Z[:, -1], source="coef.csv")
    if any(word.lower() in (*CLASS, *BIAS) for word in first[1:]) or first[0].lower() in CLASS:
        return _model(*_line_per_class(table, lines), lines)
    return _model(*_line_per_feature(table, lines), lines)


def _table(lines: Lines) -> list[tuple[int, list[str]]]:
    """Rows of cells, each with its line number; all of the same length."""
    table: list[tuple[int, list[str]]] = []
    mark = ""
    for line in lines:
        mark = mark or next((m for m in ("\t", ";", ",") if m in line), ",")
        try:
            cells = [cell.strip() for cell in next(csv.reader([line], delimiter=mark, strict=True))]
        except csv.Error as error:
            lines.fail(f"a line must be cells with {mark!r} between them: {error}.")
        if table and len(cells) != len(table[0][1]):
            lines.fail(f"every line must have {len(table[0][1])} cells. Got {len(cells)} instead.")
        table.append((lines.number, cells))
    if not table:
        raise InputError(f"{lines.path}: the table of weights must not be empty. This one is.")
    return table


def _line_per_class(
    table: list[tuple[int, list[str]]], lines: Lines
) -> tuple[np.ndarray, list[str], np.ndarray | None]:
    """Return the numbers, a row per class, the names of their columns, and the classes if known."""
    head = table[0][1]
    labels = [j for j, word in enumerate(head) if word.lower() in CLASS]
    rest = [j for j in range(len(head)) if j not in labels]
    if len(labels) > 1 or len(table) < 2:
        lines.number = table[0][0]
        lines.fail("a header must name features, and one intercept and one class at most.")
    Z = np.array([_floats(number, [cells[j] for j in rest], lines) for number, cells in table[1:]])
    classes = _classes([cells[labels[0]] for _, cells in table[1:]]) if labels else None
    lines.number = table[0][0]
    return Z, [head[j] for j in rest], classes


def _line_per_feature(
    table: list[tuple[int, list[str]]], lines: Lines
) -> tuple[np.ndarray, list[str], np.ndarray | None]:
    """Return the same of a table with a line per feature."""
    first = table[0][1]
    headed = not all(map(_is_number, first[1:])) or len(first) < 2
    body = table[1:] if headed else table
    if len(first) < 2 or not body:
        lines.fail("a table of weights must have names and numbers. Got one column instead.")
    Z = np.array([_floats(number, cells[1:], lines) for number, cells in body]).T
    classes = _classes(first[1:]) if headed and len(Z) > 1 else None
    return Z, [cells[0] for _, cells in body], classes


def _model(Z: np.ndarray, names: list[str], classes: np.ndarray | None, lines: Lines) -> LinearModel:
    bias = [j for j, name in enumerate(names) if name.lower() in BIAS]
    rest = [j for j in range(len(names)) if j not in bias]
    if len(bias) > 1 or not rest:
        lines.fail("a table of weights must name features, and one intercept at most. Got others.")
    known = [names[j] for j in rest]
    if len(set(known)) < len(known):
        raise InputError(f"{lines.path}: every feature must be named once. Got a repeated name instead.")
    if len(Z) == 2:
        raise InputError(
            f"{lines.path}: for two classes there is one plane. Got two instead. Keep that of the "
            "larger class, if one is minus the other."
        )
    labels = None
    if len(Z) > 1 and classes is not None:
        order = np.argsort(classes)
        Z, labels = Z[order], classes[order]
        if len(np.unique(labels)) < len(labels):
            raise InputError(f"{lines.path}: every class must have one plane. Got a repeated class.")
    return LinearModel(
        Z[:, rest],
        Z[:, bias[0]] if bias else np.zeros(len(Z)),
        labels,
        np.array(known, dtype=object),
        fit_intercept=bool(bias),
        source="coef.csv",
    )


def _classes(words: list[str]) -> np.ndarray:
    if all(map(_is_number, words)):
        return label_vector([float(word) for word in words])
    return np.array(words)


def _floats(number: int, words: list[str], lines: Lines) -> list[float]:
    lines.number = number
    return lines.floats(words)


def _is_number(word: str) -> bool:
    try:
        return abs(float(word)) < np.inf and "_" not in word
    except ValueError:
        return False
