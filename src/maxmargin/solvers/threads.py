"""How many threads: one for small matrices, and several for machines that do not need each other.

Two threads on a small matrix would wait for each other longer than they work.

The compiled loops let go of Python's lock, so threads share the rows and work at the same time. What a
machine computes does not depend on the others: the results are the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from threading import Event
from typing import TypeVar

from threadpoolctl import ThreadpoolController


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


MOMENT = 0.1  # seconds after which Ctrl-C is noticed
THREAD = "maxmargin"  # how threads are called
T = TypeVar("T")


class HaltedError(Exception):
    """Another machine failed, or Ctrl-C was pressed."""


def in_threads(calls: Sequence[Callable[[], T]], jobs: int, halt: Event) -> list[T]:
    """Return the results of calls that run side by side, so many at a time; a single one runs here.

    If one fails, or whoever waits for them does, ``halt`` is set, and all have ended when the error
    comes out.
    """
    if jobs == 1 or len(calls) == 1:
        return [call() for call in calls]
    with ThreadPoolExecutor(jobs, THREAD) as pool:
        futures = [pool.submit(call) for call in calls]
        try:
            pending = set(futures)
            while pending:
                done, pending = wait(pending, MOMENT, FIRST_COMPLETED)
                for future in done:
                    future.result()
        except BaseException:
            halt.set()
            for future in futures:
                future.cancel()
            raise
        return [future.result() for future in futures]
