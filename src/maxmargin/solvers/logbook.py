"""One machine's way through the epochs: its history, and the question when to stop."""

from __future__ import annotations

import numpy as np

from maxmargin.core.history import Epoch, History
from maxmargin.core.stopping import Progress, StoppingRule, StopReason
from maxmargin.solvers.problem import Machine, Problem

__all__ = ["Logbook"]

ASKED = StopReason("callback", "A callback asked for the stop.")
NAN = float("nan")


class Logbook:
    """Keeps the history of one machine and asks its stopping rule after every epoch."""

    def __init__(
        self,
        problem: Problem,
        machine: Machine,
        stop: StoppingRule,
        *,
        repeats: bool,
        threshold: float = 0.0,
    ) -> None:
        self.problem = problem
        self.machine = machine
        self.history = History()
        self.reason: StopReason | None = None
        self._check = stop.watch()
        self._track = problem.track_error or stop.requires("training_error")
        self._repeats = repeats
        self._threshold = threshold

    def close_epoch(
        self,
        *,
        z: np.ndarray,
        weights: np.ndarray,
        before: np.ndarray,
        mistakes: int,
        updates: int,
        all_correct: bool,
        seconds: float,
        training_error: float | None = None,
        risk: float = NAN,
        running_error: float = NAN,
        asked: bool = False,
    ) -> None:
        """Write one line of history and set ``reason`` if a rule fires.

        ``z`` predicts (it may be an average); ``weights`` and ``before`` are the running weights now
        and at the start of the epoch. The training error is measured here if nobody knows it and
        somebody wants it: always in the last epoch.
        """
        error = training_error
        if error is None and self._track:
            error = self._training_error(z)
        validation_error = self.problem.validation_error(self.machine, z)
        progress = Progress(
            epoch=len(self.history) + 1,
            updates=updates,
            mistakes=mistakes,
            all_correct=all_correct,
            seconds=seconds,
            weights=weights,
            before=before,
            training_error=error,
            validation_error=validation_error,
            repeats=self._repeats,
            threshold=self._threshold,
        )
        self.reason = self._check(progress) or (ASKED if asked else None)
        if self.reason is not None and error is None:
            error = self._training_error(z)
        self.history.append(
            Epoch(
                epoch=progress.epoch,
                mistakes=mistakes,
                training_error=NAN if error is None else error,
                validation_error=NAN if validation_error is None else validation_error,
                norm=float(np.linalg.norm(z[:-1])),
                seconds=seconds,
                risk=risk,
                running_error=running_error,
            )
        )

    def _training_error(self, z: np.ndarray) -> float:
        return self.problem.training.error(self.machine, z, self.machine.members)
