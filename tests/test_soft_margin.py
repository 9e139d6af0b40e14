"""The soft margin: the optimum, the KKT conditions, and every way to ask for it."""

import re
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import maxmargin as mm
from bank import BANK, FORMS, as_form, problem
from planes import check_kkt, dual_value, exact, primal_value, signs
from thorough import further


@pytest.fixture(autouse=True)
def one_thread():
    """Workers that run side by side must not fight for cores."""
    with threadpool_limits(1):
        yield


def _pairs():
    found = {}
    sets = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
    for name, load in sets.items():
        X, y = load(return_X_y=True)
        for a, b in combinations(sorted(set(y.tolist())), 2):
            mine = (y == a) | (y == b)
            found[f"{name} {a}-{b}"] = StandardScaler().fit_transform(X[mine]), signs(y[mine])
    X, y = load_digits(return_X_y=True)
    for a, b in [(0, 1), (1, 8), (3, 5), (3, 8), (4, 7), (8, 9)]:
        mine = (y == a) | (y == b)
        found[f"digits {a}-{b}"] = StandardScaler().fit_transform(X[mine]), signs(y[mine])
    return found


PAIRS = _pairs()
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
CANCER_X, CANCER_Y = PAIRS["breast cancer 0-1"]


def plane(model):
    return model.coef_[0], float(model.intercept_[0])


def value(model, X, y, C):
    return primal_value(X, y, C, *plane(model))


def noisy(n, d, seed=0, noise=1.0, flips=0.1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + noise * rng.standard_normal(n) > 0.2, 1.0, -1.0)
    y[rng.random(n) < flips] *= -1.0
    return X, y


def assert_optimal(model, X, y, C=1.0, gap=None, bias=True):
    (machine,) = model.machines_.values()
    gap = model.tol if gap is None else gap
    assert model.certificate_.relative_gap <= gap
    check_kkt(machine, X, y, C, gap=gap, bias=bias)


def assert_same_plane(one, two, X, y, C, rtol=1e-4):
    """The same value to 2e-9, and the same w: it is unique."""
    a, b = value(one, X, y, C), value(two, X, y, C)
    assert a == pytest.approx(b, rel=2e-9)
    size = float(np.linalg.norm(two.coef_)) + 1e-12
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=0, atol=rtol * size)


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


def _tiny():
    rng = np.random.default_rng(5)
    for n, d in [(2, 1), (3, 2), (5, 1), (6, 2), (6, 3), (7, 2), (8, 2)]:
        X = rng.integers(-4, 5, (n, d)) / 2
        y = rng.choice([-1, 1], n)
        y[:2] = -1, 1
        yield f"random {n} x {d}", X, y
    yield "n = 2", [[0, 0], [3, 4]], [-1, 1]
    yield "n = 2, one point", [[1, 2], [1, 2]], [-1, 1]
    yield "contradiction", [[0], [1], [1], [1], [2]], [-1, -1, 1, 1, 1]
    yield "only contradictions", [[0, 1], [0, 1], [2, 0], [2, 0]], [-1, 1, -1, 1]
    yield "all rows equal", [[3, 1]] * 5, [1, -1, -1, 1, -1]
    yield "all rows equal, a tie", [[3, 1]] * 4, [1, -1, -1, 1]
    yield "all rows zero", [[0, 0]] * 3, [1, -1, -1]
    yield "one against many", [[0], [1], [2], [3], [4], [5], [6]], [-1, -1, -1, 1, -1, -1, -1]
    yield "one apart from many", [[0], [1], [2], [3], [4], [9]], [-1, -1, -1, -1, -1, 1]
    yield "constant features", [[7, 0, -2], [7, 1, -2], [7, 3, -2], [7, 2, -2]], [-1, -1, 1, 1]
    yield "wide", np.rint(3 * rng.standard_normal((4, 30))), [1, -1, -1, 1]
    yield "wide, a row twice", np.rint(3 * rng.standard_normal((3, 30)))[[0, 1, 2, 0]], [1, -1, 1, -1]
    yield "far from the origin", [[1001, 5], [1002, 3], [1004, 4], [1003, 9]], [-1, -1, 1, 1]
    yield "collinear", [[k, 2 * k] for k in range(6)], [-1, -1, 1, -1, 1, 1]


