"""Rows in partitions: made up, cut up, and weighted; and a cluster of Dask that holds such."""

import contextlib
from itertools import pairwise

import numpy as np
from distributed import Client, LocalCluster

from maxmargin.rows.partitions import Weighted
from simulated import Serial

__all__ = ["blocks", "cluster", "noisy", "weighted"]


def noisy(n, d, seed=0, kind="gauss"):
    """Rows of one kind, and labels that no plane gets right (but those that are separable)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d)
    if kind == "heavy":
        X = rng.standard_t(2, size=(n, d))
    if kind == "cauchy":
        X = rng.standard_cauchy(size=(n, d))
    if kind == "discrete":
        X = rng.integers(0, 3, size=(n, d)).astype(float)
    if kind == "uneven":
        X = (X + 3.0) * 10.0 ** np.linspace(-4, 4, d)
        w = w / 10.0 ** np.linspace(-4, 4, d)
    f = (X - X.mean(axis=0)) @ w
    y = f + f.std() * rng.normal(size=n) > 0
    if kind == "cauchy":
        y = f + np.median(np.abs(f)) * rng.normal(size=n) > 0
    if kind == "separable":
        f = X @ w / np.linalg.norm(w)
        X = X + np.outer(np.sign(f) * 0.1, w / np.linalg.norm(w))
        y = f > 0
    if kind == "rare":
        y = f + 0.3 * f.std() * rng.normal(size=n) > 2.2 * f.std()
    return X, np.where(y, "yes", "no")


def blocks(X, y, cuts):
    """Partitions between the given places."""
    ends = [0, *sorted(cuts), X.shape[0]]
    return [(X[a:b], y[a:b]) for a, b in pairwise(ends)]


def weighted(X, y, weight, cuts):
    """Partitions with weights."""
    pairs = zip(blocks(X, y, cuts), blocks(X, weight, cuts), strict=True)
    return Serial([(rows, Weighted(labels, own)) for (rows, labels), (_, own) in pairs])


@contextlib.contextmanager
def cluster(workers, processes=True):
    """A cluster on the loopback interface, of processes or of threads of this one."""
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=processes,
            protocol="tcp://",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as local,
        Client(local) as client,
    ):
        yield local, client
