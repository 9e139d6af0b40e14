"""What machines ask of rows that stay where they are: in one partition here, or in many elsewhere.

A machine is a loop written as a generator. It yields a :class:`Question`, and is sent the answers of the
partitions, in their order (None from those without rows of its classes); what it returns is its result.
:func:`run_rounds` lets machines share their rounds, so that one pass over the rows, and one product with
them, serves all. The function of a question is a pure function of a :class:`View` of the partition, and
of small values.

Rows that have come here are a :class:`Pool`; what is found for them goes back by partition and place.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from maxmargin.rows import Rows
from maxmargin.rows.training_data import Part, Partitions, matrix_of, stacked
from maxmargin.solvers.margin.coordinates import Frame, Scaling
from maxmargin.solvers.margin.tasks import Plane, measure

T = TypeVar("T")
BLOCK_NUMBERS = 1 << 17  # of a block that a processor keeps at hand: a megabyte
BLOCK_ROWS = 32  # so many times the features, at least: a block gives sums over its rows
UNSCALED = Scaling(np.zeros(1), 1.0)  # the coordinates of the user


class BinaryTask(NamedTuple):
    """One machine on partitions: the labels of both sides, and its bounds C, by label code."""

    positive: int
    negative: int | None  # None: all others
    C: np.ndarray | None  # None: a hard margin
    pad: float
    scaling: Scaling = UNSCALED  # the coordinates in which it is solved, where C is larger
    start: Plane | None = None  # in the user's coordinates

    def inside(self, scaling: Scaling) -> BinaryTask:
        """The same machine in other coordinates."""
        C = None if self.C is None else self.C * scaling.scale**2
        return self._replace(C=C, scaling=scaling)

    def outside(self, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """A plane in the user's coordinates."""
        w, b = self.scaling.outside(w, b)
        return w, b if self.pad else 0.0

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

    def view(self, part: Part) -> View:
        """See a partition as this machine does."""
        which = self.members(part.codes)
        rows, codes, weight = part
        if len(which) < rows.n:
            rows, codes = rows.select(which), codes[which]
            weight = None if weight is None else weight[which]
        frame = Frame(rows, self.signs(codes), self.pad, self.scaling)
        return View(frame, self.bounds(codes, weight), which)


class View(NamedTuple):
    """The rows of a partition that belong to a machine, in its coordinates."""

    frame: Frame
    C: np.ndarray
    numbers: np.ndarray  # within the partition

    def blocks(self) -> Iterator[tuple[slice, View]]:
        """The same block by block, small enough for a processor to keep at hand."""
        rows, y, pad, scaling = self.frame.rows, self.frame.y, self.frame.pad, self.frame.scaling
        for where, block in rows.blocks(max(BLOCK_NUMBERS, BLOCK_ROWS * rows.d)):
            frame = Frame(block, y[where], pad, scaling)
            yield where, View(frame, self.C[where], self.numbers[where])

    def view(self, part: Part) -> View:
        """Return itself: of rows that are here a view is made once."""
        return self


class Viewer(Protocol):
    """Whoever sees the rows of a partition that belong to a machine."""

    def view(self, part: Part) -> View:
        """These rows, in the coordinates of the machine."""


class Question(NamedTuple):
    """``function(view, *small)`` is asked of every partition, with its own state at the end.

    Of a plane the margins of the rows come first: ``function(view, m, *small)``. With ``combine`` the
    answers are combined on their way, and there are fewer of them.
    """

    function: Callable[..., Any]
    small: tuple[Any, ...]
    own: Sequence[Any] | None = None
    combine: Callable[[list[Any]], Any] | None = None
    plane: Plane | None = None

    def of_part(self, number: int) -> tuple[Callable[..., Any], Plane | None, tuple[Any, ...]]:
        """What one partition is asked."""
        small = self.small if self.own is None else (*self.small, self.own[number])
        return self.function, self.plane, small


Asking = Generator[Question, list[Any], T]  # a machine


def run_rounds(rows: Partitions, tasks: Sequence[Viewer], machines: Sequence[Asking[T]]) -> list[T]:
    """Run machines to their ends, together."""
    results: dict[int, T] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(machines)))
    while answers:
        asked: dict[int, Question] = {}
        for k, answer in answers.items():
            try:
                asked[k] = machines[k].send(answer)
            except StopIteration as end:
                results[k] = end.value
        got = ask_all(rows, [(tasks[k], question) for k, question in asked.items()]) if asked else []
        answers = dict(zip(asked, got, strict=True))
    return [results[k] for k in range(len(machines))]


