"""Memory: how much is left to copy rows into, and how much a file may ask for.

What the process may still take decides how much is copied; rows that do not fit are fetched again in
every pass. The limits are those of the process (``ulimit``) and of its control group; where there are
none, a fixed amount keeps copies small beside the data.

A file gets memory in proportion to what it holds. A few bytes can declare a billion features, labels of
a million letters, or zeros that unpack to gigabytes. So whatever a file makes us allocate is compared
with its size first: some megabytes are always granted, more than that only up to a multiple of what is
there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from maxmargin.core.errors import InputError, Remedy

MAX_COPY_ENTRIES = 1 << 25  # numbers copied at a time, at most
MIN_COPY_ENTRIES = 1 << 19  # and at least
COPY_SHARE = 3  # a copy takes one part in so many of what is left
NUMBER_BYTES = 8  # bytes of a double
CGROUP = Path("/sys/fs/cgroup")


def copy_limit(beside: int = 0) -> int:
    """Return how many numbers a copy of rows may hold, with so many to be stored beside it.

    In rough steps, the same for the same limit: what is copied at a time decides last digits of sums.
    """
    left = allowance()
    if left is None:
        return MAX_COPY_ENTRIES
    free = max(0, left - NUMBER_BYTES * beside) // (COPY_SHARE * NUMBER_BYTES)
    step = 1 << max(0, free.bit_length() - 3)
    return min(MAX_COPY_ENTRIES, max(MIN_COPY_ENTRIES, free // step * step))


def cache_limit() -> int:
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
    return min([left for left in known if left is not None], default=None)


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
        most, now = [(CGROUP / f"memory.{name}").read_text().strip() for name in ("max", "current")]
        return None if most == "max" else max(0, int(most) - int(now))
    except (OSError, ValueError):
        return None


GRANTED_BYTES = 1 << 24  # bytes that any file may ask for: two million doubles
MAX_EXPANSION = 64  # beyond that, bytes for each byte that is there
CHARACTER_BYTES = 4  # bytes, in arrays of texts
ENTRY_BYTES = 12  # bytes of a number in sparse rows, with its column


def in_proportion(asked: int, held: int) -> bool:
    """Whether a file that holds so many bytes may ask for so many.

    Examples
    --------
    >>> from maxmargin.core.memory import in_proportion
    >>> in_proportion(10**6, 100), in_proportion(10**9, 100), in_proportion(10**9, 10**8)
    (True, False, True)
    """
    return asked <= max(GRANTED_BYTES, MAX_EXPANSION * held)


def check_width(shown: object, d: int, entries: int, features: int | None) -> None:
    """Refuse sparse rows with far more features than numbers, unless so many were announced.

    Every vector of weights has as many numbers as there are features.
    """
    if features is not None and d != features:
        raise InputError(
            f"{shown}: must have {features:,} features. Got {d:,} instead.",
            Remedy("name another file"),
            Remedy("say how many there are", "features", ...),
        )
    if d == features or in_proportion(NUMBER_BYTES * d, ENTRY_BYTES * entries):
        return
    most = max(GRANTED_BYTES, MAX_EXPANSION * ENTRY_BYTES * entries) // NUMBER_BYTES
    raise InputError(
        f"{shown}: rows with {entries:,} numbers may have {most:,} features. Got {d:,} instead, whose "
        "weights would take memory out of proportion.",
        Remedy("number the features without gaps"),
        Remedy("say how many there are", "features", d),
    )


def check_room_for_labels(shown: object, n: int, size: int, entries: int) -> None:
    """Refuse texts that make an array of n labels, of so many bytes each, out of proportion to the rows.

    An array of texts gives each of them as much room as the longest needs.
    """
    if not in_proportion(n * size, ENTRY_BYTES * (n + entries)):
        raise InputError(
            f"{shown}: labels must be short. Got {n:,} labels, one of them with "
            f"{size // CHARACTER_BYTES:,} characters, and all get as much room.",
            Remedy("name the column of the labels", "label", ...),
            Remedy("shorten them"),
        )
