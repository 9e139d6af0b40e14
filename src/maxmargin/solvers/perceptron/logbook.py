"""One machine's way through the epochs: its history, and the question when to stop."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from maxmargin.core.history import Epoch, History
from maxmargin.core.rules import Progress, StoppingRule, StopReason
from maxmargin.solvers.problem import Machine, Problem

__all__ = ["Logbook"]

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
