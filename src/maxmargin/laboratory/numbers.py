"""Numbers as JSON can hold them: no nan, no infinity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["finite", "plain", "quantity"]


def quantity(value: Any) -> float | None:
    """A float, or None if it is not finite."""
    number = float(value)
    return number if math.isfinite(number) else None


def finite(values: Sequence[float]) -> list[float] | None:
    """A list of floats, or None if one is not finite."""
    numbers = [float(v) for v in values]
    return numbers if all(map(math.isfinite, numbers)) else None


def plain(array: np.ndarray) -> list[Any]:
    """An array as nested lists, None where it is not finite."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return list(array.tolist())
    holes = array.astype(object)
    holes[~np.isfinite(array)] = None
    return list(holes.tolist())
