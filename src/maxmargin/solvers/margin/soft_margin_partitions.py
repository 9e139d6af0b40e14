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
unit matrix. The next plane is better known, δ shrinks to what is still uncertain (:class:`TrustRegion`),
and in the end all rows near the margin are here, H = 0, and the model is exact.

Every round gives a true gap: the primal value of its plane, and the dual value of multipliers that are
within their bounds and balance. A step that is surely the last one is followed by the certificate.

With very many features no Hessian travels, nor is it ever formed. The rows nearest to the margin come
here as they are, sparse; all others keep their side. If all rows are here, this is the problem of one
machine, solved as there. Otherwise coordinate descent begins at the sum v₀ of the others, and so solves
the reduced problem; it works in the user's coordinates, where rows stay sparse (:func:`solve_wide`).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import ndtr

from maxmargin.kernels.margin import BALANCE, GAP
from maxmargin.rows import DenseRows
from maxmargin.solvers.margin.augmented_lagrangian import minimise
from maxmargin.solvers.margin.coordinate_descent import Descent
from maxmargin.solvers.margin.coordinates import Frame
from maxmargin.solvers.margin.dual_problem import DualProblem, square_lengths
from maxmargin.solvers.margin.questions import UNSCALED, Asking, BinaryTask, Given, Multipliers, Question
from maxmargin.solvers.margin.reduced_problem import Reduced
from maxmargin.solvers.margin.soft_margin import SETTINGS as SOFT
from maxmargin.solvers.margin.solve import solve_margins
from maxmargin.solvers.margin.summaries import (
    TIMES,
    Band,
    RowScales,
    Rule,
    Summary,
    SummaryRequest,
    factor,
    gathered_band,
    hessian,
    scales_for,
    sum_of_partitions,
    summary_of,
)
from maxmargin.solvers.margin.tasks import SETTINGS as TASKS
from maxmargin.solvers.margin.tasks import Budget, MarginPoint, Plane, Task, balanced, can_balance


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    max_newton_features: int = 3_000  # up to which a Hessian travels
    max_epochs: int = 500  # of coordinate descent, with very many features
    negligible_width: float = 1e-12  # of the widest: what a row without a width counts as
    max_rounds: int = 60
    dampings: tuple[float, ...] = (0.0, 0.1, 1.0, 10.0, 100.0)  # shares of M that hold a step back
    near_times: tuple[float, float] = (0.125, 0.5)  # parts of a step for which the shorter one stands
    rough_gap: float = 1e-2  # a model is solved to this share of the gap
    sure_share: float = 0.2  # of the gap that is allowed: what a model may be wrong by at the end
    max_shrinking: float = 0.1  # of the width from round to round
    max_growth: float = 4.0
    ample_width: float = 1.6  # so many times what seems enough, if there is room for the rows
    valid_width: float = 1.0  # against the length of the last step
    sent_shares: int = 2  # a partition may send so many times its share of the rows expected
    planned_share: float = 0.7  # of the rows that may come
    rows_per_feature: int = 3  # that a width has to hold
    max_step: float = 5.0  # on the rows that came, against the width
    shorter_step: float = 0.25  # a part of a step that is tried too
    step_doubt: float = 1.25  # scales come from a few directions: steps may be longer than they seem


SETTINGS = Settings()


def solve_wide(problem: Reduced, start: Plane, goal: float, deadline: float) -> tuple[Plane, np.ndarray]:
    """Return a plane, and α of the rows that came; all in the coordinates of their frame."""
    frame, scaling = problem.frame, problem.frame.scaling
    unit = scaling.scale**2
    if not problem.fixed:
        task = Task(frame.y, problem.C / unit)
        (alone,) = solve_margins(frame.rows, [task], frame.pad, goal, Budget(deadline=deadline))
        return Plane(*scaling.inside(alone.w, alone.b)), np.minimum(alone.alpha * unit, problem.C)
    dual_problem = DualProblem(
        frame.rows, frame.y, problem.C / unit, frame.pad, square_lengths(frame.rows)
    )
    alpha = 0.5 * dual_problem.C
    others = (scaling.scale * problem.v0 + problem.s0 * scaling.centre) / unit
    descent = Descent(dual_problem)
    descent.start(alpha, others + dual_problem.weighted_sum(alpha), scaling.outside(*start)[1])
    descent._state[BALANCE] += problem.s0 / unit
    for _ in range(SETTINGS.max_epochs):
        descent.epoch()
        dual = float(descent.alpha.sum()) + problem.fixed / unit - 0.5 * float(descent.w @ descent.w)
        if float(descent._state[GAP]) <= goal * abs(dual) or time.perf_counter() > deadline:
            break
    alpha = np.minimum(descent.alpha * unit, problem.C)
    w = problem.v0 + frame.weighted_sum(alpha)
    if frame.pad:
        alpha = balanced(alpha, frame.bias, problem.C, problem.s0)
    return Plane(w, scaling.inside(descent.w, descent.bias)[1]), alpha


