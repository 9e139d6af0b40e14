"""The soft margin on partitions: a model of the objective from small summaries, and its minimum here.

There are two loops for one problem. With all rows in memory :mod:`maxmargin.solvers.margin.soft_margin`
keeps the margin of every row, and searches along lines exactly. Here no vector has one number per row: a
partition answers with sums and a few rows, and rounds are dear, so that each has to tell more. Tasks,
coordinates, the inner solver and the certificate are the same.

Near a plane z₀ = (w, b) the objective is ½‖w‖² plus three kinds of terms. Rows far from the margin keep
their side: their sum is linear, and exact. Rows near it, |r_i| ≤ δ_i, come here if they are few, and
their hinge is kept as it is. If they are many, only those come that bend the objective much by
themselves, outliers as a rule; the hinge of each other is smoothed over δ_i, and gradient and Hessian of
their sum travel (:mod:`maxmargin.solvers.margin.summaries`). That makes the :class:`Model`

    ½‖w‖² − v·w − s b + ½ (z − z₀)ᵀ H (z − z₀) + Σ C_i max(0, 1 − m_i)

with the sums v and s of the rows far from the margin, the Hessian H of rows near it that did not come,
and the hinges of those that did. It is minimised here by
:mod:`maxmargin.solvers.margin.augmented_lagrangian`, after a change of coordinates that makes D + H the
unit matrix. The next plane is better known, δ shrinks to what is still uncertain (:class:`Walk`), and in
the end all rows near the margin are here, H = 0, and the model is exact.

Every round gives a true gap: the primal value of its plane, and the dual value of multipliers that are
within their bounds and balance. A step that is surely the last one is followed by the certificate.

The loop begins at the plane of a sample (:class:`Beginning`). Its objective differs from that of all
rows by noise in its slope, Σ α_i (a_i, y_i) over other rows with α_i = C_i. So the plane is off by
e = M⁻¹ noise, whose expected length is eᵀMe = Σ α_i² s_i² with the scales of the rows.

With very many features no Hessian travels, nor is it ever formed. The rows nearest to the margin come
here as they are, sparse; all others keep their side. If all rows are here, this is the problem of one
machine, solved as there. Otherwise coordinate descent begins at the sum v₀ of the others, and so solves
the reduced problem; it works in the user's coordinates, where rows stay sparse (:func:`solve_wide`).
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import ndtr

from maxmargin.kernels.margin import BALANCE, GAP
from maxmargin.rows import DenseRows
from maxmargin.solvers.margin.augmented_lagrangian import Iterate, Reduced, minimise
from maxmargin.solvers.margin.coordinate_descent import Descent
from maxmargin.solvers.margin.coordinates import Frame, Scene
from maxmargin.solvers.margin.dual_problem import Duel, square_lengths
from maxmargin.solvers.margin.soft_margin import SETTINGS as SOFT
from maxmargin.solvers.margin.solve import solve_margins
from maxmargin.solvers.margin.summaries import TIMES, Band, Look, Wish, gathered_band, look_at, merged
from maxmargin.solvers.margin.tasks import Budget, Task, balanced
from maxmargin.solvers.remote.rounds import (
    Course,
    Gauge,
    Given,
    Limits,
    Multipliers,
    Plane,
    Query,
    RemotePoint,
    Rule,
    Side,
    bent,
    factor,
    gauge_of,
    plain_gauge,
)

FAR = 3.0  # the optimum is nearly certainly within so many times the expected distance
SHARE, MOST = 0.2, 0.9  # of the sample: what bends the first model, and nearly all
LEAST_WIDTH = 1e-2  # a width against that of nearly all, at least
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
        width = max(few, LEAST_WIDTH * most) or 1.0  # of equal rows many may be on the margin
        curvature = np.where(far <= width * scales, C / (2.0 * width * scales), 0.0)
    noise = np.where(r > 0.0, C * scales, 0.0)
    fitted = float(np.quantile(far / scales, min(2.0 * len(M) / frame.n, 1.0)))
    return Beginning(plane, gauge, max(FAR * math.sqrt(float(noise @ noise) / len(M)), fitted) or width)


EPOCHS = 500


def solve_wide(problem: Reduced, start: Plane, goal: float, deadline: float) -> tuple[Plane, np.ndarray]:
    """Return a plane, and α of the rows that came; all in the coordinates of their frame."""
    frame, scene = problem.frame, problem.frame.scene
    unit = scene.scale**2
    if not problem.fixed:
        task = Task(frame.y, problem.C / unit)
        (alone,) = solve_margins(frame.rows, [task], frame.pad, goal, Budget(deadline=deadline))
        return Plane(*scene.inside(alone.w, alone.b)), np.minimum(alone.alpha * unit, problem.C)
    duel = Duel(frame.rows, frame.y, problem.C / unit, frame.pad, square_lengths(frame.rows))
    alpha = 0.5 * duel.C
    others = (scene.scale * problem.v0 + problem.s0 * scene.centre) / unit
    walk = Descent(duel)
    walk.start(alpha, others + duel.pull(alpha), scene.outside(*start)[1])
    walk._state[BALANCE] += problem.s0 / unit
    for _ in range(EPOCHS):
        walk.epoch()
        dual = float(walk.alpha.sum()) + problem.fixed / unit - 0.5 * float(walk.w @ walk.w)
        if float(walk._state[GAP]) <= goal * abs(dual) or time.perf_counter() > deadline:
            break
    alpha = np.minimum(walk.alpha * unit, problem.C)
    w = problem.v0 + frame.pull(alpha)
    if frame.pad:
        alpha = balanced(alpha, frame.bias, problem.C, problem.s0)
    return Plane(w, scene.inside(walk.w, walk.bias)[1]), alpha


NEGLIGIBLE_WIDTH = 1e-12  # of the widest: what a row without a width counts as
NOWHERE = Scene(np.zeros(1), 1.0)  # of coordinates that are no longer the user's


class Model(NamedTuple):
    """Where it was made, z₀ and the widths by a gauge; what was seen there, and the rows that came."""

    side: Side
    plane: Plane
    gauge: Gauge
    width: float
    seen: Look
    band: Band | None

    @property
    def is_exact(self) -> bool:
        """Whether every row near the margin is here."""
        return not self.seen.left

    @property
    def can_balance(self) -> bool:
        """Whether the rows that came can make up for the multipliers of the others, and to spare."""
        if self.band is None:
            return False
        others = float(self.seen.alpha[0] - self.seen.alpha[1])
        plus = self.band.frame.y > 0.0
        up, down = float(self.band.C[plus].sum()), float(self.band.C[~plus].sum())
        return (
            not self.side.pad or -SOFT.max_balance_share * up <= others <= SOFT.max_balance_share * down
        )

    def metric(self) -> np.ndarray:
        """M = D + H, with the curvature of the rows that came; nothing where there is none to tell."""
        if self.width == math.inf or len(self.plane.w) > NEWTON:
            return np.empty((0, 0))
        M = self._unit(len(self.plane.w) + 1)
        if self.seen.curvature is not None:
            M = M + self.seen.curvature
        if self.band is not None:
            M = M + bent(_rows(self.band), self._stiffness(self.band))
        if M[-1, -1] <= 0.0:
            M[-1, -1] = 1.0
        return M

    def minimum(self, leash: np.ndarray, goal: float, deadline: float) -> tuple[Plane, np.ndarray]:
        """The plane where it is least, and α of the rows that came; a leash is added to H."""
        if self.is_exact and not leash.any():
            assert self.band is not None
            return self._reduced(self.band, goal, deadline)
        H, z0 = leash, np.append(self.plane.w, self.plane.b)
        if self.seen.curvature is not None:
            H = H + self.seen.curvature
        linear = self._linear()
        unit, L = factor(H + self._unit(len(H)))
        v0 = linalg.solve_triangular(L, (linear + H @ z0) / unit, lower=True)
        if self.band is None:
            z, alpha = v0, np.empty(0)
        else:
            fixed = self.seen.smooth + float(linear @ z0) + 0.5 * float(z0 @ H @ z0)
            A = linalg.solve_triangular(L, (_rows(self.band) / unit).T, lower=True).T
            rows = DenseRows(np.ascontiguousarray(A))
            frame = Frame(rows, self.band.frame.y, 0.0, NOWHERE, ready=True)
            problem = Reduced(frame, self.band.C, v0, 0.0, fixed, self._stiffness(self.band))
            begin = Iterate(L.T @ (unit * z0), 0.0, 0.5 * self.band.C, 1.0)
            found = minimise(problem, begin, goal, deadline)
            z, alpha = found.w, found.alpha
        z = linalg.solve_triangular(L, z, lower=True, trans="T") / unit
        return Plane(z[:-1], float(z[-1]) * self.side.pad), alpha

    def _reduced(self, band: Band, goal: float, deadline: float) -> tuple[Plane, np.ndarray]:
        """Solve on the rows that came, all others fixed."""
        *v0, s0 = self._linear()
        fixed = float(self.seen.alpha.sum())
        stiffness = self._stiffness(band)
        problem = Reduced(band.frame, band.C, np.array(v0), float(s0), fixed, stiffness)
        begin = Iterate(self.plane.w, self.plane.b, 0.5 * band.C, 1.0)
        if band.frame.d > NEWTON and not band.frame.ready:
            return solve_wide(problem, self.plane, goal, deadline)
        point = minimise(problem, begin, goal, deadline)
        return Plane(point.w, point.b), point.alpha

    def multipliers(self, alpha: np.ndarray, parts: int) -> tuple[Multipliers, float]:
        """α of all rows, the heavier class scaled down for balance, and their dual value."""
        sums, v = self.seen.alpha.copy(), self.seen.v.copy()
        plus = np.empty(0, bool)
        if self.band is not None:
            plus = self.band.frame.y > 0.0
            for k, mine in enumerate((plus, ~plus)):
                sums[k] += float(alpha[mine].sum())
                v[k] += self.band.frame.pull(np.where(mine, alpha, 0.0))
        factors = np.ones(2)
        if self.side.pad and abs(sums[0] - sums[1]) > SOFT.max_imbalance * float(sums.sum()):
            factors = np.array([float(sums.min()) / a if a > 0.0 else 0.0 for a in sums])
        total = factors @ v
        dual = float(factors @ sums) - 0.5 * float(total @ total)
        given: list[Given | None] = [None] * parts
        if self.band is not None:
            given = self.band.given(alpha / self.band.C * np.where(plus, *factors), parts)
        known = self.is_exact and len(self.plane.w) <= NEWTON  # every other row has a side
        rule = Rule(self.plane, 0.0 if known else self.width, self.gauge, *factors.tolist())
        return Multipliers(rule, given), dual

    def pull_of_a_row(self) -> float:
        """C_i s_i of the rows that came, in the mean: what the objective moves if a row does."""
        if self.band is None:
            return 0.0
        return float(np.mean(self.band.C * self.gauge.scales(self.band.frame)))

    def _linear(self) -> np.ndarray:
        """(v, s) of the rows that did not come."""
        alpha = self.seen.alpha
        return np.append(self.seen.v.sum(axis=0), self.side.pad * float(alpha[0] - alpha[1]))

    def _unit(self, size: int) -> np.ndarray:
        """D."""
        return np.diag(np.append(np.ones(size - 1), 1.0 - self.side.pad))

    def _stiffness(self, band: Band) -> np.ndarray:
        """C_i/2δ_i: multipliers from 0 to C_i over the width of each row."""
        scales = self.gauge.scales(band.frame)
        widths = self.width * scales
        if self.width == math.inf:
            widths = SOFT.first_width * scales / max(float(np.median(scales)), 1e-300)
        return np.asarray(band.C / (2.0 * np.maximum(widths, NEGLIGIBLE_WIDTH * float(widths.max()))))


def _rows(band: Band) -> np.ndarray:
    """(a_i, y_i) of the rows that came."""
    A = band.frame.take(np.arange(band.frame.n))
    return np.column_stack([A, band.frame.bias])


SHRINK, GROW = 0.1, 4.0  # of the width, at most, from round to round
AMPLE = 1.6  # and so many times what seems enough, if there is room for the rows
VALID = 1.0  # widths against the length of the last step
SPARE = 2  # a partition may send so many times its share of the rows that are expected
FILL = 0.7  # of the rows that may come, so many are planned with
ENOUGH = 3  # rows per feature that a width has to hold
TRUST = 5.0  # a step on the rows that came may be so long against the width
SHORTER = 0.25  # a part of a step that is tried too
DOUBT = 1.25  # scales come from a few directions: steps may be longer than they seem


@dataclass
class Walk:
    """Where a machine is: what it wants to know next, and how it came there."""

    plane: Plane
    gauge: Gauge
    width: float
    base: Plane | None = None  # where the last step began
    length: float = 0.0  # of that step, by the gauge
    tried: float = math.inf  # the width of the model that it came from
    exact: bool = False  # whether that model was exact
    doubtful: bool = False  # whether the last step was too long

    def wish(self, parts: int, most: int) -> Wish:
        """What partitions are asked."""
        step = None
        if self.base is not None:
            step = Plane(self.plane.w - self.base.w, self.plane.b - self.base.b)
        share = sys.maxsize if self.width == math.inf else -(-SPARE * most // parts)
        return Wish(self.plane, step, self.width, self.gauge, share, len(self.plane.w) <= NEWTON)

    def planes(self) -> list[Plane]:
        """The planes whose values partitions tell."""
        return [self.plane] if self.base is None else [self.between(t) for t in TIMES]

    def between(self, t: float) -> Plane:
        """The plane at t on the way from the last one to this one."""
        assert self.base is not None
        if t == 1.0:
            return self.plane
        (w, b), (v, c) = self.base, self.plane
        return Plane(w + t * (v - w), b + t * (c - b))

    def retreat(self, t: float) -> None:
        """Go only a part of the way.

        A step beyond the width of its model met rows that the model took for far: look wider. A short
        one was led astray by the smoothing: look closer.
        """
        self.plane, self.base, self.doubtful = self.between(t), None, True
        if self.exact or self.length > self.tried:
            self.width = min(max(self.length, 2.0 * self.tried), 8.0 * self.tried)
        else:
            self.width = 0.3 * self.tried

    def spare(self) -> Walk | None:
        """Where to go on if the step is too long, after one that was: asked about in the same round."""
        if self.base is None or not self.doubtful:
            return None
        spare = replace(self)
        spare.retreat(SHORTER)
        return spare

    def widen(self, seen: Look) -> None:
        """Look again, and wider."""
        self.width = max(GROW * self.width, seen.holding(self._enough()))
        self.base = None

    def is_too_long(self, point: Plane, M: np.ndarray) -> bool:
        """Whether a step leaves the region in which its model is trusted."""
        return bool(len(M)) and self._length(point, M) > TRUST * self.gauge.change(M) * self.width

    def expected_loss(self, model: Model, point: Plane, M: np.ndarray) -> float:
        """About how wrong a model is at its minimum, since rows beyond its width cross the margin.

        If all rows within the width are here, that is all there is. The margin of a row moves by s_i
        times the length ℓ of the step, like a normal variable N. With a density ρ of rows at a distance
        of δ s_i from the margin the model is wrong by ρ C s ℓ² g(δ/ℓ), where

            g(k) = ∫ E max(0, N − x) dx, from k to ∞, = ½ ((1 + k²) Φ(−k) − k φ(k)).
        """
        if not model.is_exact:
            return math.inf
        if not len(M):  # nothing is beyond an infinite width; of another nothing is known
            return 0.0 if self.width == math.inf else math.inf
        length = DOUBT * self._length(point, M) / self.gauge.change(M)
        if length == 0.0:
            return 0.0
        k = self.width / length
        normal = math.exp(-0.5 * k * k) / math.sqrt(2.0 * math.pi)
        tail = max(0.0, 0.5 * ((1.0 + k * k) * float(ndtr(-k)) - k * normal))
        density = model.seen.within(self.width) / self.width
        return density * model.pull_of_a_row() * length**2 * tail

    def go(self, model: Model, point: Plane, M: np.ndarray, most: int, held: bool) -> None:
        """Go to the next plane; the width follows from the length of the step."""
        seen = model.seen
        self.exact, factor = model.is_exact, 1.0
        if len(M):
            self.length, factor = self._length(point, M), self.gauge.change(M)
            self.gauge = gauge_of(M, model.side.pad)
        self.base, self.plane = self.plane, point
        self.tried = factor * self.width
        if self.width == math.inf:
            return
        shrink = 1.0 if held else SHRINK  # a step that was held back does not tell what is left
        width = min(max(VALID * self.length, shrink * self.tried), GROW * self.tried)
        width = max(width, min(self.tried, factor * seen.holding(self._enough())))
        full = factor * seen.holding(FILL * most * max(seen.inside, 1) / max(seen.distinct, 1)) / 2.0
        self.width = max(width, min(full, AMPLE * width))

    def _length(self, point: Plane, M: np.ndarray) -> float:
        step = np.append(point.w - self.plane.w, point.b - self.plane.b)
        return math.sqrt(max(float(step @ M @ step), 0.0) / len(M))

    def _enough(self) -> float:
        return float(ENOUGH * (len(self.plane.w) + 1))


def shorter(values: np.ndarray) -> float:
    """How far to go on the way: 1 if that is about as good as any."""
    k = int(np.argmin(values))
    enough = values[-1] - values[0] >= 0.5 * (values[-1] - values[k])
    return 1.0 if enough or values[0] <= values[k] * (1.0 + 1e-12) else TIMES[k]


ROUNDS = 60
LEASHES = 0.0, 0.1, 1.0, 10.0, 100.0  # shares of M that hold a step back
NEARBY = 0.125, 0.5  # parts of a step for which the one that was tried too stands
ROUGH = 1e-2  # a model is solved to this share of the gap
SURE = 0.2  # of the gap that is allowed: what a model may be wrong by at the end


def soft_margin_partitions_margin(
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
