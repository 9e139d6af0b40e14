"""Data for the benchmarks: Gaussian clouds, and real sets from the folder MAXMARGIN_DATA."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
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
