"""Epochs of machines that learn together: their histories, their stopping rules, and their checkpoint.

After every epoch each machine gets a line of history and asks its stopping rule; the arrays, the random
numbers and the logs after an epoch are all that it takes to go on from there with the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from maxmargin.core.history import Epoch, History, Trace, Update, next_stage
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.problem import Examples, Problem, Solution
from maxmargin.stopping import Progress, StoppingRule, StopReason, remembered, remind

ASKED = StopReason("callback", "A callback asked for the stop.")
NAN = float("nan")


class Log:
    """The history of one machine, its trace if there is one, and the reason why it stopped."""

    def __init__(
        self, problem: Problem[Any], machine: Machine, stop: StoppingRule, trace: Trace | None
    ) -> None:
        self.history, self.trace = History(), trace
        self.reason: StopReason | None = None
        self.watcher = stop.watch()
        self.verdict = None if problem.verdict is None else partial(problem.verdict, machine)

    def close_epoch(
        self,
        progress: Progress,
        norm: float,
        *,
        asked: bool = False,
        risk: float = NAN,
        running_error: float = NAN,
    ) -> None:
        """Write one line of history and set ``reason`` if a rule fires.

        ``norm`` is ‖w‖ of the weights to predict with; the progress tells of the running ones.
        """
        self.reason = self.watcher(progress) or (ASKED if asked else None)
        training, validation = progress.training_error, progress.validation_error
        self.history.append(
            Epoch(
                progress.epoch,
                progress.mistakes,
                NAN if training is None else training,
                NAN if validation is None else validation,
                norm,
                progress.seconds,
                risk,
                running_error,
            )
        )

    @property
    def unmeasured(self) -> bool:
        """Whether the run has ended with an epoch whose training error is not known yet."""
        return self.reason is not None and math.isnan(self.history[-1].training_error)

    def state(self) -> dict[str, Any]:
        """Return all that the log remembers."""
        trace = {} if self.trace is None else {"trace": self.trace}
        memory = remembered(self.watcher)
        return {"history": self.history, "reason": self.reason, "memory": memory, **trace}

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what :meth:`state` returned."""
        self.history, self.reason, self.trace = state["history"], state["reason"], state.get("trace")
        remind(self.watcher, state["memory"])

    def solution(self, z: np.ndarray, state: np.ndarray, **more: Any) -> Solution:
        """Return what the run leaves behind."""
        assert self.reason is not None
        return Solution(z, self.reason, self.history, state, trace=self.trace, **more)


class Run:
    """Machines that learn together, epoch by epoch, and the checkpoint of their run.

    ``arrays`` hold all else that an epoch changes; they are changed in place.
    """

    def __init__(
        self,
        problem: Problem[Any],
        machines: Sequence[Machine],
        stop: StoppingRule,
        start: np.ndarray,
        rng: np.random.Generator | None = None,
        record: bool = False,
        **arrays: np.ndarray,
    ) -> None:
        traces = [Trace(z.copy()) if record else None for z in start]
        pairs = zip(machines, traces, strict=True)
        self.logs = [Log(problem, machine, stop, trace) for machine, trace in pairs]
        self.epoch, self.deadline = 0, problem.began + stop.max_seconds()
        self.earlier, self.clock = start.copy(), np.tile([0, 1], (len(start), 1))
        waiting = {"earlier": self.earlier, "clock": self.clock}  # for weights that come back
        self._rng, self._arrays, self._stage = rng, {**arrays, **waiting}, next_stage()
        found = self._stage.resume(self._state)
        if found is not None:
            self._restore(found)

    @property
    def active(self) -> list[int]:
        """The machines that have no reason to stop yet."""
        return [k for k, log in enumerate(self.logs) if log.reason is None]

    def keep(self, ended: bool = False) -> None:
        """Let the checkpoint know of an epoch, or of the end."""
        self._stage.keep(self._state, ended)

    def _state(self) -> dict[str, Any]:
        rng = {} if self._rng is None else {"rng": self._rng.bit_generator.state}
        logs = [log.state() for log in self.logs]
        return {"epoch": self.epoch, **rng, **self._arrays, "logs": logs}

    def _restore(self, state: dict[str, Any]) -> None:
        self.epoch = state["epoch"]
        if self._rng is not None:
            self._rng.bit_generator.state = state["rng"]
        for name, array in self._arrays.items():
            array[...] = state[name]
        for log, found in zip(self.logs, state["logs"], strict=True):
            log.restore(found)


WEIGHTS_AT_ONCE = 1 << 16  # weights of the updates whose margins are computed at once


class Recorder:
    """Writes every update of one machine into a trace; the margins of many updates at once."""

    def __init__(
        self, examples: Examples, machine: Machine, trace: Trace, names: np.ndarray | None = None
    ) -> None:
        self.examples, self.machine, self.trace = examples, machine, trace
        self.names = names  # what to call the rows, if not 0, 1, 2, …
        # The last weights written, and those after each update that waits to be written.
        self._weights = [trace[-1].weights if len(trace) else trace.start]
        self._waiting: list[tuple[int, int]] = []  # step and row of these updates

    def record(self, step: int, row: int, z: np.ndarray) -> None:
        """Add one update, given the weights after it."""
        self._weights.append(z.copy())
        self._waiting.append((step, row))
        if len(self._waiting) * len(z) >= WEIGHTS_AT_ONCE:
            self.write()

    def write(self) -> None:
        """Write the updates that wait."""
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
        for update in zip(steps, names.tolist(), margins.tolist(), self._weights[1:], strict=True):
            self.trace.append(Update(*update))
        self._weights, self._waiting = self._weights[-1:], []
