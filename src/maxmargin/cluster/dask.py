"""Functions on the partitions of a Dask collection, run by a cluster or by Dask's own scheduler.

A task is a pure function of its partition and of values that travel with it, so whichever worker runs
it, and however often, the answer is the same. Nothing is scattered, persisted or bound to a worker: a
lost worker costs a recomputation. While answers are awaited, the cluster is watched: without workers for
too long, or without a scheduler, the fit ends with an error.

A task costs the scheduler about a millisecond, and more if there is much to pickle. So what only one
partition needs of the graph of a collection is pickled once, and sent as it is in every round; and
several small partitions are one task, which computes them one after the other. What partitions share
remains a task of its own.

Sums are taken in a tree whose shape follows from the number of partitions alone: neighbours first,
groups of sixteen, then groups of those. So the bits of a sum do not depend on which worker added what,
and no more than sixteen parts arrive at the client.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from graphlib import TopologicalSorter
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import cloudpickle  # type: ignore[import-untyped]
from dask import config, threaded
from dask.base import get_scheduler
from dask.core import get
from dask.optimization import cull
from dask.system import CPU_COUNT

from maxmargin.core.errors import ClusterError, MaxMarginError
from maxmargin.rows.partitions import Given, Source, Sources, Weighted, joined
from maxmargin.rows.training_data import Combine, Function

FAN = 16  # values that are combined at a time
TASKS_PER_THREAD = 4  # tasks for each thread of the cluster, at least
SHARED = -1
T = TypeVar("T")


class _Hidden:
    """Values into which Dask does not look."""

    def __init__(self, *values: Any) -> None:
        self.values = values


def in_groups(values: Sequence[T], size: int = FAN) -> Iterator[Sequence[T]]:
    """Neighbours, so many at a time."""
    return (values[start : start + size] for start in range(0, len(values), size))


def bundle_size(parts: int, threads: int) -> int:
    """How many partitions one task computes: a power of two, and all threads stay busy."""
    size = 1
    while size < FAN and parts >= 2 * size * TASKS_PER_THREAD * threads:
        size *= 2
    return size


class Place(NamedTuple):
    """What a partition needs."""

    alone: Any  # the part of the graph that is its own, and its key; or a source
    outside: tuple[Any, ...]  # keys of the part that others need too


def places_of(
    graph: dict[Any, Any], keys: Sequence[Any], held: tuple[type, ...]
) -> tuple[list[Place], dict[Any, Any]]:
    """Divide a graph: what each partition alone needs of it; what others need too, or is ``held``."""
    graph, needs = cull(graph, list(keys))  # type: ignore[no-untyped-call]
    for key in needs:
        if isinstance(graph[key], held):
            needs[key] = []  # Dask says of a result that it needs itself
    owner: dict[Any, int] = {}
    for k, key in enumerate(keys):
        owner[key] = k if key not in owner else SHARED
    owned: list[dict[Any, Any]] = [{} for _ in keys]
    shared = {}
    for key in reversed(list(TopologicalSorter(needs).static_order())):  # users before what they use
        mine = owner[key]
        if mine == SHARED or isinstance(graph[key], held):
            shared[key], mine = graph[key], SHARED
        else:
            owned[mine][key] = graph[key]
        for need in needs[key]:
            owner[need] = mine if owner.get(need, mine) == mine else SHARED
    places = []
    for key, nodes in zip(keys, owned, strict=True):
        wanted = [key, *(need for node in nodes for need in needs[node])]
        places.append(Place((nodes, key), tuple(dict.fromkeys(k for k in wanted if k not in nodes))))
    return places, shared


def _computed(hidden: _Hidden, *values: Any) -> list[Any]:
    """What a worker runs: each partition in turn, and their combination if this is a whole group."""
    parts, work, outside, combine = hidden.values
    function, states = cloudpickle.loads(work)
    shared = {key: (_shown, _Hidden(value)) for key, value in zip(outside, values, strict=True)}
    results = []
    for part, state in zip(parts, states, strict=True):
        part = cloudpickle.loads(part) if isinstance(part, bytes) else part
        if not isinstance(part, Source):
            nodes, key = part
            (part,) = get({**shared, **nodes}, [key])
        results.append(_call(part, function, state))
    return results if combine is None else [combine(results)]


def _shown(hidden: _Hidden) -> Any:
    return hidden.values[0]


def _combined(hidden: _Hidden, *lists: list[Any]) -> list[Any]:
    """One value from the values of several lists."""
    return [hidden.values[0]([value for values in lists for value in values])]


RETRIES = 2  # of a task that raises: a file may be out of reach for a moment
POLL_SECONDS = 0.25  # seconds between looks at the cluster
TIMEOUT_OPTION = "maxmargin.no-workers-timeout"  # in Dask's configuration: seconds, default
TIMEOUT_SECONDS = 20.0


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
        self._shared: dict[Any, Any] = {}
        if isinstance(X, Sources):
            self._keys: Sequence[Any] = X.parts  # files in place of keys
            self._places = [Place(part, ()) for part in X.parts]
        else:
            together = joined(*(one for one in (X, y, weight) if one is not None))
            blocks = list(together.to_delayed(optimize_graph=False))
            self._graph, self._keys = dict(blocks[0].dask), [block.key for block in blocks]
            self._places, self._shared = places_of(self._graph, self._keys, _held(client))
        self.parts = len(self._keys)
        if client is not None:
            self._places = [Place(cloudpickle.dumps(one.alone), one.outside) for one in self._places]

    def run(
        self, function: Function, numbers: Sequence[int], given: Given, combine: Combine | None = None
    ) -> list[Any]:
        """Return ``function(X, y, *given[k])`` of each partition ``numbers[k]``.

        With ``combine`` the workers combine them, in groups of neighbours, until few are left.
        """
        name = f"maxmargin-{function.__name__}-{uuid4().hex}"
        # Blocks that the cluster holds are not moved to where their neighbours are.
        held = any(self._places[k].outside for k in numbers)
        size = 1 if held else bundle_size(len(numbers), self.at_once)
        within = combine if size == FAN else None  # a bundle is a group: it combines its own values
        graph: dict[Any, Any] = {}
        for group in in_groups(list(zip(numbers, given, strict=True)), size):
            places = [self._places[k] for k, _ in group]
            outside = list(dict.fromkeys(key for place in places for key in place.outside))
            work = cloudpickle.dumps((function, [state for _, state in group]))
            hidden = _Hidden([place.alone for place in places], work, outside, within)
            graph[f"{name}-{len(graph)}"] = (_computed, hidden, *outside)
        level, left, depth = list(graph), size if within is None else 1, 0
        while combine is not None and len(level) * left > FAN:
            above: list[str] = []
            for group in in_groups(level, FAN // left):
                above.append(f"{name}-sum-{depth}-{len(above)}")
                graph[above[-1]] = (_combined, _Hidden(combine), *group)
            level, left, depth = above, 1, depth + 1
        lists = self._from({**self._shared, **graph}, level)
        return [result for results in lists for result in results]

    def chain(self, function: Function, numbers: Sequence[int], given: Given, start: Any) -> Any:
        """Hand a state on: ``function(X, y, *given[k], state)`` of partition ``numbers[k]``, in turn.

        One graph; a task waits for the one before it, and what a lost worker held is computed again.
        """
        name = f"maxmargin-{function.__name__}-{uuid4().hex}"
        links: dict[Any, Any] = {}
        before: Any = _Hidden(start)
        for k, state in zip(numbers, given, strict=True):
            key = f"{name}-{len(links)}"
            links[key] = (_link, self._keys[k], _Hidden(function, state), before)
            before = key
        graph, _ = cull({**self._graph, **links}, [before])  # type: ignore[no-untyped-call]
        return self._from(graph, [before])[0]

    @property
    def at_once(self) -> int:
        """How many partitions are read at the same time: as many as there are threads."""
        if self._client is None:
            return int(config.get("num_workers", None) or CPU_COUNT)
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return max(1, sum(int(worker["nthreads"]) for worker in workers))

    def _from(self, graph: dict[Any, Any], keys: list[str]) -> list[Any]:
        return self._locally(graph, keys) if self._client is None else self._on_cluster(graph, keys)

    def _locally(self, graph: dict[Any, Any], keys: list[str]) -> list[Any]:
        schedule = get_scheduler() or threaded.get  # type: ignore[no-untyped-call]
        try:
            return list(schedule(graph, keys))
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
        patience = float(config.get(TIMEOUT_OPTION, TIMEOUT_SECONDS))
        alone_since = None
        while True:
            try:
                return answers.result(POLL_SECONDS)
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


def _held(client: Any) -> tuple[type, ...]:
    """The type of results that a cluster holds."""
    if client is None:
        return ()
    from distributed import Future as Held

    return (Held,)


def _call(part: Any, function: Function, state: tuple[Any, ...]) -> Any:
    """What a worker runs, on a triple of rows, labels and weights, or on a file that it reads."""
    X, y, weight = (part, None, None) if isinstance(part, Source) else part
    return function(X, y if weight is None else Weighted(y, weight), *state)


def _link(part: Any, hidden: _Hidden, before: Any) -> Any:
    """The same with the state that the task before returned, or that the first one is given."""
    function, state = hidden.values
    return _call(part, function, (*state, before.values[0] if isinstance(before, _Hidden) else before))


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