class Model(NamedTuple):
    """Where it was made, z₀ and the widths; the summary there, and the rows that came."""

    task: BinaryTask
    plane: Plane
    row_scales: RowScales
    width: float
    summary: Summary
    band: Band | None

    @property
    def is_exact(self) -> bool:
        """Whether every row near the margin is here."""
        return not self.summary.unsent

    @property
    def can_balance(self) -> bool:
        """Whether the rows that came can make up for the multipliers of the others, and to spare."""
        if self.band is None:
            return False
        others = float(self.summary.alpha[0] - self.summary.alpha[1])
        return not self.task.pad or can_balance(self.band.frame.y, self.band.C, others)

    def metric(self) -> np.ndarray:
        """M = D + H, with the curvature of the rows that came; nothing where there is none to tell."""
        if self.width == math.inf or len(self.plane.w) > SETTINGS.max_newton_features:
            return np.empty((0, 0))
        M = self._unit(len(self.plane.w) + 1)
        if self.summary.curvature is not None:
            M = M + self.summary.curvature
        if self.band is not None:
            M = M + hessian(_rows(self.band), self._stiffness(self.band))
        if M[-1, -1] <= 0.0:
            M[-1, -1] = 1.0
        return M

    def minimum(self, damping: np.ndarray, goal: float, deadline: float) -> tuple[Plane, np.ndarray]:
        """The plane where it is least, and α of the rows that came; ``damping`` is added to H."""
        if self.is_exact and not damping.any():
            assert self.band is not None
            return self._reduced(self.band, goal, deadline)
        H, z0 = damping, np.append(self.plane.w, self.plane.b)
        if self.summary.curvature is not None:
            H = H + self.summary.curvature
        linear = self._linear()
        unit, L = factor(H + self._unit(len(H)))
        v0 = linalg.solve_triangular(L, (linear + H @ z0) / unit, lower=True)
        if self.band is None:
            z, alpha = v0, np.empty(0)
        else:
            fixed = self.summary.smooth + float(linear @ z0) + 0.5 * float(z0 @ H @ z0)
            A = linalg.solve_triangular(L, (_rows(self.band) / unit).T, lower=True).T
            rows = DenseRows(np.ascontiguousarray(A))
            frame = Frame(rows, self.band.frame.y, 0.0, UNSCALED, ready=True)
            problem = Reduced(frame, self.band.C, v0, 0.0, fixed, self._stiffness(self.band))
            begin = MarginPoint(L.T @ (unit * z0), 0.0, 0.5 * self.band.C, sigma=1.0)
            found = minimise(problem, begin, goal, deadline)
            z, alpha = found.w, found.alpha
        z = linalg.solve_triangular(L, z, lower=True, trans="T") / unit
        return Plane(z[:-1], float(z[-1]) * self.task.pad), alpha

    def _reduced(self, band: Band, goal: float, deadline: float) -> tuple[Plane, np.ndarray]:
        """Solve on the rows that came, all others fixed."""
        *v0, s0 = self._linear()
        fixed = float(self.summary.alpha.sum())
        stiffness = self._stiffness(band)
        problem = Reduced(band.frame, band.C, np.array(v0), float(s0), fixed, stiffness)
        begin = MarginPoint(self.plane.w, self.plane.b, 0.5 * band.C, sigma=1.0)
        if band.frame.d > SETTINGS.max_newton_features and not band.frame.ready:
            return solve_wide(problem, self.plane, goal, deadline)
        point = minimise(problem, begin, goal, deadline)
        return Plane(point.w, point.b), point.alpha

    def multipliers(self, alpha: np.ndarray, parts: int) -> tuple[Multipliers, float]:
        """α of all rows, the heavier class scaled down for balance, and their dual value."""
        sums, v = self.summary.alpha.copy(), self.summary.v.copy()
        plus = np.empty(0, bool)
        if self.band is not None:
            plus = self.band.frame.y > 0.0
            for k, mine in enumerate((plus, ~plus)):
                sums[k] += float(alpha[mine].sum())
                v[k] += self.band.frame.weighted_sum(np.where(mine, alpha, 0.0))
        factors = np.ones(2)
        if self.task.pad and abs(sums[0] - sums[1]) > TASKS.max_imbalance * float(sums.sum()):
            factors = np.array([float(sums.min()) / a if a > 0.0 else 0.0 for a in sums])
        total = factors @ v
        dual = float(factors @ sums) - 0.5 * float(total @ total)
        given: list[Given | None] = [None] * parts
        if self.band is not None:
            given = self.band.given(alpha / self.band.C * np.where(plus, *factors), parts)
        known = (
            self.is_exact and len(self.plane.w) <= SETTINGS.max_newton_features
        )  # every other row has a side
        rule = Rule(self.plane, 0.0 if known else self.width, self.row_scales, *factors.tolist())
        return Multipliers(rule, given), dual

    def mean_pull(self) -> float:
        """C_i s_i of the rows that came, in the mean: what the objective moves if a row does."""
        if self.band is None:
            return 0.0
        return float(np.mean(self.band.C * self.row_scales.of(self.band.frame)))

    def _linear(self) -> np.ndarray:
        """(v, s) of the rows that did not come."""
        alpha = self.summary.alpha
        return np.append(self.summary.v.sum(axis=0), self.task.pad * float(alpha[0] - alpha[1]))

    def _unit(self, size: int) -> np.ndarray:
        """D."""
        return np.diag(np.append(np.ones(size - 1), 1.0 - self.task.pad))

    def _stiffness(self, band: Band) -> np.ndarray:
        """C_i/2δ_i: multipliers from 0 to C_i over the width of each row."""
        scales = self.row_scales.of(band.frame)
        widths = self.width * scales
        if self.width == math.inf:
            widths = SOFT.first_width * scales / max(float(np.median(scales)), 1e-300)
        return np.asarray(
            band.C / (2.0 * np.maximum(widths, SETTINGS.negligible_width * float(widths.max())))
        )


