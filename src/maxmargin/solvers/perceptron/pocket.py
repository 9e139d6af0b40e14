"""The pocket algorithm (Gallant 1990): run the perceptron, keep the weights with the fewest errors.

Textbook: after every update count the errors E_in of the new weights, one pass over the data each
time. Here candidates are judged many at a time, with the same outcome (``judging``), and at the end the
pocket is polished (``polishing``).

The pocket algorithm on rows that arrive.

The errors of weights on rows that are gone cannot be counted. Rows that come together judge the pocket
and the candidates among themselves; for single ones Gallant (1990) counts instead how long weights stay
correct: those with a longer run than the pocket's replace it.

Fewer errors for what is in the pocket.

Fifty steps of exact descent on the perceptron risk are tried. Then lines are searched: along a line the
number of errors is a step function whose best step is found exactly (``fewest_errors``), and rounds of
32 coordinate and random directions take turns until 20 of them bring less than 0.2 % fewer errors, 100
at most.

What is in the pocket, and which candidates get into it.

Candidates are gathered and judged 64 at a time by one matrix product, in which most are thrown out: a
lower bound on their errors (rows that are wrong by more than rounding) already reaches the pocket's. The
few that remain are counted exactly, in order, so every improvement is found, at the same update as if
each had been counted at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count as counting
from typing import Any

import numpy as np

from maxmargin.core.history import History, Trace
from maxmargin.core.keeping import next_stage
from maxmargin.core.parameters import LARGEST
from maxmargin.core.state_forms import (
    GENERATOR,
    Form,
    count,
    each,
    entries,
    instance,
    listed,
    number,
    numbers,
    whole,
)
from maxmargin.kernels.perceptron import inverse_lengths
from maxmargin.rows.free_memory import room
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.perceptron.line_search import fewest_errors
from maxmargin.solvers.perceptron.logbook import Logbook, Recorder
from maxmargin.solvers.perceptron.risk import Bundle, Risk
from maxmargin.solvers.perceptron.running import Running, Runs, Settings, State
from maxmargin.solvers.problem import Machine, Observer, Problem, Solution, solution_form, trace_form
from maxmargin.stopping import Progress, StoppingRule, remembered, remind

BATCH = 64  # candidates judged together


class Best:
    """The pocket: the best weights so far, and their errors."""

    def __init__(self, z: np.ndarray, errors: float, total: float) -> None:
        self.z, self.errors, self.found_at, self.total = z.copy(), errors, 0, total

    @property
    def error(self) -> float:
        """E_in of the pocket."""
        return self.errors / self.total

    def take(self, z: np.ndarray, errors: float, update: int | None = None) -> None:
        """Take weights if they make fewer errors; equal ones never replace the pocket."""
        if errors < self.errors:
            self.z, self.errors = z.copy(), errors
            self.found_at = self.found_at if update is None else update


class Pocket(Best):
    """The pocket on rows that are here, and the candidates still to be judged."""

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
        super().__init__(z, self.count(z), float(self.weights.sum()))
        self._waiting: list[tuple[int, np.ndarray]] = []

    def count(self, z: np.ndarray) -> float:
        """Rows with y·f(x) ≤ 0, judged by the sum in order, each with its class weight."""
        m = self.examples.margins(self.machine, z, self.everything)
        return float(self.weights @ (m <= 0))

    def offer(self, update: int, z: np.ndarray) -> None:
        """Put weights in line for the pocket."""
        self._waiting.append((update, z.copy()))
        if len(self._waiting) == BATCH:
            self.judge()

    def kept(self) -> dict[str, Any]:
        """All that changes; see ``core.keeping``."""
        best = {"best": self.z, "errors": self.errors, "found_at": self.found_at}
        return {**best, "waiting": [[update, z] for update, z in self._waiting]}

    def forms(self) -> dict[str, Form]:
        """What ``kept`` returns; see ``core.state_forms``."""
        z = numbers(len(self.z))
        waiting = each(listed(count, z), most=BATCH)
        return {"best": z, "errors": number, "found_at": count, "waiting": waiting}

    def go_on(self, kept: Mapping[str, Any]) -> None:
        """Be where ``kept`` was."""
        self.z, self.errors, self.found_at = kept["best"], kept["errors"], kept["found_at"]
        self._waiting = [(update, z) for update, z in kept["waiting"]]

    def compare(self, z: np.ndarray) -> None:
        """Take weights into the pocket at once if they make fewer errors."""
        self.take(z, self.count(z))

    def judge(self) -> None:
        """Judge the candidates in line; the earliest of equal ones wins."""
        if not self._waiting:
            return
        Z = np.array([z for _, z in self._waiting])
        for k in np.flatnonzero(self._surely_wrong(Z) < self.errors):
            self.take(Z[k], self.count(Z[k]), self._waiting[k][0])
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


DIRECTIONS = 32  # directions per round
DESCENT = 50  # steps of descent before the rounds
PATIENCE = 20  # rounds without an improvement worth the name
WORTH = 0.998  # … which is 0.2 % fewer errors
ROUNDS = 100  # and no more rounds than these
NEAREST = 4096  # breakpoints looked at along a direction


def polish(pocket: Pocket, rng: np.random.Generator, deadline: float = math.inf) -> None:
    """Improve the pocket: descend on the perceptron risk, then search lines for fewer errors."""
    _descend(pocket, deadline)
    _search_lines(pocket, rng, deadline)


def _descend(pocket: Pocket, deadline: float) -> None:
    """Put the best of some exact descent steps on the perceptron risk into the pocket."""
    risk = Risk(pocket.examples, [pocket.machine])
    bundles, z = [Bundle()], pocket.z[None]
    for _ in range(DESCENT):
        if pocket.errors == 0 or time.perf_counter() > deadline:
            return
        risk.look(z)
        z = risk.step(z, "exact", bundles)
        pocket.compare(z[0])


def _search_lines(pocket: Pocket, rng: np.random.Generator, deadline: float) -> None:
    """Walk along coordinate and random directions to wherever the errors are fewest."""
    ex, z = pocket.examples, pocket.z.copy()
    per_unit = _per_unit(ex, rng)
    waited, goal = 0, pocket.errors
    for turn in range(ROUNDS):
        if pocket.errors == 0 or waited == PATIENCE:
            return
        m = pocket.signs * ex.ordered_values(z[None])[0]
        V = _directions(turn, per_unit, rng)
        errors = float(pocket.weights @ (m <= 0))
        for v, q in _along(pocket, np.ascontiguousarray(V.T)):
            if time.perf_counter() > deadline:
                return
            t, fewer = fewest_errors(m, q, pocket.weights, NEAREST)
            with np.errstate(over="ignore", invalid="ignore"):
                there, then = z + t * v, m + t * q
            if not np.max(np.abs(there)) <= LARGEST or not np.all(np.isfinite(then)):
                continue
            if fewer <= errors and t != 0:  # moving along a plateau often opens the way down
                z, m, errors = there, then, fewer
        pocket.compare(z)
        waited += 1
        if pocket.errors < WORTH * goal:
            goal, waited = pocket.errors, 0


def _along(pocket: Pocket, V: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield directions, and how fast each row's margin grows along them; as many at once as fit."""
    several = max(1, room() // (4 * pocket.examples.rows.n))
    for start in range(0, len(V), several):
        part = V[start : start + several]
        Q = pocket.examples.ordered_values(part)
        Q *= pocket.signs
        yield from zip(part, Q, strict=True)


def _per_unit(ex: Examples, rng: np.random.Generator) -> np.ndarray:
    """1 / (typical size of a feature), from a sample of rows; 0 for the bias if it is not learned."""
    size = min(ex.rows.n, 256, (1 << 22) // ex.rows.d + 1)
    sample = np.abs(ex.rows.take(np.sort(rng.choice(ex.rows.n, size, replace=False)))).mean(axis=0)
    typical = np.where(sample > 1e-290, sample, 1.0)
    return np.append(1.0 / typical, ex.pad)


def _directions(turn: int, per_unit: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Some directions as columns: coordinate axes and random ones in turn."""
    if turn % 2:
        return per_unit[:, None] * rng.standard_normal((len(per_unit), DIRECTIONS))
    axes = rng.permutation(np.flatnonzero(per_unit))[:DIRECTIONS]
    V = np.zeros((len(per_unit), len(axes)))
    V[axes, np.arange(len(axes))] = 1.0
    return V


def _kept(running: Running, pocket: Pocket, log: Logbook, recorder: Recorder | None) -> dict[str, Any]:
    """All that is needed to go on from here, within an epoch."""
    notes = {"history": log.history, "rule": remembered(log.check)}
    return {**running.kept(), **pocket.kept(), **notes, "trace": recorder.trace if recorder else None}


def _check(saved: Any, running: Running, pocket: Pocket) -> None:
    """Refuse what ``_kept`` does not return."""
    trace = trace_form(len(pocket.z)) if running.settings.record else instance(type(None))
    notes = {"history": instance(History), "rule": instance(list), "trace": trace}
    forms = {**running.forms(1), **pocket.forms(), **notes}
    entries(epoch=whole(1, 2**63), pieces=count, rng=GENERATOR, **forms)(saved, "the state")


def _go_on(
    saved: Mapping[str, Any],
    running: Running,
    pocket: Pocket,
    log: Logbook,
    recorder: Recorder | None,
) -> None:
    """Be where ``_kept`` was."""
    running.go_on(saved)
    pocket.go_on(saved)
    log.history = saved["history"]
    remind(log.check, saved["rule"])
    if recorder is not None:
        recorder.go_on(saved["trace"])


def pocket_perceptron(
    problem: Problem[Examples],
    machine: Machine,
    start: np.ndarray,
    settings: Settings,
    stop: StoppingRule,
    rng: np.random.Generator,
    observer: Observer,
    polishing: bool,
) -> Solution:
    """Run one machine until a rule fires (one of them should be a budget of updates)."""
    stage = next_stage(rng)
    if stage.finished is not None:
        finished: Solution = stage.finished
        solution_form(len(start))(finished, "the result")
        return finished
    problem = replace(problem, began=problem.began - stage.elapsed)
    deadline = problem.began + stop.max_seconds()
    pocket = Pocket(problem.training, machine, start)
    state = State.begin(start[None], average=False, max_updates=stop.max_updates())
    everything = replace(machine, members=pocket.everything)
    running = Running(problem.training, [everything], state, settings)
    log = Logbook(problem, machine, stop)
    recorder = None
    if settings.record:
        recorder = Recorder(problem.training, machine, start, names=machine.members)
    first, seen, saved = 1, 0, stage.saved
    if saved is not None:
        _check(saved, running, pocket)
        rng.bit_generator.state = saved["rng"]
        first, seen = saved["epoch"], saved["pieces"]
        _go_on(saved, running, pocket, log, recorder)
    orders = running.orders(rng)
    for epoch in counting(first):
        drawn = rng.bit_generator.state
        if not seen:
            running.begin_epoch()
        for done, piece in enumerate(running.pieces(next(orders)), 1):
            if done <= seen:
                continue
            for step, row in running.visit(piece):
                pocket.offer(int(running.updates[0]), state.Z[0])
                if recorder is not None:
                    recorder.record(step, row, state.Z[0])
                if time.perf_counter() >= deadline:
                    break
            if stage.due():
                where = {"epoch": epoch, "pieces": done, "rng": drawn}
                stage.keep({**where, **_kept(running, pocket, log, recorder)})
            if time.perf_counter() >= deadline:
                break
        seen = 0
        pocket.judge()
        running.end_epoch()
        if not running.mistakes[0]:  # nothing new will come from these weights
            pocket.compare(state.Z[0])
        asked = observer(epoch, running.mistakes[0], lambda: pocket.z[None])
        (valid,) = problem.validation_errors([machine], lambda: pocket.z[None])
        now = pocket.count(state.Z[0]) / pocket.total
        close_epoch(log, epoch, 0, running, pocket, now, valid, asked)
        if log.reason is not None:
            break
    errors = pocket.error
    if polishing:
        polish(pocket, rng, deadline)
    return stage.finish(solved(log, 0, running, pocket, errors, recorder.trace if recorder else None))


def close_epoch(
    log: Logbook,
    epoch: int,
    k: int,
    running: Runs,
    pocket: Best,
    running_error: float,
    validation_error: float | None,
    asked: bool,
) -> None:
    """Tell the logbook of machine k what happened in the epoch."""
    progress = Progress(
        epoch=epoch,
        updates=int(running.updates[k]),
        mistakes=running.mistakes[k],
        all_correct=pocket.errors == 0,
        seconds=time.perf_counter() - log.problem.began,
        weights=running.state.Z[k],
        before=running.before[k],
        training_error=pocket.error,
        validation_error=validation_error,
        repeats=running.settings.order == "cyclic",
        pocket=True,
        verdict=log.verdict,
    )
    log.close_epoch(progress, pocket.z, asked=asked, running_error=running_error)


def solved(
    log: Logbook, k: int, running: Runs, pocket: Best, unpolished: float, trace: Trace | None = None
) -> Solution:
    """What the run of machine k leaves behind."""
    assert log.reason is not None
    return Solution(
        z=pocket.z,
        reason=log.reason,
        history=log.history,
        state=running.state.Z[k].copy(),
        mistakes=int(running.updates[k]),
        trace=trace,
        steps=int(running.steps[k]),
        best_update=pocket.found_at,
        best_error=pocket.error,
        unpolished_error=unpolished,
    )


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
    state = carried.state
    mine = examples.restricted(machine.members)
    pocket = Pocket(mine, machine, carried.pocket) if mine.rows.n > 1 else None
    everything = replace(machine, members=np.arange(mine.rows.n))
    running = Running(mine, [everything], state, settings)
    recorder = None
    if settings.record:
        recorder = Recorder(mine, machine, state.Z[0], carried.trace, machine.members)
    earlier = state.Z[0].copy()
    for piece in running.pieces(next(running.orders(rng))):
        for step, row in running.visit(piece):
            if pocket is not None:
                pocket.offer(int(running.updates[0]), state.Z[0])
            if recorder is not None:
                recorder.record(step, row, state.Z[0])
    if recorder is not None:
        carried.trace = recorder.trace
    running.end_epoch()
    if pocket is None:
        carried.count_run(earlier, mistake=bool(running.mistakes[0]))
        return math.nan
    pocket.judge()
    carried.pocket[:] = pocket.z
    return pocket.error
