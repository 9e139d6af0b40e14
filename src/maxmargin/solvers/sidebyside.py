"""Courses side by side: each runs until it wants a plane or ends, several at a time in threads.

The compiled loops let go of Python's lock, so threads share the rows and work at the same time. What a
course computes does not depend on the others: the results are the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any

__all__ = ["HaltedError", "advance"]

MOMENT = 0.1  # seconds between looks at the threads


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
            states[k] = wish
        raise HaltedError

    with ThreadPoolExecutor(jobs) as pool:
        futures: dict[int, Future[tuple[bool, Any]]] = {k: pool.submit(run, k) for k in turn}
        try:
            pending = set(futures.values())
            while pending:
                done, pending = wait(pending, MOMENT, FIRST_COMPLETED)
                for future in done:
                    future.result()
                yield states
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
