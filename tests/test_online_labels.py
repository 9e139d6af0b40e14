"""Labels of a stream: discovered or announced, the model is the same; strange ones are refused."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import maxmargin as mm
from bank import problem
from twins import z_of
from zoo import STREAMS

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
STREAMS = {**STREAMS, "weighted": lambda **k: mm.Perceptron(class_weight={1: 3.0}, eta0=0.5, **k)}
each_stream = pytest.mark.parametrize("new", STREAMS.values(), ids=STREAMS)


@each_stream
@pytest.mark.parametrize("first", [0, 99])
def test_classes_discovered_in_either_order_are_as_good_as_known(new, first):
    p = problem("virginica")
    order = [first, first, *np.random.default_rng(2).permutation(100)]
    known, found = new(), new()
    for i in order:
        known.learn_one(p.X[i], p.y[i], classes=[-1, 1])
        found.learn_one(p.X[i], p.y[i])
    assert found.classes_.tolist() == [-1, 1]
    assert z_of(found) == z_of(known)
    assert found.n_mistakes_ == known.n_mistakes_
    assert list(found.machines_) == [1]


@pytest.mark.parametrize("first", [0, 99])
def test_trace_of_discovered_classes_is_that_of_known_ones(first):
    p = problem("virginica")
    known, found = mm.Perceptron(record=True), mm.Perceptron(record=True)
    for i in [first, 50, 0, 99, 51]:
        known.learn_one(p.X[i], p.y[i], classes=[-1, 1])
        found.learn_one(p.X[i], p.y[i])
    assert found.trace_.weights.tolist() == known.trace_.weights.tolist()
    assert [u.margin for u in found.trace_] == [u.margin for u in known.trace_]


def test_predict_one_before_and_after_labels_are_known():
    model = mm.Perceptron()
    assert model.predict_one([1.0, 2.0]) is None
    model.learn_one([1.0, 2.0], "spam")
    assert model.predict_one([1.0, 2.0]) == "spam"  # the only label there is
    model.learn_one([-1.0, 0.5], "ham")
    assert model.classes_.tolist() == ["ham", "spam"]
    assert {model.predict_one(x) for x in ([1.0, 2.0], [-9.0, 0.0])} == {"spam", "ham"}
    assert type(model.predict_one([1.0, 2.0])) is str


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@each_stream
def test_predict_one_is_predict_of_one_row(new, multi_class):
    model = new(multi_class=multi_class).partial_fit(IRIS_X, IRIS_Y, classes=[0, 1, 2])
    assert [model.predict_one(x) for x in IRIS_X[::7]] == model.predict(IRIS_X[::7]).tolist()


@pytest.mark.parametrize(("first", "second"), [(1, "a"), ("a", 1), (1, None), (None, 1)])
def test_labels_that_cannot_be_sorted_are_refused(first, second):
    with pytest.raises(ValueError, match="label"):
        mm.Perceptron().learn_one([1.0], first).learn_one([2.0], second)


def test_errors_of_partial_fit():
    X, y = [[1.0, 2.0], [2.0, 0.0]], [0, 1]
    with pytest.raises(mm.InputError, match=r"classes must name all labels in the first call.*Got None"):
        mm.Perceptron().partial_fit(X, y)
    model = mm.Perceptron().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(
        mm.InputError, match=r"`classes` must be the same in every call, \[0, 1\].*\[0, 1, 2\]"
    ):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(mm.InputError, match=r"labels must be among the classes.*Got .*7"):
        model.partial_fit(X, [0, 7])
    with pytest.raises(ValueError, match=r"3 features.*2 features"):
        model.partial_fit([[1.0, 2.0, 3.0]], [0])
    with pytest.raises(mm.InputError, match=r"class_weight must be None or a dict.*Got 'balanced'"):
        mm.Perceptron(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
