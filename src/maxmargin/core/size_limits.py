"""How much a file may ask for: memory in proportion to what it holds.

A few bytes can declare a billion features, labels of a million letters, or zeros that unpack to
gigabytes. So whatever a file makes us allocate is compared with its size first: some megabytes are
always granted, more than that only up to a multiple of what is there.
"""

from __future__ import annotations

from maxmargin.core.errors import InputError, Remedy

GRANTED_BYTES = 1 << 24  # bytes that any file may ask for: two million doubles
MAX_EXPANSION = 64  # beyond that, bytes for each byte that is there
CHARACTER_BYTES = 4  # bytes, in arrays of texts
NUMBER_BYTES = 8  # bytes of a double
ENTRY_BYTES = 12  # bytes of a number in sparse rows, with its column


def in_proportion(asked: int, held: int) -> bool:
    """Whether a file that holds so many bytes may ask for so many.

    Examples
    --------
    >>> from maxmargin.core.size_limits import in_proportion
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