TINY = {name: (np.array(X, dtype=float), np.array(y, dtype=float)) for name, X, y in _tiny()}


def compare_exactly(X, y, C, bias=True, **options):
    reference = exact(X, y, C, bias)
    unit = float(np.max(C))
    weight = None if np.ndim(C) == 0 else np.asarray(C) / unit
    model = mm.SoftMarginSVC(C=unit, fit_intercept=bias, **options).fit(X, y, weight)
    w, b = plane(model)
    proof = model.certificate_
    assert proof.relative_gap <= model.tol
    assert proof.primal == pytest.approx(reference.value, rel=2 * model.tol, abs=0)
    assert proof.dual <= reference.value * (1 + 1e-12) <= proof.primal * (1 + 2e-12)
    assert primal_value(X, y, C, w, b) == pytest.approx(reference.value, rel=2 * model.tol, abs=0)
    apart = np.sqrt(2 * model.tol * reference.value)  # ½‖w − w*‖² ≤ primal − optimum
    assert np.linalg.norm(w - reference.w) <= apart + 1e-12
    return model, reference


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


# --- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["overlap", "virginica", "integer blobs", "touching"])
def test_a_sample_weight_is_a_repetition(name):
    p = problem(name)
    times = np.random.default_rng(1).integers(0, 4, len(p.y))
    times[[0, -1]] = 1, 2
    again = np.repeat(np.arange(len(p.y)), times)
    weighted = mm.SoftMarginSVC(C=0.5, tol=1e-9).fit(p.X, p.y, times)
    repeated = mm.SoftMarginSVC(C=0.5, tol=1e-9).fit(p.X[again], p.y[again])
    assert_same_plane(weighted, repeated, p.X, p.y, 0.5 * times)
    assert_optimal(repeated, p.X[again], p.y[again], 0.5)
    kept = np.flatnonzero(times)
    machine = weighted.machines_[1]
    alpha = machine.dual_
    assert np.all(alpha[times == 0] == 0.0) and not np.any(
        np.isin(machine.support_, np.flatnonzero(times == 0))
    )
    assert np.all(alpha <= 0.5 * times)
    dropped = mm.SoftMarginSVC(C=0.5, tol=1e-9).fit(p.X[kept], p.y[kept], times[kept])
    np.testing.assert_allclose(weighted.coef_, dropped.coef_, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(machine.support_, kept[dropped.support_])


def test_rows_of_weight_zero_may_hold_a_class_of_their_own():
    X, y = [[0.0], [1.0], [2.0], [3.0], [9.0]], ["a", "a", "b", "b", "c"]
    model = mm.SoftMarginSVC().fit(X, y, [1, 1, 1, 1, 0])
    plain = mm.SoftMarginSVC().fit(X[:4], y[:4])
    assert model.classes_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.dual_.shape == (5,) and model.dual_[4] == 0.0


def test_exact_with_weights():
    X, y = TINY["random 6 x 2"]
    compare_exactly(X, y, np.array([1.0, 0.25, 2.0, 0.5, 8.0, 1.0]))
    compare_exactly(X, y, np.array([1.0, 1e-6, 2.0, 1e4, 8.0, 1.0]))


def test_class_weights_multiply_C():
    X, y = CANCER_X, CANCER_Y
    factor = {1.0: 0.2, -1.0: 3.0}
    by_class = mm.SoftMarginSVC(C=0.1, class_weight=factor, tol=1e-9).fit(X, y)
    C = np.where(y > 0, 0.2, 3.0) * 0.1
    by_row = mm.SoftMarginSVC(C=0.1, tol=1e-9).fit(X, y, C / 0.1)
    assert_optimal(by_class, X, y, C)
    assert_same_plane(by_class, by_row, X, y, C)
    theirs = SVC(C=0.1, kernel="linear", tol=1e-12, class_weight=factor).fit(X, y)
    assert value(by_class, X, y, C) <= value(theirs, X, y, C) * (1 + 1e-6)


def test_balanced_class_weights_are_scikit_learns():
    X, y = CANCER_X, CANCER_Y
    model = mm.SoftMarginSVC(C=0.1, class_weight="balanced", tol=1e-9).fit(X, y)
    counts = {v: np.sum(y == v) for v in (-1.0, 1.0)}
    C = 0.1 * np.array([len(y) / (2 * counts[v]) for v in y])
    assert_optimal(model, X, y, C)
    theirs = SVC(C=0.1, kernel="linear", tol=1e-12, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-4 * np.linalg.norm(theirs.coef_))


def test_balanced_counts_a_repeated_row_as_often_as_its_weight():
    p = problem("virginica")
    times = np.random.default_rng(2).integers(0, 3, len(p.y))
    again = np.repeat(np.arange(len(p.y)), times)
    options = {"class_weight": "balanced", "tol": 1e-9}
    weighted = mm.SoftMarginSVC(**options).fit(p.X, p.y, times)
    repeated = mm.SoftMarginSVC(**options).fit(p.X[again], p.y[again])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-6)


