"""A classification problem as the perceptrons see it: examples, and a solution for each machine.

(The online perceptron copies no rows; the batch and pocket perceptrons copy the rows of a pair, or of a
training split.)

Rows with their labels say what planes decide about them, where they are wrong, and by how much.
:class:`Examples` are rows in this process. :class:`RemoteExamples` are rows in partitions: a question
about them is a round over the partitions, each of which answers it as :class:`Examples`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Protocol, Self, TypeGuard, TypeVar

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.history import History, Trace, elapsed
from maxmargin.kernels.perceptron import Labels, count_errors, decide, inverse_lengths
from maxmargin.kernels.rows import UNDERFLOW, UNIT_ROUNDOFF, combine, products, with_sketch
from maxmargin.rows import Csr, Dense, DenseRows, Rows
from maxmargin.rows.training_data import Machine, Part, Partitions, TrainingData
from maxmargin.stopping import StopReason

TILE_ENTRIES = 1 << 16  # half a megabyte: a tile stays in the cache while machines take turns
MIN_PRODUCT_ROWS = 1 << 12  # times machines, from which on a matrix product is worth its preparation
MIN_SKETCH_ENTRIES = 1 << 22  # entries; smaller data lives in the processor's caches anyway

# Called after each epoch with its number, the mistakes in it and a way to get the weights of the
# machines still running; True asks for a stop.
Observer = Callable[[int, int, Callable[[], np.ndarray]], bool]


def nobody(_epoch: int, _mistakes: int, _weights: Callable[[], np.ndarray]) -> bool:
    """Stand for an observer where nobody wants to know."""
    return False


class Measured(Protocol):
    """Rows on which planes can be measured: here, or in partitions elsewhere."""

    def errors_of(self, machines: Sequence[Machine], Z: np.ndarray) -> np.ndarray:
        """For each machine with its z the share of its rows with y·f(x) ≤ 0; nan without rows."""


class Trained(Measured, Protocol):
    """Rows that machines are trained on."""

    @property
    def rows(self) -> Any:
        """The rows, here or in partitions."""

    def shared(self, machines: Sequence[Machine]) -> bool:
        """Whether the machines share their passes."""

    def hold_out(self, fraction: float, rng: np.random.Generator) -> tuple[np.ndarray, HeldOut]:
        """The rows to train on, and a stratified fraction of all rows that is held out."""

    def beyond(self, machines: Sequence[Machine], Z: np.ndarray, delta: float) -> list[bool]:
        """For each machine with its z whether all its rows have y·f(x) > δ."""


T = TypeVar("T", bound=Trained)


@dataclass(frozen=True)
class Problem(Generic[T]):
    """Training examples, optional validation examples, and what is common to all machines."""

    training: T
    validation: Measured | None
    track_error: bool  # measure E_in after every epoch
    # For budgets of seconds, which count the time of earlier processes.
    began: float = field(default_factory=lambda: time.perf_counter() - elapsed())
    verdict: Callable[[Machine], Any] | None = None  # on the separability of a machine's rows

    def validation_errors(
        self, machines: Sequence[Machine], predictors: Callable[[], np.ndarray]
    ) -> list[float | None]:
        """The share of validation rows that each machine gets wrong, if there are such rows."""
        if self.validation is None:
            return [None] * len(machines)
        errors: list[float | None] = self.validation.errors_of(machines, predictors()).tolist()
        return errors


@dataclass
class Solution:
    """What a run leaves behind for one machine."""

    z: np.ndarray  # the weights (w, b) to predict with
    reason: StopReason
    history: History
    state: np.ndarray  # the running weights; z may be their average or the best of them
    mistakes: int
    trace: Trace | None = None
    average: np.ndarray = field(default_factory=lambda: np.empty(0))  # u of the averaged perceptron
    steps: int = 0  # rows looked at
    best_update: int = 0  # pocket: when its weights were found
    best_error: float = float("nan")  # pocket: their E_in, polished
    unpolished_error: float = float("nan")  # pocket: and before
    lower_bound: float | Callable[[], float] = 0.0  # pocket: what no plane's E_in falls below


def nothing() -> np.ndarray:
    """Return a column that nobody needs."""
    return np.empty(0)


@dataclass(frozen=True)
class Examples:
    """Rows with their labels, and how they count."""

    rows: Rows
    codes: np.ndarray
    pad: float  # the fictitious coordinate: 1 if the bias is learned, else 0
    scale: np.ndarray = field(default_factory=nothing)  # 1/‖(x_i, 1)‖, or nothing
    weight: np.ndarray = field(default_factory=nothing)  # of each row, or nothing

    @classmethod
    def of(cls, part: Part, pad: float, normalize: bool) -> Self:
        """Rows as they are, or scaled to unit length."""
        rows, codes, weight = part
        scale = np.empty(rows.n if normalize else 0)
        if normalize:
            for where, block in rows.blocks():
                inverse_lengths(block.arrays, pad, scale[where])
        return cls(rows, codes, pad, scale, nothing() if weight is None else weight)

    @property
    def labels(self) -> Labels:
        """What every row counts as, in the form the compiled kernels read."""
        return Labels(self.codes, self.scale, self.weight)

    @cached_property
    def sketch(self) -> Dense | Csr | None:
        """The rows' arrays with a sketch beside them, where it pays; made once for all machines."""
        return with_sketch(self.rows).arrays if worth_sketching(self.rows) else None

    def decisions(self, Z: np.ndarray, order: np.ndarray | None = None) -> np.ndarray:
        """f_k(x_i) as a (machines, rows) array; the sign is that of the sum in order."""
        if order is None and self.rows.resident and self.rows.n * len(Z) >= MIN_PRODUCT_ROWS:
            return self._all_decisions(Z)
        order = np.arange(self.rows.n) if order is None else order
        out = np.empty((len(Z), len(order)))
        for piece in self._pieces(len(order), len(Z)):
            for where, arrays, local, _ in self.rows.stretches(order[piece]):
                part = np.empty((len(Z), len(local)))
                decide(arrays, local, Z, self.pad, self._tile, part)
                out[:, piece][:, where] = part
        return out

    def ranked_decisions(self, Z: np.ndarray) -> np.ndarray:
        """The same for all rows; the sums in order also decide which machine has the largest value."""
        F = self.decisions(Z)
        if len(Z) == 1 or not self.rows.resident:
            return F
        error = self._rounding(Z).max()
        near = np.flatnonzero(np.sum(F.max(axis=0) - 2.0 * error <= F, axis=0) > 1)
        if len(near):
            F[:, near] = Examples(self.rows.select(near), self.codes, self.pad).ordered_values(Z)
        return F

    def _rounding(self, Z: np.ndarray) -> np.ndarray:
        """Two sums of d + 1 products in any two orders differ by less than this (Higham 2002, §3.1)."""
        size = np.abs(Z[:, :-1]) @ self.rows.column_reach + np.abs(self.pad * Z[:, -1])
        return np.asarray(4.0 * UNIT_ROUNDOFF * (self.rows.d + 3) * size + UNDERFLOW)

    def _all_decisions(self, Z: np.ndarray) -> np.ndarray:
        """The same for all rows, by a matrix product; where rounding may change a sign, once more."""
        F = self.rows.times(np.ascontiguousarray(Z[:, :-1].T))
        F += self.pad * Z[:, -1]
        for k, doubtful in enumerate((np.abs(F) <= self._rounding(Z)).T):
            near = np.flatnonzero(doubtful)
            if len(near):
                F[near, k] = self.decisions(Z[k : k + 1], near)[0]
        return np.asarray(F.T)

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
        together = len({id(machine.members) for machine in machines}) == 1
        for k in range(1 if together else len(machines)):
            which = np.s_[:] if together else np.s_[k : k + 1]
            some, planes, order = positives[which], Z[which], machines[k].members
            for piece in self._pieces(len(order), len(planes)):
                for _, arrays, local, first in self.rows.stretches(order[piece]):
                    codes, padded = self.codes[first:], (planes, self.pad, self._tile)
                    count_errors(arrays, codes, some, local, *padded, count[which])
        return count

    def beyond(self, machines: Sequence[Machine], Z: np.ndarray, delta: float) -> list[bool]:
        """For each machine with its z whether all its rows have y·f(x) > δ."""
        pairs = zip(machines, Z, strict=True)
        return [bool(np.all(self.margins(m, z, m.members) > delta)) for m, z in pairs]

    @cached_property
    def _tile(self) -> int:
        return self.rows.block_length(TILE_ENTRIES)

    def _pieces(self, n: int, machines: int) -> list[slice]:
        """Cut a pass into pieces of some 20 ms, to let Ctrl-C through."""
        length = self.rows.block_length() // machines + 1
        return [slice(start, start + length) for start in range(0, n, length)]

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

    def shared(self, machines: Sequence[Machine]) -> bool:
        """Whether the machines are on the same rows."""
        return machines[0].members is machines[-1].members

    def hold_out(self, fraction: float, rng: np.random.Generator) -> tuple[np.ndarray, HeldOut]:
        """The rows to train on, and a stratified fraction of all rows that is held out."""
        from sklearn.model_selection import train_test_split

        n, seed = self.rows.n, int(rng.integers(2**31))
        counted = np.flatnonzero(self.codes >= 0)  # the others weigh nothing
        try:
            train, held_out = train_test_split(
                counted, test_size=fraction, stratify=self.codes[counted], random_state=seed
            )
        except ValueError as error:
            raise InputError(
                f"the validation split needs enough rows of every class. Got {n} rows: {error} "
                "Pass X_val and y_val, or choose another fraction."
            ) from error
        return np.sort(train), HeldOut(self, np.sort(held_out))

    def restricted(self, members: np.ndarray) -> Examples:
        """Only the rows ``members``; a copy, unless they are all the rows."""
        if len(members) == self.rows.n:
            return self
        columns = (column[members] if len(column) else column for column in (self.scale, self.weight))
        return Examples(self.rows.select(members), self.codes[members], self.pad, *columns)


