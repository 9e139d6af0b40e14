"""Machines that share their rounds: each says what it wants to know, and one round serves all.

A machine is a generator. It yields a :class:`Query`, and is sent the answers of the partitions, in
their order (None from those without rows of its classes); what it returns is its result. The function of
a question is a pure function of a :class:`View` of the partition, and of small values.

Multipliers of all rows in a few numbers: a rule for most, values for some.

Rows far from the margin have α_i = 0 or C_i by their side. So a plane, a width δ and what is known of
the rows near the margin say what every α_i is, and a partition can compute its own:

    α_i = φ C_i clip(½ + (1 − m_i)/2δ_i, 0, 1),      δ_i = δ s_i

with the scale s_i of the row (see :mod:`maxmargin.solvers.remote.rounds`). The factors φ ≤ 1, one for
each sign of y_i, make Σ α_i y_i = 0. Of rows that were solved for, the share α_i/C_i is given instead;
for a hard margin, where there is no rule, the α_i that are not zero.

What a machine on partitions has reached, and when it has to stop.

Rows that have come here, with where they are from.

How far the margin of each row may still move: rows differ, so each has a scale of its own.

If z = (w, b) is off by e, and the objective bends like M = D + H near its minimum, then e is likely as
large as eᵀMe allows, and m_i moves by (a_i, y_i)·e. So the scale of row i is s_i = ‖(a_i, y_i)‖ in the
norm of M⁻¹; an outlier has a large one, and features in other units change nothing. A partition
estimates s_i from a few random directions with the covariance M⁻¹ that it is told.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import linalg

from maxmargin.rows import Rows
from maxmargin.rows.partitions import Part, Partitions, matrix_of, stacked
from maxmargin.solvers.margin.augmented_lagrangian import SETTINGS
from maxmargin.solvers.margin.coordinates import Frame, Scene
from maxmargin.solvers.margin.tasks import as_good_a_bound, as_good_a_plane, relative_gap
from maxmargin.solvers.threads import one_thread

T = TypeVar("T")
AT_HAND = 1 << 17  # numbers: a megabyte
SUMS = 32  # so many times the features, at least: a block gives sums over its rows


class Side(NamedTuple):
    """A machine: which labels are +1 and −1, and its bounds C by label code (None: hard margin)."""

    positive: int
    negative: int | None  # None: all others
    C: np.ndarray | None
    pad: float
    scene: Scene

    def signs(self, codes: np.ndarray) -> np.ndarray:
        """Return y = ±1 for label codes."""
        return np.where(codes == self.positive, 1.0, -1.0)

    def members(self, codes: np.ndarray) -> np.ndarray:
        """Where the rows of the machine are."""
        if self.negative is None:
            return np.flatnonzero(codes >= 0)  # rows of weight zero are left out
        return np.flatnonzero((codes == self.positive) | (codes == self.negative))

    def bounds(self, codes: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        """C_i for label codes, and weights of the rows."""
        if self.C is None:
            return np.full(len(codes), np.inf)
        C = self.C[codes]
        return np.asarray(C if weight is None else C * weight)


class View(NamedTuple):
    """The rows of a partition that belong to a machine, in its coordinates."""

    frame: Frame
    C: np.ndarray
    numbers: np.ndarray  # within the partition

    def blocks(self) -> Iterator[tuple[slice, View]]:
        """The same block by block, small enough for a processor to keep at hand."""
        rows, y, pad, scene = self.frame.rows, self.frame.y, self.frame.pad, self.frame.scene
        for where, block in rows.blocks(max(AT_HAND, SUMS * rows.d)):
            frame = Frame(block, y[where], pad, scene)
            yield where, View(frame, self.C[where], self.numbers[where])


def look(part: Part, side: Side) -> View:
    """See a partition as a machine does."""
    which = side.members(part.codes)
    rows, codes, weight = part
    if len(which) < rows.n:
        rows, codes = rows.select(which), codes[which]
        weight = None if weight is None else weight[which]
    frame = Frame(rows, side.signs(codes), side.pad, side.scene)
    return View(frame, side.bounds(codes, weight), which)


class Query(NamedTuple):
    """``function(view, *small)`` is asked of every partition, with its own state at the end.

    With ``combine`` the answers are combined on their way, and there are fewer of them.
    """

    function: Callable[..., Any]
    small: tuple[Any, ...]
    own: Sequence[Any] | None = None
    combine: Callable[[list[Any]], Any] | None = None

    def state(self, number: int) -> tuple[Any, ...]:
        """What one partition is told."""
        return self.small if self.own is None else (*self.small, self.own[number])


Course = Generator[Query, list[Any], T]


def ask_all(rows: Partitions, asked: Sequence[tuple[Side, Query]]) -> list[list[Any]]:
    """One round for several machines: for each of them the answers of the partitions."""
    own = [[(s, q.function, q.state(k)) for s, q in asked] for k in range(rows.parts)]
    each = [q.combine for _, q in asked if q.combine is not None]
    combine = Each(each) if len(each) == len(asked) else None
    answers = rows.each(_answers, own=own, combine=combine)
    return [list(one) for one in zip(*answers, strict=True)]


class Each:
    """Combine the answers to several machines, each in its way; None where no partition had any."""

    def __init__(self, ways: Sequence[Callable[[list[Any]], Any]]) -> None:
        self.ways = list(ways)

    def __call__(self, answers: list[list[Any]]) -> list[Any]:
        """Return one answer for each machine."""
        columns = zip(self.ways, zip(*answers, strict=True), strict=True)
        given = [(way, [one for one in column if one is not None]) for way, column in columns]
        return [way(some) if some else None for way, some in given]


def _answers(part: Part, asked: Sequence[tuple[Side, Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
    answers = []
    for side, function, state in asked:
        view = look(part, side)
        answers.append(function(view, *state) if view.frame.n else None)
    return answers


def run_rounds(rows: Partitions, sides: Sequence[Side], courses: Sequence[Course[T]]) -> list[T]:
    """Run machines to their ends, together."""
    results: dict[int, T] = {}
    wanted: dict[int, Query] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(courses)))
    while answers:
        wanted = {}
        for k, answer in answers.items():
            try:
                wanted[k] = courses[k].send(answer)
            except StopIteration as end:
                results[k] = end.value
        got = ask_all(rows, [(sides[k], question) for k, question in wanted.items()]) if wanted else []
        answers = dict(zip(wanted, got, strict=True))
    return [results[k] for k in range(len(courses))]


DIRECTIONS = 6  # with the plane and its step eight columns of a product
FAINT = 1e-13  # of the diagonal: what is added to a matrix that rounding made singular
SMALLEST = 1e-300


class Gauge(NamedTuple):
    """Directions (Δw, Δb) of the size of an error, one per column; none for very many features."""

    W: np.ndarray
    b: np.ndarray

    def scales(self, frame: Frame) -> np.ndarray:
        """s_i of every row: the root mean square along the directions, or ‖(a_i, y_i)‖."""
        if not len(self.b):
            lengths = frame.rows.square_lengths()
            return np.sqrt((lengths if frame.ready else lengths / frame.scene.scale**2) + frame.pad)
        if frame.ready:
            return root_mean_square(frame.rows.times(self.W) + frame.bias[:, None] * self.b)
        V = self.W / frame.scene.scale
        shift = frame.pad * self.b - frame.scene.centre @ V
        return root_mean_square(frame.rows.times(V) + shift)

    def change(self, M: np.ndarray) -> float:
        """How much larger scales by this gauge are than by the matrix M."""
        Z = np.vstack([self.W, self.b])
        return math.sqrt(float(np.einsum("ij,ij->", Z, M @ Z)) / Z.size)


def root_mean_square(F: np.ndarray) -> np.ndarray:
    """Of the rows of a matrix."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", F, F) / F.shape[1]))


