"""Words that several sentences share: how many of a thing, and the first of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["count", "some"]


def count(n: int, thing: str, form: str = "") -> str:
    """1 epoch, 2 epochs; ``form`` says how to write n, as in 1,000 rows."""
    return f"{n:{form}} {thing}" if n == 1 else f"{n:{form}} {thing}s"


def some(values: Sequence[Any] | np.ndarray, most: int, write: Callable[[Any], str] = str) -> str:
    """The first few of a list: 3, 8, 9, …."""
    return ", ".join(map(write, values[:most])) + (", …" if len(values) > most else "")
