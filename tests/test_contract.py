"""scikit-learn's own checks, for every estimator and every way to handle many classes."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin as mm

ESTIMATORS = [
    mm.Perceptron(),
    mm.Perceptron(order="shuffled", average=True, normalize=True, multi_class="ovo"),
    mm.BatchPerceptron(),
    mm.BatchPerceptron(step=1.0, multi_class="ovo"),
    mm.PocketPerceptron(max_updates=200),
    mm.PocketPerceptron(max_updates=200, multi_class="ovo", polish=False),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_sklearn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
