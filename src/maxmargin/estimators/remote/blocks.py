"""Prediction on Dask collections and files in partitions, block by block, by any fitted classifier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.cluster.collections import labelled, names_of
from maxmargin.core.errors import InputError
from maxmargin.core.labels import unlabelled
from maxmargin.estimators.multiclass import chosen, combined
from maxmargin.estimators.validation import Features, check_reach, known_features
from maxmargin.rows.partitions import Executor, Source, Sources, block_of, rows_of
from maxmargin.solvers.examples import Examples


def decide_blocks(model: Any, X: Any) -> Any:
    """Decision values of a Dask collection, as a Dask array; computed when it is."""
    classes, scheme = len(model.classes_), model._fitted_scheme["multi_class"]
    if isinstance(X, Sources):
        return _decide_files(model, X, classes, scheme)
    known_features(model, X.shape[1], names_of(X), reset=False)
    X = X.to_dask_array() if names_of(X) is not None else X
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    kind: dict[str, Any] = {"drop_axis": 1, "meta": np.empty(0)}
    if classes > 2:
        kind = {"chunks": (X.chunks[0], (classes,)), "meta": np.empty((0, 0))}
    return X.map_blocks(_decided, model._weights(), classes, scheme, dtype=np.float64, **kind)


def _decide_files(model: Any, X: Sources, classes: int, multi_class: str) -> Any:
    """The same for files: every block is read when it is computed, and its length is not known."""
    from dask import array
    from dask.delayed import delayed

    known = _features(model)
    shape = (np.nan,) if classes == 2 else (np.nan, classes)
    blocks = [
        array.from_delayed(  # type: ignore[no-untyped-call]
            delayed(_read_and_decided)(part, known, model._weights(), classes, multi_class),
            shape,
            dtype=np.float64,
        )
        for part in X.parts
    ]
    joined: Any = array.concatenate
    return joined(blocks, allow_unknown_chunksizes=True)


def predict_blocks(model: Any, X: Any) -> Any:
    """Labels of a Dask collection, as a Dask array."""
    f, classes = decide_blocks(model, X), model.classes_
    kind = {"drop_axis": 1} if f.ndim == 2 else {}
    return f.map_blocks(chosen, classes, dtype=classes.dtype, meta=classes[:0], **kind)


def score_blocks(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """The share of rows (or of their weight) that are predicted right."""
    if not isinstance(X, Sources):
        known_features(model, X.shape[1], names_of(X), reset=False)
    return score_partitions(model, labelled(X, y, sample_weight))


def score_partitions(model: Any, executor: Executor) -> float:
    """The same for an executor."""
    state = _features(model), model._weights(), model.classes_, model._fitted_scheme["multi_class"]
    counts = executor.run(_right, range(executor.parts), [state] * executor.parts)
    right, rows = (math.fsum(column) for column in zip(*counts, strict=True))
    if not rows:
        raise InputError(
            "X must hold at least one row, of a weight > 0. Got partitions without rows instead."
        )
    return right / rows


def _features(model: Any) -> Features:
    names = getattr(model, "feature_names_in_", None)
    return Features(type(model).__name__, model.n_features_in_, names)


def _decided(X: Any, Z: np.ndarray, classes: int, multi_class: str) -> np.ndarray:
    rows = check_reach(rows_of(X))
    return combined(Examples(rows, np.empty(0), 1.0).decisions(Z), classes, multi_class)


def _read_and_decided(
    part: Source, known: Features, Z: np.ndarray, classes: int, multi_class: str
) -> np.ndarray:
    block = block_of(part, None)
    known.check(block.X.shape[1], block.names)
    return _decided(block.X, Z, classes, multi_class)


def _right(
    X: Any, y: Any, known: Features, Z: np.ndarray, classes: np.ndarray, multi_class: str
) -> tuple[float, float]:
    """How many rows of a partition are predicted right, and how many there are; or their weights."""
    block = block_of(X, y)
    if block.labels is None:
        raise unlabelled()
    if not len(block.labels):
        return 0.0, 0.0
    known.check(block.X.shape[1], block.names)
    right = chosen(_decided(block.X, Z, len(classes), multi_class), classes) == block.labels
    weight = np.ones(len(right)) if block.weight is None else block.weight
    return float(weight @ right), float(weight.sum())
