"""A classification problem as the solvers see it: rows, label codes, and binary machines on them.

A machine is one binary problem on shared rows. Its class ``positive`` counts as +1; ``negative`` is
the class that counts as −1, or None for "all the rest". Binary, one-vs-rest and one-vs-one problems
are all lists of machines on the same rows. (The online perceptron copies none of them; the batch and
pocket perceptrons copy the rows of a pair, or of a training split.)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.core.history import History
from maxmargin.core.stopping import StopReason
from maxmargin.core.trace import Trace
from maxmargin.kernels.decision import count_errors, decide
from maxmargin.kernels.ordered import combine, products
from maxmargin.kernels.sketch import with_sketch, worth_sketching
from maxmargin.rows import Csr, Dense, Rows

__all__ = ["TILE_ENTRIES", "Examples", "Machine", "Observer", "Problem", "Solution"]

TILE_ENTRIES = 1 << 16  # half a megabyte: a tile stays in the cache while machines take turns

# Called after each epoch with its number, the mistakes in it and a way to get the weights of the
# machines still running; True asks for a stop.
Observer = Callable[[int, int, Callable[[], np.ndarray]], bool]


@dataclass(frozen=True)
class Machine:
    """One binary problem: +1 against −1, on the rows ``members``."""

    label: Hashable
    positive: int
    negative: int | None
    members: np.ndarray  # indices of its training rows, ascending
    class_weight: np.ndarray  # by label code: factors on steps, risks or errors

    def signs(self, codes: np.ndarray) -> np.ndarray:
        """Return y = ±1 for label codes."""
        return np.asarray(2.0 * (codes == self.positive) - 1.0)


@dataclass(frozen=True)
class Examples:
    """Rows with their labels, and how they count."""

    rows: Rows
    codes: np.ndarray
    pad: float  # the fictitious coordinate: 1 if the bias is learned, else 0
    scale: np.ndarray = field(default_factory=lambda: np.empty(0))  # 1/‖(x_i, 1)‖, or nothing

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

    def errors(self, positives: np.ndarray, Z: np.ndarray, order: np.ndarray) -> np.ndarray:
        """For each machine, the share of rows with y·f(x) ≤ 0; nan if there are no rows.

        A machine is given by the label code that counts as +1, and its weights.
        """
        if not len(order):
            return np.full(len(Z), np.nan)
        count = np.zeros(len(Z), dtype=np.int64)
        for piece in self._pieces(len(order), len(Z)):
            for _, arrays, local, first in self.rows.stretches(order[piece]):
                codes = self.codes[first:]
                count_errors(arrays, codes, positives, local, Z, self.pad, self._tile, count)
        return count / len(order)

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

    def restricted(self, members: np.ndarray) -> Examples:
        """Only the rows ``members``; a copy, unless they are all the rows."""
        if len(members) == self.rows.n:
            return self
        scale = self.scale[members] if len(self.scale) else self.scale
        return Examples(self.rows.select(members), self.codes[members], self.pad, scale)


@dataclass(frozen=True)
class Problem:
    """Training examples, optional validation examples, and what is common to all machines."""

    training: Examples
    validation: Examples | None
    held_out: np.ndarray  # rows of ``validation`` that validate (all of them, or the split)
    track_error: bool  # measure E_in after every epoch
    began: float = field(default_factory=time.perf_counter)  # for budgets of seconds
    verdict: Callable[[Machine], Any] | None = None  # on the separability of a machine's rows

    def validation_rows(self, machine: Machine) -> np.ndarray:
        """Rows that validate this machine: its own classes only, in one-vs-one."""
        if self.validation is None or machine.negative is None:
            return self.held_out
        codes = self.validation.codes[self.held_out]
        mine = (codes == machine.positive) | (codes == machine.negative)
        return np.asarray(self.held_out[mine])

    def training_error(self, machine: Machine, z: np.ndarray) -> float:
        """E_in: the share of the machine's training rows that are wrong."""
        return float(self.training.errors(np.array([machine.positive]), z[None], machine.members)[0])

    def validation_error(self, machine: Machine, z: np.ndarray) -> float:
        """Share of validation rows that are wrong."""
        assert self.validation is not None
        rows = self.validation_rows(machine)
        return float(self.validation.errors(np.array([machine.positive]), z[None], rows)[0])


@dataclass
class Solution:
    """What a run leaves behind for one machine."""

    z: np.ndarray  # the weights (w, b) to predict with
    reason: StopReason
    history: History
    state: np.ndarray  # the running weights; z may be their average or the best of them
    mistakes: int
    trace: Trace | None = None
    average: np.ndarray | None = None  # u of the averaged perceptron
    steps: int = 0  # rows looked at
    best_update: int = 0  # pocket: when its weights were found
    best_error: float = float("nan")  # pocket: their E_in, polished
    unpolished_error: float = float("nan")  # pocket: and before
    least_error: float = 0.0  # pocket: what no plane falls below
