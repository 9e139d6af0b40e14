"""A cluster with a clock that is only reckoned: what many workers would take, from real messages.

The functions of every round run here, one partition after the other, through the same code as on a
cluster; the clock adds up what the cost model says of it. A worker reads its partitions from a disk one
after the other; the messages of a round go through the one network card of the client:

    round = latency + tasks × task + rows × d × 8 / (workers × disk) + bytes / network.

Small partitions share a task. Where answers are combined in a tree, each level of it adds the time that
the largest of its groups takes on its way to one worker, and only the last few reach the client.

Where a state is handed from partition to partition, workers read ahead, but only one of them learns:

    epoch = graphs × latency + partitions × task + rows × d × 8 × (1 / (workers × disk) + 1 / memory)
            + bytes / network.

Partitions may stand for more rows than they hold: the clock counts ``stand_for`` times as many.

Partitions in this process, one after the other: for tests, and to replay what a cluster would do.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin.cluster import dask as tree
from maxmargin.rows.partitions import moved


def reduced(values, combine, watch=lambda groups: None):
    """Combine neighbours until one group is left; the groups of each level are shown to ``watch``."""
    level = list(values)
    while len(level) > tree.FAN:
        groups = [list(group) for group in tree.in_groups(level)]
        watch(groups)
        level = [combine(group) for group in groups]
    return level


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
        combine: tree.Combine | None = None,
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


@dataclass(frozen=True)
class Costs:
    """What a cluster takes: seconds, and bytes per second."""

    workers: int
    latency: float = 0.06  # of a round
    task: float = 1e-3  # of the scheduler, for each partition
    disk: float = 1e8  # of each worker
    network: float = 1e9  # of the client
    memory: float = 4e9  # of a worker that learns from rows it has read


class Simulated(Serial):
    """Partitions in this process, with a clock that shows the seconds of a cluster."""

    def __init__(self, blocks: Sequence[tuple[Any, Any]], costs: Costs, stand_for: float = 1.0) -> None:
        super().__init__(blocks)
        self.costs, self.clock, self.bytes_moved = costs, 0.0, 0
        self._read = [stand_for * 8.0 * X.shape[0] * X.shape[1] for X, _ in blocks]

    @property
    def at_once(self) -> int:
        """How many partitions are read at the same time."""
        return self.costs.workers

    def run(
        self,
        function: Callable[..., Any],
        numbers: Sequence[int],
        given: Sequence[tuple[Any, ...]],
        combine: tree.Combine | None = None,
    ) -> list[Any]:
        """Return ``function(X, y, *given[k])`` of each partition ``numbers[k]``, and let time pass."""
        results = super().run(function, numbers, given)
        if combine is not None:
            results = reduced(results, combine, self._add_up)
        tasks = -(-len(numbers) // tree.bundle_size(len(numbers), self.at_once))
        self._pass_time(numbers, tasks, sum(map(moved, given)) + sum(map(moved, results)))
        return results

    def _add_up(self, groups: list[list[Any]]) -> None:
        """A level of the tree: the groups at the same time, each through the card of one worker."""
        largest = max(sum(map(moved, group)) for group in groups)
        self.clock += self.costs.task * len(groups) + largest / self.costs.network

    def chain(
        self,
        function: Callable[..., Any],
        numbers: Sequence[int],
        given: Sequence[tuple[Any, ...]],
        start: Any,
    ) -> Any:
        """Hand a state on from partition to partition, and let time pass."""
        state = super().chain(function, numbers, given, start)
        size = sum(map(moved, given)) + len(numbers) * (moved(start) + moved(state))
        self._pass_time(numbers, len(numbers), size)
        self.clock += sum(self._read[k] for k in numbers) / self.costs.memory
        return state

    def _pass_time(self, numbers: Sequence[int], tasks: int, size: int) -> None:
        c, read = self.costs, sum(self._read[k] for k in numbers)
        self.clock += c.latency + c.task * tasks + read / (c.workers * c.disk) + size / c.network
        self.bytes_moved += size
