"""What partitions tell about planes on a line: w + (t − 1) Δw for a few t, and more about t = 1.

With r_i = 1 − m_i, and the hinge smoothed over −δ … δ,

    h(r) = (r + δ)²/4δ  for |r| ≤ δ,   max(0, r) otherwise,   h′ = clip(½ + r/2δ, 0, 1),

a partition returns Σ C_i max(0, r_i) and Σ C_i h(r_i) for each t; and for t = 1 the sums of
α_i = C_i h′(r_i) over each class, how many rows are how near to the margin, and of the rows with
|r_i| ≤ δ either the Hessian, or the rows themselves, which are then left out of the sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.rows.remote import matrix_of
from maxmargin.solvers.remote.alike import alike
from maxmargin.solvers.remote.pool import Pool, Sent, gathered
from maxmargin.solvers.remote.rounds import View
from maxmargin.solvers.remote.rule import Plane, ramp

__all__ = ["FINEST", "TIMES", "Total", "Wish", "look_at", "total"]

TIMES = (1.0, 0.5, 0.25, 0.125, 0.03125, 0.0078125, 0.0)  # t
FINEST, WIDEST = -40, 24  # powers of two of the distances from the margin that are told apart
CHUNK = 1 << 20  # entries of rows that are taken at a time for the Hessian


class Wish(NamedTuple):
    """What is to be told."""

    plane: Plane  # t = 1
    step: Plane | None  # Δw and Δb
    width: float  # δ
    most: int  # rows that may be sent; 0 asks for the Hessian


class Look(NamedTuple):
    """What a partition tells."""

    hinge: np.ndarray  # Σ C_i max(0, r_i), for each t
    smooth: np.ndarray  # Σ C_i h(r_i), likewise
    near: np.ndarray  # how many rows have |r_i| ≤ 2^k
    alpha: np.ndarray  # Σ α_i by class, +1 first
    v: np.ndarray  # Σ α_i a_i likewise
    curvature: np.ndarray | None  # Σ C_i/2δ (a_i, y_i)(a_i, y_i)ᵀ
    rows: Sent | None
    inside: int  # rows with |r_i| ≤ δ
    distinct: int  # and how many of these are not alike


class Total(NamedTuple):
    """The sums of all partitions."""

    hinge: np.ndarray
    smooth: np.ndarray
    near: np.ndarray
    alpha: np.ndarray
    v: np.ndarray
    curvature: np.ndarray | None
    pool: Pool | None  # None if there are no rows in the band, or too many somewhere
    inside: int
    distinct: int

    def arriving(self, width: float) -> float:
        """About how many rows that are not alike have |r_i| ≤ δ."""
        return self.within(width) * self.distinct / max(self.inside, 1)

    def within(self, width: float) -> float:
        """About how many rows have |r_i| ≤ δ: exact at powers of two."""
        if not width < 2.0**WIDEST:
            return float(self.near[-1])
        mantissa, k = math.frexp(width)
        k = min(max(k, FINEST + 1), WIDEST) - FINEST
        low, high = float(self.near[k - 1]), float(self.near[k])
        return low + (high - low) * (2.0 * mantissa - 1.0)


def look_at(view: View, wish: Wish) -> Look:
    """Answer for one partition."""
    frame, C, width = view.frame, view.C, wish.width
    r = 1.0 - frame.values(*wish.plane)
    u = None if wish.step is None else frame.values(*wish.step)
    hinge, smooth = np.empty(len(TIMES)), np.empty(len(TIMES))
    for k, t in enumerate(TIMES):
        s = r if u is None or t == 1.0 else r + (1.0 - t) * u
        hinge[k] = float(C @ np.maximum(s, 0.0))
        smooth[k] = float(C @ _smooth(s, width))
        if u is None:
            hinge[:], smooth[:] = hinge[0], smooth[0]
            break
    far = np.abs(r)
    inside = np.flatnonzero(far <= width)
    near = frame.rows.select(inside)
    groups = alike(near, frame.y[inside])
    alpha, sent, curvature = C * ramp(r, width), None, None
    if wish.most:
        alpha[inside] = 0.0
        if len(groups.first) <= wish.most:
            which = inside[groups.first]
            bounds = np.bincount(groups.group, C[inside], len(which))
            X = matrix_of(near.select(groups.first))
            sent = Sent(view.numbers[which], frame.y[which], bounds, X)
    else:
        curvature = _curvature(view, inside, C[inside] / (2.0 * width))
    plus = frame.y > 0.0
    by_class = [np.where(plus, alpha, 0.0), np.where(plus, 0.0, alpha)]
    return Look(
        hinge,
        smooth,
        _near(far),
        np.array([float(a.sum()) for a in by_class]),
        np.array([frame.pull(a) for a in by_class]),
        curvature,
        sent,
        len(inside),
        len(groups.first),
    )


def total(answers: Sequence[Look | None]) -> Total:
    """Add up, in the order of the partitions."""
    looks = [a for a in answers if a is not None]
    sent = not any(a.rows is None for a in looks)

    def added(name: str) -> np.ndarray:
        return np.asarray(np.sum([getattr(a, name) for a in looks], axis=0))

    return Total(
        added("hinge"),
        added("smooth"),
        added("near"),
        added("alpha"),
        added("v"),
        None if looks[0].curvature is None else added("curvature"),
        gathered([None if a is None else a.rows for a in answers]) if sent else None,
        sum(a.inside for a in looks),
        sum(a.distinct for a in looks),
    )


def _smooth(r: np.ndarray, width: float) -> np.ndarray:
    """The smoothed hinge."""
    if not 0.0 < width < math.inf:
        return np.asarray(np.maximum(r, 0.0))
    band = np.clip(r + width, 0.0, 2.0 * width)
    return np.asarray(band * band / (4.0 * width) + np.maximum(r - width, 0.0))


def _near(far: np.ndarray) -> np.ndarray:
    """How many are at most 2^k, for all k."""
    powers = np.clip(np.frexp(np.maximum(far, 2.0**FINEST))[1], FINEST, WIDEST)
    counts = np.bincount(powers - FINEST, minlength=WIDEST - FINEST + 1)
    return np.asarray(np.cumsum(counts))


def _curvature(view: View, which: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Σ weight_i (a_i, y_i)(a_i, y_i)ᵀ over some rows."""
    frame, d = view.frame, view.frame.d
    H = np.zeros((d + 1, d + 1))
    length = max(1, CHUNK // (d + 1))
    for start in range(0, len(which), length):
        some = which[start : start + length]
        A = np.column_stack([frame.take(some), frame.bias[some]])
        H += A.T @ (A * weight[start : start + length, None])
    return H
