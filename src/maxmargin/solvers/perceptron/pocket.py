"""The pocket algorithm (Gallant 1990): run the perceptron, keep the weights with the fewest errors.

Textbook: after every update count the errors E_in of the new weights, one pass over the data each
time. Here candidates are judged many at a time, with the same outcome (``judging``), and at the end the
pocket is polished (``polishing``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import count as counting
from typing import Any

import numpy as np

from maxmargin.core.history import History
from maxmargin.core.keeping import freeze, next_stage, thaw
from maxmargin.core.rules import Progress, StoppingRule
from maxmargin.core.state_forms import GENERATOR, count, entries, instance, whole
from maxmargin.core.trace import Trace
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.perceptron.judging import Best, Pocket
from maxmargin.solvers.perceptron.logbook import Logbook
from maxmargin.solvers.perceptron.polishing import polish
from maxmargin.solvers.perceptron.recorder import Recorder
from maxmargin.solvers.perceptron.running import Running, Runs, Settings, State
from maxmargin.solvers.problem import (
    Machine,
    Observer,
    Problem,
    Solution,
    solution_form,
    trace_form,
)

__all__ = ["close_epoch", "pocket_perceptron", "solved"]


def _kept(running: Running, pocket: Pocket, log: Logbook, recorder: Recorder | None) -> dict[str, Any]:
    """All that is needed to go on from here, within an epoch."""
    notes = {"history": log.history, "rule": freeze(log.check)}
    return {**running.kept(), **pocket.kept(), **notes, "trace": recorder.trace if recorder else None}


def _check(saved: Any, running: Running, pocket: Pocket) -> None:
    """Refuse what ``_kept`` does not return."""
    trace = trace_form(len(pocket.z)) if running.settings.record else instance(type(None))
    notes = {"history": instance(History), "rule": instance(list), "trace": trace}
    forms = {**running.forms(1), **pocket.forms(), **notes}
    entries(epoch=whole(1, 2**63), pieces=count, rng=GENERATOR, **forms)(saved, "the state")


def _go_on(
    saved: Mapping[str, Any],
    running: Running,
    pocket: Pocket,
    log: Logbook,
    recorder: Recorder | None,
) -> None:
    """Be where ``_kept`` was."""
    running.go_on(saved)
    pocket.go_on(saved)
    log.history = saved["history"]
    thaw(log.check, saved["rule"])
    if recorder is not None:
        recorder.go_on(saved["trace"])


def pocket_perceptron(
    problem: Problem[Examples],
    machine: Machine,
    start: np.ndarray,
    settings: Settings,
    stop: StoppingRule,
    rng: np.random.Generator,
    observer: Observer,
    polishing: bool,
) -> Solution:
    """Run one machine until a rule fires (one of them should be a budget of updates)."""
    stage = next_stage(rng)
    if stage.finished is not None:
        finished: Solution = stage.finished
        solution_form(len(start))(finished, "the result")
        return finished
    problem = replace(problem, began=problem.began - stage.elapsed)
    deadline = problem.began + stop.max_seconds()
    pocket = Pocket(problem.training, machine, start)
    state = State.begin(start[None], average=False, max_updates=stop.max_updates())
    everything = replace(machine, members=pocket.everything)
    running = Running(problem.training, [everything], state, settings)
    log = Logbook(problem, machine, stop)
    recorder = None
    if settings.record:
        recorder = Recorder(problem.training, machine, start, names=machine.members)
    first, seen, saved = 1, 0, stage.saved
    if saved is not None:
        _check(saved, running, pocket)
        rng.bit_generator.state = saved["rng"]
        first, seen = saved["epoch"], saved["pieces"]
        _go_on(saved, running, pocket, log, recorder)
    orders = running.orders(rng)
    for epoch in counting(first):
        drawn = rng.bit_generator.state
        if not seen:
            running.begin_epoch()
        for number, piece in enumerate(running.pieces(next(orders)), 1):
            if number <= seen:
                continue
            for step, row in running.visit(piece):
                pocket.offer(int(running.updates[0]), state.Z[0])
                if recorder is not None:
                    recorder.record(step, row, state.Z[0])
                if time.perf_counter() >= deadline:
                    break
            if stage.due():
                where = {"epoch": epoch, "pieces": number, "rng": drawn}
                stage.keep({**where, **_kept(running, pocket, log, recorder)})
            if time.perf_counter() >= deadline:
                break
        seen = 0
        pocket.judge()
        running.end_epoch()
        if not running.mistakes[0]:  # nothing new will come from these weights
            pocket.compare(state.Z[0])
        asked = observer(epoch, running.mistakes[0], lambda: pocket.z[None])
        (valid,) = problem.validation_errors([machine], lambda: pocket.z[None])
        now = pocket.count(state.Z[0]) / pocket.total
        close_epoch(log, epoch, 0, running, pocket, now, valid, asked)
        if log.reason is not None:
            break
    errors = pocket.error
    if polishing:
        polish(pocket, rng, deadline)
    return stage.finish(solved(log, 0, running, pocket, errors, recorder.trace if recorder else None))


def close_epoch(
    log: Logbook,
    epoch: int,
    k: int,
    running: Runs,
    pocket: Best,
    running_error: float,
    validation_error: float | None,
    asked: bool,
) -> None:
    """Tell the logbook of machine k what happened in the epoch."""
    progress = Progress(
        epoch=epoch,
        updates=int(running.updates[k]),
        mistakes=running.mistakes[k],
        all_correct=pocket.errors == 0,
        seconds=time.perf_counter() - log.problem.began,
        weights=running.state.Z[k],
        before=running.before[k],
        training_error=pocket.error,
        validation_error=validation_error,
        repeats=running.settings.order == "cyclic",
        pocket=True,
        verdict=log.verdict,
    )
    log.close_epoch(progress, pocket.z, asked=asked, running_error=running_error)


def solved(
    log: Logbook, k: int, running: Runs, pocket: Best, unpolished: float, trace: Trace | None = None
) -> Solution:
    """What the run of machine k leaves behind."""
    assert log.reason is not None
    return Solution(
        z=pocket.z,
        reason=log.reason,
        history=log.history,
        state=running.state.Z[k].copy(),
        mistakes=int(running.updates[k]),
        trace=trace,
        steps=int(running.steps[k]),
        best_update=pocket.found_at,
        best_error=pocket.error,
        unpolished_error=unpolished,
    )
