"""One machine of several stands alone: the same weights, its rows, two labels, nothing fitted again."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

import maxmargin as mm
from maxmargin.plots import CertificateDisplay, ErrorDisplay, MistakesDisplay, XSpaceDisplay
from maxmargin.plots.machine import machine_name, stand_in

mpl.use("Agg")
X, Y = load_iris(return_X_y=True)
FAR = X + 10 * np.eye(4)[Y]
MODELS = [
    mm.HardMarginSVC(),
    mm.SoftMarginSVC(),
    mm.SoftMarginSVC(class_weight="balanced"),
    mm.SoftMarginSVC(class_weight={0: 2.0, 1: 0.5}),
    mm.Perceptron(record=True, class_weight={1: 3.0}),
    mm.Perceptron(average=True),
    mm.PocketPerceptron(max_updates=200, record=True),
    mm.BatchPerceptron(record=True),
]


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_it_is_what_a_fit_to_its_two_classes_gives(model, multi_class):
    model = clone(model).set_params(multi_class=multi_class).fit(FAR, Y)
    for label, machine in model.machines_.items():
        alone, rows, labels = stand_in(model, FAR, Y, label)
        assert type(alone) is type(model) and list(alone.machines_) == [alone.classes_.tolist()[1]]
        np.testing.assert_array_equal(alone.coef_, [machine.coef_])
        np.testing.assert_array_equal(alone.intercept_, [machine.intercept_])
        again = clone(alone).fit(rows, labels)
        np.testing.assert_allclose(again.coef_, alone.coef_, rtol=1e-12)
        np.testing.assert_array_equal(again.classes_, alone.classes_)
        np.testing.assert_array_equal(again.predict(rows), alone.predict(rows))
        for name in ("dual_", "slack_", "support_", "n_iter_", "n_mistakes_", "best_error_"):
            if hasattr(again, name):
                np.testing.assert_allclose(getattr(alone, name), getattr(again, name), atol=1e-12)
        if hasattr(again, "trace_"):
            assert [u.row for u in alone.trace_] == [u.row for u in again.trace_]
            np.testing.assert_array_equal(alone.trace_.weights, again.trace_.weights)
        if hasattr(again, "stop_reason_"):
            assert alone.stop_reason_ == again.stop_reason_


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_pictures_of_two_classes_are_drawn_for_it(model, multi_class):
    model = clone(model).set_params(multi_class=multi_class).fit(FAR, Y)
    label = list(model.machines_)[-1]
    alone, rows, labels = stand_in(model, FAR, Y, label)
    assert XSpaceDisplay.from_estimator(alone, rows, labels).boundary_ is not None
    if hasattr(alone, "certificate_"):
        shown = CertificateDisplay.from_estimator(alone, rows, labels)
        whole = CertificateDisplay.from_estimator(model, FAR, Y, label=label)
        np.testing.assert_array_equal(shown.alpha, whole.alpha)
        np.testing.assert_allclose(shown.excess, whole.excess, atol=1e-12)
    else:
        shown = ErrorDisplay.from_estimator(alone)
        np.testing.assert_array_equal(shown.training, model.history_[label]["training_error"])
    if hasattr(alone, "order"):
        shown = MistakesDisplay.from_estimator(alone, rows, labels)
        assert shown.mistakes[-1] == model.machines_[label].n_mistakes_


def test_the_model_itself_is_left_as_it_was():
    model = mm.SoftMarginSVC(class_weight="balanced").fit(X, Y)
    before = dict(vars(model))
    stand_in(model, X, Y, 1)
    assert vars(model) == before


def test_rows_may_be_a_frame_or_sparse():
    model = mm.SoftMarginSVC(multi_class="ovo").fit(X, Y)
    _, rows, labels = stand_in(model, pd.DataFrame(X), pd.Series(Y), (0, 2))
    assert isinstance(rows, pd.DataFrame) and rows.shape == (100, 4) and set(labels) == {0, 2}
    _, rows, _ = stand_in(model, sparse.csr_array(X), Y, (0, 2))
    assert rows.shape == (100, 4)


def test_of_two_classes_it_is_the_model():
    model = mm.Perceptron().fit(X, Y == 0)
    alone, rows, labels = stand_in(model, X, Y == 0)
    assert alone is model and rows is X and np.array_equal(labels, Y == 0)


@pytest.mark.parametrize("label", [None, 7])
def test_a_label_that_names_no_machine(label):
    with pytest.raises(mm.InputError, match="label must name one of 3 machines: 0, 1, 2"):
        stand_in(mm.SoftMarginSVC().fit(X, Y), X, Y, label)


def test_names():
    assert machine_name(3) == "3 against all others" and machine_name(("a", "b")) == "b against a"
