"""The pocket algorithm on rows in partitions: candidates are noted on the way, and judged on all rows.

Why not the search of ``pocket``: to count the errors of weights takes a round over all partitions, so
not every update can be judged. An epoch hands the running weights from partition to partition, and of
the weights it goes through, the 64 that stay correct longest become candidates (the longer weights are
correct on the rows that pass by, the fewer errors they are likely to make: Gallant 1990), together with
the last ones. One round then counts the errors of all candidates on all rows, exactly, and the best goes
into the pocket. Where an epoch makes no more than 64 updates, all of them are judged, and the pocket is
that of a run in memory.

At the end the pocket is polished on a sample of the rows, by the same searches as in memory, and one
more round counts the errors of what they find on all rows.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from maxmargin.kernels.perceptron import MADE
from maxmargin.rows.survey import sample
from maxmargin.rows.training_data import Machine, Part
from maxmargin.solvers.perceptron.epochs import Pockets, Settings, State
from maxmargin.solvers.perceptron.online import LocalPasses, Sequential, Visit
from maxmargin.solvers.perceptron.pocket import LocalPocket, PocketPasses, polish
from maxmargin.solvers.problem import Examples, RemoteExamples, seen

CANDIDATES = 64  # per epoch, beside the weights at its end

SAMPLED_ENTRIES = 1 << 20  # numbers that are brought here to polish on


def drawn(examples: RemoteExamples) -> tuple[Examples, np.ndarray]:
    """Return some rows, and how many rows a row of each class stands for: one round."""
    data, form = examples.data, examples.form
    some = sample(data, max(4 * (data.rows.d + 1), SAMPLED_ENTRIES * data.rows.n // data.entries))
    return form.examples(Part(some.rows, some.codes)), some.stands_for


@dataclass
class Trail:
    """Candidates of one machine in an epoch: how long they stayed correct, their update and weights."""

    best: list[tuple[int, int, np.ndarray]] = field(default_factory=list)  # a heap: the shortest first
    update: int | None = None  # by which the weights at hand came about, if in this epoch
    born: int = 0  # the step of that update

    def offer(self, step: int, z: np.ndarray) -> None:
        """Weights that were wrong at a step: note them if they had been correct for long."""
        if self.update is None:
            return  # from an earlier epoch, at whose end they were judged
        life = step - 1 - self.born, -self.update, z  # of equal lives the earlier one is kept
        if len(self.best) < CANDIDATES:
            heapq.heappush(self.best, life)
        else:
            heapq.heappushpop(self.best, life)

    def follow(self, passes: LocalPasses, state: State, rng: np.random.Generator) -> None:
        """Go through the rows of a partition with the machine, and note the weights that it leaves."""
        z = state.Z[0].copy()

        def on_update(step: int, row: int, now: np.ndarray) -> None:
            nonlocal z
            self.offer(step, z)
            z, self.update, self.born = now.copy(), int(state.counts[0, MADE]), step

        passes.on_update = on_update
        passes.epoch(state, rng)

    def candidates(self, z: np.ndarray) -> tuple[list[int | None], np.ndarray]:
        """Updates and weights of all candidates in their order, the weights at hand last."""
        noted = sorted((-number, weights) for _, number, weights in self.best)
        return [*(number for number, _ in noted), self.update], np.array([*(w for _, w in noted), z])


class PartitionPocket(PocketPasses, Sequential):
    """Machines that are handed from partition to partition and note candidates on their way."""

    def __init__(
        self,
        examples: RemoteExamples,
        machines: Sequence[Machine],
        start: np.ndarray,
        settings: Settings,
    ) -> None:
        super().__init__(examples, machines, settings)
        errors = [float(error[0]) for error in examples.weights(machines, list(start[:, None]))]
        self.pockets = Pockets(start, errors, examples.totals(machines))

    def epoch(self, state: State, rng: np.random.Generator, deadline: float = math.inf) -> bool:
        """Visit all rows once, and put the best of the candidates into the pockets: one more round."""
        going = state.going()
        carried = state.part(going), [Trail() for _ in going]
        (part, trails), in_time = self.along(_pursued, carried, self.turns(going, rng), deadline)
        state.put(going, part)
        found = [trail.candidates(z) for trail, z in zip(trails, part.Z, strict=True)]
        machines = [self.machines[k] for k in going]
        errors = self.examples.weights(machines, [Z for _, Z in found])
        for k, (updates, Z), wrong in zip(going.tolist(), found, errors, strict=True):
            for update, z, error in zip(updates, Z, wrong.tolist(), strict=True):
                self.pockets.take(k, z, error, update)
            self.pockets.running[k] = wrong[-1]
        return in_time

    def polish(self, rng: np.random.Generator, deadline: float) -> None:
        """Improve pockets on a sample; what is better on all rows, too, is taken: one round."""
        if not np.any(self.pockets.errors > 0):
            return
        (some, stands_for), found = drawn(self.examples), []
        for machine, z in zip(self.machines, self.pockets.Z, strict=True):
            mine = replace(machine.on(some.codes), class_weight=machine.class_weight * stands_for)
            pocket = LocalPocket(some.restricted(mine.members), mine, z, self.settings)
            polish(pocket, rng, deadline)
            found.append(pocket.z)
        errors = self.examples.weights(self.machines, [z[None] for z in found])
        for k, (z, error) in enumerate(zip(found, errors, strict=True)):
            self.pockets.take(k, z, float(error[0]))


def _pursued(part: Part, visit: Visit, before: tuple[State, list[Trail]]) -> tuple[State, list[Trail]]:
    """State and candidates after a partition."""
    (given, trails), rng = before, np.random.default_rng(visit.seed)
    state = State(given.Z.copy(), given.U, given.counts.copy())
    trails = [Trail(list(trail.best), trail.update, trail.born) for trail in trails]
    examples = visit.form.examples(part)
    for k, (machine, trail) in enumerate(zip(seen(visit.machines, part.codes), trails, strict=True)):
        if len(machine.members):
            mine = state.part(np.s_[k : k + 1])
            trail.follow(LocalPasses(examples, [machine], visit.settings), mine, rng)
    return state, trails
