"""What a first round tells of rows in partitions, and samples of them.

The survey tells how many rows there are, which labels they have, and whether all numbers are usable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from maxmargin.core.errors import InputError, Remedy, listed
from maxmargin.rows.base import Csr, Rows, draw, not_doubles
from maxmargin.rows.partitions import Executor, RemoteRows, block_of, moved, rows_of, split
from maxmargin.rows.training_data import (
    InMemory,
    Part,
    TrainingData,
    encode,
    few_distinct,
    find_classes,
    matrix_of,
    stacked,
    unlabelled,
    unsortable,
)

MAX_CLASSES = 10_000  # distinct labels


class _Facts(NamedTuple):
    n: int
    d: int
    labels: np.ndarray | None
    counts: np.ndarray | None
    weights: np.ndarray | None
    reach: np.ndarray
    bad: tuple[int, int, float] | None
    is_sparse: bool
    entries: int
    names: list[str] | None
    inexact: str | None
    shown: str | None


def survey(executor: Executor, labelled: bool = True) -> TrainingData:
    """Look at all partitions once."""
    numbers = list(range(executor.parts))
    facts: list[_Facts] = executor.run(_facts, numbers, [(labelled,)] * len(numbers))
    kept = [k for k in numbers if facts[k].n]
    if not kept:
        raise InputError("X must hold at least one row. Got partitions without rows instead.")
    full = [facts[k] for k in kept]
    first = full[0]
    for k, fact in zip(kept, full, strict=True):
        place = f"partition {k}" if fact.shown is None else fact.shown
        if fact.d != first.d:
            said = Remedy("say how many there are in open_rows", "features", ...)
            raise InputError(
                f"all partitions of X must have the same {first.d} features. Got {fact.d} in {place} "
                "instead.",
                *([said] if fact.shown and fact.is_sparse else []),
            )
        if fact.is_sparse != first.is_sparse:
            raise InputError(
                "the partitions of X must be all dense or all sparse. Got both instead. Convert them "
                "with map_blocks(scipy.sparse.csr_array)."
            )
        if fact.names != first.names:
            raise InputError(
                f"all partitions of X must have the features of the first, {_few(first.names)}. Got "
                f"{_few(fact.names)} in {place} instead.",
                Remedy("name them in open_rows", "columns", [...]),
            )
    classes, counts, weights = None, np.zeros((len(full), 0), np.int64), np.empty(0)
    if labelled:
        classes, counts, weights = _classes(full)
    rows = RemoteRows(executor, kept, [fact.n for fact in full], first.d, classes)
    rows.rounds, rows.bytes_moved = 1, sum(map(moved, facts))
    places = zip(full, rows.offsets[:-1].tolist(), strict=True)
    bad = [(offset + f.bad[0], *f.bad[1:]) for f, offset in places if f.bad is not None]
    reach = np.max([fact.reach for fact in full], axis=0)
    entries = sum([fact.entries for fact in full])
    inexact = [fact.inexact for fact in full if fact.inexact is not None]
    return TrainingData(
        rows,
        counts,
        weights,
        first.is_sparse,
        entries,
        reach,
        bad[0] if bad else None,
        first.names,
        inexact[0] if inexact else None,
    )


def _few(names: Sequence[str] | None) -> str:
    if names is None:
        return "features without names"
    return listed(names, 5)


def _facts(X: Any, y: Any, labelled: bool) -> _Facts:
    block = block_of(X, y)
    rows = rows_of(block.X)
    labels = counts = weights = None
    for what, given in (("y", block.labels if labelled else None), ("sample_weight", block.weight)):
        if given is not None and len(given) != rows.n:
            raise InputError(
                f"{what} must hold one value per row, {rows.n} in a partition. Got {len(given)} "
                f"instead. Give {what} the chunks of X."
            )
    kept = None if block.weight is None else np.flatnonzero(block.weight)
    if labelled:
        if block.labels is None:
            raise unlabelled()
        of_kept = None if block.weight is None else _some(block.weight, kept)
        labels, counts, weights = _counted(_some(block.labels, kept), of_kept)
    used = rows if kept is None or len(kept) == rows.n else rows.select(kept)
    reach = used.column_reach if used.n else np.zeros(rows.d)
    bad = None
    if not np.all(np.isfinite(reach)):
        i, j, value = first_not_finite(used)
        bad = i if kept is None else int(kept[i]), j, value
    inexact = not_doubles(block.X)
    return _Facts(
        rows.n,
        rows.d,
        labels,
        counts,
        weights,
        reach,
        bad,
        rows.is_sparse,
        rows.entries,
        block.names,
        inexact,
        block.shown,
    )


def _some(values: np.ndarray, kept: np.ndarray | None) -> np.ndarray:
    return values if kept is None else values[kept]


def _counted(labels: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct labels, how often they occur, and with which weight."""
    few = few_distinct(labels)
    try:
        if few is None:
            distinct, group = np.unique(labels, return_inverse=True)
        else:
            distinct, group = few, encode(labels, few)
    except TypeError as error:
        raise unsortable(error) from error
    counts = np.bincount(group.ravel(), minlength=len(distinct))
    weights: np.ndarray = counts.astype(np.float64)
    if weight is not None:
        weights = np.bincount(group.ravel(), weight, len(distinct))
    return distinct[: MAX_CLASSES + 1], counts[: MAX_CLASSES + 1], weights[: MAX_CLASSES + 1]


