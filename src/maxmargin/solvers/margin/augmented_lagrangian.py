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

The problem on the rows at hand, and a point of it: weights and multipliers.

One Newton direction of the method of multipliers: three ways to the same vector.

With B the band and Z the rows (a_i, y_i) of it, the direction solves

    (D + Zᵀ Σ Z) (Δw, Δb) = −g,      D = diag(1, …, 1, 0),      Σ = diag(σ_i).

*Primal*, for more rows than features: Cholesky of this matrix of order d + 1. *Gram*, for fewer: with
u = Σ Z (Δw, Δb) it becomes Δw = −g_w − Aᵀu, (A Aᵀ + Σ⁻¹) u = −A g_w + y Δb and y·u = −g_b; but if the
features differ much in scale, the small ones would drown in A Aᵀ. *Conjugate gradients*, where both are
too large to be factorised.
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
from maxmargin.rows import Rows
from maxmargin.solvers.margin.coordinates import SETTINGS as COORDINATES
from maxmargin.solvers.margin.coordinates import Frame, NotFiniteError, inner_products
from maxmargin.solvers.margin.kkt_finish import Reached, finish
from maxmargin.solvers.margin.tasks import (
    as_good_a_bound,
    as_good_a_plane,
    balanced,
    one_thread,
    relative_gap,
    scaled_up,
    to_scale,
)


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    stiffness_growth: float = 10.0  # factor on σ after each round
    max_stiffness: float = 1e12  # of a soft margin, against 1/‖a_i‖²
    max_rounds: int = 60
    max_steps_in_round: int = 60
    early_steps: int = 40  # where steps are limited: so many, unless the gap is then less than
    early_gap: float = 0.1
    inexactness: float = 0.1  # Rockafellar's criterion: decrement ≤ this · Σ (α_i − a_i)²/σ_i
    max_imbalance: float = 1e-11  # |Σ α_i y_i| against Σ α_i at which a point counts as balanced
    small_imbalance: float = 1e-6  # the same, at which a correction costs little
    meeting_distance: float = 1e-10  # |v_j| against Σα max|a_ij| below which two hulls may meet
    rounding_decrement: float = 1e-17  # against ‖w‖²: lost in rounding
    gap_to_finish: float = 0.5  # from which on the band may be the free support
    max_stalled_rounds: int = 4  # without a better gap
    small_entries: int = 1 << 16  # of data that is cheap enough for more of them:
    stalled_rounds_if_small: int = 25
    one_thread_entries: int = 1 << 24  # that one thread handles as fast as two, which wait
    min_product_features: int = 200  # from which on inner products are kept from step to step
    max_order: int = 4_000  # of a matrix that is factorised: 128 MB, half a second


SETTINGS = Settings()


def is_affordable(rows: Frame | Rows) -> bool:
    """Whether the matrix of a Newton step, or of interior points, is small enough to be factorised."""
    return min(rows.n, rows.d) <= SETTINGS.max_order


@dataclass(frozen=True)
class Reduced:
    """The problem on the rows at hand."""

    frame: Frame
    C: np.ndarray
    v0: np.ndarray
    s0: float = 0.0
    fixed: float = 0.0  # Σ α_j of the rows left out
    unit: np.ndarray | None = None  # stiffness of the rows against σ, if it is not C_i

    @property
    def hard(self) -> bool:
        """Whether the constraints must hold."""
        return bool(np.isinf(self.C[0]))


