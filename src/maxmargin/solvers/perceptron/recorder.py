"""A trace of every update, written as the perceptron runs."""

from __future__ import annotations

import numpy as np

from maxmargin.core.trace import Trace, Update
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.problem import Machine

__all__ = ["Recorder"]

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
