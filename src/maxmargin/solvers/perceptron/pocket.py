"""The pocket algorithm (Gallant 1990): run the perceptron, keep the weights with the fewest errors.

Textbook: after every update count the errors E_in of the new weights, one pass over the data each time.
Here candidates are gathered and judged 64 at a time by one matrix product, in which most are thrown out:
a lower bound on their errors (rows that are wrong by more than rounding) already reaches the pocket's.
The few that remain are counted exactly, in order, so every improvement is found, at the same update as
if each had been counted at once.

At the end the pocket is polished. A plane without errors is looked for first: if there is one, the point
of the convex hull of the rows a_i nearest to the origin is soon on it. Otherwise fifty steps of exact
descent on the perceptron risk are tried, then lines are searched for the fewest errors until that brings
little.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.core import memory
from maxmargin.core.history import Trace
from maxmargin.core.parameters import LARGEST, Deadline
from maxmargin.kernels.perceptron import LEFT, MADE, SEEN, inverse_lengths
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.perceptron.batch import Bundles, Risk
from maxmargin.solvers.perceptron.epochs import Recorder, Run, norm
from maxmargin.solvers.perceptron.nearest_point import separating_plane
from maxmargin.solvers.perceptron.online import STOPPED, LocalPasses, Settings, State
from maxmargin.solvers.problem import Examples, Observer, Problem, RemoteExamples, Solution, Trained
from maxmargin.stopping import Progress, StoppingRule

CANDIDATES_AT_ONCE = 64


class Pockets:
    """The best weights of each machine so far, their errors, and the update that found them."""

    def __init__(self, Z: np.ndarray, errors: Sequence[float], totals: Sequence[float]) -> None:
        self.Z, self.errors, self.totals = Z.copy(), np.array(errors), np.array(totals)
        self.found_at = np.zeros(len(Z), dtype=np.int64)

    def error(self, k: int) -> float:
        """E_in of the pocket of machine k."""
        return float(self.errors[k] / self.totals[k])

    def take(self, k: int, z: np.ndarray, errors: float, update: int | None = None) -> None:
        """Take weights if they make fewer errors; equal ones never replace the pocket."""
        if errors < self.errors[k]:
            self.Z[k], self.errors[k] = z, errors
            if update is not None:
                self.found_at[k] = update


class Search(ABC):
    """Perceptrons that look for weights for their pockets, on rows that may be here or in partitions."""

    examples: Any  # the rows

    def __init__(self, machines: Sequence[Machine], settings: Settings, pockets: Pockets) -> None:
        self.machines, self.settings, self.pockets = list(machines), settings, pockets
        self.start = pockets.Z.copy()

    @abstractmethod
    def epoch(
        self, state: State, rng: np.random.Generator, deadline: float, recorder: Recorder | None
    ) -> None:
        """Visit all rows once, and put the best weights on the way into the pockets."""

    @abstractmethod
    def running_error(self, k: int, state: State) -> float:
        """E_in of the weights that machine k has reached."""

    @abstractmethod
    def polish(self, rng: np.random.Generator, deadline: float) -> None:
        """Look for weights with fewer errors near those in the pockets."""


def pocket_perceptron(
    problem: Problem[Any],
    search: Search,
    stop: StoppingRule,
    rng: np.random.Generator,
    observer: Observer,
    polishing: bool,
) -> list[Solution]:
    """Run machines until a rule fires for each (one of them should be a budget of updates)."""
    pockets, machines, start = search.pockets, search.machines, search.start
    state = State.begin(start, average=False, max_updates=stop.max_updates())
    unpolished, polished = np.zeros(len(start)), np.zeros(1, dtype=np.int64)
    best = {"best": pockets.Z, "errors": pockets.errors, "found_at": pockets.found_at}
    changing = {"Z": state.Z, "counts": state.counts, **best}
    changing |= {"unpolished": unpolished, "polished": polished}
    run = Run(problem, machines, stop, start, rng, search.settings.record, **changing)
    recorder = None
    if run.logs[0].trace is not None:
        recorder = Recorder(problem.training, machines[0], run.logs[0].trace, machines[0].members)
    while run.active:
        before, made = state.Z.copy(), state.counts[:, MADE].copy()
        search.epoch(state, rng, run.deadline, recorder)
        run.epoch += 1
        mistakes = (state.counts[:, MADE] - made).tolist()
        asked = observer(run.epoch, sum(mistakes), pockets.Z.copy)
        _close_epoch(problem, search, run, state, before, mistakes, asked)
        run.keep()
    if not polished[0]:
        unpolished[:] = pockets.errors / pockets.totals
        if polishing:
            search.polish(rng, run.deadline)
        polished[0] = 1
        run.keep(ended=True)
    return [
        log.solution(
            pockets.Z[k].copy(),
            state.Z[k].copy(),
            mistakes=int(state.counts[k, MADE]),
            steps=int(state.counts[k, SEEN]),
            best_update=int(pockets.found_at[k]),
            best_error=pockets.error(k),
            unpolished_error=float(unpolished[k]),
        )
        for k, log in enumerate(run.logs)
    ]


def _close_epoch(
    problem: Problem[Any],
    search: Search,
    run: Run,
    state: State,
    before: np.ndarray,
    mistakes: list[int],
    asked: bool,
) -> None:
    """Ask the rules, and stop the machines that have a reason."""
    active, pockets = run.active, search.pockets
    machines = [search.machines[k] for k in active]
    valid = problem.validation_errors(machines, lambda: pockets.Z[active])
    for j, k in enumerate(active):
        progress = Progress(
            epoch=run.epoch,
            updates=int(state.counts[k, MADE]),
            mistakes=mistakes[k],
            all_correct=bool(pockets.errors[k] == 0),
            seconds=time.perf_counter() - problem.began,
            weights=state.Z[k],
            before=before[k],
            training_error=pockets.error(k),
            validation_error=valid[j],
            period=run.period(k, state.Z[k], mistakes[k]) if search.settings.order == "cyclic" else 0,
            pocket=True,
            verdict=run.logs[k].verdict,
        )
        now = search.running_error(k, state)
        run.logs[k].close_epoch(progress, norm(pockets.Z[k]), asked=asked, running_error=now)
        if run.logs[k].reason is not None:
            state.counts[k, LEFT] = STOPPED


class Pocket:
    """The pocket of one machine on rows that are here, and the candidates still to be judged."""

    def __init__(self, examples: Examples, machine: Machine, z: np.ndarray) -> None:
        self.examples = examples
        self.machine = machine
        self.signs = machine.signs(examples.codes)
        self.everything = np.arange(examples.rows.n)
        self.lengths = np.empty(examples.rows.n)
        for where, block in examples.rows.blocks():
            inverse_lengths(block.arrays, examples.pad, self.lengths[where])
        self.lengths = 1.0 / self.lengths
        self.weights = machine.class_weight[examples.codes]
        self.best = Pockets(z[None], [self.count(z)], [float(self.weights.sum())])
        self._waiting: list[tuple[int, np.ndarray]] = []

    @property
    def z(self) -> np.ndarray:
        """The weights in the pocket."""
        return np.asarray(self.best.Z[0])

    @property
    def errors(self) -> float:
        """Their errors, each with its class weight."""
        return float(self.best.errors[0])

    def count(self, z: np.ndarray) -> float:
        """Rows with y·f(x) ≤ 0, judged by the sum in order, each with its class weight."""
        m = self.signs * self.examples.decisions(z[None], self.everything)[0]
        return float(self.weights @ (m <= 0))

    def offer(self, update: int, z: np.ndarray) -> None:
        """Put weights in line for the pocket."""
        self._waiting.append((update, z.copy()))
        if len(self._waiting) == CANDIDATES_AT_ONCE:
            self.judge()

    def compare(self, z: np.ndarray) -> None:
        """Take weights into the pocket at once if they make fewer errors."""
        self.best.take(0, z, self.count(z))

    def judge(self) -> None:
        """Judge the candidates in line; the earliest of equal ones wins."""
        if not self._waiting:
            return
        Z = np.array([z for _, z in self._waiting])
        for k in np.flatnonzero(self._surely_wrong(Z) < self.errors):
            self.best.take(0, Z[k], self.count(Z[k]), self._waiting[k][0])
        self._waiting.clear()

    def _surely_wrong(self, Z: np.ndarray) -> np.ndarray:
        """Return a lower bound on each candidate's errors; exact enough once it reaches ours."""
        alive = np.arange(len(Z))
        wrong = np.zeros(len(Z))
        rounding = 4e-16 * (self.examples.rows.d + 4)
        W, b = np.ascontiguousarray(Z[:, :-1].T), self.examples.pad * Z[:, -1]
        size = np.linalg.norm(Z, axis=1)
        for where, block in self.examples.rows.blocks(1 << 20):
            F = block.times(np.ascontiguousarray(W[:, alive])) + b[alive]
            doubt = rounding * np.outer(self.lengths[where], size[alive])  # of padded vectors
            wrong[alive] += self.weights[where] @ (self.signs[where, None] * F < -doubt)
            alive = alive[wrong[alive] < self.errors]
            if not len(alive):
                break
        return wrong


