"""Perceptron epochs and small fits against scikit-learn, and against one matrix-vector product."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import sklearn.linear_model
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import maxmargin as mm
from benchmarks.timing import Row, at_least, at_most, best_of, truth


def fit(make: Any, X: Any, y: Any, **params: Any) -> object:
    return make(**params).fit(X, y)


def epochs(X: Any, y: Any, ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Return fits of 3 and 8 epochs, from whose difference the time of an epoch follows.

    By the third epoch it is known whether a sketch of the rows pays, and it is made.
    """
    sk = {"tol": None, **theirs}
    return {
        f"{who}{n}": partial(fit, make, X, y, max_iter=n, **params)
        for n in (3, 8)
        for who, make, params in (
            ("ours", mm.Perceptron, ours),
            ("sklearn", sklearn.linear_model.Perceptron, sk),
        )
    }


def per_epoch(times: dict[str, float], who: str) -> float:
    return (times[f"{who}8"] - times[f"{who}3"]) / 5


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
    work = "the same, a whole fit of 8 epochs"
    yield at_least(work, times["ours8"], "scikit-learn", times["sklearn8"], 1)


def noisy(rng: np.random.Generator) -> Iterator[Row]:
    """Many mistakes: a third of the labels are wrong."""
    n, d = 300_000, 100
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal(d) > 0) ^ (rng.random(n) < 1 / 3)
    w = rng.standard_normal(d)
    times = best_of({"X @ w": lambda: X @ w, **epochs(X, y, {}, {"shuffle": False})}, rounds=6)
    ours, sk = per_epoch(times, "ours"), per_epoch(times, "sklearn")
    work = "dense 300,000×100, a third of the labels wrong, a cyclic epoch"
    yield at_most(work, ours, "one X @ w", times["X @ w"], 2)
    yield at_least(work, ours, "scikit-learn", sk, 1.8)


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


def standard(X: Any) -> Any:
    return StandardScaler().fit_transform(X)


def small_sets() -> Iterator[tuple[str, Any, Any]]:
    X, y = load_iris(return_X_y=True)
    yield "iris, 3 classes", standard(X), y
    yield "iris, 100×4", standard(X[50:]), y[50:]
    for name, load in (
        ("wine", load_wine),
        ("breast cancer", load_breast_cancer),
        ("digits", load_digits),
    ):
        X, y = load(return_X_y=True)
        yield name, standard(X), y
    made = mm.datasets.make_overlapping(5_000, 20, distance=2.0)
    yield "5,000×20", standard(made[0]), made[1]


def small() -> Iterator[Row]:
    """Fits of most people's size: the perceptron for as many epochs, and the pocket."""
    for name, X, y in small_sets():
        n = mm.Perceptron().fit(X, y).n_iter_
        times = best_of(
            {
                "ours": partial(fit, mm.Perceptron, X, y),
                "sklearn": partial(
                    fit, sklearn.linear_model.Perceptron, X, y, max_iter=n, tol=None, shuffle=False
                ),
                "pocket": partial(fit, mm.PocketPerceptron, X, y, random_state=0),
            },
            rounds=7,
        )
        work = f"{name}, a fit of {n} epochs"
        yield at_most(work, times["ours"], "scikit-learn", times["sklearn"], 1)
        work = f"{name}, a pocket of 10,000 updates"
        yield at_most(work, times["pocket"], "one Perceptron()", times["ours"], 20)
    X, y = load_breast_cancer(return_X_y=True)
    for name, rows, labels in (("breast cancer", X, y), ("digit 1", *digit(1))):
        wrong = mm.PocketPerceptron(random_state=0).fit(rows, labels).best_error_ * len(labels)
        yield truth(
            f"{name}: errors of the pocket, where there is a plane without", wrong, "0", wrong == 0
        )


def digit(k: int) -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    return X, y == k


def predictions(rng: np.random.Generator) -> Iterator[Row]:
    """Labels of many rows, however they lie in memory, and of one row."""
    n, d, k = 100_000, 10_000, 50
    X, wide = rng.standard_normal((1_000_000, 20)), rng.standard_normal((1_000_000, 100))
    indices = np.sort(rng.integers(0, d, size=(n, k)), axis=1).astype(np.int32)
    ends = np.arange(0, n * k + 1, k, dtype=np.int32)
    S = sparse.csr_matrix((rng.standard_normal(n * k), indices.ravel(), ends), shape=(n, d))
    S.sum_duplicates()
    for work, rows, classes, several in (
        ("predict 1,000,000×20", X, 2, 1),
        ("the same by columns", np.asfortranarray(X), 2, 1),
        ("the same in single precision", X.astype(np.float32), 2, 1),
        ("the same, 10 classes", X, 10, 1),
        ("predict 1,000,000×100", wide, 2, 1),
        ("predict 100,000×10,000, sparse, 50 a row, 10 classes", S, 10, 1),
        ("predict one row, 1,000 times", X[:1], 2, 1_000),
    ):
        train = (S if sparse.issparse(rows) else wide if rows is wide else X)[:2_000]
        labels = rng.integers(classes, size=2_000)
        models = {
            "ours": mm.Perceptron(max_iter=2).fit(train, labels),
            "LinearSVC": LinearSVC(max_iter=20).fit(train, labels),
        }

        def run(model: Any, rows: Any = rows, several: int = several) -> None:
            for _ in range(several):
                model.predict(rows)

        times = best_of({who: partial(run, model) for who, model in models.items()}, rounds=7)
        yield at_most(work, times["ours"], "LinearSVC", times["LinearSVC"], 1)


def processes() -> Iterator[Row]:
    """A first fit in a process; all modules are there as bytecode, as after an installation."""
    script = "from sklearn.datasets import load_iris; {}; {}.fit(*load_iris(return_X_y=True))"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def process(imports: str, model: str) -> None:
        command = [sys.executable, "-W", "ignore", "-c", script.format(imports, model)]
        subprocess.run(command, check=True, env=environment)

    for ours, module, theirs in (
        ("Perceptron()", "sklearn.linear_model", "Perceptron()"),
        ("SoftMarginSVC()", "sklearn.svm", "LinearSVC(loss='hinge')"),
    ):
        runs = {
            "ours": partial(process, f"from maxmargin import {ours[:-2]}", ours),
            "sklearn": partial(process, f"from {module} import {theirs.partition('(')[0]}", theirs),
        }
        times = best_of(runs, rounds=5)
        work = f"{ours}, first fit in a process, import included"
        yield at_most(work, times["ours"], f"scikit-learn's {theirs}", times["sklearn"], 1)


def rows() -> Iterator[Row]:
    """Measure everything, one line at a time."""
    rng = np.random.default_rng(0)
    yield from small()
    yield from processes()
    yield from dense(rng)
    yield from noisy(rng)
    yield from csr(rng)
    yield from one_vs_rest(rng)
    yield from predictions(rng)
