"""Numbers as they are written: each double stands for the shortest decimal that rounds to it.

With E decimal places in all, 10^E x_i is a row of whole numbers. A plane (w, b) of these rows is the
plane (10^E w, b) of the decimals, with a margin 10^-E times as large; weights with which rows cancel are
the same. Where the whole numbers have up to 15 digits, they are doubles, and their rows are like any
others. Longer ones are rounded in floating point, and exact in integers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.core.parameters import NEVER, Deadline
from maxmargin.rows import CsrRows, DenseRows, PartedRows, Rows
from maxmargin.solvers.exact.integer_rows import ExactRows, exponents_of

UNIQUE = 1e15  # a decimal of whole units below it is the shortest one of its double
EXACT_PLACES = 22  # 10^22 is the last power of ten that is a double
MAX_PLACES = 290  # of decimals, and of whole numbers in front of the point


@dataclass(frozen=True)
class Decimals:
    """Rows of decimals x_i, and as whole numbers 10^E x_i."""

    given: Rows
    places: int  # E
    short: bool  # whether doubles hold the whole numbers
    whole: Rows  # the whole numbers as doubles, rounded if they are not short

    @classmethod
    def of(cls, rows: Rows) -> Decimals:
        """Find out how many decimal places rows of doubles have."""
        places = _short_places(rows)
        short = places is not None
        if places is None:
            values = (np.unique(block.arrays[0]).tolist() for _, block in rows.blocks())
            places = max([_parts(v)[1] for some in values for v in some], default=0)
        if places > MAX_PLACES or rows.column_reach.max(initial=0.0) > 10.0 ** (MAX_PLACES - places):
            raise InputError(
                f"X must hold decimals with at most {MAX_PLACES} digits before and behind the point. "
                f"Got {places} behind it, and numbers up to {rows.column_reach.max():.1e}. Leave out or "
                "round tiny numbers, or take all as the doubles they are."
            )
        return cls(rows, places, short, _times(rows, 10.0**places, short))

    def exact_rows(self, y: np.ndarray, pad: float, deadline: Deadline = NEVER) -> ExactRows:
        """The whole numbers in exact arithmetic."""
        reach = self.whole.column_reach
        if self.short:
            return ExactRows(self.whole, y, pad, exponents_of(reach), reach > 0, deadline)
        exponents = exponents_of(reach) + 1  # one more, as reach is rounded
        return LongDecimals(self, y, pad, exponents, reach > 0, deadline)

    def select(self, which: np.ndarray) -> Decimals:
        """Only some rows."""
        given, whole = self.given.select(which), self.whole.select(which)
        return Decimals(given, self.places, self.short, whole)


class LongDecimals(ExactRows):
    """Whole numbers of any length: exact in integers, rounded to doubles in floating point."""

    is_rounded = True

    def __init__(
        self,
        decimals: Decimals,
        y: np.ndarray,
        pad: float,
        exponents: np.ndarray,
        used: np.ndarray | None,
        deadline: Deadline,
    ) -> None:
        super().__init__(decimals.whole, y, pad, exponents, used, deadline)
        self.decimals = decimals
        self._doubles = ExactRows(decimals.given, y, pad, np.zeros(self.d, np.int64), used)

    @property
    def terms(self) -> int:
        """How many roundings a value has: those of its sum, and those of the numbers themselves."""
        return self._doubles.terms + 4

    def restricted(self, which: np.ndarray) -> ExactRows:
        """Only some rows."""
        some, y = self.decimals.select(which), self.y[which]
        return LongDecimals(some, y, self.pad, self.exponents, None, self.deadline)

    def rescaled(self, exponents: np.ndarray) -> ExactRows:
        """The same rows with other scales of their columns."""
        return LongDecimals(self.decimals, self.y, self.pad, exponents, self._used, self.deadline)

    def _numbers(self, which: list[int]) -> list[tuple[Sequence[int], list[Any]]]:
        places, found = self.decimals.places, self._doubles._numbers(which)
        return [
            (columns, [n * 10 ** (places - k) for n, k in map(_parts, row)]) for columns, row in found
        ]


def _parts(value: float) -> tuple[int, int]:
    """A whole number n and the places k of the shortest decimal n · 10^-k of a double."""
    digits, _, exponent = repr(value).partition("e")
    front, _, behind = digits.partition(".")
    behind = behind.rstrip("0")
    k = len(behind) - int(exponent or 0)
    n = int(front + behind)
    return (n, k) if k > 0 else (n * 10**-k, 0)


def _short_places(rows: Rows) -> int | None:
    """The places with which all numbers are whole ones of up to 15 digits; None if there are none."""
    places = 0
    for _, block in rows.blocks():
        values = block.arrays[0].ravel()
        if values.dtype != np.float64:
            raise InputError(
                "X must hold doubles, whose shortest decimals are what was written. Got numbers of type "
                f"{values.dtype} instead. Read them as float64."
            )
        while True:
            unit = 10.0**places
            values = values[np.rint(values * unit) / unit != values]
            if not len(values):
                break
            places += 1
            if places > EXACT_PLACES:
                return None
    return places if rows.column_reach.max(initial=0.0) * 10.0**places < UNIQUE else None


def _times(rows: Rows, unit: float, whole: bool) -> Rows:
    """The numbers in units of the last place, rounded to whole numbers if that is what they are."""
    if isinstance(rows, PartedRows):
        return rows.mapped(lambda block: _times(block, unit, whole))
    values = rows.arrays[0].astype(np.float64) * unit
    values = np.rint(values) if whole else values
    if isinstance(rows, CsrRows):
        _, indices, indptr = rows.arrays
        return CsrRows.from_matrix(sparse.csr_array((values, indices, indptr), (rows.n, rows.d)))
    return DenseRows(values)
