"""Perceptrons on rows in partitions: handed from one to the next, or in all of them at once.

Why not the passes of ``online`` and ``pocket``: the rows are elsewhere, and each question to them is a
round over the partitions. What a partition does with a state is what these do with its rows.

*Sequential*: the state goes from partition to partition, each of which visits its rows and hands it on.
With the rows in their order these are the updates of a run in memory, one by one, and the same bits.

*Mixing* (McDonald, Hall and Mann 2010): every partition runs an epoch of its own from the common weights
z, and the next common weights are the mean of what they arrive at,

    z ← z + (1/K) Σ_k (z_k − z),

over the K partitions with rows of the machine. If a unit vector separates the rows with margin γ, the
updates of all partitions together are at most K R²/γ² from z = 0: each raises z·z* by γ/K or more, and
‖z‖² by R²/K or less (the square of a mean is at most the mean of the squares). So there is an epoch in
which no partition makes a mistake; then the common weights are correct on all rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.kernels.perceptron import LEFT, MADE, READ, SEEN
from maxmargin.rows.training_data import Machine, Part
from maxmargin.solvers.perceptron.online import OnUpdate, Passes, Settings, State, grouped
from maxmargin.solvers.problem import Form, RemoteExamples, light, seen

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

    def epoch(
        self,
        state: State,
        rng: np.random.Generator,
        deadline: float = math.inf,
        on_update: OnUpdate | None = None,
    ) -> bool:
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

    def epoch(
        self,
        state: State,
        rng: np.random.Generator,
        deadline: float = math.inf,
        on_update: OnUpdate | None = None,
    ) -> bool:
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
