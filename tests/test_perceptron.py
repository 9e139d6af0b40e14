"""The online perceptron: the lectures' worked examples, and each of its rules against the twin."""

from itertools import repeat

import numpy as np
import pytest

import maxmargin as mm
import twins
from bank import BANK, OVERLAPPING, SEPARABLE, problem


def z_of(model):
    return [*model.coef_[0].tolist(), float(model.intercept_[0])]


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


@pytest.mark.parametrize("p", SEPARABLE, ids=lambda p: p.name)
def test_padded_and_pre_multiplied_rows_are_all_positive_in_the_end(p):
    if p.name == "scales":
        pytest.skip("R²/γ² is beyond 10¹² there: no perceptron gets through")
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


def test_start_from_given_weights():
    p = problem("gaussian")
    start = [1.0, -2.0, 0.5, 1.0, 0.3]  # nearly the answer
    model = mm.Perceptron(max_iter=None).fit(p.X, p.y, coef_init=[start[:4]], intercept_init=[start[4]])
    twin = twins.online(p.X, p.y, cyclic(len(p.y)), start=start)
    assert z_of(model) == twin.z
    alone = mm.Perceptron(max_iter=None).fit(p.X, p.y, intercept_init=2.0)
    assert z_of(alone) == twins.online(p.X, p.y, cyclic(len(p.y)), start=[0, 0, 0, 0, 2.0]).z


@pytest.mark.parametrize("settings", [{}, {"pad": 0.0}, {"delta": 0.05}])
def test_normalised_rows(settings):
    p = problem("setosa")
    model = mm.Perceptron(
        normalize=True,
        fit_intercept="pad" not in settings,
        threshold=settings.get("delta", 0.0),
        max_iter=None,
    ).fit(p.X, p.y)
    twin = twins.online(p.X, p.y, cyclic(len(p.y)), normalize=True, **settings)
    assert z_of(model) == twin.z
    assert model.n_mistakes_ == twin.made


@pytest.mark.parametrize("p", OVERLAPPING, ids=lambda p: p.name)
@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
def test_average_is_the_naive_average(p):
    model = mm.Perceptron(average=True, max_iter=6).fit(p.X, p.y)
    twin = twins.online(p.X, p.y, [range(len(p.y))] * model.n_iter_)
    mean = twins.naive_average(twin)
    np.testing.assert_allclose(z_of(model), mean, rtol=1e-12, atol=1e-12)
    wrong = twins.errors(p.X, p.y, *(lambda z: (z[:-1], z[-1]))(z_of(model)))
    assert model.history_["training_error"][-1] == wrong / len(p.y)


def test_without_intercept_the_plane_goes_through_the_origin():
    p = problem("overlap")
    model = mm.Perceptron(fit_intercept=False, max_iter=5)
    with pytest.warns(mm.BudgetWarning):
        model.fit(p.X, p.y)
    assert z_of(model) == twins.online(p.X, p.y, [range(len(p.y))] * 5, pad=0.0).z
    assert model.intercept_.tolist() == [0.0]


def test_warm_start_goes_on_where_it_stopped():
    p = problem("pass or fail")
    whole = mm.Perceptron(max_iter=None).fit(p.X, p.y)
    model = mm.Perceptron(max_iter=4, warm_start=True)
    with pytest.warns(mm.BudgetWarning):
        model.fit(p.X, p.y)
    first = model.n_mistakes_
    with pytest.warns(mm.BudgetWarning):
        model.fit(p.X, p.y)
    second = model.n_mistakes_
    model.fit(p.X, p.y)
    assert z_of(model) == z_of(whole)
    assert first + second + model.n_mistakes_ == whole.n_mistakes_


@pytest.mark.parametrize("weight", [{-1: 1.0, 1: 4.0}, {-1: 0.3, 1: 0.7}, {1: 2.5}])
def test_class_weight_scales_the_steps(weight):
    p = problem("overlap")
    model = mm.Perceptron(class_weight=weight, eta0=0.5, max_iter=4)
    with pytest.warns(mm.BudgetWarning):
        model.fit(p.X, p.y)
    twin = twins.online(p.X, p.y, [range(len(p.y))] * 4, eta=0.5, weight={-1: 1.0, 1: 1.0, **weight})
    assert z_of(model) == twin.z


def test_balanced_weights_are_inverse_frequencies():
    X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 0, 0, 0, 1]
    balanced, given = (
        mm.Perceptron(class_weight=w, max_iter=None).fit(X, y) for w in ("balanced", {0: 5 / 8, 1: 5 / 2})
    )
    assert z_of(balanced) == z_of(given)
    assert z_of(balanced) != z_of(mm.Perceptron(max_iter=None).fit(X, y))


@pytest.mark.parametrize(
    "labels", [(0, 1), (-1, 1), ("no", "yes"), (False, True), (2.0, 7.0), (-5, -3), ("B", "a")]
)
def test_the_larger_label_is_positive(labels):
    p = problem("integer blobs")
    y = np.where(p.y > 0, labels[1], labels[0])
    model = mm.Perceptron(max_iter=None).fit(p.X, y)
    assert z_of(model) == z_of(mm.Perceptron(max_iter=None).fit(p.X, p.y))
    assert model.classes_.tolist() == list(labels)
    assert model.predict(p.X).tolist() == y.tolist()
    assert list(model.machines_) == [labels[1]]
