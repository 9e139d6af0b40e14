"""Fractional packings of witnesses: a lower bound on the errors of every plane, and its proof.

Every plane has a row of each witness wrong. Give witnesses S shares x_S ≥ 0 such that no row is in more
than its cost, Σ_{S ∋ i} x_S ≤ c_i. Then a plane that has the rows E wrong pays

    Σ_{i ∈ E} c_i  ≥  Σ_{i ∈ E} Σ_{S ∋ i} x_S  ≥  Σ_S x_S,

since every S has a row in E. The best packing is a linear program, solved here by the simplex method,
which goes on from the last basis when witnesses join. Its prices say which further ones would help:
those whose rows cost less than one.

Where some rows are known to be wrong, witnesses with such a row say nothing; where rows are known to be
right, a witness needs no share of their cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from flint import fmpz_mat
from scipy.sparse.csgraph import connected_components

from maxmargin.kernels.witnesses import BEST, UNBOUNDED, pack_columns
from maxmargin.solvers.errors.witnesses import Witnesses

PIVOTS_AT_ONCE = 100  # after which the inverse is made anew
NUDGE = 1e-7  # of capacities, relative, so that no two corners of the problem are one
SHARE_BITS = 24  # of shares in a proof, below the size of the least cost
ROUNDING = 2.0**-22  # by which shares are smaller in a proof
NEARLY_USEFUL = 0.25  # by which a witness may cost more than it brings and is looked at again
LEAST_SHARE = 1e-8
MAX_CORNER = 200  # connected equations that are solved in integers for one packing


class Packing:
    """The best packing of the witnesses known, with some points wrong and some right.

    Attributes
    ----------
    value : float
        The cost of the wrong points and all shares; infinite if the points cannot all be so.
    prices : array
        Of every point.
    """

    def __init__(
        self,
        witnesses: Witnesses,
        wrong: tuple[int, ...] = (),
        right: tuple[int, ...] = (),
        basis: np.ndarray | None = None,
    ) -> None:
        points = witnesses.points
        self.witnesses, self.n = witnesses, points.n
        self.wrong, self.right = list(wrong), list(right)
        self.allowed = np.ones(self.n, dtype=bool)
        self.allowed[self.wrong] = False
        self.unlimited = np.zeros(self.n, dtype=bool)
        self.unlimited[self.right] = True
        nudges = 1.0 + NUDGE * np.random.default_rng(self.n).random(self.n)
        self.capacity = points.cost / points.scale * nudges
        self.paid = float(points.cost[self.wrong].sum())
        self.basis = -1 - np.arange(self.n) if basis is None else basis.copy()
        self.value, self.prices = 0.0, np.zeros(self.n)
        self._refresh()

    def _refresh(self) -> None:
        """The inverse of the basis and its values, from the basis alone.

        With the points whose cost is used up first, it is [[M, 0], [N, I]]: M and N are columns of
        witnesses, I what is left of the other costs.
        """
        n, places = self.n, np.arange(self.n)
        held = self.basis >= 0
        rest = places[~held]
        beyond = self.basis[rest] < -n
        points = np.where(beyond, -1 - n - self.basis[rest], -1 - self.basis[rest])
        sign = np.where(beyond, -1.0, 1.0)
        tight = np.setdiff1d(places, points)
        columns = self.witnesses.contains[self.basis[held]].astype(np.float64)  # one a row
        inverse = np.zeros((n, n))  # transposed: by point, then by place in the basis
        inverse[points, rest] = sign
        if len(tight):
            M = np.linalg.inv(columns[:, tight])  # transposed, too
            inverse[np.ix_(tight, places[held])] = M
            inverse[np.ix_(tight, rest)] = -M @ columns[:, points] * sign
        self._inverse, self._pivots = inverse, 0
        self._x = self.capacity @ inverse

    def _profits(self) -> np.ndarray:
        """One for every witness that counts; others leave the packing."""
        known = self.witnesses
        void = known.contains[:, self.wrong].any(axis=1) | known.refuted
        return np.where(void, -1.0, 1.0)

    def solve(self) -> bool:
        """The best packing of the witnesses known by now; False if the points cannot all be so."""
        known, profit = self.witnesses, self._profits()
        near = -NEARLY_USEFUL
        while True:
            held = np.append(profit, 0.0)[np.maximum(self.basis, -1)]
            y = self._inverse @ held
            gains = profit - np.append(y, 0.0)[known.members].sum(axis=1)
            which = np.flatnonzero(gains > near)
            given = known.members, known.sizes, profit, which, self.capacity, self.unlimited
            ended, pivots = pack_columns(*given, self.basis, self._inverse, self._x, y, PIVOTS_AT_ONCE)
            if ended == UNBOUNDED:
                self.value = np.inf
                return False
            self._pivots += pivots
            if self._pivots >= PIVOTS_AT_ONCE:
                self._refresh()
            if ended == BEST and near == 0.0:
                break
            near = 0.0 if ended == BEST else -NEARLY_USEFUL  # are others useful now?
        self.prices = np.where(self.unlimited, 0.0, np.maximum(y, 0.0))
        self.value = self.paid + float(self.prices @ known.points.cost)
        return True

    def shares(self) -> Shares:
        """The witnesses of the packing, and the points whose cost they use up."""
        held = np.flatnonzero((self.basis >= 0) & (self._x > LEAST_SHARE))
        spare = self.basis[self.basis < 0]
        tight = np.setdiff1d(
            np.arange(self.n), np.where(spare >= -self.n, -1 - spare, -1 - self.n - spare)
        )
        x = self._x[held] * self.witnesses.points.scale
        return Shares(dict(zip(self.basis[held].tolist(), x.tolist(), strict=True)), tight)


@dataclass(frozen=True)
class Shares:
    """A packing in floating point: the share of each witness, and the points whose cost is used up."""

    of: dict[int, float]
    tight: np.ndarray

    def exact(self, witnesses: Witnesses, right: tuple[int, ...]) -> dict[int, Fraction]:
        """The same in fractions that fit, if all of these witnesses cancel.

        They solve the equations of the used-up costs; if that is no packing, they are rounded down.
        """
        corner = self._corner(witnesses)
        if corner is not None and _excess(witnesses, right, corner) <= 1:
            return corner
        least = Fraction(witnesses.points.scale) / (1 << SHARE_BITS)
        found = {s: int(x * (1.0 - ROUNDING) / float(least)) * least for s, x in self.of.items()}
        found = {s: x for s, x in found.items() if x > 0}
        excess = max(_excess(witnesses, right, found), Fraction(1))
        return {s: x / excess for s, x in found.items()}

    def _corner(self, witnesses: Witnesses) -> dict[int, Fraction] | None:
        """Shares that use up exactly the costs of the tight points; None if there are none such."""
        held, tight = np.array(sorted(self.of), dtype=np.int64), self.tight
        if not 0 < len(held) == len(tight):
            return None
        M, found = witnesses.contains[held][:, tight], dict[int, Fraction]()
        parts, part = connected_components(np.block([[0 * M, M], [M.T, 0 * M]]), directed=False)
        for k in range(parts):
            some = np.flatnonzero(part == k)
            columns, rows = some[some < len(held)], some[some >= len(held)] - len(held)
            costs = [witnesses.points.costs[i] for i in tight[rows].tolist()]
            x = _solve(M[np.ix_(columns, rows)].T, costs)
            if x is None or min(x) < 0:
                return None
            found |= {s: v for s, v in zip(held[columns].tolist(), x, strict=True) if v > 0}
        return found


def _solve(M: np.ndarray, costs: list[Fraction]) -> list[Fraction] | None:
    """The shares that use up costs; None if there are none, or others, or it would take long."""
    if not 0 < M.shape[0] == M.shape[1] <= MAX_CORNER:
        return None
    common = lcm(*[cost.denominator for cost in costs])
    wanted = fmpz_mat([[int(cost * common)] for cost in costs])
    try:
        fractions: Any = fmpz_mat(M.astype(int).tolist()).solve(wanted)
    except ZeroDivisionError:
        return None
    solution, scale = fractions.numer_denom()
    return [Fraction(int(v), int(scale) * common) for v in solution.entries()]


def _excess(witnesses: Witnesses, right: tuple[int, ...], shares: dict[int, Fraction]) -> Fraction:
    """The largest part of its cost that a point has in the shares; at most 1 in a packing."""
    used = dict[int, Fraction]()
    for s, x in shares.items():
        for i in witnesses.members[s, : witnesses.sizes[s]].tolist():
            used[i] = used.get(i, Fraction(0)) + x
    costs = witnesses.points.costs
    parts = [total / costs[i] for i, total in used.items() if i not in right]
    return max(parts, default=Fraction(0))
