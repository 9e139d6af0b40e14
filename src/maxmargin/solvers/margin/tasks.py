"""What is asked of the solvers of margin machines, and what they answer.

A :class:`Task` is one machine. Machines on the same rows are solved together, so that one product with
the rows serves all of them (:func:`measure`). After each pass a solver has a :class:`MarginPoint`; it
hands it to its :class:`Budget`, which reports it and says whether to go on. The answer is a
:class:`Solved`.

Here is also what a plane and multipliers are worth: how far apart their values are, and which of two is
better; and how Σ α_i y_i = 0 is made true by a small correction within the bounds.

Products of small matrices run on one thread (:func:`one_thread`), where two would wait for each other
longer than they work; machines that do not need each other run side by side (:func:`in_threads`). The
compiled loops let go of Python's lock, so machines share the rows and work at the same time. What a
machine computes does not depend on the others: the results are the same for any number of threads.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, partial
from threading import Event
from typing import Any, NamedTuple, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from maxmargin.kernels.margin import sign
from maxmargin.solvers.margin.coordinates import Frame, NotFiniteError

SMALL_ENTRIES = 1 << 18  # data of no more is solved to the last digit,
TIGHT_GAP = 1e-14  # or this gap


class Plane(NamedTuple):
    """w·x + b = 0."""

    w: np.ndarray
    b: float


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    tie: float = 1e-13  # primal or dual values nearer than this share are equal
    rounding_slack: float = 1e-6  # up to which scaling the plane may be cheaper than paying for it
    max_exact_sum: int = 5_000  # multipliers that are added up exactly
    little_excess: float = 1e-12  # of a balance: one row can take it alone
    max_balance_share: float = 0.9  # of what some rows could balance that the others may need
    max_imbalance: float = 1e-9  # |Σ α_i y_i| against Σ α_i from which on the dual value says nothing


SETTINGS = Settings()


class Way(NamedTuple):
    """How to solve: a word (see :mod:`maxmargin.solvers.margin.solve`), how many machines at a time."""

    solver: str = "auto"
    jobs: int = 1


class Pass(NamedTuple):
    """Primal and dual value after a pass over the data."""

    n_passes: int
    primal: float
    dual: float


@dataclass(frozen=True)
class MarginPoint:
    """A plane and multipliers, and what they are worth; in the solver's coordinates, or the user's."""

    w: np.ndarray
    b: float
    alpha: Any  # an array; of rows in partitions their Multipliers
    v: np.ndarray = field(default_factory=partial(np.empty, 0))  # Σ α_i a_i
    sigma: float = 0.0  # stiffness to go on with
    passes: int = 0  # over the rows; of a reduced problem over the rows at hand
    steps: int = 0  # of Newton's method on the way here
    primal: float = math.inf
    dual: float = -math.inf
    meets: bool = False  # no plane separates: the multipliers, scaled, are convex weights of a witness
    pool: Any = None  # the rows of the witness, in the order of ``weights``, if it is of a pool
    weights: np.ndarray | None = None
    proof: list[Any] | None = None  # what partitions contribute to its certificate, if they were asked

    @property
    def gap(self) -> float:
        """The relative gap."""
        return relative_gap(self.primal, self.dual)

    def joined(self, other: MarginPoint) -> MarginPoint:
        """Return the better plane and the better multipliers; ``other`` wins where they tie."""
        plane = other if as_good_a_plane(other.primal, self.primal) else self
        bound = other if other.meets or as_good_a_bound(other.dual, self.dual) else self
        if plane is other and bound is other:
            return other
        w, b, alpha, v = plane.w, plane.b, bound.alpha, bound.v
        return replace(other, w=w, b=b, alpha=alpha, v=v, primal=plane.primal, dual=bound.dual)

    def with_plane(self, plane: Plane, primal: float) -> MarginPoint:
        """The point with another plane, if that is as good."""
        better = as_good_a_plane(primal, self.primal)
        return replace(self, w=plane[0], b=plane[1], primal=primal) if better else self

    def with_multipliers(self, alpha: Any, dual: float) -> MarginPoint:
        """The point with other multipliers, if those are as good."""
        better = as_good_a_bound(dual, self.dual)
        return replace(self, alpha=alpha, dual=dual) if better else self


@dataclass(frozen=True)
class Task:
    """One machine: labels ±1, and the bounds C_i on the multipliers, or None for a hard margin."""

    y: np.ndarray
    C: np.ndarray | None
    start: MarginPoint | None = None  # in the user's coordinates


@dataclass(frozen=True)
class Solved:
    """The optimum of one machine in the user's coordinates, or multipliers that cancel."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    passes: int
    meets: bool = False  # no plane separates, to rounding: the multipliers are weights that cancel
    solver: str = "newton"  # or "descent" or "mixed": how it was found
    log: tuple[Pass, ...] = ()  # primal and dual value after each pass


