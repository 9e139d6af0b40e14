"""The hard margin on data of every shape and scale, judged by bounds that need no solver."""

import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris

import maxmargin as mm
from bank import FORMS, OVERLAPPING, SEPARABLE, as_form
from exact import hard_margin, meeting_weights
from thorough import further

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[IRIS_Y]
EITHER = pytest.mark.parametrize("intercept", [True, False], ids=["free bias", "origin"])


def bounds(w, b, alpha, X, y, intercept=True):
    """Two bounds on the largest margin: what a plane attains, and half the way between two hull points.

    Both hold for any plane and any multipliers that are positive in both classes.
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


def assert_nearly_optimal(model, X, y):
    """Fit data whose features differ by a factor of 1e12, for which doubles may just not do.

    The last bit of a multiplier, times a feature of 1e6, is 1e-4 of the weight of a feature of 1e-6. So
    a gap of 1e-4 is asked for, and a warning if it is not ``tol``.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X, y)
    gap = model.certificate_.relative_gap
    assert [w.category for w in said] == [mm.BudgetWarning] * (gap > model.tol)
    assert_optimal(model, X, y, tol=1e-4)


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
        with pytest.raises(mm.NotSeparableError):
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


# Weights, classes and errors.


@pytest.mark.parametrize("form", ["float64", "csr int32"])
@pytest.mark.parametrize("d", [3, 200])
def test_rows_of_weight_zero_are_left_out(d, form):
    X, y = cloud(60, d)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 3.0], 60)
    y = np.where(weight == 0, -y, y)  # with these rows no plane separates in three dimensions
    kept = np.flatnonzero(weight)
    given = as_form(X, form)
    model = mm.HardMarginSVC().fit(given, y, sample_weight=weight)
    part = mm.HardMarginSVC().fit(given[kept], y[kept])
    assert model.coef_.tolist() == part.coef_.tolist()
    assert model.intercept_.tolist() == part.intercept_.tolist()
    assert model.dual_[kept].tolist() == part.dual_.tolist()
    assert model.support_.tolist() == kept[part.support_].tolist()
    assert model.dual_.shape == (60,) and not np.any(model.dual_[weight == 0])


def test_a_class_of_weight_zero_is_no_class():
    weight = (IRIS_Y != 1).astype(float)
    model = mm.HardMarginSVC().fit(IRIS_X, NAMES, sample_weight=weight)
    assert model.classes_.tolist() == ["setosa", "virginica"]
    part = mm.HardMarginSVC().fit(IRIS_X[IRIS_Y != 1], NAMES[IRIS_Y != 1])
    assert model.coef_.tolist() == part.coef_.tolist()


def test_a_witness_names_rows_of_the_training_set_when_some_are_left_out():
    X, y = np.array([[9.0], [0.0], [-9.0], [1.0], [2.0]]), np.array([0, 0, 1, 1, 0])
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC().fit(X, y, sample_weight=[0, 1, 0, 1, 1])
    witness = caught.value.witness
    assert witness.positive.tolist() == [3]
    assert witness.negative.tolist() == [1, 4]
    assert witness.negative_weights.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(witness.point, [1.0])


@pytest.mark.parametrize("weight", [[1, 1, -1, 1, 1], [0, 0, 0, 0, 0]], ids=["negative", "zeros"])
def test_bad_weights_are_refused(weight):
    with pytest.raises(mm.InputError, match=r"^sample_weight must hold"):
        mm.HardMarginSVC().fit(np.arange(5.0)[:, None], [0, 0, 0, 1, 1], sample_weight=weight)


def clusters(k, d, n=12):
    """Corners of a simplex with rows around: each class is separable from the rest."""
    rng = np.random.default_rng([k, d])
    X = 0.3 * rng.standard_normal((k * n, d))
    y = np.arange(k * n) % k
    X[np.arange(k * n), y] += 5.0
    return X, y


