"""Parameters changed after learning began: predictions stay, and learning on is refused or right."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import maxmargin as mm

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
