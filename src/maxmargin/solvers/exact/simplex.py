"""The simplex method in integers: a plane that separates strictly, or weights with which rows cancel.

The linear program, with free multipliers μ on some rows F that the plane has to contain,

    minimise Σ r_j  subject to  Σ λ_i a_i + Σ_F μ_i a_i ± r = 0,  Σ λ_i = 1,  λ, r ≥ 0,

has the value zero if and only if no plane z with a_i·z = 0 on F has a_i·z > 0 on all other rows. Its
prices are such a plane otherwise. The inverse of the basis is kept as an integer matrix and its
determinant, and every division is exact (Bareiss 1968; Edmonds 1967). Rows are priced in floating
point, and only those within its error bound in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

import numpy as np
from flint import fmpz, fmpz_mat

from maxmargin.solvers.exact.integer_rows import ExactRows, Number, primitive
from maxmargin.solvers.exact.linear_algebra import pivots
from maxmargin.solvers.exact.signs import error_bound, rounded

STEPS_BEFORE_BLAND = 20  # steps without progress before Bland's rule (1977), which cannot cycle


class Outcome(NamedTuple):
    """Either a plane (strictly positive on the rows asked for) or weights with which rows cancel."""

    plane: Sequence[Number] | None
    weights: dict[int, int]  # λ_i > 0, in proportion to the rows a_i
    free: dict[int, int]  # μ_i of the rows F, of any sign
    pivots: int
    bits: int = 0  # of the largest determinant


def meet_or_separate(
    rows: ExactRows, asked: np.ndarray, free: Sequence[int] = (), hint: Sequence[int] = ()
) -> Outcome:
    """Solve the linear program over the rows ``asked``; ``free`` rows must be independent.

    The rows of ``hint`` are tried first.
    """
    run = _Simplex(rows, asked, free)
    run.go(np.array(hint, dtype=np.int64))
    return run.go(None)


class _Simplex:
    """The basis: for each of its columns what it stands for, and the inverse as adj/det."""

    def __init__(self, rows: ExactRows, asked: np.ndarray, free: Sequence[int]) -> None:
        self.rows, self.asked = rows, asked
        self.used = list(range(rows.D))
        if len(asked) + len(free) < rows.D:  # columns that depend on others change nothing
            self.used = pivots([ints for ints, _ in rows.whole([*free, *asked.tolist()])], rows.deadline)
        self.m = len(self.used) + 1
        self.adj = fmpz_mat([[int(j == k) for j in range(self.m)] for k in range(self.m)])
        self.det = fmpz(1)
        self.artificial = [True] * self.m
        self.head: list[int] = [-1] * self.m  # rows in the basis
        self.fixed: list[int] = []  # places of free rows
        self.pivots = self.bits = 0
        for i in free:
            rows.deadline.check(doing=self._doing())
            column = self.adj * self._column(i, 0)
            place = next(k for k in range(self.m) if self.artificial[k] and column[k, 0] != 0)
            self._pivot(i, place, column)
            self.fixed.append(place)
        first = int(asked[0])
        self._pivot(first, self.m - 1, self.adj * self._column(first, 1))
        for k in range(self.m):  # an artificial variable may have either sign
            if self.artificial[k] and self.adj[k, self.m - 1] < 0:
                for j in range(self.m):
                    self.adj[k, j] = -self.adj[k, j]

    def _column(self, i: int, weight: int) -> fmpz_mat:
        ((ints, m),) = self.rows.whole([i])
        return fmpz_mat([[v] for v in [*[ints[j] for j in self.used], weight << m]])

    def _pivot(self, i: int, place: int, column: fmpz_mat) -> None:
        """Row i takes the given place in the basis."""
        new = column[place, 0]
        row = fmpz_mat([[self.adj[place, j] for j in range(self.m)]])
        column[place, 0] = new - self.det
        self.adj = (self.adj * new - column * row) / self.det
        self.det = new
        if new < 0:
            self.adj, self.det = -self.adj, -new
        self.head[place], self.artificial[place] = i, False
        self.pivots += 1
        self.bits = max(self.bits, int(new).bit_length())

    def _doing(self) -> str:
        return f"step {self.pivots:,} of the simplex method in integers of {self.bits:,} bits"

    def _prices(self) -> list[int]:
        cost = fmpz_mat([[int(a) for a in self.artificial]])
        prices = [0] * (self.rows.D + 1)
        for j, v in zip([*self.used, -1], (cost * self.adj).entries(), strict=True):
            prices[j] = int(v)
        return prices

    def go(self, among: np.ndarray | None) -> Outcome:
        """Go on until no row (among some, or of all) improves the basis."""
        waited, last = 0, None
        while True:
            self.rows.deadline.check(doing=self._doing())
            prices = self._prices()
            if prices[-1] == 0:
                return self._meeting()
            value = fmpz(prices[-1]), self.det
            waited = waited + 1 if last is not None and value[0] * last[1] == last[0] * value[1] else 0
            last = value
            enter = self._enter(prices, among, waited > STEPS_BEFORE_BLAND)
            if enter is None:
                plane = primitive([-v for v in prices[:-1]]) if among is None else None
                return Outcome(plane, {}, {}, self.pivots, self.bits)
            column = self.adj * self._column(enter, 1)
            self._pivot(enter, self._leave(column), column)

    def _enter(self, prices: list[int], among: np.ndarray | None, bland: bool) -> int | None:
        """A row with a_i·z ≥ 0, so that a_i·z + t > 0; None if there is none, and −z is a plane."""
        asked = self.asked if among is None else among
        if not len(asked):
            return None
        p = rounded(prices)
        z, t = p[:-1], p[-1]
        many = 8 * len(asked) > self.rows.n
        values = self.rows.values(z)[asked] if many else self.rows.block(asked) @ z
        bound = error_bound(p, self.rows.terms + 1)
        best = int(np.argmax(values))
        if values[best] > bound and not bland:
            return int(asked[best])
        open_ = np.flatnonzero(values >= -bound)
        for i in asked[open_].tolist():
            if self._exact(i, prices, 0) >= 0:
                break
        else:
            return None
        if bland:  # the first row that improves the basis at all
            for i in asked[values + t >= -bound].tolist():
                if self._exact(i, prices, 1) > 0:
                    break
        return int(i)

    def _exact(self, i: int, prices: list[int], weight: int) -> int:
        ((ints, m),) = self.rows.whole([i])
        return int(sum(map(mul, ints, prices))) + weight * (prices[-1] << m)

    def _leave(self, column: fmpz_mat) -> int:
        """The place whose variable reaches zero first; artificial ones first, then Bland's rule."""
        best: int | None = None
        for k in range(self.m):
            if k in self.fixed or column[k, 0] <= 0:
                continue
            if best is None:
                best = k
                continue
            left = self.adj[k, self.m - 1] * column[best, 0]
            right = self.adj[best, self.m - 1] * column[k, 0]
            tie = (not self.artificial[k], self.head[k]) < (not self.artificial[best], self.head[best])
            if left < right or (left == right and tie):
                best = k
        assert best is not None  # the objective is bounded below by zero
        return best

    def _meeting(self) -> Outcome:
        weights, free = {}, {}
        for k in range(self.m):
            if self.artificial[k]:
                continue
            value = int(self.adj[k, self.m - 1])
            ((_, m),) = self.rows.whole([self.head[k]])
            if k in self.fixed:
                free[self.head[k]] = value << m
            elif value:
                weights[self.head[k]] = value << m
        return Outcome(None, weights, free, self.pivots, self.bits)
