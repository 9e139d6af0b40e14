"""Functions on the partitions of a Dask collection, run by a cluster or by Dask's own scheduler.

A task is a pure function of its partition and of values that travel with it, so whichever worker runs
it, and however often, the answer is the same. Nothing is scattered, persisted or bound to a worker: a
lost worker costs a recomputation. While answers are awaited, the cluster is watched: without workers for
too long, or without a scheduler, the fit ends with an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from typing import Any
from uuid import uuid4

from dask import config, threaded
from dask._task_spec import Task, TaskRef, convert_legacy_graph
from dask.base import get_scheduler
from dask.optimization import cull
from dask.system import CPU_COUNT
from dask.utils import ensure_dict

from maxmargin.cluster.bundles import bundled, combined, needs_of
from maxmargin.cluster.tree import Combine, bundle_size
from maxmargin.core.errors import ClusterError, MaxMarginError
from maxmargin.rows.block import Weighted
from maxmargin.rows.joined import joined
from maxmargin.rows.sources import Source, Sources

__all__ = ["DaskExecutor"]

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
