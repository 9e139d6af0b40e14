"""What is in the pocket, and which candidates get into it.

Candidates are gathered and judged 64 at a time by one matrix product, in which most are thrown out: a
lower bound on their errors (rows that are wrong by more than rounding) already reaches the pocket's. The
few that remain are counted exactly, in order, so every improvement is found, at the same update as if
each had been counted at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin.core.state_forms import Form, count, each, listed, number, numbers
from maxmargin.kernels.decision import inverse_lengths
from maxmargin.solvers.examples import Examples
from maxmargin.solvers.problem import Machine

__all__ = ["Best", "Pocket"]

BATCH = 64  # candidates judged together


class Best:
    """The pocket: the best weights so far, and their errors."""

    def __init__(self, z: np.ndarray, errors: float, total: float) -> None:
        self.z, self.errors, self.found_at, self.total = z.copy(), errors, 0, total

    @property
    def error(self) -> float:
        """E_in of the pocket."""
        return self.errors / self.total

    def take(self, z: np.ndarray, errors: float, update: int | None = None) -> None:
        """Take weights if they make fewer errors; equal ones never replace the pocket."""
        if errors < self.errors:
            self.z, self.errors = z.copy(), errors
            self.found_at = self.found_at if update is None else update


class Pocket(Best):
    """The pocket on rows that are here, and the candidates still to be judged."""

    def __init__(self, examples: Examples, machine: Machine, z: np.ndarray) -> None:
        self.examples = examples
        self.machine = machine
        self.signs = machine.signs(examples.codes)
        self.everything = np.arange(examples.rows.n)
        self.lengths = np.empty(examples.rows.n)
        for where, block in examples.rows.blocks():
            inverse_lengths(block.arrays, examples.pad, self.lengths[where])
        self.lengths = 1.0 / self.lengths
        self.weights = machine.class_weight[examples.codes]
        super().__init__(z, self.count(z), float(self.weights.sum()))
        self._waiting: list[tuple[int, np.ndarray]] = []

    def count(self, z: np.ndarray) -> float:
        """Rows with y·f(x) ≤ 0, judged by the sum in order, each with its class weight."""
        m = self.examples.margins(self.machine, z, self.everything)
        return float(self.weights @ (m <= 0))

    def offer(self, update: int, z: np.ndarray) -> None:
        """Put weights in line for the pocket."""
        self._waiting.append((update, z.copy()))
        if len(self._waiting) == BATCH:
            self.judge()

    def kept(self) -> dict[str, Any]:
        """All that changes; see ``core.keeping``."""
        best = {"best": self.z, "errors": self.errors, "found_at": self.found_at}
        return {**best, "waiting": [[update, z] for update, z in self._waiting]}

    def forms(self) -> dict[str, Form]:
        """What ``kept`` returns; see ``core.state_forms``."""
        z = numbers(len(self.z))
        waiting = each(listed(count, z), most=BATCH)
        return {"best": z, "errors": number, "found_at": count, "waiting": waiting}

    def go_on(self, kept: Mapping[str, Any]) -> None:
        """Be where ``kept`` was."""
        self.z, self.errors, self.found_at = kept["best"], kept["errors"], kept["found_at"]
        self._waiting = [(update, z) for update, z in kept["waiting"]]

    def compare(self, z: np.ndarray) -> None:
        """Take weights into the pocket at once if they make fewer errors."""
        self.take(z, self.count(z))

    def judge(self) -> None:
        """Judge the candidates in line; the earliest of equal ones wins."""
        if not self._waiting:
            return
        Z = np.array([z for _, z in self._waiting])
        for k in np.flatnonzero(self._surely_wrong(Z) < self.errors):
            self.take(Z[k], self.count(Z[k]), self._waiting[k][0])
        self._waiting.clear()

    def _surely_wrong(self, Z: np.ndarray) -> np.ndarray:
        """Return a lower bound on each candidate's errors; exact enough once it reaches ours."""
        alive = np.arange(len(Z))
        wrong = np.zeros(len(Z))
        rounding = 4e-16 * (self.examples.rows.d + 4)
        W, b = np.ascontiguousarray(Z[:, :-1].T), self.examples.pad * Z[:, -1]
        size = np.linalg.norm(Z, axis=1)
        for where, block in self.examples.rows.blocks(1 << 20):
            F = block.times(np.ascontiguousarray(W[:, alive])) + b[alive]
            doubt = rounding * np.outer(self.lengths[where], size[alive])  # of padded vectors
            wrong[alive] += self.weights[where] @ (self.signs[where, None] * F < -doubt)
            alive = alive[wrong[alive] < self.errors]
            if not len(alive):
                break
        return wrong
