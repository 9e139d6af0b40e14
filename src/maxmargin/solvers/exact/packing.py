"""Disjoint witnesses: how many errors every plane must make.

No plane is right on all rows of a witness, so every plane makes at least as many errors as there are
disjoint witnesses. They are packed greedily: pairs of equal rows on both sides first; then for every
row that a good plane has wrong a witness with rows it has right, which takes up few rows; then any that
are left. Each is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from maxmargin.solvers.exact.verdict import find_witness
from maxmargin.solvers.exact.whole import ExactRows
from maxmargin.solvers.frame import draw

__all__ = ["pack"]

SEARCHED = 1 << 22  # numbers of the rows among which a witness is looked for


def pack(rows: ExactRows, wrong: np.ndarray, limit: int) -> Iterator[dict[int, int]]:
    """Yield disjoint witnesses, at most ``limit``; ``wrong`` are the rows that some plane has wrong."""
    free = np.ones(rows.n, dtype=bool)
    for witness in islice(_all(rows, wrong, free), limit):
        free[list(witness)] = False
        yield witness


def _all(rows: ExactRows, wrong: np.ndarray, free: np.ndarray) -> Iterator[dict[int, int]]:
    yield from _equal_rows(rows, wrong)
    right = np.ones(rows.n, dtype=bool)
    right[wrong] = False
    for i in wrong.tolist():
        if free[i]:
            witness = _among(rows, np.append(_some(rows, free & right), i))
            if witness is not None:
                yield witness
    while True:
        witness = _among(rows, _some(rows, free, wrong[free[wrong]]))
        if witness is None:
            return
        yield witness


def _equal_rows(rows: ExactRows, wrong: np.ndarray) -> Iterator[dict[int, int]]:
    """Pairs of equal rows on different sides; a plane has one of each pair wrong."""
    if not len(wrong):
        return
    # Equal rows have equal decision values, so partners are found by any plane's values.
    z = np.random.default_rng(0).standard_normal(rows.D)
    values = rows.values(z) * rows.y
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    used: set[int] = set()
    for i in wrong.tolist():
        if i in used:
            continue
        near = order[np.searchsorted(ranked, values[i]) : np.searchsorted(ranked, values[i], "right")]
        near = near[rows.y[near] != rows.y[i]]
        row = rows.given.take(np.array([i]))
        if not rows.pad and not np.any(row):  # on every plane through the origin
            used.add(i)
            yield {i: 1}
            continue
        for j in near.tolist():
            if j not in used and np.array_equal(rows.given.take(np.array([j])), row):
                used |= {i, j}
                yield {i: 1, j: 1}
                break


def _some(rows: ExactRows, free: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
    """Rows to look for a witness among: all that are free, or as many as are searched quickly."""
    which = np.flatnonzero(free)
    most = max(SEARCHED // rows.D, 1_000)
    if len(which) > most:
        which = which[draw(len(which), most)]
        if first is not None:
            which = np.union1d(which, first[: most // 2])
    return which


def _among(rows: ExactRows, which: np.ndarray) -> dict[int, int] | None:
    if not len(which) or (rows.pad and len(set(rows.y[which].tolist())) < 2):
        return None
    found = find_witness(rows.restricted(which))
    return None if found is None else {int(which[i]): w for i, w in found.items()}
