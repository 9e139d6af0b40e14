"""A sample of the rows: always the same draw, with enough rows of every class."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.rows import Rows
from maxmargin.rows.block import matrix_of, stacked
from maxmargin.rows.remote import Part
from maxmargin.rows.survey import Surveyed
from maxmargin.solvers.margin.frame import draw

__all__ = ["Sample", "sample"]

RARE = 8  # each class has at least a share of one in so many of the sample, divided by the others
SURE = 40  # rows of a class that are expected in a draw where it is sure not to be missed


class Sample(NamedTuple):
    """Some rows, with where they are."""

    rows: Rows
    codes: np.ndarray
    part: np.ndarray
    number: np.ndarray  # within the partition
    weight: np.ndarray  # of the rows, one if they have none
    stands_for: np.ndarray  # by label code: how many rows each row of the sample stands for


def sample(data: Surveyed, size: int) -> Sample:
    """Draw about ``size`` rows: one round."""
    rows, totals = data.rows, data.counts.sum(axis=0)
    least = max(1, size // (RARE * max(1, len(totals) - 1)))
    own: list[tuple[np.ndarray, dict[int, np.ndarray]]]
    own = [(places, {}) for places in rows.split(draw(rows.n, size))]
    for code, total in enumerate(totals.tolist()):
        if total * size < max(least, SURE) * rows.n:
            ends = np.concatenate([[0], np.cumsum(data.counts[:, code])])
            picked = draw(total, least)
            cuts = np.searchsorted(picked, ends)
            for k in range(rows.parts):
                own[k][1][code] = picked[cuts[k] : cuts[k + 1]] - ends[k]
    found = rows.each(_picked, own=own)
    codes, number, weight = (np.concatenate(column) for column in list(zip(*found, strict=True))[:3])
    part = np.repeat(np.arange(rows.parts), [len(one[0]) for one in found])
    matrix = stacked([one[3] for one in found])
    seen = np.maximum(np.bincount(codes, minlength=len(totals)), 1)
    return Sample(matrix, codes, part, number, weight, totals / seen)


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
