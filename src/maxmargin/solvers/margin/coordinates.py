"""The rows as a margin machine works on them: signed, centred and scaled.

a_i = y_i (x_i − c)/s with a centre c and a power of two s. Moving the origin changes only b, and
scaling by s changes w by 1/s and C by s², so nothing is lost; but sums no longer cancel, and products
stay within the range of doubles. In these coordinates the margin of row i is m_i = a_i·w + y_i b.

From one Newton step to the next the band changes by a few rows. With hundreds of features, forming A Aᵀ
anew costs far more than all the rest of a step; so the products of all rows met so far are kept
(:class:`InnerProducts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from maxmargin.core.memory import copy_limit
from maxmargin.core.parameters import LARGEST, SMALLEST
from maxmargin.kernels.margin import sign
from maxmargin.rows import DenseRows, Rows
from maxmargin.rows.base import draw


@dataclass(frozen=True)
class Settings:
    """What bounds the work; see each field."""

    max_rows_with_products: int = 2_500  # whose inner products are kept
    length_sample: int = 1_000  # rows that tell how long rows are
    scaling_sample: int = 2_000  # rows that tell centre and scale, roughly,
    max_sample_entries: int = 1 << 22  # of so many entries at most
    dense_share: float = 0.08  # of nonzeros from which a working set is faster as a dense matrix
    uneven_ratio: float = 1e3  # of two features' scales, from which a Gram matrix loses the smaller
    max_densified_entries: int = 1 << 24  # of sparse rows that are made dense
    rows_at_a_time: int = 4_096
    vectors_kept: int = 12  # numbers per row beside the rows: margins, multipliers, …
    max_doubled_entries: int = 1 << 18  # of ready rows that are kept with the column of the bias, too
    entries_centred_at_a_time: int = 1 << 20  # of X


SETTINGS = Settings()


class InnerProducts:
    """x_i·x_j for a growing set of rows, of which there are ``max_rows`` at a time."""

    def __init__(self, n: int, max_rows: int) -> None:
        self._place, self._max_rows = np.full(n, -1), max_rows
        self._known = np.empty((0, 0))  # with room for more
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self._place[:] = -1
        self.count = 0
        self.history: list[np.ndarray] = []  # rows that were added together

    def fresh(self, which: np.ndarray) -> np.ndarray:
        """Which of these rows are not known; if all would be too many, the others are forgotten."""
        fresh = self._place[which] < 0
        if self.count + np.count_nonzero(fresh) > self._max_rows:
            self.clear()
            fresh = np.ones(len(which), dtype=bool)
        return np.asarray(fresh)

    def add(self, which: np.ndarray, products: np.ndarray) -> None:
        """Take in the products of new rows with all that are known, and then with themselves."""
        old, new = self.count, self.count + len(which)
        if new > len(self._known):
            room = max(2 * len(self._known), new)
            known = np.empty((room, room))
            known[:old, :old] = self._known[:old, :old]
            self._known = known
        self._known[old:new, :new] = products
        self._known[:old, old:new] = products[:, :old].T
        self._place[which] = np.arange(old, new)
        self.count = new
        self.history.append(which)

    def known(self, which: np.ndarray) -> np.ndarray:
        """The products of some known rows with each other."""
        at = self._place[which]
        return np.asarray(self._known[np.ix_(at, at)])


class Products(InnerProducts):
    """A Aᵀ for rows that come dense, with their labels' signs; they are kept, too."""

    def __init__(self, n: int, d: int) -> None:
        super().__init__(n, SETTINGS.max_rows_with_products)
        self._rows = np.empty((0, d))  # with room for more

    def among(self, band: np.ndarray, A: np.ndarray) -> np.ndarray:
        """Return A Aᵀ, where A holds the rows ``band``."""
        fresh = self.fresh(band)
        if fresh.any():
            self._extend(band[fresh], A[fresh])
        return self.known(band)

    def _extend(self, which: np.ndarray, A: np.ndarray) -> None:
        old, new = self.count, self.count + len(which)
        if new > len(self._rows):
            rows = np.empty((max(2 * len(self._rows), new), A.shape[1]))
            rows[:old] = self._rows[:old]
            self._rows = rows
        self._rows[old:new] = A
        self.add(which, A @ self._rows[:new].T)