def worth_sketching(rows: Rows) -> TypeGuard[DenseRows]:
    """Whether a sketch of these rows saves more than it costs: large, dense, doubles."""
    return (
        isinstance(rows, DenseRows) and rows.X.dtype == np.float64 and rows.entries >= MIN_SKETCH_ENTRIES
    )


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


# Rows in partitions.


@dataclass(frozen=True)
class Form:
    """How rows count: padded with 1 or 0, and scaled to unit length or not."""

    pad: float
    normalize: bool = False

    def examples(self, part: Part) -> Examples:
        """The rows of a partition."""
        return Examples.of(part, self.pad, self.normalize)

    def unscaled(self, part: Part) -> Examples:
        """The same to count errors, which scales do not change."""
        return Examples(part.rows, part.codes, self.pad)


def light(machines: Sequence[Machine]) -> list[Machine]:
    """Machines as they travel: which rows of a partition are theirs, the labels there say."""
    return [replace(machine, members=np.empty(0, dtype=np.int64)) for machine in machines]


def seen(machines: Sequence[Machine], codes: np.ndarray) -> list[Machine]:
    """Machines on rows with these label codes; those on all rows share their members."""
    everything = np.arange(len(codes))
    found = []
    for machine in machines:
        mine = machine.on(codes)
        whole = len(mine.members) == len(codes)
        found.append(replace(mine, members=everything) if whole else mine)
    return found