# --- forms of data ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
def test_every_form_gives_the_optimum(p, form):
    X = as_form(p.X, form)
    same = np.asarray(X, dtype=np.float64) if form == "float32" else p.X
    for C in (0.01, 1.0):
        model = mm.SoftMarginSVC(C=C).fit(X, p.y)
        assert model.coef_.dtype == np.float64
        assert_optimal(model, same, p.y.astype(float), C)


def test_float32_is_the_same_problem_in_doubles():
    X = CANCER_X.astype(np.float32)
    single = mm.SoftMarginSVC(tol=1e-9).fit(X, CANCER_Y)
    double = mm.SoftMarginSVC(tol=1e-9).fit(X.astype(np.float64), CANCER_Y)
    assert single.certificate_.relative_gap <= 1e-9
    assert_same_plane(single, double, X.astype(np.float64), CANCER_Y, 1.0)


def test_sparse_equals_dense():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((400, 60)) * (rng.random((400, 60)) < 0.1)
    y = np.where(X @ rng.standard_normal(60) + 0.5 * rng.standard_normal(400) > 0, 1.0, -1.0)
    for C in (0.1, 10.0):
        dense = mm.SoftMarginSVC(C=C, tol=1e-9).fit(X, y)
        thin = mm.SoftMarginSVC(C=C, tol=1e-9).fit(sparse.csr_array(X), y)
        assert_same_plane(thin, dense, X, y, C)
        assert_optimal(thin, X, y, C)


def test_a_sparse_matrix_far_from_the_origin():
    X, y = CANCER_X + 30.0, CANCER_Y
    model = mm.SoftMarginSVC(C=0.1).fit(sparse.csr_array(X), y)
    assert_optimal(model, X, y, 0.1)


# --- several classes -------------------------------------------------------------------------------


def test_one_vs_rest_machines_are_binary_fits():
    X, y = IRIS_X, IRIS_Y
    model = mm.SoftMarginSVC(tol=1e-9).fit(X, y)
    assert list(model.machines_) == [0, 1, 2] and model.coef_.shape == (3, 4)
    assert model.dual_.shape == model.slack_.shape == (3, 150)
    for k, (label, machine) in enumerate(model.machines_.items()):
        side = np.where(y == label, 1.0, -1.0)
        check_kkt(machine, X, side, 1.0, gap=1e-9)
        alone = mm.SoftMarginSVC(tol=1e-9).fit(X, side)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-3, atol=1e-6)
        np.testing.assert_array_equal(model.coef_[k], machine.coef_)
        np.testing.assert_array_equal(model.dual_[k], machine.dual_)
    scores = X @ model.coef_.T + model.intercept_
    np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))
    worst = max(m.certificate_.relative_gap for m in model.machines_.values())
    assert model.certificate_.relative_gap == worst