def gauge_of(M: np.ndarray, pad: float) -> Gauge:
    """Random directions with covariance M⁻¹, always the same draw."""
    unit, L = factor(M)
    normal = np.random.default_rng(0).normal(size=(len(M), DIRECTIONS))
    Z = linalg.solve_triangular(L, normal, lower=True, trans="T") / unit[:, None]
    return Gauge(np.ascontiguousarray(Z[:-1]), Z[-1] * pad)


def bent(Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Σ weight_i z_i z_iᵀ."""
    with one_thread(Z.size <= SETTINGS.one_thread_entries):
        S = Z * np.sqrt(weight)[:, None]
        return np.asarray(S.T @ S)


def plain_gauge(d: int) -> Gauge:
    """No directions: rows are measured by their lengths."""
    return Gauge(np.empty((d, 0)), np.empty(0))


def factor(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M = (U L)(U L)ᵀ with a diagonal U and a triangular L; M is positive definite up to rounding."""
    unit = np.sqrt(np.maximum(M.diagonal(), SMALLEST))
    K = M / unit / unit[:, None]
    faint = 0.0
    while True:
        try:
            return unit, linalg.cholesky(K + faint * np.eye(len(K)), lower=True)
        except linalg.LinAlgError:
            faint = max(10.0 * faint, FAINT)


class Plane(NamedTuple):
    """A plane in the coordinates of the solver."""

    w: np.ndarray
    b: float


class Rule(NamedTuple):
    """The multipliers of rows that are far from the margin, or of all."""

    plane: Plane
    width: float  # zero if every row near the margin is given
    gauge: Gauge
    plus: float = 1.0
    minus: float = 1.0


class Given(NamedTuple):
    """Multipliers of some rows of a partition by their places, or shares of their bounds."""

    places: np.ndarray
    values: np.ndarray

    def among(self, numbers: np.ndarray) -> Given:
        """Those of a stretch of rows."""
        inside = (self.places >= numbers[0]) & (self.places <= numbers[-1])
        return Given(self.places[inside], self.values[inside])


class Multipliers(NamedTuple):
    """A rule, or None for zeros, and what is given for each partition."""

    rule: Rule | None
    given: list[Given | None]


def multipliers_of(
    frame: Frame, C: np.ndarray, numbers: np.ndarray, rule: Rule | None, given: Given | None
) -> np.ndarray:
    """α_i for all rows of a partition, whose places there are ``numbers``."""
    if rule is None:
        alpha, bounds = np.zeros(frame.n), np.ones(frame.n)
    else:
        r = 1.0 - frame.values(*rule.plane)
        share = r > 0.0
        if rule.width:
            share = ramp(r, widths_of(rule.width, rule.gauge.scales(frame)))
        alpha = share * C * np.where(frame.y > 0.0, rule.plus, rule.minus)
        bounds = C
    if given is not None:
        where = np.searchsorted(numbers, given.places)
        alpha[where] = given.values * bounds[where]
    return np.asarray(alpha)


def widths_of(width: float, scales: np.ndarray) -> np.ndarray:
    """δ_i = δ s_i; all infinite if δ is."""
    return np.full(len(scales), np.inf) if width == np.inf else width * scales


def ramp(r: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The slope of the hinge, 0 to 1, smoothed over −δ_i … δ_i."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.clip(0.5 + r / (2.0 * widths), 0.0, 1.0)
    return np.where(r > widths, 1.0, np.where(r < -widths, 0.0, share))


class Sent(NamedTuple):
    """Rows on their way here."""

    numbers: np.ndarray  # within the partition
    y: np.ndarray
    C: np.ndarray
    X: Any


class Pool(NamedTuple):
    """Rows of a machine, in the order in which they came."""

    rows: Rows
    y: np.ndarray
    C: np.ndarray
    part: np.ndarray
    number: np.ndarray

    def frame(self, side: Side) -> Frame:
        """The rows in the coordinates of the machine."""
        return Frame(self.rows, self.y, side.pad, side.scene).restricted(np.arange(self.rows.n))

    def joined(self, other: Pool) -> Pool:
        """These rows, then the others."""
        rows = stacked([matrix_of(self.rows), matrix_of(other.rows)])
        return Pool(rows, *(np.concatenate(pair) for pair in zip(self[1:], other[1:], strict=True)))

    def some(self, which: np.ndarray) -> Pool:
        """Some of the rows."""
        return Pool(self.rows.select(which), *(values[which] for values in self[1:]))

    def known(self, parts: int) -> list[np.ndarray]:
        """For each partition the numbers of the rows that are here."""
        return [self.number[self.part == k] for k in range(parts)]

    def given(self, alpha: np.ndarray, parts: int) -> list[Given | None]:
        """For each partition the multipliers of its rows that are not zero, ``alpha`` in their order."""
        some = np.flatnonzero(alpha)
        part = self.part[some]
        mine = [some[part == k] for k in range(parts)]
        return [Given(self.number[which], alpha[which]) if len(which) else None for which in mine]


def gathered(sent: Sequence[Sent | None]) -> Pool | None:
    """What partitions sent, in their order; None if that is nothing."""
    some = [(k, rows) for k, rows in enumerate(sent) if rows is not None and len(rows.numbers)]
    if not some:
        return None
    part = np.repeat([k for k, _ in some], [len(rows.numbers) for _, rows in some])
    rows = stacked([rows.X for _, rows in some])
    y, C, number = (np.concatenate([getattr(r, k) for _, r in some]) for k in ("y", "C", "numbers"))
    return Pool(rows, y, C, part, number)


@dataclass(frozen=True)
class RemotePoint:
    """A plane and multipliers in the coordinates of the solver, and what they are worth on all rows."""

    plane: Plane
    multipliers: Multipliers
    primal: float = math.inf
    dual: float = -math.inf
    meets: Pool | None = None  # rows that no plane separates
    weights: np.ndarray | None = None  # with which these cancel, to rounding
    proof: list[Any] | None = None  # what partitions contribute to its certificate, if they were asked

    @property
    def gap(self) -> float:
        """The relative gap."""
        return relative_gap(self.primal, self.dual)

    def with_plane(self, plane: Plane, primal: float) -> RemotePoint:
        """The point with a plane, if that is as good."""
        better = as_good_a_plane(primal, self.primal)
        return replace(self, plane=plane, primal=primal) if better else self

    def with_multipliers(self, multipliers: Multipliers, dual: float) -> RemotePoint:
        """The point with multipliers, if those are as good."""
        better = as_good_a_bound(dual, self.dual)
        return replace(self, multipliers=multipliers, dual=dual) if better else self


class Closing(NamedTuple):
    """The round of the certificate, for a point that is likely the last one."""

    question: Callable[[Side, RemotePoint], Query]
    values: Callable[[Side, RemotePoint, list[Any]], tuple[float, float]]  # primal and dual


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    tol: float
    deadline: float = math.inf  # on time.perf_counter
    # Told after each round of the point; True asks to stop.
    report: Callable[[RemotePoint], bool] = field(default=lambda point: False)
    closing: Closing | None = None

    def ended(self, point: RemotePoint) -> bool:
        """Whether the work is done, the time is over, or a stop is asked for."""
        stop = self.report(point)
        return stop or point.gap <= self.tol or time.perf_counter() > self.deadline