@dataclass(frozen=True)
class RemoteExamples:
    """Rows in partitions: one round measures all machines together.

    Weights are copied where they arrive: those of a message may not be written, and kernels are compiled
    for those that may.
    """

    data: TrainingData
    form: Form

    @property
    def rows(self) -> Partitions:
        """The partitions."""
        return self.data.rows

    def shared(self, machines: Sequence[Machine]) -> bool:
        """Whether the machines share their passes: whatever is asked, all of them are in one round."""
        return True

    def hold_out(self, fraction: float, rng: np.random.Generator) -> tuple[np.ndarray, HeldOut]:
        """Refuse it: rows of partitions are not chosen one by one."""
        raise InputError(
            "a rule that watches the validation error needs X_val and y_val for Dask collections, of "
            f"which no rows are held out. Got a fraction of {fraction:g} without them instead."
        )

    def sizes(self, machines: Sequence[Machine]) -> np.ndarray:
        """How many rows each machine has in each partition."""
        counts, codes = self.data.counts, np.arange(len(self.data.classes))
        return np.array([counts[:, machine.among(codes)].sum(axis=1) for machine in machines])

    def totals(self, machines: Sequence[Machine]) -> list[float]:
        """How much all rows of each machine weigh."""
        counts, codes = self.data.counts.sum(axis=0), np.arange(len(self.data.classes))
        members = [machine.among(codes) for machine in machines]
        return [float(m.class_weight[c] @ counts[c]) for m, c in zip(machines, members, strict=True)]

    def errors_of(self, machines: Sequence[Machine], Z: np.ndarray) -> np.ndarray:
        """For each machine with its z the share of its rows with y·f(x) ≤ 0; nan without rows."""
        found = self.rows.each(_wrong, self.form, light(machines), Z)
        wrong, many = np.sum(found, axis=0)
        return shares(wrong, many)

    def beyond(self, machines: Sequence[Machine], Z: np.ndarray, delta: float) -> list[bool]:
        """For each machine with its z whether all its rows have y·f(x) > δ."""
        found = self.rows.each(_beyond, self.form, light(machines), Z, delta)
        return [all(answers) for answers in zip(*found, strict=True)]

    def weights(self, machines: Sequence[Machine], candidates: Sequence[np.ndarray]) -> list[np.ndarray]:
        """For each machine the weight of the rows that each of its candidates z gets wrong.

        Partitions count by class, so that the sums over them are exact.
        """
        found = self.rows.each(_by_class, self.form, light(machines), list(candidates))
        counts = [np.sum(answers, axis=0) for answers in zip(*found, strict=True)]
        return [count @ m.class_weight for count, m in zip(counts, machines, strict=True)]


