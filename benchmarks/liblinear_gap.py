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
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import LinearSVC

LIMIT = 300  # iterations after which LIBLINEAR gives up
PATIENCE = 10.0  # seconds for one run of the copy without that limit
RULES = (10.0, 3.0, 1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5)


class Run(NamedTuple):
    """What one run took and reached (the worst of several machines)."""

    seconds: float
    gap: float
    iterations: int


def overheard(work: Callable[[], Any]) -> tuple[Any, float, str]:
    """Run some work; return its result, its seconds, and what its C code printed."""
    sys.stdout.flush()
    screen = os.dup(1)
    with tempfile.TemporaryFile() as told:
        os.dup2(told.fileno(), 1)
        try:
            began = time.perf_counter()
            result = work()
            seconds = time.perf_counter() - began
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(screen, 1)
            os.close(screen)
        told.seek(0)
        return result, seconds, told.read().decode()


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
        model, seconds, text = overheard(lambda: train(self._problem, settings))
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
        """The quickest run that reaches the gap, by the loosest rule that does so most of the time.

        It gives up after 300 iterations. If none gets there, scikit-learn's copy of the same solver goes
        on, which has no such limit.
        """
        for rule in RULES:
            found = [self.run(rule) for _ in range(runs)]
            reached = [run for run in found if run.gap <= gap]
            if 2 * len(reached) > runs:
                return min(reached, key=lambda run: run.seconds)
            if found[0].iterations >= LIMIT:
                break
        return self._unlimited(gap)

    def quickest(self, gap: float) -> Run:
        """The first run, from loose to strict rules, that reaches the gap; or where it gives up."""
        for rule in RULES:
            found = self.run(rule)
            if found.gap <= gap or found.iterations >= LIMIT:
                break
        return found

    def _unlimited(self, gap: float) -> Run:
        iterations, run = LIMIT, Run(0.0, np.inf, 0)
        while run.gap > gap and run.seconds < PATIENCE:
            iterations *= 2
            options = {"tol": 1e-12, "max_iter": iterations, "random_state": 0, "verbose": 1}
            model = LinearSVC(loss="hinge", C=self.C, **options)
            _, seconds, text = overheard(partial(model.fit, self.X, self.y))
            dual = -float(re.findall(r"Objective value = (\S+)", text)[-1])
            w, b = model.coef_[0], float(model.intercept_[0])
            slack = np.maximum(0.0, 1.0 - self.y * (self.X @ w + b)).sum()
            value = 0.5 * float(w @ w + b * b) + self.C * float(slack)
            run = Run(seconds, (value - dual) / value, iterations)
        return run
