"""Epochs of machines that learn together: what they remember, their histories, rules and checkpoint.

On large data they visit the rows together, so that each row is loaded once for all of them; every
machine makes the updates it would make alone. On small data many epochs are one compiled call, as long
as nobody has to know of each of them.

After every epoch each machine gets a line of history and asks its stopping rule; the arrays, the random
numbers and the logs after an epoch are all that it takes to go on from there with the same bits.
"""

from __future__ import annotations

import copy
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from maxmargin.core.history import Epoch, History, Trace, Update, next_stage
from maxmargin.kernels.perceptron import LEFT, MADE, SEEN, Lines, Memory, norm, repeated
from maxmargin.kernels.pocket import FEWER
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.problem import Examples, Observer, Problem, Solution, nobody
from maxmargin.stopping import Progress, StoppingRule, StopReason, remembered, remind

ORDERS = ("cyclic", "shuffled", "random")
UNLIMITED = 1 << 62
STOPPED = -1  # updates left to a machine that has stopped: kernels pass it by
ASKED = StopReason("callback", "A callback asked for the stop.")
NAN = float("nan")

OnUpdate = Callable[[int, int, np.ndarray], None]  # told of step, row and weights after an update


@dataclass(frozen=True)
class Settings:
    """The perceptron's own parameters: δ, η, and what to keep."""

    threshold: float = 0.0
    eta: float = 1.0
    order: str = "cyclic"
    average: bool = False
    record: bool = False
    mixing: bool = False  # partitions run apart, and their means are mixed


@dataclass
class State:
    """One row per machine of all that a perceptron remembers; see ``kernels.perceptron``."""

    Z: np.ndarray  # weights (w, b)
    U: np.ndarray  # what averaging needs, or no columns
    counts: np.ndarray  # rows looked at, updates made, updates left, rows read in full
    pocket: np.ndarray | None = None  # the best weights, which then predict
    runs: np.ndarray | None = None  # correct predictions since the last mistake, and those of the pocket

    @classmethod
    def begin(cls, start: np.ndarray, average: bool = False, max_updates: float = UNLIMITED) -> State:
        """Start at weights ``start``, which are copied."""
        counts = np.zeros((len(start), 4), dtype=np.int64)
        counts[:, LEFT] = int(min(max_updates, UNLIMITED))
        U = np.zeros(start.shape if average else (len(start), 0))
        return cls(start + 0.0, U, counts)  # + 0.0 turns −0.0 into 0.0, as the first update would

    def part(self, which: slice | np.ndarray) -> State:
        """Return the state of some machines; a slice shares memory, an array of places copies."""
        return State(self.Z[which], self.U[which], self.counts[which])

    def going(self) -> np.ndarray:
        """Return the places of the machines that have not stopped."""
        return np.flatnonzero(self.counts[:, LEFT] != STOPPED)

    def put(self, which: np.ndarray, part: State) -> None:
        """Take over the state of some machines."""
        self.Z[which], self.U[which], self.counts[which] = part.Z, part.U, part.counts

    def copy(self) -> State:
        """Return a state that can go on without changing this one."""
        return copy.deepcopy(self)

    def weights(self) -> list[np.ndarray]:
        """Return the arrays with one row (w, b) per machine."""
        found = [self.Z, self.U if self.U.shape[1] else None, self.pocket]
        return [array for array in found if array is not None]

    def widened(self, d: int) -> State:
        """Return the state for d features: new ones have weight zero, and those beyond d are dropped."""

        def wide(array: np.ndarray) -> np.ndarray:
            new, shared = np.zeros((len(array), d + 1)), min(d, array.shape[1] - 1)
            new[:, :shared], new[:, -1] = array[:, :shared], array[:, -1]
            return new

        U = wide(self.U) if self.U.shape[1] else self.U
        return State(
            wide(self.Z), U, self.counts, None if self.pocket is None else wide(self.pocket), self.runs
        )

    def predictors(self) -> np.ndarray:
        """Return the weights to predict with: in the pocket, averaged or the last (not a copy)."""
        if self.pocket is not None:
            return self.pocket
        if not self.U.shape[1]:
            return self.Z
        return np.array([self.predictor(k) for k in range(len(self.Z))])

    def predictor(self, k: int) -> np.ndarray:
        """Return those of machine k; an average is taken over all its steps."""
        if self.pocket is not None:
            return np.asarray(self.pocket[k])
        if not self.U.shape[1] or not self.counts[k, SEEN]:
            return np.asarray(self.Z[k])
        return np.asarray(self.Z[k] - self.U[k] / self.counts[k, SEEN])