def ignore(machine: int, point: MarginPoint) -> bool:
    """Report to nobody."""
    return False


def unchanged(point: MarginPoint) -> MarginPoint:
    """Return the point: the solver works in the user's coordinates."""
    return point


@dataclass(frozen=True)
class Budget:
    """When to stop short of the optimum, and who hears of each pass."""

    passes: float = math.inf
    deadline: float = math.inf  # on time.perf_counter
    # Called after each pass with the number of the machine and its point in the user's coordinates;
    # True asks to stop.
    report: Callable[[int, MarginPoint], bool] = ignore
    halt: Event = field(default_factory=Event)  # set when another machine failed, or Ctrl-C was pressed
    machine: int = 0
    outside: Callable[[MarginPoint], MarginPoint] = unchanged  # to the user's coordinates
    log: list[Pass] = field(default_factory=list)  # what was reported of this machine

    def is_free(self) -> bool:
        """Whether there is time for work of milliseconds, and nobody asks how it is going."""
        return self.passes == math.inf and self.report is ignore and not self.is_up(0)

    def go_on(self) -> None:
        """End the work if another machine was ended."""
        if self.halt.is_set():
            raise HaltedError

    def is_up(self, passes: int) -> bool:
        """Whether so many passes are enough, or the time is over."""
        return passes >= self.passes or time.perf_counter() > self.deadline

    def ended(self, point: MarginPoint) -> bool:
        """Report a pass; True if the budget is used up, or a stop is asked for."""
        self.go_on()
        point = self.outside(point)
        self.log.append(Pass(point.passes, point.primal, point.dual))
        stop = self.report(self.machine, point)
        return stop or self.is_up(point.passes)


def measure(frames: Sequence[Frame], planes: Sequence[Plane]) -> list[np.ndarray]:
    """Return the margins of all rows for each machine's plane: one product for all of them.

    The frames differ in their signs only.
    """
    if len(planes) <= 1:
        found = [frames[0].margins(*planes[0])] if planes else []
    else:
        scaling, found = frames[0].scaling, []
        V = np.column_stack([w for w, _ in planes]) / scaling.scale
        F = frames[0].rows.times(V)
        for frame, plane, v, f in zip(frames, planes, V.T, F.T, strict=True):
            margins = np.ascontiguousarray(f)
            sign(margins, frame.y, frame.pad * plane[1] - float(scaling.centre @ v))
            found.append(margins)
    for margins in found:
        if not np.isfinite(margins.sum()):
            raise NotFiniteError
    return found


def relative_gap(primal: float, dual: float) -> float:
    """The gap as a share of the primal value; below zero by rounding only."""
    if not primal < math.inf:
        return math.inf
    return (primal - dual) / (primal or 1.0)


def as_good_a_plane(primal: float, best: float) -> bool:
    """Whether a plane of this primal value is no worse than the best one."""
    return not primal > best * (1.0 + SETTINGS.tie)


def as_good_a_bound(dual: float, best: float) -> bool:
    """Whether multipliers of this dual value are no worse than the best ones."""
    return dual >= best - SETTINGS.tie * abs(best)


def dual_value(total: float, square: float, excess: float, hard: bool = False) -> float:
    """What multipliers with Σ α_i, ‖Σ α_i a_i‖² and Σ α_i y_i are worth; −∞ if they do not balance."""
    if not (abs(excess) <= SETTINGS.max_imbalance * total and square < math.inf):  # or nan
        return -math.inf
    if not hard:
        return total - 0.5 * square
    if square > 0.0:
        value = 0.5 * total * (total / square)
        return value if value < math.inf else -math.inf  # out of the range of doubles
    return math.inf if total > 0.0 else -math.inf


