"""The perceptron risk on rows in partitions: the descent is that of ``batch``, in a few rounds a step.

One round returns R(z), R(−z), |V| and −∇R(z) of every partition: d + 4 numbers for each machine. Another
one finds an exact step, or two where a partition has more than 4,096 breakpoints; two are enough for a
million breakpoints per partition. Up to the rounding of sums the step is the one that sorting all of
them would find; why it is not found by sorting them: no n numbers come together in one place.

R along a line is convex and piecewise linear, so its minimum is where the slope, which rises at every
breakpoint, changes its sign. A partition returns its breakpoints with the jumps of the slope there. If
there are many, it returns groups of them: where a group begins and ends, and by how much the slope rises
in it. Groups bracket the minimum, and the next round asks for the breakpoints within the bracket alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.rows.training_data import Machine, Part
from maxmargin.solvers.perceptron.batch import Breaks, Risk, Slope, lowest
from maxmargin.solvers.problem import Form, RemoteExamples, light, seen

GROUPS = 1024  # of breakpoints, by number and by weight


class Line(NamedTuple):
    """The slope of R along a line within a bracket: its rise from group to group of breakpoints."""

    slope: float  # at the left end of the bracket, just after it
    first: np.ndarray  # breakpoint of each group
    last: np.ndarray
    jumps: np.ndarray  # rise of the slope in the group
    total: float
    nonzero: bool

    @property
    def exact(self) -> bool:
        """Whether every group is a single breakpoint, or the slope never falls."""
        return bool(np.all(self.first == self.last)) or self.slope >= -self.breaks().flat

    def breaks(self) -> Breaks:
        """The same as single breakpoints, in order."""
        order = np.argsort(self.first, kind="stable")
        return Breaks(self.slope, self.first[order], self.jumps[order], self.total, self.nonzero)

    def bracket(self, low: float, high: float) -> tuple[float, float]:
        """Where the minimum must be: after ``low``, at most at ``high``.

        Left of the minimum the slope is negative even if all groups that have begun are over; right of
        it, it is positive even if those that are not over have not begun.
        """
        sure = 2.0 * self.breaks().flat
        begun, over = np.argsort(self.first, kind="stable"), np.argsort(self.last, kind="stable")
        ends = np.unique(self.last)
        rises = np.concatenate([[0.0], np.cumsum(self.jumps[begun])])
        most = self.slope + rises[np.searchsorted(self.first[begun], ends, side="right")]
        rises = np.concatenate([[0.0], np.cumsum(self.jumps[over])])
        least = self.slope + rises[np.searchsorted(self.last[over], ends, side="right")]
        before, after = ends[most < -sure], ends[least > sure]
        return float(before[-1]) if len(before) else low, float(after[0]) if len(after) else high


def together(lines: Sequence[Line]) -> Line:
    """The line of all partitions."""
    return Line(
        sum(line.slope for line in lines),
        np.concatenate([line.first for line in lines]),
        np.concatenate([line.last for line in lines]),
        np.concatenate([line.jumps for line in lines]),
        sum(line.total for line in lines),
        any(line.nonzero for line in lines),
    )


def within(found: Breaks, low: float, high: float, most: int | None) -> Line:
    """The breakpoints of a partition within a bracket, or groups of them if they are too many."""
    start, stop = np.searchsorted(found.t, [low, high], side="right")
    slope = found.slope + float(np.sum(found.jumps[:start]))
    t, jumps = found.t[start:stop], found.jumps[start:stop]
    if len(t):
        places = np.flatnonzero(np.append(True, np.diff(t) > 0))  # equal breakpoints are one
        t, jumps = t[places], np.add.reduceat(jumps, places)
    if most is None or len(t) <= most:
        return Line(slope, t, t, jumps, found.total, found.nonzero)
    share = np.cumsum(jumps) / np.sum(jumps)
    group = np.floor(share * GROUPS) + np.arange(len(t)) * GROUPS // len(t)  # both ways to cut
    begin = np.flatnonzero(np.append(True, np.diff(group) > 0))
    end = np.append(begin[1:], len(t)) - 1
    return Line(slope, t[begin], t[end], np.add.reduceat(jumps, begin), found.total, found.nonzero)


BREAKPOINTS = 4096  # breakpoints that a partition returns
MAX_ROUNDS = 6  # rounds after which all breakpoints that are left are asked for


class RemoteRisk(Slope):
    """R and its gradient for machines on rows in partitions."""

    def __init__(self, examples: RemoteExamples, machines: Sequence[Machine]) -> None:
        super().__init__(light(machines), examples.sizes(machines).sum(axis=1))
        self.examples, self.rows, self.form = examples, examples.rows, examples.form
        self._pulls = np.zeros((len(self.machines), self.rows.d + 1))

    def look(self, Z: np.ndarray) -> None:
        """Find R(z), R(−z), |V| and −∇R(z) of each machine: one round."""
        found = self.rows.each(_looked, self.form, self.machines, Z)
        self.risk, self.behind = np.zeros(len(Z)), np.zeros(len(Z))
        self.wrong, self._pulls = np.zeros(len(Z), int), np.zeros_like(Z)
        for risk, behind, wrong, pulls in found:  # in the order of the partitions
            self.risk += risk
            self.behind += behind
            self.wrong += wrong
            self._pulls += pulls

    def first_rows(self) -> np.ndarray:
        """Return y_i (x_i, 1) of the first row of each machine."""
        first = np.argmax(self.examples.sizes(self.machines) > 0, axis=1)
        start, numbers = np.empty((len(self.machines), self.rows.d + 1)), np.unique(first).tolist()
        which = [np.flatnonzero(first == number).tolist() for number in numbers]
        own = [(self.form, places, [self.machines[k] for k in places]) for places in which]
        found: np.ndarray = self.rows.along(_first, start, numbers, own)
        return found

    def pulls(self) -> np.ndarray:
        """Return −∇R for each machine, where it looked last."""
        return self._pulls

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the machines only."""
        super().keep(which)
        self._pulls = self._pulls[which]

    def lengths(self, Z: np.ndarray, D: np.ndarray) -> list[float]:
        """Return the t ≥ 0 with the least R(z + t d) for each machine."""
        steps = [0.0] * len(Z)
        searching = [k for k in range(len(Z)) if np.any(D[k])]
        brackets = dict.fromkeys(searching, (-1.0, math.inf))
        for turn in range(MAX_ROUNDS + 1):
            if not searching:
                break
            asked = [self.machines[k] for k in searching]
            lines = Z[searching], D[searching], [brackets[k] for k in searching]
            most = BREAKPOINTS if turn < MAX_ROUNDS else None
            found = zip(*self.rows.each(_broken, self.form, asked, *lines, most), strict=True)
            wider = []
            for k, parts in zip(searching, found, strict=True):
                line = together([part for part in parts if part is not None])
                if line.exact:
                    steps[k] = lowest(line.breaks())
                else:
                    brackets[k] = line.bracket(*brackets[k])
                    wider.append(k)
            searching = wider
        return steps


