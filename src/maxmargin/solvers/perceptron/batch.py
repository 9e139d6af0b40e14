"""Gradient descent on the perceptron risk (``risk``), with steps of fixed or exact length.

The run ends when V, the misclassified rows, is empty: R(z) = 0 with z ≠ 0, since at z = 0 every row is
in V. With a fixed step the mistake-bound argument holds for the sums, and separable data is separated
after finitely many steps.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count as counting
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.history import History, Trace, Update
from maxmargin.core.keeping import next_stage
from maxmargin.core.state_forms import (
    StateError,
    count,
    counts,
    each,
    entries,
    instance,
    maybe,
    numbers,
    whole,
)
from maxmargin.solvers.perceptron.logbook import Logbook
from maxmargin.solvers.perceptron.risk import BUNDLE, Bundle, Slope
from maxmargin.solvers.problem import Observer, Problem, Solution, solution_form, trace_form
from maxmargin.stopping import Progress, StoppingRule, remembered, remind


def batch_perceptron(
    problem: Problem[Any],
    risk: Slope,
    start: np.ndarray,
    step: float | str,
    stop: StoppingRule,
    observer: Observer,
    record: bool,
) -> list[Solution]:
    """Descend with some machines together, until each has a reason to stop."""
    stage = next_stage()
    if stage.finished is not None:
        finished: list[Solution] = stage.finished
        each(solution_form(start.shape[1]), len(start))(finished, "the result")
        return finished
    problem = replace(problem, began=problem.began - stage.elapsed)
    logs = [Logbook(problem, machine, stop) for machine in risk.machines]
    runs = [_Run(log, Trace(z.copy()) if record else None) for log, z in zip(logs, start, strict=True)]
    first, Z, active = 1, start.copy(), runs
    if stage.saved is not None:
        _check(stage.saved, start.shape, record)
        first, Z = stage.saved["epoch"] + 1, stage.saved["Z"]
        active = _go_on(stage.saved, risk, runs)
    risk.look(Z)
    for epoch in counting(first):
        before, wrong, R = Z, risk.wrong, risk.risk
        Z = risk.step(Z, step, [run.bundle for run in active])
        risk.look(Z)
        asked = observer(epoch, int(wrong.sum()), Z.copy)
        # Only with a fixed step is the next z a function of this one, and repetition a proof.
        stepped = _Step(epoch, before, Z, wrong, R, repeats=not isinstance(step, str))
        _close_epoch(problem, risk, active, stepped, asked)
        going_on = np.array([run.log.reason is None for run in active])
        if not going_on.any():
            break
        if not going_on.all():
            active, Z = [run for run in active if run.log.reason is None], Z[going_on]
            risk.keep(going_on)
        if stage.due():
            stage.keep({"epoch": epoch, "Z": Z, **_kept(runs)})
    return stage.finish([run.solution for run in runs])


@dataclass
class _Run:
    """One machine among those that descend together."""

    log: Logbook
    trace: Trace | None
    bundle: Bundle = field(default_factory=Bundle)
    mistakes: int = 0
    updates: int = 0
    solution: Solution = field(init=False)


class _Step(NamedTuple):
    """One step of all machines."""

    epoch: int
    before: np.ndarray
    after: np.ndarray
    wrong: np.ndarray  # |V| before it
    risk: np.ndarray  # R before it
    repeats: bool


def _close_epoch(
    problem: Problem[Any], risk: Slope, active: list[_Run], step: _Step, asked: bool
) -> None:
    """Ask the rules, write down the step, and finish the runs that have a reason to stop."""
    valid = problem.validation_errors(risk.machines, step.after.copy)
    for j, run in enumerate(active):
        z, wrong, size = step.after[j], int(step.wrong[j]), int(risk.sizes[j])
        run.mistakes += wrong
        run.updates += wrong > 0
        progress = Progress(
            epoch=step.epoch,
            updates=run.updates,
            mistakes=wrong,
            all_correct=bool(risk.wrong[j] == 0),
            seconds=time.perf_counter() - problem.began,
            weights=z,
            before=step.before[j],
            training_error=float(risk.wrong[j]) / size,
            validation_error=valid[j],
            repeats=step.repeats,
            verdict=run.log.verdict,
        )
        run.log.close_epoch(progress, z, asked=asked, risk=float(risk.risk[j]))
        if run.trace is not None and wrong:
            run.trace.append(Update(step.epoch, -1, -float(step.risk[j]), z.copy()))
        if run.log.reason is not None:
            run.solution = Solution(
                z=z.copy(),
                reason=run.log.reason,
                history=run.log.history,
                state=z.copy(),
                mistakes=run.mistakes,
                trace=run.trace,
                steps=step.epoch * size,
            )


def _kept(runs: list[_Run]) -> dict[str, Any]:
    """All that is needed to go on from here, after an epoch."""
    active = [k for k, run in enumerate(runs) if run.log.reason is None]
    return {
        "active": active,
        "bundles": [runs[k].bundle.pulls for k in active],
        "mistakes": np.array([run.mistakes for run in runs]),
        "updates": np.array([run.updates for run in runs]),
        "traces": [run.trace for run in runs],
        "solutions": [None if run.log.reason is None else run.solution for run in runs],
        "histories": [run.log.history for run in runs],
        "rules": [remembered(run.log.check) for run in runs],
    }


def _check(saved: Any, shape: tuple[int, ...], record: bool) -> None:
    """Refuse what ``_kept`` does not return."""
    machines, width = shape
    known: dict[str, Any] = saved if type(saved) is dict else {}
    active: Any = known.get("active")
    solutions: Any = known.get("solutions")
    each(whole(0, machines - 1), most=machines)(active, "active")
    each(maybe(solution_form(width)), machines)(solutions, "solutions")
    if active != [k for k, solution in enumerate(solutions) if solution is None]:
        raise StateError("active must be the machines without a solution. Got others instead.")
    trace = trace_form(width) if record else instance(type(None))
    entries(
        epoch=count,
        Z=numbers(len(active), width),
        active=instance(list),
        bundles=each(each(numbers(width), most=BUNDLE), len(active)),
        mistakes=counts(machines),
        updates=counts(machines),
        traces=each(trace, machines),
        solutions=instance(list),
        histories=each(instance(History), machines),
        rules=each(instance(list), machines),
    )(saved, "the state")


def _go_on(saved: Mapping[str, Any], risk: Slope, runs: list[_Run]) -> list[_Run]:
    """Be where ``_kept`` was; return the runs that are active."""
    active = [runs[k] for k in saved["active"]]
    for run, pulls in zip(active, saved["bundles"], strict=True):
        run.bundle.pulls = pulls
    for k, run in enumerate(runs):
        run.mistakes, run.updates = int(saved["mistakes"][k]), int(saved["updates"][k])
        run.trace, run.log.history = saved["traces"][k], saved["histories"][k]
        remind(run.log.check, saved["rules"][k])
        if saved["solutions"][k] is not None:
            run.solution = saved["solutions"][k]
            run.log.reason = run.solution.reason
    risk.keep(np.isin(np.arange(len(runs)), saved["active"]))
    return active
