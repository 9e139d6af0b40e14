"""What every reader of files does: blocks of features one after the other, and labels on the side.

Labels as they come, block after block: texts become numbers only if all of them are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.checker import canonical
from maxmargin.core.errors import InputError
from maxmargin.core.size_limits import (
    CHARACTER_BYTES,
    NUMBER_BYTES,
    check_room_for_labels,
    check_width,
    in_proportion,
)
from maxmargin.files.options import Options, at_row
from maxmargin.files.text import read_float

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


class StartAgain(Exception):  # noqa: N818 - no mistake: the reader knows better now
    """Something later in the file changes how its beginning must be read."""


class Reader(ABC):
    """Read a file block by block.

    Parameters
    ----------
    path : Path
        The file.
    options : Options
        What to read of it.
    shown : object
        Its name in errors.
    """

    def __init__(self, path: Path, options: Options, shown: object) -> None:
        self.path, self.options, self.shown = path, options, shown
        self.labels = Labels(shown)
        self.names: list[str] | None = None  # of the features, if the file names them
        self.about: dict[str, Any] = {}  # what a later file must be read with, and a proof tells

    @abstractmethod
    def blocks(self) -> Iterator[Any]:
        """Yield matrices, all dense or all sparse; ``names`` and ``about`` are known at the end."""

    def read(self) -> Iterator[Any]:
        """Yield the blocks in the type asked for, from the beginning."""
        self.labels = Labels(self.shown)
        n = d = entries = 0
        size = self.path.stat().st_size
        for X in self.blocks():
            yield self._as_type(X, n)
            n += X.shape[0]
            d, entries = max(d, X.shape[1]), entries + X.size
            self.labels.entries = entries
            if not in_proportion(NUMBER_BYTES * n, size):  # every label is kept in memory
                raise InputError(
                    f"{self.shown}: must have a row for every few bits of the file. Got {n:,} rows and "
                    f"more in {size:,} bytes instead. Write it again, not compressed."
                )
        if not n:
            raise InputError(f"{self.shown}: must hold rows. Got none. Name another file.")
        check_width(self.shown, d, entries, self.options.features)

    def place(self, before: int, i: int, j: int) -> str:
        """Where an entry of a block is, in words."""
        return f"{at_row(self.shown, before + i)}: feature {j}"

    def _as_type(self, X: Any, before: int) -> Any:
        if self.options.dtype is None or X.dtype == self.options.dtype:
            return X
        with np.errstate(over="ignore"):
            changed = X.astype(self.options.dtype)
        values = changed if isinstance(changed, np.ndarray) else changed.data
        if not np.all(np.isfinite(values)):
            bad = int(np.argwhere(~np.isfinite(values))[0, 0])
            row = bad if values is changed else int(np.searchsorted(changed.indptr, bad, "right")) - 1
            raise InputError(
                f"{at_row(self.shown, before + row)}: must hold numbers that {changed.dtype} can hold. "
                "Got a larger one. Use dtype='float64', or divide its column."
            )
        return changed
