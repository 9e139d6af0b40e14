"""The batch perceptron: descent on the perceptron risk R(z) = Σ_{i∈V} −a_i·z, V = {i : a_i·z ≤ 0}.

−∇R(z) = Σ_{i∈V} a_i, so a step of length ε is z ← z + ε Σ_{i∈V} y_i (x_i, 1): every misclassified
row pulls at once. The run ends when V is empty: R(z) = 0 with z ≠ 0, since at z = 0 every row is in V.
With a fixed step the mistake-bound argument holds for the sums, and separable data is separated after
finitely many steps.

An exact step goes to the minimum of R along its direction. On a piecewise linear R the plain gradient
then zigzags between creases and may jam; so the direction is the shortest convex combination of the last
few −∇R (conjugate subgradients, Wolfe 1975), which runs along the crease. R is positively homogeneous,
R(sz) = s R(z), so after an exact step z is brought back to its old length: otherwise, on overlapping
classes, it would shrink towards the meaningless minimum z = 0.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.history import Update
from maxmargin.kernels.perceptron import norm, repeated
from maxmargin.rows.training_data import Machine, Part
from maxmargin.solvers.perceptron.epochs import Run
from maxmargin.solvers.perceptron.nearest_point import shortest_combination
from maxmargin.solvers.problem import (
    Examples,
    Form,
    Observer,
    Problem,
    RemoteExamples,
    Solution,
    Trained,
    light,
    seen,
)
from maxmargin.stopping import Progress, StoppingRule

BUNDLE_SIZE = 20  # gradients remembered


def batch_perceptron(
    problem: Problem[Any],
    machines: Sequence[Machine],
    start: np.ndarray | None,
    step: float | str,
    stop: StoppingRule,
    observer: Observer,
    record: bool,
) -> list[Solution]:
    """Descend with some machines together, until each has a reason to stop."""
    risk = slope_of(problem.training, machines)
    start = risk.first_rows() if start is None else start
    Z, bundles = start.copy(), Bundles(*start.shape)
    mistakes, updates = np.zeros((2, len(Z)), dtype=np.int64)
    sums = {"mistakes": mistakes, "updates": updates}
    arrays = {"Z": Z, **sums, **vars(bundles)}
    run = Run(problem, risk.machines, stop, start, record=record, **arrays)
    active = run.active
    risk.keep(np.isin(np.arange(len(Z)), active))
    risk.look(Z[active])
    while active:
        before, wrong, R = Z.copy(), risk.wrong, risk.risk
        Z[active] = risk.step(Z[active], step, bundles, active)
        risk.look(Z[active])
        run.epoch += 1
        mistakes[active] += wrong
        updates[active] += wrong > 0
        asked = observer(run.epoch, int(wrong.sum()), Z.copy)
        valid = problem.validation_errors(risk.machines, lambda: Z[active])  # noqa: B023
        for j, k in enumerate(active):
            log = run.logs[k]
            progress = Progress(
                epoch=run.epoch,
                updates=int(updates[k]),
                mistakes=int(wrong[j]),
                all_correct=bool(risk.wrong[j] == 0),
                seconds=time.perf_counter() - problem.began,
                weights=Z[k],
                before=before[k],
                training_error=float(risk.wrong[j]) / int(risk.sizes[j]),
                validation_error=valid[j],
                # Only with a fixed step is the next z a function of this one, and repetition a proof.
                period=0 if isinstance(step, str) else repeated(Z[k], run.earlier[k], run.clock[k]),
                verdict=log.verdict,
            )
            log.close_epoch(progress, float(norm(Z[k])), asked=asked, risk=float(risk.risk[j]))
            if log.trace is not None and wrong[j]:
                log.trace.append(Update(run.epoch, -1, -float(R[j]), Z[k].copy()))
        going_on = np.array([run.logs[k].reason is None for k in active])
        if not going_on.all():
            active = run.active
            risk.keep(going_on)
        run.keep(ended=not active)
    return [
        log.solution(Z[k].copy(), Z[k].copy(), mistakes=int(mistakes[k]))
        for k, log in enumerate(run.logs)
    ]


class Slope(ABC):
    """R at the weights at hand and the way down from there, for machines that descend together.

    ``risk``, ``behind`` and ``wrong`` are R(z), R(−z) and |V| of each machine where it looked last.
    """

    def __init__(self, machines: Sequence[Machine], sizes: Sequence[int]) -> None:
        self.machines, self.sizes = list(machines), np.array(sizes)
        self.risk, self.behind = np.zeros(len(self.sizes)), np.zeros(len(self.sizes))
        self.wrong = np.zeros(len(self.sizes), dtype=np.int64)

    @abstractmethod
    def first_rows(self) -> np.ndarray:
        """Return y_i (x_i, 1) of the first row of each machine."""

    @abstractmethod
    def look(self, Z: np.ndarray) -> None:
        """Find R(z), R(−z) and |V| of each machine: one pass."""

    @abstractmethod
    def pulls(self) -> np.ndarray:
        """Return −∇R for each machine, where it looked last."""

    @abstractmethod
    def lengths(self, Z: np.ndarray, D: np.ndarray) -> list[float]:
        """Return the t ≥ 0 with the least R(z + t d) for each machine."""

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the machines only."""
        self.machines = [m for m, go in zip(self.machines, which, strict=True) if go]
        self.sizes = self.sizes[which]
        self.risk, self.behind, self.wrong = self.risk[which], self.behind[which], self.wrong[which]

    def step(
        self, Z: np.ndarray, step: float | str, bundles: Bundles, which: Sequence[int]
    ) -> np.ndarray:
        """Return Z after one step from where it looked last; exact steps remember their ``bundles``.

        ``which`` says whose bundles are those of the machines.
        """
        G = self.pulls()
        if not isinstance(step, str):
            return Z + step * G
        D = np.zeros_like(Z)
        for j, k in enumerate(which):
            if self.wrong[j]:
                D[j] = bundles.direction(k, G[j], Z[j], bool(self.behind[j] < self.risk[j]))
        moves = zip(Z, D, self.lengths(Z, D), strict=True)
        return np.array([_exact_step(z, d, t) for z, d, t in moves])


