"""Two curves for ours and the peers: time against the number of rows, and error against time.

For the first, all run by their own rules on more and more rows, until a turn takes too long. For the
second, each runs to several tolerances on the same rows, or for several numbers of epochs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.peers.contests import bound_of, ready, unfit
from benchmarks.peers.measure import Problem, error_of
from benchmarks.peers.table import PEERS, Peer, attendance
from benchmarks.peers.turns import Budget, compete

QUICK = Budget(rounds=2, limit=1.0, ready=15.0)
FULL = Budget(rounds=3, limit=8.0, ready=60.0)
ENOUGH = 50.0  # seconds of the quick mode for all curves, in equal shares
LONG = 0.3  # share of the limit beyond which a contestant is not given more rows
WHO = {  # one line for each code: wrappers of the same library would lie on top of each other
    "soft": (
        "maxmargin",
        "LIBLINEAR",
        "LinearSVC",
        "SVC",
        "SGDClassifier",
        "Snap ML",
        "PIQP",
        "Clarabel",
    ),
    "hard": ("maxmargin", "LIBLINEAR", "LinearSVC", "SVC", "Snap ML", "PIQP", "Clarabel"),
}
GAP = 0.05  # half of the empty slab of the separable cloud


def here(kind: str) -> list[Peer]:
    """Those of the curve that are installed; LinearSVC stands in for LIBLINEAR where that is not."""
    found = [peer for peer in PEERS if peer.name in WHO[kind] and not attendance(peer)[1]]
    if any(peer.name == "LIBLINEAR" for peer in found):
        found = [peer for peer in found if peer.name != "LinearSVC"]
    return found


def cloud(kind: str, n: int, d: int) -> Problem:
    """Rows for a curve."""
    X, y = data.separable(n, d, GAP) if kind == "hard" else data.noisy(n, d)
    return Problem(kind, X, y.astype(np.int64))


def growth(kind: str, sizes: list[int], d: int, budget: Budget, ends: float) -> dict[str, Any]:
    """Seconds against rows."""
    lines: dict[str, list[list[float]]] = {}
    runners = here(kind)
    for n in sizes:
        if not runners or time.perf_counter() > ends:
            break
        problem = cloud(kind, n, d)
        runners = [peer for peer in runners if not unfit(peer, problem, quick=False)]
        tasks = {peer.name: partial(ready, peer.makes[kind], problem) for peer in runners}
        outcomes = compete(tasks, budget)
        for who, outcome in outcomes.items():
            if outcome.seconds is not None:
                lines.setdefault(who, []).append([problem.X.shape[0], outcome.seconds])
        slow = {
            who
            for who, outcome in outcomes.items()
            if outcome.seconds is None or outcome.seconds > LONG * budget.limit
        }
        runners = [peer for peer in runners if peer.name not in slow]
    return {"kind": kind, "features": d, "lines": lines}


def descent(name: str, problem: Problem, budget: Budget, ends: float) -> dict[str, Any]:
    """Error against seconds."""
    bound = bound_of(problem, 10 * budget.limit)
    lines: dict[str, list[list[float]]] = {}
    runners = [peer for peer in here("soft") if not unfit(peer, problem, quick=False)]
    for step in range(max(len(peer.efforts) for peer in runners)):
        if not runners or time.perf_counter() > ends:
            break
        tasks = {
            peer.name: partial(
                ready,
                peer.makes["soft"],
                Problem("soft", problem.X, problem.y, problem.C, peer.efforts[step]),
            )
            for peer in runners
        }
        outcomes = compete(tasks, budget)
        for who, outcome in outcomes.items():
            error = error_of("soft", outcome.found, bound)
            if outcome.seconds is not None and error is not None:
                lines.setdefault(who, []).append([outcome.seconds, error])
        runners = [
            peer
            for peer in runners
            if outcomes[peer.name].seconds is not None and step + 1 < len(peer.efforts)
        ]
    n, d = problem.X.shape
    return {"data": name, "rows": n, "features": d, "C": problem.C, "lines": lines}


def problems(quick: bool) -> Iterator[tuple[str, Problem]]:
    """The data of the second curve: a cloud, and a real set where it is at hand."""
    yield "noisy cloud", cloud("soft", 5_000, 20) if quick else cloud("soft", 20_000, 50)
    if data.have("a9a.svm.gz"):
        X, y = data.svmlight("a9a.svm.gz")
        yield "a9a", Problem("soft", X, y.astype(np.int64))


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The part of the results that is called "curves"."""
    budget, d = (QUICK, 20) if quick else (FULL, 50)
    sizes = [500, 2_000, 8_000, 32_000, 128_000] if quick else [1_000 * 4**k for k in range(6)]
    grown, fallen = [], []
    began, share = time.perf_counter(), ENOUGH / 4 if quick else float("inf")
    for k, kind in enumerate(("soft", "hard"), start=1):
        grown.append(growth(kind, sizes, d, budget, began + k * share))
        say(f"  time against n, {kind} margin: {time.perf_counter() - began:.0f} s so far")
    for k, (name, problem) in enumerate(problems(quick), start=3):
        fallen.append(descent(name, problem, budget, began + k * share))
        say(f"  error against time, {name}: {time.perf_counter() - began:.0f} s so far")
    return {"limit": budget.limit, "growth": grown, "descent": fallen}
