"""From Dask collections to partitions: arrays with dense or CSR blocks, and data frames."""

from __future__ import annotations

import sys
from typing import Any

from maxmargin.core.errors import InputError

__all__ = ["executor_of", "is_remote", "names_of"]


def is_remote(X: Any) -> bool:
    """Whether this is a Dask collection; Dask is not imported to find out."""
    if "dask" not in sys.modules:
        return False
    from dask.base import is_dask_collection

    return bool(is_dask_collection(X))


def names_of(X: Any) -> list[str] | None:
    """The names of the features of a data frame."""
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def executor_of(X: Any, y: Any = None) -> Any:
    """The partitions of X and y, which have to be aligned, and where they are computed."""
    from maxmargin.cluster.running import DaskExecutor

    if getattr(X, "ndim", 0) != 2 or not hasattr(X, "to_delayed"):
        raise InputError(
            "X must be a Dask array or data frame of two dimensions. Got "
            f"{type(X).__name__} instead. Use dask.array.stack, or reshape it."
        )
    if hasattr(X, "chunks") and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if y is not None:
        y = _aligned(X, y)
    return DaskExecutor(X, y, _client())


def _aligned(X: Any, y: Any) -> Any:
    """Labels with the partitions of X, where their lengths are known."""
    if not is_remote(y) or getattr(y, "ndim", 0) != 1 or not hasattr(y, "to_delayed"):
        raise InputError(
            "y must be a Dask array or series of labels, in the partitions of X. Got "
            f"{type(y).__name__} instead. Use dask.array.from_array(y, chunks=X.chunks[0])."
        )
    if hasattr(X, "chunks") and hasattr(y, "chunks"):
        lengths, given = X.chunks[0], y.chunks[0]
        known = not any(size != size for size in (*lengths, *given))  # nan is unknown
        if known and sum(lengths) != sum(given):
            raise InputError(
                f"y must hold one label per row, {sum(lengths)} in all. Got {sum(given)} instead."
            )
        if known and lengths != given:
            return y.rechunk((lengths,))
    parts = [part.npartitions for part in (X, y)]
    if parts[0] != parts[1]:
        raise InputError(
            f"y must have the partitions of X, {parts[0]} of them. Got {parts[1]} instead. Make "
            "both from the same data frame, or rechunk them."
        )
    return y


def _client() -> Any:
    """The user's client, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()  # type: ignore[no-untyped-call]
    except ValueError:
        return None
