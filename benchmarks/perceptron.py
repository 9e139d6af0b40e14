"""Perceptron epochs and small fits against scikit-learn, and against one matrix-vector product."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import sklearn.linear_model
from scipy import sparse
from sklearn.datasets import load_iris

import maxmargin as mm
from benchmarks.timing import Row, at_least, at_most, best_of


def fit(make: Any, X: Any, y: Any, **params: Any) -> object:
    return make(**params).fit(X, y)


def epochs(X: Any, y: Any, ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Return fits of 1 and 6 epochs, from whose difference the time of an epoch follows."""
    sk = {"tol": None, **theirs}
    return {
        f"{who}{n}": partial(fit, make, X, y, max_iter=n, **params)
        for n in (1, 6)
        for who, make, params in (
            ("ours", mm.Perceptron, ours),
            ("sklearn", sklearn.linear_model.Perceptron, sk),
        )
    }


def per_epoch(times: dict[str, float], who: str) -> float:
    return (times[f"{who}6"] - times[f"{who}1"]) / 5


def dense(rng: np.random.Generator) -> Iterator[Row]:
    n, d = 500_000, 100
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0
    w = rng.standard_normal(d)
    runs = epochs(X, y, {}, {"shuffle": False})
    times = best_of({"X @ w": lambda: X @ w, **runs}, rounds=10)
    ours, sk = per_epoch(times, "ours"), per_epoch(times, "sklearn")
    work = "dense 500,000×100, a cyclic epoch"
    yield at_most(work, ours, "one X @ w", times["X @ w"], 1.3)
    yield at_least(work, ours, "scikit-learn", sk, 2.5)
    work = "the same, a whole fit of 6 epochs"
    yield at_least(work, times["ours6"], "scikit-learn", times["sklearn6"], 1)


def csr(rng: np.random.Generator) -> Iterator[Row]:
    n, d, k = 400_000, 50_000, 75
    indices = np.sort(rng.integers(0, d, size=(n, k)), axis=1).astype(np.int32)
    ends = np.arange(0, n * k + 1, k, dtype=np.int32)
    X = sparse.csr_matrix((rng.standard_normal(n * k), indices.ravel(), ends), shape=(n, d))
    X.sum_duplicates()
    y = X @ rng.standard_normal(d) + rng.standard_normal(n) > 0
    times = best_of(epochs(X, y, {}, {"shuffle": False}), rounds=6)
    ours, sk = per_epoch(times, "ours"), per_epoch(times, "sklearn")
    yield at_least("CSR 400,000×50,000, 75 a row, cyclic epoch", ours, "scikit-learn", sk, 1)
    shuffled = {"order": "shuffled", "random_state": 0}
    times = best_of(epochs(X, y, shuffled, {"shuffle": True, "random_state": 0}), rounds=3)
    ours, sk = per_epoch(times, "ours"), per_epoch(times, "sklearn")
    yield at_least("the same, shuffled", ours, "scikit-learn", sk, 2)


def one_vs_rest(rng: np.random.Generator) -> Iterator[Row]:
    n, d, k = 60_000, 784, 10
    X = np.where(rng.random((n, d)) < 0.2, rng.random((n, d)), 0.0)
    y = np.argmax(X @ rng.standard_normal((d, k)) + 2.0 * rng.standard_normal((n, k)), axis=1)
    times = best_of(epochs(X, y, {}, {"shuffle": False}), rounds=3)
    ours, sk = per_epoch(times, "ours"), per_epoch(times, "sklearn")
    yield at_least("one-vs-rest 60,000×784, 10 classes, an epoch", ours, "scikit-learn", sk, 2.5)


def small() -> Iterator[Row]:
    X, y = load_iris(return_X_y=True)
    times = best_of(
        {
            "ours": partial(fit, mm.Perceptron, X, y),
            "sklearn": partial(fit, sklearn.linear_model.Perceptron, X, y),
        },
        rounds=50,
    )
    yield at_most("fit on iris, again", times["ours"], "scikit-learn", times["sklearn"], 2)
    script = "from sklearn.datasets import load_iris; {}; Perceptron().fit(*load_iris(return_X_y=True))"

    def process(imports: str) -> None:
        command = [sys.executable, "-W", "ignore", "-c", script.format(imports)]
        subprocess.run(command, check=True)

    times = best_of(
        {
            "ours": partial(process, "from maxmargin import Perceptron"),
            "sklearn": partial(process, "from sklearn.linear_model import Perceptron"),
        },
        rounds=5,
    )
    work = "first fit in a process, import included"
    yield at_most(work, times["ours"], "scikit-learn", times["sklearn"], 1.5)


def rows() -> Iterator[Row]:
    """Measure everything, one line at a time."""
    rng = np.random.default_rng(0)
    yield from small()
    yield from dense(rng)
    yield from csr(rng)
    yield from one_vs_rest(rng)