class Risk(Slope):
    """R and its gradient for machines on the same rows, which are here."""

    def __init__(self, examples: Examples, machines: Sequence[Machine]) -> None:
        super().__init__(machines, [examples.rows.n] * len(machines))
        self.examples = examples
        positive = np.array([[m.positive] for m in machines]) == examples.codes
        self.signs = np.where(positive, 1.0, -1.0)
        if len(examples.scale):
            self.signs *= examples.scale
        self.weights = np.array([m.class_weight[examples.codes] for m in machines])
        if len(examples.weight):
            self.weights *= examples.weight
        self._M = np.empty((len(machines), 0))

    def first_rows(self) -> np.ndarray:
        """Return y_i (x_i, 1) of the first row of each machine."""
        first = np.array([0])
        return np.array([self.examples.signed(machine, first)[0] for machine in self.machines])

    def margins(self, Z: np.ndarray) -> np.ndarray:
        """a_i·z_k as a (machines, rows) array, with the same bits for dense and sparse rows."""
        return np.asarray(self.signs * self.examples.ordered_values(Z))

    def value(self, M: np.ndarray) -> np.ndarray:
        """Return R for each machine from its margins."""
        return np.asarray(np.sum(self.weights * np.maximum(0.0, -M), axis=1))

    def pull(self, M: np.ndarray) -> np.ndarray:
        """Return −∇R for each machine: the sum of its misclassified a_i."""
        return self.examples.sums(np.where(M <= 0, self.signs * self.weights, 0.0))

    def look(self, Z: np.ndarray) -> None:
        """Find all margins, and from them R(z), R(−z) and |V|."""
        M = self._M = self.margins(Z)
        self.risk, self.behind = self.value(M), self.value(-M)
        self.wrong = np.count_nonzero(M <= 0, axis=1)

    def pulls(self) -> np.ndarray:
        """Return −∇R for each machine, where it looked last."""
        return self.pull(self._M)

    def breaks(self, D: np.ndarray) -> list[Breaks]:
        """Return how R changes along each direction from where it looked last."""
        Q = self.signs * self.examples.ordered_values(D)  # how fast each margin moves
        return [breaks(m, q, c) for m, q, c in zip(self._M, Q, self.weights, strict=True)]

    def lengths(self, Z: np.ndarray, D: np.ndarray) -> list[float]:
        """Return the t ≥ 0 with the least R(z + t d) for each machine."""
        return [lowest(found) for found in self.breaks(D)]

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the machines only."""
        super().keep(which)
        self.signs, self.weights, self._M = self.signs[which], self.weights[which], self._M[which]


class Bundles:
    """The last few gradients of each machine, from which exact steps take their direction."""

    def __init__(self, machines: int, width: int) -> None:
        self.pulls = np.zeros((machines, BUNDLE_SIZE * width))
        self.last, self.held = np.zeros((2, machines), dtype=np.int64)  # the place of the last, how many

    def direction(self, k: int, g: np.ndarray, z: np.ndarray, turn: bool) -> np.ndarray:
        """Take in −∇R of machine k and return the shortest combination, without its part along z.

        A part along z would only lengthen or shorten z, which decides nothing. Where nothing but that
        part is left, R is lowest among the weights of this length nearby: the way on is straight back,
        through zero to −z, if ``turn`` says that R is less there.
        """
        pulls = self.pulls[k].reshape(BUNDLE_SIZE, -1)
        self.last[k] = (self.last[k] + 1) % BUNDLE_SIZE
        self.held[k] = min(self.held[k] + 1, BUNDLE_SIZE)
        pulls[self.last[k]] = g
        square = float(z @ z)
        P = pulls[(self.last[k] - np.arange(self.held[k])) % BUNDLE_SIZE]  # the last one first
        if square > 0:
            P -= np.outer(P @ z / square, z)
        size = float(np.linalg.norm(P[0]))
        if size <= 1e-12 * float(np.linalg.norm(g)):
            return g  # straight back, through zero to the other side
        d = shortest_combination(P / size) * size
        if float(np.linalg.norm(d)) > 1e-7 * size:
            return d
        self.held[k] = 0 if turn else 1  # R is as low as these gradients can see
        return np.asarray(-z if turn else P[0])


def _exact_step(z: np.ndarray, d: np.ndarray, t: float) -> np.ndarray:
    """Return z + t d, a hair beyond the crease so as to see its other side, at the length of z."""
    length, reach = float(np.linalg.norm(z)), float(np.linalg.norm(d))
    if reach == 0:
        return z
    moved = z + (t + 1e-9 * length / reach) * d
    new_length = float(np.linalg.norm(moved))
    if new_length <= 1e-12 * length:
        return z + 2.0 * t * d  # the minimum is z = 0, which decides nothing: pass it by
    return moved * (length / new_length) if length > 0 else moved


# Exact line search: along z + t g the margin of row i is m_i + t q_i, so R as a function of t changes
# its slope only at the breakpoints t_i = −m_i/q_i, and sorting them finds the minimum.


class Breaks(NamedTuple):
    """How φ(t) = Σ c_i max(0, −(m_i + t q_i)) changes for t > 0: convex and piecewise linear."""

    slope: float  # just after t = 0
    t: np.ndarray  # breakpoints, ascending
    jumps: np.ndarray  # c_i |q_i|, by which the slope rises there
    total: float  # Σ c_i |q_i| over all rows
    nonzero: bool  # whether some m_i ≠ 0

    @property
    def flat(self) -> float:
        """A slope that is zero up to rounding."""
        return 1e-12 * self.total


def breaks(m: np.ndarray, q: np.ndarray, c: np.ndarray) -> Breaks:
    """Return the breakpoints of φ at t > 0, in order."""
    slope = -float(np.sum((c * q)[(m < 0) | ((m == 0) & (q < 0))]))
    crossing = (q != 0) & ((m < 0) == (q > 0)) & (m != 0)
    t = -m[crossing] / q[crossing]
    order = np.argsort(t)
    jumps = c * np.abs(q)
    return Breaks(slope, t[order], jumps[crossing][order], float(np.sum(jumps)), bool(np.any(m != 0)))


def lowest(found: Breaks) -> float:
    """Return the t ≥ 0 where φ is least: a weighted quantile of the breakpoints.

    Where φ is flat, take the middle (in particular where the risk is zero on an interval: there every
    row is strictly correct).
    """
    slope, t, flat = found.slope, found.t, found.flat
    slopes = slope + np.cumsum(found.jumps)
    if slope >= -flat:
        return 0.0 if found.nonzero else 1.0  # uphill at once; but from z = 0 any step will do
    low = int(np.searchsorted(slopes, -flat))
    if low == len(t):
        return 1.0  # falls for ever: no row stands in the way
    high = int(np.searchsorted(slopes, flat, side="right"))
    if high == len(t):
        return 2.0 * float(t[low])
    return float(t[low] + t[high]) / 2.0


# Rows in partitions: the same descent, in a few rounds a step.
#
# One round returns R(z), R(−z), |V| and −∇R(z) of every partition: d + 4 numbers for each machine.
# Another one finds an exact step, or two where a partition has more than 4,096 breakpoints; two are
# enough for a million breakpoints per partition. Up to the rounding of sums the step is the one that
# sorting all of them would find; why it is not found by sorting them: no n numbers come together in one
# place.
#
# R along a line is convex and piecewise linear, so its minimum is where the slope, which rises at every
# breakpoint, changes its sign. A partition returns its breakpoints with the jumps of the slope there. If
# there are many, it returns groups of them: where a group begins and ends, and by how much the slope
# rises in it. Groups bracket the minimum, and the next round asks for the breakpoints within the bracket
# alone.

BREAKPOINTS = 4096  # breakpoints that a partition returns
GROUPS = 1024  # of breakpoints, by number and by weight
MAX_ROUNDS = 6  # rounds after which all breakpoints that are left are asked for


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


def joined_lines(lines: Sequence[Line]) -> Line:
    """The line of all partitions."""
    return Line(
        sum(line.slope for line in lines),
        np.concatenate([line.first for line in lines]),
        np.concatenate([line.last for line in lines]),
        np.concatenate([line.jumps for line in lines]),
        sum(line.total for line in lines),
        any(line.nonzero for line in lines),
    )


def breakpoints_between(found: Breaks, low: float, high: float, most: int | None) -> Line:
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
                line = joined_lines([part for part in parts if part is not None])
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
            lines[k] = breakpoints_between(found, *brackets[k], most)
    return lines


def _first(part: Part, own: tuple[Form, list[int], list[Machine]], start: np.ndarray) -> np.ndarray:
    (form, places, machines), start = own, start.copy()
    examples = form.examples(part)
    start[places] = [examples.signed(m, m.members[:1])[0] for m in seen(machines, part.codes)]
    return start


def slope_of(training: Trained, machines: Sequence[Machine]) -> Slope:
    """Return R for machines on the same rows, or on rows in partitions."""
    if isinstance(training, Examples):
        return Risk(training.restricted(machines[0].members), machines)
    assert isinstance(training, RemoteExamples)
    return RemoteRisk(training, machines)
