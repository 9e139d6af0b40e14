"""Parameters changed after learning began: predictions stay, and learning on is refused or right."""

import time

import numpy as np
import pytest
from sklearn.datasets import load_iris

import maxmargin as mm
from maxmargin.stopping import MaxSeconds

X, Y = load_iris(return_X_y=True)
pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
ESTIMATORS = [mm.Perceptron, mm.BatchPerceptron, mm.PocketPerceptron]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("name", "other"), [("multi_class", "ovo"), ("fit_intercept", False)])
def test_parameters_set_after_fit_change_no_prediction(estimator, name, other):
    few = {"max_updates": 200} if estimator is mm.PocketPerceptron else {}
    model = estimator(**few).fit(X, Y)
    before = model.decision_function(X)
    model.set_params(**{name: other})
    assert np.array_equal(model.decision_function(X), before)
    for go_on in (lambda: model.partial_fit(X, Y), lambda: model.learn_one(X[0], 0)):
        with pytest.raises(
            mm.InputError, match=rf"^{name} must stay as it was .* Got {other!r} instead"
        ):
            go_on()
    assert np.array_equal(model.decision_function(X), before)


def test_averaging_cannot_begin_in_the_middle():
    model = mm.Perceptron().partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(mm.InputError, match=r"^average must stay as it was"):
        model.set_params(average=True).partial_fit(X, Y)


def test_the_pocket_of_partial_fit_knows_its_error_on_the_rows_of_the_call():
    model = mm.PocketPerceptron().partial_fit(X[50:], Y[50:], classes=[1, 2])
    wrong = np.where(Y[50:] == 2, 1, -1) * model.decision_function(X[50:]) <= 0
    assert model.best_error_ == np.mean(wrong)
    assert np.isnan(model.learn_one(X[50], 1).best_error_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_budget_of_seconds_is_one_for_all_machines(estimator):
    rng = np.random.default_rng(0)
    data, labels = rng.standard_normal((20_000, 20)), rng.integers(6, size=20_000)
    params = {"max_updates": 10**9} if estimator is mm.PocketPerceptron else {"max_iter": None}
    model = estimator(multi_class="ovo", stop=MaxSeconds(0.3), **params)
    model.fit(data[:100], labels[:100])  # compile
    began = time.perf_counter()
    model.fit(data, labels)
    assert time.perf_counter() - began < 3.0
    assert "max_seconds" in model.stop_reason_.rule