class LocalSearch(Search):
    """One machine on rows that are here, which are all its own: every update is judged."""

    def __init__(
        self, examples: Examples, machine: Machine, start: np.ndarray, settings: Settings
    ) -> None:
        self.examples, self.pocket = examples, Pocket(examples, machine, start)
        super().__init__([machine], settings, self.pocket.best)
        everything = replace(machine, members=self.pocket.everything)
        self.passes = LocalPasses(examples, [everything], settings)

    def epoch(
        self, state: State, rng: np.random.Generator, deadline: float, recorder: Recorder | None
    ) -> None:
        """Visit all rows once, and put the best weights on the way into the pocket."""
        made = state.counts[0, MADE].copy()
        _visit(self.passes, self.pocket, state, rng, deadline, recorder)
        if state.counts[0, MADE] == made:  # nothing new will come from these weights
            self.pocket.compare(state.Z[0])

    def running_error(self, k: int, state: State) -> float:
        """E_in of the weights that the machine has reached."""
        return self.pocket.count(state.Z[k]) / float(self.pockets.totals[k])

    def polish(self, rng: np.random.Generator, deadline: float) -> None:
        """Look for weights with fewer errors near those in the pocket."""
        polish(self.pocket, rng, deadline)


def searches(
    training: Trained, machines: Sequence[Machine], start: np.ndarray, settings: Settings
) -> list[Search]:
    """Return the searches of machines: one for each, or one for all whose rows are in partitions."""
    if isinstance(training, Examples):
        mine = training.restricted(machines[0].members)
        return [LocalSearch(mine, m, z, settings) for m, z in zip(machines, start, strict=True)]
    # Imported on use: it polishes as this module does.
    from maxmargin.solvers.perceptron.pocket_partitions import PartitionSearch

    assert isinstance(training, RemoteExamples)
    return [PartitionSearch(training, machines, start, settings)]


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


