"""A classification problem as the solvers see it: binary machines on shared rows, and their solutions.

A machine is one binary problem on shared rows. Its class ``positive`` counts as +1; ``negative`` is
the class that counts as −1, or None for "all the rest". Binary, one-vs-rest and one-vs-one problems
are all lists of machines on the same rows. (The online perceptron copies none of them; the batch and
pocket perceptrons copy the rows of a pair, or of a training split.)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from maxmargin.core.history import History, Trace, elapsed
from maxmargin.stopping import StopReason

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

    def among(self, codes: np.ndarray) -> np.ndarray:
        """Where rows of this machine are among rows with these label codes."""
        if self.negative is None:
            return np.arange(len(codes))
        return np.flatnonzero((codes == self.positive) | (codes == self.negative))

    def on(self, codes: np.ndarray) -> Machine:
        """The same machine, on rows with these label codes."""
        return replace(self, members=self.among(codes))


class Measured(Protocol):
    """Rows on which planes can be measured: here, or in partitions elsewhere."""

    def errors_of(self, machines: Sequence[Machine], Z: np.ndarray) -> np.ndarray:
        """For each machine with its z the share of its rows with y·f(x) ≤ 0; nan without rows."""


class Trained(Measured, Protocol):
    """Rows that machines are trained on."""

    @property
    def rows(self) -> Any:
        """The rows, here or in partitions."""

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
