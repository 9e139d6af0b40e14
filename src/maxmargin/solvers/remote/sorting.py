"""One pass over a partition: sums over rows clearly on one side of the margin, and which are near it.

A block of rows is read once, and stays at hand from the first product to the last: r_i = 1 − m_i, how
much it shrinks by the step, and the scale s_i of the row are columns of one product, and the sum of the
rows is another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.kernels.sorting import residuals, sort_out, weigh
from maxmargin.solvers.margin.frame import Frame
from maxmargin.solvers.remote.alike import key_of
from maxmargin.solvers.remote.gauge import Gauge
from maxmargin.solvers.remote.near import Near
from maxmargin.solvers.remote.rounds import View
from maxmargin.solvers.remote.rule import Plane, widths_of

__all__ = ["FINEST", "TIMES", "WIDEST", "Clear", "Wish", "sorted_out"]

TIMES = (1.0, 0.5, 0.25, 0.125, 0.03125, 0.0078125, 0.0)  # t
FINEST, WIDEST = -60, 30  # powers of two of the distances |r_i|/s_i that are told apart


class Wish(NamedTuple):
    """What is to be told."""

    plane: Plane  # t = 1
    step: Plane | None  # Δw and Δb
    width: float  # δ
    gauge: Gauge
    most: int  # rows that a partition may send
    bends: bool  # whether a Hessian may travel


class Clear(NamedTuple):
    """Sums over rows with |r_i| > δ_i; of all rows in the first two."""

    hinge: np.ndarray  # Σ C_i max(0, r_i), for each t; for t = 1 alone if there is no step
    near: np.ndarray  # how many rows have |r_i| ≤ 2^k s_i
    smooth: float  # Σ C_i max(0, r_i)
    alpha: np.ndarray  # Σ α_i by class, +1 first
    v: np.ndarray  # Σ α_i a_i likewise


def sorted_out(view: View, wish: Wish) -> tuple[Clear, Near]:
    """Tell rows near the margin from those that are not."""
    product = _Product(view.frame, wish)
    steps = 1.0 - np.array(TIMES if wish.step is not None else TIMES[:1])
    hinge, counts = np.zeros(len(steps)), np.zeros(WIDEST - FINEST + 1, np.int64)
    smooth, signed, v = 0.0, np.zeros(2), np.zeros((2, view.frame.d))
    found = []
    for where, (frame, C, _) in view.blocks():
        r, u, scales, key = product.of(frame)
        inside = np.empty(frame.n, np.int64)
        size = sort_out(r, u, scales, C, wish.width, steps, FINEST, hinge, counts, inside)
        rows = inside[:size]
        widths = widths_of(wish.width, scales[rows])
        found.append(Near(where.start + rows, r[rows], widths, scales[rows], key[rows]))
        sides = np.empty((2, frame.n))
        smooth += weigh(r, C, frame.y, rows, sides)
        signed += sides.sum(axis=1)
        v += frame.rows.combine(sides)
    scene = view.frame.scene
    v = (v - signed[:, None] * scene.centre) / scene.scale
    return Clear(hinge, np.cumsum(counts), smooth, np.abs(signed), v), Near.joined(found)


class _Product:
    """The columns w, Δw and the directions of the gauge, in the coordinates of the user."""

    def __init__(self, frame: Frame, wish: Wish) -> None:
        (w, b), step, gauge = wish.plane, wish.step or Plane(np.zeros(frame.d), 0.0), wish.gauge
        self.gauge = gauge
        self.V = np.column_stack([w, step.w, gauge.W]) / frame.scene.scale
        self.shift = frame.pad * np.concatenate([[b, step.b], gauge.b]) - frame.scene.centre @ self.V

    def of(self, frame: Frame) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """r_i, how much it shrinks by the step, the scale of the row, and a key of it."""
        F = frame.rows.times(self.V)
        r, u, scales = np.empty((3, frame.n))
        residuals(F, self.shift, frame.y, r, u, scales)
        if len(self.gauge.b):
            return r, u, scales, F[:, 2]
        return r, u, self.gauge.scales(frame), key_of(frame.rows)
