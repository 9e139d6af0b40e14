"""The soft margin: the optimum, as LIBSVM and as fractions have it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

import maxmargin as mm
from bank import problem
from planes import check_kkt, dual_value, exact, signs
from softmargins import PAIRS, TINY, assert_optimal, compare_exactly, value
from thorough import further

# --- against LIBSVM --------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.001, 1.0, further(0.1), further(30.0)])
@pytest.mark.parametrize("name", PAIRS)
def test_not_above_libsvm(name, C):
    X, y = PAIRS[name]
    theirs = SVC(C=C, kernel="linear", tol=1e-12).fit(X, y)
    ours = mm.SoftMarginSVC(C=C).fit(X, y)
    assert value(ours, X, y, C) <= value(theirs, X, y, C) * (1 + 1e-6)
    # and LIBSVM's feasible multipliers bound ours from below
    alpha = np.zeros(len(y))
    alpha[theirs.support_] = np.abs(theirs.dual_coef_[0])
    assert ours.certificate_.primal >= dual_value(X, y, alpha) * (1 - 1e-9)
    assert_optimal(ours, X, y, C)


@pytest.mark.parametrize("name", PAIRS)
def test_the_plane_is_libsvms_where_it_is_unique(name):
    X, y = PAIRS[name]
    theirs = SVC(C=0.1, kernel="linear", tol=1e-12).fit(X, y)
    ours = mm.SoftMarginSVC(C=0.1, tol=1e-10).fit(X, y)
    size = np.linalg.norm(theirs.coef_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-4 * size)
    alpha = np.abs(theirs.dual_coef_[0])
    if np.any((alpha > 1e-6) & (alpha < 0.1 - 1e-6)):  # a free row fixes b
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-3 * size)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("name", ["iris 1-2", "wine 0-1", "breast cancer 0-1", "digits 3-8"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_tol_1e_9_is_within_reach(name, C):
    X, y = PAIRS[name]
    assert_optimal(mm.SoftMarginSVC(C=C, tol=1e-9).fit(X, y), X, y, C)


def test_raw_features_of_very_different_scale():
    X, y = load_breast_cancer(return_X_y=True)
    y = signs(y)
    for C in (1e-3, 1.0):
        assert_optimal(mm.SoftMarginSVC(C=C).fit(X, y), X, y, C)


# --- against fractions -----------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-8, 1.0, 1e8, further(0.125), further(64.0)])
@pytest.mark.parametrize("name", TINY)
def test_tiny_problems_are_solved_exactly(name, C):
    X, y = TINY[name]
    model, reference = compare_exactly(X, y, C)
    check_kkt(model.machines_[1.0], X, y, C, gap=1e-6)
    b = float(model.intercept_[0])
    if 1e-3 < C < 1e3:
        reach = 1 + np.abs(X).max()
        room = 1e-2 * reach * (1 + np.abs(reference.w).max())
        assert reference.low - room <= b <= reference.high + room


@pytest.mark.parametrize("C", [1e-8, 64.0, further(0.125), further(1.0)])
@pytest.mark.parametrize("name", TINY)
def test_tiny_problems_through_the_origin(name, C):
    X, y = TINY[name]
    model, _ = compare_exactly(X, y, C, bias=False)
    assert model.intercept_[0] == 0.0
    check_kkt(model.machines_[1.0], X, y, C, gap=1e-6, bias=False)
    assert "through the origin" in model.certificate_.problem


@pytest.mark.parametrize("name", TINY)
def test_tiny_problems_to_1e_9(name):
    model, reference = compare_exactly(*TINY[name], 1.0, tol=1e-9)
    assert model.intercept_[0] >= reference.low - 1e-3
    assert model.intercept_[0] <= reference.high + 1e-3


@pytest.mark.parametrize("C", [1e-3, 1e3, further(1.0), further(1e8)])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize(("n", "d"), [(10, 50), (50, 200), (30, 59), (50, 50)])
def test_more_features_than_rows(n, d, form, C):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((n, d)), np.where(np.arange(n) % 3, 1.0, -1.0)
    model = mm.SoftMarginSVC(C=C).fit(sparse.csr_array(X) if form == "csr" else X, y)
    assert_optimal(model, X, y, C)


def test_a_huge_C_gives_the_hard_margin():
    for name in ("integer blobs", "gaussian", "setosa", "one feature", "wide"):
        p = problem(name)
        hard = mm.HardMarginSVC().fit(p.X, p.y)
        soft = mm.SoftMarginSVC(C=1e8).fit(p.X, p.y)
        assert soft.margin_ == pytest.approx(hard.margin_, rel=1e-5), name
        assert soft.certificate_.relative_gap <= 1e-6, name


def test_a_tiny_C_gives_the_difference_of_the_means():
    X, y = np.array([[0.0, 1], [2, 0], [1, 5], [4, 4]]), np.array([-1, -1, 1, 1])
    model = mm.SoftMarginSVC(C=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], 1e-8 * (X[2:].sum(axis=0) - X[:2].sum(axis=0)), rtol=1e-6)
    assert sorted(model.bound_support_.tolist()) == [0, 1, 2, 3]
    assert model.free_support_.size == 0


def test_free_and_bound_support_in_a_problem_worked_out_by_hand():
    # w = 1, b = -2 for x = 1 and 3; the row 2.5 of the lower class has slack 1.5, and Σ α y = 0.
    X, y = np.array([[1.0], [3.0], [2.5], [-1.0], [5.0]]), np.array([-1, 1, -1, -1, 1])
    model = mm.SoftMarginSVC(C=0.5, tol=1e-12).fit(X, y)
    reference = exact(X, y, 0.5)
    np.testing.assert_allclose(model.coef_[0], reference.w, rtol=1e-9)
    check_kkt(model.machines_[1], X, y, 0.5, gap=1e-12)
    far = model.decision_function(X) * y
    assert np.all(np.abs(far[model.free_support_] - 1) < 1e-6)
    assert np.all(far[model.bound_support_] < 1 + 1e-6)
    outside = np.setdiff1d(np.arange(5), model.support_)
    assert np.all(far[outside] > 1 - 1e-6)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.dual_ > 0))


@pytest.mark.parametrize("name", ["iris 1-2", "breast cancer 0-1", "digits 3-8"])
def test_support_is_where_the_multipliers_are_not_zero(name):
    X, y = PAIRS[name]
    for tol in (1e-3, 1e-6, 1e-9):
        model = mm.SoftMarginSVC(C=0.3, tol=tol).fit(X, y)
        np.testing.assert_array_equal(model.support_, np.flatnonzero(model.dual_ > 0))
        free = (model.dual_ > 0) & (model.dual_ < 0.3)
        np.testing.assert_array_equal(model.free_support_, np.flatnonzero(free))
        np.testing.assert_array_equal(model.bound_support_, np.flatnonzero(model.dual_ == 0.3))
    theirs = SVC(C=0.3, kernel="linear", tol=1e-12).fit(X, y)
    bound = theirs.support_[np.abs(theirs.dual_coef_[0]) > 0.3 * (1 - 1e-6)]
    np.testing.assert_array_equal(model.bound_support_, np.sort(bound))
