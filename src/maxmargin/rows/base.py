"""Rows: what algorithms ask of data, the two forms that compiled kernels read, and dense rows.

Dense rows are the plain case, of which every method can be read here. Also: which numbers of another
type are no doubles.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from numbers import Number
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from scipy import sparse


class Dense(NamedTuple):
    """A C-ordered matrix, and optionally its 16-bit sketch (see ``kernels.rows``)."""

    X: np.ndarray  # (n, d) float64 or float32, read-only
    sketch: np.ndarray  # (n, d) int16, or (0, 0) if there is none
    unit: np.ndarray  # (d,) float64: x_ij = unit_j · sketch_ij up to half a unit


class Csr(NamedTuple):
    """Compressed sparse rows in canonical form: indices sorted, no duplicates."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


T = TypeVar("T")

# Entries per block: some 20 ms of work, so that Ctrl-C is answered at once.
BLOCK_ENTRIES = 1 << 22


class Rows(ABC):
    """n rows of d features, in memory or not, dense or sparse."""

    n: int
    d: int
    is_sparse: bool
    resident: bool = True  # whether ``arrays`` are there for all rows at once

    @property
    @abstractmethod
    def arrays(self) -> Dense | Csr:
        """The form the compiled kernels read."""

    @property
    @abstractmethod
    def entries(self) -> int:
        """Stored numbers: n·d if dense, the nonzeros if sparse."""

    @abstractmethod
    def between(self, start: int, stop: int) -> Self:
        """Rows start … stop−1, without a copy."""

    @abstractmethod
    def take(self, indices: np.ndarray) -> np.ndarray:
        """A few rows by index, dense, as doubles."""

    @abstractmethod
    def select(self, indices: np.ndarray) -> Rows:
        """Rows by index, as rows of the same kind (a copy)."""

    @abstractmethod
    def times(self, V: np.ndarray) -> np.ndarray:
        """X V for a d × k matrix V of doubles."""

    @abstractmethod
    def combine(self, C: np.ndarray) -> np.ndarray:
        """C X for a k × n matrix C of doubles: k weighted sums of all rows."""

    def inner(self, some: np.ndarray, others: np.ndarray) -> np.ndarray:
        """x_i·x_j for i in ``some`` and j in ``others``: a few rows, by index."""
        return np.asarray(self.take(some) @ self.take(others).T)

    @abstractmethod
    def square_lengths(self) -> np.ndarray:
        """‖x_i‖² for every row."""

    @property
    @abstractmethod
    def column_reach(self) -> np.ndarray:
        """max_i |x_ij| for every feature j, nan if an entry is nan."""

    def within(self, smallest: float, largest: float) -> bool:
        """Whether every column reaches 0, or a number between these; False may be said in doubt."""
        reach = self.column_reach
        if len(reach) and reach.min() >= smallest and reach.max() <= largest:
            return True
        return bool(np.all((reach == 0.0) | ((reach >= smallest) & (reach <= largest))))

    def block_length(self, entries: int = BLOCK_ENTRIES) -> int:
        """How many rows hold about ``entries`` numbers."""
        return max(1, int(entries * self.n / max(self.entries, self.n, 1)))

    def blocks(self, entries: int = BLOCK_ENTRIES) -> Iterator[tuple[slice, Self]]:
        """Yield the rows block by block, in order: where each block stands, and its rows."""
        length = self.block_length(entries)
        for start in range(0, self.n, length):
            stop = min(start + length, self.n)
            yield slice(start, stop), self.between(start, stop)

    def stretches(self, order: np.ndarray) -> Iterable[tuple[slice, Dense | Csr, np.ndarray, int]]:
        """Cut ``order`` into pieces whose rows are reached together.

        Each tells where the piece stands in ``order``, the arrays its rows are in, their places there,
        and the number of the first row of these arrays. In memory one piece is all of it.
        """
        return [(slice(0, len(order)), self.arrays, order, 0)]

    def map(self, function: Callable[[slice, Self], T], entries: int = BLOCK_ENTRIES) -> list[T]:
        """One pass: a pure function of each block, results in order."""
        return [function(where, block) for where, block in self.blocks(entries)]


def draw(n: int, size: int) -> np.ndarray:
    """Return some rows, in order; drawn at random, and always the same."""
    if size >= n:
        return np.arange(n)
    return np.unique(np.random.default_rng(0).integers(n, size=size))


FOLD_ENTRIES = 1 << 12  # length of a row that is reduced at full speed
MIN_THREAD_ENTRIES = 1 << 21  # worth a second thread
PRODUCT_ENTRIES = 1 << 20  # enough for a matrix product to run at full speed

_NO_SKETCH = np.empty((0, 0), dtype=np.int16)
_NO_UNIT = np.empty(0)


