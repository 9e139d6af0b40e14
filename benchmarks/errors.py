"""The fewest errors of any plane, proven: bounds, seconds, and whether the checker confirms them.

The sets of Brooks (2011) are looked for in the folder ``fewest_errors`` of MAXMARGIN_DATA: a line with
n, one with d, then a line a row, label first. Beside our bounds stand the best values known, and the
times that Santana, Serrano, Schiffer and Vidal (2025) print, for CPLEX alone and for their
branch-and-cut: means of five sets of each kind, with at most 600 s for one, measured elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

import maxmargin as mm
from benchmarks.data import FOLDER, have

SECONDS, QUICK_SECONDS = 60.0, 3.0  # for one set


class Known(NamedTuple):
    """What is known of a set of the literature, and whether the quick mode has it."""

    fewest: str
    alone: str  # CPLEX, as printed
    cuts: str  # with cuts, as printed
    quick: bool = True


PUBLISHED = {
    "breast5f1i1.train": Known("4", "20.7 s", "0.59 s"),
    "breast5f2i1.train": Known("5", "20.7 s", "0.59 s"),
    "heart5f1i1.train": Known("5", "239 s, 4 of 5", "4.8 s"),
    "heart5f2i1.train": Known("4", "239 s, 4 of 5", "4.8 s", quick=False),
    "n60d2ATj0": Known("6", "0.5 s", "0.12 s"),
    "n60d2ATj1": Known("6", "0.5 s", "0.12 s"),
    "n60d5ATj0": Known("8", "1.5 s", "0.32 s"),
    "n60d10ATj0": Known("4", "1.3 s", "0.28 s"),
    "n100d2ATj0": Known("16", "20.7 s", "0.99 s"),
    "n100d5ATj0": Known("11", "359 s, 3 of 5", "4.7 s"),
    "n500d2ATj0": Known("85", "not solved", "133 s"),
    "bupa5f1i1.train": Known("22 to 39", "9.8 to 40.7 in 600 s", "30.9 to 40.1 in 600 s", quick=False),
    "pima5f1i1.train": Known("24 to 76", "6.2 to 73.0 in 600 s", "40.2 to 75.0 in 600 s", quick=False),
}


def patients(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Records of 306 patients, made up: age, year and lymph nodes found; many hardly differ."""
    rng = np.random.default_rng(seed)
    age, year = rng.integers(30, 84, 306), rng.integers(58, 70, 306)
    nodes = np.minimum(rng.negative_binomial(0.45, 0.1, 306), 52)
    died = rng.random(306) < 1 / (1 + np.exp(1.6 - 0.09 * nodes - 0.01 * (age - 52)))
    return np.column_stack([age, year, nodes]).astype(float), died


def published(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels of a set of the folder."""
    rows = np.loadtxt(Path(FOLDER) / "fewest_errors" / name, skiprows=2)
    return rows[:, 1:], rows[:, 0]


def problems(quick: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray, Known | None]]:
    """Name, rows and labels of each set, and what is known of it."""
    for name, known in PUBLISHED.items():
        if have(f"fewest_errors/{name}") and (known.quick or not quick):
            yield name, *published(name), known
    X, y = load_iris(return_X_y=True)
    yield "iris, versicolor and virginica", X[50:], y[50:], None
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", X, y, None
    if not quick:
        X, y = load_digits(return_X_y=True)
        yield "digits, 8 against the rest", X, y == 8, None
        yield "patients, made up", *patients(), None


def run(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Bound the errors on each set within the limit, and check the proof."""
    limit = QUICK_SECONDS if quick else SECONDS
    rng = np.random.default_rng(0)
    for d in (2, 20):  # compile
        mm.min_errors(rng.standard_normal((60, d)), rng.integers(0, 2, 60), max_seconds=2.0)
    sets = []
    for name, X, y, known in problems(quick):
        began = time.perf_counter()
        found = mm.min_errors(X, y, max_seconds=limit)
        seconds = time.perf_counter() - began
        content = found.proof.content
        sets.append(
            {
                "name": name,
                "n": len(X),
                "d": X.shape[1],
                "lower": found.lower,
                "upper": found.upper,
                "seconds": seconds,
                "swept": "sweep" in content,
                "witnesses": len(found.witnesses),
                "branches": 0 if "sweep" in content else len(content["tree"]["branches"]),
                "verified": found.proof.verify(X, y),
                "known": None if known is None else list(known[:3]),
            }
        )
        say(f"  {name}: {found.lower} to {found.upper} errors, {seconds:.2f} s")
    return {"limit": limit, "sets": sets}