def ask_all(rows: Partitions, asked: Sequence[tuple[Viewer, Question]]) -> list[list[Any]]:
    """One round for several machines: for each of them the answers of the partitions."""
    own = [[(task, *q.of_part(k)) for task, q in asked] for k in range(rows.parts)]
    ways = [q.combine for _, q in asked if q.combine is not None]
    combine = CombineEach(ways) if len(ways) == len(asked) else None
    answers = rows.each(_answers, own=own, combine=combine)
    return [list(one) for one in zip(*answers, strict=True)]


class CombineEach:
    """Combine the answers to several machines, each in its way; None where no partition had any."""

    def __init__(self, ways: Sequence[Callable[[list[Any]], Any]]) -> None:
        self.ways = list(ways)

    def __call__(self, answers: list[list[Any]]) -> list[Any]:
        """Return one answer for each machine."""
        columns = zip(self.ways, zip(*answers, strict=True), strict=True)
        given = [(way, [one for one in column if one is not None]) for way, column in columns]
        return [way(some) if some else None for way, some in given]


def _answers(
    part: Part, asked: Sequence[tuple[Viewer, Callable[..., Any], Plane | None, tuple[Any, ...]]]
) -> list[Any]:
    """What one partition answers to all machines; None to those without rows in it."""
    views = [task.view(part) for task, *_ in asked]
    wanted = [k for k, view in enumerate(views) if view.frame.n and asked[k][2] is not None]
    apart = [k for k in wanted if views[k].frame.rows is not views[wanted[0]].frame.rows]
    groups = [[k] for k in wanted] if apart else [wanted]  # pairs of classes have rows of their own
    margins: dict[int, np.ndarray] = {}
    for group in groups:
        planes = [plane for k in group if (plane := asked[k][2]) is not None]
        margins.update(zip(group, measure([views[k].frame for k in group], planes), strict=True))
    answers = []
    for k, (view, (_, function, _, small)) in enumerate(zip(views, asked, strict=True)):
        given = (margins[k], *small) if k in margins else small
        answers.append(function(view, *given) if view.frame.n else None)
    return answers


class Given(NamedTuple):
    """Multipliers of some rows of a partition by their places, or shares of their bounds."""

    places: np.ndarray
    values: np.ndarray

    def among(self, numbers: np.ndarray) -> Given:
        """Those of a stretch of rows."""
        inside = (self.places >= numbers[0]) & (self.places <= numbers[-1])
        return Given(self.places[inside], self.values[inside])


class Multipliers(NamedTuple):
    """The multipliers of all rows: a rule, or None for zeros, and what is given for each partition."""

    rule: Any  # see summaries.Rule
    given: list[Given | None]

    def of_all(self, n: int) -> np.ndarray:
        """Those of rows in one partition, without a rule."""
        (given,), alpha = self.given, np.zeros(n)
        if given is not None:
            alpha[given.places] = given.values
        return alpha


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

    def frame(self, pad: float, scaling: Scaling) -> Frame:
        """The rows in the coordinates of the machine."""
        frame = Frame(self.rows, self.y, pad, scaling)
        return frame.restricted(np.arange(self.rows.n))

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

    def multipliers(self, alpha: np.ndarray, parts: int) -> Multipliers:
        """The multipliers of all rows: ``alpha`` of these, in their order, and zero of the others."""
        some = np.flatnonzero(alpha)
        part = self.part[some]
        mine = [some[part == k] for k in range(parts)]
        given = [Given(self.number[which], alpha[which]) if len(which) else None for which in mine]
        return Multipliers(None, given)


def gathered(sent: Sequence[Sent | None]) -> Pool | None:
    """What partitions sent, in their order; None if that is nothing."""
    some = [(k, rows) for k, rows in enumerate(sent) if rows is not None and len(rows.numbers)]
    if not some:
        return None
    part = np.repeat([k for k, _ in some], [len(rows.numbers) for _, rows in some])
    rows = stacked([rows.X for _, rows in some])
    y, C, number = (np.concatenate([getattr(r, k) for _, r in some]) for k in ("y", "C", "numbers"))
    return Pool(rows, y, C, part, number)
