"""Many small problems at once: the planes of one after the other, with certificates that hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

import maxmargin as mm
from maxmargin.estimators import many
from planes import primal_value
from softmargins import PAIRS, noisy


def problems(count=12, d=4):
    rng = np.random.default_rng(2)
    for k in range(count):
        X, y = noisy(10 + 5 * k, d, seed=k)
        yield X + rng.normal(size=d), y


def assert_as_one_by_one(found, pairs, C=1.0, **options):
    prices = np.broadcast_to(C, len(pairs))
    assert len(found) == len(pairs)
    for k, (X, y) in enumerate(pairs):
        model = mm.SoftMarginSVC(C=float(prices[k]), **options).fit(X, y)
        size = 1e-12 + np.linalg.norm(model.coef_)
        np.testing.assert_allclose(found.coef[k], model.coef_[0], rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(
            found.intercept[k], model.intercept_[0], rtol=0, atol=1e-8 * (1 + size)
        )
        assert found.primal[k] == pytest.approx(model.certificate_.primal, rel=1e-9)
        assert found.dual[k] == pytest.approx(model.certificate_.dual, rel=1e-9)


@pytest.mark.parametrize("bias", [True, False])
def test_pairs_of_any_size_are_solved_as_one_by_one(bias):
    pairs = list(problems())
    C = np.geomspace(0.01, 100.0, len(pairs))
    found = mm.fit_many(pairs, C, fit_intercept=bias)
    assert_as_one_by_one(found, pairs, C, fit_intercept=bias)
    assert np.all(found.relative_gap <= 1e-6) and np.all(found.passes > 1)
    np.testing.assert_array_equal(found.gap, found.primal - found.dual)
    again = mm.fit_many(iter(pairs), C, fit_intercept=bias, n_jobs=2)
    np.testing.assert_array_equal(again.coef, found.coef)


def test_a_column_of_labels_is_a_problem():
    X, y = noisy(60, 5)
    rng = np.random.default_rng(0)
    Y = np.column_stack([y] + [rng.permutation(y) for _ in range(8)])
    assert_as_one_by_one(mm.fit_many(X, 0.5, y=Y), [(X, column) for column in Y.T], 0.5)
    one = mm.fit_many(X, y=y)
    assert len(one) == 1
    wide = np.random.default_rng(1).normal(size=(60, 90))
    assert_as_one_by_one(mm.fit_many(wide, y=Y), [(wide, column) for column in Y.T])


def test_index_lists_and_masks_choose_rows():
    X, y = noisy(80, 3)
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 80, 50), np.arange(80) % 2 == 0, [5, 1, 70, 33, 20, 21, 22, 23]]
    found = mm.fit_many(X, y=y, rows=rows)
    assert_as_one_by_one(found, [(X[which], y[which]) for which in rows])


def test_values_are_those_of_libsvm_and_bounds_hold():
    for X, y in problems(6):
        found = mm.fit_many([(X, y)], 2.0)
        assert found.dual[0] <= found.primal[0]
        value = primal_value(X, y, 2.0, found.coef[0], found.intercept[0])
        assert found.primal[0] == pytest.approx(value, rel=1e-12)
        theirs = SVC(kernel="linear", C=2.0, tol=1e-9).fit(X, y)
        other = primal_value(X, y, 2.0, theirs.coef_[0], theirs.intercept_[0])
        assert found.dual[0] <= other and found.primal[0] <= other * (1 + 1e-6)


def test_machines_come_on_request():
    pairs = list(problems(3))
    found = mm.fit_many(pairs, [0.1, 1.0, 10.0])
    machine = found.machine(2)
    np.testing.assert_allclose(machine.coef_, found.coef[2], rtol=1e-9)
    assert machine.dual_.max() <= 10.0 and len(machine.dual_) == len(pairs[2][1])
    X, y = noisy(40, 3)
    shared = mm.fit_many(X, y=np.column_stack([y, -y]))
    np.testing.assert_allclose(shared.machine(1).coef_, shared.coef[1], rtol=1e-9)
    with pytest.raises(mm.InputError, match="must be a list to ask for machines later"):
        mm.fit_many(iter(pairs)).machine(0)


def test_what_one_call_does_not_solve_is_solved_alone(monkeypatch):
    pairs = [PAIRS["wine 0-1"], PAIRS["wine 1-2"]]
    expected = mm.fit_many(pairs)
    monkeypatch.setattr(many, "_is_small", lambda n, d: False)
    found = mm.fit_many(pairs)
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-9)
    np.testing.assert_allclose(found.primal, expected.primal, rtol=1e-9)


@given(st.lists(st.sampled_from(["a", "b"]), min_size=6, max_size=9), st.sampled_from([1e-4, 1.0, 1e4]))
def test_any_labels_of_two_kinds_are_certified(labels, C):
    y = np.array([*labels, "a", "b"])
    X = np.arange(2.0 * len(y)).reshape(-1, 2) % 5
    found = mm.fit_many([(X, y), (X[::-1], y == "b")], C)
    assert np.all(found.relative_gap <= 1e-6)
    best = mm.SoftMarginSVC(C=C, solver="newton").fit(X, y).certificate_
    assert found.dual[0] <= best.primal and best.dual <= found.primal[0]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([],), {}, "at least one problem"),
        (([(np.eye(3), [0, 1, 2])],), {}, "must have two classes. Got 3 in problem 0"),
        (([(np.eye(3), [1, 1, 1])],), {}, "at least two classes"),
        (([(np.eye(3), [0, 1])],), {}, "one label per row of X, 3 in all"),
        (([(np.eye(3), [0, 1, 1]), (np.eye(2), [0, 1])],), {}, "equal numbers of features"),
        (([3, 4],), {}, "pairs"),
        (([(np.eye(2), [0, 1])], 0.0), {}, "C must be"),
        (([(np.eye(2), [0, 1])], [1.0, 2.0]), {}, "one number per problem, 1 in all. Got 2"),
        ((np.eye(3),), {"y": [0, 1]}, "one label per row of X, 3 in all"),
        ((np.eye(3),), {"rows": [[0, 1]]}, "rows must go with y"),
        ((np.eye(2),), {"y": [[0, 1], [1, 0]], "rows": [[0, 1]]}, "one column where rows are given"),
        (([(np.array([[1.0], [np.nan]]), [0, 1])],), {}, "finite numbers. Got NaN in row 1"),
        (([(np.eye(2), [0, 1])],), {"tol": 2.0}, "tol must be"),
        (([(np.eye(2), [0, 1])],), {"fit_intercept": 3}, "fit_intercept must be"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(mm.InputError, match=message):
        mm.fit_many(*arguments, **options)


@pytest.mark.parametrize(
    "rows", [[[]], [[0, 1, 99]], [[-21, 0]], [3], [[0.5, 1.0]], [np.where(np.arange(20) < 9)]]
)
def test_rows_that_are_no_rows_are_refused(rows):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    with pytest.raises(mm.InputError, match="for problem 0"):
        mm.fit_many(X, y=y, rows=rows)


def test_rows_as_numbers_and_as_a_mask_are_the_same():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    mask = np.arange(20) < 9
    found = mm.fit_many(X, y=y, rows=[mask, tuple(range(9)), np.arange(9) - 20])
    assert found.coef[0].tolist() == found.coef[1].tolist() == found.coef[2].tolist()
    assert found.machine(1).coef_.tolist() == pytest.approx(found.coef[1].tolist(), abs=1e-9)
