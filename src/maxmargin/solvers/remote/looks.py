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

from maxmargin.rows.remote import matrix_of
from maxmargin.solvers.frame import Frame
from maxmargin.solvers.remote.alike import Alike, alike, key_of
from maxmargin.solvers.remote.band import Sent
from maxmargin.solvers.remote.gauge import Gauge, bent, root_mean_square
from maxmargin.solvers.remote.rounds import View
from maxmargin.solvers.remote.rule import Plane, ramp, widths_of

__all__ = ["TIMES", "Look", "Wish", "look_at", "merged"]

TIMES = (1.0, 0.5, 0.25, 0.125, 0.03125, 0.0078125, 0.0)  # t
FINEST, WIDEST = -60, 30  # powers of two of the distances |r_i|/s_i that are told apart
CHUNK = 1 << 20  # entries of rows that are taken at a time for the Hessian
HEAVY = 0.02  # C_i s_i²/2δ_i, the share of a row in the curvature, from which on it travels


class Wish(NamedTuple):
    """What is to be told."""

    plane: Plane  # t = 1
    step: Plane | None  # Δw and Δb
    width: float  # δ
    gauge: Gauge
    most: int  # rows that a partition may send
    bends: bool  # whether a Hessian may travel


class Look(NamedTuple):
    """What partitions tell."""

    hinge: np.ndarray  # Σ C_i max(0, r_i), for each t; for t = 1 alone if there is no step
    near: np.ndarray  # how many rows have |r_i| ≤ 2^k s_i
    inside: int  # rows with |r_i| ≤ δ_i
    distinct: int  # and how many of these are not alike
    rows: tuple[Sent, ...]
    left: int  # rows with |r_i| ≤ δ_i that were not sent
    smooth: float  # Σ C_i h(r_i) of the rows that were not sent, and so on
    alpha: np.ndarray  # Σ α_i by class, +1 first
    v: np.ndarray  # Σ α_i a_i likewise
    curvature: np.ndarray | None  # Σ C_i/2δ_i (a_i, y_i)(a_i, y_i)ᵀ, if any is left

    def arriving(self, width: float) -> float:
        """About how many rows that are not alike have |r_i| ≤ δ_i."""
        return self.within(width) * self.distinct / max(self.inside, 1)

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
    frame, C = view.frame, view.C
    r, u, scales, key = _measured(frame, wish)
    widths = widths_of(wish.width, scales)
    inside = np.flatnonzero(np.abs(r) <= widths)
    if not wish.bends and len(inside) > wish.most:  # the nearest; the others keep their side
        nearest = np.argpartition((np.abs(r) / scales)[inside], wish.most)[: wish.most]
        inside = np.sort(inside[nearest])
    groups = alike(frame.rows, frame.y, inside, key)
    with np.errstate(divide="ignore", invalid="ignore"):
        bend = C / (2.0 * widths)
    chosen = _chosen(groups, bend[inside] * scales[inside] ** 2, wish.most)
    sent = chosen[groups.group]
    rows = inside[sent]
    left = inside[~sent]
    alpha = C * ramp(r, widths)
    alpha[rows] = 0.0
    bulk = C.copy()
    bulk[rows] = 0.0
    by_class = np.array([np.where(side, alpha, 0.0) for side in (frame.y > 0.0, frame.y < 0.0)])
    times = TIMES if wish.step is not None else TIMES[:1]
    return Look(
        np.array([float(C @ np.maximum(r + (1.0 - t) * u, 0.0)) for t in times]),
        _near(np.abs(r), scales),
        len(inside),
        len(groups.first),
        (_sent(view, groups, chosen, rows, sent, inside, number),) if len(rows) else (),
        len(left),
        float(bulk @ _smooth(r, widths)),
        by_class.sum(axis=1),
        _pulled(frame, by_class),
        _curvature(view, left, bend[left]) if len(left) else None,
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


def _measured(frame: Frame, wish: Wish) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """r_i, how much it shrinks by the step, the scale of the row, and a key: one product for all."""
    (w, b), step, gauge = wish.plane, wish.step or Plane(np.zeros(frame.d), 0.0), wish.gauge
    V = np.column_stack([w, step.w, gauge.W]) / frame.scene.scale
    F = frame.rows.times(V)
    F += frame.pad * np.concatenate([[b, step.b], gauge.b]) - frame.scene.centre @ V
    r, u = 1.0 - frame.y * F[:, 0], frame.y * F[:, 1]
    if len(gauge.b):
        return r, u, root_mean_square(F[:, 2:]), F[:, 2]
    return r, u, gauge.scales(frame), key_of(frame.rows)


def _pulled(frame: Frame, alphas: np.ndarray) -> np.ndarray:
    """Σ α_i a_i for several α: one pass."""
    signed = alphas * frame.y
    total = frame.rows.combine(signed) - signed.sum(axis=1)[:, None] * frame.scene.centre
    return np.asarray(total / frame.scene.scale)


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
    view: View,
    groups: Alike,
    chosen: np.ndarray,
    rows: np.ndarray,
    sent: np.ndarray,
    inside: np.ndarray,
    number: int,
) -> Sent:
    """A row of each group, with the sum of their bounds; and where the members are."""
    first = inside[groups.first[chosen]]
    rank = np.cumsum(chosen) - 1
    group = rank[groups.group[sent]]
    C = np.bincount(group, view.C[rows], len(first))
    X = matrix_of(view.frame.rows.select(first))
    return Sent(number, X, view.frame.y[first], C, view.numbers[rows], group)


def _smooth(r: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The smoothed hinge."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        band = (r + widths) ** 2 / (4.0 * widths)
    return np.asarray(np.where(np.abs(r) < widths, band, np.maximum(r, 0.0)))


def _near(far: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """How many are at most 2^k s_i, for all k."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.minimum(np.nan_to_num(far / scales, nan=math.inf), 2.0**WIDEST)
    powers = np.clip(np.frexp(np.maximum(ratio, 2.0**FINEST))[1], FINEST, WIDEST)
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
        H += bent(A, weight[start : start + length])
    return H
