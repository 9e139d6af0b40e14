"""The loops of the method of multipliers: clip, and walk along a line."""

from __future__ import annotations

from typing import Any

from maxmargin.kernels.jit import jit, jit_any_order

__all__ = ["clip_multipliers", "hinge_slope", "sign", "slope"]


@jit
def clip_multipliers(m: Any, a: Any, C: Any, sigma: Any, alpha: Any, band: Any) -> int:
    """Write α_i = min(max(a_i + σ_i (1 − m_i), 0), C_i) and the rows strictly between; count these."""
    inside = 0
    for i in range(m.shape[0]):
        value = a[i] + sigma[i] * (1.0 - m[i])
        if value <= 0.0:
            alpha[i] = 0.0
        elif value >= C[i]:
            alpha[i] = C[i]
        else:
            alpha[i] = value
            band[inside] = i
            inside += 1
    return inside


@jit_any_order
def slope(t: float, m: Any, u: Any, a: Any, C: Any, sigma: Any) -> tuple[float, float]:
    """Return Σ α_i(t) u_i, and Σ σ_i u_i² over the band; α_i(t) clips a_i + σ_i (1 − m_i − t u_i)."""
    pull = 0.0
    curvature = 0.0
    for i in range(m.shape[0]):
        value = a[i] + sigma[i] * (1.0 - m[i] - t * u[i])
        if value <= 0.0:
            continue
        if value >= C[i]:
            pull += C[i] * u[i]
        else:
            pull += value * u[i]
            curvature += sigma[i] * u[i] * u[i]
    return pull, curvature


@jit
def sign(f: Any, y: Any, b: float) -> None:
    """Turn w·x_i into the margin y_i (w·x_i + b), in place."""
    for i in range(f.shape[0]):
        f[i] = y[i] * (f[i] + b)


@jit_any_order
def hinge_slope(t: float, m: Any, u: Any, C: Any) -> float:
    """Return Σ C_i u_i over the rows with m_i + t u_i < 1."""
    pull = 0.0
    for i in range(m.shape[0]):
        if m[i] + t * u[i] < 1.0:
            pull += C[i] * u[i]
    return pull
