"""Gradient descent on the perceptron risk (``risk``), with steps of fixed or exact length.

The run ends when V, the misclassified rows, is empty: R(z) = 0 with z ≠ 0, since at z = 0 every row is
in V. With a fixed step the mistake-bound argument holds for the sums, and separable data is separated
after finitely many steps.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from maxmargin.core.keeping import freeze, next_stage, thaw
from maxmargin.core.stopping import Progress, StoppingRule
from maxmargin.core.trace import Trace, Update
from maxmargin.solvers.perceptron.logbook import Logbook
from maxmargin.solvers.perceptron.risk import Bundle, Slope
from maxmargin.solvers.problem import Observer, Problem, Solution

__all__ = ["batch_perceptron"]


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
        return finished
    problem = replace(problem, began=problem.began - stage.elapsed)
    began = problem.began
    logs = [Logbook(problem, m, stop) for m in risk.machines]
    traces = [Trace(z.copy()) if record else None for z in start]
    mistakes, updates = np.zeros(len(start), int), np.zeros(len(start), int)
    solutions: dict[int, Solution] = {}
    active = np.arange(len(start))
    Z, bundles = start.copy(), [Bundle() for _ in start]
    first, saved = 1, stage.saved
    if saved is not None:
        first, Z, active = saved["epoch"] + 1, saved["Z"], np.array(saved["active"])
        mistakes, updates, traces = saved["mistakes"], saved["updates"], saved["traces"]
        solutions = {k: s for k, s in enumerate(saved["solutions"]) if s is not None}
        for log, history, rule in zip(logs, saved["histories"], saved["rules"], strict=True):
            log.history = history
            thaw(log.check, rule)
        bundles = [bundles[k] for k in active]
        for bundle, pulls in zip(bundles, saved["bundles"], strict=True):
            bundle.pulls = pulls
        risk.keep(np.isin(np.arange(len(start)), active))
    risk.look(Z)
    for epoch in count(first):
        before, wrong, R_before = Z, risk.wrong, risk.risk
        Z = risk.step(Z, step, bundles)
        risk.look(Z)
        asked = observer(epoch, int(wrong.sum()), Z.copy)
        valid = problem.validation_errors(risk.machines, Z.copy)
        for j, k in enumerate(active):
            mistakes[k] += wrong[j]
            updates[k] += wrong[j] > 0
            progress = Progress(
                epoch=epoch,
                updates=int(updates[k]),
                mistakes=int(wrong[j]),
                all_correct=bool(risk.wrong[j] == 0),
                seconds=time.perf_counter() - began,
                weights=Z[j],
                before=before[j],
                training_error=float(risk.wrong[j]) / int(risk.sizes[j]),
                validation_error=valid[j],
                # Only with a fixed step is the next z a function of this one, and repetition a proof.
                repeats=not isinstance(step, str),
                verdict=logs[k].verdict,
            )
            logs[k].close_epoch(progress, Z[j], asked=asked, risk=float(risk.risk[j]))
            trace = traces[k]
            if trace is not None and wrong[j]:
                trace.append(Update(epoch, -1, -float(R_before[j]), Z[j].copy()))
            reason = logs[k].reason
            if reason is not None:
                solutions[int(k)] = Solution(
                    z=Z[j].copy(),
                    reason=reason,
                    history=logs[k].history,
                    state=Z[j].copy(),
                    mistakes=int(mistakes[k]),
                    trace=trace,
                    steps=epoch * int(risk.sizes[j]),
                )
        going_on = np.array([logs[k].reason is None for k in active])
        if not going_on.any():
            break
        if not going_on.all():
            active, Z = active[going_on], Z[going_on]
            bundles = [b for b, go in zip(bundles, going_on, strict=True) if go]
            risk.keep(going_on)
        if stage.due():
            stage.keep(
                {
                    "epoch": epoch,
                    "Z": Z,
                    "active": active.tolist(),
                    "bundles": [bundle.pulls for bundle in bundles],
                    "mistakes": mistakes,
                    "updates": updates,
                    "traces": traces,
                    "solutions": [solutions.get(k) for k in range(len(start))],
                    "histories": [log.history for log in logs],
                    "rules": [freeze(log.check) for log in logs],
                }
            )
    return stage.finish([solutions[k] for k in range(len(start))])
