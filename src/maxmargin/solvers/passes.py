"""Machines that share their passes: each says which plane it wants measured, and one product serves all.

A machine is a generator. It yields a plane (w, b) in the solver's coordinates, and is sent the margins
m_i = a_i·w + y_i b of all rows; what it returns is its result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from maxmargin.kernels.multipliers import sign
from maxmargin.solvers.frame import Frame, NotFiniteError

__all__ = ["SMALL", "TIE", "TIGHT", "Budget", "Course", "MarginPoint", "Plane", "run_together"]

TIE = 1e-13  # primal or dual values nearer than this share are equal
SMALL, TIGHT = 1 << 18, 1e-14  # data of so few entries is solved to the last digit
Plane = tuple[np.ndarray, float]


@dataclass(frozen=True)
class MarginPoint:
    """A plane and multipliers in the solver's coordinates, and what they are worth."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    v: np.ndarray  # Σ α_i a_i
    sigma: float = 0.0  # stiffness to go on with
    passes: int = 0
    primal: float = math.inf
    dual: float = -math.inf
    meets: bool = False  # no plane separates: the multipliers, scaled, are convex weights of a witness

    @property
    def gap(self) -> float:
        """The relative gap."""
        if not self.primal < math.inf:
            return math.inf
        return (self.primal - self.dual) / (self.primal or 1.0)

    def joined(self, other: MarginPoint) -> MarginPoint:
        """Return the better plane and the better multipliers; ``other`` wins where they tie."""
        plane = other if not other.primal > self.primal * (1.0 + TIE) else self
        bound = other if other.dual >= self.dual - TIE * abs(self.dual) else self
        best = replace(other, w=plane.w, b=plane.b, primal=plane.primal)
        return replace(best, alpha=bound.alpha, v=bound.v, dual=bound.dual)


Course = Generator[Plane, np.ndarray, MarginPoint]


@dataclass(frozen=True)
class Budget:
    """When to stop short of the optimum."""

    passes: float = math.inf
    deadline: float = math.inf  # on time.perf_counter
    # Told after each pass of the point, and of its plane in the user's coordinates; True asks to stop.
    report: Callable[[MarginPoint, Plane | None], bool] = field(default=lambda point, plane: False)
    outside: Callable[[np.ndarray, float], Plane] | None = None

    def ended(self, point: MarginPoint) -> bool:
        """Tell how it is going after a pass; whether the budget is used up, or a stop is asked for."""
        plane = None if self.outside is None else self.outside(point.w, point.b)
        stop = self.report(point, plane)
        return stop or point.passes >= self.passes or time.perf_counter() > self.deadline


def run_together(frames: Sequence[Frame], courses: Sequence[Course]) -> list[MarginPoint]:
    """Run all machines on the same rows to their ends; ``frames`` differ in their signs only."""
    results: dict[int, MarginPoint] = {}
    wanted: dict[int, Plane] = {}

    def go_on(k: int, margins: np.ndarray | None) -> None:
        try:
            wanted[k] = courses[k].send(margins)  # type: ignore[arg-type]  # None starts it
        except StopIteration as end:
            results[k] = end.value

    for k in range(len(courses)):
        go_on(k, None)
    while wanted:
        asked, wanted = wanted, {}
        for k, margins in _measure(frames, asked):
            if not np.isfinite(margins.sum()):
                raise NotFiniteError
            go_on(k, margins)
    return [results[k] for k in range(len(courses))]


def _measure(frames: Sequence[Frame], asked: dict[int, Plane]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the margins that each machine asked for: one product for all of them."""
    if len(asked) == 1:
        ((k, plane),) = asked.items()
        yield k, frames[k].values(*plane)
        return
    scene = frames[0].scene
    V = np.column_stack([w for w, _ in asked.values()]) / scene.scale
    F = frames[0].rows.times(V)
    shift = [frames[k].pad * b for k, (_, b) in asked.items()] - scene.centre @ V
    for k, f, c in zip(asked, F.T, shift, strict=True):
        margins = np.ascontiguousarray(f)
        sign(margins, frames[k].y, c)
        yield k, margins
