"""The online protocol in one sweep: for each row in turn predict, then see the label, then learn.

Prediction and learning are those of ``predict_one`` and ``learn_one``, bit for bit: the averaged weight
of a feature is z − u/steps, as in ``kernels.perceptron``, taken only where the row has an entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.kernels.jit import jit
from maxmargin.kernels.perceptron import SEEN, steps

__all__ = ["progress"]


@jit
def _value(rows: Any, i: int, z: Any, u: Any, seen: int) -> float:
    """f(x_i) with the weights to predict with, summed in order."""
    d = z.shape[0] - 1
    total = 0.0
    if u.shape[0] == 0 or seen == 0:
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            total += rows.data[p] * z[rows.indices[p]]
        return total + z[d]
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        j = rows.indices[p]
        total += rows.data[p] * (z[j] - u[j] / seen)
    return total + (z[d] - u[d] / seen)


@jit
def progress(
    rows: Any, codes: Any, positives: Any, Z: Any, U: Any, counts: Any, rule: Any, predicted: Any
) -> None:
    """Write the code predicted for each sparse row, and learn from rows with a label (code ≥ 0).

    One machine predicts 1 if f(x) > 0, else 0; of several the first with the largest f(x) wins.
    """
    order = np.arange(codes.shape[0])
    scale = np.empty(0)
    for i in range(codes.shape[0]):
        winner = 0
        best = _value(rows, i, Z[0], U[0], counts[0, SEEN])
        if Z.shape[0] == 1:
            winner = 1 if best > 0.0 else 0
        for k in range(1, Z.shape[0]):
            f = _value(rows, i, Z[k], U[k], counts[k, SEEN])
            if f > best:
                best, winner = f, k
        predicted[i] = winner
        if codes[i] < 0:
            continue
        for k in range(Z.shape[0]):
            one = order[i : i + 1]
            steps(rows, codes, positives[k], scale, one, Z[k], U[k], counts[k], rule, rule.rates[k])
