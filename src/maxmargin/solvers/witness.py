"""From multipliers that grow without bound to a witness of at most d + 2 rows.

If no plane separates, the multipliers of the hard margin run off in a direction λ ≥ 0 with Σ λ_i a_i = 0
and Σ λ_i y_i = 0. Scaled to one in each class these are two convex combinations that meet. A solution of
this linear system by non-negative least squares has no more positive weights than there are equations
(Lawson and Hanson 1974): one per feature, and one per class.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from maxmargin.core.witness import Witness
from maxmargin.rows import Rows
from maxmargin.solvers.frame import Frame

__all__ = ["find_witness"]


def find_witness(frame: Frame, support: np.ndarray, alpha: np.ndarray) -> Witness:
    """Reduce the rows ``support`` with multipliers ``alpha`` to a witness."""
    A, y = frame.take(support), frame.y[support]
    classes = np.vstack([y > 0, y < 0]) if frame.pad else np.ones((1, len(y)))
    reach = np.maximum(np.abs(A).max(axis=0), 1e-300)
    system = np.vstack([(A / reach).T, classes])
    goal = np.append(np.zeros(frame.d), np.ones(len(classes)))
    weights = alpha / max(float(alpha.sum()), 1e-300)
    try:
        found, residual = nnls(system, goal, maxiter=20 * len(support))
        if residual < 1e-6:
            weights = found
    except RuntimeError:
        pass  # too many steps: the multipliers themselves are a witness, of more rows
    return _witness(frame.rows, support, y, weights, bool(frame.pad))


def _witness(
    rows: Rows, support: np.ndarray, y: np.ndarray, weights: np.ndarray, means: bool
) -> Witness:
    some = weights > 0
    support, y, weights = support[some], y[some], weights[some]
    X = rows.take(support)
    plus, minus = y > 0, y < 0
    if means:
        up, down = weights[plus] / weights[plus].sum(), weights[minus] / weights[minus].sum()
    else:
        up, down = weights[plus] / weights.sum(), weights[minus] / weights.sum()
    point, other = up @ X[plus], down @ X[minus]
    return Witness(
        positive=support[plus],
        positive_weights=up,
        negative=support[minus],
        negative_weights=down,
        point=0.5 * (point + other),
        distance=float(np.linalg.norm(point - other)),
    )
