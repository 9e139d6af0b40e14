"""What partitions tell about planes on a line: w + (t − 1) Δw for a few t, and more about t = 1.

With r_i = 1 − m_i, and the hinge smoothed over −δ_i … δ_i, δ_i = δ s_i,

    h(r) = (r + δ_i)²/4δ_i  for |r| ≤ δ_i,   max(0, r) otherwise,   h′ = clip(½ + r/2δ_i, 0, 1),

a partition returns Σ C_i max(0, r_i) for each t; and for t = 1 the rows with |r_i| ≤ δ_i themselves, if
they are few, or else those that bend the objective most. Of all other rows it returns Σ C_i h(r_i), the
sums of α_i = C_i h′(r_i) over each class, and the Hessian; and how many rows are how near to the margin.
Looks add up: those of several partitions are one look.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.rows.block import matrix_of
from maxmargin.solvers.remote.alike import Alike, alike
from maxmargin.solvers.remote.band import Grouped
from maxmargin.solvers.remote.near import pull
from maxmargin.solvers.remote.rounds import View
from maxmargin.solvers.remote.sorting import FINEST, WIDEST, Wish, sorted_out

__all__ = ["Look", "look_at", "merged"]

HEAVY = 0.02  # C_i s_i²/2δ_i, the share of a row in the curvature, from which on it travels


class Look(NamedTuple):
    """What partitions tell."""

    hinge: np.ndarray  # Σ C_i max(0, r_i), for each t; for t = 1 alone if there is no step
    near: np.ndarray  # how many rows have |r_i| ≤ 2^k s_i
    inside: int  # rows with |r_i| ≤ δ_i
    distinct: int  # and how many of these are not alike
    rows: tuple[Grouped, ...]
    left: int  # rows with |r_i| ≤ δ_i that were not sent
    smooth: float  # Σ C_i h(r_i) of the rows that were not sent, and so on
    alpha: np.ndarray  # Σ α_i by class, +1 first
    v: np.ndarray  # Σ α_i a_i likewise
    curvature: np.ndarray | None  # Σ C_i/2δ_i (a_i, y_i)(a_i, y_i)ᵀ, if any is left

    def within(self, width: float) -> float:
        """About how many rows have |r_i| ≤ δ s_i: exact at powers of two."""
        if not width < 2.0**WIDEST:
            return float(self.near[-1])
        mantissa, k = math.frexp(width)
        k = min(max(k, FINEST + 1), WIDEST) - FINEST
        low, high = float(self.near[k - 1]), float(self.near[k])
        return low + (high - low) * (2.0 * mantissa - 1.0)

    def holding(self, rows: float) -> float:
        """A power of two δ within which so many rows lie, or all of them."""
        k = int(np.searchsorted(self.near, min(rows, float(self.near[-1]))))
        return float(2.0 ** (k + FINEST))


def look_at(view: View, wishes: Sequence[Wish], number: int) -> list[Look]:
    """Answer for one partition, by its number."""
    return [_look(view, wish, number) for wish in wishes]


def _look(view: View, wish: Wish, number: int) -> Look:
    clear, near = sorted_out(view, wish)
    kept = near if wish.bends else near.nearest(wish.most)
    groups = alike(view.frame.rows, view.frame.y, kept.rows, kept.key)
    chosen = _chosen(groups, kept.shares(view.C), wish.most)
    sent = chosen[groups.group]
    rest = near.without(kept.rows[sent])
    left = rest if wish.bends else kept.without(kept.rows[sent])
    pulled = pull(view, rest, bends=wish.bends)
    return Look(
        clear.hinge,
        clear.near,
        len(kept.rows),
        len(groups.first),
        (_sent(view, groups, chosen, sent, kept.rows, number),) if sent.any() else (),
        len(left.rows),
        clear.smooth + pulled.smooth,
        clear.alpha + pulled.alpha,
        clear.v + pulled.v,
        pulled.curvature,
    )


def merged(answers: Sequence[list[Look] | None]) -> list[Look]:
    """Add up what partitions answer to each wish, in their order."""
    return [_added(looks) for looks in zip(*(one for one in answers if one is not None), strict=True)]


def _added(given: Sequence[Look]) -> Look:
    some = Look(*zip(*given, strict=True))
    bent = [H for H in some.curvature if H is not None]  # type: ignore[union-attr]
    return Look(
        np.sum(some.hinge, axis=0),
        np.sum(some.near, axis=0),
        sum(some.inside),  # type: ignore[call-overload]
        sum(some.distinct),  # type: ignore[call-overload]
        tuple(sent for look in given for sent in look.rows),
        sum(some.left),  # type: ignore[call-overload]
        math.fsum(some.smooth),  # type: ignore[arg-type]
        np.sum(some.alpha, axis=0),
        np.sum(some.v, axis=0),
        np.sum(bent, axis=0) if bent else None,
    )


def _chosen(groups: Alike, shares: np.ndarray, most: int) -> np.ndarray:
    """Which groups travel: all, or those that bend the objective."""
    size = len(groups.first)
    if size <= most:
        return np.ones(size, bool)
    heavy = np.bincount(groups.group, shares, size)
    chosen = heavy >= HEAVY
    if np.count_nonzero(chosen) > most:
        chosen[:] = False
        chosen[np.argpartition(-heavy, most)[:most]] = True
    return np.asarray(chosen)


def _sent(
    view: View, groups: Alike, chosen: np.ndarray, sent: np.ndarray, inside: np.ndarray, number: int
) -> Grouped:
    """A row of each group, with the sum of their bounds; and where the members are."""
    first, rows = inside[groups.first[chosen]], inside[sent]
    rank = np.cumsum(chosen) - 1
    group = rank[groups.group[sent]]
    C = np.bincount(group, view.C[rows], len(first))
    X = matrix_of(view.frame.rows.select(first))
    return Grouped(number, X, view.frame.y[first], C, view.numbers[rows], group)
