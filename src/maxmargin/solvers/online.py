"""The online perceptron (Rosenblatt 1958), for one machine or many at once.

Rows are visited one at a time; a row with y(w·x + b) ≤ δ is a mistake and adds η y (x, 1) to (w, b).
If the classes can be separated, at most R²/γ² mistakes are made from z = 0 whatever the order
(Novikoff 1962; with a threshold δ at most (R² + 2δ/η)/γ², in units of η), so an epoch without a
mistake must come; that is where the run ends.
If they cannot, the run ends by one of the stopping rules.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count

import numpy as np

from maxmargin.core.stopping import StoppingRule
from maxmargin.kernels.sketch import with_sketch, worth_sketching
from maxmargin.solvers.logbook import Logbook
from maxmargin.solvers.orders import epochs
from maxmargin.solvers.problem import Machine, Observer, Problem, Solution
from maxmargin.solvers.running import Recorder, Running, Settings, State

__all__ = ["online_perceptron"]


def online_perceptron(
    problem: Problem,
    machines: Sequence[Machine],
    start: np.ndarray,
    settings: Settings,
    stop: StoppingRule,
    rng: np.random.Generator,
    observer: Observer,
) -> list[Solution]:
    """Run machines that share their rows until each has a reason to stop.

    ``start`` holds one z per machine. All machines visit the rows in the same order, so that each
    row is loaded once for all of them; every machine makes the updates it would make alone.
    """
    began = time.perf_counter()
    state = State.begin(start, settings.average, stop.max_updates())
    running = Running(problem.training, machines, state, settings)
    if worth_sketching(problem.training.rows):
        running.arrays = with_sketch(problem.training.rows).arrays
    runs = [_Run(problem, m, z, stop, settings) for m, z in zip(machines, start, strict=True)]
    active = runs
    orders = epochs(settings.order, machines[0].members, problem.training.rows, rng)
    for epoch in count(1):
        running.begin_epoch()
        whole = True
        for piece in running.pieces(next(orders)):
            for step, row in running.visit(piece, one_by_one=settings.record):
                active[0].recorder.record(step, row, running.state.Z[0])
            whole = time.perf_counter() - began < stop.max_seconds()
            if not whole:
                break
        running.end_epoch()
        asked = observer(epoch, int(running.mistakes.sum()), running.state.Z)
        for k, run in enumerate(active):
            run.close_epoch(k, running, time.perf_counter() - began, whole, asked)
        going_on = np.array([run.log.reason is None for run in active])
        for k, run in enumerate(active):
            if not going_on[k]:
                run.finish(k, running)
        active = [run for run in active if run.log.reason is None]
        if not active:
            break
        running.keep(going_on)
    return [run.solution for run in runs]


class _Run:
    """One machine among those that run together."""

    solution: Solution

    def __init__(
        self,
        problem: Problem,
        machine: Machine,
        start: np.ndarray,
        stop: StoppingRule,
        settings: Settings,
    ) -> None:
        self.problem = problem
        self.machine = machine
        self.settings = settings
        repeats = settings.order == "cyclic"
        self.log = Logbook(problem, machine, stop, repeats=repeats, threshold=settings.threshold)
        self.recorder = Recorder(problem.training, machine, start)

    def close_epoch(self, k: int, running: Running, seconds: float, whole: bool, asked: bool) -> None:
        """Tell the logbook what happened in the epoch."""
        mistakes = int(running.mistakes[k])
        clean = whole and mistakes == 0 and running.went_through(k)
        if clean and self.settings.order == "random":  # not every row was drawn
            m = self.problem.training.margins(self.machine, running.state.Z[k], self.machine.members)
            clean = bool(np.all(m > self.settings.threshold))
        self.log.close_epoch(
            z=running.state.predictor(k),
            weights=running.state.Z[k],
            before=running.before[k],
            mistakes=mistakes,
            updates=int(running.updates[k]),
            all_correct=clean,
            seconds=seconds,
            training_error=0.0 if clean and not self.settings.average else None,
            asked=asked,
        )

    def finish(self, k: int, running: Running) -> None:
        """Take the machine's share out of the running arrays."""
        assert self.log.reason is not None
        self.solution = Solution(
            z=running.state.predictor(k),
            reason=self.log.reason,
            history=self.log.history,
            state=running.state.Z[k].copy(),
            mistakes=int(running.updates[k]),
            trace=self.recorder.trace if self.settings.record else None,
            average=running.state.U[k].copy(),
            steps=int(running.steps[k]),
        )
