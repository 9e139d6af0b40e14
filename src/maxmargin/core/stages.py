"""Where solvers leave their states: a fit is a sequence of calls of solvers, its stages.

A solver asks for its stage, goes on from what an earlier process left there, and hands in its state
after every epoch or pass. Without a checkpoint nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

State = Callable[[], dict[str, Any]]  # plain values, arrays, histories and traces, by name


class Stage:
    """One call of a solver; this one keeps nothing."""

    def resume(self, fresh: State) -> dict[str, Any] | None:
        """Return the state that an earlier process left, if any; it has the form of a fresh one."""
        return None

    def keep(self, state: State, ended: bool = False) -> None:
        """Keep the state if it is time; in any case if it is the last one of this call."""


class Stages:
    """Hands out stages; ``elapsed`` are the seconds that earlier processes have taken."""

    elapsed = 0.0

    def stage(self) -> Stage:
        """Return the stage of the next call."""
        return Stage()


# The stages of the fit that runs here; None without a checkpoint.
current_stages: ContextVar[Stages | None] = ContextVar("stages", default=None)


def next_stage() -> Stage:
    """Return the stage of a solver that is about to run."""
    return (current_stages.get() or Stages()).stage()


def elapsed() -> float:
    """Return the seconds that earlier processes have taken for this fit."""
    return (current_stages.get() or Stages()).elapsed


@contextmanager
def keeping(stages: Stages) -> Iterator[None]:
    """Let the solvers that run inside keep their states in these stages."""
    token = current_stages.set(stages)
    try:
        yield
    finally:
        current_stages.reset(token)
