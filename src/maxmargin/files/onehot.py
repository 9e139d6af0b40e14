"""Columns of text as features: one for each category, 1 where a row is of it, else 0.

The encoding {column: [categories]} is kept with a model, so that other files are read alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.core.phrases import some
from maxmargin.files.numbers import short

__all__ = ["Encoder", "Part", "find_categories"]

MOST = 100_000  # categories of a column
DENSE = 0.25  # rows are stored sparse if a smaller share of them can be other than zero


class Part(NamedTuple):
    """Some rows of a table: numbers, and for each column of text codes and what they stand for."""

    numbers: np.ndarray
    texts: dict[str, tuple[np.ndarray, list[str]]]
    where: Callable[[int], str]  # the place of a row, for errors

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.numbers)


def find_categories(parts: Iterator[Part], path: object) -> dict[str, list[str]]:
    """Collect the categories of every column of text, sorted."""
    found: dict[str, set[str]] = {}
    for part in parts:
        for name, (_, texts) in part.texts.items():
            known = found.setdefault(name, set())
            known.update(texts)
            if len(known) > MOST:
                raise InputError(
                    f"{path}: column {name} must have at most {MOST:,} categories to be encoded. "
                    f"Got more. Leave it out (drop=[{name!r}])."
                )
    return {name: sorted(known) for name, known in found.items()}


class Encoder:
    """Put numbers and encoded texts side by side, in the order of the columns.

    Parameters
    ----------
    columns : sequence of str
        All features of the table.
    encoding : mapping
        Categories of those that are text.
    """

    def __init__(self, columns: Sequence[str], encoding: Mapping[str, list[str]]) -> None:
        self.encoding = encoding
        self._places: dict[str, int] = {}  # where the features of a text begin
        self._numbers: list[int] = []  # where the numbers go
        self.names: list[str] = []
        for name in columns:
            if name in encoding:
                self._places[name] = len(self.names)
                self.names += [f"{name}={category}" for category in encoding[name]]
            else:
                self._numbers.append(len(self.names))
                self.names.append(name)
        self.d = len(self.names)
        self.is_sparse = bool(encoding) and len(columns) <= DENSE * self.d
        self._codes = {
            name: {category: k for k, category in enumerate(categories)}
            for name, categories in encoding.items()
        }

    def encode(self, part: Part) -> Any:
        """The features of some rows."""
        if not self._places:
            return part.numbers
        columns = [self._columns(part, name) for name in self._places]
        if not self.is_sparse:
            X = np.zeros((part.n, self.d), dtype=part.numbers.dtype)
            X[:, self._numbers] = part.numbers
            for column in columns:
                X[np.arange(part.n), column] = 1
            return X
        ones = np.ones((part.n, len(columns)))
        wide = np.broadcast_to(np.array(self._numbers, dtype=np.int64), part.numbers.shape)
        indices = np.column_stack([wide, *columns])
        data = np.column_stack([part.numbers, ones])
        order = np.argsort(indices, axis=1)
        indices, data = (np.take_along_axis(a, order, axis=1).ravel() for a in (indices, data))
        indptr = np.arange(part.n + 1) * (len(columns) + len(self._numbers))
        X = sparse.csr_array((data, indices.astype(np.int32), indptr), shape=(part.n, self.d))
        X.eliminate_zeros()
        return X

    def _columns(self, part: Part, name: str) -> np.ndarray:
        codes, texts = part.texts[name]
        known = self._codes[name]
        places = np.array([known.get(text, -1) for text in texts], dtype=np.int64)[codes]
        if places.size and places.min() < 0:
            row = int(np.flatnonzero(places < 0)[0])
            raise InputError(
                f"{part.where(row)}: column {name} must be one of {some(self.encoding[name], 8)}, the "
                f"categories it was encoded with. Got {short(texts[codes[row]])} instead. Leave "
                "the row out, or fit the model anew with rows of this category."
            )
        return np.asarray(places + self._places[name])
