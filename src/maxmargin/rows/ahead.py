"""Parts of the data in turn; while one is worked on, the next is read by a thread.

Only one part is ever on its way. A thread takes an address space of its own for its memory, so where
there is little left, parts are read when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from maxmargin.rows.room import allowance

__all__ = ["in_turn"]

T = TypeVar("T")

WORTH = 1 << 17  # numbers in a part from which on a thread is worth its start
THREAD = 1 << 28  # bytes that must be left for a thread: its stack, and what malloc reserves for it


def in_turn(
    read: Callable[[int, int], T], places: Sequence[tuple[int, int]], numbers: float
) -> Iterator[tuple[slice, T]]:
    """Yield each place and what ``read(start, stop)`` returns for it; parts hold about so many numbers.

    An error in the thread is raised where its part is asked for. The thread ends with the iteration,
    also one that is given up.
    """
    left = allowance() if len(places) > 1 and numbers >= WORTH else 0
    if left is not None and left < THREAD:
        for start, stop in places:
            yield slice(start, stop), read(start, stop)
        return
    with ThreadPoolExecutor(1, "maxmargin-read") as pool:
        coming = pool.submit(read, *places[0])
        for (start, stop), after in zip(places, (*places[1:], None), strict=True):
            part = coming.result()
            if after is not None:
                coming = pool.submit(read, *after)
            yield slice(start, stop), part
