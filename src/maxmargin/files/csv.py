"""Tables in text, with commas or tabs; quoted fields as Python's csv module reads them."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.files.reader import Labels
from maxmargin.files.tables import (
    ONE_COLUMN,
    Layout,
    Part,
    TableReader,
    choose,
    find_categories,
    is_header,
)
from maxmargin.files.text import MISSING, TextSource, read_float, read_number, short
from maxmargin.kernels.text import SKIP, TEXT, read_table

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
            self.gaps: dict[int, str] = {}
            self.labels = Labels(self.shown)
            try:
                found = find_categories(self._parts(layout, sorted(texts), True), self.shown)
            except _NotANumber as field:
                texts.add(field.k)
                continue
            for message in self.gaps.values():
                raise InputError(message)
            return found

    def parts(self, layout: Layout, texts: list[int]) -> Iterator[Part]:
        """Yield some megabytes of rows at a time."""
        return self._parts(layout, texts)

    def _parts(self, layout: Layout, texts: list[int], searching: bool = False) -> Iterator[Part]:
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
                table = _Rows(self, source, layout, roles, len(numeric), len(kept), searching)
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
        numbers: int,
        texts: int,
        searching: bool,
    ) -> None:
        self.reader, self.source, self.layout, self.roles = reader, source, layout, roles
        self.searching = searching
        self.numbers = np.empty((0, numbers))
        self.texts = np.zeros((0, texts, 2), dtype=np.int64)
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
                    raise InputError(
                        f"{where}: column {names[k]} must not be empty. Fill it in, or leave out the "
                        "row, or the column (drop=[…])."
                    )
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
                self.reader.gaps[k] = (
                    f"{where}: feature {name} must not be missing. Got {short(text)} instead. Fill it "
                    "in, or leave out the row, or the column (drop=[…])."
                )
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