class Pockets:
    """The best weights of each machine so far, their errors, and the update that found them."""

    def __init__(self, Z: np.ndarray, errors: Sequence[float], totals: Sequence[float]) -> None:
        self.Z, self.errors, self.totals = Z.copy(), np.array(errors), np.array(totals)
        self.found_at = np.zeros(len(Z), dtype=np.int64)
        self.running = self.errors.copy()  # errors of the running weights

    def take(self, k: int, z: np.ndarray, errors: float, update: int | None = None) -> None:
        """Take weights if they make fewer errors; equal ones never replace the pocket."""
        if errors < FEWER * self.errors[k]:
            self.Z[k], self.errors[k] = z, errors
            if update is not None:
                self.found_at[k] = update


class Passes(ABC):
    """Epochs of some machines over their rows, which may be here or in partitions."""

    pockets: Pockets | None = None
    names: np.ndarray | None = None  # what to call the rows, if not 0, 1, 2, …
    on_update: OnUpdate | None = None  # is told of every update, of rows that are here

    def __init__(self, examples: Any, machines: Sequence[Machine], settings: Settings) -> None:
        self.examples, self.machines, self.settings = examples, list(machines), settings
        self.asked = self.machines  # with their members among all rows of the problem

    @abstractmethod
    def epoch(self, state: State, rng: np.random.Generator, deadline: float = math.inf) -> bool:
        """Visit all rows once, which changes ``state``; return whether the time was enough for that."""

    def at_once(self, epoch: int, epochs: float) -> int:
        """Return how many of these epochs after ``epoch`` are one compiled call; see :meth:`ahead`."""
        return 1

    def ahead(self, k: int, orders: np.ndarray, memory: Memory, lines: Lines) -> tuple[int, int]:
        """Run machine k for as many epochs as there are lines; see ``kernels.perceptron.epochs``."""
        raise NotImplementedError

    def errors(self, which: list[int], state: State) -> list[float]:
        """E_in of the weights to predict with, of some machines."""
        if self.pockets is not None:
            return [float(self.pockets.errors[k] / self.pockets.totals[k]) for k in which]
        machines = [self.machines[k] for k in which]
        found: np.ndarray = self.examples.errors_of(machines, state.predictors()[which])
        return list(found.tolist())

    def clean(
        self, which: list[int], state: State, mistakes: Mapping[int, int], whole: bool
    ) -> list[bool]:
        """Whether machines are done: with rows that are all correct, or a pocket without errors.

        Looked up where not every row was looked at.
        """
        if self.pockets is not None:
            return [bool(self.pockets.errors[k] == 0) for k in which]
        left, chance = state.counts[:, LEFT].tolist(), self.settings.order == "random"
        clean = {k: whole and mistakes[k] == 0 and left[k] != 0 for k in which}
        doubt = [k for k in which if left[k] == 0 or (clean[k] and chance)]
        if doubt:
            some = [self.machines[k] for k in doubt]
            found = self.examples.beyond(some, state.Z[doubt], self.settings.threshold)
            clean.update(zip(doubt, found, strict=True))
        return list(clean.values())