def _risks(part: Part, form: Form, machines: Sequence[Machine]) -> Iterator[tuple[slice, Risk]]:
    """Machines on all rows together, others alone on theirs; those without rows are left out."""
    examples, mine = form.examples(part), seen(machines, part.codes)
    if all(len(machine.members) == part.rows.n for machine in mine):
        yield slice(0, len(mine)), Risk(examples, mine)
        return
    for k, machine in enumerate(mine):
        if len(machine.members):
            yield slice(k, k + 1), Risk(examples.restricted(machine.members), [machine])


def _looked(
    part: Part, form: Form, machines: Sequence[Machine], Z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    risk, behind = np.zeros(len(Z)), np.zeros(len(Z))
    wrong, pulls = np.zeros(len(Z), int), np.zeros_like(Z)
    for which, here in _risks(part, form, machines):
        here.look(Z[which])
        risk[which], behind[which] = here.risk, here.behind
        wrong[which], pulls[which] = here.wrong, here.pulls()
    return risk, behind, wrong, pulls


def _broken(
    part: Part,
    form: Form,
    machines: Sequence[Machine],
    Z: np.ndarray,
    D: np.ndarray,
    brackets: Sequence[tuple[float, float]],
    most: int | None,
) -> list[Line | None]:
    """The breakpoints of each machine within its bracket."""
    lines: list[Line | None] = [None] * len(machines)
    for which, here in _risks(part, form, machines):
        here.look(Z[which])
        for k, found in zip(range(which.start, which.stop), here.breaks(D[which]), strict=True):
            lines[k] = within(found, *brackets[k], most)
    return lines


def _first(part: Part, own: tuple[Form, list[int], list[Machine]], start: np.ndarray) -> np.ndarray:
    (form, places, machines), start = own, start.copy()
    examples = form.examples(part)
    start[places] = [examples.signed(m, m.members[:1])[0] for m in seen(machines, part.codes)]
    return start
