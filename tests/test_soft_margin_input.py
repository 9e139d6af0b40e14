"""Every way to ask for a soft margin: weights, forms of data, several classes, starts; and bad input."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import maxmargin as mm
from bank import BANK, FORMS, as_form, problem
from planes import check_kkt
from softmargins import (
    CANCER_X,
    CANCER_Y,
    IRIS_X,
    IRIS_Y,
    TINY,
    assert_optimal,
    assert_same_plane,
    compare_exactly,
    noisy,
    value,
)

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


def test_what_is_asked_of_a_machine_before_fit_is_named():
    for name in ("solver_", "support_", "certificate_", "margin_", "free_support_"):
        with pytest.raises(AttributeError, match=f"has no {name} before fit"):
            getattr(mm.SoftMarginSVC(), name)
