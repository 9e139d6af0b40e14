"""Data for the benchmarks: clouds and documents made up, and real sets of the folder MAXMARGIN_DATA."""

from __future__ import annotations

import bz2
import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

FOLDER = os.environ.get("MAXMARGIN_DATA", "")


def separable(n: int, d: int, gap: float) -> tuple[np.ndarray, np.ndarray]:
    """A Gaussian cloud without the points nearer than ``gap`` to a random plane."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d)
    f = X @ (w / np.linalg.norm(w))
    keep = np.abs(f) > gap
    return X[keep], np.where(f[keep] > 0, 1, -1)


def noisy(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """A Gaussian cloud with noise across a random plane: about one label in ten is wrong."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d)
    f = X @ (w / np.linalg.norm(w)) + 0.33 * rng.standard_normal(n)
    return X, np.where(f > 0, 1, -1)


def zipf(n: int, d: int, words: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Documents of words as frequent as Zipf's law has it, unit rows, labels by a noisy plane."""
    rng = np.random.default_rng(seed)
    columns = np.minimum(rng.zipf(1.3, size=n * words) - 1, d - 1)
    X = sparse.csr_matrix(
        (np.ones(n * words), columns, np.arange(0, n * words + 1, words)), shape=(n, d)
    )
    X.sum_duplicates()
    X.data = 1.0 + np.log(X.data)
    X = sparse.diags(1.0 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X
    f = X @ rng.standard_normal(d)
    return sparse.csr_matrix(X), np.where(f + 0.1 * rng.standard_normal(n) > np.median(f), 1, -1)


def have(*names: str) -> bool:
    """Whether these files are at hand."""
    return bool(FOLDER) and all((Path(FOLDER) / name).exists() for name in names)


MNIST = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")


def mnist(one: int, other: int, first: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Two digits, pixels in [0, 1]."""
    with gzip.open(Path(FOLDER) / MNIST[0]) as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(Path(FOLDER) / MNIST[1]) as file:
        digit = np.frombuffer(file.read(), np.uint8, offset=8)
    rows = np.flatnonzero((digit == one) | (digit == other))[:first]
    return X[rows] / 255.0, np.where(digit[rows] == other, 1, -1)


def svmlight(name: str) -> tuple[Any, np.ndarray]:
    """A sparse set with two classes."""
    X, y = load_svmlight_file(str(Path(FOLDER) / name))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, np.where(y == y.max(), 1, -1)


def covtype() -> tuple[np.ndarray, np.ndarray]:
    """Forest cover type 2 against the rest, standardised."""
    table = np.loadtxt(Path(FOLDER) / "covtype.csv.gz", delimiter=",", skiprows=1, dtype=np.int16)
    X = table[:, :-1].astype(np.float64)
    X -= X.mean(axis=0)
    X /= np.maximum(X.std(axis=0), 1e-12)
    return X, np.where(table[:, -1] == 2, 1, -1)


def newsgroups() -> tuple[Any, np.ndarray]:
    """20 Newsgroups, 20 classes."""
    with np.load(Path(FOLDER) / "20news_tfidf.npz") as file:
        X = sparse.csr_matrix((file["data"], file["indices"], file["indptr"]), shape=file["shape"])
        return X.astype(np.float64), file["y"]


def sector() -> tuple[Any, np.ndarray]:
    """Web pages by sector, 105 classes."""
    with bz2.open(Path(FOLDER) / "sector.scale.svm.bz2") as file:
        X, y = load_svmlight_file(file)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y.astype(np.int64)
