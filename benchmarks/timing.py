"""Timing on a noisy machine: all contestants take turns, and the best of several turns counts."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PAUSE = 0.1  # seconds between turns: threads of one's BLAS must not spin beside the next


@dataclass
class Row:
    """One line of the table: what was measured, against what, and what must be reached."""

    work: str
    ours: float
    peer: str
    theirs: float
    ratio: float  # in the sense of the target
    target: str
    met: bool


def fit(model: Any, X: Any, y: Any) -> Any:
    """A turn: to be given its arguments by ``partial``."""
    return model.fit(X, y)


def best_of(contestants: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Return each contestant's best time; in every round each has one turn."""
    best = dict.fromkeys(contestants, float("inf"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in contestants.values():
            run()  # compile, page in, fill caches
        for _ in range(rounds):
            for name, run in contestants.items():
                time.sleep(PAUSE)
                began = time.perf_counter()
                run()
                best[name] = min(best[name], time.perf_counter() - began)
    return best


def once(run: Callable[[], object]) -> float:
    """The time of one run, for contestants too slow to have several turns."""
    time.sleep(PAUSE)
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def at_most(work: str, ours: float, peer: str, theirs: float, limit: float) -> Row:
    """Our time may be at most ``limit`` times theirs."""
    ratio = ours / theirs
    return Row(work, ours, peer, theirs, ratio, f"≤ {limit:g}× {peer}", ratio <= limit)


def at_least(work: str, ours: float, peer: str, theirs: float, factor: float) -> Row:
    """We must be at least ``factor`` times as fast."""
    ratio = theirs / ours
    return Row(work, ours, peer, theirs, ratio, f"≥ {factor:g}× faster", ratio >= factor)


def truth(what: str, value: float, target: str, met: bool) -> Row:
    """A line without a peer: a number and what it must be."""
    return Row(what, 0.0, "-", 0.0, value, target, met)


def extra_memory(run: Callable[[], object]) -> int:
    """The largest number of bytes in use beyond those at the start."""
    tracemalloc.start()
    run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
