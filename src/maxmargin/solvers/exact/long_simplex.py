"""The simplex method in floating point of many digits: what to confirm where doubles fail.

The linear program is that of :mod:`simplex <maxmargin.solvers.exact.simplex>`, in numbers of a few
hundred bits with exponents of any size: near-touching classes and entries over 400 orders of magnitude
are ordinary data there. A step costs a product of a column and a row, and numbers do not grow, while
determinants do. Nothing of the answer is trusted: the rows of the last basis are cancelled in integers,
and the signs of the plane are decided exactly.

Products are intervals, so numbers that are nothing but rounding are told from small ones: these have as
many correct bits as others have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import arb, arb_mat, ctx

from maxmargin.solvers.exact.integer_rows import ExactRows, primitive

CORRECT_BITS = 64  # of a number that is not taken for rounding
MAX_ENTRIES = 1 << 19  # numbers of the rows
MAX_FITTED_ROWS = 400  # whose inner products are a system of equations: a second
MANY_ROWS, ROWS_TRIED_FIRST = 128, 32
STEPS_PER_UNKNOWN = 20  # before it gives up: nothing keeps it from cycling


class LongGuess(NamedTuple):
    """A plane that seems positive on all rows asked, or rows that seem to cancel."""

    plane: list[int] | None
    support: list[int]  # the rows of the last basis that are not free


def long_guess(
    rows: ExactRows, asked: np.ndarray, free: Sequence[int], hint: Sequence[int], bits: int
) -> LongGuess | None:
    """Solve the linear program in numbers of so many bits; None if it is too large or does not end.

    The rows of ``hint`` are tried first.
    """
    if (len(asked) + len(free)) * rows.D > MAX_ENTRIES:
        return None
    with ctx.workprec(bits):
        run = _LongSimplex(rows, asked, free)
        first = set(hint)
        among = [k for k in range(run.free, len(run.which)) if run.which[k] in first]
        if among and not run.go(among):
            return None
        if not run.go(list(range(run.free, len(run.which)))):
            return None
        return run.guess()


class _LongSimplex:
    """The inverse of the basis, and for each of its columns what it stands for."""

    def __init__(self, rows: ExactRows, asked: np.ndarray, free: Sequence[int]) -> None:
        self.rows, self.free = rows, len(free)
        self.which = [*free, *asked.tolist()]
        self.A = _long_rows(rows, self.which)
        self.m = rows.D + 1
        self.inverse = arb_mat([[int(j == k) for j in range(self.m)] for k in range(self.m)])
        self.head = [-1] * self.m  # places in ``which``; −1 is an artificial variable
        self.steps = 0
        for i in range(self.free):
            column = self._column(i, 0)
            left = [k for k in range(self.m) if self.head[k] < 0]
            self._pivot(i, max(left, key=lambda k: abs(column[k, 0].mid())), column)
        self._pivot(self.free, self.m - 1, self._column(self.free, 1))
        signs = [-1 if h < 0 and self.inverse[k, self.m - 1] < 0 else 1 for k, h in enumerate(self.head)]
        diagonal = [[s if j == k else 0 for j in range(self.m)] for k, s in enumerate(signs)]
        self.inverse = (arb_mat(diagonal) * self.inverse).mid()

    def _column(self, i: int, weight: int) -> Any:
        return self.inverse * arb_mat([[self.A[i, j]] for j in range(self.rows.D)] + [[arb(weight)]])

    def _pivot(self, i: int, place: int, column: Any) -> None:
        """Row i takes the given place in the basis."""
        new = column[place, 0].mid()
        row = arb_mat([[self.inverse[place, j] / new for j in range(self.m)]])
        column[place, 0] = new - 1
        self.inverse = (self.inverse - column.mid() * row).mid()
        self.head[place] = i
        self.steps += 1

    def _prices(self) -> list[arb]:
        cost = arb_mat([[int(h < 0) for h in self.head]])
        return list((cost * self.inverse).entries())

    def go(self, among: list[int]) -> bool:
        """Go on until none of these rows improves the basis; False if that takes too long.

        Of many rows those are tried first, step after step, that improve it most at the beginning.
        """
        A = self.A
        if len(among) < len(self.which):
            A = arb_mat([[A[i, j] for j in range(self.rows.D)] for i in among])
        while self.steps < STEPS_PER_UNKNOWN * self.m:
            self.rows.deadline.check(doing=f"step {self.steps:,} of the simplex method in long numbers")
            prices = self._prices()
            if not _positive(prices[-1]):
                return True
            values = (A * arb_mat([[v.mid()] for v in prices[:-1]])).entries()
            order = sorted(range(len(values)), key=lambda k: values[k].mid(), reverse=True)
            best = order[0]
            if _positive(-values[best]):
                return True
            if len(among) > MANY_ROWS:
                steps = self.steps
                if not self.go([among[k] for k in order[:ROWS_TRIED_FIRST]]):
                    return False
                if self.steps > steps:
                    continue
            column = self._column(among[best], 1)
            place = self._leave(column)
            if place is None:
                return False
            self._pivot(among[best], place, column)
        return False

    def _leave(self, column: Any) -> int | None:
        """The place whose variable reaches zero first, an artificial one if there are several."""
        best: tuple[arb, bool, int] | None = None
        for k in range(self.m):
            if 0 <= self.head[k] < self.free or not _positive(column[k, 0]):
                continue
            at = max(self.inverse[k, self.m - 1], arb(0))
            candidate = (at / column[k, 0]).mid(), self.head[k] >= 0, k
            if best is None or candidate < best:
                best = candidate
        return None if best is None else best[-1]

    def guess(self) -> LongGuess:
        """What the last basis says."""
        support = [self.which[h] for h in self.head if h >= self.free]
        *z, value = self._prices()
        if not _positive(value):
            return LongGuess(None, support)
        return LongGuess(_whole([-v for v in z]), support)


def fitting_plane(
    rows: ExactRows, asked: np.ndarray, free: Sequence[int], bits: int
) -> list[int] | None:
    """The least z with a_i·z = 1 on all rows asked, and 0 on those that are free, rounded.

    None if they are not fewer than the columns, or depend on each other. Of z = Aᵀ u, A Aᵀ u = r it has
    so many bits that it separates rows which cancel but for rounding.
    """
    which = [*free, *asked.tolist()]
    if len(which) > min(rows.D, MAX_FITTED_ROWS):
        return None
    with ctx.workprec(bits):
        A = _long_rows(rows, which)
        right = arb_mat([[int(k >= len(free))] for k in range(len(which))])
        try:
            z = A.transpose() * (A * A.transpose()).solve(right).mid()
        except ZeroDivisionError:  # singular, as far as so many bits tell
            return None
        return _whole(z.entries())


def _long_rows(rows: ExactRows, which: list[int]) -> Any:
    """The rows to the working precision, scaled to the size of one."""
    numbers: list[arb] = []
    for ints, _ in rows.whole(which):
        top = max(map(int.bit_length, ints))
        numbers += [arb((v, -top)) if v else arb(0) for v in ints]
    return (arb_mat(len(which), rows.D, numbers) * arb(1)).mid()


def _whole(z: Sequence[arb]) -> list[int]:
    """The midpoints as whole numbers in the same proportion."""
    parts = [v.mid().man_exp() for v in z]
    low = min([int(e) for p, e in parts if p], default=0)
    return primitive([int(p) << int(e) - low if p else 0 for p, e in parts])


def _positive(v: arb) -> bool:
    """Whether a number is positive, and more than rounding."""
    return bool(v > 0) and int(v.rel_accuracy_bits()) >= CORRECT_BITS
