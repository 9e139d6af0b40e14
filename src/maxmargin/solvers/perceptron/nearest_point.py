"""The point of a convex hull nearest to the origin (Wolfe 1976).

For a_i = y_i (x_i, 1) this is the maximum margin through the origin of the padded space: if p is the
nearest point of conv{a_i}, then γ = ‖p‖ and z = p/‖p‖ attains it. Every iterate p gives both bounds,

    min_i a_i·p/‖p‖ ≤ γ ≤ ‖p‖,

and each round takes one pass over the rows: it adds the row that violates the left bound most to a
small set and moves to the nearest point of that set's affine hull, dropping rows of negative weight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from maxmargin.core.parameters import NEVER, Deadline
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.problem import Examples

AGREEMENT = 1e-10  # of the bounds, as a share of the upper one
MAX_ROUNDS = 10_000


class HullPoint(NamedTuple):
    """The nearest point found, with certified bounds on its length up to rounding."""

    point: np.ndarray
    support: np.ndarray  # rows that span it
    weights: np.ndarray  # their convex weights
    lower: float
    upper: float


def nearest_point(examples: Examples, machine: Machine, deadline: Deadline = NEVER) -> HullPoint:
    """Approach the nearest point until the bounds agree, time ends, or rounding stops it."""
    signs = machine.signs(examples.codes)
    if len(examples.scale):
        signs = signs * examples.scale

    def margins(p: np.ndarray) -> np.ndarray:
        f = examples.rows.times(p[:-1, None])[:, 0] + examples.pad * p[-1]
        return np.asarray(signs * f)

    def rows_at(which: list[int]) -> np.ndarray:
        return examples.signed(machine, np.array(which))

    return _approach(rows_at, margins, AGREEMENT, MAX_ROUNDS, deadline)


def separating_plane(
    examples: Examples, machine: Machine, rounds: int, deadline: Deadline
) -> np.ndarray | None:
    """Return z with a_i·z > 0 on all rows, up to rounding, if so many rounds find one.

    It has the same bits for dense and sparse rows. Columns are brought to similar sizes by powers of
    two, which changes the nearest point, but not whether there is a plane.
    """
    signs = machine.signs(examples.codes)
    reach = examples.rows.column_reach
    unit = np.append(np.ldexp(1.0, -np.frexp(np.where(reach > 0.0, reach, 0.5))[1]), 1.0)

    def margins(p: np.ndarray) -> np.ndarray:
        return np.asarray(signs * examples.ordered_values((unit * p)[None])[0])

    def rows_at(which: list[int]) -> np.ndarray:
        return np.asarray(unit * examples.signed(machine, np.array(which)))

    found = _approach(rows_at, margins, 1.0, rounds, deadline)
    return unit * found.point if found.lower > 0.0 else None


def _approach(
    rows_at: Callable[[list[int]], np.ndarray],
    margins: Callable[[np.ndarray], np.ndarray],
    tol: float,
    rounds: int,
    deadline: Deadline,
) -> HullPoint:
    """Approach the nearest point of the rows a_i until the bounds are within a share ``tol``."""
    support, lam, A = [0], np.ones(1), rows_at([0])
    lower, upper, best = -np.inf, np.inf, A[0]
    for _ in range(rounds):
        p = lam @ A
        length = float(np.linalg.norm(p))
        stalled = length >= upper * (1 - 1e-15)  # no further progress in double precision
        if lower > -np.inf and (stalled or deadline.over):
            break
        upper = length
        if length == 0.0:
            lower, best = 0.0, p
            break
        a = margins(p) / length
        worst = int(np.argmin(a))
        if a[worst] > lower:
            lower, best = float(a[worst]), p
        if lower >= upper * (1 - tol) or worst in support:
            break
        before = support
        support, lam, A = _add(support, lam, A, worst, rows_at([worst]))
        if support == before:
            break
    return HullPoint(best, np.array(support), lam, lower, upper)


def shortest_combination(P: np.ndarray) -> np.ndarray:
    """Return the shortest convex combination of a few vectors."""
    first = int(np.argmin(np.linalg.norm(P, axis=1)))
    support, lam, A = [first], np.ones(1), P[[first]]
    for _ in range(10 * len(P)):
        p = lam @ A
        worst = int(np.argmin(P @ p))
        if P[worst] @ p >= (p @ p) * (1 - 1e-9) or worst in support:
            break
        before = support
        support, lam, A = _add(support, lam, A, worst, P[[worst]])
        if support == before:
            break
    return np.asarray(lam @ A)


def _add(
    support: list[int], lam: np.ndarray, A: np.ndarray, row: int, a: np.ndarray
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Take one more row into the set and move to the nearest point it spans.

    If rounding gets in the way, the old set comes back unchanged.
    """
    old = support, lam, A
    support = [*support, row]
    A, lam = np.vstack([A, a]), np.append(lam, 0.0)
    while len(support):
        goal = _affine_weights(A)
        if not np.all(np.isfinite(goal)):
            break
        falling = goal <= 1e-14
        if not falling.any():
            return support, goal, A
        # Walk from lam towards goal until the first weight reaches zero; drop it.
        reach = np.full(len(goal), np.inf)
        reach[falling] = lam[falling] / np.maximum(lam[falling] - goal[falling], 1e-300)
        lam = np.maximum(lam + min(1.0, float(reach.min())) * (goal - lam), 0.0)
        keep = lam > 1e-15
        keep[int(np.argmin(reach))] = False
        support = [i for i, k in zip(support, keep, strict=True) if k]
        A, lam = A[keep], lam[keep] / max(float(lam[keep].sum()), 1e-300)
    return old


def _affine_weights(A: np.ndarray) -> np.ndarray:
    """Weights λ with Σλ = 1 that minimise ‖Σ λ_i a_i‖, of any sign."""
    scale = float(np.max(np.linalg.norm(A, axis=1)))
    # Σλ = 1 joins the least-squares problem as a column that the minimiser satisfies exactly
    # after division: (A Aᵀ + s² 1 1ᵀ) μ = 1, λ = μ/Σμ. QR of the tall matrix avoids squaring.
    tall = np.hstack([A, np.full((len(A), 1), scale)]).T
    r = np.asarray(np.linalg.qr(tall, mode="r"))
    ones = np.ones(len(A))
    try:
        mu = np.linalg.solve(r, np.linalg.solve(r.T, ones))
    except np.linalg.LinAlgError:
        return np.full(len(A), np.nan)
    return np.asarray(mu / mu.sum()) if mu.sum() > 0 else np.full(len(A), np.nan)