def test_one_vs_one_machines_are_binary_fits_of_their_pairs():
    names = np.array(["setosa", "versicolor", "virginica"])[IRIS_Y]
    model = mm.SoftMarginSVC(multi_class="ovo", tol=1e-9).fit(IRIS_X, names)
    assert list(model.machines_) == list(combinations(sorted(set(names)), 2))
    theirs = SVC(kernel="linear", tol=1e-12).fit(IRIS_X, names)
    for pair, machine in model.machines_.items():
        rows = np.flatnonzero(np.isin(names, pair))
        side = np.where(names[rows] == pair[1], 1.0, -1.0)
        alone = mm.SoftMarginSVC(tol=1e-9).fit(IRIS_X[rows], side)
        np.testing.assert_allclose(machine.coef_, alone.coef_[0], rtol=1e-3, atol=1e-6)
        assert set(machine.support_) <= set(rows)
        assert machine.dual_.shape == (150,) and machine.certificate_.relative_gap <= 1e-9
    np.testing.assert_array_equal(model.predict(IRIS_X), theirs.predict(IRIS_X))


def test_class_weights_of_one_vs_rest_are_those_of_the_class():
    model = mm.SoftMarginSVC(class_weight={1: 5.0}, tol=1e-9).fit(IRIS_X, IRIS_Y)
    for label, machine in model.machines_.items():
        side = np.where(label == IRIS_Y, 1.0, -1.0)
        C = np.where(side > 0, 5.0 if label == 1 else 1.0, 1.0)
        check_kkt(machine, IRIS_X, side, C, gap=1e-9)


def test_ten_digits():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    model = mm.SoftMarginSVC(C=0.1).fit(X, y)
    for label, machine in model.machines_.items():
        check_kkt(machine, X, np.where(y == label, 1.0, -1.0), 0.1, gap=1e-6)
    assert model.score(X, y) > 0.95


# --- warm starts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_warm_start_changes_nothing_but_the_way(form):
    X, y = CANCER_X, CANCER_Y
    given = sparse.csr_array(X) if form == "csr" else X
    warm = mm.SoftMarginSVC(warm_start=True, tol=1e-9)
    for C in (0.01, 10.0, 0.3, 0.3, 1e-4):
        warm.set_params(C=C).fit(given, y)
        cold = mm.SoftMarginSVC(C=C, tol=1e-9).fit(given, y)
        assert_same_plane(warm, cold, X, y, C)
        assert_optimal(warm, X, y, C)


def test_a_warm_start_on_other_data_is_harmless():
    warm = mm.SoftMarginSVC(warm_start=True, tol=1e-9)
    X, y = noisy(300, 4, seed=1)
    warm.fit(X, y)
    for seed in (2, 3):
        Z, t = noisy(300, 4, seed=seed)
        assert_optimal(warm.fit(Z * 10.0**seed, -t), Z * 10.0**seed, -t)
    assert_optimal(warm.fit(X, y, np.arange(300) % 3), X, y, np.arange(300.0) % 3 + 0.0, gap=1e-9)
    warm.set_params(fit_intercept=False).fit(X, y)
    assert_optimal(warm, X, y, bias=False)
    Z, t = noisy(90, 6, seed=4)
    assert_optimal(warm.set_params(fit_intercept=True).fit(Z, t), Z, t)


def test_a_warm_start_with_several_classes():
    for scheme in ("ovr", "ovo"):
        warm = mm.SoftMarginSVC(C=0.1, multi_class=scheme, warm_start=True, tol=1e-9).fit(IRIS_X, IRIS_Y)
        warm.set_params(C=2.0).fit(IRIS_X, IRIS_Y)
        cold = mm.SoftMarginSVC(C=2.0, multi_class=scheme, tol=1e-9).fit(IRIS_X, IRIS_Y)
        np.testing.assert_allclose(warm.coef_, cold.coef_, rtol=1e-3, atol=1e-5)


# --- larger problems -------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-4, 1.0, 100.0])
@pytest.mark.parametrize("tol", [1e-6, 1e-9])
def test_many_noisy_rows(C, tol):
    X, y = noisy(30_000, 20)
    assert_optimal(mm.SoftMarginSVC(C=C, tol=tol).fit(X, y), X, y, C)


def test_many_rows_sparse_and_without_bias():
    X, y = noisy(20_000, 12, seed=4)
    X[np.abs(X) < 1.0] = 0.0
    assert_optimal(mm.SoftMarginSVC(C=0.1).fit(sparse.csr_array(X), y), X, y, 0.1)
    model = mm.SoftMarginSVC(C=0.1, fit_intercept=False).fit(X, y)
    assert_optimal(model, X, y, 0.1, bias=False)


