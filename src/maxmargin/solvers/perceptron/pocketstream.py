"""The pocket algorithm on rows that arrive.

The errors of weights on rows that are gone cannot be counted. Rows that come together judge the pocket
and the candidates among themselves; for single ones Gallant (1990) counts instead how long weights stay
correct: those with a longer run than the pocket's replace it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.core.trace import Trace
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.perceptron.judging import Pocket
from maxmargin.solvers.perceptron.recorder import Recorder
from maxmargin.solvers.perceptron.running import Running, Settings, State
from maxmargin.solvers.problem import Machine

__all__ = ["Carried", "learn_rows"]


@dataclass
class Carried:
    """What one machine carries from row to row; arrays are changed in place."""

    state: State  # of the running perceptron
    pocket: np.ndarray
    runs: np.ndarray  # correct predictions since the last mistake, and those of the pocket
    trace: Trace | None

    def count_run(self, z: np.ndarray, mistake: bool) -> None:
        """Gallant's rule: weights that were right longer than the pocket's replace them."""
        current, longest = self.runs
        current = 0 if mistake else current + 1
        if current > longest:
            longest = current
            self.pocket[:] = z
        self.runs[:] = current, longest


def learn_rows(
    examples: Examples, machine: Machine, carried: Carried, settings: Settings, rng: np.random.Generator
) -> float:
    """Pass once over the machine's rows; return the pocket's error on them, nan if there is only one."""
    state = carried.state
    mine = examples.restricted(machine.members)
    pocket = Pocket(mine, machine, carried.pocket) if mine.rows.n > 1 else None
    everything = replace(machine, members=np.arange(mine.rows.n))
    running = Running(mine, [everything], state, settings)
    recorder = None
    if settings.record:
        recorder = Recorder(mine, machine, state.Z[0], carried.trace, machine.members)
    earlier = state.Z[0].copy()
    for piece in running.pieces(next(running.orders(rng))):
        for step, row in running.visit(piece):
            if pocket is not None:
                pocket.offer(int(running.updates[0]), state.Z[0])
            if recorder is not None:
                recorder.record(step, row, state.Z[0])
    if recorder is not None:
        carried.trace = recorder.trace
    running.end_epoch()
    if pocket is None:
        carried.count_run(earlier, mistake=bool(running.mistakes[0]))
        return math.nan
    pocket.judge()
    carried.pocket[:] = pocket.z
    return pocket.error