def _classes(facts: Sequence[_Facts]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All labels, how often each occurs in each partition, and with which weight in all."""
    given = [fact.labels for fact in facts if fact.labels is not None and len(fact.labels)]
    if not given:
        raise InputError("sample_weight must hold a number > 0. Got only zeros instead.")
    kinds = {"text" if labels.dtype.kind in "SUT" else labels.dtype.kind for labels in given}
    if "text" in kinds and kinds & set("biuf"):
        raise InputError(
            "y must hold labels of one kind. Got numbers in some partitions and text in others instead. "
            "Convert all of them to strings."
        )
    classes = find_classes(np.concatenate(given))
    if len(classes) > MAX_CLASSES:
        raise InputError(f"y must hold at most {MAX_CLASSES:,} classes. Got more instead.")
    counts, weights = np.zeros((len(facts), len(classes)), np.int64), np.zeros(len(classes))
    for k, fact in enumerate(facts):
        assert fact.labels is not None and fact.counts is not None and fact.weights is not None
        where = np.searchsorted(classes, fact.labels) if len(fact.labels) else np.empty(0, np.int64)
        counts[k, where] = fact.counts
        weights[where] += fact.weights
    return classes, counts, weights


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


RARE_SHARE = 8  # each class has at least one in so many of a sample, divided by the others
SURELY_DRAWN = 40  # rows of a class that are expected in a draw where it is sure not to be missed


class Sample(NamedTuple):
    """Some rows, with where they are."""

    rows: Rows
    codes: np.ndarray
    part: np.ndarray
    number: np.ndarray  # within the partition
    weight: np.ndarray  # of the rows, one if they have none
    stands_for: np.ndarray  # by label code: how many rows each row of the sample stands for


def sample(data: TrainingData, size: int) -> Sample:
    """Draw about ``size`` rows: one round."""
    rows, totals = data.rows, data.counts.sum(axis=0)
    least = max(1, size // (RARE_SHARE * max(1, len(totals) - 1)))
    own: list[tuple[np.ndarray, dict[int, np.ndarray]]]
    own = [(places, {}) for places in split(rows, draw(rows.n, size))]
    for code, total in enumerate(totals.tolist()):
        if total * size < max(least, SURELY_DRAWN) * rows.n:
            ends = np.concatenate([[0], np.cumsum(data.counts[:, code])])
            picked = draw(total, least)
            cuts = np.searchsorted(picked, ends)
            for k in range(rows.parts):
                own[k][1][code] = picked[cuts[k] : cuts[k + 1]] - ends[k]
    found = rows.each(_picked, own=own)
    columns = list(zip(*found, strict=True))[:3]
    codes, number, weight = [np.concatenate(column) for column in columns]
    part = np.repeat(np.arange(rows.parts), [len(one[0]) for one in found])
    matrix = stacked([one[3] for one in found])
    seen = np.maximum(np.bincount(codes, minlength=len(totals)), 1)
    return Sample(matrix, codes, part, number, weight, totals / seen)


def gather(data: TrainingData) -> TrainingData:
    """The same rows, brought into this process: one round."""
    drawn = sample(data, data.rows.n)
    here = InMemory(Part(drawn.rows, drawn.codes), data.classes)
    return replace(data, rows=here, counts=data.counts.sum(axis=0)[None])


def _picked(
    part: Part, wanted: tuple[np.ndarray, dict[int, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
    """Rows by number, and the first, third, … of a class; those of weight zero are left out."""
    places, ranks = wanted
    rare = [np.flatnonzero(part.codes == code)[which] for code, which in ranks.items()]
    numbers = np.unique(np.concatenate([places, *rare]))
    numbers = numbers[part.codes[numbers] >= 0]
    weight = np.ones(len(numbers)) if part.weight is None else part.weight[numbers]
    return part.codes[numbers], numbers, weight, matrix_of(part.rows.select(numbers))
