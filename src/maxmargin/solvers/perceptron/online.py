"""The online perceptron (Rosenblatt 1958), for one machine or many at once.

Rows are visited one at a time; a row with y(w·x + b) ≤ δ is a mistake and adds η y (x, 1) to (w, b).
If the classes can be separated, at most R²/γ² mistakes are made from z = 0 whatever the order
(Novikoff 1962; with a threshold δ at most (R² + 2δ/η)/γ², in units of η), so an epoch without a
mistake must come; that is where the run ends.
If they cannot, the run ends by one of the stopping rules.

Rows in partitions are visited in one of two ways, since each question to them is a round over the
partitions. What a partition does with a state is what is done here with rows in memory.

*Sequential*: the state goes from partition to partition, each of which visits its rows and hands it on.
With the rows in their order these are the updates of a run in memory, one by one, and the same bits.

*Mixing* (McDonald, Hall and Mann 2010): every partition runs an epoch of its own from the common weights
z, and the next common weights are the mean of what they arrive at,

    z ← z + (1/K) Σ_k (z_k − z),

over the K partitions with rows of the machine. If a unit vector separates the rows with margin γ, the
updates of all partitions together are at most K R²/γ² from z = 0: each raises z·z* by γ/K or more, and
‖z‖² by R²/K or less (the square of a mean is at most the mean of the squares). So there is an epoch in
which no partition makes a mistake; then the common weights are correct on all rows.

The voted perceptron (Freund and Schapire 1999): all weights vote, each as long as it lived.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.history import Trace
from maxmargin.kernels.perceptron import (
    LEFT,
    MADE,
    READ,
    SEEN,
    Labels,
    Lines,
    Memory,
    Rule,
    epochs,
    sweep,
)
from maxmargin.rows import Csr, Dense
from maxmargin.rows.training_data import Machine, Part
from maxmargin.solvers.perceptron.epochs import (
    UNLIMITED,
    OnUpdate,
    Passes,
    Settings,
    State,
    learn,
    visiting_order,
)
from maxmargin.solvers.problem import (
    TILE_ENTRIES,
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
from maxmargin.stopping import StoppingRule

MAX_EPOCHS_AT_ONCE = 1024


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
        repeats = self.settings.order == "cyclic"
        return epochs(self.arrays, labels, positive, orders, memory, rule, repeats, lines)

    def epoch(self, state: State, rng: np.random.Generator, deadline: float = math.inf) -> bool:
        """Visit all rows once; return whether the time was enough for that."""
        return self.pieces(state, rng, deadline, self.on_update)

    def pieces(
        self, state: State, rng: np.random.Generator, deadline: float, on_update: OnUpdate | None
    ) -> bool:
        """Visit all rows in pieces of some 20 ms between which Ctrl-C and the clock are heeded."""
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


# Rows in partitions.

MIN_PARTITIONS = 4  # in a graph: all of them may be in memory at once


class Visit(NamedTuple):
    """What a partition has to know to go through its rows."""

    form: Form
    machines: list[Machine]
    settings: Settings
    seed: int  # of the order of its rows


def partitions_in_turn(order: str, parts: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return the partitions in turn for an epoch, each with the seed of its order."""
    if order == "cyclic":
        return [(k, 0) for k in range(parts)]
    seeds = rng.integers(2**31, size=parts).tolist()
    return [(k, seeds[k]) for k in rng.permutation(parts).tolist()]


