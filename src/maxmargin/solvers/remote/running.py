"""Run a small problem to its end."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

__all__ = ["run_out"]

T = TypeVar("T")


def run_out(course: Generator[Any, None, T]) -> T:
    """Return the result of a generator; what it yields is not needed."""
    while True:
        try:
            next(course)
        except StopIteration as end:
            result: T = end.value
            return result
