"""The 16-bit sketch saves reading; it changes no decision, no update and no weight."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maxmargin as mm
import twins
from bank import BANK, problem
from driving import drive
from maxmargin.kernels import rows as sketch
from maxmargin.rows import DenseRows
from maxmargin.rows.training_data import Machine
from maxmargin.solvers.perceptron.online import LocalPasses, Settings, State
from maxmargin.solvers.problem import MIN_SKETCH_ENTRIES, Examples, worth_sketching


def both(X, codes, order, **settings):
    plain = drive(X, codes, order, **settings)
    sketched = drive(X, codes, order, sketch=True, **settings)
    return plain, sketched


def assert_same(X, codes, order, **settings):
    (Z, U, counts), (Zs, Us, counts_s) = both(X, codes, order, **settings)
    assert Z.tolist() == Zs.tolist()
    assert U.tolist() == Us.tolist()
    assert counts["made"].tolist() == counts_s["made"].tolist()
    assert counts["seen"].tolist() == counts_s["seen"].tolist()


def cloud(seed=3, n=400, d=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    codes = (X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0).astype(int)
    return X, codes, np.tile(np.arange(n), 3)


@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
def test_sketch_changes_nothing_on_the_bank(p):
    order = np.tile(np.arange(len(p.y)), 20)
    for settings in ({}, {"delta": 2.0}, {"normalize": True}, {"pad": 0.0}, {"average": True}):
        assert_same(p.X, p.codes, order, **settings)


def test_sketch_decides_most_rows_of_a_separable_cloud():
    X, codes, order = cloud()
    _, (_, _, counts) = both(X, codes, order)
    assert counts["read"][0] < 0.7 * counts["seen"][0]


SCALES = {
    "alike": [1, 1, 1, 1, 1, 1],
    "very different": [1e12, 1e-12, 1, 1e6, 1e-6, 1],
    "constant and zero": [0, 1, 1, 0, 1, 1],
    "huge": [1e100, 1e99, 1e98, 1e100, 1e90, 1e100],
    "tiny": [1e-100, 1e-99, 1e-98, 1e-100, 1e-90, 1e-100],
    "huge and tiny": [1e100, 1e-100, 1, 1e38, 1e-38, 1e39],
    "beyond single precision": [1e36, 1e38, 1e40, 1e33, 1e34, 1e35],
    "below single precision": [1e-36, 1e-38, 1e-45, 1e-33, 1e-46, 1e-40],
}


@pytest.mark.parametrize("scales", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("pad", [0.0, 1.0])
def test_sketch_changes_nothing_whatever_the_scale_of_a_column(scales, pad):
    X, codes, order = cloud()
    X = X * np.array(scales, dtype=float)
    X[:, 2] += 3.0 * (scales[0] == 0)
    assert_same(X, codes, order, pad=pad)
    twin = twins.online(X, 2 * codes - 1, [order], pad=pad)
    assert drive(X, codes, order, pad=pad, sketch=True)[0][0].tolist() == twin.z


def test_a_denormal_column_is_sketched_without_a_warning():
    X, codes, order = cloud()
    X[:, 1] *= 1e-310
    assert_same(X, codes, order)


def test_sketch_errs_by_at_most_half_a_unit():
    X, _, _ = cloud()
    rows = sketch.with_sketch(DenseRows(X)).arrays
    assert rows.sketch.dtype == np.int16
    assert np.all(np.abs(X - rows.unit * rows.sketch) <= 0.5000001 * rows.unit)


def assert_mistake(row, start, pad=0.0):
    """A row whose rounded sum looks right and whose true sum is not is a mistake, sketch or not."""
    X = np.array([row, np.full(len(row), 32767.0)])  # the second row makes every unit 1
    for z, row_, label in ((start, row, 1), (start, -np.array(row), 0)):
        X[0] = row_
        sign = 2 * label - 1
        z = np.append(z[:-1], sign * z[-1])
        assert sign * twins.decision(z[:-1], pad * z[-1], X[0].tolist()) <= 0
        for sketched in (False, True):
            _, _, counts = drive(X, [label, 1 - label], [0], start=[z], pad=pad, sketch=sketched)
            assert counts["made"][0] == 1


def test_half_a_unit_of_rounding_in_every_entry_is_allowed_for():
    # Rounded to nine ones and eleven zeros, in truth below zero.
    assert_mistake([0.51] * 9 + [-0.49] * 11, [1.0] * 20 + [0.0])


def test_weights_that_vanish_in_single_precision_are_allowed_for():
    assert_mistake([3e4], [-1e-46, 1e-45], pad=1.0)


def test_a_sum_that_overflows_in_single_precision_decides_nothing():
    assert_mistake([1.0, 1.0, 1.0], [3.5e38, -3e38, -1e38, 0.0])


@given(st.data())
def test_sketch_changes_nothing_where_rounding_is_worst(data):
    n, d = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 12))
    entry = st.tuples(st.integers(-2, 2), st.sampled_from([-0.499, 0.0, 0.499])).map(sum)
    rows = data.draw(st.lists(st.lists(entry, min_size=d, max_size=d), min_size=n, max_size=n))
    start = data.draw(st.lists(st.integers(-3, 3), min_size=d + 1, max_size=d + 1))
    X = np.array([*rows, [32767.0] * d])
    codes = data.draw(st.lists(st.integers(0, 1), min_size=n + 1, max_size=n + 1))
    assert_same(X, codes, np.tile(np.arange(n), 3), start=[start])


def test_only_large_dense_doubles_are_sketched():
    n = MIN_SKETCH_ENTRIES // 8
    assert worth_sketching(DenseRows(np.zeros((n, 8))))
    assert not worth_sketching(DenseRows(np.zeros((n - 1, 8))))
    assert not worth_sketching(DenseRows(np.zeros((n, 8), dtype=np.float32)))


@pytest.mark.parametrize("settings", [{}, {"threshold": 1.0}, {"normalize": True}, {"average": True}])
def test_fit_is_the_same_with_and_without_a_sketch(monkeypatch, settings):
    p = problem("virginica")
    X, y = np.tile(p.X, (3, 1)), np.tile(p.y, 3)
    model = mm.Perceptron(max_iter=7, **settings)
    with pytest.warns(mm.BudgetWarning):
        model.fit(X, y)
    used = []
    monkeypatch.setattr("maxmargin.solvers.perceptron.online.MAX_SKETCHED_SHARE", 1.0)
    monkeypatch.setattr("maxmargin.solvers.perceptron.online.MAX_EPOCHS_AT_ONCE", 1)
    monkeypatch.setattr("maxmargin.solvers.problem.worth_sketching", lambda rows: used.append(rows) or 1)
    other = mm.Perceptron(max_iter=7, **settings)
    with pytest.warns(mm.BudgetWarning):
        other.fit(X, y)
    assert used
    assert model.coef_.tolist() == other.coef_.tolist()
    assert model.n_mistakes_ == other.n_mistakes_
    assert model.history_["mistakes"].tolist() == other.history_["mistakes"].tolist()


numbers = st.one_of(
    st.integers(-5, 5).map(float),
    st.floats(min_value=-1e100, max_value=1e100, allow_subnormal=False),
)


@given(st.data())
def test_sketch_changes_nothing_on_any_rows(data):
    n, d = data.draw(st.integers(2, 10)), data.draw(st.integers(1, 6))
    rows = st.lists(numbers, min_size=d, max_size=d)
    X = np.array(data.draw(st.lists(rows, min_size=n, max_size=n)))
    codes = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    delta = data.draw(st.sampled_from([0.0, 1.0, 1e50]))
    assert_same(X, codes, np.tile(np.arange(n), 4), delta=delta)


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
def test_one_sketch_serves_all_pairs(monkeypatch):
    made = []
    monkeypatch.setattr("maxmargin.solvers.perceptron.online.MAX_SKETCHED_SHARE", 1.0)
    monkeypatch.setattr("maxmargin.solvers.perceptron.online.MAX_EPOCHS_AT_ONCE", 1)
    monkeypatch.setattr("maxmargin.solvers.problem.worth_sketching", lambda rows: True)
    real = sketch.with_sketch
    monkeypatch.setattr(
        "maxmargin.solvers.problem.with_sketch", lambda rows: made.append(rows) or real(rows)
    )
    rng = np.random.default_rng(0)
    mm.Perceptron(multi_class="ovo", max_iter=3).fit(rng.standard_normal((60, 3)), np.arange(60) % 4)
    assert len(made) == 1


@pytest.mark.parametrize(("wrong", "pays"), [(0.0, True), (0.3, False)])
def test_the_sketch_is_made_where_mistakes_are_few(monkeypatch, wrong, pays):
    monkeypatch.setattr("maxmargin.solvers.problem.worth_sketching", lambda rows: True)
    rng, n = np.random.default_rng(0), 4000
    X = rng.standard_normal((n, 3))
    codes = (X[:, 0] > 0).astype(np.int32)
    codes[rng.random(n) < wrong] ^= 1
    machine = Machine(1, 1, 0, np.arange(n), np.ones(2))
    passes = LocalPasses(Examples(DenseRows(X), codes, 1.0), [machine], Settings(), sketch=True)
    state, sketched = State.begin(np.zeros((1, 4))), []
    for _ in range(4):
        sketched.append(passes.sketched)
        passes.epoch(state, rng)
    assert sketched == [False] + 3 * [pays]  # before the first epoch nobody knows


def test_a_sketch_that_decides_too_little_is_dropped(monkeypatch):
    monkeypatch.setattr("maxmargin.solvers.problem.worth_sketching", lambda rows: True)
    rng, n = np.random.default_rng(0), 1000
    X = rng.standard_normal((n, 3)) * 1e-6
    X[0, 0] = 1.0  # all others are less than a unit of the sketch
    X[1:, 0] = np.abs(X[1:, 0])
    machine = Machine(1, 1, 0, np.arange(n), np.ones(2))
    examples = Examples(DenseRows(X), np.ones(n, dtype=np.int32), 0.0)
    passes = LocalPasses(examples, [machine], Settings(), sketch=True)
    state, sketched = State.begin(np.zeros((1, 4))), []
    for _ in range(3):
        passes.epoch(state, rng)
        sketched.append(passes.sketched)
    assert sketched == [True, False, False]
