"""From multipliers that grow without bound to a witness of at most d + 2 rows.

If no plane separates, the multipliers of the hard margin run off in a direction λ ≥ 0 with Σ λ_i a_i = 0
and Σ λ_i y_i = 0. Scaled to one in each class these are two convex combinations that meet. A solution of
this linear system by non-negative least squares has no more positive weights than there are equations
(Lawson and Hanson 1974): one per feature, and one per class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from maxmargin.rows import CsrRows, DenseRows
from maxmargin.solvers.margin.coordinates import Frame, Scaling
from maxmargin.solvers.margin.dual_problem import DualProblem


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    multiplier_shares: tuple[float, ...] = (1e-2, 1e-5, 0.0)  # of the largest, tried in this order
    growing_share: float = 1e-2  # against the multiplier that grew most
    rounding: float = 1e-13  # relative precision of rows, and of sums of them
    max_rows: int = 500  # that are tried
    max_entries: int = 1 << 21  # of them, as a dense matrix


SETTINGS = Settings()


def meeting_weights(frame: Frame, alpha: np.ndarray) -> np.ndarray | None:
    """Return weights of the rows with which the two classes meet to rounding, or None.

    The multipliers that grow without bound tower above the others: their rows are tried first.
    """
    for share in SETTINGS.multiplier_shares:
        some = np.flatnonzero((alpha > 0.0) & (alpha >= share * float(alpha.max())))
        if share and 4 * len(some) > np.count_nonzero(alpha):
            continue
        found = _meeting_weights(frame, some, alpha[some])
        if found is not None:
            weights = np.zeros(frame.n)
            weights[some] = found
            return weights
    return None


def _meeting_weights(frame: Frame, support: np.ndarray, alpha: np.ndarray) -> np.ndarray | None:
    A, y = frame.take(support), frame.y[support]
    classes = np.vstack([y > 0, y < 0]) if frame.pad else np.ones((1, len(y)))
    if not np.all(classes.any(axis=1)):
        return None
    reach = np.maximum(np.abs(A).max(axis=0), 1e-300)
    system = np.vstack([(A / reach).T, classes])
    goal = np.append(np.zeros(frame.d), np.ones(len(classes)))
    try:
        weights, _ = nnls(system, goal, maxiter=20 * len(support))
    except RuntimeError:  # too many steps: the multipliers themselves may do, with more rows
        weights = np.array(alpha)
        for side in classes:
            weights[side > 0] /= max(float(weights[side > 0].sum()), 1e-300)
    missing = np.abs(system @ weights - goal)
    return weights if np.all(missing <= SETTINGS.rounding * (1.0 + len(weights) ** 0.5)) else None


def opposite_twins(dual_problem: DualProblem) -> np.ndarray | None:
    """Return weights of two equal rows with opposite labels, or None: equal rows have equal values."""
    z = np.random.default_rng(0).standard_normal(dual_problem.d)
    f = dual_problem.rows.times(z[:, None])[:, 0]
    dual_problem.visits += dual_problem.n
    order = np.lexsort((dual_problem.y, f))
    near = np.flatnonzero((np.diff(f[order]) == 0.0) & (np.diff(dual_problem.y[order]) != 0.0))
    for k in near[: SETTINGS.max_rows]:
        pair = order[k : k + 2]
        x = dual_problem.rows.select(pair)
        if np.array_equal(*x.take(np.arange(2))):
            weights = np.zeros(dual_problem.n)
            weights[pair] = 1.0
            return weights
    return None


def growing_rows(dual_problem: DualProblem, growth: np.ndarray) -> np.ndarray | None:
    """Return weights with which the rows whose multipliers grow meet to rounding, or None."""
    some = np.flatnonzero(growth > SETTINGS.growing_share * float(growth.max()))
    if len(some) > SETTINGS.max_rows:
        return None
    part = dual_problem.rows.select(some)
    A = part.matrix if isinstance(part, CsrRows) else sparse.csr_array(part.take(np.arange(part.n)))
    kept = _may_cancel(A, dual_problem.y[some], bool(dual_problem.pad))
    some, A = some[kept], A[kept]
    columns = np.unique(A.indices) if A.nnz else np.arange(1)
    if not 0 < len(some) * len(columns) <= SETTINGS.max_entries:
        return None
    frame = Frame(
        DenseRows(np.asarray(A[:, columns].toarray(), dtype=np.float64)),
        dual_problem.y[some],
        dual_problem.pad,
        Scaling(np.zeros(len(columns)), 1.0),
    )
    found = meeting_weights(frame, growth[some])
    if found is None:
        return None
    weights = np.zeros(dual_problem.n)
    weights[some] = found
    return weights


def _may_cancel(A: Any, y: np.ndarray, pad: bool) -> np.ndarray:
    """Rows left after those are dropped, again and again, that have a column of one sign: y_i x_ij."""
    kept = np.arange(A.shape[0])
    while len(kept):
        B = sparse.csr_array(A[kept].astype(np.float64))
        sign = np.sign(B.data) * np.repeat(y[kept], np.diff(B.indptr))
        up = np.bincount(B.indices[sign > 0], minlength=A.shape[1]) > 0
        down = np.bincount(B.indices[sign < 0], minlength=A.shape[1]) > 0
        bad = (up != down)[B.indices] & (sign != 0)
        alone = np.bincount(np.repeat(np.arange(len(kept)), np.diff(B.indptr))[bad], minlength=len(kept))
        if pad and len(set(y[kept].tolist())) < 2:
            return kept[:0]
        if not np.any(alone):
            return kept
        kept = kept[alone == 0]
    return kept
