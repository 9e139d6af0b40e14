"""The voted perceptron against its definition: the weights after every step vote."""

import numpy as np
import pytest

import maxmargin as mm

RNG = np.random.default_rng(7)
X = RNG.standard_normal((60, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.5 * RNG.standard_normal(60) > 0


def naive_votes(X, y, epochs, rows):
    z, votes = np.zeros(X.shape[1] + 1), np.zeros(len(rows))
    for _ in range(epochs):
        for x, label in zip(X, np.where(y, 1.0, -1.0), strict=True):
            if label * (x @ z[:-1] + z[-1]) <= 0:
                z += label * np.append(x, 1.0)
            votes += np.where(rows @ z[:-1] + z[-1] > 0, 1.0, -1.0)
    return votes


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
def test_voted_prediction_is_the_vote_of_the_weights_after_every_step():
    new = RNG.standard_normal((200, 3))
    model = mm.Perceptron(max_iter=4, record=True).fit(X, Y)
    votes = naive_votes(X, Y, model.n_iter_, new)
    assert np.array_equal(model.predict_voted(new), votes > 0)
    assert not np.array_equal(model.predict_voted(new), model.predict(new))


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_voting_works_for_many_classes(multi_class):
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = mm.Perceptron(max_iter=10, record=True, multi_class=multi_class).fit(X, y)
    assert np.mean(model.predict_voted(X) == y) > 0.6


def test_voting_needs_a_record():
    model = mm.Perceptron().fit([[1.0], [-1.0]], [1, 0])
    with pytest.raises(mm.InputError, match="record=True"):
        model.predict_voted([[1.0]])
