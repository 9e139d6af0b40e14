"""Sums in a tree of fixed shape: neighbours first, groups of sixteen, then groups of those.

The shape follows from the number of partitions alone. So the bits of a sum do not depend on which worker
added what, and no more than sixteen parts arrive at the client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

__all__ = ["FAN", "Combine", "bundle_size", "in_groups", "reduced"]

FAN = 16  # values that are combined at a time
BUSY = 4  # tasks for each thread of the cluster, at least
T = TypeVar("T")
Combine = Callable[[list[Any]], Any]


def in_groups(values: Sequence[T], size: int = FAN) -> Iterator[Sequence[T]]:
    """Neighbours, so many at a time."""
    return (values[start : start + size] for start in range(0, len(values), size))


def bundle_size(parts: int, threads: int) -> int:
    """How many partitions one task computes: a power of two, and all threads stay busy."""
    size = 1
    while size < FAN and parts >= 2 * size * BUSY * threads:
        size *= 2
    return size


def reduced(
    values: Sequence[Any],
    combine: Combine,
    watch: Callable[[list[list[Any]]], None] = lambda groups: None,
) -> list[Any]:
    """Combine neighbours until one group is left; the groups of each level are shown to ``watch``."""
    level = list(values)
    while len(level) > FAN:
        groups = [list(group) for group in in_groups(level)]
        watch(groups)
        level = [combine(group) for group in groups]
    return level