class DenseRows(Rows):
    """Rows of a C-ordered matrix of doubles or floats.

    Numbers that came over a network may lie across the boundaries of words in memory, where arithmetic
    is slow: such rows are copied block by block on their way.
    """

    is_sparse = False

    def __init__(
        self, X: np.ndarray, sketch: np.ndarray = _NO_SKETCH, unit: np.ndarray = _NO_UNIT
    ) -> None:
        self.X = X.view(np.ndarray)
        self.X.flags.writeable = False  # one type for the kernels, memory maps included
        self.n, self.d = X.shape
        self._hints = sketch, unit

    @cached_property
    def arrays(self) -> Dense:
        """The form the compiled kernels read."""
        return Dense(_aligned(self.X), *self._hints)

    @property
    def entries(self) -> int:
        """Stored numbers."""
        return int(self.X.size)

    def between(self, start: int, stop: int) -> Self:
        """Rows start … stop−1, without a copy (and without a sketch)."""
        return type(self)(_aligned(self.X[start:stop]))

    def take(self, indices: np.ndarray) -> np.ndarray:
        """A few rows by index, as doubles."""
        return np.asarray(self.X[indices], dtype=np.float64)

    def select(self, indices: np.ndarray) -> DenseRows:
        """Rows by index (a copy)."""
        return DenseRows(self.X[indices])

    def times(self, V: np.ndarray) -> np.ndarray:
        """X V, block by block; float32 data is widened on the way."""
        if self.n * self.d <= PRODUCT_ENTRIES and self.X.flags.aligned:
            return np.asarray(np.asarray(self.X, np.float64) @ V)
        out = np.empty((self.n, *V.shape[1:]))
        for where, block in self.blocks(PRODUCT_ENTRIES):
            np.matmul(np.asarray(block.X, np.float64), V, out=out[where])
        return out

    def combine(self, C: np.ndarray) -> np.ndarray:
        """C X, block by block."""
        if self.n * self.d <= PRODUCT_ENTRIES:
            return np.asarray(C @ np.asarray(self.X, np.float64))
        out = np.zeros((len(C), self.d))
        for where, block in self.blocks(PRODUCT_ENTRIES):
            out += C[:, where] @ np.asarray(block.X, np.float64)
        return out

    def square_lengths(self) -> np.ndarray:
        """‖x_i‖² for every row."""
        out = np.empty(self.n)
        for where, block in self.blocks(PRODUCT_ENTRIES):
            X = np.asarray(block.X, np.float64)
            out[where] = np.einsum("ij,ij->i", X, X)
        return out

    @cached_property
    def column_reach(self) -> np.ndarray:
        """max_i |x_ij| for every feature j; two threads read large data faster than one."""
        if self.entries <= FOLD_ENTRIES:
            return np.asarray(np.abs(self.X).max(axis=0, initial=0.0), dtype=np.float64)
        if self.entries < MIN_THREAD_ENTRIES:
            return self._reach(0, self.n)
        half = self.n // 2
        with ThreadPoolExecutor(2) as pool:
            parts = pool.map(self._reach, (0, half), (half, self.n))
            return np.asarray(np.maximum(*parts))

    def _reach(self, start: int, stop: int) -> np.ndarray:
        """The same for some rows; several rows side by side are one long row, reduced faster."""
        several = max(1, FOLD_ENTRIES // max(self.d, 1))
        whole = start + (stop - start) // several * several
        length = several * max(1, BLOCK_ENTRIES // (several * max(self.d, 1)))
        high = np.zeros((several, self.d), self.X.dtype)
        low = np.zeros((several, self.d), self.X.dtype)
        cuts = [*range(start, whole, length), whole, stop]
        for first, last in pairwise(cuts):
            part = _aligned(self.X[first:last])
            rows = min(several, len(part))
            if rows:
                long = part.reshape(-1, rows, self.d)
                np.maximum(high[:rows], np.maximum.reduce(long, axis=0), out=high[:rows])
                np.minimum(low[:rows], np.minimum.reduce(long, axis=0), out=low[:rows])
        return np.asarray(np.maximum(high, -low).max(axis=0), dtype=np.float64)


def _aligned(X: np.ndarray) -> np.ndarray:
    if X.flags.aligned:
        return X
    X = X.copy()
    X.flags.writeable = False  # as all rows are
    return X


MAX_EXACT_INTEGER = 2**53  # up to which a double holds every whole number


def not_doubles(X: Any) -> str | None:
    """The type of numbers in a matrix or data frame that doubles do not hold exactly; None if none."""
    for part in (X[name] for name in X.columns) if hasattr(X, "columns") else (X,):
        if sparse.issparse(part):  # of which DOK and LIL have no vector of numbers
            values = (part.tocoo() if part.format in ("dok", "lil") else part).data
        else:
            values = np.asarray(part)
        if rounded(values) is not None:
            return str(values.dtype)
    return None


def rounded(values: np.ndarray) -> np.ndarray | None:
    """Which of the numbers a double does not hold exactly, infinite ones aside; None if it holds all."""
    kind = values.dtype.kind
    if kind in "iu" and values.dtype.itemsize == 8 and values.size:
        if max(abs(int(values.max())), abs(int(values.min()))) <= MAX_EXACT_INTEGER:
            return None
        wrong = np.abs(values.astype(np.float64)) >= MAX_EXACT_INTEGER  # the next above rounds to it
        wrong[wrong] = [not _is_double(v) for v in values[wrong].tolist()]
    elif kind == "f" and values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            wrong = (values.astype(np.float64) != values) & np.isfinite(values)
    elif kind == "O":
        wrong = np.array([not _is_double(v) for v in values.ravel().tolist()])
    else:
        return None
    return wrong.reshape(values.shape) if np.any(wrong) else None


def _is_double(value: Any) -> bool:
    """Whether a double holds a number of Python exactly; what is no number is left to the reader."""
    if isinstance(value, float) or not isinstance(value, Number | Decimal):
        return True
    try:
        return bool(value == float(value) or value != value)  # type: ignore[arg-type]
    except (TypeError, OverflowError):  # complex; too large
        return False
