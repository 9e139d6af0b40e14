"""The rows that every weakly separating plane must contain, and the directions that are left.

If positive weights cancel on rows S, a plane z with a_i·z ≥ 0 on all rows has a_i·z = 0 on S, hence on
the whole span of S. What is left is to separate the other rows by planes that contain S: planes of the
quotient space. With independent rows F of S, solved for some columns P, these are

    z_P = −M z_Q,  M = F_P^-1 F_Q,  with z_Q free,  and  a_i·z = (a_iQ − a_iP M)·z_Q.

M is zero outside the columns U of Q in which a row of S is not zero: of sparse rows, few.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from maxmargin.core.memory import copy_limit
from maxmargin.rows import CsrRows, DenseRows, PartedRows, Rows
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, primitive
from maxmargin.solvers.exact.linear_algebra import (
    basis,
    cancel,
    independent,
    pivots,
    residues,
    solve_sparse,
)
from maxmargin.solvers.exact.modular import outside_span, primes, reduced
from maxmargin.solvers.exact.signs import ROUNDED_BELOW, ratio

ENTRIES_AT_A_TIME = 1 << 19  # numbers of rows taken at a time
COMMON_DENOMINATOR_BITS = 300  # bits of a common denominator that a plane may have
NUMBERS_PER_FRACTION = 8  # fractions are at most one number in so many
MAX_DENSE_ENTRIES = 1 << 18  # numbers of rows whose rank is found without regard to zeros
PRIMES_PER_QUESTION = 3  # modulo which a row is in a span
SMALL_PRIMES = (1 << 26) - 5, (1 << 25) - 39
NEAR_FACE = 1e-11  # a row this near to a face (in proportion) may lie in it


class Face:
    """Rows S with positive weights that cancel, and the planes that contain them."""

    def __init__(self, rows: ExactRows, weights: dict[int, int]) -> None:
        self.rows = rows
        self.weights = weights
        self.free, self.P = self._basis()
        self.Q = np.delete(np.arange(rows.D), self.P)
        F = [dict(a.entries()) for a in rows.integers(self.free)]
        places = {j: k for k, j in enumerate(self.P)}
        self._U = sorted({j for row in F for j, v in row.items() if v and j not in places})
        where = {j: k for k, j in enumerate(self._U)}  # the other columns that are not zero in S
        self._F_P = [{places[j]: v for j, v in row.items() if v and j in places} for row in F]
        self._F_U = [{where[j]: v for j, v in row.items() if v and j in where} for row in F]

    def _basis(self) -> tuple[list[int], list[int]]:
        """Independent rows F of S that span it, and columns on which they are regular.

        Of sparse rows the columns with fewest entries, so that few rows change.
        """
        rows, which = self.rows, sorted(self.weights)
        if rows.is_very_sparse and len(which) * rows.D > MAX_DENSE_ENTRIES:
            some, columns = basis(rows.sparse_block(np.array(which)), rows.deadline)
            return [which[k] for k in some.tolist()], columns.tolist()
        used, A, _ = rows.plain.compact(which)
        if not used:
            return [], []
        free = [which[k] for k in independent(A, rows.deadline)]
        used, A, _ = rows.compact(free)
        order = list(range(len(used)))
        if rows.given.is_sparse:
            count = rows.column_counts
            order.sort(key=lambda k: (int(count[used[k]]), k))
        held = pivots([[row[k] for k in order] for row in A], rows.deadline)
        return free, [used[order[k]] for k in held]

    @property
    def rank(self) -> int:
        """The dimension of the span of S."""
        return len(self.free)

    def joined(self, weights: dict[int, int], free: dict[int, int]) -> Face:
        """Take in rows that cancel with the help of S: Σ λ_i a_i + Σ μ_i a_i = 0, μ of any sign."""
        times = 1 + max([0, *[-(free[i] // self.weights[i]) for i in free]])
        total = {i: times * w for i, w in self.weights.items()}
        for part in (weights, free):
            for i, w in part.items():
                total[i] = total.get(i, 0) + w
        values = primitive(list(total.values()))
        return Face(self.rows, dict(zip(total, values, strict=True)))

    @cached_property
    def _M(self) -> list[tuple[dict[int, int], int]]:
        """For each column of P the row of M by places in U, and its scale > 0.

        Rows that share no column of P are solved for apart, so that their numbers stay short.
        """
        M: list[tuple[dict[int, int], int]] = [({}, 1)] * len(self.P)
        if not self._U:
            return M
        pairs = np.array([(i, k) for i, row in enumerate(self._F_P) for k in row])
        joint = sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1] + len(self.P))))
        joint.resize(2 * len(self.P), 2 * len(self.P))
        count, home = connected_components(joint)
        parts: list[tuple[list[int], list[int]]] = [([], []) for _ in range(count)]
        for node, c in enumerate(home.tolist()):
            parts[c][node >= len(self.P)].append(node % len(self.P))
        for r, k in parts:
            place = {j: u for u, j in enumerate(k)}
            F_P = [{place[j]: v for j, v in self._F_P[i].items()} for i in r]
            solution = solve_sparse(F_P, [self._F_U[i] for i in r], self.rows.deadline)
            for j, row in zip(k, solution, strict=True):
                M[j] = row
        return M

    @cached_property
    def _M_rounded(self) -> Any:
        """M in floating point, sparse where the rows are."""
        entries = [
            (j, k, ratio(n, scale)) for j, (row, scale) in enumerate(self._M) for k, n in row.items()
        ]
        M = matrix_of(entries, (len(self.P), len(self._U)), np.float64)
        return M if self.rows.given.is_sparse else M.toarray()

    @cached_property
    def _places(self) -> np.ndarray:
        """Where the columns U stand in Q."""
        return np.searchsorted(self.Q, self._U)

    def lift(self, u: Sequence[int]) -> list[Number]:
        """The plane with z_Q = u: in whole numbers, or with a few fractions if that is much shorter."""
        common = math.lcm(*(scale for _, scale in self._M))
        apart = common.bit_length() > COMMON_DENOMINATOR_BITS and NUMBERS_PER_FRACTION * len(
            self.P
        ) < len(self.Q)
        z: list[Number] = [0] * self.rows.D
        for j, v in zip(self.Q.tolist(), u, strict=True):
            z[j] = v if apart else v * common
        at = [u[k] for k in self._places]
        for j, (row, scale) in zip(self.P, self._M, strict=True):
            total = -sum([n * at[k] for k, n in row.items()])
            z[j] = Fraction(total, scale) if apart else total * (common // scale)
        return z if apart else primitive(z)

    def flats(self) -> list[list[Number]]:
        """Independent planes that span all those that contain S, but for columns that are zero."""
        k = len(self.Q)
        used = np.flatnonzero(self.rows.used[self.Q]).tolist()
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
        G = A[:, self.Q]
        if self.P:
            with np.errstate(all="ignore"):  # what leaves the range of doubles is noticed
                G[:, self._places] -= A[:, self.P] @ self._M_rounded
        return np.asarray(G)

    def quotient_rows(self, which: np.ndarray) -> Rows:
        """The same for some rows of the data, sparse where these are."""
        rows = self.rows.rows
        entries = int(rows.entries * len(which) / max(rows.n, 1))
        if rows.resident or entries <= copy_limit():
            if not rows.is_sparse:
                return self._quotient_rows(which)
            parts = [self._quotient_rows(part).matrix for part in self._parts(which)]  # type: ignore[union-attr]
            return CsrRows.from_matrix(sparse.csr_array(sparse.vstack(parts, format="csr")))
        shape = len(which), len(self.Q)
        fetch = lambda start, stop: self._quotient_rows(which[start:stop])  # noqa: E731
        return PartedRows(fetch, shape, entries, rows.is_sparse)

    def _quotient_rows(self, which: np.ndarray) -> DenseRows | CsrRows:
        rows = self.rows
        if rows.given.is_sparse:
            A = rows.sparse_block(which)
            if self.P:
                A = sparse.csr_array(A - A[:, self.P] @ self._change)  # no entries are left in P
                place = np.cumsum(~np.isin(np.arange(rows.D), self.P), dtype=A.indices.dtype) - 1
                A = sparse.csr_array((A.data, place[A.indices], A.indptr), (len(which), len(self.Q)))
            return CsrRows.from_matrix(A)
        step = max(1, ENTRIES_AT_A_TIME // rows.D)
        G = np.empty((len(which), len(self.Q)))
        for start in range(0, len(which), step):
            G[start : start + step] = self.quotient(rows.block(which[start : start + step]))
        return DenseRows(G)

    @cached_property
    def _change(self) -> Any:
        """What a row loses for each entry in P: that entry, and the row of M."""
        numbers = sparse.coo_array(sparse.hstack([sparse.eye_array(len(self.P)), self._M_rounded]))
        (i, k), columns = numbers.coords, np.array([*self.P, *self._U], dtype=np.int64)
        return sparse.csr_array((numbers.data, (i, columns[k])), shape=(len(self.P), self.rows.D))

    def _parts(self, which: np.ndarray) -> Iterator[np.ndarray]:
        """A few rows at a time."""
        step = max(1, ENTRIES_AT_A_TIME // self.rows.terms)
        return (which[start : start + step] for start in range(0, len(which), step))

    def outside(self, which: np.ndarray) -> np.ndarray:
        """The rows that are not in the span of S.

        Rows that floating point sees in it are looked at exactly if it is not sure, and they are not
        too many; a row that stays unseen does no harm, since all signs are decided in the end.
        """
        parts = [_row_reach(self._quotient_rows(part)) for part in self._parts(which)]
        reach = np.concatenate([np.empty(0), *parts])
        near = reach <= NEAR_FACE
        rounded = self.rows.is_rounded or self.rows.rows is not self.rows.given
        small = len(which) * self.rows.terms <= ENTRIES_AT_A_TIME // 8
        doubt = near if small or rounded else near & (reach > 0.0)
        if np.count_nonzero(doubt) * self.rows.terms <= ENTRIES_AT_A_TIME:
            doubtful = np.flatnonzero(doubt)
            near[doubtful] = self.contains(which[doubtful])
        return which[~near]

    def lift_rounded(self, u: np.ndarray) -> np.ndarray:
        """The plane with z_Q = u in floating point."""
        z = np.empty(self.rows.D)
        z[self.Q], z[self.P] = u, -(self._M_rounded @ u[self._places])
        return z

    def contains(self, which: np.ndarray) -> np.ndarray:
        """Whether rows lie in the span of S (modulo a prime)."""
        if self.rows.has_few_entries:
            A = self.rows.sparse_block(which)
            if float(np.min(np.abs(A.data), initial=1.0)) >= ROUNDED_BELOW:
                return self._contains_sparse(A)
        inside, rows = np.ones(len(which), dtype=bool), self.rows.plain
        step = max(1, ENTRIES_AT_A_TIME // rows.D)
        for start in range(0, len(which) if len(self.Q) else 0, step):
            rows.deadline.check()
            for prime, columns, M in self._modular:
                A = rows.residues(which[start : start + step], prime)
                inside[start : start + step] &= ~outside_span(A, columns, M, prime)
        return inside

    @cached_property
    def _modular(self) -> list[tuple[int, list[int], np.ndarray]]:
        """Some primes, and what :func:`reduced` says of the rows that span S modulo each of them."""
        found, rows, free = [], self.rows.plain, np.array(self.free, dtype=np.int64)
        for prime in primes():
            columns, M = reduced(rows.residues(free, prime), prime, rows.deadline)
            if len(columns) == len(free):  # else the prime divides a determinant
                found.append((prime, columns, M))
            if len(found) == PRIMES_PER_QUESTION:
                break
        return found

    def _contains_sparse(self, A: Any) -> np.ndarray:
        """The same for many rows of few entries, modulo primes whose products 64 bits hold."""
        outside = np.zeros(A.shape[0], dtype=bool)
        for prime in SMALL_PRIMES:
            entries = [
                (j, k, n * pow(scale, -1, prime) % prime)
                for j, (row, scale) in enumerate(self._M)
                if scale % prime
                for k, n in row.items()
            ]
            M = matrix_of(entries, (len(self.P), len(self._U)), np.int64)
            R = residues(A, prime)
            left = R[:, self.Q].astype(np.int64)
            left = left - sparse.csr_array(R[:, self.P] @ M) @ self._at_places
            left.data %= prime
            left.eliminate_zeros()
            outside |= np.diff(left.indptr) > 0
        return ~outside

    @cached_property
    def _at_places(self) -> Any:
        """Takes columns U to their places in Q."""
        ones = np.ones(len(self._U), dtype=np.int64), (np.arange(len(self._U)), self._places)
        return sparse.csr_array(ones, shape=(len(self._U), len(self.Q)))


def matrix_of(entries: list[tuple[int, int, Any]], shape: tuple[int, int], dtype: Any) -> Any:
    """The sparse matrix with these entries: row, column, number."""
    i, j, numbers = zip(*entries, strict=True) if entries else ((), (), ())
    where = np.array(i, dtype=np.int64), np.array(j, dtype=np.int64)
    return sparse.csr_array((np.array(numbers, dtype=dtype), where), shape=shape)


def _row_reach(rows: Rows) -> np.ndarray:
    """max_j |x_ij| for every row."""
    if isinstance(rows, CsrRows):
        return np.asarray(abs(rows.matrix).max(axis=1).toarray()).ravel()
    return np.asarray(np.max(np.abs(rows.arrays.X), axis=1))  # type: ignore[union-attr]
