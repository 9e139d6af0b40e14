"""Inner products of the rows that have been in the band, kept from step to step.

From one Newton step to the next the band changes by a few rows. With hundreds of features, forming A Aᵀ
anew costs far more than all the rest of a step; so the products of all rows met so far are kept.
"""

from __future__ import annotations

import numpy as np

__all__ = ["Products"]

MOST = 2_500  # rows whose products are kept


class Products:
    """A Aᵀ for a growing set of rows."""

    def __init__(self, n: int, d: int) -> None:
        self._place = np.full(n, -1)
        self._rows = np.empty((0, d))
        self._known = np.empty((0, 0))

    def among(self, band: np.ndarray, A: np.ndarray) -> np.ndarray:
        """Return A Aᵀ, where A holds the rows ``band``."""
        fresh = self._place[band] < 0
        if len(self._rows) + np.count_nonzero(fresh) > MOST:
            self._place[:] = -1
            self._rows, self._known = self._rows[:0], self._known[:0, :0]
            fresh = np.ones(len(band), dtype=bool)
        if fresh.any():
            self._extend(band[fresh], A[fresh])
        at = self._place[band]
        return np.asarray(self._known[np.ix_(at, at)])

    def grown(self, n: int) -> Products:
        """The same for a longer list of rows, of which those so far are the first."""
        self._place = np.append(self._place, np.full(n - len(self._place), -1))
        return self

    def _extend(self, which: np.ndarray, A: np.ndarray) -> None:
        old = len(self._rows)
        self._place[which] = np.arange(old, old + len(which))
        rows = np.vstack([self._rows, A])
        known = np.empty((len(rows), len(rows)))
        known[:old, :old] = self._known
        known[old:] = A @ rows.T
        known[:old, old:] = known[old:, :old].T
        self._rows, self._known = rows, known