@pytest.mark.parametrize("C", [1e-3, 1.0])
def test_many_features(C):
    X, y = noisy(3_000, 200)
    assert_optimal(mm.SoftMarginSVC(C=C).fit(X, y), X, y, C)


@pytest.mark.parametrize("few", [1, 3, 40])
def test_a_rare_class_among_many_rows(few):
    X, y = noisy(20_000, 8, seed=2)
    y[:] = -1.0
    y[:few] = 1.0
    X[:few] += 1.5
    for C in (1e-2, 1.0):
        assert_optimal(mm.SoftMarginSVC(C=C).fit(X, y), X, y, C)
    balanced = mm.SoftMarginSVC(class_weight="balanced").fit(X, y)
    assert_optimal(balanced, X, y, np.where(y > 0, 10_000 / few, 10_000 / (20_000 - few)))


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("C", [1e-2, 1.0])
def test_rare_one_hot_columns_and_many_duplicates(form, C):
    rng = np.random.default_rng(6)
    kinds = rng.geometric(0.2, 1_200) % 30
    distinct = np.column_stack([np.rint(4 * rng.standard_normal((1_200, 4))) / 4, np.eye(30)[kinds]])
    rows = rng.integers(1_200, size=15_000)
    X = distinct[rows]
    lean = rng.standard_normal(34)
    y = np.where(X @ lean + 1.5 * rng.standard_normal(15_000) > 0.5, 1.0, -1.0)
    model = mm.SoftMarginSVC(C=C).fit(sparse.csr_array(X) if form == "csr" else X, y)
    assert_optimal(model, X, y, C)


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "origin"])
@pytest.mark.parametrize("C", [1e-8, 1e-6, 1e-5])
@pytest.mark.parametrize("n", [1_000, 9_000])
def test_a_tiny_C_among_many_rows(n, C, bias):
    X, y = noisy(n, 20, seed=3)
    assert_optimal(mm.SoftMarginSVC(C=C, fit_intercept=bias).fit(X, y), X, y, C, bias=bias)


@pytest.mark.parametrize("C", [1e-8, 1e-6, 1e-5])
@pytest.mark.parametrize("few", [2, 10])
def test_a_rare_class_and_a_tiny_C_to_1e_9(few, C):
    X, y = noisy(1_000, 10, seed=2)
    y[:] = -1.0
    y[:few] = 1.0
    assert_optimal(mm.SoftMarginSVC(C=C, tol=1e-9).fit(X, y), X, y, C)


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("heavy", [1e2, 1e6, further(1e3), further(1e4)])
@pytest.mark.parametrize("n", [200, 1_000])
def test_one_heavy_row(n, heavy, C):
    for seed in (1, 2, 4):
        X, y = noisy(n, 20, seed=seed)
        weight = np.ones(n)
        weight[0] = heavy
        assert_optimal(mm.SoftMarginSVC(C=C).fit(X, y, weight), X, y, C * weight)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_weights_with_a_heavy_tail(C):
    for seed in (0, 3):
        rng = np.random.default_rng(seed)
        X = np.column_stack(
            [rng.standard_normal((2_000, 2)), np.eye(40)[rng.geometric(0.15, 2_000) % 40]]
        )
        lean = X[:, 0] + X[:, 2:] @ rng.standard_normal(40)
        y = np.where(lean + 0.3 * rng.standard_normal(2_000) > 0, 1.0, -1.0)
        weight = rng.pareto(1.0, 2_000) + 0.01
        assert_optimal(mm.SoftMarginSVC(C=C).fit(X, y, weight), X, y, C * weight)


@pytest.mark.parametrize("C", [1.0, 1e2, 1e4])
@pytest.mark.parametrize(("n", "d"), [(30, 13), (40, 200)])
def test_separable_rows_to_1e_9(n, d, C):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    assert_optimal(mm.SoftMarginSVC(C=C, tol=1e-9).fit(X, y), X, y, C)


