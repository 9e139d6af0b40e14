"""In which order an epoch visits the rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

__all__ = ["ORDERS", "epochs"]

ORDERS = ("cyclic", "shuffled", "random")

# Rows a shuffle keeps together on large data: neighbours share memory pages, so shuffling blocks, and
# rows within a block, costs half of what fully random access costs.
BLOCK = 16
SMALL = 1 << 14  # rows up to which every row is shuffled by itself (whatever the kind of rows)


def epochs(order: str, members: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the visiting order of one epoch after the other, for ever."""
    while True:
        if order == "cyclic":
            yield members
        elif order == "random":
            yield members[rng.integers(len(members), size=len(members))]
        elif len(members) <= SMALL:
            yield rng.permutation(members)
        else:
            yield _blockwise(members, rng)


def _blockwise(members: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a new order of ``members``: blocks shuffled, and rows within each block."""
    n = len(members) - len(members) % BLOCK
    # The cut wanders, so that neighbours do not stay together from epoch to epoch.
    members = np.roll(members, int(rng.integers(len(members))))
    blocks = rng.permuted(members[:n].reshape(-1, BLOCK), axis=1)
    rest = rng.permutation(members[n:])
    return np.concatenate([rng.permutation(blocks, axis=0).ravel(), rest])
