"""scikit-learn's own checks, for every estimator and every way to handle many classes."""

import pytest
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


def expected_failed_checks(estimator):
    return getattr(estimator, "_expected_failed_checks", {})


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failed_checks)
def test_sklearn_contract(estimator, check):
    check(estimator)
