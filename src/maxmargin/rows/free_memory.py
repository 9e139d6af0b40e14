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
    known = addresses_left(), _left("RLIMIT_DATA", 5), _left_in_group()
    return min((left for left in known if left is not None), default=None)


def addresses_left() -> int | None:
    """Return how many bytes of address space the process may still use, or None if nothing limits it."""
    return _left("RLIMIT_AS", 0)


def _left(name: str, field: int) -> int | None:
    """Return what a limit of the process leaves of it; what it takes is a field of /proc/self/statm."""
    if sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(getattr(resource, name))[0] if hasattr(resource, name) else -1
    if limit in (resource.RLIM_INFINITY, -1):
        return None
    try:
        used = int(Path("/proc/self/statm").read_text().split()[field]) * resource.getpagesize()
    except (OSError, ValueError):
        used = 0
    return max(0, limit - used)


def _left_in_group() -> int | None:
    """Return what the control group (version 2) leaves the process, or None."""
    try:
        most, now = ((CGROUP / f"memory.{name}").read_text().strip() for name in ("max", "current"))
        return None if most == "max" else max(0, int(most) - int(now))
    except (OSError, ValueError):
        return None
