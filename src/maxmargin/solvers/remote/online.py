"""The online perceptron on partitions: exactly, or all partitions at once.

*Sequential*: the state goes from partition to partition, each of which visits its rows and hands it on.
With the rows in their order these are the updates of a run in memory, one by one, and the same bits.

*Mixing* (McDonald, Hall and Mann 2010): every partition runs an epoch of its own from the common weights
z, and the next common weights are the mean of what they arrive at,

    z ← z + (1/K) Σ_k (z_k − z),

over the K partitions with rows of the machine. If a unit vector separates the rows with margin γ, the
updates of all partitions together are at most K R²/γ² from z = 0: each raises z·z* by γ/K or more, and
‖z‖² by R²/K or less (the square of a mean is at most the mean of the squares). So there is an epoch in
which no partition makes a mistake; then the common weights are correct on all rows.

Training and validation rows of the perceptrons in partitions.

What a partition is asked is answered by the same :class:`Examples` that serve rows in memory. Machines
travel without their rows: which rows of a partition are theirs, the labels there say. Weights are copied
where they arrive: those of a message may not be written, and kernels are compiled for those that may.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from maxmargin.kernels.perceptron import LEFT, MADE, READ, SEEN
from maxmargin.rows.partitions import Part, Partitions
from maxmargin.solvers.examples import Examples, shares
from maxmargin.solvers.perceptron.running import Runs, Settings, State, in_groups
from maxmargin.solvers.problem import Machine


@dataclass(frozen=True)
class Form:
    """How rows count: padded with 1 or 0, and scaled to unit length or not."""

    pad: float
    normalize: bool = False

    def examples(self, part: Part) -> Examples:
        """The rows of a partition."""
        return Examples.of(part.rows, part.codes, self.pad, self.normalize)

    def unscaled(self, part: Part) -> Examples:
        """The same to count errors, which scales do not change."""
        return Examples(part.rows, part.codes, self.pad)


def light(machines: Sequence[Machine]) -> list[Machine]:
    """Machines as they travel."""
    return [replace(machine, members=np.empty(0, dtype=np.int64)) for machine in machines]


def seen(machines: Sequence[Machine], codes: np.ndarray) -> list[Machine]:
    """Machines on rows with these label codes; those on all rows share their members."""
    everything = np.arange(len(codes))
    found = []
    for machine in machines:
        mine = machine.on(codes)
        whole = len(mine.members) == len(codes)
        found.append(replace(mine, members=everything) if whole else mine)
    return found


def sizes(machines: Sequence[Machine], counts: np.ndarray) -> np.ndarray:
    """How many rows each machine has in each partition, from those of each class."""
    return np.array([counts[:, m.among(np.arange(counts.shape[1]))].sum(axis=1) for m in machines])


@dataclass(frozen=True)
class RemoteExamples:
    """Rows in partitions on which planes are measured: one round for all machines together."""

    rows: Partitions
    form: Form

    def errors_of(self, machines: Sequence[Machine], Z: np.ndarray) -> np.ndarray:
        """For each machine with its z the share of its rows with y·f(x) ≤ 0; nan without rows."""
        found = self.rows.each(_wrong, self.form, light(machines), Z)
        wrong, many = np.sum(found, axis=0)
        return shares(wrong, many)

    def beyond(self, machines: Sequence[Machine], Z: np.ndarray, delta: float) -> list[bool]:
        """For each machine with its z whether all its rows have y·f(x) > δ."""
        found = self.rows.each(_beyond, self.form, light(machines), Z, delta)
        return [all(answers) for answers in zip(*found, strict=True)]

    def weights(self, machines: Sequence[Machine], candidates: Sequence[np.ndarray]) -> list[np.ndarray]:
        """For each machine the weight of the rows that each of its candidates z gets wrong.

        Partitions count by class, so that the sums over them are exact.
        """
        found = self.rows.each(_by_class, self.form, light(machines), list(candidates))
        counts = [np.sum(answers, axis=0) for answers in zip(*found, strict=True)]
        return [count @ m.class_weight for count, m in zip(counts, machines, strict=True)]


def _wrong(part: Part, form: Form, machines: Sequence[Machine], Z: np.ndarray) -> np.ndarray:
    mine = seen(machines, part.codes)
    many = [len(machine.members) for machine in mine]
    return np.array([form.unscaled(part).wrong(mine, Z.copy()), many])


def _beyond(
    part: Part, form: Form, machines: Sequence[Machine], Z: np.ndarray, delta: float
) -> list[bool]:
    return form.examples(part).beyond(seen(machines, part.codes), Z.copy(), delta)


def _by_class(
    part: Part, form: Form, machines: Sequence[Machine], candidates: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """How many rows of each class each candidate of each machine gets wrong."""
    examples = form.unscaled(part)
    found = []
    for machine, Z in zip(seen(machines, part.codes), candidates, strict=True):
        count = np.zeros((len(Z), len(machine.class_weight)), dtype=np.int64)
        mine = part.codes[machine.members]
        for code in np.unique(mine):
            which = replace(machine, members=machine.members[mine == code])
            count[:, code] = examples.wrong([which] * len(Z), Z.copy())
        found.append(count)
    return found


LEAST = 4  # partitions in a graph: all of them may be in memory at once

Turn = tuple[int, int]  # a partition, and the seed of its order


class Visit(NamedTuple):
    """What a partition has to know to go through its rows."""

    form: Form
    machines: list[Machine]
    settings: Settings
    seed: int


def partitions_in_turn(order: str, parts: int, rng: np.random.Generator) -> Iterator[list[Turn]]:
    """Yield the partitions in turn for one epoch after the other, each with the seed of its order."""
    while True:
        if order == "cyclic":
            yield [(k, 0) for k in range(parts)]
        else:
            seeds = rng.integers(2**31, size=parts).tolist()
            yield [(k, seeds[k]) for k in rng.permutation(parts).tolist()]


class Sequential(Runs):
    """Machines whose state is handed from partition to partition."""

    def __init__(
        self,
        rows: Partitions,
        form: Form,
        machines: Sequence[Machine],
        state: State,
        settings: Settings,
    ) -> None:
        super().__init__(light(machines), state, settings)
        self.rows, self.form = rows, form

    def orders(self, rng: np.random.Generator) -> Iterator[list[Turn]]:
        """Partitions in their order, or in a new one in each epoch."""
        return partitions_in_turn(self.settings.order, self.rows.parts, rng)

    def make_ready(self) -> None:
        """Nothing is kept where the rows are."""

    def begin_epoch(self) -> None:
        """Remember where the epoch starts: one more pass over all partitions."""
        super().begin_epoch()
        self.rows.rounds += 1

    def pieces(self, order: list[Turn]) -> Iterator[list[Turn]]:
        """Cut an epoch into graphs of as many partitions as are read at the same time, or a few more."""
        step = max(LEAST, self.rows.at_once)
        for start in range(0, len(order), step):
            yield order[start : start + step]

    def visit_all(self, order: list[Turn]) -> None:
        """Go through some partitions, one after the other."""
        numbers, own = [number for number, _ in order], self._visits(order)
        self.state = self.rows.along(_visited, self.state, numbers, own)

    def _visits(self, order: list[Turn]) -> list[Visit]:
        return [Visit(self.form, self.machines, self.settings, seed) for _, seed in order]


class Mixing(Sequential):
    """Machines that run in all partitions at once; ``shares`` says in how many each has rows."""

    def __init__(
        self,
        rows: Partitions,
        form: Form,
        machines: Sequence[Machine],
        state: State,
        settings: Settings,
        shares: np.ndarray,
    ) -> None:
        super().__init__(rows, form, machines, state, settings)
        self.shares = shares

    def begin_epoch(self) -> None:
        """Remember where the epoch starts."""
        Runs.begin_epoch(self)

    def orders(self, rng: np.random.Generator) -> Iterator[list[Turn]]:
        """Each partition with the seed of its order."""
        for order in super().orders(rng):
            yield sorted(order)

    def pieces(self, order: list[Turn]) -> Iterator[list[Turn]]:
        """An epoch is one piece."""
        yield order

    def visit_all(self, order: list[Turn]) -> None:
        """One round: an epoch in every partition, and the mean."""
        common = self.state
        alone = State(common.Z, np.zeros_like(common.U), np.zeros_like(common.counts))
        alone.counts[:, LEFT] = common.counts[:, LEFT]
        found: list[State] = self.rows.each(_apart, alone, own=self._visits(order))
        counts, moved = common.counts.copy(), np.zeros_like(common.Z)
        for one in found:
            moved += one.Z - common.Z
            for column in (SEEN, MADE, READ):
                counts[:, column] += one.counts[:, column]
        Z = common.Z + moved / self.shares[:, None]  # exactly the same if nothing moved
        made = counts[:, MADE] - common.counts[:, MADE]
        counts[:, LEFT] = np.maximum(common.counts[:, LEFT] - made, 0)
        self.state = State(Z, self._averaged(found, Z, counts[:, SEEN, None]), counts)

    def _averaged(self, found: list[State], Z: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """U for which z − u/steps is the mean of the weights after each step, in all partitions."""
        common = self.state
        if not common.U.shape[1]:
            return common.U
        total = common.counts[:, SEEN, None] * common.Z - common.U
        for one in found:
            total = total + (one.counts[:, SEEN, None] * one.Z - one.U)
        return np.asarray(steps * Z - total)

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the machines only."""
        super().keep(which)
        self.shares = self.shares[which]


def _visited(part: Part, visit: Visit, state: State) -> State:
    """The state after a partition: what an epoch over these rows alone would do with it."""
    state = State(state.Z.copy(), state.U.copy(), state.counts.copy())
    examples, machines = visit.form.examples(part), seen(visit.machines, part.codes)
    rng = np.random.default_rng(visit.seed)
    for running in in_groups(examples, machines, state, visit.settings):
        if not len(running.machines[0].members):
            continue
        for piece in running.pieces(next(running.orders(rng))):
            running.visit_all(piece)
    return state


def _apart(part: Part, state: State, visit: Visit) -> State:
    return _visited(part, visit, state)
