"""What is asked of the solvers of margin machines, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from maxmargin.core.state_forms import Form, count, flag, instance, number, numbers, record

__all__ = ["Pass", "Solved", "Start", "Task", "Way", "solved_form"]


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


def solved_form(n: int, d: int) -> Form:
    """What the optimum on n rows of d features must look like; see ``core.state_forms``."""
    return record(
        Solved,
        w=numbers(d),
        b=number,
        alpha=numbers(n),
        passes=count,
        meets=flag,
        doubtful=flag,
        solver=instance(str),
    )
