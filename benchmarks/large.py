"""The margin machines on large sparse data against LIBLINEAR, each to a gap of its own problem."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks import data
from benchmarks.liblinear_gap import Peer
from benchmarks.timing import Row, at_most, best_of, extra_memory, fit, truth

Problem = tuple[str, Any, np.ndarray]


def binary_problems() -> Iterator[Problem]:
    """Real data where it is given, else documents made up."""
    found = False
    for name in ("a9a", "w8a"):
        if data.have(f"{name}.svm.gz"):
            found = True
            yield name, *data.svmlight(f"{name}.svm.gz")
    if data.have("20news_tfidf.npz"):
        found = True
        X, y = data.newsgroups()
        yield "20 Newsgroups, y < 10", X, np.where(y < 10, 1, -1)
    if data.have("sector.scale.svm.bz2"):
        found = True
        X, y = data.sector()
        yield "sector, y ≤ 52", X, np.where(y <= 52, 1, -1)
    if not found:
        yield "20,000 made-up documents", *data.zipf(20_000, 50_000, 80)


def soft(name: str, X: Any, y: np.ndarray) -> Iterator[Row]:
    """Time to two gaps at three prices of slack."""
    for C in (0.1, 1.0, 10.0):
        peer = Peer(X, y.astype(np.float64), C)
        for gap, limit in ((1e-3, 1.0), (1e-6, 0.5)):
            model = mm.SoftMarginSVC(C, tol=gap)
            theirs = peer.time_to(gap)
            ours = best_of({"ours": partial(fit, model, X, y)}, rounds=5)["ours"]
            reached = "" if theirs.gap <= gap else f" (ended at {theirs.gap:.0e})"
            work = f"{name}, C={C:g}, gap {gap:.0e}"
            yield at_most(work, ours, f"LIBLINEAR{reached}", theirs.seconds, limit)
            own = model.certificate_.relative_gap
            yield truth(f"{work}: ours, by {model.solver_}", own, f"≤ {gap:g}", own <= gap)
    beyond = extra_memory(partial(fit, mm.SoftMarginSVC(1.0), X, y)) / (8.0 * sum(X.shape))
    yield truth(f"{name}, memory beyond X in n- and d-vectors", beyond, "≤ 25", beyond <= 25)


def many_classes() -> Iterator[Row]:
    """One machine per class, two at a time."""
    if data.have("sector.scale.svm.bz2"):
        name, (X, y) = "sector, 105 classes", data.sector()
    else:
        X, _ = data.zipf(5_000, 20_000, 60)
        y = np.argmax(X @ np.random.default_rng(1).standard_normal((20_000, 30)), axis=1)
        name = "30 made-up classes"
    for gap in (1e-3, 1e-6):
        theirs = Peer(X, y.astype(np.float64), 1.0).quickest(gap)
        model = mm.SoftMarginSVC(1.0, tol=gap, n_jobs=2)
        ours = best_of({"ours": partial(fit, model, X, y)}, rounds=2)["ours"]
        reached = "" if theirs.gap <= gap else f" (ended at {theirs.gap:.0e})"
        work = f"{name}, one against the rest, two threads, gap {gap:.0e}"
        yield at_most(work, ours, f"LIBLINEAR{reached}", theirs.seconds, 0.6)
        own = model.certificate_.relative_gap
        yield truth(f"{work}: the worst of ours", own, f"≤ {gap:g}", own <= gap)


def hard(name: str, X: Any, y: np.ndarray) -> Iterator[Row]:
    """The hard margin where there is one, and the verdict."""
    began = time.perf_counter()
    verdict = mm.separability(X, y)
    seconds = time.perf_counter() - began
    yield truth(f"{name}: {verdict.kind}, proven, seconds", seconds, "≤ 60", seconds <= 60)
    if verdict.separable:
        began = time.perf_counter()
        model = mm.HardMarginSVC().fit(X, y)
        seconds = time.perf_counter() - began
        gap = model.certificate_.relative_gap
        yield truth(f"{name}: hard margin in {seconds:.1f} s, gap", gap, "≤ 1e-6", gap <= 1e-6)


def rows() -> Iterator[Row]:
    """All lines of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for problem in binary_problems():
            yield from soft(*problem)
            yield from hard(*problem)
        yield from many_classes()
