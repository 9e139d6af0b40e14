"""Verdicts with exact proofs against HiGHS, which proves nothing, and against one product X @ w."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

import maxmargin as mm
from benchmarks.data import FOLDER, have, noisy, separable, svmlight
from benchmarks.timing import Row, at_least, at_most, best_of, once

Problem = tuple[Any, np.ndarray]


def highs(X: np.ndarray, y: np.ndarray) -> Any:
    """Any plane with y (w·x + b) ≥ 1, or none: the linear program that users are pointed to."""
    A = -y[:, None] * np.hstack([X, np.ones((len(X), 1))])
    free = [(None, None)] * A.shape[1]
    return linprog(np.zeros(A.shape[1]), A_ub=A, b_ub=-np.ones(len(X)), bounds=free, method="highs")


def highs_sparse(X: Any, y: np.ndarray) -> Any:
    """As many rows as can be strictly on their side, and none beyond: this tells the kind of verdict."""
    n = len(y)
    A = sparse.diags_array(-y.astype(float)) @ sparse.hstack([X, np.ones((n, 1))])
    A = sparse.csr_array(sparse.hstack([A, sparse.eye_array(n)]))
    d = A.shape[1] - n
    cost = np.append(np.zeros(d), -np.ones(n))
    bounds = [(None, None)] * d + [(0, 1)] * n
    return linprog(cost, A_ub=A, b_ub=np.zeros(n), bounds=bounds, method="highs")


def nearly(n: int, d: int) -> Problem:
    """A separable Gaussian cloud with one point moved across the plane."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, d))
    f = X @ rng.standard_normal(d)
    y = np.where(f > 0, 1, -1)
    y[np.argmax(np.abs(f))] *= -1
    return X, y


def tricky() -> list[tuple[str, list[Any], list[int]]]:
    """Small cases that floating point gets wrong, with their verdicts."""
    square = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    apart = np.nextafter(1.0, 2.0)
    cases = [
        ("separable", [[0.0], [1.0]], [0, 1]),
        ("overlapping", [[1.0], [1.0]], [0, 1]),
        ("overlapping", square, [0, 0, 1, 1]),
        ("touching", [[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1]),
        ("overlapping", [[0.0], [2.0], [1.0], [3.0]], [0, 0, 1, 1]),
        ("separable", [[0.0], [1e-10]], [0, 1]),
        ("separable", [[1.0], [apart]], [0, 1]),
        ("separable", [[1.0, 1.0], [1.0, apart]], [0, 1]),
        ("separable", [[0.0], [5e-324]], [0, 1]),
        ("separable", [[2.0**53], [2.0**53 + 2]], [0, 1]),
        ("separable", [[1e300, 1e-300], [1e300, 2e-300], [-1e300, 3e-300]], [0, 1, 1]),
        ("touching", [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 5.0]], [0, 1, 0, 1]),
    ]
    for factor in (1e-300, 1e-10, 1e16, 1e300):
        scaled = [[factor * v for v in row] for row in square]
        cases += [("overlapping", scaled, [0, 0, 1, 1]), ("separable", scaled, [0, 1, 1, 1])]
    return cases


def all_tricky(cases: list[tuple[str, list[Any], list[int]]]) -> int:
    """How many verdicts are right."""
    verdicts = (mm.separability(X, y) for _, X, y in cases)
    return sum(v.kind == kind for v, (kind, _, _) in zip(verdicts, cases, strict=True))


def rows() -> Iterator[Row]:
    yield from _separable()
    yield from _overlapping()
    cases = tricky()
    seconds = best_of({"ours": partial(all_tricky, cases)}, rounds=3)["ours"]
    yield at_most(f"{len(cases)} small tricky cases together", seconds, "1 s", 1.0, 1.0)
    right = all_tricky(cases)
    yield Row("… of which right", 0.0, "", 0.0, right, f"= {len(cases)}", right == len(cases))
    yield from _dependent()
    yield from _factors()
    yield from _wide()
    yield from _thin()
    yield from _real()