def _visit(
    passes: LocalPasses,
    pocket: Pocket | None,
    state: State,
    rng: np.random.Generator,
    deadline: float,
    recorder: Recorder | None,
) -> None:
    """Run an epoch of one machine, whose weights after every update are candidates for the pocket."""

    def on_update(step: int, row: int, z: np.ndarray) -> None:
        if pocket is not None:
            pocket.offer(int(state.counts[0, MADE]), z)
        if recorder is not None:
            recorder.record(step, row, z)

    passes.epoch(state, rng, deadline, on_update)
    if pocket is not None:
        pocket.judge()
    if recorder is not None:
        recorder.write()


@dataclass(frozen=True)
class PolishSettings:
    """How long the polish goes on."""

    # Passes in which the point of the hull nearest to the origin tells whether a plane separates the
    # rows: 38 to 165 on digits and breast cancer, 6 to 157 on overlapping classes of 4 to 50 features.
    plane_rounds: int = 200
    descent_steps: int = 50  # of exact descent on the risk, before lines are searched
    directions: int = 32  # per round of searches along lines
    line_rounds: int = 100
    idle_rounds: int = 20  # rounds on end without an improvement worth the name
    worthwhile: float = 0.998  # … which leaves at most this share of the errors
    breakpoints: int = 4096  # looked at along a direction, the nearest ones


POLISH = PolishSettings()


def polish(pocket: Pocket, rng: np.random.Generator, deadline: float = math.inf) -> None:
    """Improve the pocket: look for a plane without errors; descend on the risk; search lines."""
    if pocket.errors > 0:
        end = Deadline(deadline)
        plane = separating_plane(pocket.examples, pocket.machine, POLISH.plane_rounds, end)
        if plane is not None:
            pocket.compare(plane)
    risk, z = Risk(pocket.examples, [pocket.machine]), pocket.z[None].copy()
    bundles = Bundles(*z.shape)
    for _ in range(POLISH.descent_steps):
        if pocket.errors == 0 or time.perf_counter() > deadline:
            break
        risk.look(z)
        z = risk.step(z, "exact", bundles, [0])
        pocket.compare(z[0])
    _search_lines(pocket, rng, deadline)