class Log:
    """The history of one machine, its trace if there is one, and the reason why it stopped."""

    def __init__(
        self, problem: Problem[Any], machine: Machine, stop: StoppingRule, trace: Trace | None
    ) -> None:
        self.history, self.trace = History(), trace
        self.reason: StopReason | None = None
        self.watcher = stop.watch()
        self.verdict = None if problem.verdict is None else partial(problem.verdict, machine)

    def close_epoch(
        self,
        progress: Progress,
        norm: float,
        *,
        asked: bool = False,
        risk: float = NAN,
        running_error: float = NAN,
    ) -> None:
        """Write one line of history and set ``reason`` if a rule fires.

        ``norm`` is ‖w‖ of the weights to predict with; the progress tells of the running ones.
        """
        self.reason = self.watcher(progress) or (ASKED if asked else None)
        training, validation = progress.training_error, progress.validation_error
        self.history.append(
            Epoch(
                progress.epoch,
                progress.mistakes,
                NAN if training is None else training,
                NAN if validation is None else validation,
                norm,
                progress.seconds,
                risk,
                running_error,
            )
        )

    @property
    def unmeasured(self) -> bool:
        """Whether the run has ended with an epoch whose training error is not known yet."""
        return self.reason is not None and math.isnan(self.history[-1].training_error)

    def state(self) -> dict[str, Any]:
        """Return all that the log remembers."""
        trace = {} if self.trace is None else {"trace": self.trace}
        memory = remembered(self.watcher)
        return {"history": self.history, "reason": self.reason, "memory": memory, **trace}

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what :meth:`state` returned."""
        self.history, self.reason, self.trace = state["history"], state["reason"], state.get("trace")
        remind(self.watcher, state["memory"])

    def solution(self, z: np.ndarray, state: np.ndarray, **more: Any) -> Solution:
        """Return what the run leaves behind."""
        assert self.reason is not None
        return Solution(z, self.reason, self.history, state, trace=self.trace, **more)


class Run:
    """Machines that learn together, epoch by epoch, and the checkpoint of their run.

    ``arrays`` hold all else that an epoch changes; they are changed in place.
    """

    def __init__(
        self,
        problem: Problem[Any],
        machines: Sequence[Machine],
        stop: StoppingRule,
        start: np.ndarray,
        rng: np.random.Generator | None = None,
        record: bool = False,
        **arrays: np.ndarray,
    ) -> None:
        traces = [Trace(z.copy()) if record else None for z in start]
        pairs = zip(machines, traces, strict=True)
        self.logs = [Log(problem, machine, stop, trace) for machine, trace in pairs]
        self.epoch, self.deadline = 0, problem.began + stop.max_seconds()
        self.earlier, self.clock = start.copy(), np.tile([0, 1], (len(start), 1))
        waiting = {"earlier": self.earlier, "clock": self.clock}  # for weights that come back
        self._rng, self._arrays, self._stage = rng, {**arrays, **waiting}, next_stage()
        found = self._stage.resume(self._state)
        if found is not None:
            self._restore(found)

    @property
    def active(self) -> list[int]:
        """The machines that have no reason to stop yet."""
        return [k for k, log in enumerate(self.logs) if log.reason is None]

    def keep(self, ended: bool = False) -> None:
        """Let the checkpoint know of an epoch, or of the end."""
        self._stage.keep(self._state, ended)

    def _state(self) -> dict[str, Any]:
        rng = {} if self._rng is None else {"rng": self._rng.bit_generator.state}
        logs = [log.state() for log in self.logs]
        return {"epoch": self.epoch, **rng, **self._arrays, "logs": logs}

    def _restore(self, state: dict[str, Any]) -> None:
        self.epoch = state["epoch"]
        if self._rng is not None:
            self._rng.bit_generator.state = state["rng"]
        for name, array in self._arrays.items():
            array[...] = state[name]
        for log, found in zip(self.logs, state["logs"], strict=True):
            log.restore(found)


def learn(
    problem: Problem[Any],
    passes: Passes,
    state: State,
    stop: StoppingRule,
    rng: np.random.Generator,
    observer: Observer,
    **more: np.ndarray,
) -> Run:
    """Run machines together until each has a reason to stop."""
    record = passes.settings.record
    arrays = {"Z": state.Z, "U": state.U, "counts": state.counts, **more}
    run = Run(problem, passes.asked, stop, state.Z, rng, record, **arrays)
    recorder = None
    if run.logs[0].trace is not None:
        recorder = Recorder(passes.examples, passes.machines[0], run.logs[0].trace, passes.names)
        passes.on_update = recorder.record
    track = problem.track_error or stop.reads_training_error() or passes.pockets is not None
    followed = recorder is not None or observer is not nobody or problem.validation is not None
    while run.active:
        epochs = 1 if followed else passes.at_once(run.epoch, stop.unasked(run.epoch))
        if epochs > 1:
            _run_ahead(problem, passes, run, state, epochs, rng, track)
        else:
            _run_epoch(problem, passes, run, state, rng, observer, recorder, track)
        late = [k for k, log in enumerate(run.logs) if log.unmeasured]
        if late:
            for k, error in zip(late, passes.errors(late, state), strict=True):
                run.logs[k].history.amend(training_error=error)
        run.keep(ended=not run.active)
    return run


def _run_epoch(
    problem: Problem[Any],
    passes: Passes,
    run: Run,
    state: State,
    rng: np.random.Generator,
    observer: Observer,
    recorder: Recorder | None,
    track: bool,
) -> None:
    """Visit all rows once with all machines, and ask the rules of those that are active."""
    active, settings, pockets = run.active, passes.settings, passes.pockets
    before, made = state.Z.copy(), state.counts[:, MADE].copy()
    whole = passes.epoch(state, rng, run.deadline)
    if recorder is not None:
        recorder.write()
    run.epoch += 1
    mistakes = dict(enumerate((state.counts[:, MADE] - made).tolist()))
    asked = observer(run.epoch, sum(mistakes.values()), state.predictors)
    errors = passes.errors(active, state) if track else [math.nan] * len(active)
    clean = passes.clean(active, state, mistakes, whole)
    machines = [passes.machines[k] for k in active]
    valid = problem.validation_errors(machines, lambda: state.predictors()[active])
    for j, k in enumerate(active):
        cycling = settings.order == "cyclic" and mistakes[k] > 0
        progress = Progress(
            epoch=run.epoch,
            updates=int(state.counts[k, MADE]),
            mistakes=mistakes[k],
            all_correct=clean[j],
            seconds=time.perf_counter() - problem.began,
            weights=state.Z[k],
            before=before[k],
            training_error=0.0 if clean[j] and not settings.average else errors[j],
            validation_error=valid[j],
            period=repeated(state.Z[k], run.earlier[k], run.clock[k]) if cycling else 0,
            threshold=settings.threshold,
            pocket=pockets is not None,
            verdict=run.logs[k].verdict,
        )
        running = math.nan if pockets is None else float(pockets.running[k] / pockets.totals[k])
        length = float(norm(state.predictor(k)))
        run.logs[k].close_epoch(progress, length, asked=asked, running_error=running)
        if run.logs[k].reason is not None:
            state.counts[k, LEFT] = STOPPED


def _run_ahead(
    problem: Problem[Any],
    passes: Passes,
    run: Run,
    state: State,
    epochs: int,
    rng: np.random.Generator,
    track: bool,
) -> None:
    """Run each active machine for some epochs, until a rule can fire, and then ask its rules."""
    settings, first, pockets = passes.settings, run.epoch, passes.pockets
    members, generator, longest = passes.machines[0].members, rng.bit_generator.state, 0
    orders = visiting_orders(settings.order, members, epochs, rng)
    run.epoch += epochs
    for k in run.active:
        log, before = run.logs[k], state.Z[k].copy()
        total = orders.shape[1] if pockets is None else pockets.totals[k]
        columns = [np.full(epochs if kept else 0, math.nan) for kept in (track, True, True)]
        lines = Lines(np.empty(epochs, np.int64), *columns)
        memory = Memory(state.Z[k], state.U[k], state.counts[k], run.earlier[k], run.clock[k])
        began = time.perf_counter()
        passed, period = passes.ahead(k, orders, memory, lines)
        longest = max(longest, passed)
        ended = time.perf_counter()
        # Nobody reads the clock within a compiled call: its time is shared out evenly.
        seconds = (np.linspace(began, ended, passed + 1)[1:] - problem.began).tolist()
        numbers, nothing = range(first + 1, first + passed + 1), [math.nan] * passed
        mistakes, norms = lines.mistakes[:passed].tolist(), lines.norm[:passed].tolist()
        errors = (lines.errors[:passed] / total).tolist() if track else nothing
        running = (lines.running[:passed] / total).tolist()
        if pockets is not None:
            pockets.running[k] = lines.running[passed - 1]
        lived = zip(numbers, mistakes, errors, nothing, norms, seconds, nothing, running, strict=True)
        log.history.extend([Epoch(*line) for line in lived][:-1])
        (clean,) = passes.clean([k], state, {k: mistakes[-1]}, True)
        progress = Progress(
            epoch=first + passed,
            updates=int(state.counts[k, MADE]),
            mistakes=mistakes[-1],
            all_correct=clean,
            seconds=seconds[-1],
            weights=state.Z[k],
            before=before,
            training_error=0.0 if clean and not settings.average else errors[-1],
            period=period,
            threshold=settings.threshold,
            pocket=pockets is not None,
            verdict=log.verdict,
        )
        log.close_epoch(progress, norms[-1], running_error=running[-1])
        if log.reason is not None:
            state.counts[k, LEFT] = STOPPED
    if longest < epochs and settings.order != "cyclic":  # orders that no machine needed are not drawn
        rng.bit_generator.state = generator
        visiting_orders(settings.order, members, longest, rng)


# Rows a shuffle keeps together on large data: neighbours share memory pages, so shuffling blocks, and
# rows within a block, costs half of what fully random access costs.
BLOCK_ROWS = 16
SINGLE_ROWS = 1 << 14  # rows up to which every row is shuffled by itself (whatever the kind of rows)


def visiting_order(order: str, members: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the rows in the order in which the next epoch visits them."""
    if order == "cyclic":
        return members
    if order == "random":
        return np.asarray(members[rng.integers(len(members), size=len(members))])
    if len(members) <= SINGLE_ROWS:
        return rng.permutation(members)
    # The cut wanders, so that neighbours do not stay together from epoch to epoch.
    n = len(members) - len(members) % BLOCK_ROWS
    members = np.roll(members, int(rng.integers(len(members))))
    blocks = rng.permuted(members[:n].reshape(-1, BLOCK_ROWS), axis=1)
    rest = rng.permutation(members[n:])
    return np.concatenate([rng.permutation(blocks, axis=0).ravel(), rest])


