"""The hard margin on data of every shape and scale."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from bank import FORMS, OVERLAPPING, SEPARABLE, as_form
from exact import hard_margin, meeting_weights
from hardmargins import EITHER, assert_nearly_optimal, assert_optimal, assert_refused, cloud
from thorough import further


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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("problem", SEPARABLE, ids=lambda p: p.name)
def test_separable_problems_of_the_bank(problem, form):
    X = as_form(problem.X, form)
    if problem.name == "scales":
        assert_nearly_optimal(mm.HardMarginSVC(), X, problem.y)
        return
    model = mm.HardMarginSVC().fit(X, problem.y)
    margin = assert_optimal(model, X, problem.y)
    if form != "float32":
        assert margin == pytest.approx(mm.HardMarginSVC().fit(problem.X, problem.y).margin_, rel=1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("problem", OVERLAPPING, ids=lambda p: p.name)
def test_overlapping_problems_of_the_bank(problem, form):
    assert_refused(as_form(problem.X, form), problem.y)


@pytest.mark.parametrize("problem", SEPARABLE + OVERLAPPING, ids=lambda p: p.name)
def test_the_bank_through_the_origin(problem):
    rows = [[Fraction(v) for v in x] for x in problem.X.tolist()]
    if meeting_weights(rows, problem.y.tolist(), intercept=False) is None:
        model = mm.HardMarginSVC(fit_intercept=False)
        if problem.name == "scales":
            assert_nearly_optimal(model, problem.X, problem.y)
        else:
            assert_optimal(model.fit(problem.X, problem.y), problem.X, problem.y)
        assert model.intercept_.tolist() == [0.0]
    else:
        assert_refused(problem.X, problem.y, intercept=False)


# More features than rows.


@EITHER
@pytest.mark.parametrize("sparse_rows", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize(("n", "d"), [(2, 5), (3, 7), (6, 40), (7, 300)])
def test_few_rows_of_many_features_against_rational_arithmetic(n, d, sparse_rows, intercept):
    rng = np.random.default_rng([n, d])
    for _ in range(5):
        X, y = rng.integers(-3, 4, (n, d)), np.where(np.arange(n) % 2, 1, -1)
        best = hard_margin(X.tolist(), y.tolist(), intercept)
        given = sparse.csr_array(X.astype(float)) if sparse_rows else X.astype(float)
        model = mm.HardMarginSVC(fit_intercept=intercept).fit(given, y)
        assert model.margin_ == pytest.approx(best.margin, rel=1e-9)
        exact = np.array([float(v) for v in best.w])
        np.testing.assert_allclose(model.coef_[0], exact, atol=3e-5 / best.margin)
        assert_optimal(model, X, y)


@pytest.mark.parametrize(("n", "d"), [(40, 100), (100, 201), (120, 800)])
def test_many_features(n, d):
    X, y = cloud(n, d)
    assert_optimal(mm.HardMarginSVC().fit(X, y), X, y)


def _same_row_twice(X, y):
    X[1] = X[0]
    return X, y


def _middle(X, y):
    X[0] = (X[1] + X[3]) / 2
    return X, y


def _common_point(X, y):
    X[0] = X[1] + X[3] + X[5] - X[2] - X[4]
    return X, y


def _all_zero(X, y):
    return 0 * X, y


@pytest.mark.parametrize("sparse_rows", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("d", [3, 13, 1000, further(6), further(12), further(50)])
@pytest.mark.parametrize("spoil", [_same_row_twice, _middle, _common_point, _all_zero])
def test_hulls_that_meet_are_found_whatever_the_number_of_features(spoil, d, sparse_rows):
    X = 2.0 * np.random.default_rng(d).integers(-4, 5, (6, d))
    X, y = spoil(X, np.array([-1, 1, -1, 1, -1, 1]))
    assert_refused(sparse.csr_array(X) if sparse_rows else X, y)


@pytest.mark.parametrize("d", [3, 13, 1000, further(6), further(12), further(50)])
def test_opposite_rows_through_the_origin_are_found_whatever_the_number_of_features(d):
    X = 1.0 * np.random.default_rng(d).integers(-4, 5, (6, d))
    X[1] = X[0]
    y = np.array([-1, 1, -1, 1, -1, 1])
    assert_refused(X, y, intercept=False)
    X[1], y[1] = -3 * X[0], -1
    assert_refused(X, y, intercept=False)


# Rows and features that depend on each other.


@EITHER
@pytest.mark.parametrize("d", [3, 5, 40])
def test_rank_deficient_rows_have_the_margin_of_their_coordinates(d, intercept):
    rng = np.random.default_rng(d)
    Q = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
    X, y = cloud(15, 2, seed=d)
    model = mm.HardMarginSVC(fit_intercept=intercept).fit(X @ Q, y)
    flat = mm.HardMarginSVC(fit_intercept=intercept).fit(X, y)
    assert_optimal(model, X @ Q, y)
    assert model.margin_ == pytest.approx(flat.margin_, rel=1e-9)


@pytest.mark.parametrize("scale", [0.1, 1.0, 7.0])
def test_rows_on_a_line_have_half_the_gap(scale):
    t = np.array([0, 1, 2, 2, 5, 6, 6, 9.0])
    along = scale * np.array([1.0, -2.0, 2.0])
    model = mm.HardMarginSVC().fit(np.outer(t, along) + np.array([5, 0, 1]), t > 3)
    assert model.margin_ == pytest.approx(1.5 * 3 * scale, rel=1e-9)
    np.testing.assert_allclose(np.cross(model.coef_[0], along), 0, atol=1e-6)


def test_copies_of_rows_share_their_multipliers():
    X, y = cloud(30, 3)
    once, thrice = (mm.HardMarginSVC().fit(np.tile(X, (k, 1)), np.tile(y, k)) for k in (1, 3))
    assert thrice.margin_ == pytest.approx(once.margin_, rel=1e-9)
    assert_optimal(thrice, np.tile(X, (3, 1)), np.tile(y, 3))
    np.testing.assert_allclose(
        thrice.dual_.reshape(3, -1).sum(axis=0), once.dual_, atol=1e-4 * once.dual_.sum()
    )


@pytest.mark.parametrize("value", [0.0, 0.1, further(1.0), further(-7.0), further(1e3)])
def test_a_constant_feature_has_no_weight(value):
    X, y = cloud(40, 3)
    plain = mm.HardMarginSVC().fit(X, y)
    model = mm.HardMarginSVC().fit(np.insert(X, 1, value, axis=1), y)
    assert model.margin_ == pytest.approx(plain.margin_, rel=1e-9)
    assert abs(model.coef_[0, 1]) <= 1e-4 / plain.margin_
    assert_optimal(model, np.insert(X, 1, value, axis=1), y)


@pytest.mark.parametrize("value", [0.0, 0.1, further(1.0), further(-4.0), further(1e3)])
def test_a_constant_feature_does_not_hide_that_hulls_meet(value):
    rng = np.random.default_rng(8)
    for d in (1, 2, 3):
        for _ in range(25):
            X = rng.integers(-9, 10, (8, d))
            y = np.where(np.arange(8) % 2, 1, -1)
            if meeting_weights(X.tolist(), y.tolist()) is not None:
                assert_refused(np.insert(X.astype(float), 0, value, axis=1), y)


# Scales, shifts and types.


@pytest.mark.parametrize("form", ["float64", "csr int32"])
@pytest.mark.parametrize("decades", [3, 6])
@pytest.mark.parametrize("n", [30, 400, 5000])
def test_features_of_very_different_scale(n, decades, form):
    X, y = cloud(n, 5)
    X = as_form(X * np.logspace(-decades, decades, 5), form)
    if decades == 6:
        assert_nearly_optimal(mm.HardMarginSVC(), X, y)
    else:
        assert_optimal(mm.HardMarginSVC().fit(X, y), X, y)


@pytest.mark.parametrize("d", [3, 60])
@pytest.mark.parametrize("factor", [1e-100, 1e100, further(1e-30), further(1e30)])
def test_the_margin_scales_with_the_data(d, factor):
    X, y = cloud(25, d)
    model, scaled = (mm.HardMarginSVC().fit(X * f, y) for f in (1.0, factor))
    assert scaled.margin_ / factor == pytest.approx(model.margin_, rel=1e-9)
    np.testing.assert_allclose(scaled.coef_ * factor, model.coef_, atol=3e-5 / model.margin_)
    lower, upper = scaled.certificate_.margin
    assert lower <= model.margin_ * factor * (1 + 1e-9) and upper >= model.margin_ * factor * (1 - 1e-9)
    assert scaled.predict(X * factor).tolist() == y.tolist()
    mixed = y.copy()
    mixed[:10] *= -1
    if d == 3:
        with pytest.raises(mm.NotSeparableError, match="no plane separates the two classes"):
            mm.HardMarginSVC().fit(X * factor, mixed)


@pytest.mark.parametrize("factor", [1e-310, 1e-250, 1e-160, 1e160, 1e250, 1e300])
def test_numbers_near_the_limits_of_doubles_give_the_right_answer_or_a_clear_error(factor):
    X, y = cloud(25, 3)
    model = mm.HardMarginSVC()
    refused = ""
    try:
        model.fit(X * factor, y)
    except mm.InputError as error:
        refused = str(error)
    if refused:
        assert "range of doubles" in refused
        assert not hasattr(model, "classes_")
    else:
        np.testing.assert_allclose(model.coef_ * factor, mm.HardMarginSVC().fit(X, y).coef_, rtol=1e-4)


@pytest.mark.parametrize(
    ("shift", "sparse_rows"),
    [(1e2, False), (1e6, False), (1e2, True), (1e4, True), further(1e4, False), further(1e3, True)],
)
@pytest.mark.parametrize("n", [3, 40, 3000])
def test_a_shift_of_all_rows_changes_only_the_bias(n, shift, sparse_rows):
    X, y = cloud(n, 3)
    X = np.round(X * 1024) / 1024  # so that the shift is exact
    y[:2] = [-1, 1] if n == 3 else y[:2]
    form = sparse.csr_array if sparse_rows else np.asarray
    still, moved = (mm.HardMarginSVC().fit(form(X + s), y) for s in (0.0, shift))
    assert moved.margin_ == pytest.approx(still.margin_, rel=2e-9)
    np.testing.assert_allclose(moved.coef_, still.coef_, atol=5e-5 / still.margin_)
    assert_optimal(moved, X + shift, y, tol=2e-9)


@pytest.mark.parametrize("n", [30, 3000])
def test_float32_is_the_same_numbers_as_doubles(n):
    X, y = cloud(n, 4)
    X = X.astype(np.float32)
    single, double = mm.HardMarginSVC().fit(X, y), mm.HardMarginSVC().fit(X.astype(float), y)
    assert single.margin_ == pytest.approx(double.margin_, rel=1e-9)
    assert single.coef_.dtype == np.float64
    assert_optimal(single, X, y)


@EITHER
@pytest.mark.parametrize(
    ("n", "d", "share"), [(60, 4, 1.0), (40, 200, 0.2), (3000, 30, 0.3), (1500, 100, 0.05)]
)
def test_csr_equals_dense(n, d, share, intercept):
    X, y = cloud(n, d)
    X = X * (np.random.default_rng(1).random(X.shape) < share)
    w = np.random.default_rng(2).standard_normal(d)
    side = X @ w
    keep = np.abs(side) > 0.3
    X, y = X[keep], np.where(side[keep] > 0, 1, -1)
    dense = mm.HardMarginSVC(fit_intercept=intercept).fit(X, y)
    csr = mm.HardMarginSVC(fit_intercept=intercept).fit(sparse.csr_array(X), y)
    assert csr.margin_ == pytest.approx(dense.margin_, rel=1e-9)
    np.testing.assert_allclose(csr.coef_, dense.coef_, atol=5e-5 / dense.margin_)
    assert_optimal(csr, X, y)
