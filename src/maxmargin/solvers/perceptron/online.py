"""The online perceptron (Rosenblatt 1958), for one machine or many at once.

Rows are visited one at a time; a row with y(w·x + b) ≤ δ is a mistake and adds η y (x, 1) to (w, b).
If the classes can be separated, at most R²/γ² mistakes are made from z = 0 whatever the order
(Novikoff 1962; with a threshold δ at most (R² + 2δ/η)/γ², in units of η), so an epoch without a
mistake must come; that is where the run ends.
If they cannot, the run ends by one of the stopping rules.

The voted perceptron (Freund and Schapire 1999): all weights vote, each as long as it lived.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count as counting
from typing import Any

import numpy as np

from maxmargin.core.history import History, Trace
from maxmargin.core.keeping import next_stage
from maxmargin.core.state_forms import GENERATOR, Form, StateError, count, each, entries, instance, whole
from maxmargin.kernels.perceptron import MADE
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.perceptron.logbook import Logbook, Recorder
from maxmargin.solvers.perceptron.running import Running, Runs, Settings
from maxmargin.solvers.problem import Machine, Observer, Problem, Solution, solution_form, trace_form
from maxmargin.stopping import Progress, StoppingRule, remembered, remind


def online_perceptron(
    problem: Problem[Any],
    running: Runs,
    stop: StoppingRule,
    rng: np.random.Generator,
    observer: Observer,
) -> list[Solution]:
    """Run machines together until each has a reason to stop.

    ``running`` holds the machines at their start. They visit the rows together, so that each row is
    loaded once for all of them; every machine makes the updates it would make alone.
    """
    stage = next_stage(rng)
    if stage.finished is not None:
        finished: list[Solution] = stage.finished
        each(_solution_form(running), len(running.machines))(finished, "the result")
        return finished
    problem = replace(problem, began=problem.began - stage.elapsed)
    began, settings = problem.began, running.settings
    running.make_ready()
    starts = zip(running.machines, running.state.Z, strict=True)
    runs = [_Run(problem, m, z, stop, settings) for m, z in starts]
    active = runs
    deadline = stop.max_seconds()
    track = problem.track_error or stop.reads_training_error()
    orders = running.orders(rng)
    first, seen = 1, 0  # the epoch to begin with, and its pieces that have been seen
    if stage.saved is not None:
        _check(stage.saved, running, len(runs))
        rng.bit_generator.state = stage.saved["rng"]
        first, seen = stage.saved["epoch"], stage.saved["pieces"]
        active = _go_on(stage.saved, running, runs)
    for epoch in counting(first):
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
                assert isinstance(running, Running)
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
        _close_epoch(epoch, problem, running, active, whole, asked, track)
        going_on = [run.log.reason is None for run in active]
        if not any(going_on):
            break
        if not all(going_on):
            running.keep(np.array(going_on))
            active = [run for run in active if run.log.reason is None]
    return stage.finish([run.solution for run in runs])


def _close_epoch(
    epoch: int,
    problem: Problem[Any],
    running: Runs,
    active: list[_Run],
    whole: bool,
    asked: bool,
    track: bool,
) -> None:
    """Measure what the rules want to know, ask them, and finish the runs that have a reason to stop."""
    machines, Z = running.machines, running.state.predictors
    errors: Sequence[float | None] = [None] * len(active)
    if track:
        errors = problem.training.errors_of(machines, Z()).tolist()
    valid = problem.validation_errors(machines, Z)
    clean = _clean(problem, running, whole)
    seconds = time.perf_counter() - problem.began
    for k, run in enumerate(active):
        run.close_epoch(epoch, k, running, seconds, clean[k], asked, errors[k], valid[k])
    late = [k for k, run in enumerate(active) if run.log.unmeasured]
    if late:
        found = problem.training.errors_of([machines[k] for k in late], Z()[late])
        for k, error in zip(late, found.tolist(), strict=True):
            active[k].log.measure(error)
    for k, run in enumerate(active):
        if run.log.reason is not None:
            run.finish(k, running)


def _clean(problem: Problem[Any], running: Runs, whole: bool) -> list[bool]:
    """Whether all rows of each machine are correct; looked up where not every row was looked at."""
    chance, delta = running.settings.order == "random", running.settings.threshold
    spent = [not running.went_through(k) for k in range(len(running.machines))]
    clean = [whole and made == 0 and not out for made, out in zip(running.mistakes, spent, strict=True)]
    doubt = [k for k in range(len(clean)) if spent[k] or (clean[k] and chance)]
    if doubt:
        some = [running.machines[k] for k in doubt]
        found = problem.training.beyond(some, running.state.Z[doubt], delta)
        for k, answer in zip(doubt, found, strict=True):
            clean[k] = answer
    return clean


def _kept(running: Runs, runs: list[_Run], active: list[_Run]) -> dict[str, Any]:
    """All that is needed to go on from here, within an epoch."""
    return {
        **running.kept(),
        "active": [runs.index(run) for run in active],
        "runs": [run.kept() for run in runs],
    }


def _solution_form(running: Runs) -> Form:
    return solution_form(running.state.Z.shape[1], running.state.U.shape[1])


def _check(saved: Any, running: Runs, machines: int) -> None:
    """Refuse what ``_kept`` does not return."""
    known: dict[str, Any] = saved if type(saved) is dict else {}
    active: Any = known.get("active")
    runs: Any = known.get("runs")
    each(whole(0, machines - 1))(active, "active")
    each(instance(dict), machines)(runs, "runs")
    ended = entries(solution=_solution_form(running))
    trace = trace_form(running.state.Z.shape[1])
    trace = trace if running.settings.record else instance(type(None))
    going = entries(history=instance(History), rule=instance(list), trace=trace)
    for k, run in enumerate(runs):
        (going if k in active else ended)(run, f"runs[{k}]")
    if active != sorted(set(active)):
        raise StateError("active must be ascending. Got something else instead.")
    forms = {**running.forms(len(active)), "active": instance(list), "runs": instance(list)}
    entries(epoch=whole(1, 2**63), pieces=count, rng=GENERATOR, **forms)(saved, "the state")


def _go_on(saved: Mapping[str, Any], running: Runs, runs: list[_Run]) -> list[_Run]:
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
        problem: Problem[Any],
        machine: Machine,
        start: np.ndarray,
        stop: StoppingRule,
        settings: Settings,
    ) -> None:
        self.settings = settings
        self.log = Logbook(problem, machine, stop)
        if settings.record:
            self.recorder = Recorder(problem.training, machine, start)

    def close_epoch(
        self,
        epoch: int,
        k: int,
        running: Runs,
        seconds: float,
        clean: bool,
        asked: bool,
        error: float | None,
        validation_error: float | None,
    ) -> None:
        """Tell the logbook what happened in the epoch."""
        progress = Progress(
            epoch=epoch,
            updates=int(running.state.counts[k, MADE]),
            mistakes=running.mistakes[k],
            all_correct=clean,
            seconds=seconds,
            weights=running.state.Z[k],
            before=running.before[k],
            training_error=0.0 if clean and not self.settings.average else error,
            validation_error=validation_error,
            repeats=self.settings.order == "cyclic",
            threshold=self.settings.threshold,
            verdict=self.log.verdict,
        )
        self.log.close_epoch(progress, running.state.predictor(k), asked=asked)

    def kept(self) -> dict[str, Any]:
        """What the run remembers; its result, if it has come to its end."""
        if self.log.reason is not None:
            return {"solution": self.solution}
        trace = self.recorder.trace if self.settings.record else None
        return {"history": self.log.history, "rule": remembered(self.log.check), "trace": trace}

    def go_on(self, kept: Mapping[str, Any]) -> None:
        """Remember what ``kept`` returned."""
        if "solution" in kept:
            self.solution = kept["solution"]
            self.log.reason, self.log.history = self.solution.reason, self.solution.history
            return
        self.log.history = kept["history"]
        remind(self.log.check, kept["rule"])
        if kept["trace"] is not None:
            self.recorder.go_on(kept["trace"])

    def finish(self, k: int, running: Runs) -> None:
        """Take the machine's share out of the running arrays."""
        assert self.log.reason is not None
        self.solution = Solution(
            z=running.state.predictor(k).copy(),
            reason=self.log.reason,
            history=self.log.history,
            state=running.state.Z[k].copy(),
            mistakes=int(running.updates[k]),
            trace=self.recorder.trace if self.settings.record else None,
            average=running.state.U[k].copy(),
            steps=int(running.steps[k]),
        )


TOGETHER = 256  # weights that vote in one pass


def vote(examples: Examples, trace: Trace, steps: int) -> np.ndarray:
    """Return for each row the votes for +1 minus those for −1, as a share of all ``steps``.

    The weights after step t vote once for every t, so weights that an update at step s brought about
    have as many votes as steps pass until the next update.
    """
    born = np.array([1, *(update.step for update in trace)])
    lives = np.diff(np.append(born, steps + 1))
    total = np.zeros(examples.rows.n)
    for start in range(0, len(lives), TOGETHER):
        part = np.s_[start : start + TOGETHER]
        F = examples.decisions(np.ascontiguousarray(trace.weights[part]))
        total += lives[part] @ np.where(F > 0, 1.0, -1.0)
    return total / max(steps, 1)
