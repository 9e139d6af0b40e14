"""The model of the objective that the answers of a round make, and its minimum here.

    ½‖w‖² − v·w − s b + ½ (z − z₀)ᵀ H (z − z₀) + Σ C_i max(0, 1 − m_i)

with the sums v and s of the rows far from the margin, the Hessian H of rows near it that did not come,
and the hinges of those that did. It is minimised by the method that serves on one machine
(:mod:`maxmargin.solvers.margin.multipliers`), after a change of coordinates that makes D + H the unit
matrix.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg

from maxmargin.rows import DenseRows
from maxmargin.solvers.margin.frame import Frame, Scene
from maxmargin.solvers.margin.multipliers import minimise
from maxmargin.solvers.margin.nearest import ROOM
from maxmargin.solvers.margin.passes import run_out
from maxmargin.solvers.margin.reduced import Iterate, Reduced
from maxmargin.solvers.margin.softmargin import UNBALANCED, WIDE
from maxmargin.solvers.remote.band import Band
from maxmargin.solvers.remote.beginning import NEWTON
from maxmargin.solvers.remote.gauge import Gauge, bent, factor
from maxmargin.solvers.remote.looks import Look
from maxmargin.solvers.remote.rounds import Side
from maxmargin.solvers.remote.rule import Given, Multipliers, Plane, Rule
from maxmargin.solvers.remote.wide import solve_wide

__all__ = ["Model"]

TINY = 1e-12  # of the widest: what a row without a width counts as
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
        return not self.side.pad or -ROOM * up <= others <= ROOM * down

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
            found = run_out(minimise(problem, begin, goal, deadline))
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
        point = run_out(minimise(problem, begin, goal, deadline))
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
        if self.side.pad and abs(sums[0] - sums[1]) > UNBALANCED * float(sums.sum()):
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
            widths = WIDE * scales / max(float(np.median(scales)), 1e-300)
        return np.asarray(band.C / (2.0 * np.maximum(widths, TINY * float(widths.max()))))


def _rows(band: Band) -> np.ndarray:
    """(a_i, y_i) of the rows that came."""
    A = band.frame.take(np.arange(band.frame.n))
    return np.column_stack([A, band.frame.bias])
