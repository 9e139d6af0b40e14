"""In which order rows are visited: cyclic, shuffled, random."""

import numpy as np
import pytest

import maxmargin as mm
import twins
from bank import SEPARABLE, problem
from maxmargin.solvers.perceptron.epochs import BLOCK_ROWS, visiting_order

SIZES = {"small": 100, "large": 20_001}  # above 16,384 rows blocks are shuffled


def some_epochs(order, members, number=3, seed=0):
    rng = np.random.default_rng(seed)
    return [visiting_order(order, members, rng) for _ in range(number)]


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_cyclic_goes_from_first_to_last_every_time(size):
    members = np.arange(size)
    for order in some_epochs("cyclic", members):
        assert np.array_equal(order, members)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_shuffled_visits_each_row_once_per_epoch_in_a_new_order(size):
    members = np.arange(size)[::3]
    first, second, third = some_epochs("shuffled", members)
    for order in (first, second, third):
        assert np.array_equal(np.sort(order), members)
        assert np.count_nonzero(order == members) < len(members) // 10
    assert np.count_nonzero(first == second) < len(members) // 10


def test_blocks_of_a_large_shuffle_do_not_stay_together():
    first, second = some_epochs("shuffled", np.arange(20_001), number=2)
    place = np.empty(20_001, dtype=int)
    place[second] = np.arange(20_001) // BLOCK_ROWS
    starts = range(0, 20_001 - BLOCK_ROWS, BLOCK_ROWS)
    whole = [len(set(place[first[k : k + BLOCK_ROWS]])) == 1 for k in starts]
    assert np.mean(whole) < 0.1


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_random_draws_with_replacement(size):
    members = np.arange(size)[1::2]
    (order,) = some_epochs("random", members, number=1)
    assert len(order) == len(members)
    assert set(order) <= set(members)
    # A row is missed with probability 1/e.
    assert abs(1 - len(set(order)) / len(members) - np.exp(-1)) < 0.15


@pytest.mark.parametrize("order", ["shuffled", "random"])
def test_seed_fixes_the_order(order):
    p = problem("gaussian")
    fit = [mm.Perceptron(order=order, random_state=s, max_iter=None).fit(p.X, p.y) for s in (1, 1, 2)]
    assert fit[0].coef_.tolist() == fit[1].coef_.tolist()
    assert fit[0].coef_.tolist() != fit[2].coef_.tolist()


@pytest.mark.parametrize("order", ["shuffled", "random"])
def test_updates_are_those_of_the_twin_in_the_recorded_order(order):
    p = problem("setosa")
    model = mm.Perceptron(order=order, random_state=4, record=True, max_iter=None).fit(p.X, p.y)
    visited = [u.row for u in model.trace_]
    twin = twins.online(p.X, p.y, [visited], until_clean=False)
    assert twin.made == len(visited) == model.n_mistakes_  # each recorded row was a mistake
    assert twin.z == [*model.coef_[0], model.intercept_[0]]


def test_shuffled_never_updates_twice_on_a_row_in_an_epoch():
    p = problem("virginica")
    model = mm.Perceptron(order="shuffled", random_state=4, record=True, max_iter=20)
    with pytest.warns(mm.BudgetWarning):
        model.fit(p.X, p.y)
    for epoch in range(20):
        rows = [u.row for u in model.trace_ if (u.step - 1) // len(p.y) == epoch]
        assert len(rows) == len(set(rows)) == model.history_[epoch].mistakes


def test_random_updates_twice_on_some_row_in_an_epoch():
    p = problem("virginica")
    model = mm.Perceptron(order="random", random_state=4, record=True, max_iter=20)
    with pytest.warns(mm.BudgetWarning):
        model.fit(p.X, p.y)
    rows = [((u.step - 1) // len(p.y), u.row) for u in model.trace_]
    assert len(rows) > len(set(rows))


@pytest.mark.parametrize("p", [p for p in SEPARABLE if p.name != "scales"], ids=lambda p: p.name)
def test_random_stops_only_when_all_rows_are_correct(p):
    lucky = 0
    for seed in range(20):
        model = mm.Perceptron(order="random", random_state=seed, max_iter=None).fit(p.X, p.y)
        assert model.stop_reason_.rule == "all_correct"
        assert np.all(p.A @ [*model.coef_[0], model.intercept_[0]] > 0)
        lucky += np.count_nonzero(model.history_["mistakes"] == 0) > 1
    if p.name == "setosa":
        assert lucky  # some epoch drew no mistake and yet was not the last
