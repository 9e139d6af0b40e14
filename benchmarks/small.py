"""Small data, and many of them: certified machines against LinearSVC and SVC, in turns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import maxmargin as mm
from benchmarks.timing import Row, at_least, at_most, best_of, fit, once, truth

PRICES = 0.01, 1.0, 100.0
MANY = 10_000


def sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Standardised data of scikit-learn, and made ones."""
    X, y = load_iris(return_X_y=True)
    yield "iris, 3 classes", *scaled(X, y)
    yield "iris, 2 classes", *scaled(X[:100], y[:100])
    for name, load in (("wine", load_wine), ("breast cancer", load_breast_cancer)):
        yield name, *scaled(*load(return_X_y=True))
    yield "digits, 10 classes", *scaled(*load_digits(return_X_y=True))
    for n, d in ((5_000, 20), (60, 5), (200, 10), (1_000, 30), (150, 100)):
        X, y = make_classification(n, d, n_informative=max(2, d // 2), n_redundant=0, random_state=0)
        yield f"made, {n:,}×{d}", *scaled(X, y)


def scaled(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features of mean 0 and deviation 1."""
    return StandardScaler().fit_transform(X), y


def soft() -> Iterator[Row]:
    """Each set with each C; the peer is the faster of two."""
    for C in PRICES:
        ratios = []
        for name, X, y in sets():
            peers = LinearSVC(loss="hinge", C=C, random_state=0), SVC(kernel="linear", C=C)
            models = {"ours": mm.SoftMarginSVC(C), "LinearSVC": peers[0], "SVC": peers[1]}
            times = best_of({k: partial(fit, model, X, y) for k, model in models.items()}, rounds=7)
            peer = min(("LinearSVC", "SVC"), key=times.__getitem__)
            ratios.append(times["ours"] / times[peer])
            limit = 1.0 if C == 1.0 and not name.startswith("made, ") else 5.0
            yield at_most(f"soft margin, {name}, C={C:g}", times["ours"], peer, times[peer], limit)
        mean = float(np.exp(np.mean(np.log(ratios))))
        yield truth(f"soft margin, small sets, C={C:g}, geometric mean", mean, "≤ 1", mean <= 1.0)


def hard() -> Iterator[Row]:
    """The largest margin where there is one."""
    found = {name: (X, y) for name, X, y in sets()}
    X, y = found["digits, 10 classes"]
    chosen = {name: found[name] for name in ("wine", "breast cancer")} | {"digit 0": (X, y == 0)}
    for name, (X, y) in chosen.items():
        models = {"ours": mm.HardMarginSVC(), "SVC": SVC(kernel="linear", C=1e5)}
        times = best_of({k: partial(fit, model, X, y) for k, model in models.items()}, rounds=3)
        yield at_most(f"hard margin, {name}", times["ours"], "SVC, C=1e5", times["SVC"], 1.0)


def searches() -> Iterator[Row]:
    """20 C × 5 folds."""
    X, y = scaled(*load_breast_cancer(return_X_y=True))
    Cs = np.logspace(-3, 2, 20)
    models = {
        "ours": GridSearchCV(mm.SoftMarginSVC(), {"C": Cs}, cv=5),
        "LinearSVC": GridSearchCV(LinearSVC(loss="hinge", random_state=0), {"C": Cs}, cv=5),
        "SoftMarginSVCCV": mm.SoftMarginSVCCV(Cs, cv=5),
    }
    times = best_of({k: partial(fit, model, X, y) for k, model in models.items()}, rounds=5)
    theirs = times["LinearSVC"]
    work = "20 C × 5 folds, breast cancer"
    yield at_most(f"GridSearchCV, {work}", times["ours"], "LinearSVC", theirs, 1.0)
    yield at_least(f"SoftMarginSVCCV, {work}", times["SoftMarginSVCCV"], "LinearSVC", theirs, 5)


def many() -> Iterator[Row]:
    """Thousands of problems, with a certificate each."""
    rng = np.random.default_rng(0)
    problems = []
    for _ in range(MANY):
        X = rng.normal(size=(100, 20))
        problems.append((X, (X[:, 0] + X[:, 1] + rng.normal(size=100) > 0).astype(int)))
    few = problems[: MANY // 20]

    def one_by_one() -> None:
        for X, y in few:
            LinearSVC(loss="hinge", random_state=0).fit(X, y)

    ways = {"one": partial(mm.fit_many, problems), "two": partial(mm.fit_many, problems, n_jobs=2)}
    times = best_of({**ways, "LinearSVC": one_by_one}, rounds=3)
    theirs = times["LinearSVC"] * MANY / len(few)
    work = f"fit_many, {MANY:,} of 100×20"
    yield at_least(work, times["one"], "LinearSVC, a loop", theirs, 10)
    yield at_least(f"{work}, two threads", times["two"], "one thread", times["one"], 1.7)
    gap = float(mm.fit_many(few).relative_gap.max())
    yield truth(f"{work}, largest relative gap", gap, "≤ 1e-6", gap <= 1e-6)


def pairs() -> Iterator[Row]:
    """One-vs-one with thousands of machines."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(105, 50)), 20, axis=0) + rng.normal(size=(2_100, 50))
    y = np.repeat(np.arange(105), 20)
    ours = once(partial(fit, mm.SoftMarginSVC(multi_class="ovo"), X, y))
    theirs = once(partial(fit, SVC(kernel="linear"), X, y))
    yield at_least("one-vs-one, 105 classes of 20×50, 5,460 machines", ours, "SVC", theirs, 5)


def rows() -> Iterator[Row]:
    """All lines of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (soft, hard, searches, many, pairs):
            yield from part()
