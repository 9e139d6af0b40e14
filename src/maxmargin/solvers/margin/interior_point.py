"""The soft margin by an interior-point method: it needs no start, and C and units hardly matter to it.

The problem, on rows a_i with margins m_i = a_i·w + y_i b; v₀ and s₀ stand for rows that are left out:

    minimise  ½‖w‖² − v₀·w − s₀ b + Σ C_i ξ_i     subject to   m_i + ξ_i − s_i = 1,   s_i, ξ_i ≥ 0.

With β_i = C_i − α_i the optimality conditions are w = v₀ + Σ α_i a_i, s₀ + Σ α_i y_i = 0, α_i s_i = 0
and β_i ξ_i = 0. Newton's method solves them with both products equal to a μ > 0 that falls to zero,
while α, β, s and ξ stay positive (predictor and corrector of Mehrotra 1992; for support vector machines
Ferris and Munson 2002; further correctors with the same factor, Gondzio 1996). A step is one linear
system with the weights θ_i = 1/(s_i/α_i + ξ_i/β_i),

    (D + Zᵀ Θ Z) (Δw, Δb) = …,     Z the rows (a_i, y_i),     D = diag(1, …, 1, 0),

of order d + 1, or where there are fewer rows than features K + Θ⁻¹ with K = A Aᵀ, of order n.

It takes ten to thirty steps from α = C/2, or from multipliers far below C where that is very large. The
method of multipliers is quicker where there is a solution nearby to go on from; where there is none, or
it stalls, this one is used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.solvers.margin.coordinates import Frame, inner_products
from maxmargin.solvers.margin.reduced_problem import (
    FIRST_RIDGE,
    MAX_RIDGE,
    Reduced,
    cholesky,
    finish,
    normal_matrix,
)
from maxmargin.solvers.margin.tasks import MarginPoint, excess_of, one_thread, scaled_up


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    # How large s and ξ are at first, against 1 or ‖a_i‖ over its median, and how many steps are taken
    # from there. Rows of very different length need room: curves on levels from 1 to 1e5 take more than
    # a hundred steps from 10, and thirty from 1e4.
    starts: tuple[tuple[float, int], ...] = ((10.0, 60), (1e4, 60), (1e7, 100))
    max_steps_without_progress: int = 12  # the gap may rise for a few steps at the beginning
    step_to_boundary: float = 0.995  # share of the way to the nearest bound that a step may go
    # Where factors cost much more than products with them, each is used for further corrections; they
    # save one step in six.
    min_order_to_correct: int = 200
    correctors: int = 2
    long_step: float = 0.9  # that needs none
    least_gain: float = 0.02  # of the length of a step, without which there is no further one
    likely_multiple: float = 1e7  # of the multipliers of the class means, to begin with
    min_excess: float = 1e8  # of C above these: below it α = C/2 takes no more than twenty steps
    gap_to_finish: float = 1e-3  # from which on the free rows may be known
    one_thread_entries: int = 1 << 22  # of products that one thread does as fast as two
    max_order_of_one_thread: int = 1_000  # of a matrix that one thread factorises nearly as fast as two


SETTINGS = Settings()
ATTEMPTS = len(SETTINGS.starts)
Step = tuple[np.ndarray, float, np.ndarray]  # of w, b and α
Factor = Callable[[np.ndarray, float, np.ndarray], Step]  # from the right-hand sides r_w, r_b and q


def interior_point(
    problem: Reduced, tol: float, goal: float = 1.0, deadline: float = math.inf, attempt: int = 0
) -> MarginPoint:
    """Return a point whose relative gap is at most ``tol``, or the best one where progress ended.

    Where that is above ``goal``, the free rows are solved for exactly, if they are known. A second and
    third ``attempt`` begin further inside and solve for each step more carefully.
    """
    frame = problem.frame
    spread, max_steps = SETTINGS.starts[attempt]
    order = min(frame.n, frame.d)
    small = order <= SETTINGS.max_order_of_one_thread and frame.n * order <= SETTINGS.one_thread_entries
    with one_thread(small):
        run = _Run(problem, np.sqrt(_squares(frame)), spread, refinements=attempt)
        return run.to_gap(tol, min(goal, tol), deadline, max_steps)


def likely_multipliers(problem: Reduced) -> np.ndarray | None:
    """Multipliers to begin with where C is far above any that the optimum likely has; else None.

    The plane between the class means has α_i = t/n₊ or t/n₋ with t = 2/‖mean₊ − mean₋‖². With no more
    rows than features, so that a plane separates them as a rule, the optimum has 1 to 1e9 times as much,
    whatever C is. From there it takes some ten steps, from α = C/2 up to fifty.
    """
    frame, settings = problem.frame, SETTINGS
    if frame.n > frame.d:
        return None
    positive = frame.y > 0.0
    sizes = np.where(positive, np.count_nonzero(positive), np.count_nonzero(~positive))
    v = frame.weighted_sum(1.0 / sizes)
    length = float(v @ v)
    if not length > 0.0:
        return None
    likely = settings.likely_multiple * 2.0 / (length * sizes)
    return likely if np.all(settings.min_excess * likely < problem.C) else None


class _Run:
    """The variables of the interior-point method, all of them positive but for w and b."""

    def __init__(self, problem: Reduced, lengths: np.ndarray, spread: float, refinements: int) -> None:
        self.problem, self.frame, self.y = problem, problem.frame, problem.frame.bias
        self.w, self.b = np.zeros(self.frame.d), 0.0
        self.alpha, self.beta = 0.5 * problem.C, 0.5 * problem.C
        self.s = spread * np.maximum(1.0, lengths / (float(np.median(lengths)) or 1.0))
        self.xi = 1.0 + self.s
        likely = likely_multipliers(problem)
        if refinements == 0 and likely is not None:
            self.alpha, self.beta = likely, problem.C - likely
            self.xi = self.alpha * self.s / self.beta
        self.size = float(np.mean(lengths**2)) or 1.0
        self.refinements = refinements  # times that a step is mended by solving for what it misses
        corrects = min(self.frame.n, self.frame.d) >= SETTINGS.min_order_to_correct
        self.correctors = SETTINGS.correctors if corrects else 0
        self.ridge = 0.0
        self.reads = 1

    def to_gap(self, tol: float, goal: float, deadline: float, max_steps: int) -> MarginPoint:
        """Take steps until the gap is small enough, or there is no progress any more."""
        p, settings = self.problem, SETTINGS
        best, waited = MarginPoint(np.zeros(p.frame.d), 0.0, np.zeros(p.frame.n), p.v0), 0
        steps = 0
        while steps < max_steps:
            self.m = self.frame.margins(self.w, self.b)
            self.v = p.v0 + self.frame.weighted_sum(self.alpha)
            self.reads += 2
            now = self._iterate()
            if not math.isfinite(now.primal):
                break
            before, best = best.gap, best.joined(now)
            waited = 0 if best.gap < 0.9 * before or math.isinf(best.gap) else waited + 1
            late = time.perf_counter() > deadline
            if best.gap <= tol and (ended := self._at_bounds(best)).gap <= tol:
                best = ended
                break
            if waited == settings.max_steps_without_progress or late or not self._step():
                break
            steps += 1
        if goal < best.gap < settings.gap_to_finish and (finished := self._finished()) is not None:
            best = best.joined(finished)
        return replace(best, steps=steps, passes=self.reads)

    def _step(self) -> bool:
        """One step of predictor and corrector; False if it leads nowhere."""
        mu = (self.alpha @ self.s + self.beta @ self.xi) / (2 * len(self.m))
        factor = self._factorise()
        if factor is None:
            return False
        predictor = self._direction(factor, -self.alpha * self.s, -self.beta * self.xi)
        _, _, da, ds, dxi = predictor
        t = self._longest(da, ds, dxi)
        after = (self.alpha + t * da) @ (self.s + t * ds) + (self.beta - t * da) @ (self.xi + t * dxi)
        aim = float(mu * (after / (2 * len(self.m)) / mu) ** 3)  # Mehrotra's choice
        to_alpha, to_beta = aim - self.alpha * self.s - da * ds, aim - self.beta * self.xi + da * dxi
        step = self._direction(factor, to_alpha, to_beta)
        longest = self._longest(*step[2:])
        for _ in range(self.correctors):
            if longest > SETTINGS.long_step:
                break
            off_alpha, off_beta = self._off_centre(step[2:], min(1.0, 2.0 * longest + 0.1), aim)
            to_alpha, to_beta = to_alpha + off_alpha, to_beta + off_beta
            corrected = self._direction(factor, to_alpha, to_beta)
            longer = self._longest(*corrected[2:])
            if longer < longest + SETTINGS.least_gain:
                break
            step, longest = corrected, longer
        dw, db, da, ds, dxi = step
        t = min(1.0, SETTINGS.step_to_boundary * longest)
        if not (t > 0.0 and math.isfinite(float(da @ da))):
            return False
        self.w, self.b = self.w + t * dw, self.b + t * db
        for variable, change in ((self.alpha, da), (self.beta, -da), (self.s, ds), (self.xi, dxi)):
            variable += t * change
            np.maximum(variable, 1e-300, out=variable)
        return True

    def _off_centre(
        self, changes: tuple[np.ndarray, np.ndarray, np.ndarray], t: float, aim: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """What brings α s and β ξ within a factor of ten of ``aim`` after a step of length t."""
        da, ds, dxi = changes
        products = (self.alpha + t * da) * (self.s + t * ds), (self.beta - t * da) * (self.xi + t * dxi)
        low, high = np.clip(products, 0.1 * aim, 10.0 * aim) - products
        return np.maximum(low, -10.0 * aim), np.maximum(high, -10.0 * aim)

    def _factorise(self) -> Factor | None:
        """Factorise with the smallest ridge that lets it; a little ridge only makes steps less exact."""
        theta = 1.0 / (self.s / self.alpha + self.xi / self.beta)
        factorise = _by_rows if self.frame.n <= self.frame.d else _by_features
        while self.ridge <= MAX_RIDGE:
            factor = factorise(self.frame, theta, self.ridge)
            self.reads += 1
            if factor is not None:
                return factor
            self.ridge = max(10.0 * self.ridge, FIRST_RIDGE)
        return None

    def _direction(
        self, factor: Factor, to_alpha: np.ndarray, to_beta: np.ndarray
    ) -> tuple[np.ndarray, float, np.ndarray, np.ndarray, np.ndarray]:
        """The Newton step with s Δα + α Δs = to_alpha and β Δξ − ξ Δα = to_beta.

        Without Δs and Δξ it is Δw − Σ Δα_i a_i = r_w, Σ Δα_i y_i = r_b and
        a_i·Δw + y_i Δb + Δα_i/θ_i = q_i.
        """
        rw, rb = self.v - self.w, -(self.problem.s0 + float(self.y @ self.alpha))
        q = 1.0 - self.m - self.xi + self.s - to_beta / self.beta + to_alpha / self.alpha
        inverse = self.s / self.alpha + self.xi / self.beta
        dw, db, da = factor(rw, rb, q)
        for _ in range(self.refinements):
            missing = rw - dw + self.frame.weighted_sum(da), rb - float(self.y @ da)
            more = factor(*missing, q - self.frame.margins(dw, db) - inverse * da)
            dw, db, da = dw + more[0], db + more[1], da + more[2]
        self.reads += 2 + 4 * self.refinements
        return dw, db, da, (to_alpha - self.s * da) / self.alpha, (to_beta + self.xi * da) / self.beta

    def _longest(self, da: np.ndarray, ds: np.ndarray, dxi: np.ndarray) -> float:
        """The longest step, at most 1, that keeps everything positive."""
        pairs = (self.alpha, da), (self.beta, -da), (self.s, ds), (self.xi, dxi)
        fastest = max(float(np.max(-change / variable)) for variable, change in pairs)
        return 1.0 if fastest <= 1.0 else 1.0 / fastest

    def _iterate(self) -> MarginPoint:
        """The point reached, with its gap, which counts about what a lost balance costs."""
        p, alpha = self.problem, self.alpha
        excess = abs(excess_of(alpha, self.y, p.s0))
        cost = excess * (1.0 + abs(self.b) + 0.5 * excess * self.size)
        dual = float(alpha.sum()) + p.fixed - 0.5 * float(self.v @ self.v) - cost
        linear = float(p.v0 @ self.w) + p.s0 * self.b
        primal, t = scaled_up(float(self.w @ self.w), linear, self.m, p.C)
        w, b, primal = t * self.w, t * self.b, primal + p.fixed
        return MarginPoint(w, b, alpha.copy(), self.v, primal=primal, dual=dual)

    def _sides(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which multipliers tend to 0, which to C, and all of them with these at their bounds."""
        low, high = self.alpha * self.size < self.s, self.beta * self.size < self.xi
        return low, high, np.where(low, 0.0, np.where(high, self.problem.C, self.alpha))

    def _at_bounds(self, best: MarginPoint) -> MarginPoint:
        """The best plane, and the multipliers at their bounds that tend to them."""
        p, alpha = self.problem, self._sides()[2]
        self.reads += 2
        v, m = p.v0 + p.frame.weighted_sum(alpha), p.frame.margins(best.w, best.b)
        return p.worth(best.w, best.b, m, alpha, v)

    def _finished(self) -> MarginPoint | None:
        """The conditions of the free rows solved exactly, if they are what they seem to be."""
        p = self.problem
        low, high, alpha = self._sides()
        reached = MarginPoint(self.w, self.b, alpha, p.v0 + p.frame.weighted_sum(alpha))
        self.reads += 3
        return finish(p, np.flatnonzero(~low & ~high), reached)


