"""Functions on the partitions of a Dask collection, run by a cluster or by Dask's own scheduler.

A task is a pure function of its partition and of values that travel with it, so whichever worker runs
it, and however often, the answer is the same. Nothing is scattered, persisted or bound to a worker: a
lost worker costs a recomputation. While answers are awaited, the cluster is watched: without workers for
too long, or without a scheduler, the fit ends with an error.

The tasks of a round: as few as keep all workers busy, each with what its partitions need.

A task costs the scheduler about a millisecond, and more if there is much to pickle. So what only one
partition needs of the graph of a collection is pickled once, and sent as it is in every round; and
several small partitions are one task, which computes them one after the other. What partitions share
remains a task of its own.

Sums in a tree of fixed shape: neighbours first, groups of sixteen, then groups of those.

The shape follows from the number of partitions alone. So the bits of a sum do not depend on which worker
added what, and no more than sixteen parts arrive at the client.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import cloudpickle  # type: ignore[import-untyped]
from dask import config, threaded
from dask._task_spec import DataNode, GraphNode, Task, TaskRef, convert_legacy_graph, execute_graph
from dask.base import get_scheduler
from dask.optimization import cull
from dask.system import CPU_COUNT
from dask.utils import ensure_dict

from maxmargin.core.errors import ClusterError, MaxMarginError
from maxmargin.rows.partitions import Source, Sources, Weighted, joined

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


RETRIES = 2  # of a task that raises: a file may be out of reach for a moment
LOOK = 0.25  # seconds between looks at the cluster
PATIENCE = "maxmargin.no-workers-timeout"  # in Dask's configuration: seconds, default
SECONDS = 20.0


class DaskExecutor:
    """Partitions of rows and labels that Dask can compute, each as often as it is asked to.

    Parameters
    ----------
    X : Dask array or data frame
        Rows.
    y : Dask array or series, optional
        Labels, in the same partitions.
    client : distributed.Client, optional
        The cluster; without one Dask's own scheduler runs the tasks.
    weight : Dask array or series, optional
        Weights of the rows, in the same partitions.
    """

    def __init__(self, X: Any, y: Any = None, client: Any = None, weight: Any = None) -> None:
        self._client = client
        self._graph: dict[Any, Any] = {}
        self._places: list[Any] = []  # where a partition is in the graph, or the file to read it from
        if isinstance(X, Sources):
            self._places += X.parts
        else:
            together = joined(*(one for one in (X, y, weight) if one is not None))
            blocks = list(together.to_delayed(optimize_graph=False))
            self._graph.update(convert_legacy_graph(ensure_dict(blocks[0].dask)))
            self._places += [TaskRef(block.key) for block in blocks]
        self.parts = len(self._places)
        self._needs = needs_of(self._graph, self._places, pickled=client is not None)

    def run(
        self,
        function: Callable[..., Any],
        numbers: Sequence[int],
        given: Sequence[tuple[Any, ...]],
        combine: Combine | None = None,
    ) -> list[Any]:
        """Return ``function(X, y, *given[k])`` of each partition ``numbers[k]``.

        With ``combine`` the workers combine them, in groups of neighbours, until few are left.
        """
        name = f"maxmargin-{function.__name__}-{uuid4().hex}"
        # Blocks that the cluster holds are not moved to where their neighbours are.
        kept = any(self._needs.outside[k] for k in numbers)
        size = 1 if kept else bundle_size(len(numbers), self.at_once)
        work = [(_Sealed(function, state),) for state in given]
        graph = bundled(name, _call, numbers, work, self._needs, size)
        keys = list(graph)
        if combine is not None:
            keys = combined(graph, f"{name}-sum", keys, size, combine)
        lists = self._computed({**self._needs.shared, **graph}, keys)
        return [result for results in lists for result in results]

    def chain(
        self,
        function: Callable[..., Any],
        numbers: Sequence[int],
        given: Sequence[tuple[Any, ...]],
        start: Any,
    ) -> Any:
        """Hand a state on: ``function(X, y, *given[k], state)`` of partition ``numbers[k]``, in turn.

        One graph; a task waits for the one before it, and what a lost worker held is computed again.
        """
        name = f"maxmargin-{function.__name__}-{uuid4().hex}"
        links = {}
        before: Any = _Sealed(_itself, (start,))
        for place, (k, state) in enumerate(zip(numbers, given, strict=True)):
            key = f"{name}-{place}"
            links[key] = Task(key, _link, self._places[k], _Sealed(function, state), before)
            before = TaskRef(key)
        last = [before.key]
        graph, _ = cull({**self._graph, **links}, last)  # type: ignore[no-untyped-call]
        return self._computed(graph, last)[0]

    @property
    def at_once(self) -> int:
        """How many partitions are read at the same time: as many as there are threads."""
        if self._client is None:
            return int(config.get("num_workers", None) or CPU_COUNT)
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return max(1, sum(int(worker["nthreads"]) for worker in workers))

    def _computed(self, graph: dict[Any, Any], keys: list[str]) -> list[Any]:
        return self._locally(graph, keys) if self._client is None else self._on_cluster(graph, keys)

    def _locally(self, graph: dict[Any, Any], keys: list[str]) -> list[Any]:
        get = get_scheduler() or threaded.get  # type: ignore[no-untyped-call]
        try:
            return list(get(graph, keys))
        except MaxMarginError:
            raise
        except Exception as error:
            raise _failed(error) from error

    def _on_cluster(self, graph: dict[Any, Any], keys: list[str]) -> list[Any]:
        client = self._client
        if client.status != "running":
            raise _lost("the client is closed")
        futures = client.get(graph, keys, sync=False, retries=RETRIES)
        # The thread ends when the tasks do, or are cancelled; with a lost scheduler that may be late.
        pool = ThreadPoolExecutor(1, "maxmargin-gather")
        try:
            return self._awaited(pool.submit(client.gather, futures))
        except BaseException:
            if client.status == "running":
                client.cancel(futures, force=True)
            raise
        finally:
            pool.shutdown(wait=False)

    def _awaited(self, answers: Future[list[Any]]) -> list[Any]:
        """Wait for answers as long as there is hope for them."""
        patience = float(config.get(PATIENCE, SECONDS))
        alone_since = None
        while True:
            try:
                return answers.result(LOOK)
            except NotYetError as error:
                if answers.done():
                    raise _failed(error) from error
            except MaxMarginError:
                raise
            except Exception as error:
                if self._client.status != "running" or type(error).__name__.endswith("CancelledError"):
                    raise _lost("the client was closed, or its scheduler was lost") from error
                raise _failed(error) from error
            if self._client.status != "running":
                raise _lost("the client was closed, or its scheduler was lost")
            now = time.monotonic()
            if self._has_workers():
                alone_since = None
            elif alone_since is None:
                alone_since = now
            elif now - alone_since > patience:
                raise _lost(f"the cluster has had no workers for {patience:g} seconds")

    def _has_workers(self) -> bool:
        """Whether the last heartbeat of the scheduler told of workers."""
        return bool(self._client.scheduler_info(n_workers=-1)["workers"])


class _Sealed:
    """A function and its values as one thing, into which Dask does not look."""

    def __init__(self, function: Callable[..., Any], state: tuple[Any, ...]) -> None:
        self.function, self.state = function, state


def _call(part: Any, sealed: _Sealed) -> Any:
    """What a worker runs, on a triple of rows, labels and weights, or on a file that it reads."""
    X, y, weight = (part, None, None) if isinstance(part, Source) else part
    return sealed.function(X, y if weight is None else Weighted(y, weight), *sealed.state)


def _link(part: Any, sealed: _Sealed, before: Any) -> Any:
    """The same with the state that the task before returned, or that the first one is given."""
    state = before.state[0] if isinstance(before, _Sealed) else before
    return _call(part, _Sealed(sealed.function, (*sealed.state, state)))


def _itself(value: Any) -> Any:
    return value


def _lost(why: str) -> ClusterError:
    return ClusterError(
        f"the rows must stay within reach: {why}. The model is as it was before; fit again on a cluster "
        "that runs."
    )


def _failed(error: Exception) -> ClusterError:
    what = " ".join(str(error).split())[:300]
    return ClusterError(
        f"every partition must be computable. Got {type(error).__name__} instead: {what}. Compute the "
        "partition alone to see where."
    )
