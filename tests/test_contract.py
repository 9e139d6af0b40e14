"""scikit-learn's own checks, for every estimator and every way to handle many classes."""

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import maxmargin as mm
from thorough import THOROUGH

# These checks fit clouds of points that no plane separates: the error is the right answer.
OVERLAPPING = [
    "check_classifier_data_not_an_array",
    "check_classifiers_train",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_f_contiguous_array_estimator",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_positive_only_tag_during_fit",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_pandas_series",
    "check_supervised_y_2d",
]

ESTIMATORS = [
    mm.Perceptron(),
    mm.Perceptron(order="shuffled", average=True, normalize=True, multi_class="ovo"),
    mm.BatchPerceptron(max_iter=20),
    mm.PocketPerceptron(max_updates=100, max_witnesses=2),
    mm.HardMarginSVC(),
    mm.SoftMarginSVC(),
    mm.SoftMarginSVCCV(Cs=[0.01, 1.0], cv=2),
    mm.MinErrorClassifier(max_seconds=None),
]
FURTHER = [  # the same machines once more: for longer, or a pair of classes at a time
    mm.BatchPerceptron(),
    mm.PocketPerceptron(max_updates=200),
    mm.SoftMarginSVCCV(Cs=3, cv=3),
    mm.BatchPerceptron(step=1.0, multi_class="ovo"),
    mm.PocketPerceptron(max_updates=200, multi_class="ovo", polish=False),
    mm.SoftMarginSVC(C=10.0, multi_class="ovo", class_weight="balanced"),
    mm.MinErrorClassifier(max_seconds=None, multi_class="ovo"),
]


def expected_failed_checks(estimator):
    if isinstance(estimator, mm.HardMarginSVC):
        return dict.fromkeys(OVERLAPPING, "the check's data is not separable: NotSeparableError")
    return getattr(estimator, "_expected_failed_checks", {})


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@parametrize_with_checks(ESTIMATORS + FURTHER * THOROUGH, expected_failed_checks=expected_failed_checks)
def test_sklearn_contract(estimator, check):
    try:
        check(estimator)
    except mm.NotSeparableError as error:  # expected: pytest need not write down where it came from
        raise error.with_traceback(None) from None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_what_fails_the_hard_margin_is_data_that_no_plane_separates():
    """And nothing else, as the README and the page on scikit-learn say."""
    results = check_estimator(mm.HardMarginSVC(), on_fail=None)
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    assert failed and failed.keys() <= set(OVERLAPPING)
    for name, error in failed.items():
        causes = [error]
        while causes[-1] is not None:
            causes.append(causes[-1].__cause__ or causes[-1].__context__)
        assert any(isinstance(cause, mm.NotSeparableError) for cause in causes), name
