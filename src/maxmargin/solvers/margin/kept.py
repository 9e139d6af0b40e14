"""Margin machines as a stage of a fit: where they are, what they wrote down, and the time left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from maxmargin.core.keeping import next_stage
from maxmargin.core.state_forms import count, each, entries, instance, listed, maybe, number
from maxmargin.rows import Rows
from maxmargin.solvers.margin.machines import solve_margins
from maxmargin.solvers.margin.passes import Budget, State
from maxmargin.solvers.margin.tasks import Pass, Solved, Task, Way, solved_form

__all__ = ["solve_stage"]


def solve_stage(
    rows: Rows, tasks: Sequence[Task], pad: float, tol: float, budget: Budget, way: Way
) -> tuple[list[Solved], float]:
    """Solve machines that share their rows; return also the deadline for those that follow.

    If an earlier process was here, the machines go on from where they were, with the time they had left.
    """
    stage = next_stage()
    found: State | None = stage.saved if stage.finished is None else stage.finished
    if found is not None:
        _check(found, len(tasks), rows, stage.finished is not None)
    deadline = budget.deadline if found is None else time.perf_counter() + found["left"]

    def record(states: Sequence[State | Solved | None]) -> State:
        ends = [_lines(state) for state in states]
        logs = [[list(line) for line in task.log[:end]] for task, end in zip(tasks, ends, strict=True)]
        return {"machines": list(states), "logs": logs, "left": deadline - time.perf_counter()}

    def offer(states: Sequence[State | Solved | None]) -> None:
        if stage.due():
            stage.keep(record(states))

    machines: Any = None
    if found is not None:
        machines = found["machines"]
        for task, log in zip(tasks, found["logs"], strict=True):
            task.log.extend(Pass(*line) for line in log)
    if stage.finished is not None:
        return machines, deadline
    budget = replace(budget, deadline=deadline)
    solved = solve_margins(rows, tasks, pad, tol, budget, way, machines, offer)
    stage.finish(record(solved))
    return solved, deadline


def _check(found: Any, machines: int, rows: Rows, ended: bool) -> None:
    """Refuse what ``record`` does not return; what a machine's own state holds, the machine looks at."""
    solved, going = solved_form(rows.n, rows.d), entries(part=instance(dict), lines=count)

    def machine(value: Any, name: str) -> None:
        (going if type(value) is dict and not ended else solved)(value, name)

    logs = each(each(listed(count, number, number)), machines)
    one = machine if ended else maybe(machine)
    entries(machines=each(one, machines), logs=logs, left=number)(found, "the state")


def _lines(state: State | Solved | None) -> int | None:
    """How many lines a machine had written down when this was its state."""
    if state is None:
        return 0
    return state["lines"] if isinstance(state, dict) else None
