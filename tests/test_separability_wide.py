"""Fewer rows than columns, as of texts; numbers of any size: no steps of the simplex method."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from maxmargin.core.parameters import NEVER
from maxmargin.rows import CsrRows, DenseRows
from maxmargin.solvers.exact import separability
from maxmargin.solvers.exact.integer_rows import ExactRows, exponents_of
from maxmargin.solvers.exact.linear_algebra import cancel, cancel_near
from maxmargin.solvers.exact.long_simplex import fitting_plane as fitting_long_plane
from maxmargin.solvers.exact.separability import find_verdict
from maxmargin.solvers.exact.wide_rows import fitting_plane, least_violations_of_wide
from thorough import THOROUGH


def texts(seed, n=80, d=300):
    """Rows of few words, nearly standardised: some are equal, and some are sums of others, exactly."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, d))
    for row in X:
        row[rng.integers(0, d, rng.integers(1, 6))] = rng.integers(1, 4)
    some = rng.permutation(n)
    X[some[:6]] = X[some[6:12]]
    X[some[12:15]] = X[some[15:18]] + X[some[18:21]] - X[some[21:24]]
    deviation = X.std(axis=0)
    scale = 2.0 ** np.rint(np.log2(np.where(deviation > 0, deviation, 1.0)))
    return (X - np.rint(256 * X.mean(axis=0)) / 256) / scale, rng


def exact(X, y, intercept=True):
    rows = DenseRows(X)
    return ExactRows(rows, np.where(y > 0, 1.0, -1.0), float(intercept), exponents_of(rows.column_reach))


@pytest.mark.parametrize("seed", range(60 if THOROUGH else 8))
def test_texts_need_no_steps_in_integers(seed):
    X, rng = texts(seed)
    y = rng.integers(0, 2, len(X))
    intercept = bool(seed % 2)
    found = find_verdict(exact(X, y, intercept), 0.05)
    assert found.kind == "touching" and found.work.pivots == 0
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert verdict.kind == "touching" and verdict.proof.verify(X, y)
    y = np.where(X @ rng.standard_normal(X.shape[1]) > 0.123, 1, 0)
    for margin in (True, False):
        verdict = mm.separability(X, y, fit_intercept=intercept, margin=margin)
        assert verdict.separable == (intercept or verdict.kind == "separable")
        assert verdict.proof.verify(X, y)


@pytest.mark.parametrize("gap", [1e-2, 1e-6, 1e-9])
@pytest.mark.parametrize("margin", [True, False])
def test_rows_that_nearly_cancel_are_separated(gap, margin, monkeypatch):
    X, rng = texts(0, 300, 900)
    X = X + 0.01 * rng.standard_normal(X.shape)
    y = rng.integers(0, 2, len(X))
    X[:20], y[:20] = X[20:40] + gap * rng.standard_normal((20, 900)), 1 - y[20:40]
    monkeypatch.setattr(separability, "meet_or_separate", None)
    found = find_verdict(exact(X, y), 0.05, margin=margin)
    assert found.kind == "separable" and np.all(found.signs.of > 0)
    low, high = mm.separability(X, y, margin=margin).margin
    assert 0.0 < low <= high


def test_violations_are_zero_or_their_rows_cancel():
    X, rng = texts(3)
    y = rng.choice([-1.0, 1.0], len(X))
    for rows in (DenseRows(y[:, None] * X), CsrRows.from_matrix(sparse.csr_array(y[:, None] * X))):
        found = least_violations_of_wide(rows, NEVER)
        assert np.count_nonzero(found.r) > 1
        A = y[:, None] * X
        lengths = np.linalg.norm(A, axis=1)
        assert np.linalg.norm(found.r @ A) < 0.02 * float((found.r * lengths).max())  # nearly
    A = rng.standard_normal((40, 90)) * 10.0 ** rng.integers(-5, 5, (40, 1))
    found = least_violations_of_wide(DenseRows(A), NEVER)
    assert not np.any(found.r) and np.all(A @ found.z > 0)
    assert np.allclose(A @ fitting_plane(DenseRows(A), NEVER), 1.0)
    assert least_violations_of_wide(DenseRows(np.zeros((2, 3))), NEVER) is None
    assert fitting_plane(DenseRows(np.ones((2, 3))), NEVER) is None


