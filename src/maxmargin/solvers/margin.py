"""Margin machines on shared rows: from the user's coordinates to the solver's, and back.

The dual point that comes back is feasible: its multipliers lie within their bounds and balance,
Σ α_i y_i = 0, to rounding; so its value is a true bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from maxmargin.rows import Rows
from maxmargin.solvers.balance import balanced, to_scale
from maxmargin.solvers.finish import State, finish
from maxmargin.solvers.frame import Frame, set_scene
from maxmargin.solvers.gram import gram_frames, worth_gram
from maxmargin.solvers.hardmargin import hard_margin
from maxmargin.solvers.passes import Budget, Course, MarginPoint, Plane, run_together
from maxmargin.solvers.softmargin import soft_margin

__all__ = ["Pass", "Solved", "Start", "Task", "solve_margins"]


class Pass(NamedTuple):
    """Primal and dual value after a pass over the data."""

    n_passes: int
    primal: float
    dual: float


@dataclass(frozen=True)
class Start:
    """Where a warm start begins: a plane and its multipliers."""

    w: np.ndarray
    b: float
    alpha: np.ndarray


@dataclass(frozen=True)
class Task:
    """One machine: labels ±1, and the bounds C_i on the multipliers, or None for a hard margin."""

    y: np.ndarray
    C: np.ndarray | None
    start: Start | None = None
    log: list[Pass] = field(default_factory=list, compare=False)  # written while it is solved


@dataclass(frozen=True)
class Solved:
    """The optimum of one machine in the user's coordinates, or multipliers that cancel."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    passes: int
    meets: bool = False  # no plane separates, to rounding: the multipliers are weights that cancel
    doubtful: bool = False  # found in n coordinates, and not so on the rows


def solve_margins(
    rows: Rows, tasks: Sequence[Task], pad: float, tol: float, budget: Budget
) -> list[Solved]:
    """Solve machines on the same rows together."""
    scene = set_scene(rows, pad)
    frames = [Frame(rows, task.y, pad, scene) for task in tasks]
    work = gram_frames(frames) if worth_gram(frames[0]) else frames
    budget = replace(budget, outside=scene.outside if work is frames else None)
    courses = [
        _course(inner, frame, task, tol, _logging(budget, task, frame))
        for inner, frame, task in zip(work, frames, tasks, strict=True)
    ]
    found = run_together(work, courses)
    solved = []
    for frame, inner, task, point in zip(frames, work, tasks, found, strict=True):
        result = _outside(frame, task, point, inner is not frame)
        if inner is not frame and (point.meets or result.doubtful):  # ask the rows themselves
            again = _course(frame, frame, task, tol, _logging(budget, task, frame))
            (point,) = run_together([frame], [again])
            result = _outside(frame, task, point, combined=False)
        solved.append(result)
    return solved


def _logging(budget: Budget, task: Task, frame: Frame) -> Budget:
    """The budget of one machine, with its values written down in the user's units."""
    unit = frame.scene.scale**2

    def report(point: MarginPoint, plane: Plane | None) -> bool:
        task.log.append(Pass(point.passes, point.primal / unit, point.dual / unit))
        return budget.report(point, plane)

    return replace(budget, report=report)


def _course(work: Frame, frame: Frame, task: Task, tol: float, budget: Budget) -> Course:
    if task.C is None:
        return hard_margin(work, tol, budget)
    unit = frame.scene.scale**2  # multipliers and their bounds are larger by this factor inside
    start = None
    if task.start is not None and work is frame:
        w, b = frame.scene.inside(task.start.w, task.start.b)
        alpha = np.clip(task.start.alpha, 0.0, task.C) * unit
        start = MarginPoint(w, b, alpha, frame.pull(alpha))
    return soft_margin(work, task.C * unit, tol, budget, start)


def _outside(frame: Frame, task: Task, point: MarginPoint, combined: bool) -> Solved:
    """Return to the user's coordinates, with balanced multipliers."""
    unit = frame.scene.scale**2
    alpha, passes = point.alpha, point.passes
    if point.meets:
        return Solved(np.zeros(frame.d), 0.0, alpha / unit, passes, meets=True)
    C = np.broadcast_to(math.inf, frame.n) if task.C is None else task.C * unit
    if frame.pad:
        alpha = balanced(alpha, frame.y, C)
    w, b, doubtful = point.w, point.b, False
    if combined:  # n coordinates: w is known through its combination of rows only
        w = frame.pull(alpha)
        passes += 1
        free = np.flatnonzero((alpha > 0.0) & (alpha < C))
        solved = finish(frame, free, C, State(w, b, alpha, w, float(alpha @ frame.bias)))
        if solved is not None:
            w, b, alpha = solved
    if task.C is None:
        v = w if combined else frame.pull(alpha)
        length = float(v @ v)
        if length > 0.0:
            alpha = to_scale(alpha, float(alpha.sum()) / length, frame.scene.uneven)
        if combined:
            least = float(frame.values(w, b).min())
            passes += 1
            doubtful = least <= 0.0
            if not doubtful:
                w, b = w / least, b / least
    w, b = frame.scene.outside(w, b)
    alpha = alpha / unit
    if task.C is not None:
        alpha = np.minimum(alpha, task.C)
    return Solved(w, b if frame.pad else 0.0, alpha, passes, doubtful=doubtful)
