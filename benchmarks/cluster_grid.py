"""What a round costs: workers × partitions × rows, and the constants of the cost model fitted to it.

    round = latency + tasks × task + partitions × part / workers + rows × d × 8 / (workers × bandwidth)

``python -m benchmarks.cluster_grid``; with ``--small`` only the cells up to a million rows.
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.cluster import cluster, collection
from maxmargin.cluster.dask import DaskExecutor, bundle_size

D = 20
WORKERS, PARTS, ROWS = (1, 2), (10, 100, 1_000), (10**5, 10**6, 10**7)
TURNS = 3


def margins(X: Any, y: Any, w: np.ndarray) -> float:
    """What every round does at least: one product with the rows."""
    return float(np.maximum(0.0, 1.0 - y * (X @ w)).sum())


def cell(client: Any, parts: int, n: int) -> float:
    """Seconds of a round; rows are made anew in each."""
    executor = DaskExecutor(*collection(n, D, parts), client)
    given = [(np.ones(D) / D,)] * parts
    best = float("inf")
    for _ in range(TURNS):
        began = time.perf_counter()
        executor.run(margins, range(parts), given)
        best = min(best, time.perf_counter() - began)
    return best


def main() -> int:
    """Print the grid and the constants."""
    warnings.simplefilter("ignore")
    sizes = ROWS[:-1] if "--small" in sys.argv else ROWS
    lines, seconds = [], []
    for workers in WORKERS:
        with cluster(workers) as client:
            cell(client, 10, 10**4)
            for parts, n in itertools.product(PARTS, sizes):
                took = cell(client, parts, n)
                tasks = -(-parts // bundle_size(parts, workers))
                print(f"{workers} workers, {parts:5d} partitions, {n:9,d} rows: {took * 1e3:8.1f} ms")
                lines.append([1.0, tasks, parts / workers, 8.0 * n * D / workers])
                seconds.append(took)
    A, b = np.array(lines), np.array(seconds)
    unit = A.max(axis=0)
    x, _ = nnls(A / unit / b[:, None], np.ones(len(b)))  # errors in proportion
    latency, task, part, read = x / unit
    print(
        f"latency {latency * 1e3:.1f} ms, task {task * 1e3:.2f} ms, partition {part * 1e3:.2f} ms, ",
        end="",
    )
    print(f"bandwidth {1e-6 / max(read, 1e-15):.0f} MB/s for each worker, rows made and read")
    fitted = A @ (x / unit)
    print(f"largest error of the model: {np.max(np.abs(fitted / b - 1.0)):.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
