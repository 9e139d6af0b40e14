"""Rules that never end a separable run: the cycle detector; and rules combined by | and &."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxmargin as mm
import twins
from bank import problem
from maxmargin.stopping import (
    AllCorrect,
    Cycle,
    MaxEpochs,
    MaxSeconds,
    MaxUpdates,
    TrainingErrorStalls,
    ValidationErrorStalls,
)

OVERLAP = problem("overlap")


def fit(p=OVERLAP, stop=None, max_iter=None, **settings):
    return mm.Perceptron(stop=stop, max_iter=max_iter, **settings).fit(p.X, p.y)


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
    assert rule.requires("training_error")
    assert not rule.requires("validation_error")
    assert fit(stop=rule).n_iter_ >= 30


@pytest.mark.parametrize(
    "rule", [AllCorrect(), Cycle(), MaxEpochs(3), ValidationErrorStalls(3, 0.1, 0.2)]
)
def test_rules_are_values(rule):
    assert rule == type(rule)(**vars(rule))
    assert repr(rule).startswith(type(rule).__name__ + "(")
