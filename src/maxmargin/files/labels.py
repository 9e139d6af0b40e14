"""Labels as they come, block after block: texts become numbers only if all of them are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxmargin.checker import canonical
from maxmargin.core.errors import InputError
from maxmargin.core.proportion import CHARACTER_BYTES, check_room_for_labels
from maxmargin.files.numbers import read_float
from maxmargin.files.options import at_row

__all__ = ["Labels", "check_labels", "check_length", "typed_labels"]

MOST = 1_000_000  # different labels
MISSING = "", "NA", "N/A", "<NA>", "null", "NULL"
NO_NUMBERS = "nan", "inf", "infinity"


class Labels:
    """The labels of a file; of texts that stand for the same number, such as 1 and +1.0, one is kept.

    Parameters
    ----------
    path : object
        The file, for errors.
    """

    def __init__(self, path: object) -> None:
        self.path = path
        self._known: dict[str, int] = {}
        self._codes: list[np.ndarray] = []
        self._typed: list[np.ndarray] = []
        self._rows = 0
        self.entries = 0  # numbers in the rows so far

    def add_texts(self, codes: np.ndarray, texts: Sequence[str]) -> None:
        """Add labels ``texts[code]``."""
        places = [self._known.setdefault(canonical(text), len(self._known)) for text in texts]
        for text, place in zip(texts, places, strict=True):
            if _is_missing(text):
                row = self._rows + int(np.argmax(np.array(places)[codes] == place))
                raise InputError(
                    f"{at_row(self.path, row)}: a label must not be missing. Got {text!r} instead. "
                    "Leave its row out, or fill it in."
                )
        self._rows += len(codes)
        self._check(len(self._known))
        self._codes.append(np.array(places, dtype=np.int32)[codes])

    def add_values(self, values: np.ndarray) -> None:
        """Add labels that have a type already."""
        self._typed.append(np.asarray(values))

    def array(self) -> np.ndarray | None:
        """All labels, or None if there were none."""
        if self._typed:
            rows, size = sum(map(len, self._typed)), max(part.itemsize for part in self._typed)
            check_room_for_labels(self.path, rows, size, self.entries)
            return np.concatenate(self._typed)
        if not self._codes:
            return None
        longest = max(map(len, self._known))
        check_room_for_labels(self.path, self._rows, CHARACTER_BYTES * longest, self.entries)
        return np.asarray(typed_labels(list(self._known))[np.concatenate(self._codes)])

    def _check(self, count: int) -> None:
        if count > MOST:
            raise InputError(
                f"{self.path}: labels must be classes. Got more than {MOST:,} different ones instead. "
                "Name the column of the labels (label=…)."
            )


def check_length(labels: np.ndarray, rows: int, path: object) -> None:
    """Refuse labels that are more or fewer than the rows."""
    if len(labels) != rows:
        raise InputError(
            f"{path}: must hold a label for each of the {rows:,} rows. Got {len(labels):,} labels "
            "instead. Write both anew, from the same rows."
        )


def check_labels(values: np.ndarray, shown: object) -> np.ndarray:
    """Labels that have a type: one for each row, none of them missing."""
    values = values.ravel() if values.ndim == 2 and 1 in values.shape else values
    if values.ndim != 1 or values.dtype.kind not in "biufSU":
        raise InputError(
            f"{shown}: labels must be a vector of numbers or strings. Got shape {values.shape} and type "
            f"{values.dtype} instead."
        )
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        where = at_row(shown, row)
        raise InputError(f"{where}: the label must not be {values[row]}. Leave the row out.")
    values = np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values
    if values.dtype.kind == "U" and len(values):  # as wide as the longest, and no wider
        values = values.astype(f"U{max(1, int(np.char.str_len(values).max()))}", copy=False)
    return values


def _is_missing(text: str) -> bool:
    """Whether a text says that there is no label, or is no number though it is written as one."""
    return text.strip() in MISSING or text.strip().lower().lstrip("+-") in NO_NUMBERS


def typed_labels(texts: Sequence[str]) -> np.ndarray:
    """Canonical texts as numbers if all of them are, whole ones if all are whole, else as texts."""
    numbers = [read_float(text) for text in texts]
    if any(value is None or not abs(value) < 2**53 for value in numbers):
        return np.array(texts)
    values = np.array(numbers, dtype=np.float64)
    return values.astype(np.int64) if np.all(values == np.floor(values)) else values