def test_large_weights_of_few_rows_among_many():
    X, y = noisy(12_000, 5, seed=9)
    weight = np.random.default_rng(0).pareto(1.0, len(y)) + 1e-3
    assert_optimal(mm.SoftMarginSVC(C=0.1).fit(X, y, weight), X, y, 0.1 * weight)


# --- budgets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"max_passes": 1}, {"max_passes": 2}, {"max_seconds": 1e-9}])
@pytest.mark.parametrize("size", [(30_000, 20), (1_000, 5), (40, 200)])
@pytest.mark.parametrize("C", [1e-3, 1e3, further(1.0)])
def test_a_budget_leaves_an_honest_certificate(options, size, C):
    X, y = noisy(*size, seed=1)
    best = mm.SoftMarginSVC(C=C).fit(X, y).certificate_
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = mm.SoftMarginSVC(C=C, tol=1e-13, **options).fit(X, y)
    proof = model.certificate_
    rounding = 1e-12 * proof.primal
    assert proof.primal == pytest.approx(value(model, X, y, C), rel=1e-12)
    assert proof.dual == pytest.approx(dual_value(X, y, model.dual_), rel=1e-9, abs=1e-9 * C * len(y))
    assert np.all(model.dual_ >= 0) and np.all(model.dual_ <= C)
    assert abs(model.dual_ @ y) <= 1e-9 * model.dual_.sum() + 1e-300
    assert proof.dual <= best.primal + rounding and best.dual <= proof.primal + rounding
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.dual_ > 0))
    if proof.relative_gap <= 1e-13:
        assert not caught
        return
    (warning,) = caught
    assert issubclass(warning.category, mm.BudgetWarning)
    assert warning.filename == __file__
    text = str(warning.message)
    assert text.startswith("SoftMarginSVC stopped before the relative gap was 1e-13")
    assert "max_passes" in text and "max_seconds" in text
    if proof.dual <= 0.0:
        assert "no bound on its distance from the optimum is known yet" in text
        return
    percent = float(re.search(r"at most ([\d.e+-]+) %", text)[1])
    assert proof.primal / best.primal - 1.0 <= percent / 100 * 1.01 + 1e-6  # what the sentence says


def test_enough_passes_need_no_warning():
    X, y = PAIRS["iris 1-2"]
    assert mm.SoftMarginSVC(max_passes=100, max_seconds=600).fit(X, y).n_passes_ <= 100


# --- bad input -------------------------------------------------------------------------------------

BAD = {
    "C": [0, -1.0, float("nan"), float("inf"), "1", None, True],
    "tol": [0, 1, -1e-3, float("nan"), "small", None],
    "fit_intercept": ["yes", 1, None],
    "multi_class": ["crammer_singer", None, 2],
    "max_passes": [0, -1, 1.5, "many", True],
    "max_seconds": [0, -1, float("nan"), float("inf"), "long"],
    "warm_start": ["no", 1, None],
    "verbose": [-1, "loud", None],
    "class_weight": ["heavy", 3, {1: -1}, {1: 0}, {1: "much"}, {1: float("nan")}, {7: 1.0}],
}
CASES = [pytest.param(k, v, id=f"{k}-{v!r}") for k, values in BAD.items() for v in values]


@pytest.mark.parametrize(("name", "bad"), CASES)
def test_a_bad_parameter_is_refused(name, bad):
    with pytest.raises(mm.InputError, match=rf"^{name} must .*\. Got .* instead\.") as caught:
        mm.SoftMarginSVC(**{name: bad}).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    shown = next(iter(bad.values())) if isinstance(bad, dict) and 7 not in bad else bad
    shown = 7 if isinstance(bad, dict) and 7 in bad else shown
    assert repr(shown) in str(caught.value)


@pytest.mark.parametrize(
    "weight", [[1, -1, 1], [0, 0, 0], [1, np.nan, 1], [1, np.inf, 1], [1, 1], ["a", "b", "c"]], ids=str
)
def test_bad_sample_weights_are_refused(weight):
    model = mm.SoftMarginSVC()
    with pytest.raises(ValueError, match=r"weight|float"):
        model.fit([[0.0], [1.0], [2.0]], [0, 1, 1], weight)
    assert not hasattr(model, "machines_")


