"""Feature hashing: any number of names in 2^bits columns.

A name is hashed as UTF-8 by FNV-1a (64 bits) and mixed; the low bits are its column, and the top bit is
the sign of its values, so that names that meet in a column cancel on average (Weinberger et al. 2009).
A feature number counts as its decimal digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.kernels.hashing import hash_text

MOST_BITS = 28


def check_bits(bits: Any) -> int:
    """Return the number of bits if there is room for so many columns."""
    if isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= MOST_BITS:
        raise InputError(f"bits must be an integer from 1 to {MOST_BITS}. Got {bits!r} instead.")
    return bits


@lru_cache(maxsize=1 << 16)
def bucket(name: str, bits: int) -> tuple[int, float]:
    """The column of a name, and the sign of its values."""
    text = np.frombuffer(name.encode("utf-8"), np.uint8)
    column, sign = hash_text(text, (1 << bits) - 1)
    return int(column), float(sign)


def hashed(x: Mapping[Any, float], bits: int) -> dict[int, float]:
    """Return an example with hashed names: {column: value}, columns from 0 to 2^bits − 1.

    Parameters
    ----------
    x : dict
        From feature names to numbers.
    bits : int from 1 to 28
        There are 2^bits columns; values of names that share one are added, each with its sign.

    Returns
    -------
    dict
        For ``learn_one`` and ``predict_one``; ``maxmargin stream --hash BITS`` hashes in the same way.

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.stream.hashed({"length": 2.0, "width": 1.0}, bits=10)
    {239: 2.0, 875: 1.0}
    """
    check_bits(bits)
    found: dict[int, float] = {}
    for name, value in x.items():
        column, sign = bucket(str(name), bits)
        found[column] = found.get(column, 0.0) + sign * value
    return found
