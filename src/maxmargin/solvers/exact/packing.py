"""Disjoint witnesses: how many errors every plane must make.

No plane is right on all rows of a witness, so every plane makes at least as many errors as there are
disjoint witnesses. They are packed greedily: pairs of equal rows on both sides first; then for every
row that a good plane has wrong a witness with rows it has right, which takes up few rows; then any that
are left. Each is exact. Where rows have weights, a witness costs every plane the least of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

import numpy as np

from maxmargin.core.parameters import Deadline, OutOfTimeError
from maxmargin.rows.base import draw
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.exact.integer_rows import ExactRows, contradictions, exponents_of
from maxmargin.solvers.exact.separability import find_witness
from maxmargin.solvers.problem import Examples

SEARCHED_ENTRIES = 1 << 22  # numbers of the rows among which a witness is looked for


def pack(rows: ExactRows, wrong: np.ndarray, limit: int) -> Iterator[dict[int, int]]:
    """Yield disjoint witnesses, at most ``limit``; ``wrong`` are the rows that some plane has wrong."""
    free = np.ones(rows.n, dtype=bool)
    for witness in islice(_all(rows, wrong, free), limit):
        free[list(witness)] = False
        yield witness


def unavoidable(
    training: Examples, machine: Machine, z: np.ndarray, limit: int, deadline: float
) -> float:
    """The weight of errors that every plane makes, from witnesses around the rows that z has wrong."""
    everything = np.arange(training.rows.n)
    wrong = np.flatnonzero(training.margins(machine, z, everything) <= 0)
    exponents = exponents_of(training.rows.column_reach)
    y, end = machine.signs(training.codes), Deadline(deadline)
    rows = ExactRows(training.rows, y, training.pad, exponents, deadline=end)
    weights = machine.class_weight[training.codes]
    least = 0.0
    with suppress(OutOfTimeError):
        for witness in pack(rows, wrong, min(limit, len(wrong))):
            least += float(weights[list(witness)].min())
            end.check()
    return least


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
    if not rows.pad:  # rows of zeros are on every plane through the origin
        zero = [i for i in wrong.tolist() if not any(rows.integers([i])[0].ints)]
        yield from ({i: 1} for i in zero)
        wrong = np.setdiff1d(wrong, zero)
    for same in contradictions(rows):
        left = {s: deque(same[rows.y[same] == s].tolist()) for s in (1.0, -1.0)}
        used: set[int] = set()
        for i in np.intersect1d(wrong, same).tolist():
            others = left[-float(rows.y[i])]
            while others and others[0] in used:
                others.popleft()
            if others and i not in used:
                used |= {i, others[0]}
                yield {i: 1, others.popleft(): 1}


def _some(rows: ExactRows, free: np.ndarray, first: np.ndarray | None = None) -> np.ndarray:
    """Rows to look for a witness among: all that are free, or as many as are searched quickly."""
    which = np.flatnonzero(free)
    most = max(SEARCHED_ENTRIES // rows.D, 1_000)
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
