"""How much may be copied into memory: what the process may still take decides.

Rows that do not fit are fetched again in every pass. The limits are those of the process (``ulimit``)
and of its control group; where there are none, a fixed amount keeps copies small beside the data.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

MAX_COPY_ENTRIES = 1 << 25  # numbers copied at a time, at most
MIN_COPY_ENTRIES = 1 << 19  # and at least
COPY_SHARE = 3  # a copy takes one part in so many of what is left
NUMBER_BYTES = 8  # bytes
CGROUP = Path("/sys/fs/cgroup")


def room(beside: int = 0) -> int:
    """Return how many numbers a copy of rows may hold, with so many to be stored beside it.

    In rough steps, the same for the same limit: what is copied at a time decides last digits of sums.
    """
    left = allowance()
    if left is None:
        return MAX_COPY_ENTRIES
    free = max(0, left - NUMBER_BYTES * beside) // (COPY_SHARE * NUMBER_BYTES)
    step = 1 << max(0, free.bit_length() - 3)
    return min(MAX_COPY_ENTRIES, max(MIN_COPY_ENTRIES, free // step * step))


def in_memory() -> int:
    """Return how many numbers of a mapped file, with their columns, the system can keep in memory."""
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not known on this system
        return MAX_COPY_ENTRIES
    left = allowance()
    return (size if left is None else min(size, left)) // (2 * (NUMBER_BYTES + 4))


def allowance() -> int | None:
    """Return how many bytes the process may still take, or None if nothing limits it."""
    if sys.platform == "win32":
        return None
    import resource

    used = _statm()
    left: list[int] = []
    for name, taken in (("RLIMIT_AS", used[0]), ("RLIMIT_DATA", used[5])):
        limit = resource.getrlimit(getattr(resource, name))[0] if hasattr(resource, name) else -1
        if limit not in (resource.RLIM_INFINITY, -1):
            left.append(limit - taken)
    try:  # control group, version 2
        most, now = ((CGROUP / f"memory.{name}").read_text().strip() for name in ("max", "current"))
        if most != "max":
            left.append(int(most) - int(now))
    except (OSError, ValueError):
        pass
    return max(0, min(left)) if left else None


def _statm() -> list[int]:
    """Sizes of the process in bytes: address space first, private data sixth (zeros if unknown)."""
    import resource

    try:
        pages = [int(v) for v in Path("/proc/self/statm").read_text().split()]
    except (OSError, ValueError):
        return [0] * 7
    return [v * resource.getpagesize() for v in pages]
