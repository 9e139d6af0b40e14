"""Inner products of the rows that have been in the band, kept from step to step.

From one Newton step to the next the band changes by a few rows. With hundreds of features, forming A Aᵀ
anew costs far more than all the rest of a step; so the products of all rows met so far are kept. The
last digits of a product depend on the rows it was computed with, so a resumed run repeats the history.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["Products"]

MOST = 2_500  # rows whose products are kept


class Products:
    """A Aᵀ for a growing set of rows."""

    def __init__(self, n: int, d: int) -> None:
        self._place = np.full(n, -1)
        self.clear()
        self._rows = np.empty((0, d))  # with room for more
        self._known = np.empty((0, 0))

    def clear(self) -> None:
        """Forget all rows."""
        self._place[:] = -1
        self._count = 0
        self.history: list[np.ndarray] = []  # rows that were added together

    def repeat(self, history: list[np.ndarray], take: Callable[[np.ndarray], np.ndarray]) -> None:
        """Know the products of a history, with the same bits; ``take`` gets the rows."""
        self.clear()
        for which in history:
            self._extend(which, take(which))

    def among(self, band: np.ndarray, A: np.ndarray) -> np.ndarray:
        """Return A Aᵀ, where A holds the rows ``band``."""
        fresh = self._place[band] < 0
        if self._count + np.count_nonzero(fresh) > MOST:
            self.clear()
            fresh = np.ones(len(band), dtype=bool)
        if fresh.any():
            self._extend(band[fresh], A[fresh])
        at = self._place[band]
        return np.asarray(self._known[np.ix_(at, at)])

    def _extend(self, which: np.ndarray, A: np.ndarray) -> None:
        old, new = self._count, self._count + len(which)
        if new > len(self._rows):
            room = max(2 * len(self._rows), new)
            rows, known = np.empty((room, A.shape[1])), np.empty((room, room))
            rows[:old], known[:old, :old] = self._rows[:old], self._known[:old, :old]
            self._rows, self._known = rows, known
        self._rows[old:new] = A
        self._known[old:new, :new] = A @ self._rows[:new].T
        self._known[:old, old:new] = self._known[old:new, :old].T
        self._place[which] = np.arange(old, new)
        self._count = new
        self.history.append(which)
