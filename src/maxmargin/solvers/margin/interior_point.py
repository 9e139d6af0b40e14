"""The soft margin by an interior-point method: slower to begin, and it never stalls.

The problem, on rows a_i with margins m_i = a_i·w + y_i b, with multipliers of rows left out in v₀ and s₀:

    minimise  ½‖w‖² − v₀·w − s₀ b + Σ C_i ξ_i     subject to   m_i + ξ_i − s_i = 1,   s_i, ξ_i ≥ 0.

With β_i = C_i − α_i its optimality conditions are w = v₀ + Σ α_i a_i, s₀ + Σ α_i y_i = 0, α_i s_i = 0 and
β_i ξ_i = 0. Newton's method is applied to them with both products equal to a μ > 0 that falls to zero, and
all of α, β, s, ξ stay positive (predictor and corrector of Mehrotra 1992; for support vector machines
Ferris and Munson 2002). A step is one linear system with the weights θ_i = 1/(s_i/α_i + ξ_i/β_i),

    (D + Zᵀ Θ Z) (Δw, Δb) = …,     Z the rows (a_i, y_i),     D = diag(1, …, 1, 0),

of order d + 1, or of order n where there are fewer rows than features: K + Θ⁻¹ with K = A Aᵀ.

Ten to thirty steps lead to a gap of 1e-9, whatever C and the units of the features are: the start is
α = C/2, far inside, and nothing else is chosen. The method of multipliers is quicker where it can go on
from a neighbouring solution; where it stalls, this one is asked.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from maxmargin.solvers.margin.balance import balanced
from maxmargin.solvers.margin.finish import Reached, finish
from maxmargin.solvers.margin.frame import Frame
from maxmargin.solvers.margin.gaps import scaled_up
from maxmargin.solvers.margin.gram import inner_products
from maxmargin.solvers.margin.reduced import Iterate, Reduced
from maxmargin.solvers.threads import one_thread

__all__ = ["interior_point", "is_affordable"]


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    max_steps: int = 100  # ten to thirty are usual
    max_steps_without_progress: int = 12  # the gap may rise for a few steps at the beginning
    step_to_boundary: float = 0.995  # share of the way to the nearest bound that a step may go
    max_order: int = 4_000  # of the matrix that is factorised: 128 MB, half a second
    first_ridge: float = 1e-13  # added to Θ⁻¹, against the mean of ‖a_i‖²; larger if no factor is found
    max_ridge: float = 1e-3
    balance: float = 1e-9  # |Σ α_i y_i| against Σ α_i at which a correction costs little
    gap_to_finish: float = 1e-3  # from which on the free rows may be known
    one_thread_entries: int = 1 << 22  # of products that one thread does as fast as two


SETTINGS = Settings()
Step = tuple[np.ndarray, float, np.ndarray]  # of w, b and α
Solver = Callable[[np.ndarray, float, np.ndarray], Step]  # from the residuals of w and b, and q (see below)


def is_affordable(frame: Frame) -> bool:
    """Whether the matrix of a step is small enough to be factorised."""
    return min(frame.n, frame.d) <= SETTINGS.max_order


def interior_point(problem: Reduced, tol: float, deadline: float = math.inf) -> Iterate:
    """Return a point whose relative gap is at most ``tol``, or the best one where progress ended."""
    frame = problem.frame
    order = min(frame.n, frame.d)
    with one_thread(frame.n * order <= SETTINGS.one_thread_entries):
        space = _CombinationsOfRows(problem) if frame.n <= frame.d else _Weights(problem)
        return _Run(problem, space).to_gap(tol, deadline)


class _Run:
    """The variables of the interior-point method, all of them positive but for w and b."""

    def __init__(self, problem: Reduced, space: _Weights | _CombinationsOfRows) -> None:
        self.problem, self.space, self.y = problem, space, problem.frame.bias
        n = problem.frame.n
        self.w, self.b = space.zero(), 0.0
        self.alpha, self.beta = 0.5 * problem.C, 0.5 * problem.C
        self.s, self.xi = np.ones(n), np.full(n, 2.0)
        self.ridge = SETTINGS.first_ridge * space.size
        self.reads = 0

    def to_gap(self, tol: float, deadline: float) -> Iterate:
        """Take steps until the gap is small enough, or there is no progress any more."""
        p, settings = self.problem, SETTINGS
        best, waited = Iterate(np.zeros(p.frame.d), 0.0, np.zeros(p.frame.n), 0.0), 0
        for steps in range(settings.max_steps):
            self.m = self.space.margins(self.w, self.b)
            self.v = self.space.combination(self.alpha)
            now = self._iterate()
            if not math.isfinite(now.primal):
                break
            before, best = best.gap, best.joined(now)
            waited = 0 if best.gap < 0.9 * before or math.isinf(best.gap) else waited + 1
            late = time.perf_counter() > deadline
            if best.gap <= tol or waited == settings.max_steps_without_progress or late:
                break
            if not self._step():
                break
        if tol < best.gap < settings.gap_to_finish:
            best = best.joined(self._finished())
        best.steps, best.reads = steps, self.reads
        return best

    def _step(self) -> bool:
        """One step of predictor and corrector; False if it leads nowhere."""
        mu = (self.alpha @ self.s + self.beta @ self.xi) / (2 * len(self.m))
        solve = self._factorise()
        if solve is None:
            return False
        predictor = self._direction(solve, -self.alpha * self.s, -self.beta * self.xi)
        _, _, da, ds, dxi = predictor
        t = self._longest(da, ds, dxi)
        after = (self.alpha + t * da) @ (self.s + t * ds) + (self.beta - t * da) @ (self.xi + t * dxi)
        aim = mu * (after / (2 * len(self.m)) / mu) ** 3  # Mehrotra's choice
        dw, db, da, ds, dxi = self._direction(
            solve, aim - self.alpha * self.s - da * ds, aim - self.beta * self.xi + da * dxi
        )
        t = min(1.0, SETTINGS.step_to_boundary * self._longest(da, ds, dxi))
        if not (t > 0.0 and math.isfinite(float(da @ da))):
            return False
        self.w, self.b = self.w + t * dw, self.b + t * db
        for variable, change in ((self.alpha, da), (self.beta, -da), (self.s, ds), (self.xi, dxi)):
            variable += t * change
            np.maximum(variable, 1e-300, out=variable)
        return True

    def _factorise(self) -> Solver | None:
        """Factorise with the smallest ridge that lets it; a little ridge only makes steps less exact."""
        inverse = self.s / self.alpha + self.xi / self.beta
        while self.ridge <= SETTINGS.max_ridge * self.space.size:
            solve = self.space.factorise(inverse + self.ridge)
            self.reads += 1
            if solve is not None:
                return solve
            self.ridge *= 100.0
        return None

    def _direction(
        self, solve: Solver, to_alpha: np.ndarray, to_beta: np.ndarray
    ) -> tuple[np.ndarray, float, np.ndarray, np.ndarray, np.ndarray]:
        """The Newton step with s Δα + α Δs = to_alpha and β Δξ − ξ Δα = to_beta."""
        margin = 1.0 - self.m - self.xi + self.s
        q = margin - to_beta / self.beta + to_alpha / self.alpha
        balance = -(self.problem.s0 + float(self.y @ self.alpha))
        dw, db, da = solve(self.w - self.v, balance, q)
        self.reads += 2
        return dw, db, da, (to_alpha - self.s * da) / self.alpha, (to_beta + self.xi * da) / self.beta

    def _longest(self, da: np.ndarray, ds: np.ndarray, dxi: np.ndarray) -> float:
        """The longest step, at most 1, that keeps everything positive."""
        pairs = (self.alpha, da), (self.beta, -da), (self.s, ds), (self.xi, dxi)
        fastest = max(float(np.max(-change / variable)) for variable, change in pairs)
        return 1.0 if fastest <= 1.0 else 1.0 / fastest

    def _iterate(self) -> Iterate:
        """The point reached, with its gap."""
        p, space = self.problem, self.space
        linear = space.along_fixed(self.w) + p.s0 * self.b
        primal, t = scaled_up(space.square(self.w), linear, self.m, p.C)
        alpha, v, total = self.alpha, self.v, float(self.alpha.sum()) + p.fixed
        dual = -math.inf
        unbalanced = abs(p.s0 + float(self.y @ alpha))
        if not p.frame.pad or unbalanced <= SETTINGS.balance * total:
            dual = total - 0.5 * space.square(v)
        return Iterate(t * space.weights(self.w), t * self.b, alpha.copy(), 0.0, primal + p.fixed, dual)

    def _finished(self) -> Iterate:
        """The conditions of the free rows solved exactly, if they are what they seem to be."""
        p, frame = self.problem, self.problem.frame
        size = self.space.size
        low, high = self.alpha * size < self.s, self.beta * size < self.xi
        alpha = np.where(low, 0.0, np.where(high, p.C, self.alpha))
        v, s = p.v0 + frame.pull(alpha), p.s0 + float(alpha @ self.y)
        state = Reached(self.space.weights(self.w), self.b, alpha, v, s)
        nothing = Iterate(state.w, self.b, alpha, 0.0)
        solved = finish(frame, np.flatnonzero(~low & ~high), p.C, state)
        if solved is None:
            return nothing
        w, b, alpha = solved
        if frame.pad:
            alpha = balanced(alpha, self.y, p.C, p.s0)
        m, v = frame.values(w, b), p.v0 + frame.pull(alpha)
        self.reads += 3
        primal, t = scaled_up(float(w @ w), float(p.v0 @ w) + p.s0 * b, m, p.C)
        dual = float(alpha.sum()) + p.fixed - 0.5 * float(v @ v)
        return Iterate(t * w, t * b, alpha, 0.0, primal + p.fixed, dual)


class _Weights:
    """The weights w themselves: systems of order d + 1."""

    def __init__(self, problem: Reduced) -> None:
        self.frame, self.v0 = problem.frame, problem.v0
        some = self.frame.take(np.arange(min(self.frame.n, 1_000)))
        self.size = float(np.mean(np.einsum("ij,ij->i", some, some))) or 1.0  # about ‖a_i‖²

    def zero(self) -> np.ndarray:
        """w = 0."""
        return np.zeros(self.frame.d)

    def margins(self, w: np.ndarray, b: float) -> np.ndarray:
        """The margins m_i of all rows."""
        return self.frame.values(w, b)

    def combination(self, alpha: np.ndarray) -> np.ndarray:
        """v₀ + Σ α_i a_i."""
        return self.v0 + self.frame.pull(alpha)

    def square(self, w: np.ndarray) -> float:
        """‖w‖²."""
        return float(w @ w)

    def along_fixed(self, w: np.ndarray) -> float:
        """v₀·w."""
        return float(self.v0 @ w)

    def weights(self, w: np.ndarray) -> np.ndarray:
        """The d weights."""
        return w

    def factorise(self, inverse: np.ndarray) -> Solver | None:
        """Prepare steps with Θ⁻¹ = diag(inverse)."""
        frame, d, theta = self.frame, self.frame.d, 1.0 / inverse
        H = np.zeros((d + 1, d + 1))
        for start in range(0, frame.n, frame.chunk):
            part = np.arange(start, min(start + frame.chunk, frame.n))
            Z = np.column_stack([frame.take(part), frame.bias[part]])
            Z *= np.sqrt(theta[part])[:, None]
            H += Z.T @ Z
        H.flat[: d * (d + 1) : d + 2] += 1.0
        if not frame.pad:
            H[d, d] = 1.0
        factor, failed = dpotrf(H.T, lower=1, overwrite_a=1)
        if failed:
            return None

        def solve(rw: np.ndarray, rb: float, q: np.ndarray) -> Step:
            u = theta * q
            right = np.append(frame.pull(u) - rw, float(frame.bias @ u) - rb if frame.pad else 0.0)
            z = dpotrs(factor, right, lower=1)[0]
            dw, db = z[:d], float(z[d])
            return dw, db, theta * (q - frame.values(dw, db))

        return solve


class _CombinationsOfRows:
    """w = Σ η_i a_i + κ v₀ by its n + 1 coefficients: systems of order n."""

    def __init__(self, problem: Reduced) -> None:
        self.frame, self.v0 = problem.frame, problem.v0
        n, y = self.frame.n, self.frame.y
        self.K = np.zeros((n + 1, n + 1))  # inner products of the a_i and v₀
        if "inner_products" not in self.frame.shared:
            self.frame.shared["inner_products"] = inner_products(self.frame)
        np.multiply(self.frame.shared["inner_products"], y * y[:, None], out=self.K[:n, :n])
        self.K[n, :n] = self.K[:n, n] = self.frame.values(self.v0, 0.0)
        self.K[n, n] = float(self.v0 @ self.v0)
        self.size = float(np.mean(self.K.diagonal()[:n])) or 1.0

    def zero(self) -> np.ndarray:
        """w = 0."""
        return np.zeros(self.frame.n + 1)

    def margins(self, w: np.ndarray, b: float) -> np.ndarray:
        """The margins m_i of all rows."""
        return np.asarray(self.K[:-1] @ w + b * self.frame.bias)

    def combination(self, alpha: np.ndarray) -> np.ndarray:
        """v₀ + Σ α_i a_i."""
        return np.append(alpha, 1.0)

    def square(self, w: np.ndarray) -> float:
        """‖w‖²."""
        return float(w @ (self.K @ w))

    def along_fixed(self, w: np.ndarray) -> float:
        """v₀·w."""
        return float(self.K[-1] @ w)

    def weights(self, w: np.ndarray) -> np.ndarray:
        """The d weights."""
        return np.asarray(self.frame.pull(w[:-1]) + w[-1] * self.v0)

    def factorise(self, inverse: np.ndarray) -> Solver | None:
        """Prepare steps with Θ⁻¹ = diag(inverse)."""
        frame, n, y = self.frame, self.frame.n, self.frame.bias
        M = self.K[:n, :n].copy()
        M.flat[:: n + 1] += inverse
        factor, failed = dpotrf(M.T, lower=1, overwrite_a=1)
        if failed:
            return None
        towards = dpotrs(factor, y, lower=1)[0]

        def solve(rw: np.ndarray, rb: float, q: np.ndarray) -> Step:
            da = dpotrs(factor, q + self.K[:n] @ rw, lower=1)[0]
            db = 0.0
            if frame.pad:
                db = float((y @ da - rb) / (y @ towards))
                da -= db * towards
            return np.append(da, 0.0) - rw, db, da

        return solve
