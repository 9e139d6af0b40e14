"""What is wrong with data that cannot be read, in words: which column, by its name, and which row.

It is looked for only after the reading has failed: good data cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.core.labels import check_no_gaps

__all__ = ["column_name", "in_our_words", "not_finite", "read_weight"]


@contextmanager
def in_our_words(X: Any, y: Any = None) -> Iterator[None]:
    """Say what is allowed, what was given and what to do, where the reader says less."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        if "feature names" not in str(error).lower():  # other features than those of the fit
            _check_numbers(X, error)
        if y is not None:
            _check_length(X, y, error)
            check_no_gaps(y, error)
        raise


def column_name(j: int, names: Sequence[str] | None) -> str:
    """The j-th column, by its name if it has one."""
    return f"column {j}" if names is None else f"column {str(names[j])!r}"


def not_finite(i: int, j: int, value: float, names: Sequence[str] | None = None) -> InputError:
    """The error of a value of X that is no number."""
    return InputError(
        f"X must hold finite numbers. Got {'NaN' if np.isnan(value) else 'infinity'} in row {i}, "
        f"{column_name(j, names)} instead. Drop the row, or fill the gap."
    )


def read_weight(sample_weight: Any, n: int) -> np.ndarray:
    """One weight ≥ 0 per row, of which some are > 0; a number is that of all rows."""
    allowed = f"sample_weight must be a number, or hold one number per row, {n} in all"
    try:
        given = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{allowed}. Got what is no number instead. Convert it to numbers.") from None
    if given.ndim and given.shape != (n,):
        shown = f"{len(given)} numbers" if given.ndim == 1 else f"an array of shape {given.shape}"
        raise InputError(f"{allowed}. Got {shown} instead. Select them with the rows.")
    bad = np.flatnonzero(~(np.isfinite(given) & (given >= 0.0)))
    if len(bad):
        value = given.ravel()[bad[0]]
        found = "NaN" if np.isnan(value) else f"{float(value)!r}"
        raise InputError(
            f"sample_weight must hold finite numbers ≥ 0. Got {found} in row {bad[0]} instead. "
            "Give a row that is not to count the weight 0."
        )
    if not np.any(given):
        raise InputError(
            "sample_weight must hold a number > 0. Got only zeros instead. Weigh some rows."
        )
    return np.array(np.broadcast_to(given, (n,)))


def _check_numbers(X: Any, error: Exception) -> None:
    """Refuse texts and dates, with their place."""
    for j, (name, column) in enumerate(_columns(X)):
        shown = f"column {j}" if name is None else column_name(0, [name])
        kind = getattr(column.dtype, "kind", "O")
        if kind in "mM":
            raise InputError(
                f"X must hold numbers. Got dates or times in {shown} instead (could not convert "
                f"{column.dtype}). Turn them into numbers, such as days, or leave the column out."
            ) from error
        if kind not in "OSUT":
            continue
        for i, value in enumerate(column.tolist()):
            if isinstance(value, str) and not _is_number(value):
                raise InputError(
                    f"X must hold numbers. Got text in row {i}, {shown} instead (could not convert "
                    f"string to float: {value[:40]!r}). Encode the column, for example with "
                    "sklearn.preprocessing.OneHotEncoder, or leave it out."
                ) from error


def _columns(X: Any) -> Iterator[tuple[str | None, Any]]:
    """The columns of a data frame, with their names, or of a matrix."""
    if sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biufc"):
        return  # numbers, too many perhaps to look at each
    names = getattr(X, "columns", None)
    if names is not None and hasattr(X, "iloc"):
        for j, name in enumerate(names):
            yield str(name), np.asarray(X.iloc[:, j])
        return
    if names is not None and hasattr(X, "to_numpy"):
        for name in names:
            yield str(name), np.asarray(X[name])
        return
    try:
        matrix = np.asarray(X, dtype=object)
    except ValueError:  # rows of different lengths
        return
    if matrix.ndim == 2:
        yield from ((None, matrix[:, j]) for j in range(matrix.shape[1]))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_length(X: Any, y: Any, error: Exception) -> None:
    shapes = [
        getattr(part, "shape", None) or (len(part),) for part in (X, y) if hasattr(part, "__len__")
    ]
    if len(shapes) == 2 and shapes[0][0] != shapes[1][0]:
        n, labels = shapes[0][0], shapes[1][0]
        if "inconsistent" in str(error):
            raise InputError(
                f"y must hold one label per row of X, {n} in all. Got {labels} instead (inconsistent "
                "numbers of samples). Select the rows of both alike."
            ) from error
