"""No parameter does nothing: for each, a change that changes the outcome."""

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import load_iris

import maxmargin as mm
from bank import problem
from maxmargin.estimators import progress
from maxmargin.stopping import MaxEpochs

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")

SHUFFLE = np.random.default_rng(0).permutation(100)
X, Y = problem("virginica").X[SHUFFLE], problem("virginica").y[SHUFFLE]
IRIS = load_iris(return_X_y=True)


def weights(model, rows=X, labels=Y):
    model.fit(rows, labels)
    return model.coef_.tolist(), model.intercept_.tolist()


def on_iris(model):
    return weights(model, *IRIS)


def in_partitions(model):
    return weights(model, da.from_array(X, chunks=(25, -1)), da.from_array(Y, chunks=25))


def fitted_twice(model):
    weights(model)
    return weights(model)


def epochs(model):
    return model.fit(X, Y).n_iter_


def has_trace(model):
    return hasattr(model.fit(X, Y), "trace_")


def lower_bound(model):
    return model.fit(X, Y).error_lower_bound_


def measured_epochs(model):
    model.fit(X, Y)
    return int(np.isfinite(model.history_["training_error"]).sum())


# (estimator, parameter) → what else is set, two values, and what to look at.
SHARED = {
    "fit_intercept": ({}, True, False, weights),
    "normalize": ({}, False, True, weights),
    "multi_class": ({}, "ovr", "ovo", on_iris),
    "class_weight": ({}, None, {1: 5.0}, weights),
    "stop": ({}, None, MaxEpochs(1), epochs),
    "warm_start": ({}, False, True, fitted_twice),
    "record": ({}, False, True, has_trace),
}
OWN = {
    mm.Perceptron: {
        "threshold": ({}, 0.0, 5.0, weights),
        "eta0": ({}, 1.0, 0.5, weights),
        "order": ({"random_state": 0}, "cyclic", "shuffled", weights),
        "average": ({}, False, True, weights),
        "max_iter": ({}, 3, 4, weights),
        "partitions": ({}, "sequential", "mixing", in_partitions),
        "track_error": ({}, True, False, measured_epochs),
        "random_state": ({"order": "shuffled"}, 0, 1, weights),
    },
    mm.BatchPerceptron: {
        "step": ({}, "exact", 1.0, weights),
        "max_iter": ({}, 3, 4, weights),
        "random_state": ({"stop": mm.stopping.ValidationErrorStalls(2)}, 0, 1, weights),
    },
    mm.PocketPerceptron: {
        "max_updates": ({"polish": False}, 2, 200, weights),
        "order": ({"random_state": 0, "polish": False}, "cyclic", "shuffled", weights),
        "polish": ({"random_state": 0}, False, True, weights),
        "max_witnesses": ({}, 0, 10, lower_bound),
        "random_state": ({"order": "shuffled", "polish": False}, 0, 1, weights),
    },
}
DEFAULTS = {
    mm.Perceptron: {"max_iter": 7},
    mm.BatchPerceptron: {"max_iter": 7, "step": 0.5},
    mm.PocketPerceptron: {"max_updates": 60, "polish": False},
}
TABLE = [
    pytest.param(estimator, name, *row, id=f"{estimator.__name__}-{name}")
    for estimator, own in OWN.items()
    for name, row in {**SHARED, **own}.items()
]


@pytest.mark.parametrize(("estimator", "name", "others", "one", "two", "look"), TABLE)
def test_changing_it_changes_the_outcome(estimator, name, others, one, two, look):
    outcome = [look(estimator(**{**DEFAULTS[estimator], **others, name: v})) for v in (one, one, two)]
    assert outcome[0] == outcome[1]  # nothing else made the difference
    assert outcome[0] != outcome[2]


@pytest.mark.parametrize("estimator", OWN)
def test_verbose_shows_a_progress_bar_on_long_fits(estimator, monkeypatch, capsys):
    estimator(**DEFAULTS[estimator], verbose=1).fit(X, Y)
    assert capsys.readouterr() == ("", "")  # this fit is a short one
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    estimator(**DEFAULTS[estimator]).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    model = estimator(**DEFAULTS[estimator], verbose=1).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert estimator.__name__ in err
    assert f"epoch {model.n_iter_}, {model.history_['mistakes'][-1]} mistakes" in err


@pytest.mark.parametrize("estimator", OWN)
def test_every_parameter_is_in_the_table(estimator):
    assert set(estimator().get_params()) == {*SHARED, *OWN[estimator], "verbose"}


FIT = {
    "coef_init": {"coef_init": [1.0, 2.0, 3.0, 4.0]},
    "intercept_init": {"intercept_init": 3.0},
    "X_val": {"X_val": X, "y_val": Y},
}


@pytest.mark.parametrize("estimator", OWN)
@pytest.mark.parametrize("given", FIT.values(), ids=FIT)
def test_what_is_given_to_fit_changes_the_outcome(estimator, given):
    plain, other = (estimator(**DEFAULTS[estimator]).fit(X, Y, **k) for k in ({}, given))
    if "X_val" in given:
        assert np.isnan(plain.history_["validation_error"]).all()
        assert np.isfinite(other.history_["validation_error"]).all()
    else:
        assert plain.coef_.tolist() != other.coef_.tolist()


def test_classes_given_to_partial_fit_and_learn_one_are_kept():
    for method in ("partial_fit", "learn_one"):
        x, y = ([1.0], 0) if method == "learn_one" else ([[1.0], [2.0]], [0, 1])
        model = getattr(mm.Perceptron(), method)(x, y, classes=[0, 1, 2])
        assert model.classes_.tolist() == [0, 1, 2]
        assert len(model.machines_) == 3
