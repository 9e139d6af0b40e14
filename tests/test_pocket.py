"""The pocket: the textbook's, update by update; then polished; never worse than its rivals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
import twins
from bank import BANK, OVERLAPPING, problem
from maxmargin.stopping import MaxEpochs, MaxSeconds, MaxUpdates, NeverStops, TrainingErrorStalls
from thorough import THOROUGH
from twins import z_of


def error(model, p):
    return np.count_nonzero(p.y * model.decision_function(p.X) <= 0) / len(p.y)


def assert_textbook(model, twin, n):
    assert z_of(model) == twin.z
    assert model.best_update_ == twin.found_at
    assert model.best_error_ == model.unpolished_error_ == twin.errors / n
    assert model.n_mistakes_ <= twin.made


@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
def test_without_polish_it_is_the_textbooks_at_every_horizon(p):
    for horizon in [1, 2, 3, 5, 8, 13, 63, 64, 65, 130, 200]:
        model = mm.PocketPerceptron(horizon, polish=False).fit(p.X, p.y)
        assert_textbook(model, twins.pocket(p.X, p.y, horizon, range(len(p.y))), len(p.y))


@given(st.data())
def test_without_polish_it_is_the_textbooks_on_any_rows(data):
    values = st.integers(-20, 20).map(lambda k: k * 0.1)
    rows = st.lists(st.tuples(values, values), min_size=3, max_size=9)
    X = np.array(data.draw(rows))
    y = np.array(
        [1, -1, *data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(X) - 2, max_size=len(X) - 2))]
    )
    horizon = data.draw(st.integers(1, 150))
    model = mm.PocketPerceptron(horizon, polish=False).fit(X, y)
    assert_textbook(model, twins.pocket(X, y, horizon, range(len(y))), len(y))


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize("order", ["cyclic", "shuffled"])
@pytest.mark.parametrize("p", OVERLAPPING, ids=lambda p: p.name)
def test_never_worse_than_the_last_iterate_at_any_horizon(p, order):
    earlier = 1.0
    for horizon in range(1, 60, 2):
        pocket = mm.PocketPerceptron(horizon, order, polish=False, random_state=7).fit(p.X, p.y)
        last = mm.Perceptron(order=order, stop=MaxUpdates(horizon), random_state=7).fit(p.X, p.y)
        assert error(pocket, p) == pocket.best_error_ <= error(last, p)
        assert pocket.best_error_ <= earlier  # the ratchet
        earlier = pocket.best_error_


@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
def test_polish_only_improves(p):
    plain = mm.PocketPerceptron(30, polish=False).fit(p.X, p.y)
    polished = mm.PocketPerceptron(30, random_state=0).fit(p.X, p.y)
    assert polished.unpolished_error_ == plain.best_error_
    assert polished.best_error_ == error(polished, p) <= plain.best_error_
    assert polished.error_lower_bound_ <= polished.best_error_


def test_polish_finds_the_least_error_of_small_problems():
    # Known least numbers of errors: one corner of XOR; one of two equal points; every other point.
    for name, least in [("xor", 1), ("signed xor", 1), ("touching", 1), ("alternating", 2)]:
        p = problem(name)
        assert mm.PocketPerceptron(100, random_state=0).fit(p.X, p.y).best_error_ == least / len(p.y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_polish_finds_a_plane_where_there_is_one(form):
    X, y = load_breast_cancer(return_X_y=True)
    digits, digit = load_digits(return_X_y=True)
    for rows, labels in [(X, y), (StandardScaler().fit_transform(X), y), (digits, digit == 1)]:
        pocket = mm.PocketPerceptron(50, random_state=0).fit(form(rows), labels)
        assert pocket.unpolished_error_ > pocket.best_error_ == pocket.error_lower_bound_ == 0.0
        assert np.array_equal(pocket.predict(form(rows)), labels)
    through_zero = mm.PocketPerceptron(20, fit_intercept=False, normalize=True, random_state=0)
    signs = np.where(X @ np.linspace(-1, 1, 30) > 0, "a", "b")
    assert through_zero.fit(form(X), signs).best_error_ == 0.0


def test_history_tells_pocket_and_running_error():
    p = problem("virginica")
    model = mm.PocketPerceptron(200, polish=False).fit(p.X, p.y)
    assert np.all(np.diff(model.history_["training_error"]) <= 0)
    assert np.all(model.history_["training_error"] <= model.history_["running_error"])
    assert model.history_["training_error"][-1] == model.best_error_
    assert model.history_["mistakes"].sum() == model.n_mistakes_ == 200


def test_class_weight_weighs_the_errors():
    p = problem("virginica")
    heavy = mm.PocketPerceptron(300, class_weight={1: 50.0}, polish=False).fit(p.X, p.y)
    f = p.y * heavy.decision_function(p.X)
    weight = np.where(p.y > 0, 50.0, 1.0)
    assert heavy.best_error_ == pytest.approx(weight @ (f <= 0) / weight.sum())
    assert np.count_nonzero(f[p.y > 0] <= 0) < np.count_nonzero(f[p.y < 0] <= 0)


def test_start_counts_as_the_first_candidate():
    p = problem("gaussian")
    best = mm.Perceptron().fit(p.X, p.y)
    model = mm.PocketPerceptron(10).fit(p.X, p.y, coef_init=best.coef_, intercept_init=best.intercept_)
    assert (model.best_update_, model.best_error_, model.n_mistakes_) == (0, 0.0, 0)
    assert z_of(model) == z_of(best)


def comparisons():
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", X, y
    yield "breast cancer, standardised", StandardScaler().fit_transform(X), y
    X, y = load_iris(return_X_y=True)
    yield "iris", X[50:], y[50:]
    X, y = load_digits(return_X_y=True)
    for k in range(10) if THOROUGH else (1, 8):
        yield f"digit {k}", X, y == k


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
def test_never_worse_than_the_last_iterate_and_scikit_learn_and_mostly_better():
    better = []
    for name, X, y in comparisons():
        pocket = mm.PocketPerceptron(2_000, random_state=0, max_witnesses=0).fit(X, y)
        last = mm.Perceptron(stop=MaxUpdates(pocket.max_updates), max_iter=None).fit(X, y)
        theirs = TheirPerceptron().fit(X, y)
        ours = 1 - pocket.score(X, y)
        assert ours == pytest.approx(pocket.best_error_), name  # no row lies on the boundary
        others = 1 - last.score(X, y), 1 - theirs.score(X, y)
        assert ours <= min(others), name
        better.append(ours < min(others))
    assert np.mean(better) > 0.5


def test_features_of_vastly_different_size_leave_the_weights_finite():
    rng = np.random.default_rng(3)
    for _ in range(20 if THOROUGH else 8):
        X = rng.choice([0.0, 1.0, 7e-146, -1.0, 3e-140, 2.0], size=(8, 2))
        model = mm.PocketPerceptron(fit_intercept=False, random_state=0, max_updates=30)
        model.fit(X + np.eye(8, 2), [0, 1] * 4)
        assert np.all(np.isfinite(model.coef_))


@pytest.mark.parametrize(
    "stop",
    [MaxUpdates(20), MaxEpochs(2), MaxSeconds(1e-9), TrainingErrorStalls(2), NeverStops(2)],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
def test_a_pocket_does_not_recommend_itself(stop):
    p = problem("overlap")
    models = mm.Perceptron(stop=stop), mm.PocketPerceptron(stop=stop, polish=False)
    advice = [str(model.fit(p.X, p.y).stop_reason_) for model in models]
    assert ["PocketPerceptron" in sentence for sentence in advice] == [True, False]


def test_the_pocket_of_partial_fit_knows_its_error_on_the_rows_of_the_call():
    X, Y = load_iris(return_X_y=True)
    model = mm.PocketPerceptron().partial_fit(X[50:], Y[50:], classes=[1, 2])
    wrong = np.where(Y[50:] == 2, 1, -1) * model.decision_function(X[50:]) <= 0
    assert model.best_error_ == np.mean(wrong)
    assert np.isnan(model.learn_one(X[50], 1).best_error_)


@pytest.mark.parametrize("order", ["cyclic", "shuffled"])
@pytest.mark.parametrize("p", OVERLAPPING, ids=lambda p: p.name)
def test_a_larger_budget_is_never_worse(p, order):
    fits = [mm.PocketPerceptron(most, order, random_state=3) for most in (1, 4, 16, 64, 256)]
    errors = [model.fit(p.X, p.y).best_error_ for model in fits]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("settings", [{}, {"class_weight": {1: 3.0}}, {"normalize": True}], ids=str)
def test_many_epochs_in_one_call_keep_the_same_pockets(settings, record, monkeypatch):
    def told(model):
        lines = [line._replace(seconds=0.0, norm=0.0) for line in model.history_]
        found = model.best_update_, model.best_error_, model.n_mistakes_, model.stop_reason_
        return z_of(model), *found, repr(lines)

    for p in OVERLAPPING:
        params = {"max_updates": 300, "polish": False, **settings}
        together = mm.PocketPerceptron(**params).fit(p.X, p.y)
        with monkeypatch.context() as patch:
            patch.setattr("maxmargin.solvers.perceptron.online.MAX_EPOCHS_AT_ONCE", 1)
            alone = mm.PocketPerceptron(**params, record=record).fit(p.X, p.y)
        assert told(together) == told(alone)
