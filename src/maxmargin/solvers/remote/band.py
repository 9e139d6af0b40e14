"""Rows near the margin that have come here, for one solution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.rows import Rows
from maxmargin.rows.block import stacked
from maxmargin.solvers.margin.frame import Frame
from maxmargin.solvers.remote.alike import alike, key_of
from maxmargin.solvers.remote.rounds import Side
from maxmargin.solvers.remote.rule import Given

__all__ = ["Band", "Grouped", "gathered_band"]


class Grouped(NamedTuple):
    """Rows of a partition on their way here: one of each group of equal rows."""

    part: int
    X: Any
    y: np.ndarray
    C: np.ndarray  # the sum of the group
    numbers: np.ndarray  # of all members, within the partition
    group: np.ndarray  # of each member


class Band(NamedTuple):
    """Rows that count for all that are equal, in any partition."""

    frame: Frame  # in the coordinates of the machine
    C: np.ndarray
    members: list[tuple[int, np.ndarray, np.ndarray]]  # partition, places there, and row here

    def given(self, share: np.ndarray, parts: int) -> list[Given | None]:
        """For each partition the shares α_i/C_i of its rows."""
        all_given: list[Given | None] = [None] * parts
        for part, numbers, row in self.members:
            all_given[part] = Given(numbers, share[row])
        return all_given


def gathered_band(sent: Sequence[Grouped], side: Side) -> Band | None:
    """What partitions sent; None if that is nothing."""
    if not sent:
        return None
    rows: Rows = stacked([one.X for one in sent])
    y, C = np.concatenate([one.y for one in sent]), np.concatenate([one.C for one in sent])
    groups = alike(rows, y, np.arange(rows.n), key_of(rows))
    starts = np.cumsum([0, *(len(one.y) for one in sent)])
    members = [
        (one.part, one.numbers, groups.group[start + one.group])
        for one, start in zip(sent, starts[:-1].tolist(), strict=True)
    ]
    frame = Frame(rows, y, side.pad, side.scene).restricted(groups.first)
    return Band(frame, np.bincount(groups.group, C, len(groups.first)), members)
