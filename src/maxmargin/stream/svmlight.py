"""Lines of svmlight text as examples; a line without a label (or with ``?``) is only to be predicted."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.files.options import at_line
from maxmargin.files.svmlight import parse_line
from maxmargin.kernels.quicktext import read_examples
from maxmargin.kernels.text import pack_texts
from maxmargin.stream.block import NO_LABEL, Block
from maxmargin.stream.labels import label_of_text

__all__ = ["read_lines"]

LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)?")
UNKNOWN = "?"


class _Parsed:
    """Arrays that the kernel fills, with room for as many examples as the text may hold."""

    def __init__(self, text: bytes, line: int) -> None:
        size = len(text) // 4 + 1
        self.text = np.frombuffer(text, np.uint8)
        self.data = np.empty(size)
        self.indices = np.empty(size, dtype=np.int32)
        self.indptr = np.empty(len(text) // 2 + 2, dtype=np.int64)
        self.indptr[0] = 0
        self.places = np.empty((len(text) // 2 + 1, 3), dtype=np.int64)  # of labels, and their lines
        self.row, self.line = 0, line
        self.strange: dict[int, str] = {}  # labels of lines that the kernel left to us

    def advance(self, place: int) -> int:
        arrays = self.data, self.indices, self.indptr, self.places
        found = read_examples(self.text, place, *arrays, self.row, self.line)
        place, self.row, self.line = map(int, found)
        return place

    def put(self, place: int, label: str, indices: list[int], values: list[float]) -> None:
        low = int(self.indptr[self.row])
        high = low + len(indices)
        self.indices[low:high], self.data[low:high] = indices, values
        self.indptr[self.row + 1] = high
        self.places[self.row] = place, place, self.line
        self.strange[self.row] = label
        self.row += 1


def read_lines(text: bytes, line: int) -> Block:
    """Read whole lines, the first of which has this number."""
    parsed, error, place = _Parsed(text, line), None, 0
    while (place := parsed.advance(place)) < len(text):
        match = LINE.match(text, place)
        raw = match.group() if match else b""
        try:
            found = _parse(raw, at_line("-", parsed.line))
        except InputError as problem:
            error = problem
            break
        if found is not None:
            parsed.put(place, *found)
        place += len(raw)
        parsed.line += 1
    try:
        labels, codes = _labels(parsed, text)
    except UnicodeDecodeError:
        labels, codes, error = _until_bad(parsed, text)
    row = len(codes)
    end = int(parsed.indptr[row])
    return Block(
        data=parsed.data[:end],
        numbers=parsed.indices[:end],
        names=None,
        indptr=parsed.indptr[: row + 1],
        labels=labels,
        codes=codes,
        lines=parsed.places[:row, 2],
        next_line=parsed.line,
        error=error,
    )


def _parse(raw: bytes, where: str) -> tuple[str, list[int], list[float]] | None:
    try:
        line = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _not_text(raw, where) from None
    first = line.partition("#")[0].split(maxsplit=1)
    if first and ":" in first[0]:
        line = f"{UNKNOWN} {line}"
    return parse_line(line, where)


def _not_text(raw: bytes, where: str) -> InputError:
    return InputError(
        f"{where}: must be text in UTF-8. Got the bytes {raw[:20]!r}. Convert it to UTF-8."
    )


def _labels(parsed: _Parsed, text: bytes) -> tuple[list[Any], np.ndarray]:
    """Distinct labels, and the code of each row."""
    places = parsed.places[: parsed.row]
    packed = np.empty(len(places), dtype=np.int64)
    longer = pack_texts(parsed.text, places, packed)
    raws: dict[bytes, int] = {}
    if longer or parsed.strange:
        for i in np.flatnonzero(packed == -1).tolist():
            raw = text[places[i, 0] : places[i, 1]]
            packed[i] = -2 - raws.setdefault(raw, len(raws))
        for i, label in parsed.strange.items():
            packed[i] = -2 - raws.setdefault(label.encode("utf-8"), len(raws))
    by_number = {-2 - k: raw for raw, k in raws.items()}
    distinct, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
    labels: list[Any] = []
    known: dict[Any, int] = {UNKNOWN: NO_LABEL}
    codes = np.empty(len(distinct), dtype=np.int64)
    for k, (number, i) in enumerate(zip(distinct.tolist(), first.tolist(), strict=True)):
        raw = by_number[number] if number < 0 else text[places[i, 0] : places[i, 1]]
        label = label_of_text(raw.decode("utf-8")) if raw else UNKNOWN
        if label not in known:
            known[label] = len(labels)
            labels.append(label)
        codes[k] = known[label]
    return labels, codes[inverse]


def _until_bad(parsed: _Parsed, text: bytes) -> tuple[list[Any], np.ndarray, InputError]:
    """The labels before the first that is not UTF-8, and the complaint about it."""
    for i, (low, high, line) in enumerate(parsed.places[: parsed.row].tolist()):
        try:
            text[low:high].decode("utf-8")
        except UnicodeDecodeError:
            parsed.row = i
            parsed.strange = {k: v for k, v in parsed.strange.items() if k < i}
            return *_labels(parsed, text), _not_text(text[low:high], at_line("-", line))
    raise AssertionError("every label is text")
