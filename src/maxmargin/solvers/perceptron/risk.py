"""The perceptron risk R(z) = Σ_{i∈V} −a_i·z, where V = {i : a_i·z ≤ 0}, and the way down from a z.

−∇R(z) = Σ_{i∈V} a_i, so a step of length ε is z ← z + ε Σ_{i∈V} y_i (x_i, 1): every misclassified
row pulls at once.

An exact step goes to the minimum of R along its direction. On a piecewise linear R the plain gradient
then zigzags between creases and may jam; so the direction is the shortest convex combination of the last
few −∇R (conjugate subgradients, Wolfe 1975), which runs along the crease. R is positively homogeneous,
R(sz) = s R(z), so after an exact step z is brought back to its old length: otherwise, on overlapping
classes, it would shrink towards the meaningless minimum z = 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from maxmargin.solvers.examples import Examples
from maxmargin.solvers.perceptron.line_search import Breaks, breaks, lowest
from maxmargin.solvers.perceptron.nearest_point import shortest_combination
from maxmargin.solvers.problem import Machine

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
