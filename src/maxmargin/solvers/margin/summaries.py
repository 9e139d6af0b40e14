"""What a partition returns about a plane of the soft margin: sums over most rows, and a few rows.

With r_i = 1 − m_i, and the hinge smoothed over −δ_i … δ_i, δ_i = δ s_i,

    h(r) = (r + δ_i)²/4δ_i  for |r| ≤ δ_i,   max(0, r) otherwise,   h′ = clip(½ + r/2δ_i, 0, 1),

a :class:`Summary` holds Σ C_i max(0, r_i) for a few points on a line, w + (t − 1) Δw; and for t = 1 the
rows with |r_i| ≤ δ_i themselves, if they are few, or else those that bend the objective most. Of all
other rows it holds Σ C_i h(r_i), the sums of α_i = C_i h′(r_i) over each class, and the Hessian; and how
many rows are how near to the margin. Summaries add up: those of several partitions are one.

One pass makes it. A block of rows is read once, and stays at hand from the first product to the last:
r_i, how much it shrinks by the step, and the scale s_i of the row are columns of one product, and the
sum of the rows is another.

*Scales.* Margins of different rows may still move by different amounts. If z = (w, b) is off by e, and
the objective bends like M = D + H near its minimum, then e is likely as large as eᵀMe allows, and m_i
moves by (a_i, y_i)·e. So the scale of row i is s_i = ‖(a_i, y_i)‖ in the norm of M⁻¹; an outlier has a
large one, and features in other units change nothing. A partition estimates s_i from a few random
directions with the covariance M⁻¹ (:class:`RowScales`).

*Multipliers.* Rows far from the margin have α_i = 0 or C_i by their side. So a plane, a width δ and what
is known of the rows near the margin say what every α_i is (:class:`Rule`), and a partition can compute
its own:

    α_i = φ C_i clip(½ + (1 − m_i)/2δ_i, 0, 1).

The factors φ ≤ 1, one for each sign of y_i, make Σ α_i y_i = 0. Of rows that were solved for, the share
α_i/C_i is given instead; for a hard margin, where there is no rule, the α_i that are not zero.

*Equal rows* count as one with the sum of their bounds: on discrete data few are left. If x_i = x_j and
y_i = y_j, only α_i + α_j matters, and it may be shared in proportion to C_i and C_j. So a partition need
not send both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from maxmargin.kernels.margin import residuals, sort_out, weigh
from maxmargin.rows import Rows
from maxmargin.rows.training_data import matrix_of, stacked
from maxmargin.solvers.margin.augmented_lagrangian import SETTINGS as LAGRANGIAN
from maxmargin.solvers.margin.coordinates import Frame
from maxmargin.solvers.margin.questions import BLOCK_NUMBERS, BinaryTask, Given, View
from maxmargin.solvers.margin.tasks import Plane, one_thread


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    least_exponent: int = -60  # of the powers of two by which distances |r_i|/s_i are told apart,
    largest_exponent: int = 30
    directions: int = 6  # of row scales: with the plane and its step eight columns of a product
    singular_shift: float = 1e-13  # of the diagonal, for a matrix that rounding made singular
    least_diagonal: float = 1e-300
    min_rows_at_a_time: int = 256  # with fewer, adding up matrices is the work
    heavy_share: float = 0.02  # of a row in the curvature, C_i s_i²/2δ_i, from which on it travels


SETTINGS = Settings()


class RowScales(NamedTuple):
    """Directions (Δw, Δb) of the size of an error, one per column; none for very many features."""

    W: np.ndarray
    b: np.ndarray

    def of(self, frame: Frame) -> np.ndarray:
        """s_i of every row: the root mean square along the directions, or ‖(a_i, y_i)‖."""
        if not len(self.b):
            lengths = frame.rows.square_lengths()
            return np.sqrt((lengths if frame.ready else lengths / frame.scaling.scale**2) + frame.pad)
        if frame.ready:
            return root_mean_square(frame.rows.times(self.W) + frame.bias[:, None] * self.b)
        V = self.W / frame.scaling.scale
        shift = frame.pad * self.b - frame.scaling.centre @ V
        return root_mean_square(frame.rows.times(V) + shift)

    def change(self, M: np.ndarray) -> float:
        """How much larger these scales are than those by the matrix M."""
        Z = np.vstack([self.W, self.b])
        return math.sqrt(float(np.einsum("ij,ij->", Z, M @ Z)) / Z.size)


def root_mean_square(F: np.ndarray) -> np.ndarray:
    """Of the rows of a matrix."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", F, F) / F.shape[1]))


