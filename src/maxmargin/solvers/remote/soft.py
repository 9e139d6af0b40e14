"""The soft margin on partitions: a model of the objective from small summaries, and its minimum here.

Near a plane z₀ = (w, b) the objective is ½‖w‖² plus three kinds of terms. Rows far from the margin keep
their side: their sum is linear, and exact. Rows near it, |r_i| ≤ δ_i, come here if they are few, and
their hinge is kept as it is. If they are many, only those come that bend the objective much by
themselves, outliers as a rule; the hinge of each other is smoothed over δ_i, and gradient and Hessian of
their sum travel. This model (:mod:`maxmargin.solvers.remote.model`) is minimised here. The next plane is
better known, δ shrinks to what is still uncertain (:mod:`maxmargin.solvers.remote.walk`), and in the end
all rows near the margin are here, H = 0, and the model is exact.

Every round gives a true gap: the primal value of its plane, and the dual value of multipliers that are
within their bounds and balance. A step that is surely the last one is followed by the certificate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin.solvers.remote.band import gathered_band
from maxmargin.solvers.remote.beginning import NEWTON, Beginning
from maxmargin.solvers.remote.looks import look_at, merged
from maxmargin.solvers.remote.model import Model
from maxmargin.solvers.remote.point import Limits, RemotePoint
from maxmargin.solvers.remote.rounds import Course, Query, Side
from maxmargin.solvers.remote.rule import Multipliers, Plane
from maxmargin.solvers.remote.walk import Walk, shorter

__all__ = ["remote_soft_margin"]

ROUNDS = 60
LEASHES = 0.0, 0.1, 1.0, 10.0, 100.0  # shares of M that hold a step back
NEARBY = 0.125, 0.5  # parts of a step for which the one that was tried too stands
ROUGH = 1e-2  # a model is solved to this share of the gap
SURE = 0.2  # of the gap that is allowed: what a model may be wrong by at the end


def remote_soft_margin(
    side: Side, start: Beginning, parts: int, most: int, limits: Limits
) -> Course[RemotePoint]:
    """Solve one machine; at most about ``most`` rows come here in a round."""
    now = Walk(*start)
    best = RemotePoint(start.plane, Multipliers(None, [None] * parts))
    for _ in range(ROUNDS):
        spare = now.spare()
        wishes = [one.wish(parts, most) for one in (now, spare) if one is not None]
        answers = yield Query(look_at, (wishes,), range(parts), merged)
        seen, *other = merged(answers)
        planes = now.planes()
        values = [0.5 * float(p.w @ p.w) for p in planes] + seen.hinge[: len(planes)]
        for plane, value in zip(planes, values.tolist(), strict=True):
            best = best.with_plane(plane, value)
        if limits.ended(best):
            break
        t = shorter(values)
        if t < 1.0:
            if t == 0.0 and len(now.plane.w) > NEWTON:
                break  # more rows are near the margin than may come, and no Hessian speaks for them
            if spare is None or not NEARBY[0] <= t <= NEARBY[1]:
                now.retreat(t)
                continue
            now, seen = spare, other[0]
        elif now.base is not None:
            now.doubtful = False
        model = Model(side, now.plane, now.gauge, now.width, seen, gathered_band(seen.rows, side))
        if model.is_exact and not model.can_balance:
            now.widen(seen)
            continue
        M = model.metric()
        best, point, held = _minimised(now, model, M, best, parts, limits)
        if best.gap <= limits.tol:
            break
        sure = not held and now.expected_loss(model, point, M) <= SURE * limits.tol * best.primal
        if sure and limits.closing is not None:
            last = replace(best, plane=point)
            proof = yield limits.closing.question(side, last)
            primal, dual = limits.closing.values(side, last, proof)
            last = replace(last, primal=primal, dual=dual, proof=proof)
            if last.gap <= limits.tol:
                return last
            best = best.with_plane(point, primal)
        now.go(model, point, M, most, held)
    return best


def _minimised(
    now: Walk, model: Model, M: np.ndarray, best: RemotePoint, parts: int, limits: Limits
) -> tuple[RemotePoint, Plane, bool]:
    """The best point with the minimum of a model, the plane there, and whether it was held back."""
    for leash in LEASHES:
        goal = 0.1 * limits.tol
        if leash or not model.is_exact:
            goal = max(goal, ROUGH * min(best.gap, 0.1))
        point, alpha = model.minimum(leash * M, goal, limits.deadline)
        best = best.with_multipliers(*model.multipliers(alpha, parts))
        if best.gap <= limits.tol or not model.is_exact or not now.is_too_long(point, M):
            break
    return best, point, leash > 0.0
