"""The reduced problem with very many features: dual coordinate descent on the rows that came.

A Hessian of so many features does not travel, nor is it ever formed. The rows nearest to the margin come
here as they are, sparse; all others keep their side. If all rows are here, this is the problem of one
machine, solved as there. Otherwise coordinate descent begins at the sum v₀ of the others, and so solves
the reduced problem; it works in the user's coordinates, where rows stay sparse.
"""

from __future__ import annotations

import time

import numpy as np

from maxmargin.kernels.descent import BALANCE, GAP
from maxmargin.solvers.margin.balance import balanced
from maxmargin.solvers.margin.descent import Descent
from maxmargin.solvers.margin.duel import Duel, square_lengths
from maxmargin.solvers.margin.machines import solve_margins
from maxmargin.solvers.margin.passes import Budget
from maxmargin.solvers.margin.reduced import Reduced
from maxmargin.solvers.margin.tasks import Task
from maxmargin.solvers.remote.rule import Plane

__all__ = ["solve_wide"]

EPOCHS = 500


def solve_wide(problem: Reduced, start: Plane, goal: float, deadline: float) -> tuple[Plane, np.ndarray]:
    """Return a plane, and α of the rows that came; all in the coordinates of their frame."""
    frame, scene = problem.frame, problem.frame.scene
    unit = scene.scale**2
    if not problem.fixed:
        task = Task(frame.y, problem.C / unit)
        (alone,) = solve_margins(frame.rows, [task], frame.pad, goal, Budget(deadline=deadline))
        return Plane(*scene.inside(alone.w, alone.b)), np.minimum(alone.alpha * unit, problem.C)
    duel = Duel(frame.rows, frame.y, problem.C / unit, frame.pad, square_lengths(frame.rows))
    alpha = 0.5 * duel.C
    others = (scene.scale * problem.v0 + problem.s0 * scene.centre) / unit
    walk = Descent(duel)
    walk.start(alpha, others + duel.pull(alpha), scene.outside(*start)[1])
    walk._state[BALANCE] += problem.s0 / unit
    for _ in range(EPOCHS):
        walk.epoch()
        dual = float(walk.alpha.sum()) + problem.fixed / unit - 0.5 * float(walk.w @ walk.w)
        if float(walk._state[GAP]) <= goal * abs(dual) or time.perf_counter() > deadline:
            break
    alpha = np.minimum(walk.alpha * unit, problem.C)
    w = problem.v0 + frame.pull(alpha)
    if frame.pad:
        alpha = balanced(alpha, frame.bias, problem.C, problem.s0)
    return Plane(w, scene.inside(walk.w, walk.bias)[1]), alpha