class PartitionPasses(Passes):
    """Machines whose rows are in partitions."""

    def __init__(
        self, examples: RemoteExamples, machines: Sequence[Machine], settings: Settings
    ) -> None:
        super().__init__(examples, light(machines), settings)
        self.rows = examples.rows

    def turns(self, going: np.ndarray, rng: np.random.Generator) -> tuple[list[int], list[Visit]]:
        """Return the partitions in turn, and what each has to know to advance some of the machines."""
        turns = partitions_in_turn(self.settings.order, self.rows.parts, rng)
        machines = [self.machines[k] for k in going]
        visits = [Visit(self.examples.form, machines, self.settings, seed) for _, seed in turns]
        return [number for number, _ in turns], visits

    def along(
        self,
        step: Callable[..., Any],
        carried: Any,
        turns: tuple[list[int], list[Visit]],
        deadline: float,
    ) -> tuple[Any, bool]:
        """Hand ``carried`` from partition to partition: as many in a graph as are read at the same time.

        Return it, and whether the time was enough for all of them.
        """
        self.rows.rounds += 1
        in_time, length = True, max(MIN_PARTITIONS, self.rows.at_once)
        numbers, visits = turns
        for start in range(0, len(numbers), length):
            graph = np.s_[start : start + length]
            carried = self.rows.along(step, carried, numbers[graph], visits[graph])
            in_time = time.perf_counter() < deadline
            if not in_time:
                break
        return carried, in_time


class Sequential(PartitionPasses):
    """Machines whose state is handed from partition to partition."""

    def epoch(self, state: State, rng: np.random.Generator, deadline: float = math.inf) -> bool:
        """Visit all rows once, one partition after the other."""
        going = state.going()
        found, in_time = self.along(_visited, state.part(going), self.turns(going, rng), deadline)
        state.put(going, found)
        return in_time


class Mixing(PartitionPasses):
    """Machines that run in all partitions at once."""

    def __init__(
        self, examples: RemoteExamples, machines: Sequence[Machine], settings: Settings
    ) -> None:
        super().__init__(examples, machines, settings)
        self.shares = np.count_nonzero(examples.sizes(machines), axis=1)  # partitions with its rows

    def epoch(self, state: State, rng: np.random.Generator, deadline: float = math.inf) -> bool:
        """One round: an epoch in every partition, and the mean."""
        going = state.going()
        common, (numbers, visits) = state.part(going), self.turns(going, rng)
        alone = State(common.Z, np.zeros_like(common.U), np.zeros_like(common.counts))
        alone.counts[:, LEFT] = common.counts[:, LEFT]
        own = [visits[k] for k in np.argsort(numbers)]
        found: list[State] = self.rows.each(_apart, alone, own=own)
        counts, moved = common.counts.copy(), np.zeros_like(common.Z)
        for one in found:
            moved += one.Z - common.Z
            for column in (SEEN, MADE, READ):
                counts[:, column] += one.counts[:, column]
        Z = common.Z + moved / self.shares[going, None]  # exactly the same if nothing moved
        made = counts[:, MADE] - common.counts[:, MADE]
        counts[:, LEFT] = np.maximum(common.counts[:, LEFT] - made, 0)
        state.put(going, State(Z, _averaged(common, found, Z, counts[:, SEEN, None]), counts))
        return time.perf_counter() < deadline


def _averaged(common: State, found: list[State], Z: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """U for which z − u/steps is the mean of the weights after each step, in all partitions."""
    if not common.U.shape[1]:
        return common.U
    total = common.counts[:, SEEN, None] * common.Z - common.U
    for one in found:
        total = total + (one.counts[:, SEEN, None] * one.Z - one.U)
    return np.asarray(steps * Z - total)


def _visited(part: Part, visit: Visit, state: State) -> State:
    """The state after a partition: what an epoch over these rows alone would do with it."""
    state = State(state.Z.copy(), state.U.copy(), state.counts.copy())
    examples, machines = visit.form.examples(part), seen(visit.machines, part.codes)
    rng = np.random.default_rng(visit.seed)
    for which, passes in grouped(examples, machines, visit.settings):
        if len(passes.machines[0].members):
            passes.epoch(state.part(which), rng)
    return state


def _apart(part: Part, state: State, visit: Visit) -> State:
    return _visited(part, visit, state)


def passes_over(training: Trained, machines: Sequence[Machine], settings: Settings) -> Passes:
    """Return the epochs of machines over their rows, wherever these are."""
    if isinstance(training, Examples):
        return LocalPasses(training, machines, settings, sketch=True)
    assert isinstance(training, RemoteExamples)
    mixing = settings.mixing and training.rows.parts > 1
    return (Mixing if mixing else Sequential)(training, machines, settings)


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
