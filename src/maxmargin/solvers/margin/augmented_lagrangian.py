"""The method of multipliers with Newton steps: the small problems inside both margin machines.

The problem, on rows a_i with m_i = a_i·w + y_i b and r_i = 1 − m_i,

    minimise  ½‖w‖² − v₀·w − s₀ b + Σ C_i max(0, r_i),                    C_i = ∞: r_i ≤ 0 must hold,

where v₀ = Σ α_j a_j and s₀ = Σ α_j y_j stand for rows left out, whose multipliers are fixed at 0 or C.

Each round has multipliers a and stiffnesses σ_i = σ C_i (hard margin: σ), and minimises the augmented
Lagrangian

    ½‖w‖² − v₀·w − s₀ b + Σ max_{0 ≤ α ≤ C_i} (α r_i − (α − a_i)²/2σ_i),  at α = clip(a_i + σ_i r_i),

a smooth, convex, piecewise quadratic function, by Newton steps with an exact line search; only the rows
strictly between the bounds, the *band*, have curvature. Then a ← α and σ ← 10 σ. The multipliers make
the method exact at finite σ (Rockafellar 1976): there is no smoothing left to remove, and once the band
is the free support the next round ends at the optimum. For support vector machines see Yan and Li
(2020).

A round need not be solved exactly: it ends when the Newton decrement is small against Σ (α_i − a_i)²/σ_i
(Rockafellar's criterion B).

A Newton step on the band B solves (D + Zᵀ Σ Z) (Δw, Δb) = −g with Σ = diag(σ_i) and the rows Z of
(a_i, y_i). *Primal*, for more rows than features: Cholesky of this matrix of order d + 1. *Gram*, for
fewer: with u = Σ Z (Δw, Δb) it becomes Δw = −g_w − Aᵀu, (A Aᵀ + Σ⁻¹) u = −A g_w + y Δb and y·u = −g_b;
but where features differ much in scale, the small ones drown in A Aᵀ, and a hard margin would feel it.
*Conjugate gradients*, where both are too large to be factorised.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.sparse.linalg import LinearOperator, cg

from maxmargin.kernels.margin import clip_multipliers, slope
from maxmargin.solvers.margin.coordinates import SETTINGS as COORDINATES
from maxmargin.solvers.margin.coordinates import Frame, NotFiniteError, inner_products
from maxmargin.solvers.margin.reduced_problem import (
    FIRST_RIDGE,
    MAX_ORDER,
    MAX_RIDGE,
    Reduced,
    cholesky,
    finish,
    normal_matrix,
)
from maxmargin.solvers.margin.tasks import MarginPoint, one_thread


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    stiffness_growth: float = 10.0  # factor on σ after each round
    max_stiffness: float = 1e12  # of a soft margin, against 1/‖a_i‖²
    max_rounds: int = 60
    max_steps_in_round: int = 60
    inexactness: float = 0.1  # Rockafellar's criterion: decrement ≤ this · Σ (α_i − a_i)²/σ_i
    max_imbalance: float = 1e-11  # |Σ α_i y_i| against Σ α_i at which a point counts as balanced
    rounding_decrement: float = 1e-17  # against ‖w‖² or Σ α_i: lost in rounding
    gap_to_finish: float = 0.5  # from which on the band may be the free support
    max_stalled_rounds: int = 4  # without a better gap
    # Of the hard margin: its dual value may rise by a few per cent a round.
    max_stalled_hard_rounds: int = 10
    one_thread_entries: int = 1 << 24  # that one thread handles as fast as two, which wait
    min_product_features: int = 200  # from which on inner products are kept from step to step


SETTINGS = Settings()


def direction(
    problem: Reduced, band: np.ndarray, sigma: np.ndarray, gw: np.ndarray, gb: float
) -> tuple[np.ndarray, float]:
    """Return (Δw, Δb) for a band that is not empty."""
    frame = problem.frame
    if min(len(band), frame.d) > MAX_ORDER:
        return _conjugate_gradients(frame, band, sigma, gw, gb)
    squares_lose = problem.hard and frame.scaling.uneven and frame.d <= MAX_ORDER
    if len(band) <= frame.d and not squares_lose:
        return _gram(frame, band, sigma, gw, gb)
    return _primal(frame, band, sigma, gw, gb)


def _primal(
    frame: Frame, band: np.ndarray, sigma: np.ndarray, gw: np.ndarray, gb: float
) -> tuple[np.ndarray, float]:
    step = _solve(normal_matrix(frame, band, sigma), np.append(-gw, -gb))
    return step[:-1], float(step[-1])


def _gram(
    frame: Frame, band: np.ndarray, sigma: np.ndarray, gw: np.ndarray, gb: float
) -> tuple[np.ndarray, float]:
    y = frame.bias[band]
    if len(band) * frame.d > COORDINATES.max_densified_entries:  # sparse rows, never made dense
        part = frame.restricted(band)
        K = inner_products(part) * part.y * part.y[:, None]
        along, back = part.margins(gw, 0.0), part.weighted_sum
    else:
        A = frame.take(band)
        kept = frame.d >= SETTINGS.min_product_features
        K = frame.products.among(band, A) if kept else A @ A.T
        along, back = A @ gw, partial(np.matmul, A.T)
    K.flat[:: len(K) + 1] += 1.0 / sigma
    P = _solve(K, np.column_stack([along, y]))
    db = float((y @ P[:, 0] - gb) / (y @ P[:, 1])) if frame.pad else 0.0
    return -gw + back(P[:, 0] - P[:, 1] * db), db


def _solve(M: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve with a positive definite matrix; if rounding made it indefinite, with a ridge."""
    diagonal = M.diagonal().copy()
    _, x, failed = dposv(M.T, right, overwrite_a=1)  # in place: the transpose is in LAPACK's order
    if not failed:
        return np.asarray(x)
    upper = np.triu(M, 1)  # what LAPACK has left
    M, ridge, solve = upper + upper.T, FIRST_RIDGE, None
    while solve is None and ridge <= MAX_RIDGE:
        M.flat[:: len(M) + 1] = diagonal
        solve, ridge = cholesky(M.copy(), ridge), 10.0 * ridge
    if solve is None:
        raise np.linalg.LinAlgError
    return solve(right)


