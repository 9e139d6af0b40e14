"""Equal rows on both sides: the simplest reason why no plane separates, found in one pass."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin.solvers.exact.whole import ExactRows

__all__ = ["contradictions", "opposites"]


def contradictions(rows: ExactRows) -> Iterator[np.ndarray]:
    """Yield the rows of each group of equal ones that has members on both sides.

    Equal rows have equal decision values, so they are found by any plane's values.
    """
    z = np.random.default_rng(0).standard_normal(rows.D)
    values = rows.values(z) * rows.y
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0.0)
    sides = np.add.reduceat(rows.y[order], starts) if rows.n else np.empty(0)
    sizes = np.diff(starts, append=rows.n)
    for start, size in zip(*(a[np.abs(sides) < sizes] for a in (starts, sizes)), strict=True):
        alike: dict[tuple[int, ...], list[int]] = {}
        group = order[start : start + size].tolist()
        for i, a in zip(group, rows.integers(group), strict=True):
            sign = int(rows.y[i])
            numbers = (k for j, v in a.entries() if v for k in (j, sign * v))
            alike.setdefault((a.m, *numbers), []).append(i)
        for same in alike.values():
            if abs(float(rows.y[same].sum())) < len(same):
                yield np.array(same)


def opposites(rows: ExactRows) -> dict[int, int]:
    """A row of each side from every such group: with equal weights they cancel."""
    pairs = ([same[rows.y[same] == s][0] for s in (1.0, -1.0)] for same in contradictions(rows))
    return {int(i): 1 for pair in pairs for i in pair}
