"""The voted perceptron (Freund and Schapire 1999): all weights vote, each as long as it lived."""

from __future__ import annotations

import numpy as np

from maxmargin.core.trace import Trace
from maxmargin.solvers.examples import Examples

__all__ = ["vote"]

TOGETHER = 256  # weights that vote in one pass


def vote(examples: Examples, trace: Trace, steps: int) -> np.ndarray:
    """Return for each row the votes for +1 minus those for −1, as a share of all ``steps``.

    The weights after step t vote once for every t, so weights that an update at step s brought about
    have as many votes as steps pass until the next update.
    """
    born = np.array([1, *(update.step for update in trace)])
    lives = np.diff(np.append(born, steps + 1))
    total = np.zeros(examples.rows.n)
    for start in range(0, len(lives), TOGETHER):
        part = np.s_[start : start + TOGETHER]
        F = examples.decisions(np.ascontiguousarray(trace.weights[part]))
        total += lives[part] @ np.where(F > 0, 1.0, -1.0)
    return total / max(steps, 1)