def test_weights_that_leave_one_class_are_refused():
    with pytest.raises(mm.InputError, match="at least two classes"):
        mm.SoftMarginSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 1], [0, 1, 1])


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [10, 10_000])
def test_a_number_that_is_not_finite_is_named(bad, n, form):
    X, y = noisy(n, 3)
    X[n - 3, 1] = bad
    with pytest.raises(
        mm.InputError, match=rf"X must hold finite numbers. Got .* in row {n - 3}, column 1"
    ):
        mm.SoftMarginSVC().fit(sparse.csr_array(X) if form == "csr" else X, y)


# --- invariances -----------------------------------------------------------------------------------


@st.composite
def problems(draw):
    n, d = draw(st.integers(4, 14)), draw(st.integers(1, 4))
    cells = st.integers(-6, 6)
    X = draw(st.lists(st.lists(cells, min_size=d, max_size=d), min_size=n, max_size=n))
    y = draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    y[0], y[1] = -1, 1
    return np.array(X, dtype=float) / 2, np.array(y), draw(st.sampled_from([0.01, 0.5, 4.0, 100.0]))


def fitted(X, y, C, weight=None, **options):
    return mm.SoftMarginSVC(C=C, tol=1e-9, **options).fit(X, y, weight)


def assert_w(one, two):
    """Values to 2e-9 leave w known to about the root of that."""
    a, b = one.certificate_, two.certificate_
    assert a.primal == pytest.approx(b.primal, rel=3e-9)
    apart = np.linalg.norm(one.coef_ - two.coef_)
    assert apart <= np.sqrt(2e-9 * a.primal) + np.sqrt(2e-9 * b.primal) + 1e-12


@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_does_not_matter(case, random):
    X, y, C = case
    rows, columns = list(range(len(y))), list(range(X.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    one, two = fitted(X, y, C), fitted(X[rows][:, columns], y[rows], C)
    two._Z[0, columns] = two._Z[0, :-1].copy()
    assert_w(one, two)


@given(problems())
def test_flipped_labels_flip_the_plane(case):
    X, y, C = case
    one, two = fitted(X, y, C), fitted(X, -y, C)
    two._Z *= -1.0
    assert_w(one, two)


@given(problems(), st.lists(st.integers(-50, 50), min_size=4, max_size=4))
def test_a_translation_leaves_w_as_it_is(case, by):
    X, y, C = case
    by = np.array(by[: X.shape[1]], dtype=float)
    one, two = fitted(X, y, C), fitted(X + by, y, C)
    assert_w(one, two)
    moved = primal_value(X, y, C, two.coef_[0], float(two.intercept_[0] + two.coef_[0] @ by))
    assert moved == pytest.approx(one.certificate_.primal, rel=3e-9)


@given(problems(), st.integers(-3, 3))
def test_a_scale_of_the_features_is_a_scale_of_C(case, power):
    X, y, C = case
    s = 4.0**power
    one, two = fitted(X, y, C), fitted(s * X, y, C / s**2)
    assert two.certificate_.primal * s**2 == pytest.approx(one.certificate_.primal, rel=3e-9)


@given(problems(), st.lists(st.integers(1, 3), min_size=14, max_size=14))
def test_repeated_rows_are_weights(case, times):
    X, y, C = case
    times = np.array(times[: len(y)])
    again = np.repeat(np.arange(len(y)), times)
    assert_w(fitted(X, y, C, times), fitted(X[again], y[again], C))


@given(problems())
def test_no_plane_nearby_is_better(case):
    X, y, C = case
    model = fitted(X, y, C)
    w, b = plane(model)
    proof = model.certificate_
    assert proof.primal == pytest.approx(primal_value(X, y, C, w, b), rel=1e-9)
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(5):
            other = primal_value(
                X, y, C, w + size * rng.standard_normal(len(w)), b + size * rng.normal()
            )
            assert other >= proof.primal * (1 - 1e-9)


@given(problems())
def test_every_certificate_holds(case):
    X, y, C = case
    for bias in (True, False):
        model = fitted(X, y, C, fit_intercept=bias)
        assert_optimal(model, X, y, C, bias=bias)
