"""A guess in floating point: a plane that may separate, or rows that may cancel.

The hard-margin machine finds the plane of largest margin, or multipliers that grow without bound on a
few rows. Nothing here is trusted: signs and sums are checked exactly afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.core.deadline import Deadline
from maxmargin.rows import Rows
from maxmargin.solvers.exact.face import Face
from maxmargin.solvers.margin.machines import solve_margins
from maxmargin.solvers.margin.passes import SMALL, Budget
from maxmargin.solvers.margin.tasks import Solved, Task

__all__ = ["Guess", "guess_inside", "guess_plane"]

ROUGH = 0.5  # gap that will do for a plane through a face


class Guess(NamedTuple):
    """What floating point says."""

    w: np.ndarray
    b: float
    support: np.ndarray  # rows on the edges of the slab, or rows that may cancel
    alpha: np.ndarray  # their multipliers
    meets: bool
    passes: int


def guess_plane(rows: Rows, y: np.ndarray, pad: float, tol: float, deadline: Deadline) -> Guess | None:
    """Ask the hard-margin machine; None if numbers leave the range of doubles."""
    try:
        with np.errstate(all="ignore"):  # whatever comes out is checked
            (solved,) = solve_margins(rows, [Task(y, None)], pad, tol, Budget(deadline=deadline.end))
    except (ArithmeticError, ValueError, np.linalg.LinAlgError):  # numbers out of range
        return None
    deadline.check()
    return _guess(solved)


def _guess(solved: Solved) -> Guess:
    support = np.flatnonzero(solved.alpha)
    return Guess(solved.w, solved.b, support, solved.alpha[support], solved.meets, solved.passes)


def guess_inside(face: Face, alive: np.ndarray, tol: float) -> Guess | None:
    """The same among the planes that contain a face, for the rows that are left.

    Large rows need no more than some plane, since it has no margin to be reported.
    """
    G = face.quotient_rows(alive)
    if not np.all(np.isfinite(G.column_reach)):
        return None
    tol = tol if G.entries <= SMALL else max(tol, ROUGH)
    return guess_plane(G, np.ones(len(alive)), 0.0, tol, face.rows.deadline)
