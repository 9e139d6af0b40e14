"""A thousand workers, reckoned: the real messages of 2,000 partitions with a clock of their cost.

``python -m benchmarks.cluster_simulated`` prints the table of docs/scaling.md.
"""

from __future__ import annotations

import numpy as np

import maxmargin as mm
from benchmarks.cluster import block, labels
from maxmargin.cluster.simulated import Costs, Simulated
from maxmargin.estimators.remote import fit_surveyed
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


def main() -> None:
    print("| rows | workers | machine | rounds | through the client | clock | of which reading |")
    print("|---|---|---|---|---|---|---|")
    for kind, rows, workers in CASES:
        data = [noisy(part) if kind == "soft" else apart(part) for part in range(PARTS)]
        model = mm.SoftMarginSVC() if kind == "soft" else mm.HardMarginSVC()
        cluster = Simulated(data, Costs(workers=workers), rows / ROWS)
        fit_surveyed(model, survey(cluster))
        reading = model.n_passes_ * rows * FEATURES * 8 / (workers * cluster.costs.disk)
        moved = f"{model.bytes_moved_ / 1e6:.0f} MB"
        cells = f"{rows:.0e}", workers, kind, model.n_passes_, moved, f"{cluster.clock:,.0f} s"
        print("|", *(f"{cell} |" for cell in cells), f"{reading:,.0f} s |", flush=True)


if __name__ == "__main__":
    main()
