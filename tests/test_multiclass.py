"""One-vs-rest and one-vs-one: each machine is the binary fit, and they vote as in the lecture."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

import maxmargin as mm
import twins
from maxmargin.stopping import MaxUpdates, ValidationErrorStalls

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[IRIS_Y]
DIGITS_X, DIGITS_Y = (a[:400] for a in load_digits(return_X_y=True))

ONLINE = {
    "online": lambda **k: mm.Perceptron(max_iter=15, **k),
    "averaged": lambda **k: mm.Perceptron(max_iter=15, average=True, threshold=1.0, **k),
    "normalised": lambda **k: mm.Perceptron(max_iter=15, normalize=True, **k),
    "pocket": lambda **k: mm.PocketPerceptron(150, polish=False, **k),
}
BATCH = {
    "batch": lambda **k: mm.BatchPerceptron(max_iter=15, **k),
    "fixed step": lambda **k: mm.BatchPerceptron(0.5, max_iter=15, **k),
}
ALL = {**ONLINE, **BATCH}
pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")


def assert_same(machine, binary, exactly=True):
    assert machine.n_mistakes_ == binary.n_mistakes_
    assert machine.n_iter_ == binary.n_iter_
    assert machine.stop_reason_ == binary.stop_reason_
    size = 0.0 if exactly else 1e-9 * np.abs(binary.coef_).max()
    np.testing.assert_allclose(machine.coef_, binary.coef_[0], rtol=0, atol=size)
    np.testing.assert_allclose(machine.intercept_, binary.intercept_[0], rtol=0, atol=size)


@pytest.mark.parametrize("record", [False, True], ids=["together", "recorded"])
@pytest.mark.parametrize("data", [(IRIS_X, NAMES), (DIGITS_X, DIGITS_Y)], ids=["iris", "digits"])
@pytest.mark.parametrize("name", ALL)
def test_one_vs_rest_machines_are_binary_fits(name, data, record):
    X, y = data
    model = ALL[name](record=record).fit(X, y)
    assert list(model.machines_) == sorted(set(y.tolist()))
    for label, machine in model.machines_.items():
        assert_same(machine, ALL[name]().fit(X, y == label), exactly=name in ONLINE)
        assert (machine.trace_ is not None) == record
    assert model.n_mistakes_ == sum(m.n_mistakes_ for m in model.machines_.values())


@pytest.mark.parametrize("name", ALL)
def test_one_vs_one_machines_are_binary_fits_of_their_pairs(name):
    model = ALL[name](multi_class="ovo").fit(IRIS_X, NAMES)
    pairs = list(combinations(["setosa", "versicolor", "virginica"], 2))
    assert list(model.machines_) == pairs
    for pair in pairs:
        mine = np.isin(NAMES, pair)
        binary = ALL[name]().fit(IRIS_X[mine], NAMES[mine])
        assert binary.classes_[1] == pair[1]  # the larger label is +1
        assert_same(model.machines_[pair], binary)


def test_one_vs_rest_steps_are_balanced_per_machine_by_its_class_only():
    model = mm.Perceptron(max_iter=5, class_weight={0: 3.0, 1: 0.5}).fit(IRIS_X, IRIS_Y)
    for label, weight in [(0, 3.0), (1, 0.5), (2, 1.0)]:
        binary = mm.Perceptron(max_iter=5, class_weight={True: weight}).fit(IRIS_X, label == IRIS_Y)
        assert_same(model.machines_[label], binary)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", ALL)
def test_prediction_is_argmax_or_majority_vote(name, fit_intercept):
    for multi_class, twin in [("ovr", twins.one_vs_rest), ("ovo", twins.one_vs_one)]:
        model = ALL[name](multi_class=multi_class, fit_intercept=fit_intercept).fit(DIGITS_X, DIGITS_Y)
        machines = {k: (m.coef_, m.intercept_) for k, m in model.machines_.items()}
        X = DIGITS_X[:40]
        assert model.predict(X).tolist() == [twin(machines, x) for x in X]
        assert model.decision_function(X).shape == (40, 10)
        k, machine = next(iter(model.machines_.items()))
        expected = [twins.decision(*machines[k], x) for x in X]
        np.testing.assert_allclose(machine.decision_function(X), expected, rtol=1e-9)


def circle_of_votes(scale):
    """Rows on which each of three classes beats one other: votes tie, the sums decide."""
    rng = np.random.default_rng(4)
    rows, new = scale * rng.standard_normal((30, 3)), scale * rng.standard_normal((4000, 3))
    model = mm.Perceptron(multi_class="ovo", fit_intercept=False, max_iter=1).fit(
        rows, np.arange(30) % 3
    )
    machines = {k: (m.coef_, m.intercept_) for k, m in model.machines_.items()}
    F = {k: new @ w > 0 for k, (w, _) in machines.items()}
    tied = (F[0, 1] == F[1, 2]) & (F[0, 1] != F[0, 2])
    return model, machines, new[tied]


@pytest.mark.parametrize("power", [0, 10, 40, 200, -10, -40, -200])
def test_ties_of_votes_are_broken_by_the_sum_at_any_scale(power):
    model, machines, X = circle_of_votes(2.0**power)
    assert len(X) > 20
    assert model.predict(X).tolist() == [twins.one_vs_one(machines, x) for x in X]


def test_a_pair_on_the_boundary_votes_for_the_smaller_class():
    # Each machine looks at one coordinate, and these rows are right from the start.
    rows, labels = [[-1.0, -1.0, 0.0], [1.0, 0.0, -1.0], [0.0, 1.0, 1.0]], [0, 1, 2]
    model = mm.Perceptron(multi_class="ovo", fit_intercept=False).fit(rows, labels, coef_init=np.eye(3))
    assert model.coef_.tolist() == np.eye(3).tolist()
    # f01 = 0 is a vote for 0, f02 = 5 one for 2, f12 = −1 one for 1; the sums are −5, 1 and 4.
    assert model.predict([[0.0, 5.0, -1.0]]).tolist() == [2]
    assert model.predict([[0.0, 0.0, 0.0]]).tolist() == [0]


@pytest.mark.parametrize("name", ALL)
def test_two_classes_are_one_machine_either_way(name):
    X, y = IRIS_X[50:], NAMES[50:]
    ovr, ovo = (ALL[name](multi_class=m).fit(X, y) for m in ("ovr", "ovo"))
    assert list(ovr.machines_) == list(ovo.machines_) == ["virginica"]
    assert ovr.coef_.tolist() == ovo.coef_.tolist()
    assert ovr.coef_.shape == (1, 4)


def test_attributes_by_label():
    ovr = mm.PocketPerceptron(50, record=True, random_state=0).fit(IRIS_X, NAMES)
    for attribute in ("history_", "trace_", "best_error_", "best_update_", "unpolished_error_"):
        assert list(getattr(ovr, attribute)) == ["setosa", "versicolor", "virginica"]
    assert ovr.machines_["versicolor"].best_error_ == ovr.best_error_["versicolor"] > 0
    assert "3 machines stopped: 1 by all_correct ('setosa'); 2 by max_updates" in str(ovr.stop_reason_)
    ovo = mm.Perceptron(multi_class="ovo", record=True, max_iter=9).fit(IRIS_X, NAMES)
    assert ("versicolor", "virginica") in ovo.history_
    assert ("versicolor", "virginica") in ovo.trace_


def test_start_of_every_machine():
    start, bias = np.arange(12.0).reshape(3, 4), np.array([1.0, 2.0, 3.0])
    model = mm.Perceptron(max_iter=4).fit(IRIS_X, IRIS_Y, coef_init=start, intercept_init=bias)
    for k in range(3):
        binary = mm.Perceptron(max_iter=4)
        binary.fit(IRIS_X, k == IRIS_Y, coef_init=start[k], intercept_init=bias[k])
        assert_same(model.machines_[k], binary)


def test_budget_of_updates_is_each_machines_own():
    model = mm.Perceptron(stop=MaxUpdates(7), max_iter=None).fit(IRIS_X, IRIS_Y)
    twin = [
        twins.online(IRIS_X, np.where(k == IRIS_Y, 1, -1), [range(150)] * 9, max_updates=7)
        for k in range(3)
    ]
    assert [m.n_mistakes_ for m in model.machines_.values()] == [t.made for t in twin] == [5, 7, 7]
    assert [m.coef_.tolist() for m in model.machines_.values()] == [t.z[:-1] for t in twin]


def test_validation_rows_of_a_pair_are_its_own_classes():
    model = mm.Perceptron(multi_class="ovo", max_iter=9, stop=ValidationErrorStalls(9))
    model.fit(IRIS_X, IRIS_Y, X_val=IRIS_X, y_val=IRIS_Y)
    pair = IRIS_Y > 0
    f = np.where(IRIS_Y == 2, 1, -1)[pair] * model.machines_[1, 2].decision_function(IRIS_X[pair])
    assert model.history_[1, 2][-1].validation_error == np.mean(f <= 0)
