"""How good a plane is, whoever found it: measured on the data, with the bias outside.

For min ½‖w‖² + C Σ ξ_i the error of a plane is (its value − the optimum) / the optimum. The optimum is
bounded from below by the dual value of a certificate, so no plane has an error below zero but for
rounding. For the largest margin it is 1 − (its margin) / (the largest), and for a perceptron the number
of training rows that are not on their side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Plane:
    """What a contestant found: a plane w·x + b, the passes it counted, or the word it gave."""

    w: np.ndarray | None
    b: float = 0.0
    passes: int | None = None
    verdict: str = ""


@dataclass
class Problem:
    """A task on some data; ``effort`` is a tolerance or a number of passes, None the default."""

    kind: str  # "perceptron", "hard", "soft" or "separability"
    X: Any
    y: np.ndarray  # −1 and +1
    C: float = 1.0
    effort: float | None = None

    def head(self, rows: int) -> Problem:
        """The same task on the first rows of either class."""
        pick = np.sort(np.concatenate([np.flatnonzero(self.y == label)[:rows] for label in (-1, 1)]))
        return Problem(self.kind, self.X[pick], self.y[pick], self.C, self.effort)


def values(problem: Problem, plane: Plane) -> np.ndarray:
    """y_i (w·x_i + b) for every row."""
    return np.asarray(problem.y * (problem.X @ plane.w + plane.b))


def objective(problem: Problem, plane: Plane) -> float:
    """½‖w‖² + C Σ max(0, 1 − y_i (w·x_i + b))."""
    assert plane.w is not None
    slack = np.maximum(0.0, 1.0 - values(problem, plane)).sum()
    return float(0.5 * plane.w @ plane.w + problem.C * slack)


def margin(problem: Problem, plane: Plane) -> float:
    """The smallest distance of a row from the plane, negative if a row is on the wrong side."""
    assert plane.w is not None
    length = float(np.linalg.norm(plane.w))
    return float(values(problem, plane).min()) / length if length > 0 else float("-inf")


def wrong(problem: Problem, plane: Plane) -> int:
    """Rows that are not strictly on their side."""
    return int(np.count_nonzero(~(values(problem, plane) > 0)))


def report(problem: Problem, plane: Plane) -> dict[str, Any]:
    """What is told of a plane; all numbers, so that the planes stay where they are."""
    told: dict[str, Any] = {"passes": plane.passes}
    if plane.verdict:
        told["verdict"] = plane.verdict
    if plane.w is None:
        return told
    told["wrong"] = wrong(problem, plane)
    if problem.kind == "soft":
        told["value"] = objective(problem, plane)
    if problem.kind == "hard":
        told["value"] = margin(problem, plane)
    return told


def error_of(kind: str, told: dict[str, Any], reference: float | None) -> float | None:
    """The distance from the optimum as this page shows it; None if there is none."""
    if kind == "perceptron":
        return told.get("wrong")
    value = told.get("value")
    if value is None or reference is None or not np.isfinite(value):
        return None
    return value / reference - 1.0 if kind == "soft" else 1.0 - value / reference
