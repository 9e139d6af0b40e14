"""Arrays that are used again and again: memory given back to the system costs time to get once more."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Scratch"]


class Scratch:
    """Space by name; an array is good until the same name is asked for again."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def array(self, name: str, size: int, dtype: Any = np.float64) -> np.ndarray:
        """Return an array of this size; what is in it does not matter."""
        if name not in self._arrays or len(self._arrays[name]) < size:
            self._arrays[name] = np.empty(size, dtype=dtype)
        return self._arrays[name][:size]
