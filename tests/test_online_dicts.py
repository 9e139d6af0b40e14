"""Examples as dicts of features: new ones may appear at any time and start at weight zero."""

import numpy as np
import pandas as pd
import pytest

import maxmargin as mm
import twins
from bank import problem

P = problem("holes")
NAMES = [f"feature {j}" for j in range(9)]
STREAMS = {
    "online": mm.Perceptron,
    "averaged": lambda **k: mm.Perceptron(average=True, **k),
    "normalised": lambda **k: mm.Perceptron(normalize=True, **k),
    "batch": lambda **k: mm.BatchPerceptron(0.5, **k),
    "pocket": mm.PocketPerceptron,
}
each_stream = pytest.mark.parametrize("new", STREAMS.values(), ids=STREAMS)


def named(x):
    """Only the features that are not zero, last first."""
    return {name: v for name, v in reversed(list(zip(NAMES, x.tolist(), strict=True))) if v}


def by_name(model):
    return {name: model.coef_[0, j] for name, j in model.feature_index_.items()}


@each_stream
def test_features_that_appear_are_as_good_as_known_from_the_start(new):
    dense, dicts = new(), new()
    for x, y in zip(P.X, P.y, strict=True):
        dense.learn_one(x, y)
        dicts.learn_one(named(x), y)
        assert dicts.n_mistakes_ == dense.n_mistakes_
    weights = by_name(dicts)
    assert weights == {name: dense.coef_[0, NAMES.index(name)] for name in weights}
    assert dicts.intercept_.tolist() == dense.intercept_.tolist()
    assert dicts.n_features_in_ == dicts.coef_.shape[1] == 8  # one feature never appears
    assert dense.coef_[0, 5] == 0
    assert [dicts.predict_one(named(x)) for x in P.X] == dense.predict(P.X).tolist()


def test_dicts_follow_the_twin():
    model = mm.Perceptron(threshold=1.0, eta0=0.25)
    for x, y in zip(P.X, P.y, strict=True):
        model.learn_one(named(x), y)
    twin = twins.online(P.X, P.y, [range(30)], delta=1.0, eta=0.25)
    assert [by_name(model).get(name, 0.0) for name in NAMES] == twin.z[:-1]
    assert model.n_mistakes_ == twin.made


def test_many_features():
    model = mm.Perceptron()
    for k in range(300):
        model.learn_one({f"word {k}": 1.0, f"word {k // 2}": 1.0}, k % 2)
    assert model.n_features_in_ == 300
    assert model.coef_.shape == (1, 300)
    assert np.isfinite(model.coef_).all()


def test_unknown_features_count_as_zero_in_a_prediction():
    model = mm.Perceptron().learn_one({"a": 1.0}, 1).learn_one({"b": 1.0}, 0)
    before = dict(model.feature_index_)
    assert model.predict_one({"a": 1.0, "never seen": 1e9}) == model.predict_one({"a": 1.0}) == 1
    assert model.feature_index_ == before


def test_any_hashable_name_and_an_empty_dict():
    model = mm.Perceptron()
    model.learn_one({}, "a").learn_one({("x", 3): 2.0, 7: -1.0}, "b").learn_one({7: 1.0}, "a")
    assert set(model.feature_index_) == {("x", 3), 7}
    assert model.predict_one({}) in ("a", "b")


@each_stream
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_dicts_of_three_classes(new, multi_class):
    dense, dicts = new(multi_class=multi_class), new(multi_class=multi_class)
    for i, x in enumerate(P.X):
        dense.learn_one(x, i % 3, classes=[0, 1, 2])
        dicts.learn_one(named(x), i % 3, classes=[0, 1, 2])
    for k, machine in dense.machines_.items():
        j = list(dense.machines_).index(k)
        ours = {n: dicts.coef_[j, c] for n, c in dicts.feature_index_.items()}
        assert ours == {n: machine.coef_[NAMES.index(n)] for n in ours}


@each_stream
def test_matrices_can_follow_dicts(new):
    dicts = new().learn_one({"a": 1.0, "b": 2.0}, 0).learn_one({"b": -1.0}, 1)
    vectors = new().learn_one([1.0, 2.0], 0).learn_one([0.0, -1.0], 1)
    X, y = [[3.0, 1.0], [1.0, -2.0], [0.5, 0.5]], [0, 1, 0]
    for model in (dicts, vectors):
        model.partial_fit(X, y)
        model.learn_one([1.0, 1.0], 1)
    assert dicts.coef_.tolist() == vectors.coef_.tolist()
    assert dicts.predict(X).tolist() == vectors.predict(X).tolist()
    assert dicts.set_params(warm_start=True).fit(X, y).coef_.shape == (1, 2)


def test_dicts_can_follow_a_data_frame():
    frame = pd.DataFrame(P.X, columns=NAMES)
    model = mm.Perceptron(max_iter=300).fit(frame, P.y)
    vectors = mm.Perceptron(max_iter=300).fit(P.X, P.y)
    assert [model.predict_one(named(x)) for x in P.X] == P.y.tolist()
    for x in P.X[:5]:
        model.learn_one(named(x), -1)
        vectors.learn_one(x, -1)
    assert model.coef_.tolist() == vectors.coef_.tolist()
    model.learn_one({"new": 1.0, "feature 0": 1.0}, -1)
    assert model.n_features_in_ == 10


def test_fit_forgets_the_names_before_it():
    model = mm.Perceptron().learn_one({"a": 1.0, "b": 1.0}, 0).learn_one({"b": -1.0}, 1)
    model.fit([[1.0, 1.0], [-1.0, -1.0]], [1, 0])
    with pytest.raises(mm.InputError, match=r"x must be a vector.*without feature names"):
        model.predict_one({"a": 1.0})


def test_a_dict_needs_a_model_with_names():
    model = mm.Perceptron().fit([[1.0, 1.0], [-1.0, -1.0]], [1, 0])
    for method in (lambda x: model.learn_one(x, 1), model.predict_one):
        with pytest.raises(
            mm.InputError, match=r"x must be a vector.*without feature names\. Got a dict"
        ):
            method({"a": 1.0})


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, "three", None, 1j])
def test_values_must_be_finite_numbers(value):
    model = mm.Perceptron().learn_one({"a": 1.0}, 0)
    before = (model.coef_.tolist(), dict(model.feature_index_), model.n_mistakes_)
    with pytest.raises(mm.InputError, match=r"feature values must be finite numbers.*'b'"):
        model.learn_one({"a": 1.0, "new": 1.0, "b": value}, 1)
    assert (model.coef_.tolist(), dict(model.feature_index_), model.n_mistakes_) == before
    assert model.classes_.tolist() == [0]


def test_recording_and_names_do_not_go_together():
    with pytest.raises(mm.InputError, match="record must be False when features come by name"):
        mm.Perceptron(record=True).learn_one({"a": 1.0}, 0)
