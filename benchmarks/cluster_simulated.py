"""A thousand workers, reckoned: the real messages of 2,000 partitions with a clock of their cost.

``python -m benchmarks.cluster_simulated`` prints the tables of docs/scaling.md.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from tests.simulated import Costs, Simulated

import maxmargin as mm
from benchmarks.cluster import block, labels
from maxmargin.rows.survey import survey

PARTS, FEATURES, ROWS = 2_000, 100, 200_000
CASES = (("soft", 1e9, 100), ("hard", 1e9, 100), ("soft", 1e10, 1_000), ("soft", 1e11, 1_000))


def noisy(part: int) -> tuple[np.ndarray, np.ndarray]:
    X = block(part, ROWS // PARTS, FEATURES)
    return X, labels(X)


def apart(part: int) -> tuple[np.ndarray, np.ndarray]:
    """The same rows, moved away from a plane."""
    X = block(part, ROWS // PARTS, FEATURES)
    side = np.sign(X.sum(axis=1))
    return X + 0.05 * side[:, None], side


LEARNING = (
    ("sequential", 1e9, 100),
    ("mixing", 1e9, 100),
    ("batch, exact steps", 1e9, 100),
    ("pocket", 1e9, 100),
    ("sequential", 1e10, 1_000),
    ("mixing", 1e10, 1_000),
)


def learner(kind: str) -> Any:
    """Two epochs of one of the perceptrons."""
    if kind == "pocket":
        return mm.PocketPerceptron(stop=mm.stopping.MaxEpochs(2))
    if kind.startswith("batch"):
        return mm.BatchPerceptron(step="exact", max_iter=2)
    return mm.Perceptron(partitions=kind, max_iter=2)


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore", mm.BudgetWarning)
    print("| rows | workers | | passes | moved | clock |")
    print("|---|---|---|---|---|---|")
    for kind, rows, workers in LEARNING:
        model = learner(kind)
        cluster = Simulated([noisy(part) for part in range(PARTS)], Costs(workers=workers), rows / ROWS)
        model._fit_data(survey(cluster))
        cells = f"{rows:.0e}", workers, kind, model.n_passes_, f"{cluster.bytes_moved / 1e6:.0f} MB"
        print("|", *(f"{cell} |" for cell in cells), f"{cluster.clock:,.0f} s |", flush=True)
    print()
    print("| rows | workers | machine | rounds | through the client | clock | of which reading |")
    print("|---|---|---|---|---|---|---|")
    for kind, rows, workers in CASES:
        data = [noisy(part) if kind == "soft" else apart(part) for part in range(PARTS)]
        model = mm.SoftMarginSVC() if kind == "soft" else mm.HardMarginSVC()
        cluster = Simulated(data, Costs(workers=workers), rows / ROWS)
        model._fit_data(survey(cluster))
        reading = model.n_passes_ * rows * FEATURES * 8 / (workers * cluster.costs.disk)
        moved = f"{model.bytes_moved_ / 1e6:.0f} MB"
        cells = f"{rows:.0e}", workers, kind, model.n_passes_, moved, f"{cluster.clock:,.0f} s"
        print("|", *(f"{cell} |" for cell in cells), f"{reading:,.0f} s |", flush=True)


if __name__ == "__main__":
    main()
