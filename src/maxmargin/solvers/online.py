"""The online perceptron (Rosenblatt 1958), for one machine or many at once.

Rows are visited one at a time; a row with y(w·x + b) ≤ δ is a mistake and adds η y (x, 1) to (w, b).
If the classes can be separated, at most R²/γ² mistakes are made from z = 0 whatever the order
(Novikoff 1962; with a threshold δ at most (R² + 2δ/η)/γ², in units of η), so an epoch without a
mistake must come; that is where the run ends.
If they cannot, the run ends by one of the stopping rules.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from maxmargin.core.keeping import freeze, next_stage, thaw
from maxmargin.core.stopping import Progress, StoppingRule
from maxmargin.kernels.perceptron import MADE
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
    stage = next_stage(rng)
    if stage.finished is not None:
        finished: list[Solution] = stage.finished
        return finished
    problem = replace(problem, began=problem.began - stage.elapsed)
    began = problem.began
    state = State.begin(start, settings.average, stop.max_updates())
    running = Running(problem.training, machines, state, settings)
    if problem.training.rows.resident:
        running.arrays = problem.training.sketched
    runs = [_Run(problem, m, z, stop, settings) for m, z in zip(machines, start, strict=True)]
    active, members = runs, machines[0].members
    deadline = stop.max_seconds()
    track = problem.track_error or stop.requires("training_error")
    orders = epochs(settings.order, members, rng)
    first, seen = 1, 0  # the epoch to begin with, and its pieces that have been seen
    if stage.saved is not None:
        rng.bit_generator.state = stage.saved["rng"]
        first, seen = stage.saved["epoch"], stage.saved["pieces"]
        active = _go_on(stage.saved, running, runs)
    for epoch in count(first):
        drawn = rng.bit_generator.state
        if not seen:
            running.begin_epoch()
        whole = True
        for number, piece in enumerate(running.pieces(next(orders)), 1):
            if number <= seen:
                continue
            if not settings.record:
                running.visit_all(piece)
            else:
                for step, row in running.visit(piece):
                    active[0].recorder.record(step, row, running.state.Z[0])
            if stage.due():
                where = {"epoch": epoch, "pieces": number, "rng": drawn}
                stage.keep({**where, **_kept(running, runs, active)})
            whole = time.perf_counter() - began < deadline
            if not whole:
                break
        seen = 0
        running.end_epoch()
        asked = observer(epoch, sum(running.mistakes), running.state.predictors)
        errors: Sequence[float | None] = [None] * len(active)
        if track:
            Z = running.state.predictors()
            errors = problem.training.errors(running.positives, Z, members).tolist()
        seconds = time.perf_counter() - began
        for k, run in enumerate(active):
            run.close_epoch(epoch, k, running, seconds, whole, asked, errors[k])
            if run.log.reason is not None:
                run.finish(k, running)
        going_on = [run.log.reason is None for run in active]
        if not any(going_on):
            break
        if not all(going_on):
            running.keep(np.array(going_on))
            active = [run for run in active if run.log.reason is None]
    return stage.finish([run.solution for run in runs])


def _kept(running: Running, runs: list[_Run], active: list[_Run]) -> dict[str, Any]:
    """All that is needed to go on from here, within an epoch."""
    return {
        **running.kept(),
        "active": [runs.index(run) for run in active],
        "runs": [run.kept() for run in runs],
    }


def _go_on(saved: Mapping[str, Any], running: Running, runs: list[_Run]) -> list[_Run]:
    """Be where ``_kept`` was; return the runs that are active."""
    for run, kept in zip(runs, saved["runs"], strict=True):
        run.go_on(kept)
    running.keep(np.isin(np.arange(len(runs)), saved["active"]))
    running.go_on(saved)
    return [runs[k] for k in saved["active"]]


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
        self.log = Logbook(problem, machine, stop)
        self.recorder = Recorder(problem.training, machine, start)

    def close_epoch(
        self,
        epoch: int,
        k: int,
        running: Running,
        seconds: float,
        whole: bool,
        asked: bool,
        error: float | None,
    ) -> None:
        """Tell the logbook what happened in the epoch."""
        mistakes = running.mistakes[k]
        spent = not running.went_through(k)
        clean = whole and mistakes == 0 and not spent
        if spent or (clean and self.settings.order == "random"):  # not every row was looked at
            m = self.problem.training.margins(self.machine, running.state.Z[k], self.machine.members)
            clean = bool(np.all(m > self.settings.threshold))
        progress = Progress(
            epoch=epoch,
            updates=int(running.state.counts[k, MADE]),
            mistakes=mistakes,
            all_correct=clean,
            seconds=seconds,
            weights=running.state.Z[k],
            before=running.before[k],
            training_error=0.0 if clean and not self.settings.average else error,
            repeats=self.settings.order == "cyclic",
            threshold=self.settings.threshold,
        )
        self.log.close_epoch(progress, running.state.predictor(k), asked=asked)

    def kept(self) -> dict[str, Any]:
        """What the run remembers; its result, if it has come to its end."""
        if self.log.reason is not None:
            return {"solution": self.solution}
        trace = self.recorder.trace if self.settings.record else None
        return {"history": self.log.history, "rule": freeze(self.log.check), "trace": trace}

    def go_on(self, kept: Mapping[str, Any]) -> None:
        """Remember what ``kept`` returned."""
        if "solution" in kept:
            self.solution = kept["solution"]
            self.log.reason, self.log.history = self.solution.reason, self.solution.history
            return
        self.log.history = kept["history"]
        thaw(self.log.check, kept["rule"])
        if kept["trace"] is not None:
            self.recorder.go_on(kept["trace"])

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
