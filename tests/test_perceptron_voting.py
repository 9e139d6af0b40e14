"""The voted perceptron: all weights of the run vote, each as often as the steps it survived."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import maxmargin as mm
import twins
from bank import BANK, problem

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")


def share(run, x, pad=1.0):
    """Votes for +1 minus votes for −1 of the weights after every single step, over all steps."""
    votes = [1 if twins.decision(z[:-1], pad * z[-1], x) > 0 else -1 for z in run.iterates]
    return sum(votes) / len(votes)


@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
def test_vote_is_the_naive_vote_of_all_iterates(p):
    model = mm.Perceptron(max_iter=4, record=True).fit(p.X, p.y)
    twin = twins.online(p.X, p.y, [range(len(p.y))] * model.n_iter_)
    new = np.vstack([p.X[:12], p.X[:12] * [(-1) ** j for j in range(p.X.shape[1])]])
    expected = [1 if share(twin, x) > 0 else -1 for x in new]
    assert model.predict_voted(new).tolist() == expected


@given(st.data())
def test_vote_is_the_naive_vote_where_it_is_close(data):
    numbers = st.lists(st.integers(-3, 3), min_size=5, max_size=5)
    X = np.array([data.draw(numbers), data.draw(numbers)], dtype=float).T
    model = mm.Perceptron(max_iter=data.draw(st.integers(1, 3)), record=True).fit(X, [1, -1, 1, -1, 1])
    twin = twins.online(X, [1, -1, 1, -1, 1], [range(5)] * model.n_iter_)
    assert model.predict_voted(X).tolist() == [1 if share(twin, x) > 0 else -1 for x in X]


def test_vote_differs_from_the_last_weights():
    p = problem("overlap")
    model = mm.Perceptron(max_iter=4, record=True).fit(p.X, p.y)
    assert model.predict_voted(p.X).tolist() != model.predict(p.X).tolist()


def test_one_vs_rest_takes_the_largest_share():
    X, y = load_iris(return_X_y=True)
    model = mm.Perceptron(max_iter=3, record=True).fit(X, y)
    runs = [twins.online(X, np.where(y == k, 1, -1), [range(150)] * 3) for k in range(3)]
    expected = [int(np.argmax([share(run, x) for run in runs])) for x in X[::6]]
    assert model.predict_voted(X[::6]).tolist() == expected


def test_one_vs_one_takes_the_majority_of_pairs_and_breaks_ties_by_shares():
    X, y = load_iris(return_X_y=True)
    model = mm.Perceptron(max_iter=3, record=True, multi_class="ovo").fit(X, y)
    runs = {}
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        mine = (y == a) | (y == b)
        epochs = [range(100)] * model.machines_[a, b].n_iter_
        runs[a, b] = twins.online(X[mine], np.where(y[mine] == b, 1, -1), epochs)
    # A machine whose decision value is the share itself, so that the twin counts the votes.
    expected = [
        twins.one_vs_one({pair: ([share(run, x)], 0.0) for pair, run in runs.items()}, [1.0])
        for x in X[::6]
    ]
    assert model.predict_voted(X[::6]).tolist() == expected


def test_start_weights_vote_until_the_first_update():
    p = problem("gaussian")
    start = [1.0, -2.0, 0.5, 1.0, 0.3]
    model = mm.Perceptron(max_iter=2, record=True)
    model.fit(p.X, p.y, coef_init=start[:4], intercept_init=start[4])
    twin = twins.online(p.X, p.y, [range(len(p.y))] * model.n_iter_, start=start)
    assert model.predict_voted(p.X).tolist() == [1 if share(twin, x) > 0 else -1 for x in p.X]


def test_votes_go_on_in_partial_fit():
    p = problem("overlap")
    model = mm.Perceptron(record=True)
    for k in range(0, 60, 9):
        model.partial_fit(p.X[k : k + 9], p.y[k : k + 9], classes=[-1, 1])
    twin = twins.online(p.X, p.y, [range(60)])
    assert model.predict_voted(p.X).tolist() == [1 if share(twin, x) > 0 else -1 for x in p.X]


def test_without_a_trace_there_is_nothing_to_vote():
    with pytest.raises(
        mm.InputError, match=r"record must be True when fitting.*Got a model without traces"
    ):
        mm.Perceptron().fit([[1.0], [-1.0]], [1, 0]).predict_voted([[1.0]])
