"""The soft margin on partitions: a model of the objective from small summaries, and its minimum here.

Near a plane z₀ = (w, b) the objective is ½‖w‖² plus three kinds of terms. Rows far from the margin keep
their side: their sum is linear, and exact. Rows near it, |r_i| ≤ δ_i, come here if they are few, and
their hinge is kept as it is. If they are many, only those come that bend the objective much by
themselves, outliers as a rule; the hinge of each other is smoothed over δ_i, and gradient and Hessian of
their sum travel. So the model

    ½‖w‖² − v·w − s b + ½ (z − z₀)ᵀ H (z − z₀) + Σ C_i max(0, 1 − m_i)

is minimised by the same method as on one machine (:mod:`maxmargin.solvers.multipliers`), after a change
of coordinates that makes D + H the unit matrix. The next plane is better known, δ shrinks to what is
still uncertain, and in the end all rows near the margin are here, H = 0, and the model is exact. Every
round gives a true gap: the primal value of its plane, and the dual value of multipliers that are within
their bounds and balance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from maxmargin.rows import DenseRows
from maxmargin.solvers.frame import Frame, Scene
from maxmargin.solvers.multipliers import Iterate, Reduced, minimise
from maxmargin.solvers.remote.band import Band, gathered_band
from maxmargin.solvers.remote.beginning import NEWTON, Beginning
from maxmargin.solvers.remote.gauge import Gauge, bent, factor, gauge_of
from maxmargin.solvers.remote.looks import Look, look_at, merged
from maxmargin.solvers.remote.point import Limits, RemotePoint
from maxmargin.solvers.remote.rounds import Course, Question, Side
from maxmargin.solvers.remote.rule import Given, Multipliers, Plane, Rule
from maxmargin.solvers.remote.running import run_out
from maxmargin.solvers.remote.sorting import TIMES, Wish
from maxmargin.solvers.remote.wide import solve_wide
from maxmargin.solvers.softmargin import ROOM, UNBALANCED, WIDE

__all__ = ["remote_soft_margin"]

ROUNDS = 60
SHRINK, GROW = 0.1, 4.0  # of the width, at most, from round to round
VALID = 1.0  # widths against the length of the last step
SPARE = 2  # a partition may send so many times its share of the rows that are expected
FILL = 0.7  # of the rows that may come, so many are planned with
ENOUGH = 3  # rows per feature that a width has to hold
TINY = 1e-12  # of the widest: what a row without a width counts as
NOWHERE = Scene(np.zeros(1), 1.0)  # of coordinates that are no longer the user's
SURE = 0.5  # a step that is so short against the width ends where its model says
TRUST = 5.0  # a step on the rows that came may be so long against the width
LEASHES = 0.0, 0.1, 1.0, 10.0, 100.0  # shares of M that hold a step back
SHORTER, NEARBY = 0.25, (0.125, 0.5)  # a part of a step that is tried too, and what it stands for
ROUGH = 1e-2  # a model is solved to this share of the gap


@dataclass
class _State:
    """Where a machine is: what it wants to know next, and how it came there."""

    plane: Plane
    gauge: Gauge
    width: float
    base: Plane | None = None  # where the last step began
    length: float = 0.0  # of that step, by the gauge
    tried: float = math.inf  # the width of the model that it came from
    exact: bool = False  # whether that model was exact
    doubtful: bool = False  # whether the last step was too long


def remote_soft_margin(
    side: Side, start: Beginning, parts: int, most: int, limits: Limits
) -> Course[RemotePoint]:
    """Solve one machine; at most about ``most`` rows come here in a round."""
    now = _State(*start)
    best = RemotePoint(start.plane, Multipliers(None, [None] * parts))
    for _ in range(ROUNDS):
        spare = _spare(now)
        wishes = [_wish(one, parts, most) for one in (now, spare) if one is not None]
        answers = yield Question(look_at, (wishes,), range(parts), merged)
        seen, *other = merged(answers)
        planes = [now.plane] if now.base is None else [_between(now, t) for t in TIMES]
        values = [0.5 * float(p.w @ p.w) for p in planes] + seen.hinge[: len(planes)]
        for plane, value in zip(planes, values.tolist(), strict=True):
            best = best.with_plane(plane, value)
        if limits.ended(best):
            break
        t = _shorter(values)
        if t < 1.0:
            if t == 0.0 and len(now.plane.w) > NEWTON:
                break  # more rows are near the margin than may come, and no Hessian speaks for them
            if spare is None or not NEARBY[0] <= t <= NEARBY[1]:
                _retreat(now, t)
                continue
            now, seen = spare, other[0]
        elif now.base is not None:
            now.doubtful = False
        band = gathered_band(seen.rows, side)
        if not seen.left and (band is None or not _can_balance(side, seen, band)):
            now.width = max(GROW * now.width, seen.holding(_enough(now)))
            now.base = None
            continue
        M = _metric(side, now, seen, band)
        for leash in LEASHES:
            goal = ROUGH * min(best.gap, 0.1) if seen.left or leash else 0.0
            goal = max(0.1 * limits.tol, goal)
            if seen.left or leash:
                point, alpha = _modelled(side, now, seen, band, leash * M, goal, limits.deadline)
            else:
                assert band is not None
                point, alpha = _reduced(side, now, seen, band, goal, limits.deadline)
            best = best.with_multipliers(*_multipliers(side, now, seen, band, alpha, parts))
            if best.gap <= limits.tol or seen.left or not _too_long(now, point, M):
                break
        if best.gap <= limits.tol:
            break
        if limits.closing is not None and not seen.left and not leash and _sure(now, point, M):
            last = replace(best, plane=point)
            proof = yield limits.closing.question(side, last)
            primal, dual = limits.closing.values(side, last, proof)
            last = replace(last, primal=primal, dual=dual, proof=proof)
            if last.gap <= limits.tol:
                return last
            best = best.with_plane(point, primal)
        _next(side, now, seen, point, M, most, held=leash > 0.0)
    return best


def _wish(now: _State, parts: int, most: int) -> Wish:
    step = None
    if now.base is not None:
        step = Plane(now.plane.w - now.base.w, now.plane.b - now.base.b)
    share = most if now.width == math.inf else -(-SPARE * most // parts)
    return Wish(now.plane, step, now.width, now.gauge, share, len(now.plane.w) <= NEWTON)


def _between(now: _State, t: float) -> Plane:
    """The plane at t on the way from the last one to this one."""
    assert now.base is not None
    if t == 1.0:
        return now.plane
    (w, b), (v, c) = now.base, now.plane
    return Plane(w + t * (v - w), b + t * (c - b))


def _shorter(values: np.ndarray) -> float:
    """How far to go on the way: 1 if that is about as good as any."""
    k = int(np.argmin(values))
    enough = values[-1] - values[0] >= 0.5 * (values[-1] - values[k])
    return 1.0 if enough or values[0] <= values[k] * (1.0 + 1e-12) else TIMES[k]


def _retreat(now: _State, t: float) -> None:
    """Go only a part of the way.

    A step beyond the width of its model met rows that the model took for far: look wider. A short one
    was led astray by the smoothing: look closer.
    """
    now.plane, now.base, now.doubtful = _between(now, t), None, True
    if now.exact or now.length > now.tried:
        now.width = min(max(now.length, 2.0 * now.tried), 8.0 * now.tried)
    else:
        now.width = 0.3 * now.tried


def _spare(now: _State) -> _State | None:
    """Where to go on if the step is too long, after one that was: asked about in the same round."""
    if now.base is None or not now.doubtful:
        return None
    spare = replace(now)
    _retreat(spare, SHORTER)
    return spare


def _modelled(
    side: Side,
    now: _State,
    seen: Look,
    band: Band | None,
    leash: np.ndarray,
    goal: float,
    deadline: float,
) -> tuple[Plane, np.ndarray]:
    """Minimise the model with its quadratic part; return the plane, and α of the rows that came."""
    H, z0 = leash, np.append(now.plane.w, now.plane.b)
    if seen.curvature is not None:
        H = H + seen.curvature
    linear = _linear(side, seen)
    unit, L = factor(H + _unit(side, len(H)))
    toward = linear + H @ z0
    v0 = linalg.solve_triangular(L, toward / unit, lower=True)
    if band is None:
        z, alpha = v0, np.empty(0)
    else:
        fixed = seen.smooth + float(linear @ z0) + 0.5 * float(z0 @ H @ z0)
        A = linalg.solve_triangular(L, (_rows(band) / unit).T, lower=True).T
        frame = Frame(DenseRows(np.ascontiguousarray(A)), band.frame.y, 0.0, NOWHERE, ready=True)
        problem = Reduced(frame, band.C, v0, 0.0, fixed, _stiffness(now, band))
        begin = Iterate(L.T @ (unit * z0), 0.0, 0.5 * band.C, 1.0)
        found = run_out(minimise(problem, begin, goal, deadline))
        z, alpha = found.w, found.alpha
    z = linalg.solve_triangular(L, z, lower=True, trans="T") / unit
    return Plane(z[:-1], float(z[-1]) * side.pad), alpha


def _reduced(
    side: Side, now: _State, seen: Look, band: Band, goal: float, deadline: float
) -> tuple[Plane, np.ndarray]:
    """Solve on the rows that came, all others fixed."""
    *v0, s0 = _linear(side, seen)
    fixed = float(seen.alpha.sum())
    problem = Reduced(band.frame, band.C, np.array(v0), float(s0), fixed, _stiffness(now, band))
    begin = Iterate(now.plane.w, now.plane.b, 0.5 * band.C, 1.0)
    if band.frame.d > NEWTON and not band.frame.ready:
        return solve_wide(problem, now.plane, goal, deadline)
    point = run_out(minimise(problem, begin, goal, deadline))
    return Plane(point.w, point.b), point.alpha


def _multipliers(
    side: Side, now: _State, seen: Look, band: Band | None, alpha: np.ndarray, parts: int
) -> tuple[Multipliers, float]:
    """α of all rows, the heavier class scaled down for balance, and their dual value."""
    sums, v = seen.alpha.copy(), seen.v.copy()
    plus = np.empty(0, bool)
    if band is not None:
        plus = band.frame.y > 0.0
        for k, mine in enumerate((plus, ~plus)):
            sums[k] += float(alpha[mine].sum())
            v[k] += band.frame.pull(np.where(mine, alpha, 0.0))
    factors = np.ones(2)
    if side.pad and abs(sums[0] - sums[1]) > UNBALANCED * float(sums.sum()):
        factors = np.array([float(sums.min()) / a if a > 0.0 else 0.0 for a in sums])
    total = factors @ v
    dual = float(factors @ sums) - 0.5 * float(total @ total)
    given: list[Given | None] = [None] * parts
    if band is not None:
        given = band.given(alpha / band.C * np.where(plus, *factors), parts)
    known = not seen.left and len(now.plane.w) <= NEWTON  # of every other row, on which side it is
    width = 0.0 if known else now.width
    return Multipliers(Rule(now.plane, width, now.gauge, *factors.tolist()), given), dual


def _too_long(now: _State, point: Plane, M: np.ndarray) -> bool:
    """Whether a step leaves the region in which its model is trusted."""
    return bool(len(M)) and _length(now, point, M) > TRUST * now.gauge.change(M) * now.width


def _sure(now: _State, point: Plane, M: np.ndarray) -> bool:
    """Whether a step on all rows near the margin surely ends where no other row has changed sides."""
    if now.width == math.inf:
        return True
    return bool(len(M)) and _length(now, point, M) <= SURE * now.gauge.change(M) * now.width


def _length(now: _State, point: Plane, M: np.ndarray) -> float:
    step = np.append(point.w - now.plane.w, point.b - now.plane.b)
    return math.sqrt(max(float(step @ M @ step), 0.0) / len(M))


def _next(
    side: Side, now: _State, seen: Look, point: Plane, M: np.ndarray, most: int, held: bool
) -> None:
    """Go to the next plane; the width follows from the length of the step."""
    now.exact, factor = not seen.left, 1.0
    if len(M):
        now.length, factor = _length(now, point, M), now.gauge.change(M)
        now.gauge = gauge_of(M, side.pad)
    now.base, now.plane = now.plane, point
    now.tried = factor * now.width
    if now.width == math.inf:
        return
    shrink = 1.0 if held else SHRINK  # a step that was held back does not tell what is left
    width = min(max(VALID * now.length, shrink * now.tried), GROW * now.tried)
    width = max(width, min(now.tried, factor * seen.holding(_enough(now))))
    full = factor * seen.holding(FILL * most * max(seen.inside, 1) / max(seen.distinct, 1)) / 2.0
    now.width = max(width, min(full, GROW * width))


def _metric(side: Side, now: _State, seen: Look, band: Band | None) -> np.ndarray:
    """M = D + H, with the curvature of the rows that came; nothing where there is none to speak of."""
    if now.width == math.inf or len(now.plane.w) > NEWTON:
        return np.empty((0, 0))
    M = _unit(side, len(now.plane.w) + 1)
    if seen.curvature is not None:
        M = M + seen.curvature
    if band is not None:
        M = M + bent(_rows(band), _stiffness(now, band))
    if M[-1, -1] <= 0.0:
        M[-1, -1] = 1.0
    return M


def _rows(band: Band) -> np.ndarray:
    """(a_i, y_i) of the rows that came."""
    A = band.frame.take(np.arange(band.frame.n))
    return np.column_stack([A, band.frame.bias])


def _linear(side: Side, seen: Look) -> np.ndarray:
    """(v, s) of the rows that did not come."""
    return np.append(seen.v.sum(axis=0), side.pad * float(seen.alpha[0] - seen.alpha[1]))


def _unit(side: Side, size: int) -> np.ndarray:
    """D."""
    return np.diag(np.append(np.ones(size - 1), 1.0 - side.pad))


def _stiffness(now: _State, band: Band) -> np.ndarray:
    """C_i/2δ_i: multipliers from 0 to C_i over the width of each row."""
    scales = now.gauge.scales(band.frame)
    widths = now.width * scales
    if now.width == math.inf:
        widths = WIDE * scales / max(float(np.median(scales)), 1e-300)
    return np.asarray(band.C / (2.0 * np.maximum(widths, TINY * float(widths.max()))))


def _enough(now: _State) -> float:
    return float(ENOUGH * (len(now.plane.w) + 1))


def _can_balance(side: Side, seen: Look, band: Band) -> bool:
    """Whether the rows that came can make up for the multipliers of the others, with room to spare."""
    others = float(seen.alpha[0] - seen.alpha[1])
    plus = band.frame.y > 0.0
    up, down = float(band.C[plus].sum()), float(band.C[~plus].sum())
    return not side.pad or -ROOM * up <= others <= ROOM * down
