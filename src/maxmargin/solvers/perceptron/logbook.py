"""One machine's way through the epochs: its history, and the question when to stop.

A trace of every update, written as the perceptron runs.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from maxmargin.core.history import Epoch, History, Trace, Update
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.problem import Machine, Problem
from maxmargin.stopping import Progress, StoppingRule, StopReason

ASKED = StopReason("callback", "A callback asked for the stop.")
NAN = float("nan")


def _length(w: np.ndarray) -> float:
    """‖w‖; for long vectors not by BLAS, whose threads would go on spinning beside the next epoch."""
    return math.sqrt(w @ w if len(w) < 1000 else np.square(w).sum())


class Logbook:
    """Keeps the history of one machine and asks its stopping rule after every epoch."""

    def __init__(self, problem: Problem[Any], machine: Machine, stop: StoppingRule) -> None:
        self.problem = problem
        self.machine = machine
        self.history = History()
        self.reason: StopReason | None = None
        self.check = stop.watch()
        self.verdict = None if problem.verdict is None else partial(problem.verdict, machine)

    def close_epoch(
        self,
        progress: Progress,
        z: np.ndarray,
        *,
        asked: bool = False,
        risk: float = NAN,
        running_error: float = NAN,
    ) -> None:
        """Write one line of history and set ``reason`` if a rule fires.

        ``z`` are the weights to predict with; the progress tells of the running ones.
        """
        self.reason = self.check(progress) or (ASKED if asked else None)
        self.history.append(
            Epoch(
                progress.epoch,
                progress.mistakes,
                NAN if progress.training_error is None else progress.training_error,
                NAN if progress.validation_error is None else progress.validation_error,
                _length(z[:-1]),
                progress.seconds,
                risk,
                running_error,
            )
        )

    @property
    def unmeasured(self) -> bool:
        """Whether the run has ended with an epoch whose training error is not known yet."""
        return self.reason is not None and math.isnan(self.history[-1].training_error)

    def measure(self, error: float) -> None:
        """Write down the training error of the last epoch, which was not worth measuring before."""
        self.history.amend(training_error=error)


TOGETHER = 1 << 16  # weights of the updates whose margins are computed at once


class Recorder:
    """Writes every update of one machine into a trace; the margins of many updates at once."""

    def __init__(
        self,
        examples: Examples,
        machine: Machine,
        start: np.ndarray,
        trace: Trace | None = None,
        names: np.ndarray | None = None,
    ) -> None:
        self.examples = examples
        self.names = names  # what to call the rows, if not 0, 1, 2, …
        self.machine = machine
        self._trace = Trace(start.copy()) if trace is None else trace
        self._weights = [start.copy()]  # the last ones written, and those after each update in line
        self._waiting: list[tuple[int, int]] = []  # step and row of these updates

    @property
    def trace(self) -> Trace:
        """The trace of all updates so far."""
        self._write()
        return self._trace

    def go_on(self, trace: Trace) -> None:
        """Write on in a trace."""
        self._trace = trace
        self._weights = [trace[-1].weights if len(trace) else trace.start.copy()]

    def record(self, step: int, row: int, z: np.ndarray) -> None:
        """Add one update, given the weights after it."""
        self._weights.append(z.copy())
        self._waiting.append((step, row))
        if len(self._waiting) * len(z) >= TOGETHER:
            self._write()

    def _write(self) -> None:
        if not self._waiting:
            return
        ex, which = self.examples, np.array([row for _, row in self._waiting])
        Z = np.array(self._weights[:-1])
        f = np.cumsum(ex.rows.take(which) * Z[:, :-1], axis=1)[:, -1] + ex.pad * Z[:, -1]  # in order
        margins = self.machine.signs(ex.codes[which]) * f
        if len(ex.scale):
            margins *= ex.scale[which]
        names = which if self.names is None else self.names[which]
        steps = [step for step, _ in self._waiting]
        updates = zip(steps, names.tolist(), margins.tolist(), self._weights[1:], strict=True)
        for update in updates:
            self._trace.append(Update(*update))
        self._weights, self._waiting = self._weights[-1:], []
