"""The hard margin exactly: minimise ½‖w‖² subject to y_i (w·x_i + b) ≥ 1 in rational numbers.

The dual, min ½‖Σ α_i a_i‖² − Σ α_i with α ≥ 0 and Σ α_i y_i = 0, by an active set. On independent rows
S (padded with y_i) the conditions

    a_i·w + y_i b = 1 (i in S),   w = Σ α_i a_i,   Σ α_i y_i = 0

have one solution. If its α are positive and no other row is violated, it is the optimum. If an α is
negative, go towards the solution until the first becomes zero, and drop that row. If a row is violated,
take it in; if it depends on S, first trade it for one of its rows. The dual value rises with every row
taken in, so no set comes twice. Started at the support that the hard-margin machine found, it usually
takes one solve.

:func:`separated` gives the plane of separable classes to the user: in doubles if they suffice, with
bounds on the margin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq, fmpz_mat

from maxmargin.rows.base import draw
from maxmargin.solvers.exact.integer_rows import ExactRows, Number, as_integers, primitive
from maxmargin.solvers.exact.linear_algebra import dependency, independent, solve
from maxmargin.solvers.exact.separability import Finding, Guess
from maxmargin.solvers.exact.signs import attained, nearest, not_exceeded, root, signs, to_doubles


@dataclass(frozen=True)
class ExactPoint:
    """The optimum in the coordinates of the rows (columns scaled alike, by 2^-k)."""

    w: list[Fraction]
    b: Fraction
    alpha: dict[int, Fraction]
    solves: int
    exact_rows: int


def exact_hard_margin(rows: ExactRows, start: dict[int, float]) -> ExactPoint:
    """Solve on separable rows, whose columns are all scaled alike, from multipliers on some rows."""
    return _ActiveSet(rows, start).run()


class _ActiveSet:
    def __init__(self, rows: ExactRows, start: dict[int, float]) -> None:
        self.rows = rows
        self.solves = self.exact_rows = 0
        self.vectors: dict[int, list[int]] = {}
        self.scales: dict[int, int] = {}
        self.alpha = self._first(start)
        self.plane: list[int] = []  # (w, b) and 1, times a common factor

    def _first(self, start: dict[int, float]) -> dict[int, fmpq]:
        """Balanced multipliers on independent rows."""
        which = [i for i, v in sorted(start.items(), key=lambda item: -item[1]) if v > 0]
        for side in (1.0, -1.0) if self.rows.pad else ():
            if side not in self.rows.y[which]:
                which.append(int(np.flatnonzero(self.rows.y == side)[0]))
        which = which or [0]
        which = [which[k] for k in independent(self._vectors(which), self.rows.deadline)]
        alpha = {i: fmpq(*(start.get(i, 0.0) or 1.0).as_integer_ratio()) for i in which}
        if self.rows.pad:
            total = {1.0: fmpq(0), -1.0: fmpq(0)}
            for i, v in alpha.items():
                total[float(self.rows.y[i])] += v
            if min(total.values()) <= 0:  # only one class is left: begin with a pair
                pair = [int(np.flatnonzero(self.rows.y == s)[0]) for s in (1.0, -1.0)]
                return dict.fromkeys(pair, fmpq(1))
            alpha = {i: v / total[float(self.rows.y[i])] for i, v in alpha.items()}
        return alpha

    def _vectors(self, which: list[int]) -> list[list[int]]:
        """(a_i, y_i) of rows in integers, each times a power of two."""
        fresh = [i for i in which if i not in self.vectors]
        for i, (vector, scale) in zip(fresh, self.rows.whole(fresh), strict=True):
            self.vectors[i], self.scales[i] = vector, scale
        return [self.vectors[i] for i in which]

    def run(self) -> ExactPoint:
        """Add and drop rows until the conditions hold."""
        self._settle()
        while True:
            worst = self._violated()
            if worst is None:
                return self._point()
            self._take_in(worst)
            self._settle()

    def _point(self) -> ExactPoint:
        *w, b, one = self.plane
        plane = [Fraction(v, one) for v in w]
        alpha = {i: Fraction(int(v.p), int(v.q)) for i, v in self.alpha.items()}
        return ExactPoint(plane, Fraction(b, one), alpha, self.solves, self.exact_rows)

    def _settle(self) -> None:
        """Go to the solution on the rows held, dropping those whose multipliers become zero."""
        while True:
            S = list(self.alpha)
            found, b, scale = self._solve(S)
            goal = {i: fmpq(v << self.scales[i], scale) for i, v in zip(S, found, strict=True)}
            leaving = [i for i, v in goal.items() if v <= 0]
            if not leaving:
                break
            held = [i for i in leaving if self.alpha[i] > 0]
            step = min([self.alpha[i] / (self.alpha[i] - goal[i]) for i in held])
            moved = {i: v + step * (goal[i] - v) for i, v in self.alpha.items()}
            self.alpha = {i: v for i, v in moved.items() if v > 0}
        self.alpha = goal
        d = self.rows.d
        w = (fmpz_mat([found]) * fmpz_mat([v[:d] for v in self._vectors(S)])).entries()
        self.plane = primitive([*map(int, w), b, scale])

    def _solve(self, S: list[int]) -> tuple[list[int], int, int]:
        """The conditions on S, in integers: rows are scaled by 2^m, and so are their equations.

        Returns the numerators of the (scaled) multipliers and of b, and their denominator.
        """
        self.solves += 1
        d, pad = self.rows.d, bool(self.rows.pad)
        A = fmpz_mat([v[:d] for v in self._vectors(S)])
        K: Any = (A * A.transpose()).tolist()
        y = [v[d] for v in self._vectors(S)] if pad else []
        M = [[*row, y[k]] if pad else row for k, row in enumerate(K)]
        if pad:
            M.append([*y, 0])
        ones = [[1 << self.scales[i]] for i in S] + ([[0]] if pad else [])
        solution, scale = solve(M, ones, self.rows.deadline)
        found = [row[0] for row in solution]
        return found[: len(S)], found[-1] if pad else 0, scale

    def _violated(self) -> int | None:
        """A row with a_i·w + y_i b < 1, exactly; of those the farthest, as floating point sees it."""
        *z, one = self.plane
        found = signs(self.rows, z if self.rows.pad else z[:-1], one)
        self.exact_rows = max(self.exact_rows, found.exact)
        bad = np.flatnonzero(found.of < 0)
        return int(bad[np.argmin(found.values[bad])]) if len(bad) else None

    def _take_in(self, i: int) -> None:
        S = list(self.alpha)
        change = dependency(self._vectors([*S, i]), self.rows.deadline)
        if change is not None and change[-1]:  # it depends on S: trade it for one of its rows
            v = {
                j: fmpq(c << self.scales[j], change[-1] << self.scales[i])
                for j, c in zip([*S, i], change, strict=True)
            }
            step = min([self.alpha[j] / -v[j] for j in S if v[j] < 0])
            self.alpha = {j: p for j in S if (p := self.alpha[j] + step * v[j]) > 0} | {i: step}
        else:
            self.alpha[i] = fmpq(0)


RATIONAL_FEATURES = 60  # features of data whose largest margin is found in rational numbers, if need be,
RATIONAL_BITS = 16_000  # and how many digits its rows may have, times the number of features


class Separated(NamedTuple):
    """A plane and bounds on the largest margin."""

    w: np.ndarray
    b: float
    plane: Sequence[Number]  # in the coordinates of the exact rows
    doubles: bool  # w and b are that plane exactly
    lower: float
    upper: float


def uniform(rows: ExactRows) -> ExactRows:
    """The same rows with all columns scaled alike, so that lengths are in proportion."""
    return rows.rescaled(np.full(rows.d, int(rows.exponents.max()), dtype=np.int64))


def separated(rows: ExactRows, finding: Finding, tol: float, margin: bool = True) -> Separated:
    """Turn the finding that the rows are separable into numbers for the user.

    Without ``margin`` no better plane is looked for.
    """
    assert finding.plane is not None
    guess = finding.guess
    if guess is not None and len(guess.w) and finding.signs is not None:
        lower = attained(rows, finding.plane, finding.signs)
        upper = not_exceeded(rows, guess.support.tolist(), guess.alpha.tolist())
        if upper <= (1.0 + tol) * lower or not margin or not within_reach(rows):
            return Separated(guess.w, guess.b if rows.pad else 0.0, finding.plane, True, lower, upper)
    best: list[int] | None = None
    if margin and within_reach(rows):
        best, upper = _largest_margin(rows, guess)
    else:
        upper = _some_bound(rows, finding)
    for plane in [finding.plane] if best is None else [best, finding.plane]:
        found = to_doubles(rows, plane)
        if found is not None:
            (w, b), exact, answer = found
            return Separated(w, b, exact, True, attained(rows, exact, answer), upper)
    plane = best or finding.plane
    w, b = nearest(rows, plane)
    return Separated(w, b, plane, False, attained(rows, plane, signs(rows, plane)), upper)


def within_reach(rows: ExactRows) -> bool:
    """Whether the largest margin can be found in rational numbers without undue effort."""
    if rows.D > RATIONAL_FEATURES:
        return False
    some = uniform(rows).whole(draw(rows.n, 20).tolist())
    return max([v.bit_length() for ints, _ in some for v in ints]) * rows.D <= RATIONAL_BITS


def _some_bound(rows: ExactRows, finding: Finding) -> float:
    """A bound on the margin from the multipliers of a guess, and from the rows next to the plane."""
    upper, guess = math.inf, finding.guess
    if guess is not None:
        upper = not_exceeded(rows, guess.support.tolist(), guess.alpha.tolist())
    values = finding.signs.values if finding.signs is not None else np.zeros(rows.n)
    sides = [np.flatnonzero(rows.y == s) for s in (1.0, -1.0)]
    nearest_rows = [int(side[np.argmin(values[side])]) for side in sides if len(side)]
    return min(upper, not_exceeded(rows, nearest_rows, [1.0] * len(nearest_rows)))


def _largest_margin(rows: ExactRows, guess: Guess | None) -> tuple[list[int], float]:
    """The exact optimum as a plane of these rows, and its margin, rounded up."""
    alike = uniform(rows)
    k = alike.powers[0]
    start = {} if guess is None else dict(zip(guess.support.tolist(), guess.alpha.tolist(), strict=True))
    point = exact_hard_margin(alike, start)
    w = [v / Fraction(2) ** k for v in point.w]  # in the user's coordinates
    square = sum([v * v for v in w], Fraction(0))
    z = [v * Fraction(2) ** e for v, e in zip(w, rows.powers, strict=True)]
    return as_integers([*z, point.b] if rows.pad else z), root(1 / square, up=True)
