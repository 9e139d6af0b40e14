"""How a solver lets itself be kept: at certain points it offers a state from which it can go on.

A fit is a sequence of calls of solvers, its *stages*. A solver asks for its stage, goes on from
``saved`` if there is something, offers its state where it is ``due``, and hands its result to
``finish``. Unless :func:`keeping` is in force, nothing is ever due.

The state of a stopping rule is what its function remembers between epochs; :func:`freeze` and
:func:`thaw` take it out and put it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from maxmargin.core.state_forms import StateError, anything, each
from maxmargin.core.stopping_rules import StoppingRule, StopReason

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


def freeze(check: Callable[..., Any]) -> list[Any]:
    """Return what the function of a stopping rule remembers, and the functions it calls."""
    return [_frozen(content) for content in _memory(check)]


def thaw(check: Callable[..., Any], memory: list[Any]) -> None:
    """Let the function of a stopping rule remember what :func:`freeze` returned."""
    assert isinstance(check, FunctionType)
    cells = check.__closure__ or ()
    each(anything, len(cells))(memory, "the memory of a rule")
    for cell, value in zip(cells, memory, strict=True):
        content = cell.cell_contents
        if isinstance(content, FunctionType):
            thaw(content, value)
        elif isinstance(content, list) and all(isinstance(one, FunctionType) for one in content):
            each(anything, len(content))(value, "the memory of a rule")
            for one, part in zip(content, value, strict=True):
                thaw(one, part)
        elif not isinstance(content, StoppingRule):
            _check_memory(content, value)
            cell.cell_contents = value


def _check_memory(content: Any, value: Any) -> None:
    """Refuse a value of another kind than a rule remembers; a reason may not be there yet."""
    kinds = (bool,), (int, float), (str,), (bytes,), (type(None), StopReason)
    if not any(type(content) in kind and type(value) in kind for kind in kinds):
        raise StateError("the memory of a rule must hold what the rule remembers. Got others instead.")


def _memory(check: Callable[..., Any]) -> list[Any]:
    assert isinstance(check, FunctionType), "a stopping rule watches by a function"
    return [cell.cell_contents for cell in check.__closure__ or ()]


def _frozen(content: Any) -> Any:
    if isinstance(content, FunctionType):
        return freeze(content)
    if isinstance(content, list):
        return [freeze(one) for one in content]
    if isinstance(content, StoppingRule):
        return None  # a value that never changes
    assert content is None or isinstance(content, bool | int | float | str | bytes | StopReason)
    return content
