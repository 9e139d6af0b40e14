"""The first round over partitions: how many rows, which labels, and whether all numbers are usable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.core.labels import find_classes
from maxmargin.rows.arrays import Csr
from maxmargin.rows.base import Rows
from maxmargin.rows.remote import Executor, RemoteRows, labels_of, moved, rows_of

__all__ = ["Surveyed", "first_not_finite", "survey"]

MOST = 10_000  # distinct labels


class Surveyed(NamedTuple):
    """Remote rows, and what the first round told about them."""

    rows: RemoteRows
    counts: np.ndarray  # of each class in each partition
    reach: np.ndarray  # max_i |x_ij|
    bad: tuple[int, int, float] | None  # row, column and value of the first nan or infinity
    is_sparse: bool
    entries: int


class _Facts(NamedTuple):
    n: int
    d: int
    labels: np.ndarray | None
    counts: np.ndarray | None
    reach: np.ndarray
    bad: tuple[int, int, float] | None
    is_sparse: bool
    entries: int


def survey(executor: Executor, labelled: bool = True) -> Surveyed:
    """Look at all partitions once."""
    numbers = list(range(executor.parts))
    facts: list[_Facts] = executor.run(_facts, numbers, [(labelled,)] * len(numbers))
    kept = [k for k in numbers if facts[k].n]
    if not kept:
        raise InputError("X must hold at least one row. Got partitions without rows instead.")
    some = [facts[k] for k in kept]
    first = some[0]
    for k, fact in zip(kept, some, strict=True):
        if fact.d != first.d:
            raise InputError(
                f"all partitions of X must have the same {first.d} features. Got {fact.d} in partition "
                f"{k} instead."
            )
        if fact.is_sparse != first.is_sparse:
            raise InputError(
                "the partitions of X must be all dense or all sparse. Got both instead. Convert them "
                "with map_blocks(scipy.sparse.csr_array)."
            )
    classes, counts = _classes(some) if labelled else (None, np.zeros((len(some), 0), np.int64))
    rows = RemoteRows(executor, kept, [fact.n for fact in some], first.d, classes)
    rows.rounds, rows.bytes_moved = 1, sum(map(moved, facts))
    places = zip(some, rows.offsets[:-1].tolist(), strict=True)
    bad = next(((o + f.bad[0], *f.bad[1:]) for f, o in places if f.bad is not None), None)
    reach = np.max([fact.reach for fact in some], axis=0)
    return Surveyed(rows, counts, reach, bad, first.is_sparse, sum(fact.entries for fact in some))


def _facts(X: Any, y: Any, labelled: bool) -> _Facts:
    rows = rows_of(X)
    labels = counts = None
    if labelled:
        given = labels_of(y)
        if len(given) != rows.n:
            raise InputError(
                f"y must hold one label per row, {rows.n} in a partition. Got {len(given)} instead. "
                "Give y the chunks of X."
            )
        labels, counts = _counted(given)
    reach = rows.column_reach if rows.n else np.zeros(rows.d)
    bad = None if np.all(np.isfinite(reach)) else first_not_finite(rows)
    return _Facts(rows.n, rows.d, labels, counts, reach, bad, rows.is_sparse, rows.entries)


def _counted(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    try:
        distinct, counts = np.unique(labels, return_counts=True)
    except TypeError as error:
        raise InputError(
            "y must hold labels that can be sorted (all numbers, all strings, …). "
            f"Got labels that cannot be compared: {error}. Convert them to strings."
        ) from error
    return distinct[: MOST + 1], counts[: MOST + 1]


def _classes(facts: Sequence[_Facts]) -> tuple[np.ndarray, np.ndarray]:
    """All labels, and how often each occurs in each partition."""
    classes = find_classes(np.concatenate([fact.labels for fact in facts if fact.labels is not None]))
    if len(classes) > MOST:
        raise InputError(f"y must hold at most {MOST:,} classes. Got more instead.")
    counts = np.zeros((len(facts), len(classes)), np.int64)
    for k, fact in enumerate(facts):
        assert fact.labels is not None and fact.counts is not None
        counts[k, np.searchsorted(classes, fact.labels)] = fact.counts
    return classes, counts


def first_not_finite(rows: Rows) -> tuple[int, int, float]:
    """Row, column and value of the first entry that is nan or infinite."""
    for where, block in rows.blocks():
        a = block.arrays
        values = a.data if isinstance(a, Csr) else a.X
        bad = np.argwhere(~np.isfinite(values))
        if not len(bad):
            continue
        if isinstance(a, Csr):
            p = int(bad[0, 0])
            i, j = int(np.searchsorted(a.indptr, p, side="right")) - 1, int(a.indices[p])
            return where.start + i, j, float(values[p])
        i, j = int(bad[0, 0]), int(bad[0, 1])
        return where.start + i, j, float(values[i, j])
    raise AssertionError("every entry is finite")