def scales_for(M: np.ndarray, pad: float) -> RowScales:
    """Random directions with covariance M⁻¹, always the same draw."""
    unit, L = factor(M)
    normal = np.random.default_rng(0).normal(size=(len(M), SETTINGS.directions))
    Z = linalg.solve_triangular(L, normal, lower=True, trans="T") / unit[:, None]
    return RowScales(np.ascontiguousarray(Z[:-1]), Z[-1] * pad)


def hessian(Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return Σ weight_i z_i z_iᵀ: what rows z_i = (a_i, y_i) with this curvature contribute."""
    with one_thread(Z.size <= LAGRANGIAN.one_thread_entries):
        S = Z * np.sqrt(weight)[:, None]
        return np.asarray(S.T @ S)


def by_length(d: int) -> RowScales:
    """No directions: rows are measured by their lengths."""
    return RowScales(np.empty((d, 0)), np.empty(0))


def factor(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M = (U L)(U L)ᵀ with a diagonal U and a triangular L; M is positive definite up to rounding."""
    unit = np.sqrt(np.maximum(M.diagonal(), SETTINGS.least_diagonal))
    K = M / unit / unit[:, None]
    faint = 0.0
    while True:
        try:
            return unit, linalg.cholesky(K + faint * np.eye(len(K)), lower=True)
        except linalg.LinAlgError:
            faint = max(10.0 * faint, SETTINGS.singular_shift)


class Rule(NamedTuple):
    """The multipliers of rows that are far from the margin, or of all."""

    plane: Plane
    width: float  # zero if every row near the margin is given
    row_scales: RowScales
    plus: float = 1.0
    minus: float = 1.0


def multipliers_of(
    frame: Frame, C: np.ndarray, numbers: np.ndarray, rule: Rule | None, given: Given | None
) -> np.ndarray:
    """α_i for all rows of a partition, whose places there are ``numbers``."""
    if rule is None:
        alpha, bounds = np.zeros(frame.n), np.ones(frame.n)
    else:
        r = 1.0 - frame.margins(*rule.plane)
        share = r > 0.0
        if rule.width:
            share = ramp(r, widths_of(rule.width, rule.row_scales.of(frame)))
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


class NearRows(NamedTuple):
    """Rows by number within the view, ascending."""

    rows: np.ndarray
    r: np.ndarray
    widths: np.ndarray  # δ_i
    scales: np.ndarray  # s_i
    key: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[NearRows]) -> NearRows:
        """Those of all blocks."""
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def some(self, which: np.ndarray) -> NearRows:
        """By place, or where it is true."""
        return NearRows(*(column[which] for column in self))

    def without(self, rows: np.ndarray) -> NearRows:
        """Those that are not among some rows, which are ascending too."""
        return self.some(~np.isin(self.rows, rows, assume_unique=True)) if len(rows) else self

    def nearest(self, max_rows: int) -> NearRows:
        """No more than so many."""
        if len(self.rows) <= max_rows:
            return self
        return self.some(np.sort(np.argpartition(np.abs(self.r) / self.scales, max_rows)[:max_rows]))

    def bend(self, C: np.ndarray) -> np.ndarray:
        """C_i/2δ_i, how much a row bends the smoothed objective along itself."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(C[self.rows] / (2.0 * self.widths))

    def shares(self, C: np.ndarray) -> np.ndarray:
        """The share of each row in the curvature."""
        return np.asarray(self.bend(C) * self.scales**2)


def smoothed_sums(
    view: View, near: NearRows, with_hessian: bool
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray | None]:
    """Add up rows with their smoothed hinges: Σ C_i h(r_i), Σ α_i and Σ α_i a_i by class, the curvature.

    The curvature is left out without ``with_hessian``.
    """
    (frame, C, _), d = view, view.frame.d
    y = frame.y[near.rows]
    alpha = C[near.rows] * ramp(near.r, near.widths)
    sides = np.array([np.where(side, alpha, 0.0) for side in (y > 0.0, y < 0.0)])
    smooth = float(C[near.rows] @ _smooth(near.r, near.widths))
    if not with_hessian or not len(near.rows):
        v = np.array([frame.weighted_sum_of(near.rows, side) for side in sides])
        return smooth, sides.sum(axis=1), v, None
    weight = near.bend(C)
    v, H = np.zeros((2, d)), np.zeros((d + 1, d + 1))
    length = max(SETTINGS.min_rows_at_a_time, BLOCK_NUMBERS // (d + 1))
    for start in range(0, len(near.rows), length):
        part = slice(start, start + length)
        A = np.column_stack([frame.take(near.rows[part]), frame.bias[near.rows[part]]])
        v += sides[:, part] @ A[:, :-1]
        H += hessian(A, weight[part])
    return smooth, sides.sum(axis=1), v, H


def _smooth(r: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The smoothed hinge."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        band = (r + widths) ** 2 / (4.0 * widths)
    return np.asarray(np.where(np.abs(r) < widths, band, np.maximum(r, 0.0)))


class EqualRows(NamedTuple):
    """Groups of equal rows."""

    first: np.ndarray  # a row of each group
    group: np.ndarray  # of each row


def equal_rows(rows: Rows, y: np.ndarray, which: np.ndarray, key: np.ndarray) -> EqualRows:
    """Find equal rows with equal signs among some, by a key of each, a number that equal rows share.

    Of those that are not next to each other in the order of this number some may be missed.
    """
    order = np.lexsort((key, y[which]))
    near = which[order]
    same = (np.diff(key[order]) == 0.0) & (np.diff(y[near]) == 0.0)
    maybe = np.flatnonzero(same)
    if not len(maybe):
        everything = np.arange(len(which))
        return EqualRows(everything, everything)
    X = matrix_of(rows)
    one, other = X[near[maybe]], X[near[maybe + 1]]
    if sparse.issparse(X):
        same[maybe] = np.diff((one != other).tocsr().indptr) == 0
    else:
        same[maybe] = np.all(one == other, axis=1)
    begins = np.concatenate([[True], ~same])
    group = np.empty(len(which), np.int64)
    group[order] = np.cumsum(begins) - 1
    return EqualRows(order[begins], group)


def key_of(rows: Rows) -> np.ndarray:
    """A number for each row, equal for equal rows."""
    return rows.times(np.random.default_rng(0).normal(size=(rows.d, 1)))[:, 0]


TIMES = (1.0, 0.5, 0.25, 0.125, 0.03125, 0.0078125, 0.0)  # t


class SummaryRequest(NamedTuple):
    """What a partition is asked."""

    plane: Plane  # t = 1
    step: Plane | None  # Δw and Δb
    width: float  # δ
    row_scales: RowScales
    max_rows: int  # rows that a partition may send
    with_hessian: bool  # whether a Hessian may travel


def split_at_margin(view: View, wanted: SummaryRequest) -> tuple[Summary, NearRows]:
    """Add up the rows away from the margin; return their summary, and the rows near it."""
    product = _Product(view.frame, wanted)
    steps = 1.0 - np.array(TIMES if wanted.step is not None else TIMES[:1])
    least, largest = SETTINGS.least_exponent, SETTINGS.largest_exponent
    hinge, counts = np.zeros(len(steps)), np.zeros(largest - least + 1, np.int64)
    smooth, signed, v = 0.0, np.zeros(2), np.zeros((2, view.frame.d))
    found = []
    for where, (frame, C, _) in view.blocks():
        r, u, scales, key = product.of(frame)
        inside = np.empty(frame.n, np.int64)
        size = sort_out(r, u, scales, C, wanted.width, steps, least, hinge, counts, inside)
        rows = inside[:size]
        widths = widths_of(wanted.width, scales[rows])
        found.append(NearRows(where.start + rows, r[rows], widths, scales[rows], key[rows]))
        sides = np.empty((2, frame.n))
        smooth += weigh(r, C, frame.y, rows, sides)
        signed += sides.sum(axis=1)
        v += frame.rows.combine(sides)
    scaling = view.frame.scaling
    v = (v - signed[:, None] * scaling.centre) / scaling.scale
    clear = Summary(hinge, np.cumsum(counts), smooth=smooth, alpha=np.abs(signed), v=v)
    return clear, NearRows.joined(found)


class _Product:
    """The columns w, Δw and the directions of the scales, in the coordinates of the user."""

    def __init__(self, frame: Frame, wanted: SummaryRequest) -> None:
        (w, b), scales = wanted.plane, wanted.row_scales
        step = wanted.step or Plane(np.zeros(frame.d), 0.0)
        self.row_scales = scales
        self.V = np.column_stack([w, step.w, scales.W]) / frame.scaling.scale
        biases = np.concatenate([[b, step.b], scales.b])
        self.shift = frame.pad * biases - frame.scaling.centre @ self.V

    def of(self, frame: Frame) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """r_i, how much it shrinks by the step, the scale of the row, and a key of it."""
        F = frame.rows.times(self.V)
        r, u, scales = np.empty((3, frame.n))
        residuals(F, self.shift, frame.y, r, u, scales)
        if len(self.row_scales.b):
            return r, u, scales, F[:, 2]
        return r, u, self.row_scales.of(frame), key_of(frame.rows)


class Grouped(NamedTuple):
    """Rows of a partition on their way here: one of each group of equal rows."""

    part: int
    X: Any
    y: np.ndarray
    C: np.ndarray  # the sum of the group
    numbers: np.ndarray  # of all members, within the partition
    group: np.ndarray  # of each member


class Band(NamedTuple):
    """Rows that count for all that are equal, in any partition."""

    frame: Frame  # in the coordinates of the machine
    C: np.ndarray
    members: list[tuple[int, np.ndarray, np.ndarray]]  # partition, places there, and row here

    def given(self, share: np.ndarray, parts: int) -> list[Given | None]:
        """For each partition the shares α_i/C_i of its rows."""
        all_given: list[Given | None] = [None] * parts
        for part, numbers, row in self.members:
            all_given[part] = Given(numbers, share[row])
        return all_given


def gathered_band(sent: Sequence[Grouped], task: BinaryTask) -> Band | None:
    """What partitions sent; None if that is nothing."""
    if not sent:
        return None
    rows: Rows = stacked([one.X for one in sent])
    y, C = np.concatenate([one.y for one in sent]), np.concatenate([one.C for one in sent])
    groups = equal_rows(rows, y, np.arange(rows.n), key_of(rows))
    starts = np.cumsum([0, *[len(one.y) for one in sent]])
    members = [
        (one.part, one.numbers, groups.group[start + one.group])
        for one, start in zip(sent, starts[:-1].tolist(), strict=True)
    ]
    frame = Frame(rows, y, task.pad, task.scaling).restricted(groups.first)
    return Band(frame, np.bincount(groups.group, C, len(groups.first)), members)


class Summary(NamedTuple):
    """What partitions return."""

    hinge: np.ndarray  # Σ C_i max(0, r_i), for each t; for t = 1 alone if there is no step
    near: np.ndarray  # how many rows have |r_i| ≤ 2^k s_i
    smooth: float  # Σ C_i h(r_i) of the rows that were not sent, and so on
    alpha: np.ndarray  # Σ α_i by class, +1 first
    v: np.ndarray  # Σ α_i a_i likewise
    curvature: np.ndarray | None = None  # Σ C_i/2δ_i (a_i, y_i)(a_i, y_i)ᵀ, if any row is left
    inside: int = 0  # rows with |r_i| ≤ δ_i
    distinct: int = 0  # and how many of these are not alike
    rows: tuple[Grouped, ...] = ()
    unsent: int = 0  # rows with |r_i| ≤ δ_i that were not sent

    def within(self, width: float) -> float:
        """About how many rows have |r_i| ≤ δ s_i: exact at powers of two."""
        if not width < 2.0**SETTINGS.largest_exponent:
            return float(self.near[-1])
        mantissa, k = math.frexp(width)
        k = min(max(k, SETTINGS.least_exponent + 1), SETTINGS.largest_exponent) - SETTINGS.least_exponent
        low, high = float(self.near[k - 1]), float(self.near[k])
        return low + (high - low) * (2.0 * mantissa - 1.0)

    def holding(self, rows: float) -> float:
        """A power of two δ within which so many rows lie, or all of them."""
        k = int(np.searchsorted(self.near, min(rows, float(self.near[-1]))))
        return float(2.0 ** (k + SETTINGS.least_exponent))


def summary_of(view: View, wanted: Sequence[SummaryRequest], number: int) -> list[Summary]:
    """Return the summaries of one partition, which has this number."""
    return [_summary(view, wanted, number) for wanted in wanted]


def _summary(view: View, wanted: SummaryRequest, number: int) -> Summary:
    clear, near = split_at_margin(view, wanted)
    candidates = near if wanted.with_hessian else near.nearest(wanted.max_rows)
    groups = equal_rows(view.frame.rows, view.frame.y, candidates.rows, candidates.key)
    chosen = _to_send(groups, candidates.shares(view.C), wanted.max_rows)
    sent = chosen[groups.group]
    rest = near.without(candidates.rows[sent])
    unsent = rest if wanted.with_hessian else candidates.without(candidates.rows[sent])
    smooth, alpha, v, curvature = smoothed_sums(view, rest, with_hessian=wanted.with_hessian)
    return clear._replace(
        smooth=clear.smooth + smooth,
        alpha=clear.alpha + alpha,
        v=clear.v + v,
        curvature=curvature,
        inside=len(candidates.rows),
        distinct=len(groups.first),
        rows=(_sent(view, groups, chosen, sent, candidates.rows, number),) if sent.any() else (),
        unsent=len(unsent.rows),
    )


def sum_of_partitions(answers: Sequence[list[Summary] | None]) -> list[Summary]:
    """Add up the summaries of all partitions, in their order: one for each request."""
    return [_added(given) for given in zip(*[one for one in answers if one is not None], strict=True)]


def _added(given: Sequence[Summary]) -> Summary:
    curvatures = [one.curvature for one in given if one.curvature is not None]
    return Summary(
        np.sum([one.hinge for one in given], axis=0),
        np.sum([one.near for one in given], axis=0),
        math.fsum([one.smooth for one in given]),
        np.sum([one.alpha for one in given], axis=0),
        np.sum([one.v for one in given], axis=0),
        np.sum(curvatures, axis=0) if curvatures else None,
        sum([one.inside for one in given]),
        sum([one.distinct for one in given]),
        tuple([sent for one in given for sent in one.rows]),
        sum([one.unsent for one in given]),
    )


def _to_send(groups: EqualRows, shares: np.ndarray, max_rows: int) -> np.ndarray:
    """Which groups travel: all, or those that bend the objective."""
    size = len(groups.first)
    if size <= max_rows:
        return np.ones(size, bool)
    shares_of_groups = np.bincount(groups.group, shares, size)
    chosen = shares_of_groups >= SETTINGS.heavy_share
    if np.count_nonzero(chosen) > max_rows:
        chosen[:] = False
        chosen[np.argpartition(-shares_of_groups, max_rows)[:max_rows]] = True
    return np.asarray(chosen)


def _sent(
    view: View, groups: EqualRows, chosen: np.ndarray, sent: np.ndarray, inside: np.ndarray, number: int
) -> Grouped:
    """A row of each group, with the sum of their bounds; and where the members are."""
    first, rows = inside[groups.first[chosen]], inside[sent]
    rank = np.cumsum(chosen) - 1
    group = rank[groups.group[sent]]
    C = np.bincount(group, view.C[rows], len(first))
    X = matrix_of(view.frame.rows.select(first))
    return Grouped(number, X, view.frame.y[first], C, view.numbers[rows], group)
