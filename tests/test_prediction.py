"""Labels are those of the sums from left to right, however many rows there are and however they lie."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.twins import decision

import maxmargin as mm

N, D = 6_000, 9
KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "float32": lambda X: X.astype(np.float32),
    "float32, F": lambda X: np.asfortranarray(X.astype(np.float32)),
    "CSR": sparse.csr_array,
    "CSR, float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "CSC": sparse.csc_array,
}


def mirrored(rng: np.random.Generator, machines: int) -> np.ndarray:
    """Weights that are the same in both halves; machines differ in one place each."""
    w = rng.choice([0.1, 0.3, 0.7, 1.0 / 3.0], D)
    w[D // 2 : 2 * (D // 2)] = w[: D // 2]
    W = np.tile(w, (machines, 1))
    if machines > 1:
        W[np.arange(machines), rng.permutation(D)[:machines]] += 0.1
    return W


def rows_on_planes(rng: np.random.Generator) -> np.ndarray:
    """Rows of single precision whose products with each w nearly or exactly cancel, in any order."""
    X = rng.integers(-3, 4, (N, D)) * 2.0 ** rng.integers(-20, 21, (N, D))
    half = D // 2
    X[:, half : 2 * half] = -X[:, :half]  # with equal weights at both: the sum in order is often not 0
    shuffled = rng.permuted(X, axis=1)
    X[::2] = shuffled[::2]
    X[::5, 1] = X[::5, 7] = 0.0
    return np.asarray(X.astype(np.float32), np.float64)


def model_of(W: np.ndarray, b: np.ndarray) -> mm.Perceptron:
    """A model with these weights, bit for bit: a start that its few training rows leave as it is."""
    machines = len(W)
    aims = 2.0 * np.eye(machines) - 1.0 if machines > 1 else np.array([[-1.0, 1.0]])
    T = np.linalg.lstsq(W, 5.0 * aims - b[:, None], rcond=None)[0].T
    y = np.arange(len(T)) * 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mm.Perceptron().fit(T, y, coef_init=W, intercept_init=b)
    assert model.n_mistakes_ == 0
    assert np.array_equal(model.coef_, W)
    return model


def labels_in_order(model: mm.Perceptron, X: np.ndarray) -> np.ndarray:
    """What the sums from left to right say, one row at a time."""
    Z = np.column_stack([model.coef_, model.intercept_])
    found = []
    for x in X.tolist():
        f = [decision(z[:-1], z[-1], x) for z in Z.tolist()]
        found.append(int(f[0] > 0) if len(f) == 1 else f.index(max(f)))
    return np.asarray(model.classes_[found])


@pytest.mark.parametrize("machines", [1, 3, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_those_of_sums_in_order(kind: str, machines: int) -> None:
    rng = np.random.default_rng(machines)
    model, X = model_of(mirrored(rng, machines), np.zeros(machines)), rows_on_planes(rng)
    expected = labels_in_order(model, X)
    assert len(np.unique(expected)) == max(2, machines)
    rows = KINDS[kind](X)
    assert np.array_equal(model.predict(rows), expected)
    assert np.array_equal(model.predict(rows[:50]), expected[:50])
    f = model.decision_function(rows)
    winner = f.argmax(axis=1) if machines > 1 else (f > 0).astype(int)
    assert np.array_equal(model.classes_[winner], expected)


def test_the_order_of_sums_matters_on_these_rows() -> None:
    rng = np.random.default_rng(1)
    W = mirrored(rng, 1)
    model, X = model_of(W, np.zeros(1)), rows_on_planes(rng)
    backwards = model_of(W[:, ::-1].copy(), np.zeros(1))
    assert not np.array_equal(labels_in_order(model, X), labels_in_order(backwards, X[:, ::-1]))


def test_equal_classes_are_decided_by_the_first() -> None:
    W = np.array([[1.0, 0.1, 0.2], [0.1, 1.0, 0.2], [0.2, 0.1, 1.0]])
    model = model_of(W, np.zeros(3))
    X = np.zeros((5_000, 3))
    X[1::2] = [0.3, 0.3, -5.0]  # exactly equal values of the first two classes
    for rows in (X, np.asfortranarray(X), sparse.csr_array(X)):
        assert np.array_equal(model.predict(rows), np.zeros(5_000))


@pytest.mark.parametrize("machines", [1, 3])
@pytest.mark.parametrize("kind", ["C", "F", "CSR"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200])
def test_values_that_are_not_allowed_are_named(kind: str, machines: int, value: float) -> None:
    rng = np.random.default_rng(0)
    model = model_of(rng.normal(size=(machines, D)), np.zeros(machines))
    X = rng.normal(size=(N, D))
    X[N - 7, 3] = value
    with pytest.raises(mm.InputError) as few:
        model.predict(KINDS[kind](X[-10:]))
    with pytest.raises(mm.InputError) as many:
        model.predict(KINDS[kind](X))
    place = str(N - 7) if not np.isfinite(value) else "X[:, 3]"
    assert place in str(many.value)
    assert str(many.value).replace(f"row {N - 7}", "row 3") == str(few.value)


def test_large_numbers_that_are_allowed_are_decided() -> None:
    rng = np.random.default_rng(0)
    model = model_of(rng.normal(size=(1, D)), np.zeros(1))
    X = rng.normal(size=(N, D))
    big = X * 2.0**396
    for kind in ("C", "F", "CSR"):
        assert np.array_equal(model.predict(KINDS[kind](big)), model.predict(X))