@EITHER
@pytest.mark.parametrize("form", ["float64", "csr int32"])
@pytest.mark.parametrize(("k", "d"), [(3, 3), (4, 6), (4, 200)])
def test_machines_of_several_classes_are_binary_fits(k, d, form, intercept):
    X, y = clusters(k, d)
    given, names = as_form(X, form), np.array(list("abcd"))[y]
    new = {"fit_intercept": intercept}
    ovr = mm.HardMarginSVC(**new).fit(given, names)
    assert list(ovr.machines_) == list("abcd"[:k])
    for label, machine in ovr.machines_.items():
        binary = mm.HardMarginSVC(**new).fit(given, names == label)
        assert machine.margin_ == pytest.approx(binary.margin_, rel=1e-9)
        np.testing.assert_allclose(machine.coef_, binary.coef_[0], atol=5e-5 / binary.margin_)
    ovo = mm.HardMarginSVC(multi_class="ovo", **new).fit(given, names)
    assert len(ovo.machines_) == k * (k - 1) // 2 == len(ovo.margin_)
    for pair, machine in ovo.machines_.items():
        mine = np.flatnonzero(np.isin(names, pair))
        binary = mm.HardMarginSVC(**new).fit(given[mine], names[mine])
        assert machine.margin_ == pytest.approx(binary.margin_, rel=1e-9)
        assert machine.support_.tolist() == mine[binary.support_].tolist()
    for model in (ovr, ovo):
        assert model.predict(given).tolist() == names.tolist()
        assert model.dual_.shape == (len(model.machines_), len(y))


def test_the_error_names_the_classes_that_cannot_be_told_from_the_rest():
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC().fit(IRIS_X, NAMES)
    error = caught.value
    assert list(error.witnesses) == ["versicolor", "virginica"]
    assert "2 of 3 classes" in str(error) and "'versicolor', 'virginica'" in str(error)
    assert "setosa" not in str(error)
    for label, witness in error.witnesses.items():
        assert set(NAMES[witness.positive]) == {label}
        assert label not in NAMES[witness.negative]
        means = (
            witness.positive_weights @ IRIS_X[witness.positive],
            witness.negative_weights @ IRIS_X[witness.negative],
        )
        np.testing.assert_allclose(*(mean.astype(float) for mean in means), atol=1e-12)
        assert len(witness.positive) + len(witness.negative) <= 6
    assert error.witness is error.witnesses["versicolor"]


def test_the_error_names_the_pairs_that_cannot_be_told_apart():
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC(multi_class="ovo").fit(IRIS_X, NAMES)
    error = caught.value
    assert list(error.witnesses) == [("versicolor", "virginica")]
    assert "1 of 3 pairs" in str(error) and "('versicolor', 'virginica')" in str(error)
    assert set(NAMES[error.witness.positive]) == {"virginica"}
    assert set(NAMES[error.witness.negative]) == {"versicolor"}


def test_the_error_survives_pickling():
    with pytest.raises(mm.NotSeparableError) as caught:
        mm.HardMarginSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.witness.positive.tolist() == [1]


def snapshot(model):
    return {name: (id(value), pickle.dumps(value)) for name, value in vars(model).items()}


