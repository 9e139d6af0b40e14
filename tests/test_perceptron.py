"""The online perceptron: the lectures' worked examples, and each of its rules against the twin."""

from itertools import repeat

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin as mm
import twins
from bank import BANK, SEPARABLE, problem
from maxmargin.solvers.perceptron import online
from maxmargin.stopping import MaxUpdates, TrainingErrorStalls, ValidationErrorStalls
from twins import z_of


def cyclic(n):
    return repeat(range(n))


def test_pass_or_fail():
    p = problem("pass or fail")
    twin = twins.online(p.X, p.y, cyclic(3))
    model = mm.Perceptron(max_iter=None).fit(p.X, p.y)
    assert (model.n_mistakes_, model.n_iter_) == (twin.made, len(twin.per_epoch)) == (25, 10)
    assert z_of(model) == twin.z
    assert z_of(model) == [-40, 50, -9]  # a plane on which the exam counts, and homework hurts
    assert model.predict([[50, 60]]).tolist() == [1]  # −40·50 + 50·60 − 9 > 0: passed
    assert model.predict(p.X).tolist() == p.y.tolist()


def test_opposite_points_need_one_update():
    model = mm.Perceptron().fit([[1, 1], [-1, -1]], [1, -1])
    assert z_of(model) == [1, 1, 1]
    assert (model.n_mistakes_, model.n_iter_) == (1, 2)


def test_quarter_point_needs_more():
    # By hand: +(1,1,1); f(−¼,−¼) = ½ is wrong: +(¼,¼,−1); then (1¼,1¼,0) is right on both.
    model = mm.Perceptron().fit([[1, 1], [-0.25, -0.25]], [1, -1])
    assert z_of(model) == [1.25, 1.25, 0]
    assert (model.n_mistakes_, model.n_iter_) == (2, 2)


# Not "scales": R²/γ² is beyond 10¹² there, and no perceptron gets through.
@pytest.mark.parametrize("p", [p for p in SEPARABLE if p.name != "scales"], ids=lambda p: p.name)
def test_padded_and_pre_multiplied_rows_are_all_positive_in_the_end(p):
    model = mm.Perceptron(max_iter=None).fit(p.X, p.y)
    assert np.all(p.A @ z_of(model) > 0)
    assert model.stop_reason_.rule == "all_correct"
    assert model.history_["mistakes"][-1] == 0
    assert np.all(model.history_["mistakes"][:-1] > 0)  # the first clean epoch is the last


@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
def test_cyclic_epochs_are_the_twins_epochs(p):
    model = mm.Perceptron(max_iter=12).fit(p.X, p.y)
    twin = twins.online(p.X, p.y, [range(len(p.y))] * model.n_iter_)
    assert z_of(model) == twin.z
    assert model.n_mistakes_ == twin.made
    assert model.history_["mistakes"].tolist() == twin.per_epoch


def test_a_point_on_the_boundary_is_predicted_negative_and_updates():
    model = mm.Perceptron(max_iter=1, fit_intercept=False)
    with pytest.warns(mm.BudgetWarning):
        model.fit([[0.0, 1.0], [1.0, 0.0]], [1, -1])
    assert model.n_mistakes_ == 2  # f = 0 at both: a mistake for +1 and for −1
    assert z_of(model) == [-1, 1, 0]
    assert model.decision_function([[1.0, 1.0]]).tolist() == [0.0]
    assert model.predict([[1.0, 1.0]]).tolist() == [-1]


@pytest.mark.parametrize("delta", [0.0, 0.5, 10.0, 100.0])
@pytest.mark.parametrize("name", ["integer blobs", "gaussian", "setosa"])
def test_threshold(name, delta):
    p = problem(name)
    model = mm.Perceptron(threshold=delta, max_iter=None).fit(p.X, p.y)
    twin = twins.online(p.X, p.y, cyclic(len(p.y)), delta=delta)
    assert z_of(model) == twin.z
    assert model.n_mistakes_ == twin.made
    assert np.all(p.y * model.decision_function(p.X) > delta)


