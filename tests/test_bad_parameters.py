"""Bad parameters: the error names the parameter, what is allowed and what was given."""

import re

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.stopping import (
    MaxEpochs,
    MaxSeconds,
    MaxUpdates,
    TrainingErrorStalls,
    ValidationErrorStalls,
    WeightsSettle,
)

ESTIMATORS = [mm.Perceptron, mm.BatchPerceptron, mm.PocketPerceptron]
X = [[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0], [-2.0, -1.0]]
Y = [1, 1, 0, 0]

SHARED = {
    "fit_intercept": ["yes", 1, None],
    "normalize": ["l2", 0, None],
    "multi_class": ["crammer", 3, None],
    "class_weight": ["heavy", 3, {1: -1}, {1: 0}, {1: "much"}, {1: float("nan")}, {7: 1.0}],
    "stop": [5, "MaxEpochs", MaxEpochs],
    "warm_start": ["no", 2],
    "random_state": ["abc", -5, 1.5],
    "record": ["all", 1],
    "verbose": ["loud", -1, None],
}
NUMBERS = [0, -1, float("nan"), float("inf"), "fast", None, True, 1e-300, 1e300]
COUNTS = [0, -3, 1.5, "many", True]
OWN = {
    mm.Perceptron: {
        "threshold": [-1, -1e-300, float("nan"), float("inf"), "1", None, True],
        "eta0": NUMBERS,
        "order": ["backwards", 1, None],
        "average": [2, "yes"],
        "max_iter": COUNTS,
        "partitions": ["both", 1, None],
        "track_error": ["yes", 2, None],
    },
    mm.BatchPerceptron: {"step": [*NUMBERS, "armijo"], "max_iter": COUNTS},
    mm.PocketPerceptron: {
        "max_updates": [*COUNTS, None],
        "order": ["backwards", 1, None],
        "polish": [2, "yes"],
        "max_witnesses": [-1, 1.5, "many", True, None],
    },
}
PARAMETERS = [
    pytest.param(estimator, name, value, id=f"{estimator.__name__}-{name}-{value!r}"[:60])
    for estimator in ESTIMATORS
    for name, values in {**SHARED, **OWN[estimator]}.items()
    for value in values
]


def given(value):
    """What of a bad value the message has to repeat."""
    return (
        repr(next(iter(value.items()))[0] if 7 in value else value[1])
        if isinstance(value, dict)
        else repr(value)
    )


def test_every_parameter_is_given_bad_values():
    for estimator in ESTIMATORS:
        assert set(estimator().get_params()) == {*SHARED, *OWN[estimator]}


@pytest.mark.parametrize(("estimator", "name", "value"), PARAMETERS)
def test_a_bad_parameter_is_named_with_what_is_allowed_and_what_was_given(estimator, name, value):
    with pytest.raises(mm.InputError, match=rf"^{name}\b.* must (be|hold|name) .+ Got ") as caught:
        estimator(**{name: value}).fit(X, Y)
    text = str(caught.value)
    if isinstance(value, float) and np.isfinite(value):
        assert float(re.search(r"Got (\S+) instead", text)[1]) == value
    else:
        assert given(value) in text


RULES = [
    (MaxEpochs, "epochs", [0, -1, 2.5, "3", None, True]),
    (MaxUpdates, "updates", [0, -1, 2.5, "3", None, True]),
    (MaxSeconds, "seconds", [0, -1.0, float("nan"), float("inf"), "3", None]),
    (TrainingErrorStalls, "patience", [0, 1.5, "3"]),
    (TrainingErrorStalls, "tol", [-0.1, float("nan"), "3"]),
    (ValidationErrorStalls, "patience", [0, 1.5, "3"]),
    (ValidationErrorStalls, "tol", [-0.1, float("nan"), "3"]),
    (ValidationErrorStalls, "fraction", [0, 1, 1.5, -0.1, float("nan"), "3"]),
    (WeightsSettle, "tol", [0, -0.1, float("nan"), "3"]),
]


@pytest.mark.parametrize(
    ("rule", "name", "value"), [(rule, name, value) for rule, name, values in RULES for value in values]
)
def test_a_bad_stopping_rule_is_refused_when_it_is_made(rule, name, value):
    with pytest.raises(mm.InputError, match=rf"^{rule.__name__}\.{name} must be .+ Got ") as caught:
        rule(**{name: value})
    assert repr(value) in str(caught.value)


def test_rules_combine_with_rules_only():
    for combine in (lambda: MaxEpochs(3) | 5, lambda: MaxEpochs(3) & "MaxSeconds"):
        with pytest.raises(TypeError, match=r"unsupported operand .* 'MaxEpochs' and '(int|str)'"):
            combine()
