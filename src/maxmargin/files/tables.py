"""What tables have in common, whatever file they are in: a layout, numbers, texts, labels.

Which column of a table is the label, and which are features; whether the first line is a header.

Columns of text as features: one for each category, 1 where a row is of it, else 0.

The encoding {column: [categories]} is kept with a model, so that other files are read alike.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError, some
from maxmargin.files.options import Options
from maxmargin.files.reader import Labels, Reader
from maxmargin.files.text import is_index, read_float, short

ONE_COLUMN = "There is one column: fields are separated by commas (in .tsv by tabs)."


class Layout(NamedTuple):
    """Places of the columns that are read; ``named`` if the file names them."""

    names: list[str]
    named: bool
    label_at: int | None
    features_at: list[int]

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [self.names[k] for k in self.features_at]

    def source(self) -> dict[str, object]:
        """Where the label and the features are, in words that tell which column is meant."""
        # A name that is repeated, or looks like a number, does not tell.
        clear = len(set(self.names)) == len(self.names) and not any(map(is_index, self.names))
        label = None if self.label_at is None else self.label_at
        return {
            "label": label if label is None else self.names[label] if clear else str(label),
            "columns": self.features if clear else list(map(str, self.features_at)),
        }


def choose(path: object, names: list[str], named: bool, options: Options) -> Layout:
    """Find the label and the features among the columns of a table."""

    def place(name: str) -> int:
        if names.count(name) == 1:
            return names.index(name)
        if is_index(name) and int(name) < len(names):
            return int(name)
        if name[:1] == "-" and is_index(name[1:]) and 0 < int(name[1:]) <= len(names):
            return len(names) - int(name[1:])
        raise InputError(
            f"{path}: a column must be one of {some(names, 20)}, or a number from 0 to "
            f"{len(names) - 1}. Got {name[:40]!r}, which this file does not have."
        )

    label = options.label
    label_at = None if label is False else len(names) - 1 if label is None else place(str(label))
    if label_at is not None and label_at in map(place, options.drop):
        last = ", which is the last one" if label is None else ""
        raise InputError(
            f"{path}: only features can be left out. Got the label column {names[label_at]!r}{last}. "
            "Name another label (label=…)."
        )
    out = {label_at, *map(place, options.drop)}
    features = [place(name) for name in options.columns] or list(range(len(names)))
    if options.columns and label_at in features:
        raise InputError(
            f"{path}: the label column {names[label_at or 0]!r} must not be a feature. "
            "Leave it out of the columns, or name another label."
        )
    if len(set(features)) < len(features):
        twice = next(names[k] for k in features if features.count(k) > 1)
        raise InputError(f"{path}: columns must name a column once. Got {twice!r} twice instead.")
    features = [k for k in features if k not in out]
    if not features:
        raise InputError(
            f"{path}: must have at least one feature besides the label. Got none. {_more_columns(names)}"
        )
    return Layout(names, named, label_at, features)


def _more_columns(names: list[str]) -> str:
    """What to do with a table that has too few columns."""
    if len(names) > 1:
        return "Name another label (label=…), or a file with more columns."
    return f"{ONE_COLUMN} Name a file with more columns."


def check_names(place: object, layout: Layout) -> None:
    """Refuse two features of one name: rows of another file could not be matched to them."""
    names = layout.features
    if layout.named and len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        places = [k for k in layout.features_at if layout.names[k] == twice]
        raise InputError(
            f"{place}: columns must have different names. Got {twice!r} as columns {places[0]} and "
            f"{places[1]}. Rename one, or leave it out by its number (drop=[{places[1]}])."
        )


def is_header(where: str, first: Sequence[str], label: str | bool | None, second: Sequence[str]) -> bool:
    """Whether the first line, at ``where``, holds names."""
    own = -1 if label is False else len(first) - 1
    if isinstance(label, str):
        own = first.index(label) if label in first else int(label) if is_index(label) else own
    features = [field for k, field in enumerate(first) if k != own and field]
    numbers = sum(read_float(field) is not None for field in features)
    if 0 < numbers < len(features):
        raise InputError(
            f"{where}: the first line must hold names, or a row. Got names and numbers instead. "
            "Say what it is (header=True or False)."
        )
    if not numbers:
        return bool(features)
    if isinstance(label, str) and label in first and not is_index(label):
        return True
    here, below = (line[own] if 0 <= own < len(line) else "" for line in (first, second))
    return read_float(here) is None and read_float(below) is not None


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


class TableReader(Reader):
    """Read a table part by part and put its columns together."""

    head = ""  # the place of the names, where it is known

    @abstractmethod
    def open_layout(self) -> Layout:
        """Read what comes before the first row."""

    @abstractmethod
    def find_encoding(self, layout: Layout) -> dict[str, list[str]]:
        """Find the features that are text, and their categories, in a pass of its own."""

    @abstractmethod
    def parts(self, layout: Layout, texts: list[int]) -> Iterator[Part]:
        """Yield the rows, with the features at ``texts`` as texts; labels are kept on the side."""

    def blocks(self) -> Iterator[Any]:
        """Yield matrices; a table with many categories is sparse."""
        layout = self.open_layout()
        check_names(self.head or self.shown, layout)
        encoding, texts = self._encoding(layout)
        encoder = Encoder(layout.features, encoding)
        for part in self.parts(layout, texts):
            yield encoder.encode(part)
        self.names = encoder.names if layout.named or encoding else None
        self.about |= {"encoding": encoding, **layout.source()}

    def _encoding(self, layout: Layout) -> tuple[dict[str, list[str]], list[int]]:
        if not self.options.one_hot:
            return {}, []
        given = self.options.encoding
        if given is not None:
            unknown = [name for name in given if name not in layout.features]
            if unknown:
                raise InputError(
                    f"{self.shown}: must have the column {unknown[0]!r}, which is encoded. Got none of "
                    "this name among the features. Name the columns (columns=[…])."
                )
            return given, self._places(layout, given)
        encoding = self.find_encoding(layout)
        self.labels = Labels(self.shown)  # that pass has seen them as well
        return encoding, self._places(layout, encoding)

    @staticmethod
    def _places(layout: Layout, encoding: dict[str, list[str]]) -> list[int]:
        return [k for k in layout.features_at if layout.names[k] in encoding]
