"""What fitted planes predict: for rows here, and block by block for collections and files in partitions.

A Dask collection gives a Dask array, which is computed when it is asked for; every block of it, here or
on a worker, is decided by the same :class:`Planes`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from maxmargin.cluster.collections import labelled, names_of
from maxmargin.core.errors import InputError
from maxmargin.estimators.multiclass import chosen, combined
from maxmargin.estimators.validation import Features, check_reach, known_features, read_X
from maxmargin.rows import Rows
from maxmargin.rows.partitions import Executor, Source, Sources, block_of, rows_of
from maxmargin.rows.training_data import is_parted, unlabelled
from maxmargin.solvers.examples import Examples


class Planes(NamedTuple):
    """Fitted planes, one row (w, b) each, and how they decide together; small enough to travel."""

    Z: np.ndarray
    classes: np.ndarray
    multi_class: str
    features: Features

    def decide(self, rows: Rows) -> np.ndarray:
        """Return decision values: one per row for two classes, else one column per class."""
        values = Examples(rows, np.empty(0), 1.0).decisions(self.Z)
        return combined(values, len(self.classes), self.multi_class)

    def decide_block(self, X: Any) -> np.ndarray:
        """Return those of a matrix, or of a part of files, which is read now."""
        if isinstance(X, Source):
            block = block_of(X, None)
            self.features.check(block.X.shape[1], block.names)
            X = block.X
        return self.decide(check_reach(rows_of(X)))

    def hits(self, X: Any, y: Any) -> tuple[float, float]:
        """Return how many rows of a partition are predicted right, of how many; or their weights."""
        block = block_of(X, y)
        if block.labels is None:
            raise unlabelled()
        if not len(block.labels):
            return 0.0, 0.0
        self.features.check(block.X.shape[1], block.names)
        right = chosen(self.decide_block(block.X), self.classes) == block.labels
        weight = np.ones(len(right)) if block.weight is None else block.weight
        return float(weight @ right), float(weight.sum())


def decide(model: Any, planes: Planes, X: Any) -> Any:
    """Return the decision values of rows, wherever they are; ``model`` knows their features."""
    if not is_parted(X):
        return planes.decide(read_X(model, X))
    classes = len(planes.classes)
    if isinstance(X, Sources):
        return _decide_files(planes, X)
    known_features(model, X.shape[1], names_of(X), reset=False)
    X = X.to_dask_array() if names_of(X) is not None else X
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    kind: dict[str, Any] = {"drop_axis": 1, "meta": np.empty(0)}
    if classes > 2:
        kind = {"chunks": (X.chunks[0], (classes,)), "meta": np.empty((0, 0))}
    return X.map_blocks(planes.decide_block, dtype=np.float64, **kind)


def _decide_files(planes: Planes, X: Sources) -> Any:
    """Every block is read when it is computed, and its length is not known."""
    from dask import array
    from dask.delayed import delayed

    classes = len(planes.classes)
    shape = (np.nan,) if classes == 2 else (np.nan, classes)
    blocks = [
        array.from_delayed(  # type: ignore[no-untyped-call]
            delayed(planes.decide_block)(part), shape, dtype=np.float64
        )
        for part in X.parts
    ]
    joined: Any = array.concatenate
    return joined(blocks, allow_unknown_chunksizes=True)


def choose(f: Any, classes: np.ndarray) -> Any:
    """Return labels from decision values, which may be a Dask array."""
    if isinstance(f, np.ndarray):
        return chosen(f, classes)
    kind = {"drop_axis": 1} if f.ndim == 2 else {}
    return f.map_blocks(chosen, classes, dtype=classes.dtype, meta=classes[:0], **kind)


def share_right(model: Any, planes: Planes, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the share of rows of a collection (or of their weight) that are predicted right."""
    if not isinstance(X, Sources):
        known_features(model, X.shape[1], names_of(X), reset=False)
    return share_of(planes, labelled(X, y, sample_weight))


def share_of(planes: Planes, executor: Executor) -> float:
    """Return the same for an executor."""
    found = executor.run(_hits, range(executor.parts), [(planes,)] * executor.parts)
    right, rows = (math.fsum(column) for column in zip(*found, strict=True))
    if not rows:
        raise InputError(
            "X must hold at least one row, of a weight > 0. Got partitions without rows instead."
        )
    return right / rows


def _hits(X: Any, y: Any, planes: Planes) -> tuple[float, float]:
    return planes.hits(X, y)
