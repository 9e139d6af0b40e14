"""Training and validation rows of the perceptrons in partitions.

What a partition is asked is answered by the same :class:`Examples` that serve rows in memory. Machines
travel without their rows: which rows of a partition are theirs, the labels there say. Weights are copied
where they arrive: those of a message may not be written, and kernels are compiled for those that may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.rows.remote import Part, RemoteRows
from maxmargin.solvers.examples import Examples, shares
from maxmargin.solvers.problem import Machine

__all__ = ["Form", "RemoteExamples", "light", "seen", "sizes"]


@dataclass(frozen=True)
class Form:
    """How rows count: padded with 1 or 0, and scaled to unit length or not."""

    pad: float
    normalize: bool = False

    def examples(self, part: Part) -> Examples:
        """The rows of a partition."""
        return Examples.of(part.rows, part.codes, self.pad, self.normalize)

    def unscaled(self, part: Part) -> Examples:
        """The same to count errors, which scales do not change."""
        return Examples(part.rows, part.codes, self.pad)


def light(machines: Sequence[Machine]) -> list[Machine]:
    """Machines as they travel."""
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


def sizes(machines: Sequence[Machine], counts: np.ndarray) -> np.ndarray:
    """How many rows each machine has in each partition, from those of each class."""
    return np.array([counts[:, m.among(np.arange(counts.shape[1]))].sum(axis=1) for m in machines])


@dataclass(frozen=True)
class RemoteExamples:
    """Rows in partitions on which planes are measured: one round for all machines together."""

    rows: RemoteRows
    form: Form

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
