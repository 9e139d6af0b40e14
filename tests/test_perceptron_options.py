"""The online perceptron's options, each against the twin: start, lengths, average, weights, labels."""

import warnings
from itertools import repeat

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin as mm
import twins
from bank import OVERLAPPING, problem
from twins import z_of


def cyclic(n):
    return repeat(range(n))


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
        mm.Perceptron(class_weight=w, max_iter=None).fit(X, y)
        for w in ("balanced", {0: 5 / 8, 1: 5 / 2})
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


@pytest.mark.parametrize("order", ["cyclic", "shuffled", "random"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("estimator", [mm.Perceptron, mm.PocketPerceptron])
def test_whoever_watches_changes_nothing(estimator, multi_class, order):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-5, 6, (40, 3)).astype(float), rng.integers(0, 4, 40)
    model = estimator(multi_class=multi_class, order=order, random_state=0)
    if estimator is mm.PocketPerceptron:
        model.set_params(max_updates=200, polish=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        alone, watched = clone(model).fit(X, y), clone(model).fit(X, y, X_val=X, y_val=y)
    assert alone.n_mistakes_ == watched.n_mistakes_
    assert alone.coef_.tolist() == watched.coef_.tolist()


@pytest.mark.parametrize("weight", [1e308, 1e10, 1e-10, 1e-310])
@pytest.mark.parametrize("estimator", [mm.Perceptron, mm.BatchPerceptron, mm.PocketPerceptron])
def test_weights_by_which_steps_overflow_are_refused(estimator, weight):
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    with pytest.raises(mm.InputError, match="sample_weight must hold 0 or numbers between"):
        estimator().fit(X, y, sample_weight=[1.0, weight, 0.0])
    with pytest.raises(mm.InputError, match="sample_weight must hold 0 or numbers between"):
        estimator().partial_fit(X, y, classes=[0, 1], sample_weight=[1.0, weight, 0.0])


def test_a_warm_start_keeps_what_its_weights_mean():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    model = mm.Perceptron(warm_start=True).fit(X, y)
    with pytest.raises(mm.InputError, match="fit_intercept must stay as it was"):
        model.set_params(fit_intercept=False).fit(X, y)


def test_balanced_weights_of_a_class_without_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)) * 3, np.arange(30) % 3
    X[:, 0] += 40 * (y == 1)
    X[:, 1] += 40 * (y == 2)
    model = mm.Perceptron(class_weight="balanced", warm_start=True).fit(X, y)
    assert np.all(np.isfinite(model.fit(X[y < 2], y[y < 2]).coef_))


def test_a_pocket_whose_rows_have_no_weight_cannot_be_judged():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    model = mm.PocketPerceptron(multi_class="ovo")
    model.partial_fit(X, y, classes=[0, 1, 2], sample_weight=(y == 2).astype(float))
    assert np.isnan(model.best_error_[(0, 1)])
