"""The pocket algorithm (Gallant 1990): run the perceptron, keep the weights with the fewest errors.

After every update the errors E_in of the new weights are counted. The count is abandoned as soon as it
reaches the pocket's; the rows that the pocket gets wrong, or nearly so, are looked at first, so that
most counts end early. (Rows that do not fit in memory are read once for 64 counts.)

At the end the pocket is polished. A plane without errors is looked for first: if there is one, the point
of the convex hull of the rows a_i nearest to the origin is soon on it. Otherwise lines are searched for
the fewest errors, from a few starting points: minima of the squared hinge, which is then cut off ever
closer to the plane, so that more and more hopeless rows are left out. Nothing of this depends on the
pocket, so that a larger budget of updates never makes the result worse.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.core import memory
from maxmargin.core.history import Trace
from maxmargin.core.parameters import LARGEST, Deadline
from maxmargin.kernels.line_search import search_lines
from maxmargin.kernels.perceptron import MADE, SEEN, Lines, Memory
from maxmargin.kernels.pocket import Pocket, pocket_epochs
from maxmargin.rows import Csr, Dense
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.perceptron.batch import Bundles, Risk
from maxmargin.solvers.perceptron.epochs import Passes, Pockets, Recorder, Settings, State, learn
from maxmargin.solvers.perceptron.nearest_point import separating_plane
from maxmargin.solvers.perceptron.online import LocalPasses
from maxmargin.solvers.problem import (
    Examples,
    Observer,
    Problem,
    RemoteExamples,
    Solution,
    Trained,
)
from maxmargin.stopping import StoppingRule

CANDIDATES_AT_ONCE = 64


class PocketPasses(Passes):
    """Epochs in which the best weights on the way go into pockets."""

    pockets: Pockets

    def polish(self, rng: np.random.Generator, deadline: float) -> None:
        """Look for weights with fewer errors than those in the pockets."""
        raise NotImplementedError


def pocket_perceptron(
    problem: Problem[Any],
    passes: PocketPasses,
    stop: StoppingRule,
    rng: np.random.Generator,
    observer: Observer,
    polishing: bool,
) -> list[Solution]:
    """Run machines until a rule fires for each (one of them should be a budget of updates)."""
    pockets = passes.pockets
    state = State.begin(pockets.Z, average=False, max_updates=stop.max_updates())
    state.pocket = pockets.Z
    seed = rng.spawn(1)[0].integers(2**62, size=1)  # of the polish, whatever orders were drawn
    unpolished, polished = np.zeros(len(pockets.Z)), np.zeros(1, dtype=np.int64)
    kept = {"best": pockets.Z, "errors": pockets.errors, "found_at": pockets.found_at, "seed": seed}
    kept |= {"running": pockets.running, "unpolished": unpolished, "polished": polished}
    run = learn(problem, passes, state, stop, rng, observer, **kept)
    if not polished[0]:
        unpolished[:] = pockets.errors / pockets.totals
        if polishing:
            passes.polish(np.random.default_rng(int(seed[0])), run.deadline)
        polished[0] = 1
        run.keep(ended=True)
    return [
        log.solution(
            pockets.Z[k].copy(),
            state.Z[k].copy(),
            mistakes=int(state.counts[k, MADE]),
            steps=int(state.counts[k, SEEN]),
            best_update=int(pockets.found_at[k]),
            best_error=float(pockets.errors[k] / pockets.totals[k]),
            unpolished_error=float(unpolished[k]),
        )
        for k, log in enumerate(run.logs)
    ]


class LocalPocket(PocketPasses, LocalPasses):
    """One machine on rows that are here, which are all its own: every update is judged."""

    def __init__(self, examples: Examples, machine: Machine, z: np.ndarray, settings: Settings) -> None:
        n = examples.rows.n
        super().__init__(examples, [replace(machine, members=np.arange(n))], settings)
        self.asked, self.names, self.signs = [machine], machine.members, machine.signs(examples.codes)
        self.weights = machine.class_weight[examples.codes]
        if len(examples.weight):
            self.weights = self.weights * examples.weight
        self.pockets = Pockets(z[None], [self.count(z)], [float(self.weights.sum())])
        pockets = self.pockets.Z[0], self.pockets.errors, self.pockets.found_at
        self.pocket = Pocket(*pockets, self.weights, np.arange(n), np.array([-1]))
        self.epoch_rows = n * (1 + n // 16)  # updates after each of which some rows are counted
        if self.arrays is not None:
            self.updates_at_once = self.piece // n + 1
        self._waiting: list[tuple[int, np.ndarray]] = []

    @property
    def z(self) -> np.ndarray:
        """The weights in the pocket."""
        return np.asarray(self.pockets.Z[0])

    @property
    def least(self) -> float:
        """Their errors, each with its weight."""
        return float(self.pockets.errors[0])

    def count(self, z: np.ndarray) -> float:
        """Rows with y·f(x) ≤ 0, judged by the sum in order, each with its weight."""
        return float(self.weights @ (self.signs * self.examples.decisions(z[None])[0] <= 0))

    def compare(self, z: np.ndarray) -> None:
        """Take weights into the pocket if they make fewer errors."""
        self.pockets.take(0, z, self.count(z))

    def ahead(self, k: int, orders: np.ndarray, memory: Memory, lines: Lines) -> tuple[int, int]:
        """Run the machine for as many epochs as there are lines; see ``kernels.pocket``."""
        return self._compiled(orders, memory, lines, repeats=self.settings.order == "cyclic")

    def _compiled(
        self, orders: np.ndarray, memory: Memory, lines: Lines, repeats: bool
    ) -> tuple[int, int]:
        labels, positive = self.examples.labels, self.machines[0].positive
        given = self.arrays, labels, positive, orders, memory, self.rule, repeats, self.pocket, lines
        return pocket_epochs(*given)

    def visit(self, state: State, arrays: Dense | Csr, order: np.ndarray, first: int) -> None:
        """Look at some rows, and judge the weights after every update where all rows are at hand."""
        if self.arrays is None:
            super().visit(state, arrays, order, first)
            return
        memory = Memory(state.Z[0], state.U[0], state.counts[0], np.empty(0), np.empty(0, np.int64))
        lines = Lines(np.empty(1, np.int64), *np.empty((3, 1)))
        self._compiled(order[None], memory, lines, repeats=False)

    def epoch(self, state: State, rng: np.random.Generator, deadline: float = math.inf) -> bool:
        """Visit all rows once, and put the best weights on the way into the pocket."""

        def offer(step: int, row: int, z: np.ndarray) -> None:
            self._waiting.append((int(state.counts[0, MADE]), z.copy()))
            if len(self._waiting) == CANDIDATES_AT_ONCE:
                self._judge()
            if self.on_update is not None:
                self.on_update(step, row, z)

        in_time = self.pieces(state, rng, deadline, offer if self.arrays is None else self.on_update)
        self._judge()
        self.pockets.running[0] = self.count(state.Z[0])
        return in_time

    def _judge(self) -> None:
        """Judge the weights in line; the earliest of equal ones wins."""
        if self._waiting:
            F = self.examples.decisions(np.array([z for _, z in self._waiting]))
            errors = ((self.signs * F <= 0) @ self.weights).tolist()
            for (update, z), wrong in zip(self._waiting, errors, strict=True):
                self.pockets.take(0, z, wrong, update)
            self._waiting.clear()

    def polish(self, rng: np.random.Generator, deadline: float) -> None:
        """Look for weights with fewer errors than those in the pocket."""
        polish(self, rng, deadline)


def pocket_passes(
    training: Trained, machines: Sequence[Machine], start: np.ndarray, settings: Settings
) -> list[PocketPasses]:
    """Return the epochs of machines: of each alone, or of all together whose rows are in partitions."""
    if isinstance(training, Examples):
        mine = training.restricted(machines[0].members)
        return [LocalPocket(mine, m, z, settings) for m, z in zip(machines, start, strict=True)]
    # Imported on use: it polishes as this module does.
    from maxmargin.solvers.perceptron.pocket_partitions import PartitionPocket

    assert isinstance(training, RemoteExamples)
    return [PartitionPocket(training, machines, start, settings)]


def lower_bound(
    training: Examples | RemoteExamples,
    machine: Machine,
    z: np.ndarray,
    error: float,
    limit: int,
    seconds: float,
) -> float:
    """Return what E_in of no plane falls below, from witnesses around the rows that z gets wrong.

    ``error`` is that of z; the search ends after so many witnesses or seconds.
    """
    # Imported on use, like all exact arithmetic.
    from maxmargin.solvers.exact.packing import unavoidable

    if isinstance(training, Examples):
        some = training.restricted(machine.members)
        total = float(machine.class_weight[some.codes].sum())
    else:
        from maxmargin.solvers.perceptron.pocket_partitions import drawn

        (drawn_rows, _), (total,) = drawn(training), training.totals([machine])
        some = drawn_rows.restricted(machine.among(drawn_rows.codes))
    least = unavoidable(some, machine, z, limit, time.perf_counter() + seconds)
    return min(least / total, error)


@dataclass(frozen=True)
class PolishSettings:
    """How long the polish goes on, and where it begins."""

    # Passes in which the point of the hull nearest to the origin tells whether a plane separates the
    # rows: 38 to 165 on digits and breast cancer, 6 to 157 on overlapping classes of 4 to 50 features.
    plane_rounds: int = 200
    prices: tuple[float, ...] = (100.0, 0.1)  # C of the squared hinge, in units of standardised features
    cuts: tuple[float, ...] = (-3.0, -2.0, -1.0, -0.5)  # margins below which rows are left out, in turn
    newton_steps: int = 4  # for each of them, and twice as many before the first
    newton_width: int = 512  # features up to which steps are solved for; above, the risk is descended
    newton_entries: int = 1 << 22  # numbers of the rows that starting points are found on
    descent_steps: int = 50
    starts: int = 4  # from which lines are searched, the best ones
    first_rounds: int = 4  # from each of them; then only from the best
    rounds: int = 40
    idle_rounds: int = 6  # rounds on end without an improvement worth the name
    worthwhile: float = 0.998  # … which leaves at most this share of the errors
    directions: int = 32  # per round
    breakpoints: int = 256  # looked at along a direction, the nearest ones


POLISH = PolishSettings()


def polish(pocket: LocalPocket, rng: np.random.Generator, deadline: float = math.inf) -> None:
    """Improve the pocket: look for a plane without errors; then search lines from several starts."""
    if pocket.least == 0:
        return
    end = Deadline(deadline)
    plane = separating_plane(pocket.examples, pocket.machines[0], POLISH.plane_rounds, end)
    if plane is not None:
        pocket.compare(plane)
    if pocket.least == 0 or end.over:
        return
    search = LineSearch(pocket, rng, deadline)
    found = [(pocket.count(z), z) for z in _starts(pocket, search, end)]
    best = sorted(found, key=_errors)[: POLISH.starts]
    best = [search.run(*one, POLISH.first_rounds, POLISH.first_rounds) for one in best]
    if best:
        _, z = search.run(*min(best, key=_errors), POLISH.rounds, POLISH.idle_rounds)
        pocket.compare(z)


def _errors(one: tuple[float, np.ndarray]) -> float:
    return one[0]


def _starts(pocket: LocalPocket, search: LineSearch, end: Deadline) -> list[np.ndarray]:
    """Weights from which to search."""
    ex, z = pocket.examples, np.zeros(pocket.examples.rows.d + 1)
    found: list[np.ndarray] = []
    if ex.rows.d > POLISH.newton_width:
        risk, bundles = Risk(ex, pocket.machines), Bundles(1, len(z))
        Z = risk.first_rows()
        for _ in range(POLISH.descent_steps):
            if end.over:
                break
            risk.look(Z)
            Z = risk.step(Z, "exact", bundles, [0])
        return [Z[0]]
    which = search.sample(POLISH.newton_entries)
    padded = np.column_stack([ex.rows.take(which), np.full(len(which), ex.pad)])
    A, c = pocket.signs[which, None] * (padded @ search.unit), pocket.weights[which]
    for C in POLISH.prices:
        z = _squared_hinge(A, c, C, -np.inf, np.zeros(len(z)), 2 * POLISH.newton_steps)
        found.append(search.unit @ z)
        for cut in POLISH.cuts:
            if end.over:
                return found
            z = _squared_hinge(A, c, C, cut, z, POLISH.newton_steps)
            found.append(search.unit @ z)
    return [z for z in found if np.all(np.abs(z) <= LARGEST)]


def _squared_hinge(
    A: np.ndarray, c: np.ndarray, C: float, cut: float, z: np.ndarray, steps: int
) -> np.ndarray:
    """Newton steps for ½‖w‖² + ½C Σ c_i (1 − a_i·z)² over the rows that now have cut < a_i·z < 1."""
    penalty = np.append(np.ones(len(z) - 1), 1e-9)
    for _ in range(steps):
        m = A @ z
        near = (m > cut) & (m < 1.0)
        B, before = A[near] * (C * c[near, None]), z
        z = np.linalg.solve(B.T @ A[near] + np.diag(penalty), B.sum(axis=0))
        if np.array_equal(z, before):
            break
    return z


class LineSearch:
    """Moves along coordinate and random directions to wherever the errors are fewest.

    Features are standardised on the way, as far as a few rows tell: ``unit`` maps weights of
    standardised features to weights of the features as they are.
    """

    def __init__(self, pocket: LocalPocket, rng: np.random.Generator, deadline: float) -> None:
        self.pocket, self.rng, self.deadline = pocket, rng, deadline
        ex = pocket.examples
        some = ex.rows.take(self.sample(1 << 18))
        reach = np.maximum(np.abs(some).max(axis=0), 1e-290)
        mean = np.mean(some / reach, axis=0) * ex.pad
        spread = np.sqrt(np.mean((some / reach - mean) ** 2, axis=0))
        self.per_unit = np.append(np.where(spread > 1e-8, 1.0 / np.maximum(spread, 1e-8), 1.0), ex.pad)
        self.per_unit[:-1] /= reach
        self.shift = -mean * reach * self.per_unit[:-1]

    @property
    def unit(self) -> np.ndarray:
        """The weights that one unit of each standardised weight stands for, as columns."""
        unit = np.diag(self.per_unit)
        unit[-1, :-1] = self.shift
        return unit

    def sample(self, entries: int) -> np.ndarray:
        """Some rows, in order."""
        n, size = self.pocket.examples.rows.n, entries // self.pocket.examples.rows.d + 64
        return np.arange(n) if size >= n else np.sort(self.rng.choice(n, size, replace=False))

    def run(self, errors: float, z: np.ndarray, rounds: int, idle: int) -> tuple[float, np.ndarray]:
        """Search from z until that brings little; return the fewest errors and their weights."""
        pocket, ex = self.pocket, self.pocket.examples
        best, z, goal, waited = (errors, z), z.copy(), errors, 0
        for turn in range(rounds):
            if best[0] == 0 or waited == idle:
                break
            V = self._directions(turn)
            several = len(V)  # directions whose margins fit at once
            if 4 * ex.rows.n * several > memory.MIN_COPY_ENTRIES:
                several = max(1, memory.copy_limit() // (4 * ex.rows.n))
            m = pocket.signs * ex.ordered_values(z[None])[0]
            for start in range(0, len(V), several):
                if time.perf_counter() > self.deadline:
                    return best
                part = V[start : start + several]
                Q = pocket.signs * ex.ordered_values(part)  # how fast margins grow along each direction
                search_lines(m, Q, part, pocket.weights, POLISH.breakpoints, z)
            if not np.max(np.abs(z)) <= LARGEST:
                break
            errors = pocket.count(z)
            if errors < best[0]:
                best = errors, z.copy()
            waited += 1
            if best[0] < POLISH.worthwhile * goal:
                goal, waited = best[0], 0
        return best

    def _directions(self, turn: int) -> np.ndarray:
        """Some directions as rows: coordinate axes and random ones in turn."""
        width, many = len(self.per_unit), POLISH.directions
        if turn % 2:
            V = self.rng.standard_normal((many, width))
        else:
            axes = self.rng.permutation(np.flatnonzero(self.per_unit))[:many]
            V = np.zeros((len(axes), width))
            V[np.arange(len(axes)), axes] = 1.0
        bias = V[:, :-1] @ self.shift
        V *= self.per_unit
        V[:, -1] += bias
        return V


# Rows that arrive: the errors of weights on rows that are gone cannot be counted. Rows that come
# together judge the pocket and the candidates among themselves; for single ones Gallant (1990) counts
# instead how long weights stay correct: those with a longer run than the pocket's replace it.


@dataclass
class Carried:
    """What one machine carries from row to row; arrays are changed in place."""

    state: State  # of the running perceptron
    pocket: np.ndarray
    runs: np.ndarray  # correct predictions since the last mistake, and those of the pocket
    trace: Trace | None

    def count_run(self, z: np.ndarray, mistake: bool) -> None:
        """Gallant's rule: weights that were right longer than the pocket's replace them."""
        current, longest = self.runs
        current = 0 if mistake else current + 1
        if current > longest:
            longest = current
            self.pocket[:] = z
        self.runs[:] = current, longest


def learn_rows(
    examples: Examples, machine: Machine, carried: Carried, settings: Settings, rng: np.random.Generator
) -> float:
    """Pass once over the machine's rows; return the pocket's error on them, nan if there is only one."""
    state, mine = carried.state, examples.restricted(machine.members)
    judged = mine.rows.n > 1
    alone = replace(machine, members=np.arange(mine.rows.n))
    pocket = LocalPocket(mine, machine, carried.pocket, settings) if judged else None
    passes = pocket or LocalPasses(mine, [alone], settings)
    recorder = None
    if carried.trace is not None:
        recorder = Recorder(mine, machine, carried.trace, machine.members)
        passes.on_update = recorder.record
    earlier, made = state.Z[0].copy(), state.counts[0, MADE].copy()
    passes.epoch(state, rng)
    if recorder is not None:
        recorder.write()
    if pocket is None:
        carried.count_run(earlier, mistake=bool(state.counts[0, MADE] > made))
        return math.nan
    carried.pocket[:] = pocket.z
    total = pocket.pockets.totals[0]
    return float(pocket.pockets.errors[0] / total) if total > 0.0 else math.nan