def _wrong(part: Part, form: Form, machines: Sequence[Machine], Z: np.ndarray) -> np.ndarray:
    mine = seen(machines, part.codes)
    many = [len(machine.members) for machine in mine]
    return np.array([form.unscaled(part).wrong(mine, Z.copy()), many])


def _beyond(
    part: Part, form: Form, machines: Sequence[Machine], Z: np.ndarray, delta: float
) -> list[bool]:
    return form.examples(part).beyond(seen(machines, part.codes), Z.copy(), delta)


def _by_class(
    part: Part, form: Form, machines: Sequence[Machine], candidates: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """How many rows of each class each candidate of each machine gets wrong."""
    examples = form.unscaled(part)
    found = []
    for machine, Z in zip(seen(machines, part.codes), candidates, strict=True):
        count = np.zeros((len(Z), len(machine.class_weight)), dtype=np.int64)
        mine = part.codes[machine.members]
        for code in np.unique(mine):
            which = replace(machine, members=machine.members[mine == code])
            count[:, code] = examples.wrong([which] * len(Z), Z.copy())
        found.append(count)
    return found


def examples_of(
    data: TrainingData, pad: float, normalize: bool = False, record: bool = False
) -> Examples | RemoteExamples:
    """Return labelled rows as examples, wherever they are; updates are recorded on rows here alone."""
    if data.here is not None:
        return Examples.of(data.here, pad, normalize)
    if record:
        raise InputError(
            "record must be False for Dask collections, whose updates are not kept. Got True "
            "instead. Fit to some of the rows in memory to see every update."
        )
    return RemoteExamples(data, Form(pad, normalize))


def validation_of(data: TrainingData, pad: float) -> Measured:
    """Return labelled rows as those on which errors are measured."""
    examples = examples_of(data, pad)
    return HeldOut(examples, np.arange(data.n)) if isinstance(examples, Examples) else examples
