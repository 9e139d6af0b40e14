"""The pocket algorithm on partitions: candidates are noted on the way, and judged on all rows at once.

To count the errors of weights takes a round over all partitions, so not every update can be judged. An
epoch hands the running weights from partition to partition, and of the weights it goes through, the 64
that stay correct longest become candidates (the longer weights are correct on the rows that pass by, the
fewer errors they are likely to make: Gallant 1990), together with the last ones. One round then counts
the errors of all candidates on all rows, exactly, and the best goes into the pocket. Where an epoch
makes no more than 64 updates, all of them are judged, and the pocket is that of a run in memory.

At the end the pocket is polished on a sample of the rows, by the same searches as in memory, and one
more round counts the errors of what they find on all rows.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from maxmargin.kernels.perceptron import MADE
from maxmargin.rows.partitions import Part
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.perceptron.logbook import Logbook
from maxmargin.solvers.perceptron.pocket import Best, Pocket, close_epoch, polish, solved
from maxmargin.solvers.perceptron.running import Running, State
from maxmargin.solvers.problem import Machine, Observer, Problem, Solution
from maxmargin.solvers.remote.online import RemoteExamples, Sequential, Turn, Visit, light, seen
from maxmargin.stopping import StoppingRule

CANDIDATES = 64  # per epoch, beside the weights at its end


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

    def candidates(self, z: np.ndarray) -> tuple[list[int | None], np.ndarray]:
        """Updates and weights of all candidates in their order, the weights at hand last."""
        noted = sorted((-number, weights) for _, number, weights in self.best)
        return [*(number for number, _ in noted), self.update], np.array([*(w for _, w in noted), z])


class Pursuit(Sequential):
    """Machines that are handed from partition to partition and note candidates on their way."""

    trails: list[Trail]

    def begin_epoch(self) -> None:
        """Begin with no candidates."""
        super().begin_epoch()
        self.trails = [Trail() for _ in self.machines]

    def visit_all(self, order: list[Turn]) -> None:
        """Go through some partitions, one after the other."""
        numbers, own = [number for number, _ in order], self._visits(order)
        start = self.state, self.trails
        self.state, self.trails = self.rows.along(_pursued, start, numbers, own)


def _pursued(part: Part, visit: Visit, before: tuple[State, list[Trail]]) -> tuple[State, list[Trail]]:
    """State and candidates after a partition."""
    (given, trails), rng = before, np.random.default_rng(visit.seed)
    state = State(given.Z.copy(), given.U, given.counts.copy())
    trails = [Trail(list(trail.best), trail.update, trail.born) for trail in trails]
    examples = visit.form.examples(part)
    for k, (machine, trail) in enumerate(zip(seen(visit.machines, part.codes), trails, strict=True)):
        if not len(machine.members):
            continue
        mine = state.part(np.s_[k : k + 1])
        running = Running(examples, [machine], mine, visit.settings)
        z = mine.Z[0].copy()
        for piece in running.pieces(next(running.orders(rng))):
            for step, _ in running.visit(piece):
                trail.offer(step, z)
                z, trail.update, trail.born = mine.Z[0].copy(), int(mine.counts[0, MADE]), step
    return state, trails


def remote_pockets(
    problem: Problem[RemoteExamples],
    running: Pursuit,
    totals: Sequence[float],
    stop: StoppingRule,
    rng: np.random.Generator,
    observer: Observer,
) -> list[Solution]:
    """Run machines together until each has a reason to stop; ``totals`` weigh all their rows."""
    deadline = problem.began + stop.max_seconds()
    errors = problem.training.weights(running.machines, list(running.state.Z[:, None]))
    starts = zip(running.state.Z, errors, totals, strict=True)
    pockets = [Best(z, float(error[0]), total) for z, error, total in starts]
    logs = [Logbook(problem, machine, stop) for machine in running.machines]
    active, orders = np.arange(len(logs)), running.orders(rng)
    solutions: dict[int, Solution] = {}
    for epoch in count(1):
        running.begin_epoch()
        for piece in running.pieces(next(orders)):
            running.visit_all(piece)
            if time.perf_counter() >= deadline:
                break
        running.end_epoch()
        now = _judge(problem.training, running, [pockets[k] for k in active])
        best = np.array([pockets[k].z for k in active])
        asked = observer(epoch, sum(running.mistakes), best.copy)
        valid = problem.validation_errors(running.machines, best.copy)
        for j, k in enumerate(active.tolist()):
            close_epoch(logs[k], epoch, j, running, pockets[k], now[j], valid[j], asked)
            if logs[k].reason is not None:
                solutions[k] = solved(logs[k], j, running, pockets[k], pockets[k].error)
        going_on = np.array([logs[k].reason is None for k in active])
        if not going_on.any():
            break
        if not going_on.all():
            active = active[going_on]
            running.keep(going_on)
    return [solutions[k] for k in range(len(logs))]


def _judge(examples: RemoteExamples, running: Pursuit, pockets: Sequence[Best]) -> list[float]:
    """Put the best candidates into the pockets: one round; return E_in of the weights at hand."""
    pairs = zip(running.trails, running.state.Z, strict=True)
    found = [trail.candidates(z) for trail, z in pairs]
    errors = examples.weights(running.machines, [Z for _, Z in found])
    for pocket, (updates, Z), wrong in zip(pockets, found, errors, strict=True):
        for update, z, error in zip(updates, Z, wrong.tolist(), strict=True):
            pocket.take(z, error, update)
    return [float(wrong[-1]) / pocket.total for pocket, wrong in zip(pockets, errors, strict=True)]


def polish_on(
    sample: Examples,
    stands_for: np.ndarray,
    examples: RemoteExamples,
    machines: Sequence[Machine],
    solutions: Sequence[Solution],
    totals: Sequence[float],
    rng: np.random.Generator,
    deadline: float,
) -> None:
    """Improve pockets on a sample; what is better on all rows, too, is taken: one round.

    ``stands_for`` says for each class how many rows a row of the sample stands for.
    """
    found = []
    for machine, solution in zip(machines, solutions, strict=True):
        mine = replace(machine.on(sample.codes), class_weight=machine.class_weight * stands_for)
        pocket = Pocket(sample.restricted(mine.members), mine, solution.z)
        polish(pocket, rng, deadline)
        found.append(pocket.z)
    errors = examples.weights(light(machines), [z[None] for z in found])
    for solution, z, error, total in zip(solutions, found, errors, totals, strict=True):
        best = Best(solution.z, solution.best_error * total, total)
        best.take(z, float(error[0]))
        solution.z, solution.best_error = best.z, best.error
