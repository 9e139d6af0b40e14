"""The tasks of a round: as few as keep all workers busy, each with what its partitions need.

A task costs the scheduler about a millisecond, and more if there is much to pickle. So what only one
partition needs of the graph of a collection is pickled once, and sent as it is in every round; and
several small partitions are one task, which computes them one after the other. What partitions share
remains a task of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import cloudpickle  # type: ignore[import-untyped]
from dask._task_spec import DataNode, GraphNode, Task, TaskRef, execute_graph

from maxmargin.cluster.tree import FAN, Combine, in_groups

__all__ = ["Needs", "bundled", "combined", "needs_of"]

SHARED = -1
Function = Callable[..., Any]


class Needs(NamedTuple):
    """What partitions need: each alone, ready to travel; what of the shared part; and that part."""

    alone: list[Any]
    outside: list[tuple[Any, ...]]
    shared: dict[Any, Any]


def needs_of(graph: Mapping[Any, Any], places: Sequence[Any], pickled: bool) -> Needs:
    """Divide a graph among partitions: references to its keys, or values that need nothing of it."""
    wanted = [place.key if isinstance(place, TaskRef) else None for place in places]
    owned, shared = _divided(graph, wanted)
    alone: list[Any] = list(zip(owned, places, strict=True))
    outside = [
        tuple({one for node in nodes.values() for one in node.dependencies if one not in nodes})
        + ((key,) if key is not None and key not in nodes else ())
        for nodes, key in zip(owned, wanted, strict=True)
    ]
    return Needs([cloudpickle.dumps(one) for one in alone] if pickled else alone, outside, shared)


def _divided(
    graph: Mapping[Any, Any], wanted: Sequence[Any]
) -> tuple[list[dict[Any, GraphNode]], dict[Any, Any]]:
    """The nodes of a graph that one partition alone needs, for each; and those that others need too."""
    owner: dict[Any, int] = {}
    users: dict[Any, int] = {}
    for k, key in enumerate(wanted):
        if key is not None:
            owner[key] = k if owner.get(key, k) == k else SHARED
    stack, seen = list(owner), set(owner)
    while stack:
        for dependency in _before(graph.get(stack.pop())):
            users[dependency] = users.get(dependency, 0) + 1
            if dependency not in seen:
                seen.add(dependency)
                stack.append(dependency)
    ready = [key for key in owner if not users.get(key)]
    owned: list[dict[Any, GraphNode]] = [{} for _ in wanted]
    shared: dict[Any, Any] = {}
    while ready:
        key = ready.pop()
        node, mine = graph.get(key), owner[key]
        if mine != SHARED and isinstance(node, GraphNode):
            owned[mine][key] = node
        else:  # others need it too, or it is a result that the cluster has already
            mine = SHARED
            if node is not None:
                shared[key] = node
        for dependency in _before(node):
            owner[dependency] = mine if owner.get(dependency, mine) == mine else SHARED
            users[dependency] -= 1
            if not users[dependency]:
                ready.append(dependency)
    return owned, shared


def _before(node: Any) -> frozenset[Any]:
    return node.dependencies if isinstance(node, GraphNode) else frozenset()


def bundled(
    name: str,
    function: Function,
    numbers: Sequence[int],
    given: Sequence[tuple[Any, ...]],
    needs: Needs,
    size: int,
) -> dict[Any, Task]:
    """Tasks for neighbours, so many in each, that return lists of results."""
    bundles = {}
    pairs = list(zip(numbers, given, strict=True))
    for number, group in enumerate(in_groups(pairs, size)):
        key = f"{name}-{number}"
        parts = [needs.alone[k] for k, _ in group]
        outside = list(dict.fromkeys(one for k, _ in group for one in needs.outside[k]))
        work = cloudpickle.dumps((function, [state for _, state in group]))
        refs = [TaskRef(one) for one in outside]
        bundles[key] = Task(key, _computed, _Hidden((parts, work, outside)), *refs)
    return bundles


class _Hidden:
    """Values into which Dask does not look."""

    def __init__(self, values: Any) -> None:
        self.values = values


def _computed(hidden: _Hidden, *values: Any) -> list[Any]:
    """What a worker runs: each partition in turn."""
    parts, work, outside = hidden.values
    function, states = cloudpickle.loads(work)
    shared = {key: DataNode(key, value) for key, value in zip(outside, values, strict=True)}
    return [_one(part, shared, function, state) for part, state in zip(parts, states, strict=True)]


def _one(part: Any, shared: dict[Any, Any], function: Function, state: tuple[Any, ...]) -> Any:
    nodes, place = cloudpickle.loads(part) if isinstance(part, bytes) else part
    if isinstance(place, TaskRef):
        place = execute_graph({**shared, **nodes}, keys={place.key})[place.key]
    return function(place, *state)


def combined(
    graph: dict[Any, Task], name: str, keys: Sequence[str], size: int, combine: Combine
) -> list[str]:
    """Add tasks that combine what bundles return, in the shape of the tree; return where the rest is."""
    level, depth, step = list(keys), 0, FAN // size
    while len(level) * size > FAN:
        above = []
        for number, group in enumerate(in_groups(level, step)):
            key = f"{name}-{depth}-{number}"
            task: Any = Task(key, _combined, _Hidden(combine), *(TaskRef(one) for one in group))
            if size == FAN:  # a bundle is a group: it combines its own values
                task = Task.fuse(graph.pop(group[0]), task, key=key)
            graph[key] = task
            above.append(key)
        level, depth, step, size = above, depth + 1, FAN, 1
    return level


def _combined(combine: _Hidden, *lists: list[Any]) -> list[Any]:
    """One value from the values of several lists."""
    return [combine.values([value for values in lists for value in values])]