def _dependent() -> Iterator[Row]:
    """Columns that are combinations of others but for rounding, against the same data without them."""
    for d in (30, 60, 100, 300):
        rng = np.random.default_rng(d)
        X, y = rng.standard_normal((1_000, d)), rng.integers(0, 2, 1_000)
        designs = {
            "one a + b": np.column_stack([X[:, 1:], X[:, 1] + X[:, 2]]),
            "two units and the row mean": np.column_stack(
                [X[:, 3:], 1.1 * X[:, 3], 1.8 * X[:, 4] + 32.0, X[:, 3:].mean(axis=1)]
            ),
            "proportions": np.exp(X) / np.exp(X).sum(axis=1, keepdims=True),
        }
        runs = {name: partial(mm.separability, Z, y) for name, Z in designs.items()}
        best = best_of({"without": partial(mm.separability, X, y), **runs}, rounds=3)
        for name, Z in designs.items():
            work = f"overlapping 1,000×{d}, {name}"
            yield at_most(work, best[name], "without them", best["without"], 2.0)
            time = once(partial(highs, Z, np.where(y > 0, 1, -1)))
            yield at_least(work + " (no target)", best[name], "HiGHS", time, 0.0)


def _factors() -> Iterator[Row]:
    """Sparse dummy columns of factors."""
    for levels, n in (((1_000,), 7_000), ((1_000, 5), 7_000), ((5_000, 200, 10), 100_000)):
        rng = np.random.default_rng(n)
        starts = np.cumsum((0, *levels[:-1]))
        columns = np.column_stack(
            [rng.integers(0, k, n) + s for k, s in zip(levels, starts, strict=True)]
        )
        where = np.arange(0, columns.size + 1, len(levels))
        X = sparse.csr_array((np.ones(columns.size), columns.ravel(), where), (n, sum(levels)))
        f = X @ rng.standard_normal(sum(levels))
        for noise in (0.0, 0.2, 1.0):
            y = np.where(f + noise * rng.logistic(size=n) > 0, 1, -1)
            verdict = mm.separability(X, y)
            best = best_of({"ours": partial(mm.separability, X, y)}, rounds=2)
            work = f"{verdict.kind} factors of {', '.join(map(str, levels))} levels, {n:,} rows, proven"
            if n <= 10_000 or verdict.kind == "separable":
                yield at_least(work, best["ours"], "HiGHS", once(partial(highs_sparse, X, y)), 1)
            else:
                yield at_most(work, best["ours"], "10 s", 10.0, 1)


def _wide() -> Iterator[Row]:
    """Text-like sparse rows with far more features than rows, without and with contradictions."""
    rng = np.random.default_rng(0)
    n, d, k = 10_000, 100_000, 60
    words = np.minimum(d ** rng.random((n, k)), d - 1).astype(np.int64)
    X = sparse.csr_array((np.full(n * k, k**-0.5), words.ravel(), np.arange(0, n * k + 1, k)), (n, d))
    X.sum_duplicates()
    f = X @ rng.standard_normal(d)
    y = np.where(f > np.median(f), 1, -1)
    Z, t = sparse.csr_array(sparse.vstack([X, X[:5]])), np.append(y, -y[:5])
    for A, labels in ((X, y), (Z, t)):
        verdict = mm.separability(A, labels)
        best = best_of({"ours": partial(mm.separability, A, labels)}, rounds=2)
        yield at_most(f"{verdict.kind} sparse 10,000×100,000, proven", best["ours"], "5 s", 5.0, 1)


