"""Each stopping rule where it is the one that fires, and the sentence that says so."""

import time
from itertools import pairwise

import numpy as np
import pytest

import maxmargin as mm
import twins
from bank import problem
from maxmargin.stopping import (
    MaxEpochs,
    MaxSeconds,
    MaxUpdates,
    TrainingErrorStalls,
    WeightsSettle,
)

OVERLAP = problem("overlap")


def fit(p=OVERLAP, stop=None, max_iter=None, **settings):
    return mm.Perceptron(stop=stop, max_iter=max_iter, **settings).fit(p.X, p.y)


def test_all_correct():
    model = fit(problem("quarter"))
    assert model.stop_reason_.rule == "all_correct"
    assert model.stop_reason_.solved
    assert str(model.stop_reason_) == (
        "All training points are correct after 2 updates in 2 epochs: the classes are separated."
    )


def test_all_correct_names_the_threshold():
    model = fit(problem("quarter"), threshold=3.0)
    assert "(y·f(x) > 3)" in str(model.stop_reason_)


def test_all_correct_waits_for_a_whole_epoch():
    model = fit(problem("opposite"))
    assert model.history_["mistakes"].tolist() == [1, 0]


@pytest.mark.parametrize("stop", [None, MaxEpochs(7)], ids=["max_iter", "rule"])
def test_budget_of_epochs(stop):
    with pytest.warns(mm.BudgetWarning, match="budget of 7 epochs"):
        model = fit(stop=stop, max_iter=7 if stop is None else None)
    twin = twins.online(OVERLAP.X, OVERLAP.y, [range(60)] * 7)
    assert model.stop_reason_.rule == "max_epochs"
    assert not model.stop_reason_.solved
    assert model.n_iter_ == 7
    assert f"budget of 7 epochs ended with {twin.per_epoch[-1]} mistakes" in str(model.stop_reason_)


@pytest.mark.parametrize("budget", range(1, 40, 3))
def test_budget_of_updates_is_kept_exactly_within_an_epoch(budget):
    model = fit(stop=MaxUpdates(budget), average=True)
    twin = twins.online(OVERLAP.X, OVERLAP.y, [range(60)] * 50, max_updates=budget)
    assert model.stop_reason_.rule == "max_updates"
    assert f"budget of {budget} update" in str(model.stop_reason_)
    assert model.n_mistakes_ == budget
    assert model.n_iter_ == len(twin.per_epoch)
    np.testing.assert_allclose(model.coef_[0], twins.naive_average(twin)[:-1], rtol=1e-12)


def test_budget_of_updates_that_is_just_enough_is_no_failure():
    model = fit(problem("opposite"), stop=MaxUpdates(1))
    assert model.history_["training_error"][-1] == 0.0
    assert "before all points were correct" not in str(model.stop_reason_)


def test_budget_of_seconds():
    began = time.perf_counter()
    model = fit(stop=MaxSeconds(0.2))
    assert 0.2 <= time.perf_counter() - began < 2
    assert model.stop_reason_.rule == "max_seconds"
    assert f"budget of 0.2 seconds ended in epoch {model.n_iter_} with" in str(model.stop_reason_)


BUSY = {
    "online": lambda stop: mm.Perceptron(stop=stop, max_iter=None),
    "recorded": lambda stop: mm.Perceptron(stop=stop, max_iter=None, record=True),
    "batch": lambda stop: mm.BatchPerceptron(stop=stop, max_iter=None),
    "pocket": lambda stop: mm.PocketPerceptron(10**9, stop=stop, polish=False),
    "polished pocket": lambda stop: mm.PocketPerceptron(10**9, stop=stop, random_state=0),
}


@pytest.mark.parametrize("new", BUSY.values(), ids=BUSY)
def test_budget_of_seconds_is_kept_by_every_estimator(new):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((15_000, 30)), rng.integers(0, 2, 15_000)
    new(MaxUpdates(1)).fit(X[:20], y[:20])  # compile first
    began = time.perf_counter()
    model = new(MaxSeconds(0.3)).fit(X, y)
    assert time.perf_counter() - began < 1.5
    assert model.stop_reason_.rule == "max_seconds"


def test_budget_of_seconds_ends_within_an_epoch():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200_000, 60)), rng.integers(0, 2, 200_000)
    mm.Perceptron(stop=MaxUpdates(1)).fit(X[:10], y[:10])
    model = mm.Perceptron(stop=MaxSeconds(1e-6), max_iter=None, random_state=0).fit(X, y)
    assert model.n_iter_ == 1
    assert 0 < model.history_["mistakes"][0] < 60_000  # a whole epoch makes some 100,000


def test_training_error_stalls():
    model = fit(stop=TrainingErrorStalls(patience=4))
    errors = model.history_["training_error"]
    twin = twins.online(OVERLAP.X, OVERLAP.y, [range(60)] * model.n_iter_)
    assert errors.tolist() == [twins.errors(OVERLAP.X, OVERLAP.y, z[:-1], z[-1]) / 60 for z in twin.ends]
    best = int(np.argmin(errors))
    assert model.n_iter_ == best + 1 + 4  # not one epoch more
    assert np.all(np.diff(np.minimum.accumulate(errors)[: best + 1 : 4]) < 0)
    assert model.stop_reason_.rule == "training_error_stalls"
    for fact in (
        "training error",
        "for 4 epochs",
        f"{errors[-1]:.4g}",
        f"{errors.min():.4g} was the best",
    ):
        assert fact in str(model.stop_reason_)


def test_training_error_must_fall_by_more_than_tol():
    tight, loose = (fit(stop=TrainingErrorStalls(patience=3, tol=tol)) for tol in (0.0, 0.9))
    assert loose.n_iter_ == 4 < tight.n_iter_ + 1
    assert "by more than 0.9" in str(loose.stop_reason_)


def test_weights_settle():
    model = fit(stop=WeightsSettle(tol=0.2))
    ends = [np.zeros(5), *map(np.array, twins.online(OVERLAP.X, OVERLAP.y, [range(60)] * 200).ends)]
    moved = [np.linalg.norm(b - a) / np.linalg.norm(b) for a, b in pairwise(ends)]
    first = next(k for k, m in enumerate(moved, 1) if m <= 0.2)
    assert model.stop_reason_.rule == "weights_settle"
    assert model.n_iter_ == first
    assert f"Epoch {first} moved the weights by" in str(model.stop_reason_)
