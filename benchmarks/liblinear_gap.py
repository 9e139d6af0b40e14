"""LIBLINEAR's time to a relative gap of its own problem, with liblinear-official.

Its hinge solver (``-s 3 -B 1``) penalises the bias, and stops by a rule of its own, ``-e``. The gap is
found from outside: it prints the dual value, and the primal value follows from the weights. So rules are
tried from loose to strict, and the first that reaches the gap counts, by its best of several runs.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
import time
from typing import Any, NamedTuple

import numpy as np

RULES = (10.0, 3.0, 1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5)


class Run(NamedTuple):
    """What one run took and reached (the worst of several machines)."""

    seconds: float
    gap: float
    iterations: int


class Peer:
    """One problem, in LIBLINEAR's own form."""

    def __init__(self, X: Any, y: np.ndarray, C: float) -> None:
        from liblinear.liblinearutil import problem

        self.X, self.y, self.C = X, y, C
        self._problem = problem(y, X, bias=1)

    def run(self, rule: float) -> Run:
        """Train once."""
        from liblinear.liblinearutil import parameter, train

        settings = parameter(f"-s 3 -B 1 -c {self.C!r} -e {rule!r}")
        sys.stdout.flush()
        screen = os.dup(1)
        with tempfile.TemporaryFile() as told:
            os.dup2(told.fileno(), 1)
            began = time.perf_counter()
            model = train(self._problem, settings)
            seconds = time.perf_counter() - began
            ctypes.CDLL(None).fflush(None)
            os.dup2(screen, 1)
            os.close(screen)
            told.seek(0)
            text = told.read().decode()
        duals = [-float(value) for value in re.findall(r"Objective value = (\S+)", text)]
        iterations = max(int(k) for k in re.findall(r"iter = (\d+)", text))
        d, classes = self.X.shape[1], model.nr_class
        machines = 1 if classes == 2 else classes
        W = np.array(model.w[: (d + 1) * machines]).reshape(d + 1, machines)
        F = self.X @ W[:-1] + W[-1]
        gaps = []
        for k, dual in enumerate(duals):
            own = np.where(self.y == model.label[k], 1.0, -1.0)
            value = 0.5 * float(W[:, k] @ W[:, k])
            value += self.C * float(np.maximum(0.0, 1.0 - own * F[:, k]).sum())
            gaps.append((value - dual) / value)
        return Run(seconds, max(gaps), iterations)

    def time_to(self, gap: float, runs: int = 3) -> Run:
        """The quickest run that reaches the gap; else the strictest, with the gap it reached."""
        for rule in RULES:
            found = self.run(rule)
            if found.gap <= gap or found.iterations >= 300:  # where it gives up
                break
        best = min((self.run(rule) for _ in range(runs)), key=lambda run: run.seconds)
        return min(best, found, key=lambda run: run.seconds)
