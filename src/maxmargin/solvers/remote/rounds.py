"""Machines that share their rounds: each says what it wants to know, and one round serves all.

A machine is a generator. It yields a :class:`Query`, and is sent the answers of the partitions, in
their order (None from those without rows of its classes); what it returns is its result. The function of
a question is a pure function of a :class:`View` of the partition, and of small values.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from maxmargin.rows.remote import Part, RemoteRows
from maxmargin.solvers.margin.frame import Frame, Scene

__all__ = ["AT_HAND", "Course", "Query", "Side", "View", "ask_all", "run_rounds"]

T = TypeVar("T")
AT_HAND = 1 << 17  # numbers: a megabyte
SUMS = 32  # so many times the features, at least: a block gives sums over its rows


class Side(NamedTuple):
    """A machine: which labels are +1 and −1, and its bounds C by label code (None: hard margin)."""

    positive: int
    negative: int | None  # None: all others
    C: np.ndarray | None
    pad: float
    scene: Scene

    def signs(self, codes: np.ndarray) -> np.ndarray:
        """Return y = ±1 for label codes."""
        return np.where(codes == self.positive, 1.0, -1.0)

    def members(self, codes: np.ndarray) -> np.ndarray:
        """Where the rows of the machine are."""
        if self.negative is None:
            return np.flatnonzero(codes >= 0)  # rows of weight zero are left out
        return np.flatnonzero((codes == self.positive) | (codes == self.negative))

    def bounds(self, codes: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        """C_i for label codes, and weights of the rows."""
        if self.C is None:
            return np.full(len(codes), np.inf)
        C = self.C[codes]
        return np.asarray(C if weight is None else C * weight)


class View(NamedTuple):
    """The rows of a partition that belong to a machine, in its coordinates."""

    frame: Frame
    C: np.ndarray
    numbers: np.ndarray  # within the partition

    def blocks(self) -> Iterator[tuple[slice, View]]:
        """The same block by block, small enough for a processor to keep at hand."""
        rows, y, pad, scene = self.frame.rows, self.frame.y, self.frame.pad, self.frame.scene
        for where, block in rows.blocks(max(AT_HAND, SUMS * rows.d)):
            frame = Frame(block, y[where], pad, scene)
            yield where, View(frame, self.C[where], self.numbers[where])


def look(part: Part, side: Side) -> View:
    """See a partition as a machine does."""
    which = side.members(part.codes)
    rows, codes, weight = part
    if len(which) < rows.n:
        rows, codes = rows.select(which), codes[which]
        weight = None if weight is None else weight[which]
    frame = Frame(rows, side.signs(codes), side.pad, side.scene)
    return View(frame, side.bounds(codes, weight), which)


class Query(NamedTuple):
    """``function(view, *small)`` is asked of every partition, with its own state at the end.

    With ``combine`` the answers are combined on their way, and there are fewer of them.
    """

    function: Callable[..., Any]
    small: tuple[Any, ...]
    own: Sequence[Any] | None = None
    combine: Callable[[list[Any]], Any] | None = None

    def state(self, number: int) -> tuple[Any, ...]:
        """What one partition is told."""
        return self.small if self.own is None else (*self.small, self.own[number])


Course = Generator[Query, list[Any], T]


def ask_all(rows: RemoteRows, asked: Sequence[tuple[Side, Query]]) -> list[list[Any]]:
    """One round for several machines: for each of them the answers of the partitions."""
    own = [[(s, q.function, q.state(k)) for s, q in asked] for k in range(rows.parts)]
    each = [q.combine for _, q in asked if q.combine is not None]
    combine = Each(each) if len(each) == len(asked) else None
    answers = rows.each(_answers, own=own, combine=combine)
    return [list(one) for one in zip(*answers, strict=True)]


class Each:
    """Combine the answers to several machines, each in its way; None where no partition had any."""

    def __init__(self, ways: Sequence[Callable[[list[Any]], Any]]) -> None:
        self.ways = list(ways)

    def __call__(self, answers: list[list[Any]]) -> list[Any]:
        """Return one answer for each machine."""
        columns = zip(self.ways, zip(*answers, strict=True), strict=True)
        given = [(way, [one for one in column if one is not None]) for way, column in columns]
        return [way(some) if some else None for way, some in given]


def _answers(part: Part, asked: Sequence[tuple[Side, Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
    answers = []
    for side, function, state in asked:
        view = look(part, side)
        answers.append(function(view, *state) if view.frame.n else None)
    return answers


def run_rounds(rows: RemoteRows, sides: Sequence[Side], courses: Sequence[Course[T]]) -> list[T]:
    """Run machines to their ends, together."""
    results: dict[int, T] = {}
    wanted: dict[int, Query] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(courses)))
    while answers:
        wanted = {}
        for k, answer in answers.items():
            try:
                wanted[k] = courses[k].send(answer)
            except StopIteration as end:
                results[k] = end.value
        got = ask_all(rows, [(sides[k], question) for k, question in wanted.items()]) if wanted else []
        answers = dict(zip(wanted, got, strict=True))
    return [results[k] for k in range(len(courses))]
