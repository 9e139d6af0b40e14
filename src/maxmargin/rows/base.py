"""The interface between data and algorithms, and the two forms in which compiled kernels read rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Self, TypeVar

import numpy as np


class Dense(NamedTuple):
    """A C-ordered matrix, and optionally its 16-bit sketch (see ``kernels.sketch``)."""

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
