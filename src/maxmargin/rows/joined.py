"""X, y and weights of Dask as one collection, a partition of which is a triple of theirs.

Dask optimises every collection by itself. Two columns of the same Parquet files may then end in other
partitions: small files are read several at a time, and how many depends on the columns. So what belongs
together becomes one collection first. Of its optimisations only the choice of columns is used, which
leaves partitions as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["cut", "joined"]


def joined(*given: Any) -> Any:
    """A collection of triples from the partitions of X, of X and y, or of X, y and weights."""
    if all(map(_is_frame, given)):
        from dask import dataframe

        together: Any = dataframe.map_partitions
        options = {"meta": (None, object), "align_dataframes": False, "enforce_metadata": False}
        return together(_triple, *given, **options).simplify()
    from dask import array

    blocks = [_blocks(one) if _is_frame(one) else one for one in given]
    axes = [(one, tuple(range(one.ndim))) for one in blocks]
    together = array.blockwise
    options = {"align_arrays": False, "dtype": object, "meta": np.empty(0, object)}
    return together(_triple, (0,), *(part for pair in axes for part in pair), **options)


def cut(vector: Any, lengths: tuple[int, ...], wanted: tuple[int, ...]) -> Any:
    """An array or a series, whose partitions have these lengths, in partitions of others."""
    from dask import array

    blocks = _blocks(vector) if _is_frame(vector) else vector
    arrays = blocks.map_blocks(np.asarray, dtype=object, meta=np.empty(0, object))
    made: Any = array.Array
    return made(arrays.dask, arrays.name, (lengths,), meta=arrays._meta).rechunk((wanted,))


def _is_frame(collection: Any) -> bool:
    """Whether this is a data frame or a series."""
    return not hasattr(collection, "chunks")


def _blocks(frame: Any) -> Any:
    """The partitions of a data frame or series as the blocks of an array of one dimension."""
    from dask import array

    plain = frame.simplify()
    keys = plain.__dask_keys__()
    lengths = (np.nan,) * len(keys)
    made: Any = array.Array
    return made(plain.__dask_graph__(), keys[0][0], (lengths,), meta=np.empty(0, object))


def _triple(X: Any, y: Any = None, weight: Any = None) -> tuple[Any, Any, Any]:
    """What belongs together, on a worker; of a matrix Dask hands over the list of its blocks."""
    return X[0] if isinstance(X, list) else X, y, weight
