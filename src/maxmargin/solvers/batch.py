"""Gradient descent on the perceptron risk R(z) = Σ_{i∈V} −a_i·z, where V = {i : a_i·z ≤ 0}.

−∇R(z) = Σ_{i∈V} a_i, so a step of length ε is z ← z + ε Σ_{i∈V} y_i (x_i, 1): every misclassified
row pulls at once. The run ends when V is empty: R(z) = 0 with z ≠ 0, since at z = 0 every row is in V.

With a fixed ε the mistake-bound argument holds for the sums, and separable data is separated after
finitely many steps.

With ``step="exact"`` each step goes to the minimum of R along its direction. On a piecewise linear R
the plain gradient then zigzags between creases and may jam; so the direction is the shortest convex
combination of the last few −∇R (conjugate subgradients, Wolfe 1975), which runs along the crease. R is
positively homogeneous, R(sz) = s R(z), so after an exact step z is brought back to its old
length: otherwise, on overlapping classes, it would shrink towards the meaningless minimum z = 0.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from maxmargin.core.keeping import freeze, next_stage, thaw
from maxmargin.core.stopping import Progress, StoppingRule
from maxmargin.core.trace import Trace, Update
from maxmargin.solvers.hull import shortest_combination
from maxmargin.solvers.linesearch import Breaks, breaks, lowest
from maxmargin.solvers.logbook import Logbook
from maxmargin.solvers.problem import Examples, Machine, Observer, Problem, Solution

__all__ = ["Bundle", "Risk", "Slope", "batch_perceptron"]

BUNDLE = 20  # gradients remembered


class Slope(ABC):
    """R at the weights at hand and the way down from there, for machines that descend together.

    ``risk``, ``behind`` and ``wrong`` are R(z), R(−z) and |V| of each machine where it looked last.
    """

    def __init__(self, machines: Sequence[Machine], sizes: Sequence[int]) -> None:
        self.machines, self.sizes = list(machines), np.array(sizes)
        self.risk, self.behind = np.zeros(len(self.sizes)), np.zeros(len(self.sizes))
        self.wrong = np.zeros(len(self.sizes), dtype=np.int64)

    @abstractmethod
    def look(self, Z: np.ndarray) -> None:
        """Find R(z), R(−z) and |V| of each machine: one pass."""

    @abstractmethod
    def pulls(self) -> np.ndarray:
        """Return −∇R for each machine, where it looked last."""

    @abstractmethod
    def lengths(self, Z: np.ndarray, D: np.ndarray) -> list[float]:
        """Return the t ≥ 0 with the least R(z + t d) for each machine."""

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the machines only."""
        self.machines = [m for m, go in zip(self.machines, which, strict=True) if go]
        self.sizes = self.sizes[which]
        self.risk, self.behind, self.wrong = self.risk[which], self.behind[which], self.wrong[which]

    def step(self, Z: np.ndarray, step: float | str, bundles: Sequence[Bundle]) -> np.ndarray:
        """Z after one step from where it looked last; ``bundles`` hold what exact steps remember."""
        G = self.pulls()
        if not isinstance(step, str):
            return Z + step * G
        D = np.zeros_like(Z)
        for k, bundle in enumerate(bundles):
            if self.wrong[k]:
                D[k] = bundle.direction(G[k], Z[k], bool(self.behind[k] < self.risk[k]))
        moves = zip(Z, D, self.lengths(Z, D), strict=True)
        return np.array([_exact_step(z, d, t) for z, d, t in moves])


