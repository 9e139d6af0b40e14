"""The margin machines against PIQP, Clarabel, LIBSVM and LIBLINEAR, and against one product X @ w."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

import maxmargin as mm
from benchmarks.data import MNIST, covtype, have, mnist, noisy, separable, svmlight
from benchmarks.peers.measure import Problem
from benchmarks.peers.programs import clarabel, piqp
from benchmarks.timing import Row, at_least, at_most, best_of, extra_memory, fit, once, truth

EPOCHS = 1_000  # LinearSVC's own limit


def products(X: Any) -> Callable[[], object]:
    w = np.ones(X.shape[1])
    return lambda: X @ w


def margin_of(model: Any, X: Any, y: np.ndarray) -> float:
    """The geometric margin that a plane really has."""
    w = model.coef_.toarray() if sparse.issparse(model.coef_) else np.asarray(model.coef_)
    w, b = w.ravel(), float(np.ravel(model.intercept_)[0])
    return float(np.min(y * (X @ w + b)) / np.linalg.norm(w))


def hard() -> Iterator[Row]:
    for n, d, gap, most in ((1_000_000, 50, 0.05, 12.0), (500_000, 100, 0.01, 25.0)):
        X, y = separable(n, d, gap)
        model = mm.HardMarginSVC()
        times = best_of({"X @ w": products(X), "ours": partial(fit, model, X, y)}, rounds=7)
        work = f"hard margin, {n:,}×{d}"
        yield at_most(work, times["ours"], "one X @ w", times["X @ w"], most)
        yield truth(f"{work}, passes", model.n_passes_, "≤ 10", model.n_passes_ <= 10)
        gap = model.certificate_.relative_gap
        yield truth(f"{work}, relative gap", gap, "≤ 1e-9", gap <= 1e-9)
    X, y = separable(200_000, 50, 0.02)
    model = mm.HardMarginSVC()
    ours = best_of({"ours": partial(fit, model, X, y)}, rounds=7)["ours"]
    work = "hard margin, 200,000×50"
    yield at_least(work, ours, "PIQP, all rows", once(piqp(Problem("hard", X, y))[0]), 15)
    yield at_least(work, ours, "Clarabel, all rows", once(clarabel(Problem("hard", X, y))[0]), 80)
    svm, lin = SVC(kernel="linear", C=1e5), LinearSVC(loss="hinge", C=1e5)
    yield at_least(work, ours, "LIBSVM, C=1e5", once(lambda: svm.fit(X, y)), 200)
    once(lambda: lin.fit(X, y))
    for name, peer in (("LIBSVM", svm), ("LIBLINEAR", lin)):
        share = margin_of(peer, X, y) / model.margin_
        yield truth(f"{work}, {name}'s margin against ours", share, "≤ 1", share <= 1)


def hard_real() -> Iterator[Row]:
    sets: list[tuple[str, tuple[str, ...], Callable[[], Any]]] = [
        ("MNIST 0/1", MNIST, partial(mnist, 0, 1)),
        ("MNIST 4/9, 4,000 rows", MNIST, partial(mnist, 4, 9, 4000)),
        ("mushrooms", ("mushrooms.svm.gz",), partial(svmlight, "mushrooms.svm.gz")),
    ]
    for name, files, load in sets:
        if not have(*files):
            continue
        X, y = load()
        model, svm = mm.HardMarginSVC(), SVC(kernel="linear", C=1e8)
        times = best_of({"ours": partial(fit, model, X, y), "svm": partial(fit, svm, X, y)}, rounds=3)
        work = f"hard margin, {name}"
        yield at_least(work, times["ours"], "LIBSVM, C=1e8", times["svm"], 3)
        lower, upper = model.certificate_.margin or (0.0, np.inf)
        yield truth(
            f"{work}, bounds on the margin", upper / lower - 1, "≤ 1e-9", upper <= lower * (1 + 1e-9)
        )
        share = margin_of(svm, X, y) / model.margin_
        yield truth(f"{work}, LIBSVM's margin against ours", share, "≤ 1", share <= 1)


def soft() -> Iterator[Row]:
    seconds = []
    for n in (10_000, 20_000, 100_000, 200_000, 1_000_000):
        X, y = noisy(n, 50)
        model = mm.SoftMarginSVC(tol=1e-9)
        times = best_of({"X @ w": products(X), "ours": partial(fit, model, X, y)}, rounds=5)
        work = f"soft margin, {n:,}×50, gap 1e-9"
        ours = times["ours"]
        seconds.append((n, ours))
        gap = model.certificate_.relative_gap
        yield truth(f"{work}, relative gap", gap, "≤ 1e-9", gap <= 1e-9)
        if n == 20_000:
            svm = SVC(kernel="linear")
            yield at_least(work, ours, "LIBSVM", once(partial(fit, svm, X, y)), 250)
        if n == 200_000:
            lin = LinearSVC(loss="hinge")
            yield at_least(work, ours, "LinearSVC, hinge", once(partial(fit, lin, X, y)), 20)
        if n == 1_000_000:
            yield at_most(work, ours, "one X @ w", times["X @ w"], 80)
            share = extra_memory(partial(fit, model, X, y)) / X.nbytes
            yield truth(f"{work}, extra memory against X", share, "≤ 0.5", share <= 0.5)
    (first, start), (last, end) = seconds[0], seconds[-1]
    exponent = float(np.log(end / start) / np.log(last / first))
    yield truth("soft margin, time against n, exponent", exponent, "≤ 1.05", exponent <= 1.05)


def soft_real() -> Iterator[Row]:
    if have("covtype.csv.gz"):
        X, y = covtype()
        for C, epochs in ((0.01, EPOCHS), (1.0, EPOCHS // 10)):  # all of them would take minutes
            yield from against_linear("covtype 2 against the rest", X, y, C, 10, epochs, same=False)
    if have("a9a.svm.gz"):
        X, y = svmlight("a9a.svm.gz")
        for C in (1.0, 10.0):
            yield from against_linear("a9a", X, y, C)
    if have(*MNIST):
        X, y = mnist(3, 8)
        for C in (0.1, 1.0, 10.0):
            yield from against_linear("MNIST 3/8", X, y, C)


def against_linear(
    name: str,
    X: Any,
    y: np.ndarray,
    C: float,
    factor: float = 1 / 6,
    epochs: int = EPOCHS,
    same: bool = True,
) -> Iterator[Row]:
    """Ours to a gap of 1e-6, and to the error at which LinearSVC stops, against its time."""
    lin = LinearSVC(loss="hinge", C=C, max_iter=epochs, random_state=0)
    peer = "LinearSVC" if epochs == EPOCHS else f"LinearSVC, {epochs} epochs"
    theirs = min(once(partial(fit, lin, X, y)) for _ in range(2 if same else 1))
    model = mm.SoftMarginSVC(C)
    ours = best_of({"ours": partial(fit, model, X, y)}, rounds=2)["ours"]
    work = f"soft margin, {name}, C={C:g}"
    yield at_least(f"{work}, gap 1e-6", ours, peer, theirs, factor)
    gap = model.certificate_.relative_gap
    yield truth(f"{work}, relative gap", gap, "≤ 1e-6", gap <= 1e-6)
    if same:
        w, b = lin.coef_[0], float(lin.intercept_[0])
        value = 0.5 * w @ w + C * np.maximum(0.0, 1.0 - y * (X @ w + b)).sum()
        error = float(value / model.certificate_.dual - 1.0)
        rough = mm.SoftMarginSVC(C, tol=min(error, 0.5))
        ours = best_of({"ours": partial(fit, rough, X, y)}, rounds=2)["ours"]
        yield at_least(f"{work}, its error {error:.0e}", ours, peer, theirs, 1)


def rows() -> Iterator[Row]:
    """All lines of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (hard, hard_real, soft, soft_real):
            yield from part()
            time.sleep(1)
