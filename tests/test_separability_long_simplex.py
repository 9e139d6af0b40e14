"""Data on which doubles fail: nearly touching classes, entries over 400 orders of magnitude."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.rows import DenseRows
from maxmargin.solvers.exact.integer_rows import ExactRows, exponents_of
from maxmargin.solvers.exact.linear_algebra import cancel
from maxmargin.solvers.exact.long_simplex import long_guess
from maxmargin.solvers.exact.signs import signs
from maxmargin.solvers.exact.simplex import meet_or_separate


def exact_rows(X, y, pad):
    rows = DenseRows(X)
    return ExactRows(rows, y, pad, exponents_of(rows.column_reach))


@pytest.mark.parametrize("seed", range(60))
def test_it_agrees_with_the_simplex_method_in_integers(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 8))
    X = rng.integers(-2, 3, (n, d)).astype(float)
    if seed % 3 == 0:
        X *= 10.0 ** rng.integers(-200, 200, (n, d))
    y = np.where(X @ rng.standard_normal(d) + rng.choice([0.0, 1e-3]) * X[:, 0] > 0, 1.0, -1.0)
    y[: seed % 4] *= -1.0
    rows = exact_rows(X, y, float(seed % 2))
    asked = np.arange(n)
    guess = long_guess(rows, asked, (), [0], 2_048)
    expected = meet_or_separate(rows, asked)
    assert guess is not None
    if expected.plane is None:
        assert guess.plane is None
        weights, _ = cancel(rows, guess.support, ())
        assert min(weights.values()) > 0
    else:
        assert np.all(signs(rows, guess.plane).of > 0)


@pytest.mark.parametrize("seed", range(10))
def test_a_plane_through_given_rows_contains_them_but_for_rounding(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 8))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:3, 0] = 0.0
    rows = exact_rows(X, y, 1.0)
    guess = long_guess(rows, np.arange(3, 30), [0, 1, 2], [], 256)
    assert guess is not None and guess.plane is not None
    size = max(map(abs, guess.plane))
    for ints, m in rows.whole(range(3)):
        value = sum(a * z for a, z in zip(ints, guess.plane, strict=True))
        assert abs(value) << 150 < size << m
    assert np.all(signs(rows, guess.plane).of[3:] > 0)


def rotated(n, d, margin, held, seed):
    """Two classes whose rows lie at a distance from a plane that rounding nearly uses up."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(rng.random(n) > 0.5, 1, -1)
    X[:, 0] = y * np.abs(X[:, 0])
    X[:held, 0] = y[:held] * margin
    return X @ np.linalg.qr(rng.standard_normal((d, d)))[0], y


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("margin", [1e-13, 1e-15, 0.0])
def test_rows_at_a_tiny_distance(margin, fit_intercept):
    X, y = rotated(400, 40, margin, 150, seed=0)
    verdict = mm.separability(X, y, fit_intercept=fit_intercept, margin=False)
    assert verdict.proof.verify(X, y)
    assert verdict.kind == ("separable" if margin else "overlapping")


@pytest.mark.parametrize("labels", ["coins", "plane"])
def test_entries_over_400_orders_of_magnitude(labels):
    rng = np.random.default_rng(0)
    X = 10.0 ** rng.uniform(-200, 200, (120, 24)) * rng.choice([-1.0, 1.0], (120, 24))
    y = rng.choice([-1, 1], 120) if labels == "coins" else np.where(X[:, 0] > 0, 1, -1)
    verdict = mm.separability(X, y)
    assert verdict.proof.verify(X, y)
    assert verdict.kind == ("overlapping" if labels == "coins" else "separable")
