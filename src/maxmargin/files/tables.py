"""Tables, whatever file they are in, and tables in text with commas or tabs.

A layout says which column is the label and which are features, and whether the first line names them.
Columns of text become features, one for each category: 1 in the rows of that category, else 0. The
encoding {column: [categories]} is kept with a model, so that other files are read in the same way.
Quoted fields are read as Python's csv module reads them.
"""

from __future__ import annotations

import csv
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError, Remedy, listed
from maxmargin.files.reader import Labels, Reader, ReadOptions
from maxmargin.files.text import (
    FILL_COLUMN,
    MISSING,
    TextSource,
    is_index,
    missing_number,
    read_float,
    read_number,
    short,
)
from maxmargin.kernels.text import SKIP, TEXT, read_table

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
        label = self.label_at
        return {
            "label": label if label is None else self.names[label] if clear else str(label),
            "columns": self.features if clear else list(map(str, self.features_at)),
        }


def choose(path: object, names: list[str], named: bool, options: ReadOptions) -> Layout:
    """Find the label and the features among the columns of a table."""

    def place(name: str) -> int:
        if names.count(name) == 1:
            return names.index(name)
        if is_index(name) and int(name) < len(names):
            return int(name)
        if name[:1] == "-" and is_index(name[1:]) and 0 < int(name[1:]) <= len(names):
            return len(names) - int(name[1:])
        raise InputError(
            f"{path}: a column must be one of {listed(names, 20)}, or a number from 0 to "
            f"{len(names) - 1}. Got {name[:40]!r}, which this file does not have."
        )

    label = options.label
    label_at = None if label is False else len(names) - 1 if label is None else place(str(label))
    if label_at is not None and label_at in map(place, options.drop):
        last = ", which is the last one" if label is None else ""
        raise InputError(
            f"{path}: only features can be left out. Got the label column {names[label_at]!r}{last}.",
            Remedy("name another label", "label", ...),
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
        alone = f" {ONE_COLUMN}" if len(names) == 1 else ""
        raise InputError(
            f"{path}: must have at least one feature besides the label. Got none.{alone}",
            *([Remedy("name another label", "label", ...)] if len(names) > 1 else []),
            Remedy("name a file with more columns"),
        )
    return Layout(names, named, label_at, features)


def check_names(place: object, layout: Layout) -> None:
    """Refuse two features of one name: rows of another file could not be matched to them."""
    names = layout.features
    if layout.named and len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        places = [k for k in layout.features_at if layout.names[k] == twice]
        raise InputError(
            f"{place}: columns must have different names. Got {twice!r} as columns {places[0]} and "
            f"{places[1]}.",
            Remedy("rename one"),
            Remedy("leave it out by its number", "drop", [places[1]]),
        )


def is_header(where: str, first: Sequence[str], label: str | bool | None, second: Sequence[str]) -> bool:
    """Whether the first line, at ``where``, holds names."""
    own = -1 if label is False else len(first) - 1
    if isinstance(label, str):
        own = first.index(label) if label in first else int(label) if is_index(label) else own
    features = [field for k, field in enumerate(first) if k != own and field]
    numbers = len([field for field in features if read_float(field) is not None])
    if 0 < numbers < len(features):
        raise InputError(
            f"{where}: the first line must hold names, or a row. Got names and numbers instead.",
            Remedy("say what it is", "header", (True, False)),
        )
    if not numbers:
        return bool(features)
    if isinstance(label, str) and label in first and not is_index(label):
        return True
    here, below = (line[own] if 0 <= own < len(line) else "" for line in (first, second))
    return read_float(here) is None and read_float(below) is not None


MAX_CATEGORIES = 100_000  # categories of a column
MIN_DENSE_SHARE = 0.25  # rows are stored sparse if a smaller share of them can be other than zero


class Part(NamedTuple):
    """Some rows of a table: numbers, and for each column of text codes and what they stand for."""

    numbers: np.ndarray
    texts: dict[str, tuple[np.ndarray, list[str]]]
    where: Callable[[int], str]  # the place of a row, for errors


def find_categories(parts: Iterator[Part], path: object) -> dict[str, list[str]]:
    """Collect the categories of every column of text, sorted."""
    found: dict[str, set[str]] = {}
    for part in parts:
        for name, (_, texts) in part.texts.items():
            known = found.setdefault(name, set())
            known.update(texts)
            if len(known) > MAX_CATEGORIES:
                raise InputError(
                    f"{path}: column {name} must have at most {MAX_CATEGORIES:,} categories to be "
                    "encoded. Got more.",
                    Remedy("leave it out", "drop", [name]),
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
        self.is_sparse = bool(encoding) and len(columns) <= MIN_DENSE_SHARE * self.d
        self._codes = {
            name: {category: k for k, category in enumerate(categories)}
            for name, categories in encoding.items()
        }

    def encode(self, part: Part) -> Any:
        """The features of some rows."""
        if not self._places:
            return part.numbers
        n, columns = len(part.numbers), [self._columns(part, name) for name in self._places]
        if not self.is_sparse:
            X = np.zeros((n, self.d), dtype=part.numbers.dtype)
            X[:, self._numbers] = part.numbers
            for column in columns:
                X[np.arange(n), column] = 1
            return X
        ones = np.ones((n, len(columns)))
        wide = np.broadcast_to(np.array(self._numbers, dtype=np.int64), part.numbers.shape)
        indices = np.column_stack([wide, *columns])
        data = np.column_stack([part.numbers, ones])
        order = np.argsort(indices, axis=1)
        indices, data = (np.take_along_axis(a, order, axis=1).ravel() for a in (indices, data))
        indptr = np.arange(n + 1) * (len(columns) + len(self._numbers))
        X = sparse.csr_array((data, indices.astype(np.int32), indptr), shape=(n, self.d))
        X.eliminate_zeros()
        return X

    def _columns(self, part: Part, name: str) -> np.ndarray:
        codes, texts = part.texts[name]
        known = self._codes[name]
        places = np.array([known.get(text, -1) for text in texts], dtype=np.int64)[codes]
        if places.size and places.min() < 0:
            row = int(np.flatnonzero(places < 0)[0])
            raise InputError(
                f"{part.where(row)}: column {name} must be one of {listed(self.encoding[name], 8)}, the "
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
        encoding = self._encoding(layout)
        texts = [k for k in layout.features_at if layout.names[k] in encoding]
        encoder = Encoder(layout.features, encoding)
        for part in self.parts(layout, texts):
            yield encoder.encode(part)
        self.names = encoder.names if layout.named or encoding else None
        self.about |= {"encoding": encoding, **layout.source()}

    def _encoding(self, layout: Layout) -> dict[str, list[str]]:
        if not self.options.one_hot:
            return {}
        given = self.options.encoding
        if given is not None:
            unknown = [name for name in given if name not in layout.features]
            if unknown:
                raise InputError(
                    f"{self.shown}: must have the column {unknown[0]!r}, which is encoded. Got none of "
                    "this name among the features.",
                    Remedy("name the columns", "columns", [...]),
                )
            return given
        encoding = self.find_encoding(layout)
        self.labels = Labels(self.shown)  # that pass has seen them as well
        return encoding


SEPARATORS = {  # others than those of the kind of file
    ";": "semicolons: replace decimal commas by points, and then semicolons by commas",
    "\t": "tabs: let its name end in .tsv",
    ",": "commas: let its name end in .csv",
}


class _NotANumber(Exception):  # noqa: N818 - a message from the row to the search for texts
    """Field k of a row is text."""

    def __init__(self, k: int) -> None:
        super().__init__(k)
        self.k = k


class CsvReader(TableReader):
    """Read a .csv or .tsv file."""

    @property
    def _delimiter(self) -> str:
        return "\t" if self.options.kind == "tsv" else ","

    def open_layout(self) -> Layout:
        """Read the first line or two."""
        with TextSource(self.path, self.shown) as source:
            source.advance()
            records = self._records(source, 0)
            start, _, fields = next(records, (0, 0, []))
            first = [field.strip() for field in fields]
            self.head = source.where(start)
            if not first:
                raise InputError(f"{self.shown}: must hold rows. Got none. Name another file.")
            self._refuse_other_separators(first)
            header = self.options.header
            if header is None:
                second = [] if len(first) < 2 else next(records, (0, 0, []))[2]
                header = is_header(self.head, first, self.options.label, second)
        names = first if header else list(map(str, range(len(first))))
        self.about["header"] = header
        return choose(self.shown, names, header, self.options)

    def _refuse_other_separators(self, first: list[str]) -> None:
        """One column is too few, and its first field may tell why."""
        found = [word for mark, word in SEPARATORS.items() if mark in first[0] and len(first) == 1]
        if found:
            raise InputError(
                f"{self.shown}: must have at least one feature besides the label. Got none. "
                f"{ONE_COLUMN} This file has {found[0]}."
            )

    def _records(self, source: TextSource, place: int) -> Iterator[tuple[int, int, list[str]]]:
        """Yield where a record begins, where it ends, and its fields; blank lines are passed over."""
        end = place

        def lines() -> Iterator[str]:
            nonlocal end
            for after, line in source.lines(place):
                end = after
                yield line

        start = place
        try:
            for fields in csv.reader(lines(), delimiter=self._delimiter, strict=True):
                if len(fields) > 1 or "".join(fields).strip():
                    yield start, end, fields
                start = end
        except csv.Error as error:
            raise InputError(f"{source.where(start)}: {error}. Correct the file.") from error

    def find_encoding(self, layout: Layout) -> dict[str, list[str]]:
        """Read until a field is no number, take its column for text, and begin again."""
        texts: set[int] = set()
        while True:
            self.gaps: dict[int, InputError] = {}
            self.labels = Labels(self.shown)
            try:
                found = find_categories(self.parts(layout, sorted(texts), True), self.shown)
            except _NotANumber as field:
                texts.add(field.k)
                continue
            for gap in self.gaps.values():
                raise gap
            return found

    def parts(self, layout: Layout, texts: list[int], searching: bool = False) -> Iterator[Part]:
        """Yield some megabytes of rows at a time; ``searching`` stops at a text in place of a number."""
        numeric = [k for k in layout.features_at if k not in texts]
        kept = texts if layout.label_at is None else [layout.label_at, *texts]
        roles = np.full(len(layout.names), SKIP, dtype=np.int64)
        roles[numeric] = np.arange(len(numeric))
        roles[kept] = TEXT - np.arange(len(kept))
        with TextSource(self.path, self.shown) as source:
            skip = layout.named
            while source.advance():
                place = 0
                if skip:
                    record = next(self._records(source, 0), None)
                    if record is None:
                        continue
                    skip, place = False, record[1]
                table = _Rows(self, source, layout, roles, searching)
                table.fill(place)
                if table.row:
                    columns = [table.column(j) for j in range(len(kept))]
                    if layout.label_at is not None:
                        self.labels.add_texts(*columns.pop(0))
                    named = {layout.names[k]: c for k, c in zip(texts, columns, strict=True)}
                    yield Part(table.numbers[: table.row], named, table.where)


class _Rows:
    """The rows of one stretch of text."""

    def __init__(
        self,
        reader: CsvReader,
        source: TextSource,
        layout: Layout,
        roles: np.ndarray,
        searching: bool,
    ) -> None:
        self.reader, self.source, self.layout, self.roles = reader, source, layout, roles
        self.searching = searching
        self.numbers = np.empty((0, np.count_nonzero(roles >= 0)))
        self.texts = np.zeros((0, np.count_nonzero(roles <= TEXT), 2), dtype=np.int64)
        self._seen = 0
        self.slow: dict[int, tuple[str, list[str]]] = {}  # place and texts of rows read with care
        self.row = 0

    def fill(self, place: int) -> None:
        """Read all rows from this place on."""
        delimiter = ord(self.reader._delimiter)
        while place < len(self.source.text):
            self._reserve()
            given = self.source.array, place, delimiter, self.roles
            place, self.row = read_table(*given, self.numbers, self.texts, self.row)
            if place >= len(self.source.text):
                return
            record = next(self.reader._records(self.source, place), None)
            if record is None:
                return
            start, place, fields = record
            self._add(fields, self.source.where(start))

    def _reserve(self) -> None:
        """Make room for all lines; a record that goes on for long has more text read."""
        if self._seen == len(self.source.text):
            return
        self._seen = len(self.source.text)
        lines = self.source.ends + 1
        numbers, texts = self.numbers, self.texts
        self.numbers = np.empty((lines, *numbers.shape[1:]))
        self.texts = np.zeros((lines, *texts.shape[1:]), dtype=np.int64)
        self.numbers[: len(numbers)], self.texts[: len(texts)] = numbers, texts

    def _add(self, fields: list[str], where: str) -> None:
        names = self.layout.names
        if len(fields) != len(names):
            raise InputError(
                f"{where}: must have {len(names)} fields. Got {len(fields)} instead. Correct the line; "
                "a field with a delimiter in it must be in quotes."
            )
        at = self.layout.label_at
        if at is not None and not fields[at].strip():
            raise InputError(f"{where}: the label must not be empty. Leave the row out, or fill it in.")
        self._reserve()
        texts = [""] * self.texts.shape[1]
        for k, role in enumerate(self.roles.tolist()):
            if role <= TEXT:
                texts[TEXT - role] = fields[k].strip(" \t")
                if not texts[TEXT - role]:
                    raise InputError(f"{where}: column {names[k]} must not be empty.", *FILL_COLUMN)
            elif role != SKIP:
                self.numbers[self.row, role] = self._number(fields[k], where, k)
        self.slow[self.row] = where, texts
        self.row += 1

    def _number(self, text: str, where: str, k: int) -> float:
        name = self.layout.names[k]
        if self.searching and read_float(text) is None:
            if text.strip().lower() not in MISSING:
                raise _NotANumber(k)
            if k not in self.reader.gaps:
                self.reader.gaps[k] = missing_number(text, where, name, column=True)
            return 0.0
        return read_number(text, where, name, column=True)

    def column(self, j: int) -> tuple[np.ndarray, list[str]]:
        """Codes of the j-th text of every row, and what they stand for."""
        codes, texts = self.source.distinct(np.ascontiguousarray(self.texts[: self.row, j]))
        for row, (_, found) in self.slow.items():
            codes[row] = len(texts)
            texts.append(found[j])
        used, codes = np.unique(codes, return_inverse=True)
        return codes, [texts[k] for k in used.tolist()]

    def where(self, row: int) -> str:
        """The place of a row; there is a text in it."""
        return self.slow[row][0] if row in self.slow else self.source.where(int(self.texts[row, 0, 0]))
