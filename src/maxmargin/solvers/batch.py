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
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import numpy as np

from maxmargin.core.keeping import freeze, next_stage, thaw
from maxmargin.core.stopping import Progress, StoppingRule
from maxmargin.core.trace import Trace, Update
from maxmargin.solvers.hull import shortest_combination
from maxmargin.solvers.linesearch import least_risk
from maxmargin.solvers.logbook import Logbook
from maxmargin.solvers.problem import Examples, Machine, Observer, Problem, Solution

__all__ = ["Bundle", "Risk", "batch_perceptron"]

BUNDLE = 20  # gradients remembered


class Risk:
    """R and its gradient for machines on the same rows, one pass each."""

    def __init__(self, examples: Examples, machines: Sequence[Machine]) -> None:
        self.examples = examples
        positive = np.array([[m.positive] for m in machines]) == examples.codes
        self.signs = np.where(positive, 1.0, -1.0)
        if len(examples.scale):
            self.signs *= examples.scale
        self.weights = np.array([m.class_weight[examples.codes] for m in machines])

    def margins(self, Z: np.ndarray) -> np.ndarray:
        """a_i·z_k as a (machines, rows) array, with the same bits for dense and sparse rows."""
        return np.asarray(self.signs * self.examples.ordered_values(Z))

    def value(self, M: np.ndarray) -> np.ndarray:
        """Return R for each machine from its margins."""
        return np.asarray(np.sum(self.weights * np.maximum(0.0, -M), axis=1))

    def pull(self, M: np.ndarray) -> np.ndarray:
        """Return −∇R for each machine: the sum of its misclassified a_i."""
        return self.examples.sums(np.where(M <= 0, self.signs * self.weights, 0.0))

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the machines only."""
        self.signs, self.weights = self.signs[which], self.weights[which]

    def step(
        self, Z: np.ndarray, M: np.ndarray, step: float | str, bundles: Sequence[Bundle]
    ) -> np.ndarray:
        """Z after one step; ``bundles`` hold what exact steps remember, and are updated."""
        G = self.pull(M)
        if not isinstance(step, str):
            return Z + step * G
        D = np.zeros_like(Z)
        for k, bundle in enumerate(bundles):
            if np.any(M[k] <= 0):
                D[k] = bundle.direction(G[k], Z[k])
        Q = self.margins(D)  # how fast each margin moves along each direction
        moved = [
            _exact_step(z, d, least_risk(m, q, c))
            for z, d, m, q, c in zip(Z, D, M, Q, self.weights, strict=True)
        ]
        return np.array(moved)


class Bundle:
    """The last few gradients, from which exact steps take their direction."""

    def __init__(self) -> None:
        self.pulls: list[np.ndarray] = []

    def direction(self, g: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Take in −∇R and return the shortest combination, without its part along z.

        A part along z would only lengthen or shorten z, which decides nothing.
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
        self.pulls = [g]  # nothing short of zero: R is as low as these gradients can see
        return np.asarray(P[0])


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
    problem: Problem,
    machines: Sequence[Machine],
    start: np.ndarray,
    step: float | str,
    stop: StoppingRule,
    observer: Observer,
    record: bool,
) -> list[Solution]:
    """Descend for machines that share their rows, until each has a reason to stop."""
    stage = next_stage()
    if stage.finished is not None:
        finished: list[Solution] = stage.finished
        return finished
    problem = replace(problem, began=problem.began - stage.elapsed)
    began = problem.began
    n = problem.training.rows.n
    risk = Risk(problem.training, machines)
    logs = [Logbook(problem, m, stop) for m in machines]
    traces = [Trace(z.copy()) if record else None for z in start]
    mistakes, updates = np.zeros(len(start), int), np.zeros(len(start), int)
    solutions: dict[int, Solution] = {}
    active = np.arange(len(start))
    Z, bundles = start.copy(), [Bundle() for _ in machines]
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
    M = risk.margins(Z)
    for epoch in count(first):
        before, wrong = Z, np.count_nonzero(M <= 0, axis=1)
        R_before = risk.value(M)
        Z = risk.step(Z, M, step, bundles)
        M = risk.margins(Z)
        R, left = risk.value(M), np.count_nonzero(M <= 0, axis=1)
        asked = observer(epoch, int(wrong.sum()), Z.copy)
        for j, k in enumerate(active):
            mistakes[k] += wrong[j]
            updates[k] += wrong[j] > 0
            progress = Progress(
                epoch=epoch,
                updates=int(updates[k]),
                mistakes=int(wrong[j]),
                all_correct=bool(left[j] == 0),
                seconds=time.perf_counter() - began,
                weights=Z[j],
                before=before[j],
                training_error=float(left[j]) / n,
                # Only with a fixed step is the next z a function of this one, and repetition a proof.
                repeats=not isinstance(step, str),
            )
            logs[k].close_epoch(progress, Z[j], asked=asked, risk=float(R[j]))
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
                    steps=epoch * n,
                )
        going_on = np.array([logs[k].reason is None for k in active])
        if not going_on.any():
            break
        active, Z, M = active[going_on], Z[going_on], M[going_on]
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
