"""Rows that have come here, with where they are from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.rows import Rows
from maxmargin.rows.block import matrix_of, stacked
from maxmargin.solvers.margin.frame import Frame
from maxmargin.solvers.remote.rounds import Side
from maxmargin.solvers.remote.rule import Given

__all__ = ["Pool", "Sent", "gathered"]


class Sent(NamedTuple):
    """Rows on their way here."""

    numbers: np.ndarray  # within the partition
    y: np.ndarray
    C: np.ndarray
    X: Any


class Pool(NamedTuple):
    """Rows of a machine, in the order in which they came."""

    rows: Rows
    y: np.ndarray
    C: np.ndarray
    part: np.ndarray
    number: np.ndarray

    def frame(self, side: Side) -> Frame:
        """The rows in the coordinates of the machine."""
        return Frame(self.rows, self.y, side.pad, side.scene).restricted(np.arange(self.rows.n))

    def joined(self, other: Pool) -> Pool:
        """These rows, then the others."""
        rows = stacked([matrix_of(self.rows), matrix_of(other.rows)])
        return Pool(rows, *(np.concatenate(pair) for pair in zip(self[1:], other[1:], strict=True)))

    def some(self, which: np.ndarray) -> Pool:
        """Some of the rows."""
        return Pool(self.rows.select(which), *(values[which] for values in self[1:]))

    def known(self, parts: int) -> list[np.ndarray]:
        """For each partition the numbers of the rows that are here."""
        return [self.number[self.part == k] for k in range(parts)]

    def given(self, alpha: np.ndarray, parts: int) -> list[Given | None]:
        """For each partition the multipliers of its rows that are not zero, ``alpha`` in their order."""
        some = np.flatnonzero(alpha)
        part = self.part[some]
        mine = [some[part == k] for k in range(parts)]
        return [Given(self.number[which], alpha[which]) if len(which) else None for which in mine]


def gathered(sent: Sequence[Sent | None]) -> Pool | None:
    """What partitions sent, in their order; None if that is nothing."""
    some = [(k, rows) for k, rows in enumerate(sent) if rows is not None and len(rows.numbers)]
    if not some:
        return None
    part = np.repeat([k for k, _ in some], [len(rows.numbers) for _, rows in some])
    rows = stacked([rows.X for _, rows in some])
    y, C, number = (np.concatenate([getattr(r, k) for _, r in some]) for k in ("y", "C", "numbers"))
    return Pool(rows, y, C, part, number)
