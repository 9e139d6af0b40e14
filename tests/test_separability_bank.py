"""A bank of random designs as people have them; the independent checker confirms each verdict."""

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from maxmargin.rows import DenseRows
from maxmargin.solvers.exact.integer_rows import ExactRows, exponents_of
from maxmargin.solvers.exact.separability import find_verdict
from thorough import THOROUGH

BOUNDED, WHOLE = 25, 300


def columns(rng, n, d, X):
    """At most d more columns of one kind, which may depend on those there are."""
    k = int(rng.integers(1, d + 1))
    kind = rng.integers(0, 9 if X.shape[1] else 3)
    some = X[:, rng.integers(0, X.shape[1], k)] if X.shape[1] else X
    other = X[:, rng.integers(0, X.shape[1], k)] if X.shape[1] else X
    if kind == 0:
        return rng.standard_normal((n, k))
    if kind == 1:
        return rng.integers(-3, 6, (n, k)).astype(float)
    if kind == 2:
        return np.eye(k)[rng.integers(0, k, n)]
    if kind == 3:  # polynomials
        return some * other
    if kind == 4:  # totals and differences
        return some + rng.choice([1.0, -1.0, 0.3], k) * other
    if kind == 5:  # ratios
        return some / (1.0 + np.abs(other))
    if kind == 6:  # near-duplicates
        return some * (1.0 + 1e-15 * rng.standard_normal((n, k)))
    if kind == 7:  # other units
        return 1.8 * some + 32.0
    return some * 10.0 ** rng.integers(-12, 12, k)


def design(seed):
    """A mixture of columns, often standardised, with labels of any kind; some of it sparse."""
    rng = np.random.default_rng(seed)
    largest = rng.choice([100, 300, 1_000, 5_000] if seed < BOUNDED else [300, 3_000, 20_000])
    n = int(np.exp(rng.uniform(np.log(20), np.log(largest))))
    d = int(np.exp(rng.uniform(0, np.log(60 if seed < BOUNDED else min(300, 3e6 / n)))))
    X = np.empty((n, 0))
    while X.shape[1] < d:
        X = np.column_stack([X, columns(rng, n, d - X.shape[1], X)])
    if rng.random() < 0.5:
        deviation = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    f = X @ (rng.standard_normal(d) / (np.abs(X).max(axis=0) + 1e-300))
    y = (f + rng.choice([0.0, 0.3, 3.0]) * f.std() * rng.standard_normal(n) > np.median(f)).astype(int)
    y[:2] = 0, 1
    if rng.random() < 0.3:  # equal rows with both labels
        X, y = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])
    return (sparse.csr_array(X) if rng.random() < 0.3 else X), y, bool(rng.random() < 0.8)


@pytest.mark.parametrize(
    "seed", [pytest.param(k, marks=[pytest.mark.thorough] * (k >= BOUNDED)) for k in range(WHOLE)]
)
def test_the_checker_confirms_the_verdict(seed):
    X, y, intercept = design(seed)
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert verdict.proof.verify(X, y)


@pytest.mark.parametrize("seed", range(40 if THOROUGH else 8))
def test_any_plane_will_do_where_no_margin_is_asked_for(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 200)), int(rng.integers(2, 300))
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + 0.2 * X[:, 1] > 0, 1.0, -1.0)
    y[: seed % 3] *= -1.0
    rows = DenseRows(X)
    exact = ExactRows(rows, y, 1.0, exponents_of(rows.column_reach))
    found = find_verdict(exact, 0.05, margin=False)
    assert found.kind == find_verdict(exact, 0.05).kind
    if found.kind == "separable":
        assert np.all(found.signs.of > 0)
    assert found.work.bits > 0


def test_columns_that_depend_on_others_exactly_are_left_out_where_rows_are_few():
    X, y, intercept = design(116)
    X = X.toarray() if sparse.issparse(X) else X
    assert X.shape[0] < X.shape[1] and np.linalg.matrix_rank(X) < X.shape[0]
    rows = DenseRows(X)
    sides = np.where(y > 0, 1.0, -1.0)
    exact = ExactRows(rows, sides, float(intercept), exponents_of(rows.column_reach))
    found = find_verdict(exact, 0.05)
    assert found.kind == "separable" and found.work.pivots == 0
    assert np.all(found.signs.of > 0)