def scaled_up(square: float, linear: float, m: np.ndarray, C: np.ndarray) -> tuple[float, float]:
    """Return ½t²‖w‖² − t·linear + Σ C_i max(0, 1 − t m_i) for the better of two t, and this t ≥ 1.

    Rows on the margin miss it by rounding, and a large C makes much of that. A plane (t w, t b) with t
    just large enough for them costs next to nothing instead.
    """
    slack = np.maximum(1.0 - m, 0.0)
    plain = 0.5 * square - linear + float(C @ slack)
    slack[slack > SETTINGS.rounding_slack] = 0.0
    most = float(slack.max(initial=0.0))
    if most == 0.0:
        return plain, 1.0
    t = (1.0 + 4e-16) / (1.0 - most)
    lifted = 0.5 * t * t * square - t * linear + float(C @ np.maximum(1.0 - t * m, 0.0))
    return (lifted, t) if lifted < plain else (plain, 1.0)


def balanced(alpha: np.ndarray, y: np.ndarray, C: np.ndarray, others: float = 0.0) -> np.ndarray:
    """Take from the heavier side, from its free rows if they suffice; ``others``: the rows left out."""
    excess = excess_of(alpha, y, others)
    if excess == 0.0:
        return alpha
    alpha = alpha.copy()
    if abs(excess) > SETTINGS.little_excess * float(alpha.sum()):
        side = (alpha > 0.0) & (y * excess > 0.0)
        free = side & (alpha < C)
        if float(alpha[free].sum()) > 2.0 * abs(excess):
            side = free
        total = float(alpha[side].sum())
        if total > 0.0:
            alpha[side] *= max(1.0 - abs(excess) / total, 0.0)
        excess = excess_of(alpha, y, others)
    if excess:  # what is left is rounding: one row takes it, and the others keep their last digits
        side = np.where((y * excess > 0.0) & (alpha < C), alpha, 0.0)
        largest = int(np.argmax(side))
        if side[largest] > abs(excess):
            alpha[largest] -= abs(excess)
    return alpha


def can_balance(y: np.ndarray, C: np.ndarray, others: float) -> bool:
    """Whether multipliers of some rows can make up for Σ α_j y_j of the others, with room to spare."""
    up, down = float(C[y > 0.0].sum()), float(C[y < 0.0].sum())
    return -SETTINGS.max_balance_share * up <= others <= SETTINGS.max_balance_share * down


def excess_of(alpha: np.ndarray, y: np.ndarray, others: float) -> float:
    """Σ α_i y_i, with that of the rows left out."""
    some = np.flatnonzero(alpha)
    signed = alpha[some] * y[some]
    exact = len(some) <= SETTINGS.max_exact_sum
    return (math.fsum(signed.tolist()) if exact else float(signed.sum())) + others


def to_scale(alpha: np.ndarray, factor: float, uneven: bool) -> np.ndarray:
    """Multiply by a factor that is 1 up to rounding, unless it is nothing but rounding.

    The dual value feels the square of what is left. Where features differ much in scale, the rounding of
    a product is felt more.
    """
    return alpha if abs(factor - 1.0) <= (1e-6 if uneven else 1e-12) else alpha * factor


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread(if_small: bool = True) -> AbstractContextManager[Any]:
    """Run matrix products on one thread in a ``with`` block."""
    return _controller().limit(limits=1, user_api="blas") if if_small else nullcontext()


MOMENT = 0.1  # seconds after which Ctrl-C is noticed
THREAD = "maxmargin"  # how threads are called
T = TypeVar("T")


class HaltedError(Exception):
    """Another machine failed, or Ctrl-C was pressed."""


def in_threads(calls: Sequence[Callable[[], T]], jobs: int, halt: Event) -> list[T]:
    """Return the results of calls that run side by side, so many at a time; a single one runs here.

    If one fails, or whoever waits for them does, ``halt`` is set, and all have ended when the error
    comes out.
    """
    if jobs == 1 or len(calls) == 1:
        return [call() for call in calls]
    with ThreadPoolExecutor(jobs, THREAD) as pool:
        futures = [pool.submit(call) for call in calls]
        try:
            pending = set(futures)
            while pending:
                done, pending = wait(pending, MOMENT, FIRST_COMPLETED)
                for future in done:
                    future.result()
        except BaseException:
            halt.set()
            for future in futures:
                future.cancel()
            raise
        return [future.result() for future in futures]
