"""The widest face at once: as many rows as possible that every weakly separating plane must contain.

Take independent rows B among the rows T, with weights c > 0 at random. If −Σ c_i a_i lies in the cone of
T, the rows that show it cancel together with B, and span all of T (Steinitz 1913). If not, the residual
of the least-squares problem with non-negative weights is a plane z with a_i·z ≥ 0 on T; the face lies
in the rows with a_i·z = 0, so go on with those. All of it in floating point; the weights found are then
computed exactly, and checked.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr
from scipy.optimize import nnls

from maxmargin.solvers.exact.dependence import cancel
from maxmargin.solvers.exact.face import Face
from maxmargin.solvers.exact.whole import ExactRows
from maxmargin.solvers.margin.frame import draw
from maxmargin.solvers.threads import one_thread

__all__ = ["widest"]

POOL = 2_000  # rows to begin with, and to add at most
LARGEST = 1 << 21  # numbers of a pool whose dense factorisation is worth while
ZERO = 1e-9  # relative size of a value that is zero up to rounding
WEIGHTS = 64  # random weights are whole numbers below this

Weights = tuple[dict[int, int], dict[int, int]]


def widest(rows: ExactRows, face: Face, alive: np.ndarray) -> Weights | None:
    """Return weights as ``cancel`` does for a face that is as wide as can be, or None."""
    if min(len(alive), POOL) * len(face.Q) > LARGEST:
        return None
    rng = np.random.default_rng(0)
    T = alive
    with one_thread(True), np.errstate(all="ignore"):
        while len(T):
            rows.deadline.check()
            found = _settle(rows, face, T, rng)
            if not isinstance(found, np.ndarray):
                if found is None:
                    return None
                support, given = found
                return cancel(rows, support, face.free, given)
            if len(found) == len(T):
                return None
            T = found
    return None


def _settle(
    rows: ExactRows, face: Face, T: np.ndarray, rng: np.random.Generator
) -> tuple[list[int], dict[int, int]] | np.ndarray | None:
    """Rows that cancel with given weights on others, or the rows on a plane with T on one side."""
    pool = T[draw(len(T), max(POOL, min(10 * rows.D, LARGEST // rows.D)))]
    while True:
        rows.deadline.check()
        G = face.quotient(rows.block(pool))
        if not np.all(np.isfinite(G)):
            return None
        Q, R, order = qr(G.T, mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        rank = int(np.count_nonzero(size > 1e-10 * size[0])) if size[0] > 0 else 0
        if not rank:
            return None
        chosen, basis = order[:rank], Q[:, :rank]
        c = rng.integers(1, WEIGHTS, size=rank)
        C = G @ basis
        target = -(c @ C[chosen])
        try:
            weights, residual = nnls(C.T, target, maxiter=30 * rank)
        except (RuntimeError, ValueError):  # too many steps, or numbers out of range
            return None
        used = np.flatnonzero(weights)
        if residual <= ZERO * float(np.linalg.norm(target)):
            given = dict(zip(pool[chosen].tolist(), c.tolist(), strict=True))
            return pool[used].tolist(), given
        u = basis @ (C.T @ weights - target)
        z = face.lift_rounded(u / np.max(np.abs(u)))
        values = rows.values(z)[T]
        level = ZERO * max(float(np.max(np.abs(values))), 1e-3)
        violated = np.flatnonzero(values < -level)
        fresh = np.setdiff1d(T[violated], pool)
        if not len(fresh):
            return np.union1d(T[np.abs(values) <= level], pool[used])
        if len(fresh) > POOL:
            worst = T[violated[np.argsort(values[violated])]]
            fresh = np.setdiff1d(worst[: 2 * POOL], pool)[:POOL]
        pool = np.concatenate([pool, fresh])
