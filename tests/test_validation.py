"""Stopping on validation rows: the user's own, or a stratified split that is not trained on."""

import numpy as np
import pytest

import maxmargin as mm
import twins
from bank import problem
from maxmargin.stopping import MaxUpdates, ValidationErrorStalls

P = problem("overlap")
TRAIN, VALID = np.s_[:40], np.s_[40:]
ESTIMATORS = {
    "online": lambda stop: mm.Perceptron(stop=stop, max_iter=None, random_state=0),
    "batch": lambda stop: mm.BatchPerceptron(0.1, stop=stop, max_iter=None, random_state=0),
    "pocket": lambda stop: mm.PocketPerceptron(10_000, stop=stop, polish=False, random_state=0),
}


def test_own_validation_rows_stop_the_run_and_fill_the_history():
    model = mm.Perceptron(stop=ValidationErrorStalls(patience=3), max_iter=None)
    model.fit(P.X[TRAIN], P.y[TRAIN], X_val=P.X[VALID], y_val=P.y[VALID])
    twin = twins.online(P.X[TRAIN], P.y[TRAIN], [range(40)] * model.n_iter_)
    errors = [twins.errors(P.X[VALID], P.y[VALID], z[:-1], z[-1]) / 20 for z in twin.ends]
    assert model.history_["validation_error"].tolist() == errors
    assert model.n_iter_ == int(np.argmin(errors)) + 1 + 3
    assert model.stop_reason_.rule == "validation_error_stalls"
    for fact in (
        "validation error",
        "for 3 epochs",
        f"{errors[-1]:.4g}",
        f"{min(errors):.4g} was the best",
    ):
        assert fact in str(model.stop_reason_)


def test_validation_rows_are_kept_in_the_history_without_a_rule():
    model = mm.Perceptron(stop=MaxUpdates(5))
    model.fit(P.X[TRAIN], P.y[TRAIN], X_val=P.X[VALID], y_val=P.y[VALID])
    assert np.isfinite(model.history_["validation_error"]).all()
    assert np.isnan(mm.Perceptron(stop=MaxUpdates(5)).fit(P.X, P.y).history_["validation_error"]).all()


def test_validation_error_is_that_of_the_average_that_predicts():
    model = mm.Perceptron(average=True, stop=MaxUpdates(25))
    model.fit(P.X[TRAIN], P.y[TRAIN], X_val=P.X[VALID], y_val=P.y[VALID])
    f = P.y[VALID] * model.decision_function(P.X[VALID])
    assert model.history_["validation_error"][-1] == np.mean(f <= 0)


@pytest.mark.parametrize("new", ESTIMATORS.values(), ids=ESTIMATORS)
def test_every_estimator_stops_on_validation_error(new):
    own = new(ValidationErrorStalls(2)).fit(P.X[TRAIN], P.y[TRAIN], X_val=P.X[VALID], y_val=P.y[VALID])
    split = new(ValidationErrorStalls(2, fraction=0.25)).fit(P.X, P.y)
    for model in (own, split):
        assert model.stop_reason_.rule == "validation_error_stalls"
        assert np.isfinite(model.history_["validation_error"]).all()


@pytest.mark.parametrize("order", ["cyclic", "shuffled", "random"])
def test_rows_of_the_split_are_not_trained_on(order):
    # Identity rows: the weight of feature i moves if and only if row i was trained on.
    n = 40
    y = np.where(np.arange(n) % 4 == 0, 1, -1)
    stop = ValidationErrorStalls(patience=5, fraction=0.2)
    model = mm.Perceptron(order=order, stop=stop, fit_intercept=False, random_state=1).fit(np.eye(n), y)
    held_out = model.coef_[0] == 0
    assert np.count_nonzero(held_out) == 8
    assert np.count_nonzero(held_out & (y > 0)) == 2  # stratified: a quarter is positive


@pytest.mark.parametrize("new", ESTIMATORS.values(), ids=ESTIMATORS)
def test_measured_rows_of_the_split_are_those_not_trained_on(new):
    # A feature of its own per row: on rows never trained on f = b, everywhere else training decides.
    n = 40
    y = np.where(np.arange(n) % 4 == 0, 1, -1)
    model = new(ValidationErrorStalls(patience=5, fraction=0.2)).set_params(fit_intercept=False)
    model.fit(np.eye(n), y)
    assert model.history_["validation_error"].tolist() == [1.0] * model.n_iter_  # f = 0 is an error
    assert model.history_["training_error"][-1] == 0.0


def test_seed_fixes_the_split():
    stop = ValidationErrorStalls(patience=2, fraction=0.3)
    coef = [
        mm.Perceptron(stop=stop, random_state=s, max_iter=None).fit(P.X, P.y).coef_.tolist()
        for s in (0, 0, 1)
    ]
    assert coef[0] == coef[1] != coef[2]


def test_own_rows_take_precedence_over_the_split():
    model = mm.Perceptron(stop=ValidationErrorStalls(patience=2), fit_intercept=False, max_iter=None)
    y = np.where(np.arange(20) % 2, 1, -1)
    model.fit(np.eye(20), y, X_val=np.eye(20), y_val=y)
    assert np.all(model.coef_ != 0)  # nothing was held out


def test_a_pair_without_validation_rows_is_not_stopped_by_them():
    y = np.arange(60) % 3
    rule = ValidationErrorStalls(patience=2)
    model = mm.Perceptron(multi_class="ovo", stop=rule | MaxUpdates(200), max_iter=None)
    model.fit(P.X, y, X_val=P.X[y == 0], y_val=y[y == 0])
    assert model.machines_[1, 2].stop_reason_.rule != "validation_error_stalls"


def test_errors_of_validation_are_clear():
    model = mm.Perceptron(stop=ValidationErrorStalls())
    with pytest.raises(mm.InputError, match="X_val and y_val must be given together"):
        model.fit(P.X, P.y, X_val=P.X)
    with pytest.raises(mm.InputError, match=r"y_val must hold one label per row of X_val, 60 in all"):
        model.fit(P.X, P.y, X_val=P.X, y_val=P.y[:-1])
    with pytest.raises(mm.InputError, match=r"labels must be among the classes.*Got .*7"):
        model.fit(P.X, P.y, X_val=P.X[:1], y_val=[7])
    with pytest.raises(ValueError, match="3 features"):
        model.fit(P.X, P.y, X_val=P.X[:, :3], y_val=P.y)
    with pytest.raises(mm.InputError, match="the validation split needs enough rows of every class"):
        model.fit(P.X[:4], [0, 0, 0, 1])
