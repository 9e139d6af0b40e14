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
from maxmargin.solvers.margin.products import Growing

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
        self._products = Growing(duel.n, MOST)

    def solve(self, x: np.ndarray, w: np.ndarray, F: np.ndarray) -> bool:
        """Move the multipliers x of the rows F, and w with them, to where these rows have margin 1.

        False if there are too many of them, or their matrix has no factor; nothing is moved then.
        """
        duel, y, k = self.duel, self.duel.y[F], len(F)
        if k > MOST:
            return False
        K = self._inner(F) * (y[:, None] * y)
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

    def _inner(self, F: np.ndarray) -> np.ndarray:
        """The inner products of the rows F; those of rows that are new are computed."""
        fresh = F[self._products.fresh(F)]
        if len(fresh):
            met = np.concatenate([*self._products.history, fresh])
            self._products.add(fresh, self.duel.rows.inner(fresh, met))
            self.duel.visits += len(met)
        return self._products.known(F)