class NotFiniteError(ArithmeticError):
    """A row holds nan or an infinity, or a number so large that its products do."""


class Scaling(NamedTuple):
    """Where the coordinates of the solver lie in those of the user."""

    centre: np.ndarray
    scale: float
    uneven: bool = False  # whether features differ much in scale

    def outside(self, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """Return (w, b) in the user's coordinates."""
        w = w / self.scale
        return w, float(b - w @ self.centre)

    def inside(self, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """Return (w, b) in the solver's coordinates."""
        return w * self.scale, float(b + w @ self.centre)


def find_scaling(rows: Rows, pad: float) -> Scaling:
    """Choose centre and scale; through the origin (pad = 0) the centre has to stay where it is."""
    size = max(1, min(SETTINGS.scaling_sample, SETTINGS.max_sample_entries // rows.d))
    X = rows.take(draw(rows.n, size))
    _check(X)
    centre = X.mean(axis=0) if pad else np.zeros(rows.d)
    reach = np.max(np.abs(X - centre), axis=0, initial=0.0)
    reach = reach[reach > 0]
    if not len(reach):
        return Scaling(centre, 1.0)
    uneven = bool(reach.max() > SETTINGS.uneven_ratio * reach.min())
    if not SMALLEST <= reach.max() <= LARGEST:
        raise NotFiniteError
    return Scaling(centre, float(2.0 ** np.round(np.log2(reach.max()))), uneven)


class Frame:
    """Rows a_i = y_i (x_i − c)/s, and the column y that the bias sees (zero without a bias)."""

    def __init__(
        self,
        rows: Rows,
        y: np.ndarray,
        pad: float,
        scaling: Scaling,
        ready: bool = False,
        shared: dict[str, np.ndarray] | None = None,
    ) -> None:
        self.rows = rows
        self.y = y
        self.bias = y * pad
        self.pad = pad
        self.scaling = scaling
        self.ready = ready  # the rows are signed, centred and scaled already
        self.n, self.d = rows.n, rows.d
        self.shared = {} if shared is None else shared  # what machines on the same rows compute once
        self._all_with_bias: np.ndarray | None = None  # see with_bias

    @cached_property
    def products(self) -> Products:
        """Inner products of rows that have been in the band."""
        return Products(self.n, self.d)

    @cached_property
    def max_rows(self) -> int:
        """How many rows a working set may hold: all, or what a copy of rows in a file has room for."""
        return (
            self.n
            if self.rows.resident
            else max(1, copy_limit(SETTINGS.vectors_kept * self.n) // self.d)
        )

    @cached_property
    def chunk(self) -> int:
        """How many rows are taken at a time."""
        most = SETTINGS.rows_at_a_time
        return most if self.rows.resident else min(most, 1 + self.rows.block_length() // 2)

    @cached_property
    def reach(self) -> np.ndarray:
        """max_i |a_ij| for every feature j, or somewhat more."""
        reach = self.rows.column_reach
        if not self.ready:
            reach = (reach + np.abs(self.scaling.centre)) / self.scaling.scale
        return np.asarray(reach)

    @cached_property
    def mean_square(self) -> float:
        """About the mean of ‖a_i‖², from some rows; 1 if they are all zero."""
        some = self.take(draw(self.n, SETTINGS.length_sample))
        return float(np.mean(np.einsum("ij,ij->i", some, some))) or 1.0

    def margins(self, w: np.ndarray, b: float) -> np.ndarray:
        """The margins m_i = a_i·w + y_i b: one pass."""
        if self.ready:
            f = self.rows.times(w[:, None])[:, 0]
            return f + b * self.bias if b else f
        v = w / self.scaling.scale
        f = self.rows.times(v[:, None])[:, 0]
        sign(f, self.y, self.pad * b - float(v @ self.scaling.centre))
        return f

    def weighted_sum(self, alpha: np.ndarray) -> np.ndarray:
        """Σ α_i a_i: one pass, or less if most α are zero."""
        some = alpha.nonzero()[0]
        if 8 * len(some) < self.n:
            return self.weighted_sum_of(some, alpha[some])
        if self.ready:
            return np.asarray(self.rows.combine(alpha[None])[0])
        signed = alpha * self.y
        total = self.rows.combine(signed[None])[0] - float(signed.sum()) * self.scaling.centre
        return np.asarray(total / self.scaling.scale)

    def weighted_sum_of(self, which: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Σ α_i a_i over a few rows."""
        if self.rows.is_sparse:
            signed = alpha * self.y[which]
            total = self.rows.select(which).combine(signed[None])[0]
            return np.asarray(total - float(signed.sum()) * self.scaling.centre) / self.scaling.scale
        total = np.zeros(self.d)
        for start in range(0, len(which), self.chunk):
            part = slice(start, start + self.chunk)
            total += alpha[part] @ self.take(which[part])
        return total

    def take(self, which: np.ndarray) -> np.ndarray:
        """A few rows a_i, as a dense matrix."""
        A = self.rows.take(which)
        if not self.ready:
            A -= self.scaling.centre
            A *= (self.y[which] / self.scaling.scale)[:, None]
        return A

    def with_bias(self, which: np.ndarray) -> np.ndarray:
        """A few rows (a_i, y_i), as a dense matrix; y_i is zero without a bias."""
        small = self.n * self.d <= SETTINGS.max_doubled_entries
        if not (small and self.ready and isinstance(self.rows, DenseRows)):
            return np.column_stack([self.take(which), self.bias[which]])
        if self._all_with_bias is None:
            self._all_with_bias = np.column_stack([self.rows.X, self.bias])
        return np.asarray(self._all_with_bias[which])

    def restricted(self, which: np.ndarray) -> Frame:
        """Only some rows, as a copy: dense and ready to use, or sparse where that is smaller."""
        y, pad = self.y[which], self.pad
        if len(which) > self.max_rows:
            return Frame(self.rows.select(which), y, pad, self.scaling)
        if self.rows.is_sparse:
            rows = self.rows.select(which)
            if rows.entries < SETTINGS.dense_share * rows.n * rows.d:
                _check(rows.arrays[0])
                return Frame(rows, y, pad, self.scaling)
        A = np.empty((len(which), self.d))
        for start in range(0, len(which), self.chunk):
            part = slice(start, start + self.chunk)
            A[part] = self.take(which[part])
        _check(A)
        return Frame(DenseRows(A), y, pad, self.scaling, ready=True)


def frames_of(rows: Rows, labels: Sequence[np.ndarray], pad: float) -> list[Frame]:
    """The same rows for several machines, in the same coordinates."""
    scaling, shared = find_scaling(rows, pad), dict[str, np.ndarray]()
    return [Frame(rows, y, pad, scaling, shared=shared) for y in labels]


def _check(values: np.ndarray) -> None:
    if not np.isfinite(values.sum()):
        raise NotFiniteError


def inner_products(frame: Frame) -> np.ndarray:
    """K = X̃ X̃ᵀ of the centred and scaled rows."""
    scaling = frame.scaling
    K = np.zeros((frame.n, frame.n))
    if frame.ready:
        A = frame.y[:, None] * frame.take(np.arange(frame.n))
        return np.asarray(A @ A.T)
    rows = frame.rows.between(0, frame.n)  # few enough to be reached at once
    if not isinstance(rows, DenseRows):
        X = rows.matrix  # type: ignore[attr-defined]
        across = np.asarray(X @ scaling.centre)
        K = np.asarray((X @ X.T).toarray(), dtype=np.float64) - across - across[:, None]
        return np.asarray((K + float(scaling.centre @ scaling.centre)) / scaling.scale**2)
    width = max(1, SETTINGS.entries_centred_at_a_time // frame.n)
    for start in range(0, frame.d, width):
        part = slice(start, start + width)
        B = rows.X[:, part] - scaling.centre[part]
        B /= scaling.scale
        K += B @ B.T
    return K
