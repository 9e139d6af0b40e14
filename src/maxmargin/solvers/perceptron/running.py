"""The perceptron's weights while it runs: advanced by visiting rows, for some machines together.

In which order an epoch visits the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.state_forms import Form, StateError, counts, numbers
from maxmargin.kernels.perceptron import LEFT, MADE, READ, SEEN, Rule, sweep
from maxmargin.rows import Csr, Dense, Rows
from maxmargin.solvers.examples import TILE_ENTRIES, Examples
from maxmargin.solvers.problem import Machine

ORDERS = ("cyclic", "shuffled", "random")

# Rows a shuffle keeps together on large data: neighbours share memory pages, so shuffling blocks, and
# rows within a block, costs half of what fully random access costs.
BLOCK = 16
SMALL = 1 << 14  # rows up to which every row is shuffled by itself (whatever the kind of rows)


def epochs(order: str, members: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the visiting order of one epoch after the other, for ever."""
    while True:
        if order == "cyclic":
            yield members
        elif order == "random":
            yield members[rng.integers(len(members), size=len(members))]
        elif len(members) <= SMALL:
            yield rng.permutation(members)
        else:
            yield _blockwise(members, rng)


def _blockwise(members: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a new order of ``members``: blocks shuffled, and rows within each block."""
    n = len(members) - len(members) % BLOCK
    # The cut wanders, so that neighbours do not stay together from epoch to epoch.
    members = np.roll(members, int(rng.integers(len(members))))
    blocks = rng.permuted(members[:n].reshape(-1, BLOCK), axis=1)
    rest = rng.permutation(members[n:])
    return np.concatenate([rng.permutation(blocks, axis=0).ravel(), rest])


UNLIMITED = 1 << 62


@dataclass(frozen=True)
class Settings:
    """The perceptron's own parameters: δ, η, and what to keep."""

    threshold: float = 0.0
    eta: float = 1.0
    order: str = "cyclic"
    average: bool = False
    record: bool = False


@dataclass
class State:
    """One row per machine of all that the perceptron remembers; see ``kernels.perceptron``."""

    Z: np.ndarray  # weights (w, b)
    U: np.ndarray  # what averaging needs, or no columns
    counts: np.ndarray  # rows looked at, updates made, updates left, rows read in full

    @classmethod
    def begin(cls, start: np.ndarray, average: bool, max_updates: float = UNLIMITED) -> State:
        """Start at weights ``start``, which are copied."""
        counts = np.zeros((len(start), 4), dtype=np.int64)
        counts[:, LEFT] = int(min(max_updates, UNLIMITED))
        U = np.zeros(start.shape if average else (len(start), 0))
        return cls(start + 0.0, U, counts)  # + 0.0 turns −0.0 into 0.0, as the first update would

    def part(self, which: slice | np.ndarray) -> State:
        """Return the state of some machines; a slice shares memory, a mask copies."""
        return State(self.Z[which], self.U[which], self.counts[which])

    def predictors(self) -> np.ndarray:
        """Weights of all machines to predict with."""
        if not self.U.shape[1]:
            return self.Z
        return np.array([self.predictor(k) for k in range(len(self.Z))])

    def predictor(self, k: int) -> np.ndarray:
        """Weights to predict with: the current ones (not a copy), or their average over all steps."""
        if not self.U.shape[1] or not self.counts[k, SEEN]:
            return np.asarray(self.Z[k])
        return np.asarray(self.Z[k] - self.U[k] / self.counts[k, SEEN])


class Runs(ABC):
    """Some machines, advanced together by visiting rows; ``state`` is updated."""

    mistakes: list[int]  # updates in the last epoch, per machine
    before: np.ndarray  # weights at its beginning

    def __init__(self, machines: Sequence[Machine], state: State, settings: Settings) -> None:
        self.machines, self.state, self.settings = list(machines), state, settings
        self._counted = state.counts.copy()

    @abstractmethod
    def orders(self, rng: np.random.Generator) -> Iterator[Any]:
        """Yield the visiting order of one epoch after the other, for ever."""

    @abstractmethod
    def pieces(self, order: Any) -> Iterator[Any]:
        """Cut an epoch into pieces, between which Ctrl-C and clocks are heeded."""

    @abstractmethod
    def visit_all(self, order: Any) -> None:
        """Look at the rows of a piece, all machines together."""

    @abstractmethod
    def make_ready(self) -> None:
        """Do what is worth doing before many epochs."""

    def begin_epoch(self) -> None:
        """Remember where the epoch starts."""
        self.before = self.state.Z.copy()
        self._counted = self.state.counts.copy()

    def end_epoch(self) -> None:
        """Count the mistakes."""
        self.mistakes = (self.state.counts - self._counted)[:, MADE].tolist()

    def kept(self) -> dict[str, Any]:
        """All that changes, from within an epoch; see ``core.keeping``."""
        state = {"Z": self.state.Z, "U": self.state.U, "counts": self.state.counts}
        return {**state, "before": self.before, "counted": self._counted}

    def forms(self, machines: int) -> dict[str, Form]:
        """What ``kept`` returns for so many machines; see ``core.state_forms``."""
        Z, U, tally = (
            numbers(machines, self.state.Z.shape[1]),
            self.state.U.shape[1],
            counts(machines, 4),
        )
        arrays = {"Z": Z, "U": numbers(machines, U), "counts": tally}
        return {**arrays, "before": Z, "counted": tally}

    def go_on(self, kept: Mapping[str, Any]) -> None:
        """Be where ``kept`` was."""
        if np.any(kept["counts"][:, LEFT] > self.state.counts[:, LEFT]):
            raise StateError("counts must leave no more updates than allowed. Got more instead.")
        for name in ("Z", "U", "counts"):
            getattr(self.state, name)[...] = kept[name]
        self.before, self._counted = kept["before"], kept["counted"]

    @property
    def updates(self) -> np.ndarray:
        """Updates in all, per machine."""
        return np.asarray(self.state.counts[:, MADE])

    @property
    def steps(self) -> np.ndarray:
        """Rows looked at in all, per machine."""
        return np.asarray(self.state.counts[:, SEEN])

    def went_through(self, k: int) -> bool:
        """Whether machine k was free to look at every row of the epoch."""
        return bool(self.state.counts[k, LEFT] > 0)

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the machines only."""
        self.machines = [m for m, go in zip(self.machines, which, strict=True) if go]
        self.state = self.state.part(which)


class Running(Runs):
    """Machines on the same rows, which are here."""

    def __init__(
        self, examples: Examples, machines: Sequence[Machine], state: State, settings: Settings
    ) -> None:
        super().__init__(machines, state, settings)
        self.examples = examples
        self.arrays = examples.rows.arrays if examples.rows.resident else None
        self.positives = np.array([m.positive for m in machines], dtype=np.int64)
        rates = settings.eta * np.array([m.class_weight for m in machines])
        self.rule = Rule(settings.threshold, examples.pad, rates)
        several = len(machines) > 1
        self.tile = examples.rows.block_length(TILE_ENTRIES) if several else UNLIMITED
        self._piece = examples.rows.block_length()

    @property
    def rows(self) -> Rows:
        """The training rows."""
        return self.examples.rows

    def orders(self, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield the visiting order of one epoch after the other, for ever."""
        return epochs(self.settings.order, self.machines[0].members, rng)

    def pieces(self, order: np.ndarray) -> Iterator[np.ndarray]:
        """Cut an epoch into pieces of some 20 ms."""
        for start in range(0, len(order), self._piece):
            yield order[start : start + self._piece]

    def make_ready(self) -> None:
        """Make a sketch of the rows, where it pays."""
        if self.rows.resident:
            self.arrays = self.examples.sketched

    def end_epoch(self) -> None:
        """Count the mistakes; stop using a sketch that decided too little to pay for itself."""
        super().end_epoch()
        new = self.state.counts - self._counted
        sketched = self.arrays is not None and self.arrays is not self.rows.arrays
        if sketched and 2 * new[:, READ].sum() > new[:, SEEN].sum():
            self.arrays = self.rows.arrays

    def visit_all(self, order: np.ndarray) -> None:
        """Look at the rows in ``order``, all machines together."""
        for arrays, local, first in self._stretches(order):
            self._sweep(arrays, local, first)

    def _stretches(self, order: np.ndarray) -> Iterator[tuple[Dense | Csr, np.ndarray, int]]:
        """Yield pieces of ``order``: the arrays their rows are in, places there, and the first row."""
        if self.arrays is not None:
            yield self.arrays, order, 0
            return
        for _, arrays, local, first in self.rows.stretches(order):
            yield arrays, local, first

    def _sweep(self, arrays: Dense | Csr, order: np.ndarray, first: int) -> None:
        ex, st = self.examples, self.state
        labels = ex.codes[first:], self.positives, ex.scale[first:]
        sweep(arrays, *labels, order, st.Z, st.U, st.counts, self.rule, self.tile)

    def visit(self, order: np.ndarray) -> Iterator[tuple[int, int]]:
        """Look at the rows in ``order`` with the only machine; yield step and row after each update."""
        count = self.state.counts[0]
        left = int(count[LEFT])
        for arrays, local, first in self._stretches(order):
            while len(local) and left > 0:
                seen = int(count[SEEN])
                count[LEFT] = 1
                self._sweep(arrays, local, first)
                step = int(count[SEEN])
                row, local = first + int(local[step - seen - 1]), local[step - seen :]
                if count[LEFT] == 0:
                    left -= 1
                    yield step, row
        count[LEFT] = left

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the machines only."""
        super().keep(which)
        self.positives = self.positives[which]
        self.rule = self.rule._replace(rates=self.rule.rates[which])


def in_groups(
    examples: Examples, machines: Sequence[Machine], state: State, settings: Settings
) -> Iterator[Running]:
    """Machines on all rows together, and others, or those whose updates are recorded, one by one.

    Nothing here may cost O(d): a stream comes by one example at a time.
    """
    together = not settings.record and all(len(m.members) == examples.rows.n for m in machines)
    groups = [np.s_[:]] if together else [np.s_[k : k + 1] for k in range(len(machines))]
    for group in groups:
        yield Running(examples, machines[group], state.part(group), settings)
