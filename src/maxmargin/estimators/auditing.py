"""What an audit asks about a binary problem, answered from rows in memory or in a file."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from maxmargin.certificates.certificate import Certificate
from maxmargin.certificates.measure import Point, certificate
from maxmargin.core.errors import NotSeparableError
from maxmargin.core.labels import class_weights, encode, find_classes
from maxmargin.estimators.door import read_Xy
from maxmargin.estimators.exactly import second_opinion
from maxmargin.estimators.question import Question
from maxmargin.rows import CsrRows, PartedRows, Rows, as_rows
from maxmargin.solvers.margin.machines import solve_margins
from maxmargin.solvers.margin.passes import Budget
from maxmargin.solvers.margin.tasks import Solved, Task

__all__ = [
    "Bench",
    "Ground",
    "LocalGround",
    "Plane",
    "Sides",
    "first_to_reach",
    "no_solution",
    "with_column",
]

Plane = tuple[np.ndarray, float]
# The positive class, the negative one (None: all others), and all labels of the negative side.
Sides = tuple[Hashable, Hashable, list[Hashable]]


class Bench(Protocol):
    """One binary problem."""

    n: int

    def optimum(self) -> Plane:
        """The best plane there is; its multipliers are kept."""

    def mistakes(self, planes: Sequence[Plane]) -> list[tuple[int, float]]:
        """For each plane the number of rows with y f(x) ≤ 0, and the least y f(x)."""

    def certificate(self, w: np.ndarray, b: float, edge: float, problem: str) -> Certificate:
        """Judge a plane by the multipliers of the optimum; its margin is to be ``edge``."""

    def value(self, w: np.ndarray, b: float) -> float:
        """½‖w‖² + Σ C_i ξ_i."""

    def best_bias(self, w: np.ndarray) -> float:
        """The b that minimises Σ C_i ξ_i for this w."""

    def regularised(self, scaling: float) -> float:
        """The optimum of the problem in which the bias is one more feature, and penalised."""


class Ground(Protocol):
    """Labelled rows, and binary problems on them."""

    d: int
    classes: np.ndarray

    def factors(self, class_weight: Any) -> np.ndarray:
        """One weight per class."""

    def benches(self, bounds: Sequence[np.ndarray], sides: Sequence[Sides]) -> Iterator[Bench]:
        """A problem for each of the sides, with the bounds C by label code."""


class LocalGround:
    """Rows in memory, or in a file."""

    def __init__(self, X: Any, y: Any, tol: float, free: bool) -> None:
        self._rows, y = read_Xy(BaseEstimator(), X, y)
        self.d, self.classes = self._rows.d, find_classes(y)
        self._codes, self._tol, self._free = encode(y, self.classes), tol, free

    def factors(self, class_weight: Any) -> np.ndarray:
        """One weight per class."""
        return class_weights(class_weight, self.classes, self._codes)

    def benches(self, bounds: Sequence[np.ndarray], sides: Sequence[Sides]) -> Iterator[Bench]:
        """A problem for each of the sides, with the bounds C by label code."""
        labels = self.classes.tolist()
        for C, side in zip(bounds, sides, strict=True):
            y = np.where(self._codes == labels.index(side[0]), 1.0, -1.0)
            yield _LocalBench(self._rows, y, C[self._codes], side, self._tol, self._free)


class _LocalBench:
    def __init__(
        self, rows: Rows, y: np.ndarray, C: np.ndarray, sides: Sides, tol: float, free: bool
    ) -> None:
        self.n = rows.n
        self._rows, self._y, self._C, self._sides = rows, y, C, sides
        self._tol, self._free, self._hard = tol, free, math.isinf(C[0])

    def optimum(self) -> Plane:
        self._best = self._solved(self._rows, 1.0 if self._free else 0.0)
        return self._best.w, self._best.b

    def _solved(self, rows: Rows, pad: float) -> Solved:
        bounds = None if self._hard else self._C
        (best,) = solve_margins(rows, [Task(self._y, bounds)], pad, self._tol, Budget())
        if not best.meets:
            return best
        names = tuple(f"x{j}" for j in range(rows.d))
        question = Question(rows, self._y, None, *self._sides, names, self._free)
        verdict, other = second_opinion(question, best.passes)
        if other is not None:
            return other
        raise no_solution(verdict)

    def _margins(self, w: np.ndarray, b: float) -> np.ndarray:
        return np.asarray(self._y * (self._rows.times(w[:, None])[:, 0] + b))

    def mistakes(self, planes: Sequence[Plane]) -> list[tuple[int, float]]:
        margins = (self._margins(*plane) for plane in planes)
        return [(int(np.count_nonzero(m <= 0)), float(m.min())) for m in margins]

    def certificate(self, w: np.ndarray, b: float, edge: float, problem: str) -> Certificate:
        point = Point(w, b, self._y, self._best.alpha, self._C, self._free, edge)
        return certificate(self._rows, point, problem, self._best.passes + 1).proof

    def value(self, w: np.ndarray, b: float) -> float:
        slack = np.maximum(1.0 - self._margins(w, b), 0.0)
        return 0.5 * float(w @ w) + float(self._C @ slack)

    def best_bias(self, w: np.ndarray) -> float:
        turns = self._y - self._rows.times(w[:, None])[:, 0]
        return first_to_reach(turns, self._C, float(self._C[self._y > 0].sum()))

    def regularised(self, scaling: float) -> float:
        wide = with_column(self._rows, scaling)
        best = self._solved(wide, 0.0)
        v = wide.combine((best.alpha * self._y)[None])[0]
        return float(best.alpha.sum()) - 0.5 * float(v @ v)


def no_solution(verdict: Any) -> NotSeparableError:
    """The error of a hard margin that does not exist."""
    return NotSeparableError(
        f"the hard margin has no solution: {verdict.witness}. Pass C to audit a soft margin.",
        {None: verdict},
    )


def first_to_reach(turns: np.ndarray, C: np.ndarray, target: float, below: float = 0.0) -> float:
    """The least point up to which the C_i of all points, and ``below``, add up to ``target``.

    With points y_i − w·x_i, and for target the sum of C_i over the positive class, this is the best b:
    the slope of Σ C_i ξ_i in b is −target + (the sum of C_i over the points up to b).
    """
    order = np.argsort(turns)
    sums = below + np.cumsum(C[order])
    k = int(np.searchsorted(sums, target * (1 - 1e-12)))
    return float(turns[order[min(k, len(order) - 1)]])


def with_column(rows: Rows, value: float) -> Rows:
    """The rows with one more feature, the same for all."""
    if isinstance(rows, PartedRows):
        return rows.mapped(lambda block: with_column(block, value), more=1)
    column = np.full((rows.n, 1), value)
    if isinstance(rows, CsrRows):
        return as_rows(sparse.hstack([rows.matrix, sparse.csr_array(column)], format="csr"))
    return as_rows(np.hstack([rows.take(np.arange(rows.n)), column]))
