"""Labels as they come, block after block: texts become numbers only if all of them are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxmargin.checker import canonical
from maxmargin.core.errors import InputError
from maxmargin.files.numbers import read_float

__all__ = ["Labels", "typed_labels"]

MOST = 1_000_000  # different labels


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

    def add_texts(self, codes: np.ndarray, texts: Sequence[str]) -> None:
        """Add labels ``texts[code]``."""
        places = [self._known.setdefault(canonical(text), len(self._known)) for text in texts]
        if "" in self._known:
            raise InputError(
                f"{self.path}: a label must not be empty. Leave its row out, or fill it in."
            )
        self._check(len(self._known))
        self._codes.append(np.array(places, dtype=np.int32)[codes])

    def add_values(self, values: np.ndarray) -> None:
        """Add labels that have a type already."""
        self._typed.append(np.asarray(values))

    def array(self) -> np.ndarray | None:
        """All labels, or None if there were none."""
        if self._typed:
            return np.concatenate(self._typed)
        if not self._codes:
            return None
        return np.asarray(typed_labels(list(self._known))[np.concatenate(self._codes)])

    def _check(self, count: int) -> None:
        if count > MOST:
            raise InputError(
                f"{self.path}: labels must be classes. Got more than {MOST:,} different ones instead. "
                "Name the column of the labels (label=…)."
            )


def typed_labels(texts: Sequence[str]) -> np.ndarray:
    """Canonical texts as numbers if all of them are, whole ones if all are whole, else as texts."""
    numbers = [read_float(text) for text in texts]
    if any(value is None or not abs(value) < 2**53 for value in numbers):
        return np.array(texts)
    values = np.array(numbers, dtype=np.float64)
    return values.astype(np.int64) if np.all(values == np.floor(values)) else values
