"""One thread for small matrices: two would wait for each other longer than they work.

Courses side by side: each runs until it wants a plane or ends, several at a time in threads.

The compiled loops let go of Python's lock, so threads share the rows and work at the same time. What a
course computes does not depend on the others: the results are the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from copy import deepcopy
from functools import cache, partial
from threading import Event
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from maxmargin.core.keeping import is_kept


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_thread(if_small: bool = True) -> Iterator[None]:
    """Run matrix products on one thread in this block."""
    if not if_small:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


MOMENT = 0.1  # seconds between looks at the threads
THREAD = "maxmargin"  # how threads are called
T = TypeVar("T")


class HaltedError(Exception):
    """Another course failed, or Ctrl-C was pressed."""


def advance(
    courses: Sequence[Generator[Any, Any, Any]],
    turn: Sequence[int],
    states: list[Any],
    jobs: int,
    halt: Event,
) -> Generator[list[Any], None, dict[int, tuple[bool, Any]]]:
    """Run the courses of this turn; yields ``states`` whenever it has changed, or might have.

    Returns for each whether it has ended, and its result or the plane it wants.
    """
    if jobs == 1 or len(turn) == 1:
        found = {}
        for k in turn:
            while True:
                if halt.is_set():
                    raise HaltedError
                ended, wish = _next(courses[k])
                if ended or not isinstance(wish, dict):
                    break
                states[k] = wish
                yield states
            found[k] = ended, wish
        return found

    def run(k: int) -> tuple[bool, Any]:
        while not halt.is_set():
            ended, wish = _next(courses[k])
            if ended or not isinstance(wish, dict):
                return ended, wish
            states[k] = deepcopy(wish) if kept else wish  # the course goes on while it is written
        raise HaltedError

    kept = is_kept()
    for k in turn if kept else ():
        states[k] = deepcopy(states[k])
    return (yield from in_threads({k: partial(run, k) for k in turn}, jobs, halt, states))


def in_threads(
    calls: Mapping[int, Callable[[], T]], jobs: int, halt: Event, tell: Any = None
) -> Generator[Any, None, dict[int, T]]:
    """Run calls side by side, and yield ``tell`` now and then.

    If one fails, or whoever waits for them does, ``halt`` is set, and all have ended when the error
    comes out.
    """
    with ThreadPoolExecutor(jobs, THREAD) as pool:
        futures: dict[int, Future[T]] = {k: pool.submit(call) for k, call in calls.items()}
        try:
            pending = set(futures.values())
            while pending:
                done, pending = wait(pending, MOMENT, FIRST_COMPLETED)
                for future in done:
                    future.result()
                yield tell
        except BaseException:
            halt.set()
            for future in futures.values():
                future.cancel()
            raise
        return {k: future.result() for k, future in futures.items()}


def _next(course: Generator[Any, Any, Any]) -> tuple[bool, Any]:
    try:
        return False, next(course)
    except StopIteration as end:
        return True, end.value
