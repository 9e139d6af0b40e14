"""Partitions that are read where they are used: a small description travels, never the rows.

Whoever runs a function on a partition reads it first, and forgets it afterwards. So a lost worker costs
no more than another read, and nothing but names of files is ever pickled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from maxmargin.core.errors import InputError
from maxmargin.rows.joined import joined

__all__ = ["Source", "Sources", "brought_here", "is_parted"]


class Source(ABC):
    """One partition."""

    @abstractmethod
    def read(self) -> tuple[Any, np.ndarray | None, list[str] | None]:
        """The matrix, the labels and the names of the features, the same each time."""


class Sources:
    """Partitions that estimators take in place of X and y.

    Parameters
    ----------
    parts : sequence of Source
        The partitions, in order.
    client : distributed.Client or None
        The cluster that reads them; None is Dask's own scheduler.
    """

    ndim = 2

    def __init__(self, parts: Sequence[Source], client: Any = None) -> None:
        self.parts, self.client = tuple(parts), client

    @property
    def npartitions(self) -> int:
        """How many partitions there are."""
        return len(self.parts)


def is_parted(X: Any) -> bool:
    """Whether these are partitions: files, or a Dask collection."""
    return isinstance(X, Sources) or hasattr(X, "to_delayed")


def brought_here(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Yield matrix and labels of the partitions, brought here one after the other."""
    if isinstance(X, Sources):
        for part in X.parts:
            matrix, labels, _ = part.read()
            yield matrix, labels
        return
    if hasattr(X, "chunks") and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if not hasattr(y, "to_delayed") or X.npartitions != y.npartitions:
        raise InputError(
            f"y must be a Dask array or series with the partitions of X, {X.npartitions} of them. Got "
            f"{type(y).__name__} of {getattr(y, 'npartitions', 1)} instead. Take both from one table, "
            "or rechunk y."
        )
    for part in joined(X, y).to_delayed(optimize_graph=False):
        yield part.compute()[:2]
