"""From Dask collections to partitions: arrays with dense or CSR blocks, data frames, and files.

:mod:`maxmargin.cluster.dask` runs functions on them, on a cluster or by Dask's own scheduler; it is
imported on use, since Dask may not be installed.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from maxmargin.core.errors import InputError, Remedy
from maxmargin.rows.partitions import Sources, cut


def column_names(X: Any) -> list[str] | None:
    """The names of the features of a data frame."""
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def executor_of(X: Any, y: Any = None, weight: Any = None) -> Any:
    """The partitions of X, y and weights, in those of X, and where they are computed."""
    if isinstance(X, Sources):
        return _executor_of_files(X, y, weight)
    from maxmargin.cluster.dask import DaskExecutor

    if getattr(X, "ndim", 0) != 2 or not hasattr(X, "to_delayed"):
        raise InputError(
            "X must be a Dask array or data frame of two dimensions. Got "
            f"{type(X).__name__} instead. Use dask.array.stack, or reshape it."
        )
    if hasattr(X, "chunks") and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if y is not None:
        y = _aligned(X, y, "y", "labels")
    if weight is not None:
        weight = _aligned(X, weight, "sample_weight", "weights")
    return DaskExecutor(X, y, _client(), weight)


def labelled(X: Any, y: Any, weight: Any = None) -> Any:
    """The same where labels are needed; files bring their own."""
    if y is None and not isinstance(X, Sources):
        raise InputError(
            "Dask collections need y. Got None instead. Pass a Dask array or series of labels."
        )
    return executor_of(X, y, weight)


def _executor_of_files(X: Sources, y: Any, weight: Any) -> Any:
    from maxmargin.cluster.dask import DaskExecutor

    for name, given in (("y", y), ("sample_weight", weight)):
        if given is not None:
            raise InputError(
                f"{name} must be None for files in partitions. Got {type(given).__name__} instead.",
                Remedy("name the column of the labels in open_rows", "label", ...),
                Remedy("use Dask collections"),
            )
    return DaskExecutor(X, None, X.client or _client())


def _aligned(X: Any, y: Any, name: str, what: str) -> Any:
    """Labels or weights in the partitions of X: cut as X is, if they are not."""
    if getattr(y, "ndim", 0) != 1 or not hasattr(y, "to_delayed"):
        raise InputError(
            f"{name} must be a Dask array or series of {what}, in the partitions of X. Got "
            f"{type(y).__name__} instead. Use dask.array.from_array({name}, chunks=X.chunks[0])."
        )
    lengths, given = _lengths(X), _lengths(y)
    if lengths is None or given is None:
        if X.npartitions == y.npartitions:
            return y  # whether the lengths agree, the first round tells
        lengths, given = lengths or _counted(X), given or _counted(y)
    if sum(lengths) != sum(given):
        raise InputError(
            f"{name} must hold one of the {what} per row, {sum(lengths)} in all. Got {sum(given)} "
            "instead."
        )
    return y if lengths == given else cut(y, given, lengths)


def _lengths(collection: Any) -> tuple[int, ...] | None:
    """The lengths of partitions, if they are known without a look at them."""
    if not hasattr(collection, "chunks"):
        return None
    lengths: tuple[int, ...] = collection.chunks[0]
    return None if any(map(math.isnan, lengths)) else lengths


def _counted(collection: Any) -> tuple[int, ...]:
    """The lengths of partitions, from one pass over them."""
    from maxmargin.cluster.dask import DaskExecutor

    executor = DaskExecutor(collection, client=_client())
    return tuple(executor.run(_length, range(executor.parts), [()] * executor.parts))


def _length(rows: Any, labels: None) -> int:
    return int(rows.shape[0])


def _client() -> Any:
    """The user's client, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()  # type: ignore[no-untyped-call]
    except ValueError:
        return None
