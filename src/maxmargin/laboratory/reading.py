"""Text, pasted or dropped, as columns; a refusal names the line.

Fields are separated by tabs, semicolons or commas, whichever the first line has most of.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.laboratory.limits import LARGEST, LIMITS, NAME, SMALLEST

__all__ = ["Column", "read_columns"]

SEPARATORS = "\t;,"


@dataclass(frozen=True)
class Column:
    """One column of text."""

    name: str
    texts: list[str]
    lines: list[int]  # where in the file

    @cached_property
    def distinct(self) -> list[str]:
        """The different texts, in order of appearance."""
        return list(dict.fromkeys(self.texts))

    @cached_property
    def numeric(self) -> bool:
        """Whether numbers are meant: half of the texts are some, gaps aside."""
        filled = [text for text in self.texts if text]
        return bool(filled) and 2 * sum(_number(text) is not None for text in filled) >= len(filled)

    def values(self) -> np.ndarray:
        """The numbers; an error names the line of the first text that is none."""
        numbers = [_number(text) for text in self.texts]
        for text, number, line in zip(self.texts, numbers, self.lines, strict=True):
            if number is None or (number != 0 and not SMALLEST <= abs(number) <= LARGEST):
                given = "an empty field" if not text else repr(text[:40])
                raise InputError(
                    f"line {line}: {self.name} must be 0, or a number from {SMALLEST:g} to "
                    f"{LARGEST:g} in size. Got {given} instead. Correct the line or leave it out, or "
                    "choose another column."
                )
        return np.array(numbers, dtype=np.float64) + 0.0


def read_columns(text: str, header: bool | None) -> list[Column]:
    """The columns of a table; ``header`` None means to find out whether the first line has names."""
    lines = _lines(text.removeprefix("\ufeff"))
    if not lines:
        raise InputError("a table must hold rows. Got none. Paste rows of numbers and a label.")
    wide = len(lines[0][1])
    for number, fields in lines:
        if len(fields) != wide:
            raise InputError(
                f"line {number}: must have {wide} fields, as line {lines[0][0]} has. "
                f"Got {len(fields)} instead. Correct the line."
            )
    if wide > LIMITS["table_columns"]:
        raise InputError(f"a table must have at most {LIMITS['table_columns']} columns. Got {wide}.")
    if wide < 2:
        raise InputError(
            "a table must have at least two columns, features and a label, separated by commas, "
            "semicolons or tabs. Got one."
        )
    first = [field.strip() for field in lines[0][1]]
    below = lines[1][1] if len(lines) > 1 else []
    if header is None:
        header = _is_header(first, below)
    body = lines[1:] if header else lines
    if not body:
        raise InputError("a table must hold rows below its header. Got none.")
    if len(body) > LIMITS["table_rows"]:
        raise InputError(
            f"a table must have at most {LIMITS['table_rows']:,} rows. Got {len(body):,}. "
            "Paste a part of it."
        )
    names = [name or f"column {k + 1}" for k, name in enumerate(first)]
    if not header:
        names = [f"column {k + 1}" for k in range(wide)]
    numbers = [number for number, _ in body]
    return [
        Column(names[k][: 4 * NAME], [fields[k].strip() for _, fields in body], numbers)
        for k in range(wide)
    ]


def _lines(text: str) -> list[tuple[int, list[str]]]:
    """The lines that are not blank, with their numbers."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    counts = {separator: first.count(separator) for separator in SEPARATORS}
    best = max(SEPARATORS, key=lambda s: counts[s])
    reader = csv.reader(StringIO(text, newline=""), delimiter=best, strict=True)
    try:
        found = [(reader.line_num, fields) for fields in reader if any(f.strip() for f in fields)]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num}: {error}. Correct the line.") from error
    return found


def _is_header(first: Sequence[str], below: Sequence[str]) -> bool:
    """Whether the first line holds names: a column has a number below something that is none."""
    numbers = [_number(text) is not None for text in first]
    if not any(numbers):
        return not below or any(_number(text.strip()) is not None for text in below)
    pairs = zip(numbers, below, strict=False)
    return not all(numbers) and any(
        not here and _number(text.strip()) is not None for here, text in pairs
    )


def _number(text: str) -> float | None:
    if not re.fullmatch(r"[+\-−]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII):
        return None
    value = float(text.replace("−", "-"))
    return value if math.isfinite(value) else None