def _search_lines(pocket: Pocket, rng: np.random.Generator, deadline: float) -> None:
    """Walk along coordinate and random directions to wherever the errors are fewest."""
    ex, z = pocket.examples, pocket.z.copy()
    per_unit = _per_unit(ex, rng)
    waited, goal = 0, pocket.errors
    for turn in range(POLISH.line_rounds):
        if pocket.errors == 0 or waited == POLISH.idle_rounds:
            return
        m = pocket.signs * ex.ordered_values(z[None])[0]
        V = np.ascontiguousarray(_directions(turn, per_unit, rng).T)
        errors = float(pocket.weights @ (m <= 0))
        several = len(V)  # directions whose margins fit at once
        if 4 * ex.rows.n * several > memory.MIN_COPY_ENTRIES:
            several = max(1, memory.room() // (4 * ex.rows.n))
        for start in range(0, len(V), several):
            part = V[start : start + several]
            Q = pocket.signs * ex.ordered_values(part)  # how fast margins grow along each direction
            for v, q in zip(part, Q, strict=True):
                if time.perf_counter() > deadline:
                    return
                t, fewer = fewest_errors(m, q, pocket.weights, POLISH.breakpoints)
                with np.errstate(over="ignore", invalid="ignore"):
                    there, then = z + t * v, m + t * q
                if not np.max(np.abs(there)) <= LARGEST or not np.all(np.isfinite(then)):
                    continue
                if fewer <= errors and t != 0:  # moving along a plateau often opens the way down
                    z, m, errors = there, then, fewer
        pocket.compare(z)
        waited += 1
        if pocket.errors < POLISH.worthwhile * goal:
            goal, waited = pocket.errors, 0


def _per_unit(ex: Examples, rng: np.random.Generator) -> np.ndarray:
    """1 / (typical size of a feature), from a sample of rows; 0 for the bias if it is not learned."""
    size = min(ex.rows.n, 256, (1 << 22) // ex.rows.d + 1)
    sample = np.abs(ex.rows.take(np.sort(rng.choice(ex.rows.n, size, replace=False)))).mean(axis=0)
    typical = np.where(sample > 1e-290, sample, 1.0)
    return np.append(1.0 / typical, ex.pad)


def _directions(turn: int, per_unit: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Some directions as columns: coordinate axes and random ones in turn."""
    if turn % 2:
        return per_unit[:, None] * rng.standard_normal((len(per_unit), POLISH.directions))
    axes = rng.permutation(np.flatnonzero(per_unit))[: POLISH.directions]
    V = np.zeros((len(per_unit), len(axes)))
    V[axes, np.arange(len(axes))] = 1.0
    return V


def fewest_errors(
    m: np.ndarray, q: np.ndarray, c: np.ndarray, nearest: int | None = None
) -> tuple[float, float]:
    """Return the t, of either sign, with the least Σ c_i over rows m_i + t q_i ≤ 0, and that sum.

    Among the best intervals between breakpoints the widest is taken, and its middle. With ``nearest``
    only that many breakpoints around t = 0 are looked at, which saves sorting them all.
    """
    moving = np.flatnonzero(q)
    with np.errstate(over="ignore"):
        t = -m[moving] / q[moving]
    near = np.isfinite(t)  # a breakpoint beyond all numbers is none
    moving, t = moving[near], t[near]
    reach = np.inf
    if nearest is not None and nearest < len(t):
        near = np.argpartition(np.abs(t), nearest)
        reach = abs(float(t[near[nearest]]))  # the first breakpoint that is left out
        moving, t = moving[near[:nearest]], t[near[:nearest]]
    rising = q[moving] > 0
    now_wrong = m[moving] <= 0
    # Errors left of all breakpoints that are looked at: there the rising rows are wrong.
    here = c[moving]
    leftmost = float(c @ (m <= 0)) - float(here @ now_wrong) + float(here @ rising)
    order = np.argsort(t)
    errors = leftmost + np.concatenate([[0.0], np.cumsum(np.where(rising, -here, here)[order])])
    t = np.concatenate([[-reach], t[order], [reach]])
    width = np.diff(t)
    errors[width <= 0] = np.inf  # no room between equal breakpoints
    best = float(errors.min())
    candidates = np.flatnonzero(errors == best)
    i = int(candidates[np.argmax(width[candidates])])
    low, high = float(t[i]), float(t[i + 1])
    if low == -np.inf and high == np.inf:
        return 0.0, best
    if low == -np.inf:
        return high - max(1.0, abs(high)), best
    if high == np.inf:
        return low + max(1.0, abs(low)), best
    return (low + high) / 2.0, best


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
    pocket = Pocket(mine, machine, carried.pocket) if mine.rows.n > 1 else None
    passes = LocalPasses(mine, [replace(machine, members=np.arange(mine.rows.n))], settings)
    recorder = None
    if carried.trace is not None:
        recorder = Recorder(mine, machine, carried.trace, machine.members)
    earlier, made = state.Z[0].copy(), state.counts[0, MADE].copy()
    _visit(passes, pocket, state, rng, math.inf, recorder)
    if pocket is None:
        carried.count_run(earlier, mistake=bool(state.counts[0, MADE] > made))
        return math.nan
    carried.pocket[:] = pocket.z
    return pocket.best.error(0)