def _conjugate_gradients(
    frame: Frame, band: np.ndarray, sigma: np.ndarray, gw: np.ndarray, gb: float
) -> tuple[np.ndarray, float]:
    part = frame.restricted(band)
    d = frame.d

    def product(z: np.ndarray) -> np.ndarray:
        u = sigma * part.margins(z[:d], float(z[d]))
        tail = float(part.bias @ u) if frame.pad else float(z[d])
        return np.append(z[:d] + part.weighted_sum(u), tail)

    H = LinearOperator((d + 1, d + 1), matvec=product, dtype=np.float64)
    g = np.append(-gw, -gb)
    step, _ = cg(H, g, rtol=1e-3, maxiter=200)
    return step[:d], float(step[d])


def minimise(
    problem: Reduced,
    start: MarginPoint,
    tol: float,
    deadline: float = math.inf,
    max_steps: int | None = None,
) -> MarginPoint:
    """Go on from ``start`` until the relative gap is at most ``tol``, or rounding ends the progress.

    A hard margin also ends when the hulls of the two classes meet. With ``max_steps`` it ends after so
    many Newton steps.
    """
    hard, size, waited = problem.hard, problem.frame.n * problem.frame.d, 0
    patience = SETTINGS.max_stalled_hard_rounds if hard else SETTINGS.max_stalled_rounds
    with one_thread(size <= SETTINGS.one_thread_entries):
        run = _Run(problem, start, max_steps)
        best = start
        for _ in range(SETTINGS.max_rounds):
            if run.steps >= run.most_steps:
                break
            try:
                run.round(deadline)
            except np.linalg.LinAlgError:  # a matrix of numbers too large: what was found before stands
                break
            now = run.point()
            if tol < now.gap and (hard or now.gap < SETTINGS.gap_to_finish):
                run.reads += 2
                finished = finish(problem, run.inside, MarginPoint(run.w, run.b, run.alpha, run.v))
                if finished is not None and finished.gap < now.gap:
                    now = finished
            before, best = best, best.joined(now)
            better = best.gap < 0.7 * before.gap or (hard and best.dual > 1.1 * before.dual)
            waited = 0 if better or math.isinf(best.gap) else waited + 1
            late = time.perf_counter() > deadline
            if best.meets or best.gap <= tol or waited == patience or late:
                break
            run.tighten()
    return replace(best, sigma=run.sigma, steps=run.steps, passes=run.reads)