def _thin() -> Iterator[Row]:
    """Data with hardly any margin, of extreme scales, or with long witnesses."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000, 60)) * 10.0 ** rng.uniform(-200, 200, (1_000, 60))
    yield _proven("of numbers over 400 orders of magnitude", X, X @ rng.standard_normal(60) > 0)
    words = sparse.random_array((1_900, 3_300), density=0.002, rng=rng).toarray()
    words[:50] = words[50:100]
    words = (words - words.mean(axis=0)) / np.maximum(words.std(axis=0), 1e-9)
    yield _proven("standardised text", words, rng.integers(0, 2, 1_900))
    X = rng.standard_normal((2_400, 400))
    yield _proven("Gaussian", X, rng.integers(0, 2, 2_400))


def _proven(name: str, X: np.ndarray, y: np.ndarray) -> Row:
    kind = mm.separability(X, y).kind
    best = best_of({"ours": partial(mm.separability, X, y)}, rounds=2)
    n, d = X.shape
    return at_most(f"{kind} {name} {n:,}×{d:,}, proven", best["ours"], "5 s", 5.0, 1)


def _separable() -> Iterator[Row]:
    X, y = separable(200_000, 50, 0.02)
    w = np.ones(50)
    best = best_of({"ours": partial(mm.separability, X, y), "X @ w": lambda: X @ w})
    work = "separable 200,000×50, margin 0.02, proven"
    yield at_most(work, best["ours"], "X @ w", best["X @ w"], 20)
    yield at_least(work, best["ours"], "HiGHS", once(partial(highs, X, y)), 100)
    X, y = separable(1_000_000, 50, 0.05)
    best = best_of({"ours": partial(mm.separability, X, y), "X @ w": lambda: X @ w})
    yield at_most(
        "separable 1,000,000×50, margin 0.05, proven", best["ours"], "X @ w", best["X @ w"], 15
    )
    best = best_of({"ours": partial(mm.HardMarginSVC().prove, X, y), "X @ w": lambda: X @ w}, rounds=2)
    yield at_most("the same, exact optimum (no target)", best["ours"], "X @ w", best["X @ w"], np.inf)


def _overlapping() -> Iterator[Row]:
    X, y = noisy(1_000_000, 50)
    w = np.ones(50)
    best = best_of({"ours": partial(mm.separability, X, y), "X @ w": lambda: X @ w})
    allowed = 5 * best["X @ w"] + 0.1
    yield at_most("overlapping 1,000,000×50, exact witness", best["ours"], "5 X @ w + 0.1 s", allowed, 1)
    X, y = nearly(2_000, 200)
    best = best_of({"ours": partial(mm.separability, X, y)}, rounds=3)
    work = "overlapping 2,000×200, one point moved across"
    yield at_most(work, best["ours"], "3 s", 3.0, 1)
    yield at_least(work, best["ours"], "HiGHS", once(partial(highs, X, y)), 1)


def _real() -> Iterator[Row]:
    """Verdicts that the literature gives, and sizes that are met in practice."""
    known = {
        "endometrial.csv": ("HG", "touching"),
        "silvapulle1981.csv": ("y", "touching"),
    }
    for name, (label, kind) in known.items():
        if have(name):
            X, y = _table(name, label)
            verdict = mm.separability(X, y)
            yield Row(f"{name}: {verdict.kind}", 0.0, "", 0.0, 1.0, f"is {kind}", verdict.kind == kind)
    for name in ("mushrooms.svm.gz", "a9a.svm.gz", "w8a.svm.gz"):
        if have(name):
            X, y = svmlight(name)
            best = best_of({"ours": partial(mm.separability, X, y)}, rounds=2)
            kind = mm.separability(X, y).kind
            work = f"{name}: {kind} (no target)"
            yield at_most(work, best["ours"], "1 s", 1.0, np.inf)


def _table(name: str, label: str) -> Problem:
    with open(Path(FOLDER) / name, newline="") as file:
        lines = list(csv.DictReader(file))
    features = [key for key in lines[0] if key != label]
    X = np.array([[float(line[key]) for key in features] for line in lines])
    return X, np.array([float(line[label]) for line in lines])
