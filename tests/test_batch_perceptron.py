"""The batch perceptron: R and its gradient, fixed steps as in the lecture, exact steps by results."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

import maxmargin as mm
import twins
from bank import BANK, SEPARABLE, problem
from maxmargin.rows import as_rows
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.perceptron.batch import Risk
from maxmargin.solvers.problem import Examples


def z_of(model):
    return np.append(model.coef_[0], model.intercept_[0])


def risk_of(p, weight=(1.0, 1.0)):
    machine = Machine(1, 1, 0, np.arange(len(p.y)), np.array(weight))
    return Risk(Examples(as_rows(p.X), p.codes, 1.0), [machine])


def value_and_pull(risk, z):
    M = risk.margins(np.array([z]))
    return float(risk.value(M)[0]), risk.pull(M)[0]


@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
def test_risk_and_gradient_are_those_of_the_lecture(p):
    risk, rng = risk_of(p), np.random.default_rng(2)
    for z in rng.standard_normal((5, p.X.shape[1] + 1)):
        value, pull = value_and_pull(risk, z)
        assert value == pytest.approx(twins.risk(p.A.tolist(), z.tolist()), rel=1e-12)
        gradient = np.array(twins.risk_gradient(p.A.tolist(), z.tolist()))
        assert np.all(np.abs(pull + gradient) <= 1e-14 * np.abs(p.A).sum(axis=0))  # sums in any order


@pytest.mark.parametrize("name", ["pass or fail", "overlap", "gaussian", "tenths"])
@pytest.mark.parametrize("weight", [(1.0, 1.0), (0.5, 3.0)])
def test_gradient_by_finite_differences(name, weight):
    p = problem(name)
    risk, rng = risk_of(p, weight), np.random.default_rng(3)
    for z in rng.standard_normal((5, p.X.shape[1] + 1)):
        _, pull = value_and_pull(risk, z)
        h = 1e-6 * np.eye(len(z))
        differences = [
            (value_and_pull(risk, z + e)[0] - value_and_pull(risk, z - e)[0]) / 2e-6 for e in h
        ]
        np.testing.assert_allclose(-pull, differences, rtol=1e-6, atol=1e-6 * np.abs(pull).max())


@given(st.integers(0, 10**6), st.floats(0.01, 100))
def test_risk_is_positively_homogeneous(seed, s):
    p = problem("overlap")
    z = np.random.default_rng(seed).standard_normal(5)
    assert value_and_pull(risk_of(p), s * z)[0] == pytest.approx(s * value_and_pull(risk_of(p), z)[0])


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
@pytest.mark.parametrize("step", [1.0, 0.25])
def test_fixed_steps_are_the_lectures(p, step):
    model = mm.BatchPerceptron(step, max_iter=25, record=True).fit(p.X, p.y)
    path = twins.batch(p.A.tolist(), p.A[0], step, model.n_iter_)
    assert len(path) == model.n_iter_
    size = np.abs(path).max()
    np.testing.assert_allclose(z_of(model), path[-1], rtol=1e-12, atol=1e-12 * size)
    wrong = [sum(twins.decision(z, 0.0, a) <= 0 for a in p.A) for z in [p.A[0].tolist(), *path]]
    assert model.history_["mistakes"].tolist() == wrong[:-1]
    assert model.n_mistakes_ == sum(wrong[:-1])
    np.testing.assert_allclose(
        model.history_["risk"], [twins.risk(p.A.tolist(), z) for z in path], rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("name", ["pass or fail", "integer blobs", "xor", "alternating"])
def test_fixed_steps_on_integers_are_exact(name):
    p = problem(name)
    model = mm.BatchPerceptron(1.0, max_iter=None).fit(p.X, p.y)
    path = twins.batch(p.A.tolist(), p.A[0], 1.0, model.n_iter_)
    assert z_of(model).tolist() == path[-1]
    assert model.stop_reason_.rule == ("all_correct" if p.separable else "cycle")


def test_start_from_given_weights():
    p = problem("overlap")
    start = [0.5, -1.0, 2.0, 0.0, 1.0]
    model = mm.BatchPerceptron(0.5, max_iter=3)
    with pytest.warns(mm.BudgetWarning):
        model.fit(p.X, p.y, coef_init=start[:4], intercept_init=start[4])
    expected = twins.batch(p.A.tolist(), start, 0.5, 3)[-1]
    np.testing.assert_allclose(z_of(model), expected, rtol=1e-12, atol=1e-12)


def test_from_zero_every_row_pulls():
    p = problem("quarter")
    model = mm.BatchPerceptron(1.0).fit(p.X, p.y, coef_init=[0, 0], intercept_init=0)
    assert model.history_["mistakes"][0] == 2


# Exact steps need gradients that point somewhere: columns 10⁶ and 10⁻⁶ wide do not give such.
PADDED = [(p, True) for p in SEPARABLE if p.name != "scales"]
THROUGH_ZERO = [(problem(name), False) for name in ("opposite", "quarter", "gaussian", "wide", "tenths")]


@pytest.mark.parametrize(
    ("p", "fit_intercept"), [*PADDED, *THROUGH_ZERO], ids=lambda p: getattr(p, "name", p)
)
def test_exact_steps_separate(p, fit_intercept):
    model = mm.BatchPerceptron(fit_intercept=fit_intercept).fit(p.X, p.y)
    assert model.stop_reason_.rule == "all_correct"
    assert np.all(p.y * model.decision_function(p.X) > 0)
    assert model.history_["risk"][-1] == 0.0


@pytest.mark.parametrize("digit", [0, 2, 4, 5, 6, 7])
def test_exact_steps_separate_digits_from_the_rest(digit):
    X, y = load_digits(return_X_y=True)
    model = mm.BatchPerceptron(max_iter=300).fit(X, y == digit)
    assert model.stop_reason_.rule == "all_correct"
    assert np.array_equal(model.predict(X), y == digit)


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
@pytest.mark.parametrize("normalize", [False, True])
def test_exact_steps_never_raise_the_risk_per_length(p, normalize):
    model = mm.BatchPerceptron(max_iter=60, normalize=normalize, record=True).fit(p.X, p.y)
    scale = np.array([[twins.unit_scale(x)] if normalize else [1.0] for x in p.X.tolist()])
    A, Z = (scale * p.A).tolist(), model.trace_.weights
    per_length = np.array([twins.risk(A, z) / np.linalg.norm(z) for z in Z.tolist()])
    assert len(per_length) > 1 or model.n_mistakes_ == 0
    # An exact step ends a billionth beyond the crease, where the risk may be higher by as much.
    assert np.all(np.diff(per_length) <= 1e-8 * np.abs(A).sum())
    assert per_length[-1] <= per_length[0]


@pytest.mark.parametrize("name", ["overlap", "virginica", "integer blobs"])
@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
def test_exact_steps_leave_the_length_of_the_weights_as_it_was(name):
    p = problem(name)
    lengths = np.linalg.norm(mm.BatchPerceptron(record=True).fit(p.X, p.y).trace_.weights, axis=1)
    assert len(lengths) > 5
    np.testing.assert_allclose(lengths, np.linalg.norm(p.A[0]), rtol=1e-9)


def test_class_weight_weighs_the_terms_of_the_risk():
    p = problem("overlap")
    weighted, doubled = (
        mm.BatchPerceptron(0.5, class_weight={1: 2}, max_iter=4),
        mm.BatchPerceptron(0.5, max_iter=4),
    )
    with pytest.warns(mm.BudgetWarning):
        weighted.fit(p.X, p.y)
    twice = np.concatenate([np.arange(60), np.flatnonzero(p.y > 0)])
    with pytest.warns(mm.BudgetWarning):
        doubled.fit(p.X[twice], p.y[twice])
    np.testing.assert_allclose(z_of(weighted), z_of(doubled), rtol=1e-12, atol=1e-12)
