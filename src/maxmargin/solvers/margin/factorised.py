"""The rows on the margin solved by a factorisation, where conjugate residuals take too long.

Thousands of rows that nearly depend on each other, as texts do, make the system of
:mod:`maxmargin.solvers.margin.activeset` so badly conditioned that its matrix-free solution comes to no
end. A few thousand rows have few enough inner products to be kept. With K_ij = y_i y_j x_i·x_j over the
rows F on the margin, the steps of α_F and b solve

    K δ + y β = r,     y·δ = −Σ α_i y_i,          r_i = 1 − m_i  (with b = 0),

by a Cholesky factor of K + ε I, whose ε lets rows that depend on each other pass; what it spoils is
mended by repeating the step with the residuals that are left.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin.kernels.descent import dots
from maxmargin.solvers.margin.duel import Duel

__all__ = ["MOST", "Factorised"]

MOST = 5_000  # rows whose inner products are kept: 200 MB, and as much for the factor
RIDGE = 1e-9  # ε against the mean of ‖x_i‖²
TIMES = 6  # steps with one factor
DONE = 1e-12  # largest residual that is left alone
LESS = 0.5  # by which a step must make it smaller, for another one


class Factorised:
    """Solves for the multipliers on the margin; knows the inner products of all rows met so far."""

    def __init__(self, duel: Duel) -> None:
        self.duel = duel
        self._place = np.full(duel.n, -1)  # of each row in K, if it is there
        self._met = np.empty(0, dtype=np.intp)
        self._K = np.empty((0, 0))

    def solve(self, x: np.ndarray, w: np.ndarray, F: np.ndarray) -> bool:
        """Move the multipliers x of the rows F, and w with them, to where these rows have margin 1.

        False if there are too many of them, or their matrix has no factor; nothing is moved then.
        """
        duel, y, k = self.duel, self.duel.y[F], len(F)
        if not self._meet(F):
            return False
        at = self._place[F]
        K = self._K[np.ix_(at, at)] * (y[:, None] * y)
        K.flat[:: k + 1] += RIDGE * (float(np.trace(K)) / k or 1.0)
        try:
            factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return False
        towards = cho_solve(factor, y, check_finite=False)
        out, before = np.empty(k), np.inf
        for _ in range(TIMES):
            dots(duel.rows.arrays, F, w, out)
            duel.visits += k
            r = 1.0 - y * out
            step = cho_solve(factor, r, check_finite=False)
            if duel.pad:
                missing = -float(x @ duel.y)
                beta = (float(y @ step) - missing) / float(y @ towards)
                step -= beta * towards
                r -= beta * y
            left = float(np.max(np.abs(r)))
            if left <= DONE or not left <= LESS * before:
                break
            before = left
            x[F] += step
            duel.add(F, step, w)
        return True

    def _meet(self, F: np.ndarray) -> bool:
        """Compute the inner products of rows that are new."""
        fresh = F[self._place[F] < 0]
        if len(F) > MOST:
            return False
        if len(self._met) + len(fresh) > MOST:  # forget the rows that have left the margin
            self._place[:] = -1
            self._met, self._K, fresh = self._met[:0], np.empty((0, 0)), F
        old, new = len(self._met), len(self._met) + len(fresh)
        if not len(fresh):
            return True
        self._met = np.concatenate([self._met, fresh])
        self._place[fresh] = np.arange(old, new)
        K = np.empty((new, new))
        K[:old, :old] = self._K
        K[old:] = self.duel.rows.inner(fresh, self._met)
        K[:old, old:] = K[old:, :old].T
        self._K = K
        self.duel.visits += new
        return True
