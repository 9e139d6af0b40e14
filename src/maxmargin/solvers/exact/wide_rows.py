"""Fewer rows than columns, as texts have: a plane, or rows that cancel, from inner products alone.

With unit rows a_i and z = Σ u_i a_i, the violations r_i = max(0, 1 − a_i·z) depend on K = A Aᵀ alone.
Where ½ Σ r_i² is least, Σ r_i a_i = 0: either all violations are zero, and z separates, or the rows with
r_i > 0 cancel. Nearly all rows of such data are independent, so a few Newton steps lead there,

    K_VV s_V = r_V  for the rows V that are violated,

where a largest margin, which nobody asked for, may take a hundred times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr, solve_triangular

from maxmargin.core.parameters import Deadline
from maxmargin.rows import CsrRows, Rows
from maxmargin.solvers.exact.sparse_rows import SEPARATED, Violations, lowest

MAX_ROWS = 4_000  # of which all inner products are kept
MAX_STEPS = 100
RIDGE = 1e-13  # of the diagonal for each row, where rows depend on others
MAX_QR_PRODUCTS = 1 << 33  # n² d: a few seconds
DEPENDENT = 1e-13  # of a unit row, outside the span of those before it
NO_PROGRESS = 1e-12  # of a step, relative to ½ Σ r²


def fitting_plane(rows: Rows, deadline: Deadline) -> np.ndarray | None:
    """The least z with a_i·z = 1 for all signed rows, by a QR factorisation; None if they depend.

    Rows that nearly cancel are told apart here: K holds the squares of what is between them.
    """
    if rows.n * rows.n * rows.d > MAX_QR_PRODUCTS:
        return None
    deadline.check()
    A = rows.take(np.arange(rows.n))
    length = np.linalg.norm(A, axis=1)
    Q, R = qr((A / length[:, None]).T, mode="economic", overwrite_a=True)
    if float(np.min(np.abs(np.diag(R)))) < DEPENDENT:
        return None
    return np.asarray(Q @ solve_triangular(R, 1.0 / length, trans="T"))


@np.errstate(all="ignore")  # what leaves the range of doubles is noticed
def least_violations_of_wide(rows: Rows, deadline: Deadline) -> Violations | None:
    """Minimise ½ Σ max(0, 1 − a_i·z)² over signed rows; the violations are in units of ‖a_i‖²."""
    X: Any = rows.matrix if isinstance(rows, CsrRows) else rows.take(np.arange(rows.n))
    K = X @ X.T
    K = K.toarray() if isinstance(rows, CsrRows) else K
    deadline.check()
    length = np.sqrt(np.diag(K))
    if not np.all((length > 0.0) & np.isfinite(length)):
        return None
    K /= length * length[:, None]
    z, f, value = np.zeros(rows.d), np.zeros(rows.n), np.inf
    for step in range(MAX_STEPS):
        deadline.check(doing=f"step {step} towards a plane, or rows that cancel")
        r = np.maximum(1.0 - f, 0.0)
        if float(r.max()) < SEPARATED:
            return Violations(z, np.zeros(rows.n))
        if 0.5 * float(r @ r) >= value * (1.0 - NO_PROGRESS):
            break
        value = 0.5 * float(r @ r)
        V = np.flatnonzero(r)
        H = K[np.ix_(V, V)]
        try:
            factors = cho_factor(H + RIDGE * len(V) * np.eye(len(V)))
        except np.linalg.LinAlgError:
            return None
        s = np.zeros(rows.n)
        s[V] = cho_solve(factors, r[V])
        s[V] += cho_solve(factors, r[V] - H @ s[V])
        change = X.T @ (s / length)  # s may be large where rows cancel, what it changes is not
        z += lowest(f, X @ change / length) * change
        f = X @ z / length
    return Violations(z, r / length)