@pytest.mark.parametrize("eta", [0.25, 0.1, 8.0])
def test_step_scales_the_weights_and_nothing_else(eta):
    p = problem("integer blobs")
    one = mm.Perceptron(max_iter=None).fit(p.X, p.y)
    model = mm.Perceptron(eta0=eta, max_iter=None).fit(p.X, p.y)
    twin = twins.online(p.X, p.y, cyclic(len(p.y)), eta=eta)
    assert z_of(model) == twin.z
    if eta != 0.1:  # powers of two are exact
        assert z_of(model) == [eta * v for v in z_of(one)]
        assert model.n_mistakes_ == one.n_mistakes_


SETTINGS = {
    "cyclic": {},
    "average": {"average": True},
    "shuffled": {"order": "shuffled", "random_state": 3},
    "threshold": {"threshold": 2.0, "normalize": True},
    "updates": {"stop": MaxUpdates(17)},
    "error": {"stop": TrainingErrorStalls(4) & MaxUpdates(5)},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
def test_many_epochs_in_one_call_are_the_epochs_one_by_one(p, settings, monkeypatch):
    def told(model):
        lines = [line._replace(seconds=0.0) for line in model.history_]
        return z_of(model), model.stop_reason_, repr(lines), model.n_mistakes_

    together = mm.Perceptron(max_iter=23, **settings).fit(p.X, p.y)
    monkeypatch.setattr(online, "MAX_EPOCHS_AT_ONCE", 1)
    alone = mm.Perceptron(max_iter=23, **settings).fit(p.X, p.y)
    assert told(together) == told(alone)
    assert np.all(np.diff(together.history_["seconds"]) >= 0)


@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
def test_sample_weights_scale_the_steps(p):
    weight = 1.0 + np.arange(len(p.y)) % 4 * 0.5
    model = mm.Perceptron(max_iter=7).fit(p.X, p.y, sample_weight=weight)
    twin = twins.online(p.X, p.y, [range(len(p.y))] * model.n_iter_, row_weight=weight)
    assert (z_of(model), model.n_mistakes_) == (twin.z, twin.made)
    once = twins.online(p.X, p.y, [range(len(p.y))], row_weight=weight)
    part = mm.Perceptron().partial_fit(p.X, p.y, classes=[-1, 1], sample_weight=weight)
    assert (z_of(part), part.n_mistakes_) == (once.z, once.made)


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize(
    "model", [mm.Perceptron(), mm.BatchPerceptron(), mm.PocketPerceptron(50)], ids=repr
)
@pytest.mark.parametrize("stop", [None, ValidationErrorStalls(2, fraction=0.3)], ids=str)
def test_rows_of_weight_zero_are_left_out(model, stop):
    p = problem("overlap")
    model = clone(model).set_params(stop=stop, random_state=0)
    kept = np.arange(len(p.y)) % 3 > 0
    weighed = clone(model).fit(p.X, p.y, sample_weight=kept.astype(float))
    assert z_of(weighed) == z_of(clone(model).fit(p.X[kept], p.y[kept]))


def test_sample_weights_weigh_the_risk_and_the_errors():
    p = problem("overlap")
    weight = np.where(np.arange(60) < 30, 4.0, 1.0)
    model = mm.PocketPerceptron(200, random_state=0).fit(p.X, p.y, sample_weight=weight)
    wrong = p.y * model.decision_function(p.X) <= 0
    assert model.best_error_ == pytest.approx(weight @ wrong / weight.sum())
    assert model.error_lower_bound_ == 0.0
    step = mm.BatchPerceptron(0.01, max_iter=1)
    with pytest.warns(mm.BudgetWarning):
        step.fit(p.X, p.y, coef_init=np.zeros((1, p.X.shape[1])), sample_weight=weight)
    np.testing.assert_allclose(z_of(step), 0.01 * weight @ p.A, rtol=1e-12)