def _rows(band: Band) -> np.ndarray:
    """(a_i, y_i) of the rows that came."""
    A = band.frame.take(np.arange(band.frame.n))
    return np.column_stack([A, band.frame.bias])


@dataclass
class TrustRegion:
    """Where a machine is: what it wants to know next, and how it came there."""

    plane: Plane
    row_scales: RowScales
    width: float
    base: Plane | None = None  # where the last step began
    length: float = 0.0  # of that step, by the scales
    tried: float = math.inf  # the width of the model that it came from
    exact: bool = False  # whether that model was exact
    doubtful: bool = False  # whether the last step was too long

    def wanted(self, parts: int, max_rows: int) -> SummaryRequest:
        """What partitions are asked."""
        step = None
        if self.base is not None:
            step = Plane(self.plane.w - self.base.w, self.plane.b - self.base.b)
        share = sys.maxsize if self.width == math.inf else -(-SETTINGS.sent_shares * max_rows // parts)
        return SummaryRequest(
            self.plane,
            step,
            self.width,
            self.row_scales,
            share,
            len(self.plane.w) <= SETTINGS.max_newton_features,
        )

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

    def shorter(self) -> TrustRegion | None:
        """Where to go on if the step is too long, after one that was: asked about in the same round."""
        if self.base is None or not self.doubtful:
            return None
        other = replace(self)
        other.retreat(SETTINGS.shorter_step)
        return other

    def widen(self, summary: Summary) -> None:
        """Summary again, and wider."""
        self.width = max(SETTINGS.max_growth * self.width, summary.holding(self._enough()))
        self.base = None

    def is_too_long(self, point: Plane, M: np.ndarray) -> bool:
        """Whether a step leaves the region in which its model is trusted."""
        if not len(M):
            return False
        return self._length(point, M) > SETTINGS.max_step * self.row_scales.change(M) * self.width

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
        length = SETTINGS.step_doubt * self._length(point, M) / self.row_scales.change(M)
        if length == 0.0:
            return 0.0
        k = self.width / length
        normal = math.exp(-0.5 * k * k) / math.sqrt(2.0 * math.pi)
        tail = max(0.0, 0.5 * ((1.0 + k * k) * float(ndtr(-k)) - k * normal))
        density = model.summary.within(self.width) / self.width
        return density * model.mean_pull() * length**2 * tail

    def advance(self, model: Model, point: Plane, M: np.ndarray, max_rows: int, damped: bool) -> None:
        """Go to the next plane; the width follows from the length of the step."""
        summary = model.summary
        self.exact, factor = model.is_exact, 1.0
        if len(M):
            self.length, factor = self._length(point, M), self.row_scales.change(M)
            self.row_scales = scales_for(M, model.task.pad)
        self.base, self.plane = self.plane, point
        self.tried = factor * self.width
        if self.width == math.inf:
            return
        # A damped step does not tell what is left.
        shrink = 1.0 if damped else SETTINGS.max_shrinking
        width = max(SETTINGS.valid_width * self.length, shrink * self.tried)
        width = min(width, SETTINGS.max_growth * self.tried)
        width = max(width, min(self.tried, factor * summary.holding(self._enough())))
        planned = SETTINGS.planned_share * max_rows * max(summary.inside, 1) / max(summary.distinct, 1)
        full = factor * summary.holding(planned) / 2.0
        self.width = max(width, min(full, SETTINGS.ample_width * width))

    def _length(self, point: Plane, M: np.ndarray) -> float:
        step = np.append(point.w - self.plane.w, point.b - self.plane.b)
        return math.sqrt(max(float(step @ M @ step), 0.0) / len(M))

    def _enough(self) -> float:
        return float(SETTINGS.rows_per_feature * (len(self.plane.w) + 1))


def best_time(values: np.ndarray) -> float:
    """How far to go on the way: 1 if that is about as good as any."""
    k = int(np.argmin(values))
    enough = values[-1] - values[0] >= 0.5 * (values[-1] - values[k])
    return 1.0 if enough or values[0] <= values[k] * (1.0 + 1e-12) else TIMES[k]


class Closing(NamedTuple):
    """The round of the certificate, for a point that is likely the last one."""

    question: Callable[[BinaryTask, MarginPoint], Question]
    values: Callable[[BinaryTask, MarginPoint, list[Any]], tuple[float, float]]  # primal and dual


def soft_margin_partitions(
    task: BinaryTask,
    region: TrustRegion,
    parts: int,
    max_rows: int,
    rounds: int,
    tol: float,
    budget: Budget,
    closing: Closing | None = None,
) -> Asking[MarginPoint]:
    """Solve one machine; about ``max_rows`` rows come here in a round, and ``rounds`` have been made."""
    best = MarginPoint(*region.plane, Multipliers(None, [None] * parts), passes=rounds)
    for _ in range(SETTINGS.max_rounds):
        shorter = region.shorter()
        wanted = [one.wanted(parts, max_rows) for one in (region, shorter) if one is not None]
        answers = yield Question(summary_of, (wanted,), range(parts), sum_of_partitions)
        summary, *other = sum_of_partitions(answers)
        best = replace(best, passes=best.passes + 1)
        planes = region.planes()
        values = [0.5 * float(p.w @ p.w) for p in planes] + summary.hinge[: len(planes)]
        for plane, value in zip(planes, values.tolist(), strict=True):
            best = best.with_plane(plane, value)
        if budget.ended(best) or best.gap <= tol:
            break
        t = best_time(values)
        if t < 1.0:
            if t == 0.0 and len(region.plane.w) > SETTINGS.max_newton_features:
                break  # more rows are near the margin than may come, and no Hessian speaks for them
            if shorter is None or not SETTINGS.near_times[0] <= t <= SETTINGS.near_times[1]:
                region.retreat(t)
                continue
            region, summary = shorter, other[0]
        elif region.base is not None:
            region.doubtful = False
        band = gathered_band(summary.rows, task)
        model = Model(task, region.plane, region.row_scales, region.width, summary, band)
        if model.is_exact and not model.can_balance:
            region.widen(summary)
            continue
        M = model.metric()
        best, point, damped = _minimised(region, model, M, best, parts, tol, budget)
        if best.gap <= tol:
            break
        sure = (
            not damped
            and region.expected_loss(model, point, M) <= SETTINGS.sure_share * tol * best.primal
        )
        if sure and closing is not None:
            last = replace(best, w=point.w, b=point.b)
            proof = yield closing.question(task, last)
            primal, dual = closing.values(task, last, proof)
            best = replace(best, passes=best.passes + 1)
            last = replace(last, passes=best.passes, primal=primal, dual=dual, proof=proof)
            if last.gap <= tol:
                return last
            best = best.with_plane(point, primal)
        region.advance(model, point, M, max_rows, damped)
    return best


def _minimised(
    region: TrustRegion,
    model: Model,
    M: np.ndarray,
    best: MarginPoint,
    parts: int,
    tol: float,
    budget: Budget,
) -> tuple[MarginPoint, Plane, bool]:
    """The best point with the minimum of a model, the plane there, and whether it was damped."""
    for damping in SETTINGS.dampings:
        goal = 0.1 * tol
        if damping or not model.is_exact:
            goal = max(goal, SETTINGS.rough_gap * min(best.gap, 0.1))
        point, alpha = model.minimum(damping * M, goal, budget.deadline)
        best = best.with_multipliers(*model.multipliers(alpha, parts))
        if best.gap <= tol or not model.is_exact or not region.is_too_long(point, M):
            break
    return best, point, damping > 0.0
