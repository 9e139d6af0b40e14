"""Rows with their labels: what planes decide about them, where they are wrong, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from maxmargin.kernels.perceptron import count_errors, decide, inverse_lengths
from maxmargin.kernels.rows import combine, products, with_sketch, worth_sketching
from maxmargin.rows import Csr, Dense, Rows
from maxmargin.solvers.problem import Machine

TILE_ENTRIES = 1 << 16  # half a megabyte: a tile stays in the cache while machines take turns


@dataclass(frozen=True)
class Examples:
    """Rows with their labels, and how they count."""

    rows: Rows
    codes: np.ndarray
    pad: float  # the fictitious coordinate: 1 if the bias is learned, else 0
    scale: np.ndarray = field(default_factory=lambda: np.empty(0))  # 1/‖(x_i, 1)‖, or nothing

    @classmethod
    def of(cls, rows: Rows, codes: np.ndarray, pad: float, normalize: bool) -> Self:
        """Rows as they are, or scaled to unit length."""
        scale = np.empty(rows.n if normalize else 0)
        if normalize:
            for where, block in rows.blocks():
                inverse_lengths(block.arrays, pad, scale[where])
        return cls(rows, codes, pad, scale)

    @cached_property
    def sketched(self) -> Dense | Csr:
        """The rows' arrays, with a sketch beside them where it pays; made once for all machines."""
        rows = self.rows
        return with_sketch(rows).arrays if worth_sketching(rows) else rows.arrays

    def decisions(self, Z: np.ndarray, order: np.ndarray | None = None) -> np.ndarray:
        """f_k(x_i) as a (machines, rows) array."""
        order = np.arange(self.rows.n) if order is None else order
        out = np.empty((len(Z), len(order)))
        for piece in self._pieces(len(order), len(Z)):
            for where, arrays, local, _ in self.rows.stretches(order[piece]):
                part = np.empty((len(Z), len(local)))
                decide(arrays, local, Z, self.pad, self._tile, part)
                out[:, piece][:, where] = part
        return out

    def ordered_values(self, Z: np.ndarray) -> np.ndarray:
        """f_k(x_i) for all rows, every bit the same for dense and sparse ones."""
        out = np.empty((len(Z), self.rows.n))
        V = np.ascontiguousarray(Z[:, :-1].T)
        for where, block in self.rows.blocks():
            part = np.empty((block.n, len(Z)))
            products(block.arrays, V, part)
            out[:, where] = part.T
        return out + self.pad * Z[:, -1:]

    def sums(self, C: np.ndarray) -> np.ndarray:
        """Σ_i C_ki (x_i, 1) for each k, every bit the same for dense and sparse rows."""
        out = np.zeros((len(C), self.rows.d + 1))
        for where, block in self.rows.blocks():
            combine(block.arrays, np.ascontiguousarray(C[:, where].T), out)
        out[:, -1] = self.pad * C.sum(axis=1)
        return out

    def errors_of(self, machines: Sequence[Machine], Z: np.ndarray) -> np.ndarray:
        """For each machine with its z the share of its rows with y·f(x) ≤ 0; nan without rows."""
        sizes = [len(machine.members) for machine in machines]
        return shares(self.wrong(machines, Z), np.array(sizes))

    def wrong(self, machines: Sequence[Machine], Z: np.ndarray) -> np.ndarray:
        """For each machine with its z how many of its rows have y·f(x) ≤ 0.

        Machines on the same rows are looked at together.
        """
        positives = np.array([machine.positive for machine in machines], dtype=np.int64)
        count = np.zeros(len(Z), dtype=np.int64)
        together = all(machine.members is machines[0].members for machine in machines)
        for k in range(1 if together else len(machines)):
            which = np.s_[:] if together else np.s_[k : k + 1]
            self._count(positives[which], Z[which], machines[k].members, count[which])
        return count

    def _count(self, positives: np.ndarray, Z: np.ndarray, order: np.ndarray, out: np.ndarray) -> None:
        for piece in self._pieces(len(order), len(Z)):
            for _, arrays, local, first in self.rows.stretches(order[piece]):
                codes = self.codes[first:]
                count_errors(arrays, codes, positives, local, Z, self.pad, self._tile, out)

    def beyond(self, machines: Sequence[Machine], Z: np.ndarray, delta: float) -> list[bool]:
        """For each machine with its z whether all its rows have y·f(x) > δ."""
        pairs = zip(machines, Z, strict=True)
        return [bool(np.all(self.margins(m, z, m.members) > delta)) for m, z in pairs]

    @cached_property
    def _tile(self) -> int:
        return self.rows.block_length(TILE_ENTRIES)

    @cached_property
    def _piece(self) -> int:
        return self.rows.block_length()

    def _pieces(self, n: int, machines: int) -> Iterator[slice]:
        """Cut a pass into pieces of some 20 ms, to let Ctrl-C through."""
        length = self._piece // machines + 1
        for start in range(0, n, length):
            yield slice(start, start + length)

    def margins(self, machine: Machine, z: np.ndarray, order: np.ndarray) -> np.ndarray:
        """y_i f(x_i), scaled like the rows."""
        m = machine.signs(self.codes[order]) * self.decisions(z[None], order)[0]
        return np.asarray(m * self.scale[order] if len(self.scale) else m)

    def signed(self, machine: Machine, which: np.ndarray) -> np.ndarray:
        """A few rows as a_i = y_i (x_i, 1), scaled like the rows."""
        padded = np.column_stack([self.rows.take(which), np.full(len(which), self.pad)])
        if len(self.scale):
            padded *= self.scale[which, None]
        return np.asarray(machine.signs(self.codes[which])[:, None] * padded)

    def restricted(self, members: np.ndarray) -> Examples:
        """Only the rows ``members``; a copy, unless they are all the rows."""
        if len(members) == self.rows.n:
            return self
        scale = self.scale[members] if len(self.scale) else self.scale
        return Examples(self.rows.select(members), self.codes[members], self.pad, scale)


def shares(count: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Counts as shares of the rows; nan where there are none."""
    pairs = zip(count.tolist(), sizes.tolist(), strict=True)  # of few machines: quicker than in arrays
    return np.array([wrong / size if size else np.nan for wrong, size in pairs])


@dataclass(frozen=True)
class HeldOut:
    """Validation rows: some of the rows of ``examples``."""

    examples: Examples
    rows: np.ndarray

    def errors_of(self, machines: Sequence[Machine], Z: np.ndarray) -> np.ndarray:
        """The share of rows that are wrong; in one-vs-one of rows of the machine's own classes."""
        if machines[0].negative is None:
            mine = [replace(machine, members=self.rows) for machine in machines]
        else:
            codes = self.examples.codes[self.rows]
            mine = [replace(machine, members=self.rows[machine.among(codes)]) for machine in machines]
        return self.examples.errors_of(mine, Z)
