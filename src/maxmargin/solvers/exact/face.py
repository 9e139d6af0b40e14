"""The rows that every weakly separating plane must contain, and the directions that are left.

If positive weights cancel on rows S, a plane z with a_i·z ≥ 0 on all rows has a_i·z = 0 on S, hence on
the whole span of S. What is left is to separate the other rows by planes that contain S: planes of the
quotient space. With independent rows F of S, solved for some columns P, these are

    z_P = −M z_Q,  M = F_P^-1 F_Q,  with z_Q free,  and  a_i·z = (a_iQ − a_iP M)·z_Q.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from flint import nmod_mat
from scipy import sparse

from maxmargin.rows import CsrRows, DenseRows, PartedRows, Rows
from maxmargin.rows.room import room
from maxmargin.solvers.exact.dependence import PRIMES, cancel, independent, pivots, solve
from maxmargin.solvers.exact.signs import ratio
from maxmargin.solvers.exact.whole import ExactRows, primitive

__all__ = ["Face"]

CHUNK = 1 << 19  # numbers of rows taken at a time
NEAR = 1e-11  # a row this near to a face (in proportion) may lie in it


class Face:
    """Rows S with positive weights that cancel, and the planes that contain them."""

    def __init__(self, rows: ExactRows, weights: dict[int, int]) -> None:
        self.rows = rows
        self.weights = weights
        which = sorted(weights)
        A = [ints for ints, _ in rows.whole(which)]
        chosen = independent(A) if A else []
        self.free = [which[k] for k in chosen]
        self._F = [A[k] for k in chosen]
        self.P = self._columns() if chosen else []
        self.Q = sorted(set(range(rows.D)) - set(self.P))

    def _columns(self) -> list[int]:
        """Columns to solve for: of sparse rows those with fewest entries, so that few rows change."""
        used = [j for j, column in enumerate(zip(*self._F, strict=True)) if any(column)]
        if self.rows.rows.is_sparse:
            count = np.zeros(self.rows.D, dtype=np.int64)
            for _, block in self.rows.rows.blocks():
                count += np.bincount(block.arrays[1], minlength=self.rows.D)
            count[self.rows.d :] = self.rows.n
            used.sort(key=lambda j: (int(count[j]), j))
        return [used[k] for k in pivots([[row[j] for j in used] for row in self._F])]

    @property
    def rank(self) -> int:
        """The dimension of the span of S."""
        return len(self.free)

    def joined(self, weights: dict[int, int], free: dict[int, int]) -> Face:
        """Take in rows that cancel with the help of S: Σ λ_i a_i + Σ μ_i a_i = 0, μ of any sign."""
        times = 1 + max([0, *(-(free[i] // self.weights[i]) for i in free)])
        total = {i: times * w for i, w in self.weights.items()}
        for part in (weights, free):
            for i, w in part.items():
                total[i] = total.get(i, 0) + w
        values = primitive(list(total.values()))
        return Face(self.rows, dict(zip(total, values, strict=True)))

    @cached_property
    def _M(self) -> tuple[list[list[int]], int]:
        """The integers N and the scale q > 0 with M = N/q."""
        if not self.free or not self.Q:
            return [[0] * len(self.Q) for _ in self.P], 1
        F_P = [[row[j] for j in self.P] for row in self._F]
        return solve(F_P, [[row[j] for j in self.Q] for row in self._F])

    @cached_property
    def _M_rounded(self) -> np.ndarray:
        N, scale = self._M
        rounded = [[ratio(n, scale) for n in row] for row in N]
        return np.array(rounded).reshape(len(self.P), len(self.Q))

    def lift(self, u: Sequence[int]) -> list[int]:
        """The plane with z_Q = u."""
        N, scale = self._M
        z = [0] * self.rows.D
        for j, v in zip(self.Q, u, strict=True):
            z[j] = v * scale
        for j, row in zip(self.P, N, strict=True):
            z[j] = -sum(n * v for n, v in zip(row, u, strict=True))
        return primitive(z)

    def flats(self) -> list[list[int]]:
        """Independent planes that span all those that contain S, but for columns that are zero."""
        k = len(self.Q)
        used = [j for j, column in enumerate(self.Q) if self.rows.used[column]]
        return [self.lift([int(i == j) for i in range(k)]) for j in used]

    def with_all_rows(self) -> dict[int, int]:
        """Positive weights with which all rows of the data cancel, if all lie in the span of S."""
        others = sorted(set(range(self.rows.n)) - set(self.weights))
        if not others:
            return self.weights
        found = cancel(self.rows, (), self.free, dict.fromkeys(others, 1))
        assert found is not None  # their sum lies in the span
        return self.joined(*found).weights

    def quotient(self, A: np.ndarray) -> np.ndarray:
        """a_Q − a_P M in floating point."""
        with np.errstate(all="ignore"):  # what leaves the range of doubles is noticed
            return np.asarray(A[:, self.Q] - A[:, self.P] @ self._M_rounded)

    def quotient_rows(self, which: np.ndarray) -> Rows:
        """The same for some rows of the data, sparse where these are."""
        rows = self.rows.rows
        entries = int(rows.entries * len(which) / max(rows.n, 1))
        if rows.resident or entries <= room():
            return self._quotient_rows(which)
        shape = len(which), len(self.Q)
        fetch = lambda start, stop: self._quotient_rows(which[start:stop])  # noqa: E731
        return PartedRows(fetch, shape, entries, rows.is_sparse)

    def _quotient_rows(self, which: np.ndarray) -> DenseRows | CsrRows:
        rows, step = self.rows, max(1, CHUNK // self.rows.D)
        if rows.rows.is_sparse:
            A = rows.sparse_block(which)
            M = sparse.csr_array(self._M_rounded)
            return CsrRows.from_matrix((A[:, self.Q] - A[:, self.P] @ M).tocsr())
        G = np.empty((len(which), len(self.Q)))
        for start in range(0, len(which), step):
            G[start : start + step] = self.quotient(rows.block(which[start : start + step]))
        return DenseRows(G)

    def outside(self, which: np.ndarray) -> np.ndarray:
        """The rows that are not in the span of S.

        Rows that floating point sees in it are looked at exactly if it is not sure, and they are not
        too many; a row that stays unseen does no harm, since all signs are decided in the end.
        """
        step = max(1, CHUNK // self.rows.D)
        parts = (which[start : start + step] for start in range(0, len(which), step))
        reach = np.concatenate([_row_reach(self._quotient_rows(part)) for part in parts])
        near = reach <= NEAR
        small = len(which) * self.rows.D <= CHUNK // 8
        doubt = near if small or self.rows.rows is not self.rows.given else near & (reach > 0.0)
        if np.count_nonzero(doubt) * self.rows.D <= CHUNK:
            doubtful = np.flatnonzero(doubt)
            near[doubtful] = self.contains(which[doubtful])
        return which[~near]

    def lift_rounded(self, u: np.ndarray) -> np.ndarray:
        """The plane with z_Q = u in floating point."""
        z = np.empty(self.rows.D)
        z[self.Q], z[self.P] = u, -(self._M_rounded @ u)
        return z

    def contains(self, which: np.ndarray) -> np.ndarray:
        """Whether rows lie in the span of S (modulo a prime)."""
        if not len(which) or not self.free:
            return np.array([not any(ints) for ints, _ in self.rows.whole(which.tolist())], dtype=bool)
        if not self.Q:
            return np.ones(len(which), dtype=bool)
        N, scale = self._M
        prime = next(p for p in PRIMES if scale % p)
        inverse = pow(scale, -1, prime)
        M = nmod_mat([[n * inverse % prime for n in row] for row in N], prime)
        inside: list[bool] = []
        for start in range(0, len(which), 1_000):
            part: Any = [ints for ints, _ in self.rows.whole(which[start : start + 1_000].tolist())]
            A_P = nmod_mat([[row[j] % prime for j in self.P] for row in part], prime)
            A_Q = nmod_mat([[row[j] % prime for j in self.Q] for row in part], prime)
            left = A_Q - A_P * M
            k = len(self.Q)
            entries = [int(v) for v in left.entries()]
            inside += [not any(entries[r * k : (r + 1) * k]) for r in range(len(part))]
        return np.array(inside, dtype=bool)


def _row_reach(rows: Rows) -> np.ndarray:
    """max_j |x_ij| for every row."""
    if isinstance(rows, CsrRows):
        return np.asarray(abs(rows.matrix).max(axis=1).toarray()).ravel()
    return np.asarray(np.max(np.abs(rows.arrays.X), axis=1))  # type: ignore[union-attr]
