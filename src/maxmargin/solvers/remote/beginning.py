"""Where the soft margin on partitions begins: at the plane of a sample, with a guess how far it is off.

The objective of a sample differs from that of all rows by noise in its slope, Σ α_i (a_i, y_i) over
other rows with α_i = C_i. So the plane of the sample is off by e = M⁻¹ noise, whose expected length is
eᵀMe = Σ α_i² s_i² with the scales of :mod:`maxmargin.solvers.remote.gauge`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from maxmargin.solvers.margin.frame import Frame
from maxmargin.solvers.remote.gauge import Gauge, bent, gauge_of, plain_gauge
from maxmargin.solvers.remote.rule import Plane

__all__ = ["NEWTON", "Beginning", "begin_at", "begin_with_all"]

FAR = 3.0  # the optimum is nearly certainly within so many times the expected distance
SHARE, MOST = 0.2, 0.9  # of the sample: what bends the first model, and nearly all
TINY = 1e-2  # a width against that of nearly all, at least
NEWTON = 3_000  # features up to which a Hessian travels


class Beginning(NamedTuple):
    """A first plane, the directions in which it may be off, and how far."""

    plane: Plane
    gauge: Gauge
    width: float


def begin_with_all(plane: Plane) -> Beginning:
    """All rows come at once."""
    return Beginning(plane, plain_gauge(len(plane.w)), math.inf)


def begin_at(plane: Plane, frame: Frame, C: np.ndarray) -> Beginning:
    """A plane that was solved on a sample, with the bounds C that stand for all rows."""
    r = 1.0 - frame.values(*plane)
    if frame.d > NEWTON:
        gauge = plain_gauge(frame.d)
        return Beginning(plane, gauge, float(np.quantile(np.abs(r) / gauge.scales(frame), SHARE)))
    Z = np.column_stack([frame.take(np.arange(frame.n)), frame.bias])
    far = np.abs(r)
    curvature = C / (2.0 * np.maximum(far, max(float(np.median(far)), 1e-300)))
    for _ in range(2):
        M = np.diag(np.append(np.ones(frame.d), 1.0 - frame.pad)) + bent(Z, curvature)
        M[-1, -1] = M[-1, -1] or 1.0
        gauge = gauge_of(M, frame.pad)
        scales = np.maximum(gauge.scales(frame), 1e-300)
        few, most = np.quantile(far / scales, (SHARE, MOST)).tolist()
        width = max(few, TINY * most) or 1.0  # of equal rows many may be on the margin
        curvature = np.where(far <= width * scales, C / (2.0 * width * scales), 0.0)
    noise = np.where(r > 0.0, C * scales, 0.0)
    fitted = float(np.quantile(far / scales, min(2.0 * len(M) / frame.n, 1.0)))
    return Beginning(plane, gauge, max(FAR * math.sqrt(float(noise @ noise) / len(M)), fitted) or width)