def _by_features(frame: Frame, theta: np.ndarray, ridge: float) -> Factor | None:
    """Steps by the matrix D + Zᵀ Θ Z of order d + 1."""
    d = frame.d
    solve = cholesky(normal_matrix(frame, np.arange(frame.n), theta), ridge)
    if solve is None:
        return None

    def factor(rw: np.ndarray, rb: float, q: np.ndarray) -> Step:
        u = theta * q
        tail = float(frame.bias @ u) - rb if frame.pad else 0.0
        z = solve(np.append(rw + frame.weighted_sum(u), tail))
        dw, db = z[:d], float(z[d])
        return dw, db, theta * (q - frame.margins(dw, db))

    return factor


def _by_rows(frame: Frame, theta: np.ndarray, ridge: float) -> Factor | None:
    """Steps by the matrix K + Θ⁻¹ of order n, K the inner products of the rows."""
    n, y = frame.n, frame.bias
    if "inner_products" not in frame.shared:
        frame.shared["inner_products"] = inner_products(frame)
    M = frame.shared["inner_products"] * (frame.y * frame.y[:, None])
    M.flat[:: n + 1] += 1.0 / theta
    solve = cholesky(M, ridge)
    if solve is None:
        return None
    towards = solve(y)

    def factor(rw: np.ndarray, rb: float, q: np.ndarray) -> Step:
        da = solve(q - frame.margins(rw, 0.0))
        db = float((y @ da - rb) / (y @ towards)) if frame.pad else 0.0
        da -= db * towards
        return rw + frame.weighted_sum(da), db, da

    return factor


def _squares(frame: Frame) -> np.ndarray:
    """‖a_i‖² of all rows."""
    squares = np.empty(frame.n)
    for start in range(0, frame.n, frame.chunk):
        A = frame.take(np.arange(start, min(start + frame.chunk, frame.n)))
        squares[start : start + len(A)] = np.einsum("ij,ij->i", A, A)
    return squares
