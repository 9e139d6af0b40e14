"""Rows that are alike count as one with the sum of their bounds: on discrete data few are left.

If x_i = x_j and y_i = y_j, only α_i + α_j matters, and it may be shared in proportion to C_i and C_j. So
a partition need not send both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.rows import Rows
from maxmargin.rows.block import matrix_of

__all__ = ["Alike", "alike", "key_of"]


class Alike(NamedTuple):
    """Groups of equal rows."""

    first: np.ndarray  # a row of each group
    group: np.ndarray  # of each row


def alike(rows: Rows, y: np.ndarray, which: np.ndarray, key: np.ndarray) -> Alike:
    """Find equal rows with equal signs among some, by a key of each, a number that equal rows share.

    Of those that are not next to each other in the order of this number some may be missed.
    """
    order = np.lexsort((key, y[which]))
    near = which[order]
    same = (np.diff(key[order]) == 0.0) & (np.diff(y[near]) == 0.0)
    maybe = np.flatnonzero(same)
    if not len(maybe):
        everything = np.arange(len(which))
        return Alike(everything, everything)
    X = matrix_of(rows)
    one, other = X[near[maybe]], X[near[maybe + 1]]
    if sparse.issparse(X):
        same[maybe] = np.diff((one != other).tocsr().indptr) == 0
    else:
        same[maybe] = np.all(one == other, axis=1)
    begins = np.concatenate([[True], ~same])
    group = np.empty(len(which), np.int64)
    group[order] = np.cumsum(begins) - 1
    return Alike(order[begins], group)


def key_of(rows: Rows) -> np.ndarray:
    """A number for each row, equal for equal rows."""
    return rows.times(np.random.default_rng(0).normal(size=(rows.d, 1)))[:, 0]