BAD = {
    "nan": (np.nan, r"finite.*NaN in row 7, column 2"),
    "infinity": (np.inf, r"finite.*infinity in row 7, column 2"),
    "minus infinity": (-np.inf, r"finite.*infinity in row 7, column 2"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("n", "d"), [(10, 3), (10, 50), (9000, 4)])
@pytest.mark.parametrize(("value", "match"), BAD.values(), ids=BAD)
def test_values_that_are_not_finite_are_refused_and_change_nothing(value, match, n, d, form):
    X, y = cloud(n, d)
    model = mm.HardMarginSVC().fit(as_form(X, form), y)
    before = snapshot(model)
    X[7, 2] = value
    with pytest.raises(mm.InputError, match=match):
        model.fit(as_form(X, form), y)
    assert snapshot(model) == before


def test_an_error_changes_nothing():
    model = mm.HardMarginSVC().fit(IRIS_X, NAMES == "setosa")
    before = snapshot(model)
    with pytest.raises(mm.NotSeparableError):
        model.fit(IRIS_X[:, :2], NAMES)
    with pytest.raises(mm.InputError):
        model.fit(IRIS_X, np.zeros(150))
    assert snapshot(model) == before
    fresh = mm.HardMarginSVC()
    with pytest.raises(mm.NotSeparableError):
        fresh.fit(IRIS_X, NAMES)
    assert vars(fresh) == vars(mm.HardMarginSVC())


# Budgets, and larger data.


@pytest.fixture(scope="module")
def large():
    return cloud(50_000, 20, gap=0.1)


@pytest.fixture(scope="module")
def middling():
    return cloud(20_000, 20, gap=0.1)


def test_a_larger_problem_is_optimal(large):
    X, y = large
    model = mm.HardMarginSVC().fit(X, y)
    assert assert_optimal(model, X, y) >= 0.1
    assert len(model.support_) <= 200


def test_a_larger_problem_with_one_row_astray_is_refused(large):
    X, y = large
    y = y.copy()
    y[np.argmax(np.abs(X @ np.linalg.lstsq(X, y, rcond=None)[0]))] *= -1
    assert_refused(X, y)


def test_budgets_of_passes_give_honest_bounds_and_a_percentage(middling):
    X, y = middling
    best = mm.HardMarginSVC().fit(X, y).margin_
    seen = []
    for passes in range(1, 12):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = mm.HardMarginSVC(max_passes=passes).fit(X, y)
        proof = model.certificate_
        lower, upper = proof.margin
        assert lower <= best * (1 + 1e-9) and best <= upper * (1 + 1e-9)
        mine = bounds(model.coef_[0], model.intercept_[0], model.dual_, X, y)
        np.testing.assert_allclose([lower, upper], np.array(mine, dtype=float), rtol=1e-6)
        assert [w.category for w in said] == [mm.BudgetWarning] * (proof.relative_gap > 1e-9)
        if not said:
            break
        text = str(said[0].message)
        assert "max_passes" in text
        if math.isfinite(proof.relative_gap):
            assert f"at most {100 * proof.gap / proof.dual:.3g} %" in text
            seen.append(proof.relative_gap)
        else:
            assert "no bound" in text
    assert seen and sorted(seen, reverse=True) == seen
    assert not said


def test_a_loose_tolerance_is_kept(middling):
    X, y = middling
    best = mm.HardMarginSVC().fit(X, y)
    for tol in (1e-1, 1e-3, 1e-6):
        model = mm.HardMarginSVC(tol=tol).fit(X, y)
        assert model.certificate_.relative_gap <= tol
        assert best.margin_ * (1 - tol) <= model.margin_ <= best.margin_ * (1 + 1e-9)
        assert model.n_passes_ <= best.n_passes_


@pytest.mark.parametrize("width", [3, 5, 8, further(4), further(6), further(7)])
def test_thin_gaps_between_wide_classes(width):
    """A row beside the middle of a long segment: by one unit it is separable, on it not."""
    K = 10**width
    for along, across in [((1, 0), (0, 1)), ((3, 1), (1, 2)), ((-5, 7), (2, 3))]:
        along, across = np.array(along), np.array(across)
        ends = [-K * along, K * along]
        y = [-1, -1, 1]
        best = hard_margin([*map(np.ndarray.tolist, [*ends, across])], y)
        with warnings.catch_warnings():
            if width > 4:
                warnings.simplefilter("ignore", mm.BudgetWarning)
            model = mm.HardMarginSVC().fit(np.array([*ends, across], dtype=float), y)
        assert model.margin_ == pytest.approx(best.margin, rel=max(1e-9, 1e-13 * K))
        assert_refused(np.array([*ends, 0 * across], dtype=float), y)


# What may be done to the data without changing the answer.


@st.composite
def problems(draw):
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    few = st.integers(-5, 5)
    X = np.array(draw(st.lists(few, min_size=n * d, max_size=n * d)), dtype=float).reshape(n, d)
    if draw(st.booleans()):
        w = np.array(draw(st.lists(few, min_size=d, max_size=d)))
        y = np.where(X @ w > draw(st.integers(-9, 9)), 1, -1)
    else:
        y = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    if abs(y.sum()) == n:
        y[0] = -y[0]
    return X, y, draw(st.booleans())


# The problems are small as they are, and shrinking them would take minutes.
as_drawn = settings(phases=[Phase.explicit, Phase.generate])


def answer(X, y, intercept):
    """(w, b) of the optimum, or None if the classes are not separable."""
    try:
        model = mm.HardMarginSVC(fit_intercept=intercept).fit(X, y)
    except mm.NotSeparableError:
        return None
    return np.append(model.coef_[0], model.intercept_[0])


def assert_same(found, expected, scale=1.0):
    """Both say that no plane separates, or margins agree to 1e-9 and planes as far as that tells."""
    assert (found is None) == (expected is None)
    if found is None:
        return
    one, two = (float(np.linalg.norm(z[:-1])) for z in (found, expected))
    assert one == pytest.approx(two, rel=1e-9)
    np.testing.assert_allclose(found[:-1], expected[:-1], atol=7e-5 * two)
    assert found[-1] == pytest.approx(expected[-1], abs=7e-5 * (1 + two * scale))


@as_drawn
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(problem, random):
    X, y, intercept = problem
    order = list(range(len(y)))
    random.shuffle(order)
    assert_same(answer(X[order], y[order], intercept), answer(X, y, intercept), 15)


@as_drawn
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_features_does_not_matter(problem, random):
    X, y, intercept = problem
    order = list(range(X.shape[1]))
    random.shuffle(order)
    expected = answer(X, y, intercept)
    if expected is not None:
        expected = expected[[*order, -1]]
    assert_same(answer(X[:, order], y, intercept), expected, 15)


@as_drawn
@given(problems())
def test_other_labels_turn_the_plane_round(problem):
    X, y, intercept = problem
    expected = answer(X, y, intercept)
    assert_same(answer(X, -y, intercept), None if expected is None else -expected, 15)


@as_drawn
@given(problems())
def test_a_mirrored_feature_mirrors_its_weight(problem):
    X, y, intercept = problem
    mirror = np.ones(X.shape[1] + 1)
    mirror[0] = -1
    expected = answer(X, y, intercept)
    expected = None if expected is None else expected * mirror
    assert_same(answer(X * mirror[:-1], y, intercept), expected, 15)


@as_drawn
@given(problems(), st.integers(-300, 300))
def test_a_power_of_two_scales_the_plane(problem, power):
    X, y, intercept = problem
    found = answer(X * 2.0**power, y, intercept)
    if found is not None:
        found[:-1] *= 2.0**power
    assert_same(found, answer(X, y, intercept), 15)


@as_drawn
@given(problems(), st.lists(st.integers(-1000, 1000), min_size=4, max_size=4))
def test_a_translation_changes_the_bias_only(problem, shift):
    X, y, _ = problem
    by = np.array(shift[: X.shape[1]], dtype=float)
    expected = answer(X, y, True)
    if expected is not None:
        expected[-1] -= expected[:-1] @ by
    assert_same(answer(X + by, y, True), expected, 4000)


@as_drawn
@given(problems(), st.lists(st.integers(0, 100), min_size=1, max_size=20))
def test_repeated_rows_change_nothing(problem, again):
    X, y, intercept = problem
    which = [*range(len(y)), *(k % len(y) for k in again)]
    assert_same(answer(X[which], y[which], intercept), answer(X, y, intercept), 15)


@as_drawn
@given(problems(), st.integers(0, 11))
def test_rows_beyond_the_edge_change_nothing(problem, which):
    X, y, intercept = problem
    z = answer(X, y, intercept)
    if z is None:
        return
    i = which % len(y)
    further = X[i] + y[i] * np.round(8 * z[:-1] / np.linalg.norm(z[:-1]))
    if y[i] * (further @ z[:-1] + z[-1]) >= 1:
        assert_same(answer(np.vstack([X, further]), np.append(y, y[i]), intercept), z, 25)


@as_drawn
@given(problems())
def test_csr_and_float32_say_the_same(problem):
    X, y, intercept = problem
    expected = answer(X, y, intercept)
    assert_same(answer(sparse.csr_array(X), y, intercept), expected, 15)
    assert_same(answer(X.astype(np.float32), y, intercept), expected, 15)


@as_drawn
@given(problems(), st.integers(20, 60))
def test_features_of_zeros_change_nothing(problem, more):
    """With so many features the Gram matrix takes the place of the rows."""
    X, y, intercept = problem
    wide = np.hstack([X, np.zeros((len(y), more))])
    found = answer(wide, y, intercept)
    if found is not None:
        found = np.delete(found, np.s_[X.shape[1] : -1])
    assert_same(found, answer(X, y, intercept), 15)
