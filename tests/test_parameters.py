"""No parameter does nothing: for each, a change that changes the outcome."""

import inspect
import re
import threading
import warnings

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
APART = problem("setosa").X, problem("setosa").y
CORNERS = (
    np.array([[0, 0], [1, 0], [0, 1], [9, 0], [9, 2], [8, 0], [0, 9], [1, 9], [0, 8]]),
    np.arange(9) // 3,
)


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


def plane_apart(model):
    return weights(model, *APART)


def on_corners(model):
    return weights(model, *CORNERS)


def solver_used(model):
    return model.fit(*APART).solver_


def is_warned_of(model):
    """Whether a budget ended the fit."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(*APART)
    return any(w.category is mm.BudgetWarning for w in said)


def begins_threads(model):
    begun, start = [], threading.Thread.start
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", lambda self: begun.append(self.name) or start(self))
        model.fit(*CORNERS)
    return len(begun) > 0


def gap(model):
    return model.fit(X, Y).certificate_.relative_gap


def gap_apart(model):
    return model.fit(*APART).certificate_.relative_gap


def with_several_best_planes(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(-2, 3, size=(36, 4)).astype(float), rng.integers(0, 2, 36)


def is_late(model):
    return model.fit(*with_several_best_planes(0)).bounds_.late


def error_share(model):
    return model.fit(X, Y).best_error_


def rows_given_up(model):
    fits = (model.fit(*with_several_best_planes(seed)) for seed in range(2, 8))
    return [one.bounds_.given_up.tolist() for one in fits]


def passes_of_a_second_fit(model):
    return model.fit(X, Y).fit(X, Y).n_passes_


def chosen(model):
    return model.fit(X, Y).C_


def scores(model):
    return model.fit(X, Y).scores_.tolist()


# What else is set, two values, and what to look at: for all perceptrons, all margin machines, and each.
PERCEPTRONS = {
    "fit_intercept": ({}, True, False, weights),
    "normalize": ({}, False, True, weights),
    "multi_class": ({}, "ovr", "ovo", on_iris),
    "class_weight": ({}, None, {1: 5.0}, weights),
    "stop": ({}, None, MaxEpochs(1), epochs),
    "warm_start": ({}, False, True, fitted_twice),
    "record": ({}, False, True, has_trace),
}
MARGINS = {
    "fit_intercept": ({}, True, False, plane_apart),
    "multi_class": ({}, "ovr", "ovo", on_corners),
    "max_passes": ({"tol": 1e-12}, None, 1, is_warned_of),
    "max_seconds": ({"tol": 1e-12}, None, 1e-9, is_warned_of),
    "solver": ({}, "newton", "descent", solver_used),
    "n_jobs": ({}, None, 2, begins_threads),
}
SOFT = {
    **MARGINS,
    "class_weight": ({}, None, {1: 5.0}, weights),
    "tol": ({}, 1e-9, 0.1, gap),
}
OWN = {
    mm.Perceptron: {
        **PERCEPTRONS,
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
        **PERCEPTRONS,
        "step": ({}, "exact", 1.0, weights),
        "max_iter": ({}, 3, 4, weights),
        "random_state": ({"stop": mm.stopping.ValidationErrorStalls(2)}, 0, 1, weights),
    },
    mm.PocketPerceptron: {
        **PERCEPTRONS,
        "max_updates": ({"polish": False}, 2, 200, weights),
        "order": ({"random_state": 0, "polish": False}, "cyclic", "shuffled", weights),
        "polish": ({"random_state": 0}, False, True, weights),
        "max_witnesses": ({}, 0, 10, lower_bound),
        "random_state": ({"order": "shuffled", "polish": False}, 0, 1, weights),
    },
    mm.MinErrorClassifier: {
        "max_seconds": ({}, None, 1e-9, is_late),
        "fit_intercept": ({}, True, False, weights),
        "multi_class": ({}, "ovr", "ovo", on_corners),
        "class_weight": ({}, None, {1: 5.0}, error_share),
        "random_state": ({}, 0, 1, rows_given_up),
    },
    mm.HardMarginSVC: {**MARGINS, "tol": ({}, 1e-9, 0.1, gap_apart)},
    mm.SoftMarginSVC: {
        **SOFT,
        "C": ({}, 1.0, 0.1, weights),
        "warm_start": ({}, False, True, passes_of_a_second_fit),
    },
    mm.SoftMarginSVCCV: {
        **SOFT,
        "Cs": ({}, [0.001], [0.1, 1.0], chosen),
        "cv": ({}, 2, 3, scores),
        "scoring": ({}, None, "f1", scores),
    },
}
DEFAULTS = {
    mm.Perceptron: {"max_iter": 7},
    mm.BatchPerceptron: {"max_iter": 7, "step": 0.5},
    mm.PocketPerceptron: {"max_updates": 60, "polish": False},
    mm.MinErrorClassifier: {"max_seconds": None},
    mm.HardMarginSVC: {"solver": "descent"},
    mm.SoftMarginSVC: {"solver": "descent"},
    mm.SoftMarginSVCCV: {"Cs": [0.01, 1.0], "cv": 2, "solver": "descent"},
}
LEARNERS = [mm.Perceptron, mm.BatchPerceptron, mm.PocketPerceptron]
MACHINES = [mm.HardMarginSVC, mm.SoftMarginSVC, mm.SoftMarginSVCCV, mm.MinErrorClassifier]
TABLE = [
    pytest.param(estimator, name, *row, id=f"{estimator.__name__}-{name}")
    for estimator, own in OWN.items()
    for name, row in own.items()
]


@pytest.mark.parametrize(("estimator", "name", "others", "one", "two", "look"), TABLE)
def test_changing_it_changes_the_outcome(estimator, name, others, one, two, look):
    outcome = [look(estimator(**{**DEFAULTS[estimator], **others, name: v})) for v in (one, one, two)]
    assert outcome[0] == outcome[1]  # nothing else made the difference
    assert outcome[0] != outcome[2]


@pytest.mark.parametrize("estimator", OWN)
def test_verbose_shows_a_progress_bar_on_long_fits(estimator, monkeypatch, capsys):
    data = APART if estimator is mm.HardMarginSVC else (X, Y)
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    estimator(**DEFAULTS[estimator], verbose=1).fit(*data)
    assert capsys.readouterr() == ("", "")  # this fit is a short one
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    estimator(**DEFAULTS[estimator]).fit(*data)
    assert capsys.readouterr() == ("", "")
    model = estimator(**DEFAULTS[estimator], verbose=1).fit(*data)
    out, err = capsys.readouterr()
    assert out == ""
    assert estimator.__name__.removesuffix("CV") in err  # its machines show themselves
    if estimator in LEARNERS:
        assert f"epoch {model.n_iter_}, {model.history_['mistakes'][-1]} mistakes" in err
    elif estimator is mm.MinErrorClassifier:
        assert re.search(r"errors from \d+ to \d+|rows outside a face", err)
    else:
        assert re.search(r"pass \d+, gap \d", err)


@pytest.mark.parametrize("estimator", OWN)
def test_every_parameter_is_in_the_table(estimator):
    assert set(estimator().get_params()) == {*OWN[estimator], "verbose"}


GIVEN = {
    "coef_init": {"coef_init": [1.0, 2.0, 3.0, 4.0]},
    "intercept_init": {"intercept_init": 3.0},
    "X_val": {"X_val": X, "y_val": Y},
    "sample_weight": {"sample_weight": np.arange(100) % 3},
}
FIT = {
    **dict.fromkeys(LEARNERS, ("coef_init", "intercept_init", "X_val", "sample_weight")),
    **dict.fromkeys(MACHINES, ("sample_weight",)),
}


@pytest.mark.parametrize(
    ("estimator", "name"), [(estimator, name) for estimator, names in FIT.items() for name in names]
)
def test_what_is_given_to_fit_changes_the_outcome(estimator, name):
    data = APART if estimator is mm.HardMarginSVC else (X, Y)
    plain, other = (estimator(**DEFAULTS[estimator]).fit(*data, **k) for k in ({}, GIVEN[name]))
    if name == "X_val":
        assert np.isnan(plain.history_["validation_error"]).all()
        assert np.isfinite(other.history_["validation_error"]).all()
    else:
        assert plain.coef_.tolist() != other.coef_.tolist()


@pytest.mark.parametrize("estimator", FIT)
def test_everything_that_can_be_given_to_fit_is(estimator):
    given = {part for name in FIT[estimator] for part in GIVEN[name]}
    assert {"X", "y"} | given == set(inspect.signature(estimator.fit).parameters) - {"self"}


def test_weights_given_to_a_path_change_every_machine():
    plain, other = (mm.SoftMarginSVC().path(X, Y, [0.1, 1.0], w) for w in (None, np.arange(100) % 3))
    for one, two in zip(plain, other, strict=True):
        assert one.coef_.tolist() != two.coef_.tolist()


def test_classes_given_to_partial_fit_and_learn_one_are_kept():
    for method in ("partial_fit", "learn_one"):
        x, y = ([1.0], 0) if method == "learn_one" else ([[1.0], [2.0]], [0, 1])
        model = getattr(mm.Perceptron(), method)(x, y, classes=[0, 1, 2])
        assert model.classes_.tolist() == [0, 1, 2]
        assert len(model.machines_) == 3
