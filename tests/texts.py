"""Sparse data like text and like tables of words, made on the spot; the same for the same seed."""

from __future__ import annotations

import numpy as np
from scipy import sparse

__all__ = ["one_hot", "text"]


def text(n, d, words=20, *, seed=0, flips=0.0, classes=2):
    """Documents of unit length whose words follow Zipf's law; labels ±1, or 0, 1, … for more classes.

    The labels are those of random planes, but for a share that is moved to the next class.
    """
    rng = np.random.default_rng(seed)
    share = np.cumsum(1.0 / np.arange(1, d + 1))
    columns = np.searchsorted(share, rng.random((n, words)) * share[-1])
    X = sparse.csr_array(
        (rng.random(n * words) + 0.5, (np.repeat(np.arange(n), words), columns.ravel())), shape=(n, d)
    )
    X.sum_duplicates()
    X = sparse.csr_array(X.multiply(1.0 / np.sqrt(X.multiply(X).sum(axis=1))[:, None]))
    scores = X @ rng.standard_normal((d, classes))
    y = np.argmax(scores - scores.mean(axis=0), axis=1)
    y = np.where(rng.random(n) < flips, (y + 1) % classes, y)
    return X, (2 * y - 1 if classes == 2 else y)


def one_hot(n, fields=8, values=40, *, seed=0, flips=0.1):
    """A table of words as zeros and ones: one of ``values`` columns for each field; labels ±1."""
    rng = np.random.default_rng(seed)
    columns = np.arange(fields) * values + (values * rng.random((n, fields)) ** 2).astype(int)
    X = sparse.csr_array(
        (np.ones(n * fields), columns.ravel(), np.arange(0, n * fields + 1, fields)),
        shape=(n, fields * values),
    )
    y = np.where(X @ rng.standard_normal(fields * values) > 0.5, 1, -1)
    return X, np.where(rng.random(n) < flips, -y, y)
