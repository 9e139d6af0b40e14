"""Witnesses among rows: rows a_i that cancel with positive weights, so that no plane has all right.

Floating point finds them, in coordinates in which the rows are of ordinary size in all directions (a
change of coordinates changes no witness). Exact arithmetic confirms those that a proof needs. Equal rows
are one row at the cost of all of them: they are right or wrong together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction

import numpy as np

from maxmargin.core.parameters import Deadline
from maxmargin.kernels.witnesses import SEPARABLE, cheapest_witness
from maxmargin.solvers.exact.integer_rows import ExactRows
from maxmargin.solvers.exact.linear_algebra import cancel
from maxmargin.solvers.exact.separability import find_witness

LEAST_SPREAD = 1e-10  # of a direction, beside the largest: rounding, where columns depend on others
MAX_PIVOTS = 500  # of one search
MAX_FOUND = 256  # witnesses of one search
RESTARTS = 0.1  # of the searches, which begin at a point of their own


class Points:
    """The different rows, each with the cost of all rows equal to it.

    Parameters
    ----------
    rows : ExactRows
        All rows.
    costs : list of Fraction
        What an error on each row costs.

    Attributes
    ----------
    cost, costs : array, list of Fraction
        Of each point.
    scale : float
        A power of two of the size of the least cost.
    different : array of int
        The first row of each of the different rows, whatever they cost.
    first : array of int
        The first row of each.
    point_of : array of int
        The point that a row is, or −1 for rows of zeros, which no plane through the origin has right,
        and for rows that cost nothing.
    zero : array of int
        Rows of zeros that cost something.
    unavoidable : Fraction
        Their cost.
    opposites : list of pairs
        Points that are each other's negative: equal rows of two classes.
    A : array
        The points in coordinates in which they have length one and spread equally in all directions.
    """

    def __init__(self, rows: ExactRows, costs: list[Fraction]) -> None:
        self.rows = rows
        X = rows.given.take(np.arange(rows.n)).astype(np.float64) * rows.y[:, None]
        padded = np.column_stack([X, rows.y]) if rows.pad else X
        _, first, point_of = np.unique(padded + 0.0, axis=0, return_index=True, return_inverse=True)
        self.different = first
        totals = [Fraction(0)] * len(first)
        for row, point in enumerate(point_of.ravel().tolist()):
            totals[point] += costs[row]
        zero = ~np.any(padded, axis=1)[first]
        self.zero = first[zero & np.array([bool(total) for total in totals])]
        self.unavoidable = sum([totals[k] for k in np.flatnonzero(zero)], Fraction(0))
        used = np.array([bool(total) for total in totals], dtype=bool) & ~zero
        number = np.where(used, np.cumsum(used) - 1, -1)
        self.first, self.point_of = first[used], number[point_of.ravel()]
        self.costs = [totals[k] for k in np.flatnonzero(used)]
        self.cost = np.array([float(cost) for cost in self.costs])
        least = min(self.cost.tolist(), default=1.0)
        self.scale = math.ldexp(1.0, math.frexp(least)[1] - 1)
        self.n = len(self.costs)
        self.opposites = _opposites(padded[self.first])
        self.A, self._back = np.zeros((0, rows.D)), np.eye(rows.D)
        if self.n:
            self.A, self._back = _even(rows.block(self.first), bool(rows.pad))

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """The points of some rows."""
        found = np.unique(self.point_of[rows])
        return found[found >= 0]

    def rows_of(self, points: np.ndarray) -> np.ndarray:
        """The rows that are some points; those of point −1 are of none."""
        return np.flatnonzero(np.isin(self.point_of, points))

    def plane(self, z: np.ndarray) -> np.ndarray:
        """A plane of ``A`` in the coordinates of the exact rows."""
        return np.asarray(self._back @ z)


def _opposites(B: np.ndarray) -> list[tuple[int, int]]:
    """The pairs of rows, all different, that are each other's negative."""
    place = {row.tobytes(): k for k, row in enumerate(B + 0.0)}
    other = [place.get(row.tobytes(), -1) for row in 0.0 - B]
    return [(j, k) for k, j in enumerate(other) if 0 <= j < k]