def test_rows_may_cancel_in_several_ways():
    X = np.array([[1.0, 0, 0, 2], [-3.0, 0, 0, -6], [0, 0.3, 0, 0], [0, -0.1, 0, 0], [0, 0, 1, 1.0]])
    rows, alpha = exact(X, np.ones(5), False), np.array([0.9, 0.3, 0.2, 0.6, 0.0])
    which = np.arange(4)
    assert cancel(rows, which.tolist(), ()) is None
    weights, free = cancel_near(rows, which, alpha[:4], ())
    assert free == {} and set(weights) == {0, 1, 2, 3}
    total = sum(weights[i] * np.array([Fraction(v) for v in X[i]]) for i in weights)
    assert list(total) == [0, 0, 0, 0] and min(weights.values()) > 0
    assert cancel_near(rows, np.array([0, 4]), np.ones(2), ()) is None  # independent rows


@pytest.mark.parametrize("seed", range(20 if THOROUGH else 4))
@pytest.mark.parametrize("intercept", [True, False])
def test_numbers_over_four_hundred_orders_of_magnitude(seed, intercept):
    rng = np.random.default_rng(seed)
    n, d = 300, 25
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-200, 200, (n, d))
    X[0, :], X[:, 1] = 0.0, 0.0
    X[0, 2] = 1e-300
    y = np.where(X @ rng.standard_normal(d) > 0, 1, -1)
    found = find_verdict(exact(X, y, intercept), 0.05)
    assert found.work.pivots == 0 and found.work.bits < 2_000  # no simplex in long numbers, either
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert verdict.kind == found.kind == "separable" and verdict.proof.verify(X, y)


def test_rows_and_columns_are_levelled_exactly():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4)) * 10.0 ** rng.uniform(-200, 200, (20, 4))
    X[3], X[:, 2] = 0.0, 0.0
    rows = exact(X, rng.choice([-1, 1], 20))
    level, exponents = rows.levelled()
    assert np.all((np.max(np.abs(level.X), axis=1) >= 0.5) & (np.max(np.abs(level.X), axis=1) <= 1.0))
    z = rng.standard_normal(5)
    plane = np.ldexp(z, exponents - exponents.max())
    kept = np.abs(level.X @ z) > 1e-3  # others may be lost where numbers leave the range of doubles
    signs = np.sign(rows.values(plane) * rows.y)
    assert np.array_equal(signs[kept & (signs != 0)], np.sign(level.X @ z)[kept & (signs != 0)])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("intercept", [True, False])
def test_rows_that_cancel_but_for_rounding_are_separated(seed, intercept, monkeypatch):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 90)), np.arange(30) % 2
    up, down = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    for k in range(4):
        p, q = up[3 * k : 3 * k + 3], down[3 * k : 3 * k + 3]
        a, b = rng.dirichlet(np.ones(3), 2)
        X[p[0]] = (b @ X[q] - a[1:] @ X[p[1:]]) / a[0]
    for name in ("long_guess", "meet_or_separate"):
        monkeypatch.setattr(separability, name, None)
    found = find_verdict(exact(X, y, intercept), 0.05)
    assert found.kind == "separable" and found.work.pivots == 0 and np.all(found.signs.of > 0)
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert verdict.separable and verdict.proof.verify(X, y)


@pytest.mark.parametrize("bits", [256, 2_048])
def test_a_fitting_plane_in_long_numbers(bits):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 20))
    X[7] = X[:7].sum(axis=0) / 7.0
    rows = exact(X, rng.integers(0, 2, 8))
    z = fitting_long_plane(rows, np.arange(2, 8), [0, 1], bits)
    size = max(map(abs, z))
    for i, (ints, m) in enumerate(rows.whole(range(8))):
        value = Fraction(sum(a * v for a, v in zip(ints, z, strict=True)), size << m)
        assert value > 2.0**-80 if i > 1 else abs(value) < 2.0**-100
    assert fitting_long_plane(exact(X[:, :6], rows.y), np.arange(8), (), bits) is None  # too few columns
    X[7] = X[6]
    assert fitting_long_plane(exact(X, np.ones(8)), np.arange(8), (), bits) is None  # rows depend
