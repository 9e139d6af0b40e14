"""The hard margin on data of every shape and scale, judged by bounds that need no solver."""

import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris

import maxmargin as mm
from bank import FORMS, OVERLAPPING, SEPARABLE, as_form
from exact import hard_margin, meeting_weights

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[IRIS_Y]
EITHER = pytest.mark.parametrize("intercept", [True, False], ids=["free bias", "origin"])


def bounds(w, b, alpha, X, y, intercept=True):
    """Two bounds on the largest margin: what the plane attains, and half the distance of two hull points.

    Both hold for any plane and any multipliers that are not all zero.
    """
    X, y = np.asarray(X, dtype=np.longdouble), np.asarray(y, dtype=np.longdouble)
    w = np.asarray(w, dtype=np.longdouble)
    lower = np.min(y * (X @ w + b)) / np.sqrt(w @ w)
    weights = np.asarray(alpha, dtype=np.longdouble) / np.sum(alpha, dtype=np.longdouble)
    if intercept:
        for side in (y > 0, y < 0):
            weights[side] /= 2 * weights[side].sum()
    v = (weights * y) @ X
    return lower, np.sqrt(v @ v)


def assert_optimal(model, X, y, tol=1e-9):
    """No plane has a margin larger than the model's by more than ``tol``; return its margin."""
    signs = np.where(np.asarray(y) == model.classes_[1], 1, -1)
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    plane = model.coef_[0], model.intercept_[0]
    lower, upper = bounds(*plane, model.dual_, X, signs, model.fit_intercept)
    assert 0 < lower <= upper * (1 + 1e-12)
    assert upper - lower <= tol * lower
    said = model.certificate_.margin
    np.testing.assert_allclose([*said, model.margin_], float(lower), rtol=tol)
    assert model.certificate_.relative_gap <= tol
    assert np.all(model.predict(X) == y)
    return float(lower)


def assert_refused(X, y, intercept=True, **options):
    """Fitting says that no plane separates, and its witness is right; return the error."""
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC(fit_intercept=intercept, **options).fit(X, y)
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    witness = caught.value.witness
    assert len(witness.positive) + len(witness.negative) <= dense.shape[1] + (2 if intercept else 1)
    gap = witness.positive_weights @ dense[witness.positive]
    gap -= witness.negative_weights @ dense[witness.negative]
    assert np.all(np.abs(gap) <= 1e-9 * np.ptp(np.vstack([dense, 0 * dense[:1]]), axis=0))
    larger = max(np.unique(y).tolist())
    assert np.all(np.asarray(y)[witness.positive] == larger)
    assert np.all(np.asarray(y)[witness.negative] != larger)
    return caught.value


def cloud(n, d, gap=0.3, seed=0):
    """Gaussian rows on both sides of a plane, none nearer than ``gap``."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2 * n, d))
    w = rng.standard_normal(d)
    side = X @ w / np.linalg.norm(w)
    keep = np.flatnonzero(np.abs(side) > gap)[:n]
    return X[keep], np.where(side[keep] > 0, 1, -1)


@pytest.mark.parametrize("d", [1, 2, 5, 100, 5000])
def test_two_rows_have_the_plane_half_way(d):
    X = np.random.default_rng(d).standard_normal((2, d))
    model = mm.HardMarginSVC().fit(X, [-1, 1])
    between = X[1] - X[0]
    np.testing.assert_allclose(model.coef_[0], 2 * between / (between @ between), rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), [-1, 1], rtol=1e-9)
    np.testing.assert_allclose(model.dual_, 2 / (between @ between), rtol=1e-9)
    assert model.support_.tolist() == [0, 1]
    assert_optimal(model, X, [-1, 1])


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_through_the_origin_rows_of_one_direction_have_the_nearest_as_support(rows):
    x = np.array([3.0, -4.0])
    X = np.outer(np.arange(1, rows + 2), x)
    y = np.where(np.arange(rows + 1) % 2, -1, 1)
    X[y < 0] *= -1
    model = mm.HardMarginSVC(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], x / 25, rtol=1e-9)
    assert model.support_.tolist() == [0]
    assert model.margin_ == pytest.approx(5.0, rel=1e-9)


def test_one_feature_has_half_the_gap_between_the_nearest_rows():
    rng = np.random.default_rng(3)
    for _ in range(40):
        low, high = np.sort(rng.standard_normal(20)), rng.standard_normal(9)
        high += low.max() - high.min() + rng.random() + 0.01
        X, y = np.append(low, high)[:, None], np.repeat([0, 1], [20, 9])
        model = mm.HardMarginSVC().fit(X, y)
        assert model.margin_ == pytest.approx((high.min() - low.max()) / 2, rel=1e-9)
        assert -model.intercept_[0] / model.coef_[0, 0] == pytest.approx((high.min() + low.max()) / 2)


@EITHER
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("problem", SEPARABLE, ids=lambda p: p.name)
def test_separable_problems_of_the_bank(problem, form, intercept):
    X = as_form(problem.X, form)
    dense = X.toarray() if sparse.issparse(X) else X.astype(float)
    model = mm.HardMarginSVC(fit_intercept=intercept)
    if meeting_weights([[float(v).as_integer_ratio()[0] for v in x] for x in dense[:0]] or [[0]], [1]) and (
        not intercept
    ):
        separable = _through_the_origin(dense, problem.y)
        if not separable:
            assert_refused(X, problem.y, intercept)
            return
    assert_optimal(model.fit(X, problem.y), dense, problem.y)
