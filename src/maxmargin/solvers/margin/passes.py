"""Machines that share their passes: each says which plane it wants measured, and one product serves all.

A machine is a generator. It yields a plane (w, b) in the solver's coordinates, and is sent the margins
m_i = a_i·w + y_i b of all rows; what it returns is its result. Before each plane, and now and then in
long work, it yields a state (a dict) from which it can begin again, and takes the same way.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, TypeVar

import numpy as np

from maxmargin.core.state_forms import Form, count, flag, number, numbers, record
from maxmargin.kernels.margin import sign
from maxmargin.solvers.margin.coordinates import Frame, NotFiniteError
from maxmargin.solvers.margin.tasks import as_good_a_bound, as_good_a_plane, relative_gap
from maxmargin.solvers.threads import HaltedError, advance

SMALL, TIGHT = 1 << 18, 1e-14  # data of so few entries is solved to the last digit
Plane = tuple[np.ndarray, float]
State = dict[str, Any]  # of plain values, arrays and points; see ``core.keeping``
T = TypeVar("T")


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
        return relative_gap(self.primal, self.dual)

    def joined(self, other: MarginPoint) -> MarginPoint:
        """Return the better plane and the better multipliers; ``other`` wins where they tie."""
        plane = other if as_good_a_plane(other.primal, self.primal) else self
        bound = other if as_good_a_bound(other.dual, self.dual) else self
        best = replace(other, w=plane.w, b=plane.b, primal=plane.primal)
        return replace(best, alpha=bound.alpha, v=bound.v, dual=bound.dual)


def point_form(n: int | None, d: int) -> Form:
    """What a point on n rows of d features must look like; see ``core.state_forms``."""
    return record(
        MarginPoint,
        w=numbers(d),
        b=number,
        alpha=numbers(n),
        v=numbers(d),
        sigma=number,
        passes=count,
        primal=number,
        dual=number,
        meets=flag,
    )


Course = Generator[Plane | State, np.ndarray, T]


@dataclass(frozen=True)
class Budget:
    """When to stop short of the optimum."""

    passes: float = math.inf
    deadline: float = math.inf  # on time.perf_counter
    # Told after each pass of the point, and of its plane in the user's coordinates; True asks to stop.
    report: Callable[[MarginPoint, Plane | None], bool] = field(default=lambda point, plane: False)
    outside: Callable[[np.ndarray, float], Plane] | None = None
    halt: Event = field(default_factory=Event)  # set when another machine failed, or Ctrl-C was pressed

    def go_on(self) -> None:
        """End the work if another machine was ended."""
        if self.halt.is_set():
            raise HaltedError

    def is_up(self, passes: int) -> bool:
        """Whether so many passes are enough, or the time is over."""
        return passes >= self.passes or time.perf_counter() > self.deadline

    def ended(self, point: MarginPoint) -> bool:
        """Tell how it is going after a pass; whether the budget is used up, or a stop is asked for."""
        plane = None if self.outside is None else self.outside(point.w, point.b)
        stop = self.report(point, plane)
        return stop or self.is_up(point.passes)


def run_together(
    frames: Sequence[Frame],
    courses: Sequence[Course[T]],
    saved: Sequence[State | T | None],
    jobs: int = 1,
    halt: Event | None = None,
) -> Generator[list[State | T | None], None, list[T]]:
    """Run all machines on the same rows to their ends; ``frames`` differ in their signs only.

    Yields, whenever one of them offers a state, where all machines are: their last states, or results;
    ``saved`` tells where they begin. All wait until each wants a plane: so the same planes are measured
    together wherever a run began. Until then they run side by side, so many ``jobs`` at a time.
    """
    results: dict[int, T] = {}
    working: list[int] = list(range(len(courses)))
    wanted: dict[int, Plane] = {}
    states = list(saved)
    halt = Event() if halt is None else halt
    while working or wanted:
        for k, (ended, wish) in (yield from advance(courses, working, states, jobs, halt)).items():
            if ended:
                states[k] = results[k] = wish
            else:
                wanted[k] = wish
        asked, wanted, working, jobs = dict(sorted(wanted.items())), {}, [], 1
        for k, margins in _measure(frames, asked) if asked else ():
            if not np.isfinite(margins.sum()):
                raise NotFiniteError
            try:
                wish = courses[k].send(margins)
            except StopIteration as end:
                states[k] = results[k] = end.value
                continue
            if isinstance(wish, dict):
                states[k] = wish
                working.append(k)
            else:
                wanted[k] = wish
        if working:
            yield states
    return [results[k] for k in range(len(courses))]


def within(
    inner: Generator[Any, Any, T], state: Callable[[Any], State]
) -> Generator[Plane | State, np.ndarray, T]:
    """Run a part of a course, whose states are part of those of the whole; planes pass through."""
    answer = None
    while True:
        try:
            wish = inner.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
        answer = yield wish if isinstance(wish, tuple) else state(wish)


def run_out(course: Generator[Any, None, T]) -> T:
    """Return the result of a generator; what it yields is not needed."""
    while True:
        try:
            next(course)
        except StopIteration as end:
            result: T = end.value
            return result


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