class Risk(Slope):
    """R and its gradient for machines on the same rows, which are here."""

    def __init__(self, examples: Examples, machines: Sequence[Machine]) -> None:
        super().__init__(machines, [examples.rows.n] * len(machines))
        self.examples = examples
        positive = np.array([[m.positive] for m in machines]) == examples.codes
        self.signs = np.where(positive, 1.0, -1.0)
        if len(examples.scale):
            self.signs *= examples.scale
        self.weights = np.array([m.class_weight[examples.codes] for m in machines])
        self._M = np.empty((len(machines), 0))

    def margins(self, Z: np.ndarray) -> np.ndarray:
        """a_i·z_k as a (machines, rows) array, with the same bits for dense and sparse rows."""
        return np.asarray(self.signs * self.examples.ordered_values(Z))

    def value(self, M: np.ndarray) -> np.ndarray:
        """Return R for each machine from its margins."""
        return np.asarray(np.sum(self.weights * np.maximum(0.0, -M), axis=1))

    def pull(self, M: np.ndarray) -> np.ndarray:
        """Return −∇R for each machine: the sum of its misclassified a_i."""
        return self.examples.sums(np.where(M <= 0, self.signs * self.weights, 0.0))

    def look(self, Z: np.ndarray) -> None:
        """Find all margins, and from them R(z), R(−z) and |V|."""
        M = self._M = self.margins(Z)
        self.risk, self.behind = self.value(M), self.value(-M)
        self.wrong = np.count_nonzero(M <= 0, axis=1)

    def pulls(self) -> np.ndarray:
        """Return −∇R for each machine, where it looked last."""
        return self.pull(self._M)

    def breaks(self, D: np.ndarray) -> list[Breaks]:
        """Return how R changes along each direction from where it looked last."""
        Q = self.margins(D)  # how fast each margin moves along each direction
        return [breaks(m, q, c) for m, q, c in zip(self._M, Q, self.weights, strict=True)]

    def lengths(self, Z: np.ndarray, D: np.ndarray) -> list[float]:
        """Return the t ≥ 0 with the least R(z + t d) for each machine."""
        return [lowest(found) for found in self.breaks(D)]

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the machines only."""
        super().keep(which)
        self.signs, self.weights, self._M = self.signs[which], self.weights[which], self._M[which]


class Bundle:
    """The last few gradients, from which exact steps take their direction."""

    def __init__(self) -> None:
        self.pulls: list[np.ndarray] = []

    def direction(self, g: np.ndarray, z: np.ndarray, turn: bool) -> np.ndarray:
        """Take in −∇R and return the shortest combination, without its part along z.

        A part along z would only lengthen or shorten z, which decides nothing. Where nothing but that
        part is left, R is lowest among the weights of this length nearby: the way on is straight back,
        through zero to −z, if ``turn`` says that R is less there.
        """
        self.pulls = [g, *self.pulls[: BUNDLE - 1]]
        square = float(z @ z)
        P = np.array(self.pulls)
        if square > 0:
            P -= np.outer(P @ z / square, z)
        size = float(np.linalg.norm(P[0]))
        if size <= 1e-12 * float(np.linalg.norm(g)):
            return g  # straight back, through zero to the other side
        d = shortest_combination(P / size) * size
        if float(np.linalg.norm(d)) > 1e-7 * size:
            return d
        self.pulls = [] if turn else [g]  # R is as low as these gradients can see
        return np.asarray(-z if turn else P[0])


def _exact_step(z: np.ndarray, d: np.ndarray, t: float) -> np.ndarray:
    """Return z + t d, a hair beyond the crease so as to see its other side, at the length of z."""
    length, reach = float(np.linalg.norm(z)), float(np.linalg.norm(d))
    if reach == 0:
        return z
    moved = z + (t + 1e-9 * length / reach) * d
    new_length = float(np.linalg.norm(moved))
    if new_length <= 1e-12 * length:
        return z + 2.0 * t * d  # the minimum is z = 0, which decides nothing: pass it by
    return moved * (length / new_length) if length > 0 else moved


def batch_perceptron(
    problem: Problem[Any],
    risk: Slope,
    start: np.ndarray,
    step: float | str,
    stop: StoppingRule,
    observer: Observer,
    record: bool,
) -> list[Solution]:
    """Descend with some machines together, until each has a reason to stop."""
    stage = next_stage()
    if stage.finished is not None:
        finished: list[Solution] = stage.finished
        return finished
    problem = replace(problem, began=problem.began - stage.elapsed)
    began = problem.began
    logs = [Logbook(problem, m, stop) for m in risk.machines]
    traces = [Trace(z.copy()) if record else None for z in start]
    mistakes, updates = np.zeros(len(start), int), np.zeros(len(start), int)
    solutions: dict[int, Solution] = {}
    active = np.arange(len(start))
    Z, bundles = start.copy(), [Bundle() for _ in start]
    first, saved = 1, stage.saved
    if saved is not None:
        first, Z, active = saved["epoch"] + 1, saved["Z"], np.array(saved["active"])
        mistakes, updates, traces = saved["mistakes"], saved["updates"], saved["traces"]
        solutions = {k: s for k, s in enumerate(saved["solutions"]) if s is not None}
        for log, history, rule in zip(logs, saved["histories"], saved["rules"], strict=True):
            log.history = history
            thaw(log.check, rule)
        bundles = [bundles[k] for k in active]
        for bundle, pulls in zip(bundles, saved["bundles"], strict=True):
            bundle.pulls = pulls
        risk.keep(np.isin(np.arange(len(start)), active))
    risk.look(Z)
    for epoch in count(first):
        before, wrong, R_before = Z, risk.wrong, risk.risk
        Z = risk.step(Z, step, bundles)
        risk.look(Z)
        asked = observer(epoch, int(wrong.sum()), Z.copy)
        valid = problem.validation_errors(risk.machines, Z.copy)
        for j, k in enumerate(active):
            mistakes[k] += wrong[j]
            updates[k] += wrong[j] > 0
            progress = Progress(
                epoch=epoch,
                updates=int(updates[k]),
                mistakes=int(wrong[j]),
                all_correct=bool(risk.wrong[j] == 0),
                seconds=time.perf_counter() - began,
                weights=Z[j],
                before=before[j],
                training_error=float(risk.wrong[j]) / int(risk.sizes[j]),
                validation_error=valid[j],
                # Only with a fixed step is the next z a function of this one, and repetition a proof.
                repeats=not isinstance(step, str),
            )
            logs[k].close_epoch(progress, Z[j], asked=asked, risk=float(risk.risk[j]))
            trace = traces[k]
            if trace is not None and wrong[j]:
                trace.append(Update(epoch, -1, -float(R_before[j]), Z[j].copy()))
            reason = logs[k].reason
            if reason is not None:
                solutions[int(k)] = Solution(
                    z=Z[j].copy(),
                    reason=reason,
                    history=logs[k].history,
                    state=Z[j].copy(),
                    mistakes=int(mistakes[k]),
                    trace=trace,
                    steps=epoch * int(risk.sizes[j]),
                )
        going_on = np.array([logs[k].reason is None for k in active])
        if not going_on.any():
            break
        if not going_on.all():
            active, Z = active[going_on], Z[going_on]
            bundles = [b for b, go in zip(bundles, going_on, strict=True) if go]
            risk.keep(going_on)
        if stage.due():
            stage.keep(
                {
                    "epoch": epoch,
                    "Z": Z,
                    "active": active.tolist(),
                    "bundles": [bundle.pulls for bundle in bundles],
                    "mistakes": mistakes,
                    "updates": updates,
                    "traces": traces,
                    "solutions": [solutions.get(k) for k in range(len(start))],
                    "histories": [log.history for log in logs],
                    "rules": [freeze(log.check) for log in logs],
                }
            )
    return stage.finish([solutions[k] for k in range(len(start))])
