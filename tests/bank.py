"""Small problems with known answers, for every solver and every kind of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.datasets import load_iris

__all__ = ["BANK", "FORMS", "OVERLAPPING", "SEPARABLE", "Problem", "as_form", "problem"]


@dataclass(frozen=True)
class Problem:
    """Rows with labels ±1, and whether a plane separates them (strictly)."""

    name: str
    X: np.ndarray
    y: np.ndarray
    separable: bool

    @property
    def codes(self) -> np.ndarray:
        """Label codes as the kernels read them: 1 for +1, 0 for −1."""
        return (self.y > 0).astype(np.int32)

    @property
    def A(self) -> np.ndarray:
        """Padded and pre-multiplied rows a_i = y_i (x_i, 1)."""
        return self.y[:, None] * np.column_stack([self.X, np.ones(len(self.X))])


def _problem(name, X, y, separable):
    return Problem(name, np.array(X, dtype=np.float64), np.array(y, dtype=np.int64), separable)


def _lectures():
    pass_or_fail = [[90, 80], [40, 30], [50, 40]]
    corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
    return [
        _problem("pass or fail", pass_or_fail, [1, -1, -1], True),
        _problem("opposite", [[1, 1], [-1, -1]], [1, -1], True),
        _problem("quarter", [[1, 1], [-0.25, -0.25]], [1, -1], True),
        _problem("xor", corners, [-1, 1, 1, -1], False),
        _problem("signed xor", [[1, 1], [-1, -1], [1, -1], [-1, 1]], [1, 1, -1, -1], False),
        _problem("touching", [[0], [1], [1], [2]], [-1, -1, 1, 1], False),
        _problem("touching hulls", [[0, 0], [2, 2], [1, 1], [1, 3]], [-1, -1, 1, 1], False),
        _problem("collinear", [[k, 2 * k + 1] for k in range(-3, 4)], [-1] * 4 + [1] * 3, True),
        _problem("alternating", [[k, 2 * k + 1] for k in range(6)], [1, -1] * 3, False),
        _problem("one feature", [[1], [2], [5], [7]], [-1, -1, 1, 1], True),
    ]


def _made():
    rng = np.random.default_rng(20)
    blobs = np.vstack([rng.integers(0, 9, (20, 3)), rng.integers(0, 9, (20, 3)) + np.array([9, 2, 0])])
    sides = np.repeat([-1, 1], 20)
    cloud = rng.standard_normal((60, 4))
    along = cloud @ [1.0, -2.0, 0.5, 1.0] + 0.3
    apart = np.abs(along) > 0.2
    wide = rng.standard_normal((12, 20))
    holes = rng.integers(-3, 4, (30, 9)) * (rng.random((30, 9)) < 0.3)
    holes[[4, 17]] = 0
    holes[:, 5] = 0
    tenths = rng.integers(-9, 10, (40, 6)) * 0.1
    scales = cloud[apart] * [1e6, 1.0, 1e-6, 1e3]
    return [
        _problem("integer blobs", blobs, sides, True),
        _problem("gaussian", cloud[apart], np.sign(along[apart]), True),
        _problem("wide", wide, rng.choice([-1, 1], 12), True),
        _problem("scales", scales, np.sign(along[apart]), True),
        _problem("overlap", cloud, np.where(along + rng.standard_normal(60) > 0, 1, -1), False),
        _problem("holes", holes, np.where(holes[:, 0] + holes[:, 3] > 0, 1, -1), True),
        _problem("tenths", tenths, np.where(tenths[:, 0] > tenths[:, 1], 1, -1), True),
        _problem("constant column", np.column_stack([blobs, np.full(40, 7)]), sides, True),
    ]


def _iris():
    X, y = load_iris(return_X_y=True)
    setosa, virginica = y != 2, y != 0
    return [
        _problem("setosa", X[setosa], np.where(y[setosa] == 1, 1, -1), True),
        _problem("virginica", X[virginica], np.where(y[virginica] == 2, 1, -1), False),
    ]


BANK = [*_lectures(), *_made(), *_iris()]
SEPARABLE = [p for p in BANK if p.separable]
OVERLAPPING = [p for p in BANK if not p.separable]
FORMS = ("float64", "float32", "csr int32", "csr int64")


def problem(name: str) -> Problem:
    """Return the problem of this name."""
    return next(p for p in BANK if p.name == name)


def as_form(X: np.ndarray, form: str):
    """Return the matrix in one of the ``FORMS``."""
    if form == "float64":
        return np.array(X)
    if form == "float32":
        return np.array(X, dtype=np.float32)
    matrix = sparse.csr_array(X)
    kind = np.int32 if form == "csr int32" else np.int64
    matrix.indices, matrix.indptr = matrix.indices.astype(kind), matrix.indptr.astype(kind)
    return matrix
