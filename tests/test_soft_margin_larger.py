"""The soft margin of larger data, of uneven weights and classes, and within budgets."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from planes import dual_value
from softmargins import PAIRS, assert_optimal, noisy, value
from thorough import further


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
    dual = max(0.0, dual_value(X, y, model.dual_))  # every plane has more than nothing
    assert proof.dual == pytest.approx(dual, rel=1e-9, abs=1e-9 * C * len(y))
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
