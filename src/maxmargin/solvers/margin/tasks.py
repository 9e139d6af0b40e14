"""What is asked of the solvers of margin machines, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

__all__ = ["Pass", "Solved", "Start", "Task", "Way"]


class Way(NamedTuple):
    """How to solve: a word (see :mod:`maxmargin.solvers.margin.choice`), how many machines at a time."""

    solver: str = "auto"
    jobs: int = 1


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
    solver: str = "newton"  # or "descent" or "mixed": how it was found
