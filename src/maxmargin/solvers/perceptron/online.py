"""The online perceptron (Rosenblatt 1958), for one machine or many at once.

Rows are visited one at a time; a row with y(w·x + b) ≤ δ is a mistake and adds η y (x, 1) to (w, b).
If the classes can be separated, at most R²/γ² mistakes are made from z = 0 whatever the order
(Novikoff 1962; with a threshold δ at most (R² + 2δ/η)/γ², in units of η), so an epoch without a
mistake must come; that is where the run ends.
If they cannot, the run ends by one of the stopping rules.

The voted perceptron (Freund and Schapire 1999): all weights vote, each as long as it lived.
"""

from __future__ import annotations

import copy
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.history import Epoch, Trace
from maxmargin.kernels.perceptron import (
    FEWER,
    LEFT,
    MADE,
    READ,
    SEEN,
    Labels,
    Lines,
    Memory,
    Pocket,
    Rule,
    epochs,
    norm,
    repeated,
    sweep,
)
from maxmargin.rows import Csr, Dense
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.perceptron.epochs import Recorder, Run
from maxmargin.solvers.problem import (
    TILE_ENTRIES,
    Examples,
    Observer,
    Problem,
    RemoteExamples,
    Solution,
    Trained,
    nobody,
)
from maxmargin.stopping import Progress, StoppingRule

ORDERS = ("cyclic", "shuffled", "random")
UNLIMITED = 1 << 62
MAX_EPOCHS_AT_ONCE = 1024
NO_POCKET = Pocket(*(np.empty(0, kind) for kind in (float, float, int, float, int, int)))
STOPPED = -1  # updates left to a machine that has stopped: kernels pass it by

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

    def __init__(self, examples: Any, machines: Sequence[Machine], settings: Settings) -> None:
        self.examples, self.machines, self.settings = examples, list(machines), settings
        self.asked = self.machines  # with their members among all rows of the problem

    @abstractmethod
    def epoch(
        self,
        state: State,
        rng: np.random.Generator,
        deadline: float = math.inf,
        on_update: OnUpdate | None = None,
    ) -> bool:
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


def learn(
    problem: Problem[Any],
    passes: Passes,
    state: State,
    stop: StoppingRule,
    rng: np.random.Generator,
    observer: Observer,
    **more: np.ndarray,
) -> Run:
    """Run machines together until each has a reason to stop.

    On large data they visit the rows together, so that each row is loaded once for all of them; every
    machine makes the updates it would make alone. On small data many epochs are one compiled call, as
    long as nobody has to know of each of them.
    """
    record = passes.settings.record
    arrays = {"Z": state.Z, "U": state.U, "counts": state.counts, **more}
    run = Run(problem, passes.asked, stop, state.Z, rng, record, **arrays)
    recorder = None
    if run.logs[0].trace is not None:
        recorder = Recorder(passes.examples, passes.machines[0], run.logs[0].trace, passes.names)
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


def online_perceptron(
    problem: Problem[Any],
    passes: Passes,
    state: State,
    stop: StoppingRule,
    rng: np.random.Generator,
    observer: Observer,
) -> list[Solution]:
    """Learn until each machine has a reason to stop."""
    run = learn(problem, passes, state, stop, rng, observer)
    return [
        log.solution(
            state.predictor(k).copy(),
            state.Z[k].copy(),
            mistakes=int(state.counts[k, MADE]),
            average=state.U[k].copy(),
            steps=int(state.counts[k, SEEN]),
        )
        for k, log in enumerate(run.logs)
    ]


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
    whole = passes.epoch(state, rng, run.deadline, recorder.record if recorder else None)
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


# Rows that an epoch reads in full for the sketch to pay for itself. An epoch of 300,000 × 100 takes 8 ms
# without a sketch, and with one 4 ms if 1 % of the rows are read, 8 ms if 5 % are, 29 ms if 47 % are.
MAX_SKETCHED_SHARE = 0.05


