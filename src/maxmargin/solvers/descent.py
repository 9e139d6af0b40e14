"""A start for many features: some epochs of dual coordinate descent on all rows.

With hundreds of features the first Newton steps, when nearly every row is in the band, cost most and
tell least. Coordinate descent brings the multipliers near their places in the time of a few such steps;
the Newton steps then begin with the few rows that are still undecided.
"""

from __future__ import annotations

import time

import numpy as np

from maxmargin.kernels.descent import ABOVE, BELOW, BIAS, descend
from maxmargin.solvers.frame import Frame
from maxmargin.solvers.passes import MarginPoint

__all__ = ["descend_from_zero"]

EPOCHS = 100
CENTRE = 0.1  # ρ against the mean of ‖x_i‖²
SOFT, STIFF = 1.0, 10.0  # σ to go on with, STIFF if fewer than the share
SETTLED = 0.1  # of the rows is still moving
FEW = 0.02  # stop when only this share of the rows is still moving


def descend_from_zero(frame: Frame, C: np.ndarray, deadline: float) -> MarginPoint:
    """Return a point with multipliers near the optimum, after some epochs."""
    rows, scene = frame.rows, frame.scene
    unit = scene.scale**2
    q = np.empty(frame.n)
    for where, block in rows.blocks():
        q[where] = block.square_lengths()
    rho = CENTRE * float(q.mean()) * frame.pad
    tiny = 1e-12 * float(q.max(initial=0.0)) + 1e-300
    rng = np.random.default_rng(0)
    w, alpha, bounds = np.zeros(frame.d), np.zeros(frame.n), C / unit
    state = np.array([0.0, 0.0, np.inf, -np.inf])
    order, left, epochs = np.arange(frame.n), frame.n, 0
    while epochs < EPOCHS and left > FEW * frame.n and time.perf_counter() < deadline:
        order[:left] = rng.permutation(order[:left])
        left = descend(rows.arrays, frame.y, order[:left], alpha, bounds, w, q + tiny, rho, state)
        state[ABOVE] = state[ABOVE] if state[ABOVE] > 0.0 else np.inf
        state[BELOW] = state[BELOW] if state[BELOW] < 0.0 else -np.inf
        epochs += 1
    w, b = scene.inside(w, float(state[BIAS]) * frame.pad)
    alpha = np.minimum(alpha * unit, C)
    sigma = STIFF if left < SETTLED * frame.n else SOFT
    return MarginPoint(w, b, alpha, frame.pull(alpha), sigma, passes=epochs + 2)
