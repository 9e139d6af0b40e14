"""A cluster with a clock that is only reckoned: what many workers would take, from real messages.

The functions of every round run here, one partition after the other, through the same code as on a
cluster; the clock adds up what the cost model says of it. A worker reads its partitions from a disk one
after the other; the messages of a round go through the one network card of the client:

    round = latency + partitions × task + rows × d × 8 / (workers × disk) + bytes / network.

Partitions may stand for more rows than they hold: the clock counts ``stand_for`` times as many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin.cluster.serial import Serial
from maxmargin.rows.remote import moved

__all__ = ["Costs", "Simulated"]


@dataclass(frozen=True)
class Costs:
    """What a cluster takes: seconds, and bytes per second."""

    workers: int
    latency: float = 0.06  # of a round
    task: float = 1e-3  # of the scheduler, for each partition
    disk: float = 1e8  # of each worker
    network: float = 1e9  # of the client


class Simulated(Serial):
    """Partitions in this process, with a clock that shows the seconds of a cluster."""

    def __init__(self, blocks: Sequence[tuple[Any, Any]], costs: Costs, stand_for: float = 1.0) -> None:
        super().__init__(blocks)
        self.costs, self.clock, self.bytes_moved = costs, 0.0, 0
        self._read = stand_for * sum(8.0 * X.shape[0] * X.shape[1] for X, _ in blocks)

    def run(
        self, function: Callable[..., Any], numbers: Sequence[int], given: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """Return ``function(X, y, *given[k])`` of each partition ``numbers[k]``, and let time pass."""
        results = super().run(function, numbers, given)
        size = sum(map(moved, given)) + sum(map(moved, results))
        c = self.costs
        self.clock += c.latency + c.task * len(numbers) + self._read / (c.workers * c.disk)
        self.clock += size / c.network
        self.bytes_moved += size
        return results
