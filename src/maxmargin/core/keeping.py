"""How a solver lets itself be kept: at certain points it offers a state from which it can go on.

A fit is a sequence of calls of solvers, its *stages*. A solver asks for its stage, goes on from
``saved`` if there is something, offers its state where it is ``due``, and hands its result to
``finish``. Unless :func:`keeping` is in force, nothing is ever due.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
Rng = np.random.Generator | None


class Stage:
    """One call of a solver; this one is not kept."""

    finished: Any = None  # its result, if an earlier process came so far
    saved: dict[str, Any] | None = None  # where an earlier process was in it
    elapsed: float = 0.0  # seconds that earlier processes have taken

    def due(self) -> bool:
        """Whether the state should be offered now."""
        return False

    def keep(self, state: Mapping[str, Any]) -> None:
        """Save a state: plain values, arrays, histories, traces and solutions."""

    def finish(self, result: T) -> T:
        """Save the result, and return it."""
        return result


class Keeper:
    """Hands out stages; this one keeps nothing."""

    def stage(self, rng: Rng) -> Stage:
        """Return the next stage; a finished one leaves the generator as it left it then."""
        return Stage()


_current: ContextVar[Keeper | None] = ContextVar("keeper", default=None)


def next_stage(rng: Rng = None) -> Stage:
    """Return the stage of a solver that is about to run."""
    keeper = _current.get()
    return Stage() if keeper is None else keeper.stage(rng)


def is_kept() -> bool:
    """Whether the solvers that run here are kept."""
    return _current.get() is not None


@contextmanager
def keeping(keeper: Keeper) -> Iterator[None]:
    """Let a keeper keep the solvers that run inside."""
    token = _current.set(keeper)
    try:
        yield
    finally:
        _current.reset(token)