class _Run:
    """The variables of the method of multipliers."""

    def __init__(self, problem: Reduced, start: MarginPoint, max_steps: int | None = None) -> None:
        self.problem, self.frame = problem, problem.frame
        self.unit = np.ones(self.frame.n) if problem.hard else problem.C
        if problem.unit is not None:
            self.unit = problem.unit
        self.alpha = np.empty(self.frame.n)
        self.band = np.empty(self.frame.n, dtype=np.int64)
        self.most_steps = max_steps or SETTINGS.max_rounds * SETTINGS.max_steps_in_round
        self.stiffest = math.inf if problem.hard else SETTINGS.max_stiffness / self.frame.mean_square
        self.w, self.b, self.sigma = start.w, start.b, start.sigma
        self.stiff = np.minimum(self.sigma * self.unit, self.stiffest)
        self.centre = start.alpha  # the multipliers a of this round
        self.m = self.frame.margins(self.w, self.b)
        if not np.isfinite(self.m.sum()):
            raise NotFiniteError
        self.steps, self.reads = 0, 1
        if self.frame.d >= SETTINGS.min_product_features:  # inner products are kept
            self.frame.products.clear()
        self.v, self._alpha_of_v = problem.v0, np.empty(0)  # v, and the multipliers it belongs to
        self._clip()
        self._update_v(afresh=True)

    def _clip(self) -> None:
        inside = clip_multipliers(self.m, self.centre, self.problem.C, self.stiff, self.alpha, self.band)
        self.inside = self.band[:inside]

    def _update_v(self, afresh: bool = False) -> None:
        """Set v = v₀ + Σ α_i a_i and s = s₀ + Σ α_i y_i; from the rows whose α_i changed, if few did."""
        self.s = self.problem.s0 + float(self.alpha @ self.frame.bias)
        if not afresh:
            change = self.alpha - self._alpha_of_v
            some = change.nonzero()[0]
            if 3 * len(some) <= self.frame.n:
                self.v = self.v + self.frame.weighted_sum_of(some, change[some])
                self._alpha_of_v[some] = self.alpha[some]
                return
        self.v = self.problem.v0 + self.frame.weighted_sum(self.alpha)
        self._alpha_of_v = self.alpha.copy()
        self.reads += 1

    def tighten(self) -> None:
        """Begin the next round: a ← α, σ ← 10 σ."""
        self.centre, self.alpha = self.alpha, self.centre.copy()
        self.sigma *= SETTINGS.stiffness_growth
        self.stiff = np.minimum(self.sigma * self.unit, self.stiffest)
        self._clip()
        self._update_v()

    def round(self, deadline: float) -> None:
        """Minimise the augmented Lagrangian by Newton steps."""
        for _ in range(min(SETTINGS.max_steps_in_round, self.most_steps - self.steps)):
            decrement = self._step()
            move = self.alpha - self.centre
            length = float(move @ (move / np.maximum(self.stiff, 1e-300)))
            enough = decrement <= SETTINGS.inexactness * length
            value = max(float(self.w @ self.w), float(self.alpha.sum()))
            rounding = decrement <= SETTINGS.rounding_decrement * value
            if (enough and self._balanced()) or rounding or time.perf_counter() > deadline:
                break
        self._update_v(afresh=True)

    def _balanced(self) -> bool:
        """Whether Σ α_i y_i = 0, up to a share of Σ α_i that a later correction takes away."""
        level = SETTINGS.max_imbalance * (float(self.alpha.sum()) + self.problem.fixed)
        return not self.frame.pad or abs(self.s) <= level

    def _step(self) -> float:
        """One Newton step; returns the Newton decrement before it."""
        gw, gb = self.w - self.v, -self.s * self.frame.pad
        if len(self.inside):
            sigma, some = self.stiff[self.inside], self.inside
            dw, db = direction(self.problem, some, sigma, gw, gb)
        elif not (self._balanced() or abs(self.s) <= SETTINGS.max_imbalance * self.centre.sum()):
            dw, db = np.zeros_like(gw), -gb  # what is missing in the balance is more than rounding
        else:
            dw, db = -gw, 0.0
        decrement = -float(gw @ dw + gb * db)
        if not decrement > 0.0:
            return 0.0
        u = self.frame.margins(dw, db)
        t = self._search(u, dw, db, decrement)
        self.w = self.w + t * dw
        self.b += t * db
        self.m += t * u
        self.steps += 1
        self.reads += 1
        self._clip()
        self._update_v()
        return decrement if len(self.inside) else math.inf

    def _search(self, u: np.ndarray, dw: np.ndarray, db: float, descent: float) -> float:
        """Find where the slope along the direction is zero, to a tenth of its value at the start."""
        p = self.problem
        constant = float((self.w - p.v0) @ dw) - p.s0 * self.frame.pad * db
        quadratic = float(dw @ dw)
        low, high, t = 0.0, math.inf, 1.0
        for _ in range(100):
            hinges, curvature = slope(t, self.m, u, self.centre, p.C, self.stiff)
            rise = constant + t * quadratic - hinges
            if abs(rise) <= 0.1 * descent:
                break
            low, high = (t, high) if rise < 0 else (low, t)
            bend = quadratic + curvature
            t = t - rise / bend if bend > 0 else math.inf
            if not low < t < high:
                t = 0.5 * (low + high) if high < math.inf else 4.0 * low
        return t

    def point(self) -> MarginPoint:
        """The point reached, with its gap."""
        return self.problem.worth(self.w, self.b, self.m, self.alpha.copy(), self.v)
