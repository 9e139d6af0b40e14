"""The soft margin on partitions: Newton steps with small summaries, then the rows near the margin here.

A plane that is solved on a sample is off by a width δ that is known roughly. If few rows are within δ of
the margin, they come here: all others have α_i = 0 or C_i by their side, their sums say all about them,
and the reduced problem is solved as in :mod:`maxmargin.solvers.softmargin`. If there are too many, a
round returns gradient and Hessian of the objective with its hinge smoothed over δ; after a Newton step
the plane is known better, δ shrinks, and there are fewer. Every round gives a true gap: the primal value
of its plane, and the dual value of multipliers that are within their bounds and balance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from maxmargin.core.errors import InputError
from maxmargin.solvers.multipliers import Iterate, Reduced, minimise
from maxmargin.solvers.remote.alike import alike
from maxmargin.solvers.remote.looks import FINEST, TIMES, Total, Wish, look_at, total
from maxmargin.solvers.remote.point import Limits, RemotePoint
from maxmargin.solvers.remote.rounds import Course, Question, Side
from maxmargin.solvers.remote.rule import Multipliers, Plane, Rule
from maxmargin.solvers.remote.running import run_out
from maxmargin.solvers.softmargin import ROOM, UNBALANCED

__all__ = ["Beginning", "remote_soft_margin"]

ROUNDS = 60
SHRINK = 0.1  # of the width, at most, in a Newton round
WIDEN = 4.0  # the width grows so much where rows were missing
STEPS = 2  # Newton steps, at least, after rows near the margin did not suffice
PATIENCE = 3  # steps in turn that were too long
VALID = 3.0  # widths are at least so many times the length of the next step
SPARE = 2  # a partition may send so many times its share of the rows that are expected
FEWEST = 256  # rows it may send in any case
NEWTON = 3_000  # features up to which a Hessian travels
ENOUGH = 3  # rows per feature that a width has to hold, for a Hessian


class Beginning(NamedTuple):
    """A first plane, how far it may be off, and about how many rows are within that of the margin."""

    plane: Plane
    width: float
    expected: float


@dataclass
class _State:
    """Where a machine is: what it wants to know next, and how it came there."""

    plane: Plane
    width: float
    sends: bool  # the rows in the band are to come here
    base: Plane | None = None  # where the last step began
    tried: float = math.inf  # the width for which that step was made
    solved: bool = False  # whether it was made by solving on the rows in the band
    failed: float = 0.0  # a width whose rows did not suffice, since the last Newton step
    shrink: float = SHRINK
    sigma: float = 0.0
    retreats: int = 0
    alone: int = 0  # Newton steps to go before rows are sent again


def remote_soft_margin(
    side: Side, start: Beginning, parts: int, most: int, limits: Limits
) -> Course[RemotePoint]:
    """Solve one machine; at most about ``most`` rows come here in a round."""
    now = _State(start.plane, start.width, sends=start.expected <= most)
    best = RemotePoint(start.plane, Multipliers(None, [None] * parts))
    for _ in range(ROUNDS):
        if not now.sends and len(now.plane.w) > NEWTON:
            raise InputError(
                f"rows in partitions must have at most {NEWTON:,} features where more than {most:,} of "
                f"them are near the margin. Got {len(now.plane.w):,} features instead. Hash the "
                "features, lower C, or fit to a file on one machine (open_rows)."
            )
        answers = yield Question(look_at, (_wish(now, parts, most),))
        seen = total(answers)
        planes = [now.plane] if now.base is None else [_between(now, t) for t in TIMES]
        for plane, hinge in zip(planes, seen.hinge.tolist(), strict=False):
            best = best.with_plane(plane, 0.5 * float(plane.w @ plane.w) + hinge)
        if not now.sends:
            best = best.with_multipliers(*_smooth_multipliers(side, now, seen, parts))
        if limits.ended(best):
            break
        back = _shorter(now, seen)
        if back < 1.0:
            _retreat(now, back, seen, most)
            continue
        now.retreats = 0
        if not now.sends:
            _newton(side, now, seen, most)
            continue
        if seen.pool is None or not _can_balance(side, seen):
            now.base = None
            fewer = now.width / WIDEN
            now.sends = seen.arriving(now.width) > most and seen.within(fewer) > _enough(now)
            now.sends = now.sends and fewer > now.failed
            now.width = fewer if now.sends else max(now.width, _width(seen, _enough(now)))
            now.alone = 0 if now.sends else STEPS
            continue
        point, multipliers = _reduced(side, now, seen, limits, parts)
        best = best.with_multipliers(multipliers, point.dual)
        now.base, now.plane = now.plane, Plane(point.w, point.b)
        now.tried, now.solved, now.sigma = now.width, True, point.sigma / 10.0
        now.width = max(now.width / 4.0, min(now.width, _width(seen, _enough(now))))
    return best


def _wish(now: _State, parts: int, most: int) -> Wish:
    step = None
    if now.base is not None:
        step = Plane(now.plane.w - now.base.w, now.plane.b - now.base.b)
    share = max(FEWEST, -(-SPARE * most // parts))
    return Wish(now.plane, step, now.width, share if now.sends else 0)


def _between(now: _State, t: float) -> Plane:
    """The plane at t on the way from the last one to this one."""
    assert now.base is not None
    if t == 1.0:
        return now.plane
    (w, b), (v, c) = now.base, now.plane
    return Plane(w + t * (v - w), b + t * (c - b))


def _shorter(now: _State, seen: Total) -> float:
    """How far to go on the way: 1 if that is about as good as any."""
    if now.base is None:
        return 1.0
    risk = seen.hinge if now.solved else seen.smooth
    values = [0.5 * float(p.w @ p.w) for p in (_between(now, t) for t in TIMES)] + risk
    k = int(np.argmin(values))
    enough = values[-1] - values[0] >= 0.5 * (values[-1] - values[k])
    return 1.0 if enough or values[0] <= values[k] * (1.0 + 1e-12) else TIMES[k]


def _retreat(now: _State, t: float, seen: Total, most: int) -> None:
    """Go only a part of the way.

    If the step came from the rows near the margin, others held the plane back: take in more. A Newton
    step that leads nowhere was made for a width that has shrunk too much since.
    """
    now.plane, now.base = _between(now, t), None
    now.retreats += 1
    if now.solved:
        now.failed = max(now.failed, now.tried)
        now.width = WIDEN * now.tried
        now.sends = seen.arriving(now.width) <= most and now.retreats <= PATIENCE
        now.width = now.width if now.sends else now.tried
        now.alone = 0 if now.sends else STEPS
    else:
        now.sends = False
        now.width = now.tried if t == 0.0 or now.retreats > PATIENCE else now.width
    now.shrink, now.solved = 1.0, False


def _smooth_multipliers(side: Side, now: _State, seen: Total, parts: int) -> tuple[Multipliers, float]:
    """α_i = φ C_i h′(r_i), with a factor on the heavier class for balance, and their dual value."""
    plus, minus = (float(a) for a in seen.alpha)
    factors = [1.0, 1.0]
    if side.pad:
        least = min(plus, minus)
        factors = [least / plus if plus > 0.0 else 0.0, least / minus if minus > 0.0 else 0.0]
    v = factors[0] * seen.v[0] + factors[1] * seen.v[1]
    dual = factors[0] * plus + factors[1] * minus - 0.5 * float(v @ v)
    return Multipliers(Rule(now.plane, now.width, *factors), [None] * parts), dual


def _newton(side: Side, now: _State, seen: Total, most: int) -> None:
    """A Newton step on the smoothed objective; then the width follows from its length."""
    assert seen.curvature is not None
    d, (w, b) = len(now.plane.w), now.plane
    if not seen.inside:
        now.base, now.width = None, max(4.0 * now.width, _width(seen, _enough(now)))
        return
    gradient = np.append(w - seen.v.sum(axis=0), -side.pad * float(seen.alpha[0] - seen.alpha[1]))
    H = seen.curvature + np.diag(np.append(np.ones(d), 1.0 - side.pad))
    step = _solved(H, -gradient)
    bend = float(step @ seen.curvature @ step)
    mean = math.sqrt(2.0 * now.width * bend / max(_price(side) * seen.inside, 1e-300))
    now.base, now.plane = now.plane, Plane(w + step[:d], b + float(step[d]))
    now.tried, now.solved, now.failed = now.width, False, 0.0
    least = _width(seen, _enough(now))
    now.width = min(now.width, max(now.shrink * now.width, VALID * mean, least))
    now.shrink = max(SHRINK, 0.5 * now.shrink)
    now.alone = max(now.alone - 1, 0)
    now.sends = not now.alone and seen.arriving(now.width) <= most


def _solved(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """H⁻¹ g, H positive definite up to rounding."""
    try:
        return np.asarray(linalg.solve(H, g, assume_a="pos"))
    except (linalg.LinAlgError, linalg.LinAlgWarning):
        return np.asarray(np.linalg.lstsq(H, g, rcond=1e-14)[0])


def _price(side: Side) -> float:
    assert side.C is not None
    return float(np.mean(side.C))


def _enough(now: _State) -> float:
    return float(ENOUGH * (len(now.plane.w) + 1))


def _width(seen: Total, rows: float) -> float:
    """A power of two within which so many rows lie, or all of them."""
    k = int(np.searchsorted(seen.near, min(rows, float(seen.near[-1]))))
    return float(2.0 ** (k + FINEST))


def _can_balance(side: Side, seen: Total) -> bool:
    """Whether the rows that came can make up for the multipliers of the others, with room to spare."""
    assert seen.pool is not None
    others = float(seen.alpha[0] - seen.alpha[1])
    up = float(seen.pool.C[seen.pool.y > 0].sum())
    down = float(seen.pool.C[seen.pool.y < 0].sum())
    return not side.pad or -ROOM * up <= others <= ROOM * down


def _reduced(
    side: Side, now: _State, seen: Total, limits: Limits, parts: int
) -> tuple[Iterate, Multipliers]:
    """Solve on the rows that came, all others fixed."""
    pool = seen.pool
    assert pool is not None
    v0, s0 = seen.v.sum(axis=0), side.pad * float(seen.alpha[0] - seen.alpha[1])
    groups = alike(pool.rows, pool.y)  # of different partitions
    C = np.bincount(groups.group, pool.C, len(groups.first))
    problem = Reduced(pool.some(groups.first).frame(side), C, v0, s0, float(seen.alpha.sum()))
    sigma = now.sigma or 1.0 / max(min(now.width, 4.0), 1e-3)
    begin = Iterate(now.plane.w, now.plane.b, 0.5 * C, sigma)
    point = run_out(minimise(problem, begin, 0.1 * limits.tol, limits.deadline))
    balance = abs(s0 + float(point.alpha @ problem.frame.bias))
    if balance > UNBALANCED * (float(point.alpha.sum()) + problem.fixed):
        point.dual = -math.inf
    share = (point.alpha / C)[groups.group]
    return point, Multipliers(Rule(now.plane, now.width), pool.shares(share, parts))