def _even(B: np.ndarray, padded: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows of length one that spread equally in all directions, and how planes come back."""
    D = B.shape[1]
    change = np.eye(D)
    if padded:  # a_i = s_i (x_i, 1): move the origin of x to its mean
        change[-1, :-1] = -np.mean(B[:, :-1] * B[:, -1:], axis=0)
    B = B @ change
    scale = np.sqrt(np.mean(B * B, axis=0))
    scale[scale == 0.0] = 1.0
    _, spread, directions = np.linalg.svd(B / scale, full_matrices=False)
    kept = spread > LEAST_SPREAD * spread[0]
    back = (change / scale) @ (directions[kept].T / spread[kept])
    A = (B / scale) @ (directions[kept].T / spread[kept])
    length = np.linalg.norm(A, axis=1)
    return np.ascontiguousarray(A / np.where(length > 0.0, length, 1.0)[:, None]), back


class Witnesses:
    """The witnesses found so far, by number."""

    def __init__(self, points: Points, rng: np.random.Generator, deadline: Deadline) -> None:
        self.points, self.rng, self.deadline = points, rng, deadline
        width = points.A.shape[1] + 1
        self._found, self._sizes = np.empty((MAX_FOUND, width), np.int64), np.empty(MAX_FOUND, np.int64)
        self._members = np.full((MAX_FOUND, width), points.n)
        self._size = np.zeros(MAX_FOUND, np.int64)
        self._contains = np.zeros((MAX_FOUND, points.n), dtype=bool)
        self._refuted = np.zeros(MAX_FOUND, dtype=bool)
        self._basis = np.full(width, -1)  # of the last walk
        self._number: dict[frozenset[int], int] = {}
        self._weights: dict[int, dict[int, int]] = {}  # of those that were confirmed
        self.count = 0

    @property
    def members(self) -> np.ndarray:
        """The points of each witness, as many as ``sizes`` says; then a number that is no point's."""
        return self._members[: self.count]

    @property
    def sizes(self) -> np.ndarray:
        """How many points each has."""
        return self._size[: self.count]

    @property
    def contains(self) -> np.ndarray:
        """Whether witness s contains point i."""
        return self._contains[: self.count]

    @property
    def refuted(self) -> np.ndarray:
        """Those that only seemed to cancel."""
        return self._refuted[: self.count]

    def add(self, some: Iterable[int]) -> bool:
        """Take in a witness; return whether it is new."""
        which = frozenset(some)
        if which in self._number:
            return False
        s, self.count = self.count, self.count + 1
        if s == len(self._size):
            self._grow(max(len(which), self._members.shape[1]))
        if len(which) > self._members.shape[1]:
            self._grow(len(which))
        ordered = sorted(which)
        self._members[s, : len(ordered)], self._size[s] = ordered, len(ordered)
        self._contains[s, ordered] = True
        self._number[which] = s
        return True

    def _grow(self, width: int) -> None:
        """Twice the room, for witnesses of so many points."""
        room, old = 2 * len(self._size), len(self._size)
        members = np.full((room, width), self.points.n)
        members[:old, : self._members.shape[1]] = self._members
        self._members, self._size = members, np.append(self._size, np.zeros(old, np.int64))
        self._contains = np.vstack([self._contains, np.zeros_like(self._contains)])
        self._refuted = np.append(self._refuted, np.zeros(old, dtype=bool))

    def look(
        self, prices: np.ndarray, allowed: np.ndarray, limit: float = np.inf
    ) -> tuple[np.ndarray | None, list[np.ndarray]]:
        """A plane that has all allowed points right, or witnesses among them of low price."""
        here = np.flatnonzero(allowed)
        if not len(here):
            return np.zeros(self.points.A.shape[1]), []
        given = self.points.A, prices, allowed, self._start(here, allowed), MAX_PIVOTS, limit
        ended, count, z, self._basis = cheapest_witness(*given, self._found, self._sizes)
        if ended == SEPARABLE:
            return z, []
        last = range(count - 1, max(count - MAX_FOUND, 0) - 1, -1)
        rows = [self._found[k % MAX_FOUND, : self._sizes[k % MAX_FOUND]].copy() for k in last]
        return None, rows

    def _start(self, here: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        """Where to begin to walk: at the last basis if it may, else at any point."""
        basis = self._basis
        if self.rng.random() > RESTARTS and np.all(basis >= 0) and np.all(allowed[basis]):
            corner = np.vstack([self.points.A[basis].T, np.ones(len(basis))])
            with suppress(np.linalg.LinAlgError):
                inverse = np.linalg.inv(corner)
                if np.all(inverse[:, -1] >= 0.0):
                    return np.vstack([basis, inverse])
        return np.array([[float(self.rng.choice(here))]])

    def confirm(self, s: int) -> bool:
        """Whether a witness cancels exactly; if only a part of it does, that is taken in its place."""
        if s in self._weights:
            return True
        if self._refuted[s]:
            return False
        which = self.members[s, : self.sizes[s]]
        found = cancel(self.points.rows, self.points.first[which].tolist(), [])
        if found is None or len(found[0]) < len(which):
            self._refuted[s] = True
            if found is not None:
                self.add(self.points.point_of[list(found[0])].tolist())
            return False
        self._weights[s] = found[0]
        return True

    def weights(self, s: int) -> dict[int, int]:
        """The rows of a confirmed witness with their weights."""
        return self._weights[s]

    def add_exact(self, allowed: np.ndarray) -> bool:
        """Look for a witness among points in exact arithmetic; False if a plane has all right."""
        which = self.points.first[np.flatnonzero(allowed)]
        some = self.points.rows.restricted(which)
        some.deadline = self.deadline
        found = find_witness(some) if len(which) else None
        if not found:
            return False
        rows = {int(which[i]): weight for i, weight in found.items()}
        self.add(self.points.point_of[list(rows)].tolist())
        s = self._number[frozenset(self.points.point_of[list(rows)].tolist())]
        self._weights[s], self._refuted[s] = rows, False
        return True
