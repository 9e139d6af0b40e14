"""Partitions in this process, one after the other: for tests, and to replay what a cluster would do."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from maxmargin.cluster.tree import Combine, reduced

__all__ = ["Serial"]


class Serial:
    """Blocks of rows and labels; functions and states travel as they would to a worker."""

    at_once = 2  # partitions

    def __init__(self, blocks: Sequence[tuple[Any, Any]]) -> None:
        self._blocks = list(blocks)
        self.parts = len(self._blocks)

    def run(
        self,
        function: Callable[..., Any],
        numbers: Sequence[int],
        given: Sequence[tuple[Any, ...]],
        combine: Combine | None = None,
    ) -> list[Any]:
        """Return ``function(X, y, *given[k])`` of each partition ``numbers[k]``, combined in a tree."""
        results = []
        for number, state in zip(numbers, given, strict=True):
            work, there = pickle.loads(pickle.dumps((function, state)))
            results.append(pickle.loads(pickle.dumps(work(*self._blocks[number], *there))))
        return results if combine is None else reduced(results, combine)

    def chain(
        self,
        function: Callable[..., Any],
        numbers: Sequence[int],
        given: Sequence[tuple[Any, ...]],
        start: Any,
    ) -> Any:
        """Hand a state on: ``function(X, y, *given[k], state)`` of partition ``numbers[k]``, in turn."""
        state = start
        for number, own in zip(numbers, given, strict=True):
            (state,) = Serial.run(self, function, [number], [(*own, state)])
        return state