@dataclass
class Iterate:
    """A point: weights, multipliers, and what follows from them."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    sigma: float
    primal: float = math.inf
    dual: float = -math.inf
    meets: bool = False  # the hulls of the two classes meet to rounding: no plane separates
    steps: int = 0
    reads: int = 0  # products with all rows of the problem

    @property
    def gap(self) -> float:
        """The relative gap; what rounding puts below zero is none."""
        return relative_gap(self.primal, min(self.dual, self.primal))

    def joined(self, other: Iterate) -> Iterate:
        """Return the better plane and the better multipliers; ``other`` wins where they tie."""
        plane = other if as_good_a_plane(other.primal, self.primal) else self
        bound = other if other.meets or as_good_a_bound(other.dual, self.dual) else self
        return replace(
            other, w=plane.w, b=plane.b, primal=plane.primal, alpha=bound.alpha, dual=bound.dual
        )


def direction(
    frame: Frame,
    band: np.ndarray,
    sigma: np.ndarray,
    gw: np.ndarray,
    gb: float,
    least_squares: bool = True,
) -> tuple[np.ndarray, float]:
    """Return (Δw, Δb) for a band that is not empty.

    Where rounding makes the matrix indefinite, the step is one of least squares, which takes long for a
    large one, or a ``LinAlgError`` says so.
    """
    if min(len(band), frame.d) > SETTINGS.max_order:
        return _conjugate_gradients(frame, band, sigma, gw, gb)
    squares_lose = frame.scaling.uneven and frame.d <= SETTINGS.max_order
    if len(band) <= frame.d and not (least_squares and squares_lose):
        return _gram(frame, band, sigma, gw, gb, least_squares)
    return _primal(frame, band, sigma, gw, gb, least_squares)


def _primal(
    frame: Frame,
    band: np.ndarray,
    sigma: np.ndarray,
    gw: np.ndarray,
    gb: float,
    least_squares: bool = True,
) -> tuple[np.ndarray, float]:
    d = frame.d
    H = np.zeros((d + 1, d + 1))
    for start in range(0, len(band), frame.chunk):
        part = band[start : start + frame.chunk]
        Z = frame.with_bias(part)
        Z *= np.sqrt(sigma[start : start + frame.chunk])[:, None]
        H += Z.T @ Z
    H.flat[: d * (d + 1) : d + 2] += 1.0
    if not frame.pad:
        H[d, d] = 1.0
    step = _solve(H, np.concatenate([-gw, [-gb]]), least_squares)
    return step[:d], float(step[d])


def _gram(
    frame: Frame,
    band: np.ndarray,
    sigma: np.ndarray,
    gw: np.ndarray,
    gb: float,
    least_squares: bool = True,
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
    P = _solve(K, np.column_stack([along, y]), least_squares)
    db = float((y @ P[:, 0] - gb) / (y @ P[:, 1])) if frame.pad else 0.0
    return -gw + back(P[:, 0] - P[:, 1] * db), db


def _solve(M: np.ndarray, rhs: np.ndarray, least_squares: bool) -> np.ndarray:
    """Solve with a positive definite matrix; if rounding made it indefinite, in the least-squares sense.

    Cholesky does not mind features of very different scale; for least squares the diagonal is made 1.
    """
    diagonal = M.diagonal().copy()
    _, x, failed = dposv(M.T, rhs, overwrite_a=1)  # in place: the transpose is in LAPACK's order
    if not failed:
        return np.asarray(x)
    if not least_squares:
        raise np.linalg.LinAlgError
    M = np.triu(M, 1)  # what LAPACK has left
    M = M + M.T + np.diag(diagonal)
    D = 1.0 / np.sqrt(np.maximum(np.diag(M), 1e-300))
    rows = D if rhs.ndim == 1 else D[:, None]
    return np.asarray(np.linalg.lstsq(M * D * D[:, None], rhs * rows, rcond=1e-14)[0] * rows)


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
    start: Iterate,
    tol: float,
    deadline: float = math.inf,
    meet: float = SETTINGS.meeting_distance,
    max_steps: int | None = None,
) -> Iterate:
    """Go on from ``start`` until the relative gap is at most ``tol``, or rounding ends the progress.

    A hard margin also ends when the hulls of the two classes are nearer than ``meet`` in proportion.
    With ``max_steps`` it ends after so many Newton steps, or earlier if it does not get anywhere.
    """
    hard, size, waited = problem.hard, problem.frame.n * problem.frame.d, 0
    patience = SETTINGS.max_stalled_rounds
    if size <= SETTINGS.small_entries:
        patience = SETTINGS.stalled_rounds_if_small
    with one_thread(size <= SETTINGS.one_thread_entries):
        run = _Run(problem, start, meet, max_steps)
        best = start
        for _ in range(SETTINGS.max_rounds):
            if run.steps >= run.most_steps:
                break
            if run.steps > run.early and not best.gap < SETTINGS.early_gap:
                break
            try:
                run.round(deadline)
            except np.linalg.LinAlgError:  # a matrix of numbers too large: what was found before stands
                break
            now = run.iterate()
            if tol < now.gap and (hard or now.gap < SETTINGS.gap_to_finish):
                now = run.finished(now)
            before, best = best, best.joined(now)
            better = best.gap < 0.7 * before.gap or (hard and best.dual > 1.1 * before.dual)
            waited = 0 if better or math.isinf(best.gap) else waited + 1
            late = time.perf_counter() > deadline
            if best.meets or best.gap <= tol or waited == patience or late:
                break
            run.tighten()
    return replace(best, sigma=run.sigma, steps=run.steps, reads=run.reads)


class _Run:
    """The variables of the method of multipliers."""

    def __init__(
        self,
        problem: Reduced,
        start: Iterate,
        meet: float = SETTINGS.meeting_distance,
        max_steps: int | None = None,
    ) -> None:
        self.meet = meet
        self.problem, self.frame = problem, problem.frame
        self.unit = np.ones(self.frame.n) if problem.hard else problem.C
        if problem.unit is not None:
            self.unit = problem.unit
        self.alpha = np.empty(self.frame.n)
        self.band = np.empty(self.frame.n, dtype=np.int64)
        self.most_steps = max_steps or SETTINGS.max_rounds * SETTINGS.max_steps_in_round
        self.early = SETTINGS.early_steps if max_steps else self.most_steps
        self.least_squares = max_steps is None  # instead of giving up, where there is nothing else
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
        self.v, self._pulled = problem.v0, np.empty(0)  # v, and the multipliers it belongs to
        self._clip()
        self._pull(afresh=True)

    def _clip(self) -> None:
        inside = clip_multipliers(self.m, self.centre, self.problem.C, self.stiff, self.alpha, self.band)
        self.inside = self.band[:inside]

    def _pull(self, afresh: bool = False) -> None:
        """Set v = v₀ + Σ α_i a_i and s = s₀ + Σ α_i y_i; from the rows whose α_i changed, if few did."""
        self.s = self.problem.s0 + float(self.alpha @ self.frame.bias)
        if not afresh:
            change = self.alpha - self._pulled
            some = change.nonzero()[0]
            if 3 * len(some) <= self.frame.n:
                self.v = self.v + self.frame.weighted_sum_of(some, change[some])
                self._pulled[some] = self.alpha[some]
                return
        self.v = self.problem.v0 + self.frame.weighted_sum(self.alpha)
        self._pulled = self.alpha.copy()
        self.reads += 1

    def tighten(self) -> None:
        """Begin the next round: a ← α, σ ← 10 σ."""
        self.centre, self.alpha = self.alpha, self.centre.copy()
        self.sigma *= SETTINGS.stiffness_growth
        self.stiff = np.minimum(self.sigma * self.unit, self.stiffest)
        self._clip()
        self._pull()

    def round(self, deadline: float) -> None:
        """Minimise the augmented Lagrangian by Newton steps."""
        for _ in range(min(SETTINGS.max_steps_in_round, self.most_steps - self.steps)):
            decrement = self._step()
            move = self.alpha - self.centre
            length = float(move @ (move / np.maximum(self.stiff, 1e-300)))
            enough = decrement <= SETTINGS.inexactness * length
            rounding = decrement <= SETTINGS.rounding_decrement * float(self.w @ self.w)
            if (enough and self._balanced()) or rounding or time.perf_counter() > deadline:
                break
        self._pull(afresh=True)

    def _balanced(self, share: float = SETTINGS.max_imbalance) -> bool:
        """Whether Σ α_i y_i = 0, up to a share of Σ α_i that a later correction takes away."""
        level = share * (float(self.alpha.sum()) + self.problem.fixed)
        return not self.frame.pad or abs(self.s) <= level

    def _step(self) -> float:
        """One Newton step; returns the Newton decrement before it."""
        gw, gb = self.w - self.v, -self.s * self.frame.pad
        if len(self.inside):
            sigma, some = self.stiff[self.inside], self.inside
            dw, db = direction(self.frame, some, sigma, gw, gb, least_squares=self.least_squares)
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
        self._pull()
        return decrement if len(self.inside) else math.inf

    def _search(self, u: np.ndarray, dw: np.ndarray, db: float, descent: float) -> float:
        """Find where the slope along the direction is zero, to a tenth of its value at the start."""
        p = self.problem
        constant = float((self.w - p.v0) @ dw) - p.s0 * self.frame.pad * db
        quadratic = float(dw @ dw)
        low, high, t = 0.0, math.inf, 1.0
        for _ in range(100):
            pull, curvature = slope(t, self.m, u, self.centre, p.C, self.stiff)
            rise = constant + t * quadratic - pull
            if abs(rise) <= 0.1 * descent:
                break
            low, high = (t, high) if rise < 0 else (low, t)
            bend = quadratic + curvature
            t = t - rise / bend if bend > 0 else math.inf
            if not low < t < high:
                t = 0.5 * (low + high) if high < math.inf else 4.0 * low
        return t

    def finished(self, now: Iterate) -> Iterate:
        """The point with the conditions of the band solved exactly, if that is better."""
        p = self.problem
        state = Reached(self.w, self.b, self.alpha, self.v, self.s)
        solved = finish(self.frame, self.inside, p.C, state, self.least_squares)
        if solved is None:
            return now
        kept = self.w, self.b, self.alpha, self.m, self.v, self.s
        self.w, self.b, self.alpha = solved
        self.m = self.frame.margins(self.w, self.b)
        self.v = p.v0 + self.frame.weighted_sum(self.alpha)
        self.reads += 2
        self.s = p.s0 + float(self.alpha @ self.frame.bias)
        then = self.iterate()
        self.w, self.b, self.alpha, self.m, self.v, self.s = kept
        return then if then.gap < now.gap else now

    def iterate(self) -> Iterate:
        """The point reached, with its gap; a hard margin is brought to scale."""
        p = self.problem
        w, b, v = self.w, self.b, self.v
        alpha = self.alpha.copy()
        if self.frame.pad and self.s != 0.0:
            alpha = balanced(alpha, self.frame.bias, p.C, p.s0)
            some = np.flatnonzero(alpha != self.alpha)
            v = v + self.frame.weighted_sum_of(some, alpha[some] - self.alpha[some])
        length, total = float(v @ v), float(alpha.sum()) + p.fixed
        if not p.hard:
            primal, t = scaled_up(float(w @ w), float(p.v0 @ w) + p.s0 * b, self.m, p.C)
            w, b, primal = t * w, t * b, primal + p.fixed
            dual = total - 0.5 * length if self._balanced(SETTINGS.small_imbalance) else -math.inf
            return Iterate(w, b, alpha, self.sigma, primal, dual)
        least = float(self.m.min())
        primal = math.inf
        if least > 0.0:  # the plane separates: the nearest rows are brought to margin 1
            w, b = w / least, b / least
            primal = 0.5 * float(w @ w)
        dual = 0.5 * total * total / length if length > 0.0 else math.inf
        if total <= 0.0 or not self._balanced(SETTINGS.small_imbalance):
            dual = -math.inf
        meets = total > 0.0 and bool(np.all(np.abs(v) <= self.meet * total * self.frame.reach))
        if length > 0.0:
            alpha = to_scale(alpha, total / length, self.frame.scaling.uneven)
        return Iterate(w, b, alpha, self.sigma, primal, dual, meets)
