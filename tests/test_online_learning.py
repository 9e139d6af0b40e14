"""Learning as examples arrive: partial_fit, learn_one, predict_one, vectors and dicts."""

from itertools import islice

import numpy as np
import pytest
from sklearn.datasets import load_iris

import maxmargin as mm
import twins
from bank import BANK, problem
from twins import z_of
from zoo import STREAMS

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
each_stream = pytest.mark.parametrize("new", STREAMS.values(), ids=STREAMS)


def chunks(X, y, size):
    return [(X[k : k + size], y[k : k + size]) for k in range(0, len(y), size)]


@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_partial_fit_over_chunks_is_one_cyclic_epoch(p, size):
    model = mm.Perceptron()
    for X, y in chunks(p.X, p.y, size):
        model.partial_fit(X, y, classes=[-1, 1])
    twin = twins.online(p.X, p.y, [range(len(p.y))])
    assert z_of(model) == twin.z
    assert model.n_mistakes_ == twin.made
    assert "as examples arrive" in str(model.stop_reason_)


def test_partial_fit_goes_on_after_fit():
    p = problem("overlap")
    model = mm.Perceptron(max_iter=2)
    with pytest.warns(mm.BudgetWarning):
        model.fit(p.X, p.y)
    model.partial_fit(p.X, p.y)
    twin = twins.online(p.X, p.y, [range(60)] * 3)
    assert z_of(model) == twin.z
    assert (model.n_mistakes_, model.n_iter_) == (twin.made, 3)
    assert model.history_["mistakes"].tolist() == twin.per_epoch


def test_averages_go_on_over_chunks():
    p = problem("overlap")
    model = mm.Perceptron(average=True)
    for X, y in chunks(p.X, p.y, 9):
        model.partial_fit(X, y, classes=[-1, 1])
    twin = twins.online(p.X, p.y, [range(60)])
    np.testing.assert_allclose(z_of(model), twins.naive_average(twin), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_chunks_of_many_classes_are_one_epoch(multi_class):
    shuffled = np.random.default_rng(0).permutation(150)
    X, y = IRIS_X[shuffled], IRIS_Y[shuffled]
    whole = mm.Perceptron(multi_class=multi_class, max_iter=1)
    with pytest.warns(mm.BudgetWarning):
        whole.fit(X, y)
    model = mm.Perceptron(multi_class=multi_class)
    single = mm.Perceptron(multi_class=multi_class)
    for part in chunks(X, y, 11):
        model.partial_fit(*part, classes=[0, 1, 2])
    for x, label in zip(X, y, strict=True):
        single.learn_one(x, label, classes=[0, 1, 2])
    assert whole.coef_.tolist() == model.coef_.tolist() == single.coef_.tolist()
    assert whole.n_mistakes_ == model.n_mistakes_ == single.n_mistakes_
    assert list(single.machines_) == list(whole.machines_)


@pytest.mark.parametrize("order", ["shuffled", "random"])
@pytest.mark.parametrize("estimator", [mm.Perceptron, mm.PocketPerceptron])
def test_a_chunk_without_a_pair_leaves_its_machine_alone(estimator, order):
    model = estimator(order=order, multi_class="ovo", random_state=0)
    model.partial_fit(IRIS_X[:50], IRIS_Y[:50], classes=[0, 1, 2])
    assert model.machines_[1, 2].coef_.tolist() == [0.0] * 4
    assert np.any(model.machines_[0, 1].coef_ != 0)


def test_learn_one_is_the_online_protocol():
    p = problem("virginica")
    order = np.random.default_rng(1).permutation(100)
    twin = twins.online(p.X, p.y, [order])
    model, z, suffered = mm.Perceptron(), [0.0] * 5, 0
    for x, y in zip(p.X[order], p.y[order], strict=True):
        suffered += y * twins.decision(z[:-1], z[-1], x) <= 0
        model.learn_one(x, y, classes=[-1, 1])
        z = z_of(model)
        assert model.n_mistakes_ == suffered  # the running count
    assert z == twin.z
    assert suffered == twin.made


@each_stream
def test_learn_one_is_partial_fit_of_one_row(new):
    p = problem("virginica")
    one, many = new(), new()
    for x, y in islice(zip(p.X[::3], p.y[::3], strict=True), 30):
        one.learn_one(x, y, classes=[-1, 1])
        many.partial_fit([x], [y], classes=[-1, 1])
    assert z_of(one) == z_of(many)
    assert one.n_mistakes_ == many.n_mistakes_ > 0


@pytest.mark.parametrize("order", ["shuffled", "random"])
def test_fit_forgets_the_stream_before_it(order):
    p = problem("overlap")
    fresh, used = (mm.Perceptron(order=order, max_iter=2, random_state=3) for _ in range(2))
    used.partial_fit(p.X, p.y, classes=[-1, 1])
    for model in (fresh, used):
        with pytest.warns(mm.BudgetWarning):
            model.fit(p.X, p.y)
        model.partial_fit(p.X, p.y)
    assert z_of(fresh) == z_of(used)


@pytest.mark.parametrize("seed", range(20))
def test_pocket_of_a_stream_keeps_the_weights_with_the_longest_run(seed):
    p = problem("virginica")
    order = np.random.default_rng(seed).permutation(100)[: 10 + 4 * seed]  # short streams make ties
    model = mm.PocketPerceptron()
    z, run, longest, kept = [0.0] * 5, 0, 0, [0.0] * 5
    for i in order:
        model.learn_one(p.X[i], p.y[i], classes=[-1, 1])
        before = list(z)
        if p.y[i] * twins.decision(z[:-1], z[-1], p.X[i]) <= 0:
            z = [zj + p.y[i] * xj for zj, xj in zip(z, [*p.X[i], 1.0], strict=True)]
            run = 0
        else:
            run += 1
        if run > longest:
            longest, kept = run, before
    assert z_of(model) == kept