class LocalPasses(Passes):
    """Machines on the same rows, which are here; ``sketch`` them where it pays for many epochs."""

    examples: Examples

    def __init__(
        self,
        examples: Examples,
        machines: Sequence[Machine],
        settings: Settings,
        sketch: bool = False,
    ) -> None:
        super().__init__(examples, machines, settings)
        self.rows = examples.rows
        self.arrays = self.rows.arrays if self.rows.resident else None
        self.may_sketch, self.sketched = sketch and self.rows.resident, False
        self.positives = np.array([m.positive for m in machines], dtype=np.int64)
        rates = settings.eta * np.array([m.class_weight for m in machines])
        self.rule = Rule(settings.threshold, examples.pad, rates)
        self.tile = self.rows.block_length(TILE_ENTRIES) if len(machines) > 1 else UNLIMITED
        self.piece = self.rows.block_length()
        self.epoch_rows = self.rows.n * len(machines)  # looked at in an epoch
        self.updates_at_once = UNLIMITED

    def at_once(self, epoch: int, epochs: float) -> int:
        """Return how many epochs make a piece of some 20 ms; one where draws leave rows out."""
        if self.arrays is None or self.settings.order == "random":
            return 1
        if self.settings.order == "shuffled":  # orders are drawn, perhaps in vain
            epochs = min(epochs, epoch + 1)
        return int(min(epochs, MAX_EPOCHS_AT_ONCE, self.piece // self.epoch_rows))

    def ahead(self, k: int, orders: np.ndarray, memory: Memory, lines: Lines) -> tuple[int, int]:
        """Run machine k for as many epochs as there are lines; see ``kernels.perceptron.epochs``."""
        rule = self.rule._replace(rates=self.rule.rates[k : k + 1])
        labels, positive = self.examples.labels, self.machines[k].positive
        repeats, pocket = self.settings.order == "cyclic", self.kept(k)
        return epochs(self.arrays, labels, positive, orders, memory, rule, repeats, pocket, lines)

    def kept(self, k: int) -> Pocket:
        """The pocket of machine k, if it has one."""
        return NO_POCKET

    def epoch(
        self,
        state: State,
        rng: np.random.Generator,
        deadline: float = math.inf,
        on_update: OnUpdate | None = None,
    ) -> bool:
        """Visit all rows once, in pieces of some 20 ms between which Ctrl-C and the clock are heeded."""
        order = visiting_order(self.settings.order, self.machines[0].members, rng)
        counts, in_time = state.counts.copy(), True
        for start in range(0, len(order), self.piece):
            piece = order[start : start + self.piece]
            whole = [(np.s_[:], self.arrays, piece, 0)] if self.arrays is not None else None
            for _, arrays, local, first in whole or self.rows.stretches(piece):
                if on_update is None and self.updates_at_once == UNLIMITED:
                    self.visit(state, arrays, local, first)
                else:
                    self._update_by_update(state, arrays, local, first, deadline, on_update)
            in_time = time.perf_counter() < deadline
            if not in_time:
                break
        if self.may_sketch:
            self._weigh_sketch((state.counts - counts).sum(axis=0))
        return in_time

    def _weigh_sketch(self, new: np.ndarray) -> None:
        """Make the sketch after an epoch with few mistakes; drop it where it decides too little.

        Mistakes are read in full with a sketch, too, so that many of them speak against making it.
        """
        share = new[READ if self.sketched else MADE] / max(new[SEEN], 1)
        if share <= MAX_SKETCHED_SHARE and not self.sketched:
            sketch = self.examples.sketch
            self.may_sketch = self.sketched = sketch is not None
            self.arrays = self.arrays if sketch is None else sketch
        elif share > MAX_SKETCHED_SHARE and self.sketched:
            self.may_sketch, self.sketched, self.arrays = False, False, self.rows.arrays

    def visit(self, state: State, arrays: Dense | Csr, order: np.ndarray, first: int) -> None:
        """Look at some rows with all machines; the first row of the arrays has the number ``first``."""
        labels = Labels(*(column[first:] for column in self.examples.labels))
        learned = state.Z, state.U, state.counts
        sweep(arrays, labels, self.positives, order, *learned, self.rule, self.tile)

    def _update_by_update(
        self,
        state: State,
        arrays: Dense | Csr,
        local: np.ndarray,
        first: int,
        deadline: float,
        on_update: OnUpdate | None,
    ) -> None:
        """Look at some rows with the only machine, and tell of every update, or stop after a few."""
        count, several = state.counts[0], 1 if on_update is not None else self.updates_at_once
        left = int(count[LEFT])
        while len(local) and left > 0 and time.perf_counter() < deadline:
            seen = int(count[SEEN])
            given = count[LEFT] = min(left, several)
            self.visit(state, arrays, local, first)
            step = int(count[SEEN])
            row, local = first + int(local[step - seen - 1]), local[step - seen :]
            left -= given - int(count[LEFT])
            if on_update is not None and count[LEFT] == 0:
                on_update(step, row, state.Z[0])
        count[LEFT] = left


def passes_over(training: Trained, machines: Sequence[Machine], settings: Settings) -> Passes:
    """Return the epochs of machines over their rows, wherever these are."""
    if isinstance(training, Examples):
        return LocalPasses(training, machines, settings, sketch=True)
    # Imported on use: its partitions run the passes of this module.
    from maxmargin.solvers.perceptron.online_partitions import Mixing, Sequential

    assert isinstance(training, RemoteExamples)
    mixing = settings.mixing and training.rows.parts > 1
    return (Mixing if mixing else Sequential)(training, machines, settings)


def grouped(
    examples: Examples, machines: Sequence[Machine], settings: Settings
) -> Iterator[tuple[slice, LocalPasses]]:
    """Machines on all rows together, and others, or those whose updates are recorded, one by one.

    Nothing here may cost O(d): a stream comes by one example at a time.
    """
    together = not settings.record and all(len(m.members) == examples.rows.n for m in machines)
    groups = [np.s_[:]] if together else [np.s_[k : k + 1] for k in range(len(machines))]
    for group in groups:
        yield group, LocalPasses(examples, machines[group], settings)


VOTERS_AT_ONCE = 256  # weights that vote in one pass


def vote(examples: Examples, trace: Trace, steps: int) -> np.ndarray:
    """Return for each row the votes for +1 minus those for −1, as a share of all ``steps``.

    The weights after step t vote once for every t, so weights that an update at step s brought about
    have as many votes as steps pass until the next update.
    """
    born = np.array([1, *(update.step for update in trace)])
    lives = np.diff(np.append(born, steps + 1))
    total = np.zeros(examples.rows.n)
    for start in range(0, len(lives), VOTERS_AT_ONCE):
        part = np.s_[start : start + VOTERS_AT_ONCE]
        F = examples.decisions(np.ascontiguousarray(trace.weights[part]))
        total += lives[part] @ np.where(F > 0, 1.0, -1.0)
    return total / max(steps, 1)
