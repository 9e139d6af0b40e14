"""Each stopping rule where it is the one that fires, and what it says; cycles; rules with | and &."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxmargin as mm
import twins
from bank import problem
from clocks import HOUR
from clocks import clock as clock
from maxmargin.stopping import (
    AllCorrect,
    Cycle,
    MaxEpochs,
    MaxSeconds,
    MaxUpdates,
    TrainingErrorStalls,
    ValidationErrorStalls,
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
    np.testing.assert_allclose(model.coef_[0], twins.naive_average(twin)[:-1], rtol=1e-12, atol=1e-12)


def test_budget_of_updates_that_is_just_enough_is_no_failure():
    model = fit(problem("opposite"), stop=MaxUpdates(1))
    assert model.history_["training_error"][-1] == 0.0
    assert "before all points were correct" not in str(model.stop_reason_)


def test_budget_of_seconds(clock):
    model = fit(stop=MaxSeconds(10 * HOUR))
    assert 10 <= clock.hours <= 12
    assert 1 < model.n_iter_ <= 10
    assert model.stop_reason_.rule == "max_seconds"
    assert f"budget of 36000 seconds ended in epoch {model.n_iter_} with" in str(model.stop_reason_)


BUSY = {
    "online": lambda stop: mm.Perceptron(stop=stop, max_iter=None),
    "recorded": lambda stop: mm.Perceptron(stop=stop, max_iter=None, record=True),
    "batch": lambda stop: mm.BatchPerceptron(stop=stop, max_iter=None),
    "pocket": lambda stop: mm.PocketPerceptron(10**9, stop=stop, polish=False),
    "polished pocket": lambda stop: mm.PocketPerceptron(10**9, stop=stop, random_state=0),
}


@pytest.mark.parametrize("new", BUSY.values(), ids=BUSY)
def test_budget_of_seconds_is_kept_by_every_estimator(new, clock):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((15_000, 30)), rng.integers(0, 2, 15_000)
    model = new(MaxSeconds(6 * HOUR)).fit(X, y)
    assert 6 <= clock.hours <= 15  # when it is late, some things are still finished
    assert model.n_iter_ <= 6  # the clock is read in every epoch
    assert model.stop_reason_.rule == "max_seconds"


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize("estimator", [mm.Perceptron, mm.BatchPerceptron, mm.PocketPerceptron])
def test_a_budget_of_seconds_is_one_for_all_machines(estimator, clock):
    rng = np.random.default_rng(0)
    data, labels = rng.standard_normal((2_000, 20)), rng.integers(6, size=2_000)
    params = {"max_updates": 10**9} if estimator is mm.PocketPerceptron else {"max_iter": None}
    model = estimator(multi_class="ovo", stop=MaxSeconds(100 * HOUR), **params).fit(data, labels)
    assert 100 <= clock.hours <= 100 + 15 * 9  # if each of the 15 machines had its own, at least 1500
    assert "max_seconds" in model.stop_reason_.rule


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


# --- runs that never end -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["xor", "signed xor", "touching", "touching hulls", "alternating"])
def test_a_cycle_is_proven_within_a_few_epochs(name):
    p = problem(name)
    model = fit(p, max_iter=100)
    ends = [(0.0,) * (p.X.shape[1] + 1)]
    ends += map(tuple, twins.online(p.X, p.y, [range(len(p.y))] * model.n_iter_).ends)
    assert model.stop_reason_.rule == "cycle"
    assert model.n_iter_ <= 64
    assert ends[-1] in ends[:-1]  # it is one, and the sentence names its ends
    earlier = next(k for k, z in enumerate(ends) if f"after epoch {k}, so" in str(model.stop_reason_))
    assert ends[earlier] == ends[-1]
    assert f"after epoch {model.n_iter_} are exactly" in str(model.stop_reason_)


def test_xor_is_caught_in_the_first_epoch():
    assert fit(problem("xor"), max_iter=100).n_iter_ == 1


def test_xor_is_caught_from_a_start_at_minus_zero():
    p = problem("xor")
    model = mm.Perceptron(max_iter=100).fit(p.X, p.y, coef_init=[-0.0, -0.0], intercept_init=-0.0)
    assert (model.stop_reason_.rule, model.n_iter_) == ("cycle", 1)


LONG_CYCLES = [  # rows, labels, epochs before the cycle and in it
    ([[-3, 3], [2, -3], [-1, 3], [0, -2], [-3, -3]], [1, 1, -1, -1, -1], 9, 30),
    ([[1, -2], [-3, -2], [-1, 0], [-2, 3], [3, -3]], [-1, 1, 1, 1, 1], 5, 31),
    ([[1, 3], [-3, -3], [0, -3], [3, -2]], [1, -1, 1, -1], 6, 32),
]


@pytest.mark.parametrize(("X", "y", "before", "length"), LONG_CYCLES)
def test_long_cycles_are_found_soon_after_their_second_turn(X, y, before, length):
    model = mm.Perceptron(max_iter=1000).fit(X, y)
    ends = twins.online(X, y, [range(len(y))] * (before + length)).ends
    assert ends[before - 1] == ends[-1]  # the cycle is as long as the table says
    assert model.stop_reason_.rule == "cycle"
    assert before + length <= model.n_iter_ <= 2 * max(before, length) + length


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=5), st.data())
def test_integer_rows_end_in_separation_or_in_a_cycle(rows, data):
    signs = st.lists(st.sampled_from([-1, 1]), min_size=len(rows) - 2, max_size=len(rows) - 2)
    y = [1, -1, *data.draw(signs)]
    model = mm.Perceptron(max_iter=2000).fit(rows, y)
    ends = [[0.0] * 3, *twins.online(rows, y, [range(len(y))] * model.n_iter_).ends]
    if model.stop_reason_.rule == "all_correct":
        assert twins.errors(rows, y, ends[-1][:-1], ends[-1][-1]) == 0
    else:
        assert model.stop_reason_.rule == "cycle"
        assert ends[-1] in ends[:-1]


@pytest.mark.parametrize("order", ["shuffled", "random"])
def test_a_return_of_the_weights_proves_nothing_in_random_order(order):
    with pytest.warns(mm.BudgetWarning):
        model = fit(problem("xor"), order=order, random_state=0, max_iter=50)
    assert model.n_iter_ == 50


# --- rules combined --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
def test_either_of_two_rules():
    rule = MaxEpochs(9) | MaxUpdates(30)
    updates = twins.online(OVERLAP.X, OVERLAP.y, [range(60)] * 9).made
    assert updates > 30
    assert fit(stop=rule).stop_reason_.rule == "max_updates"
    assert fit(stop=MaxEpochs(9) | MaxUpdates(updates + 1)).stop_reason_.rule == "max_epochs"
    assert str(rule) == "MaxEpochs(epochs=9) | MaxUpdates(updates=30)"


def test_both_of_two_rules():
    model = fit(stop=MaxEpochs(9) & MaxUpdates(30))
    assert model.stop_reason_.rule == "max_epochs & max_updates"
    assert model.n_iter_ == 9
    assert " And: " in str(model.stop_reason_)
    assert "budget of 9 epochs" in str(model.stop_reason_)
    assert "budget of 30 updates" in str(model.stop_reason_)
    late = fit(stop=MaxEpochs(2) & MaxUpdates(300))
    assert late.n_mistakes_ >= 300
    assert late.n_iter_ > 2


def test_nested_rules_and_budgets():
    rule = (TrainingErrorStalls(2) & MaxEpochs(30)) | MaxUpdates(10_000) | MaxSeconds(60)
    assert (rule.max_updates(), rule.max_seconds()) == (10_000, 60)
    assert (MaxSeconds(1) & MaxSeconds(3)).max_seconds() == 3
    assert rule.reads_training_error()
    assert not (ValidationErrorStalls(2) | MaxEpochs(30)).reads_training_error()
    assert fit(stop=rule).n_iter_ >= 30


@pytest.mark.parametrize(
    "rule", [AllCorrect(), Cycle(), MaxEpochs(3), ValidationErrorStalls(3, 0.1, 0.2)]
)
def test_rules_are_values(rule):
    assert rule == type(rule)(**vars(rule))
    assert repr(rule).startswith(type(rule).__name__ + "(")