def visiting_orders(
    order: str, members: np.ndarray, epochs: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the orders of the next epochs, one if it is always the same."""
    if order == "cyclic":
        return members[None]
    return np.array([visiting_order(order, members, rng) for _ in range(epochs)])


WEIGHTS_AT_ONCE = 1 << 16  # weights of the updates whose margins are computed at once


class Recorder:
    """Writes every update of one machine into a trace; the margins of many updates at once."""

    def __init__(
        self, examples: Examples, machine: Machine, trace: Trace, names: np.ndarray | None = None
    ) -> None:
        self.examples, self.machine, self.trace = examples, machine, trace
        self.names = names  # what to call the rows, if not 0, 1, 2, …
        # The last weights written, and those after each update that waits to be written.
        self._weights = [trace[-1].weights if len(trace) else trace.start]
        self._waiting: list[tuple[int, int]] = []  # step and row of these updates

    def record(self, step: int, row: int, z: np.ndarray) -> None:
        """Add one update, given the weights after it."""
        self._weights.append(z.copy())
        self._waiting.append((step, row))
        if len(self._waiting) * len(z) >= WEIGHTS_AT_ONCE:
            self.write()

    def write(self) -> None:
        """Write the updates that wait."""
        if not self._waiting:
            return
        ex, which = self.examples, np.array([row for _, row in self._waiting])
        Z = np.array(self._weights[:-1])
        f = np.cumsum(ex.rows.take(which) * Z[:, :-1], axis=1)[:, -1] + ex.pad * Z[:, -1]  # in order
        margins = self.machine.signs(ex.codes[which]) * f
        if len(ex.scale):
            margins *= ex.scale[which]
        names = which if self.names is None else self.names[which]
        steps = [step for step, _ in self._waiting]
        for update in zip(steps, names.tolist(), margins.tolist(), self._weights[1:], strict=True):
            self.trace.append(Update(*update))
        self._weights, self._waiting = self._weights[-1:], []
