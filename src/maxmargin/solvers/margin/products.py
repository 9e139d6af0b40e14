"""Inner products of the rows that have been in the band, kept from step to step.

From one Newton step to the next the band changes by a few rows. With hundreds of features, forming A Aᵀ
anew costs far more than all the rest of a step; so the products of all rows met so far are kept. The
last digits of a product depend on the rows it was computed with, so a resumed run repeats the history.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["Growing", "Products"]

MOST = 2_500  # rows whose products are kept


class Growing:
    """x_i·x_j for a growing set of rows, of which there are ``most`` at a time."""

    def __init__(self, n: int, most: int) -> None:
        self._place, self._most = np.full(n, -1), most
        self._known = np.empty((0, 0))  # with room for more
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self._place[:] = -1
        self.count = 0
        self.history: list[np.ndarray] = []  # rows that were added together

    def fresh(self, which: np.ndarray) -> np.ndarray:
        """Which of these rows are not known; if all would be too many, the others are forgotten."""
        fresh = self._place[which] < 0
        if self.count + np.count_nonzero(fresh) > self._most:
            self.clear()
            fresh = np.ones(len(which), dtype=bool)
        return np.asarray(fresh)

    def add(self, which: np.ndarray, products: np.ndarray) -> None:
        """Take in the products of new rows with all that are known, and then with themselves."""
        old, new = self.count, self.count + len(which)
        if new > len(self._known):
            room = max(2 * len(self._known), new)
            known = np.empty((room, room))
            known[:old, :old] = self._known[:old, :old]
            self._known = known
        self._known[old:new, :new] = products
        self._known[:old, old:new] = products[:, :old].T
        self._place[which] = np.arange(old, new)
        self.count = new
        self.history.append(which)

    def known(self, which: np.ndarray) -> np.ndarray:
        """The products of some known rows with each other."""
        at = self._place[which]
        return np.asarray(self._known[np.ix_(at, at)])


class Products(Growing):
    """A Aᵀ for rows that come dense, with their labels' signs; they are kept, too."""

    def __init__(self, n: int, d: int) -> None:
        super().__init__(n, MOST)
        self._rows = np.empty((0, d))  # with room for more

    def repeat(self, history: list[np.ndarray], take: Callable[[np.ndarray], np.ndarray]) -> None:
        """Know the products of a history, with the same bits; ``take`` gets the rows."""
        self.clear()
        for which in history:
            self._extend(which, take(which))

    def among(self, band: np.ndarray, A: np.ndarray) -> np.ndarray:
        """Return A Aᵀ, where A holds the rows ``band``."""
        fresh = self.fresh(band)
        if fresh.any():
            self._extend(band[fresh], A[fresh])
        return self.known(band)

    def _extend(self, which: np.ndarray, A: np.ndarray) -> None:
        old, new = self.count, self.count + len(which)
        if new > len(self._rows):
            rows = np.empty((max(2 * len(self._rows), new), A.shape[1]))
            rows[:old] = self._rows[:old]
            self._rows = rows
        self._rows[old:new] = A
        self.add(which, A @ self._rows[:new].T)
