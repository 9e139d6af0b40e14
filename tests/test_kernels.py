"""Every kernel against its plain-Python twin, bit for bit, for every kind of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins
from bank import BANK, FORMS, as_form, problem
from driving import decisions, drive, errors, lengths
from maxmargin.kernels import perceptron, pocket
from maxmargin.rows import as_rows
from maxmargin.solvers.problem import Examples

EPOCHS = 4

SETTINGS = [
    {},
    {"delta": 1.5},
    {"eta": 0.3},
    {"pad": 0.0},
    {"normalize": True},
    {"normalize": True, "pad": 0.0, "delta": 0.1},
    {"weight": {-1: 0.7, 1: 3.0}, "eta": 0.1},
]


def widened(X, form):
    """The numbers a twin has to be fed so as to see what the kernel sees."""
    return np.array(X, dtype=np.float32 if form == "float32" else np.float64).astype(np.float64)


def an_order(n, seed=0):
    return np.random.default_rng(seed).integers(n, size=EPOCHS * n)


def kernel_settings(settings):
    weight = settings.get("weight")
    return {**settings, "weight": [weight[-1], weight[1]]} if weight else settings


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
def test_sweep_is_the_lectures_loop(p, form):
    order = an_order(len(p.y))
    for settings in SETTINGS:
        twin = twins.online(widened(p.X, form), p.y, [order], **settings)
        Z, _, counts = drive(as_form(p.X, form), p.codes, order, **kernel_settings(settings))
        assert Z[0].tolist() == twin.z, settings
        assert (counts["seen"][0], counts["made"][0]) == (twin.seen, twin.made)


def test_kernels_take_at_most_ten_arguments():
    modules = (perceptron, pocket)
    kernels = [f for m in modules for f in vars(m).values() if hasattr(f, "py_func")]
    assert len(kernels) >= 4
    assert max(f.py_func.__code__.co_argcount for f in kernels) <= 10


@pytest.mark.parametrize("form", FORMS)
def test_sweep_starts_where_it_is_told(form):
    p = problem("gaussian")
    start = [0.5, -1.25, 3.0, 0.1, -0.7]
    twin = twins.online(widened(p.X, form), p.y, [range(len(p.y))], start=start)
    Z, _, _ = drive(as_form(p.X, form), p.codes, range(len(p.y)), start=[start])
    assert Z[0].tolist() == twin.z


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("budget", [1, 2, 7])
def test_sweep_keeps_a_budget_of_updates_exactly(form, budget):
    p = problem("overlap")
    order = an_order(len(p.y))
    twin = twins.online(widened(p.X, form), p.y, [order], max_updates=budget)
    Z, _, counts = drive(as_form(p.X, form), p.codes, order, left=budget)
    assert Z[0].tolist() == twin.z
    assert (counts["seen"][0], counts["made"][0], counts["left"][0]) == (twin.seen, budget, 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["overlap", "integer blobs", "holes"])
def test_lazy_average_is_the_naive_average(name, form):
    p = problem(name)
    order = an_order(len(p.y))
    twin = twins.online(widened(p.X, form), p.y, [order])
    Z, U, counts = drive(as_form(p.X, form), p.codes, order, average=True)
    assert Z[0].tolist() == twin.z
    lazy = Z[0] - U[0] / counts["seen"][0]
    np.testing.assert_allclose(lazy, twins.naive_average(twin), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tile", [1, 7, 1 << 40])
def test_machines_that_share_rows_do_what_each_does_alone(form, tile):
    p = problem("holes")
    codes = np.arange(len(p.y)) % 3
    order = an_order(len(p.y))
    Z, _, counts = drive(as_form(p.X, form), codes, order, positives=(0, 1, 2), tile=tile)
    for k in range(3):
        twin = twins.online(widened(p.X, form), np.where(codes == k, 1, -1), [order])
        assert Z[k].tolist() == twin.z
        assert counts["made"][k] == twin.made


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
def test_lengths_decisions_and_errors(p, form):
    X, wide = as_form(p.X, form), widened(p.X, form)
    for pad in (0.0, 1.0):
        assert lengths(X, pad).tolist() == [twins.unit_scale(x, pad) for x in wide.tolist()]
    Z = np.random.default_rng(1).integers(-3, 4, (3, wide.shape[1] + 1)) * 0.1
    F = decisions(X, Z, tile=5)
    expected = np.array([[twins.decision(z[:-1], z[-1], x) for x in wide] for z in Z])
    assert np.array_equal(np.sign(F), np.sign(expected))
    np.testing.assert_allclose(F, expected, rtol=1e-12, atol=1e-12 * np.abs(wide).max())
    wrong = [twins.errors(wide, p.y, z[:-1], z[-1]) for z in Z]
    assert errors(X, p.codes, [1, 1, 1], Z, tile=5).tolist() == wrong


def test_ties_that_depend_on_the_order_of_a_sum_are_decided_from_left_to_right():
    rng = np.random.default_rng(5)
    half = rng.integers(-30, 30, (200, 16)) * 0.1
    X = rng.permuted(np.hstack([half, -half]), axis=1)  # every row adds up to zero
    z = np.append(np.ones(32), 0.0)
    expected = np.sign([twins.decision(z[:-1], 0.0, x) for x in X])
    backwards = np.sign([twins.decision(z[:-1], 0.0, x[::-1]) for x in X])
    assert np.count_nonzero(expected != backwards) > 50
    for form in ("float64", "csr int32", "csr int64"):
        assert np.sign(decisions(as_form(X, form), [z])[0]).tolist() == expected.tolist()
        y = np.where(np.arange(200) % 2, 1, -1)
        twin = twins.online(X, y, [range(200)], start=z)
        Z, _, counts = drive(as_form(X, form), (y > 0).astype(int), range(200), start=[z])
        assert counts["made"][0] == twin.made
        assert Z[0].tolist() == twin.z


# Sums of tenths: zero in exact arithmetic, while the rounded sum depends on the order of its terms.
tenths = st.integers(-30, 30).map(lambda k: k * 0.1)
wild = st.floats(min_value=-1e100, max_value=1e100, allow_subnormal=False)
zero_or = st.one_of(st.just(0.0), tenths)


@st.composite
def classified_rows(draw, values):
    n, d = draw(st.integers(2, 8)), draw(st.integers(1, 9))
    X = draw(st.lists(st.lists(values, min_size=d, max_size=d), min_size=n, max_size=n))
    y = draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    return np.array(X), np.array(y)


@pytest.mark.parametrize("form", ["float64", "csr int32"])
@pytest.mark.parametrize("values", [zero_or, wild], ids=["tenths", "wild"])
def test_sweep_is_the_lectures_loop_on_any_rows(values, form):
    @given(classified_rows(values), st.sampled_from(SETTINGS[:3]))
    def check(example, settings):
        X, y = example
        order = np.tile(np.arange(len(y)), 3)
        twin = twins.online(X, y, [order], **settings)
        Z, _, counts = drive(as_form(X, form), (y > 0).astype(int), order, **settings)
        assert Z[0].tolist() == twin.z
        assert counts["made"][0] == twin.made

    check()


@given(classified_rows(zero_or), st.data())
def test_sign_of_a_decision_is_that_of_the_sum_from_left_to_right(example, data):
    X, _ = example
    z = data.draw(st.lists(tenths, min_size=X.shape[1] + 1, max_size=X.shape[1] + 1))
    expected = [twins.decision(z[:-1], z[-1], x) for x in X]
    for form in ("float64", "csr int64"):
        f = decisions(as_form(X, form), [z])[0]
        assert np.sign(f).tolist() == np.sign(expected).tolist()


@pytest.mark.parametrize("form", FORMS)
def test_a_product_decides_ties_from_left_to_right_too(form, monkeypatch):
    monkeypatch.setattr("maxmargin.solvers.problem.MIN_PRODUCT_ROWS", 1)
    rng = np.random.default_rng(5)
    half = rng.integers(-30, 30, (200, 16)) * 0.1
    X = rng.permuted(np.hstack([half, -half]), axis=1)  # every row adds up to zero
    Z = np.array([np.append(np.ones(32), b) for b in (0.0, 1.0)])
    expected = np.array([[twins.decision(z[:-1], z[-1], x) for x in widened(X, form)] for z in Z])
    F = Examples(as_rows(as_form(X, form)), np.empty(0), 1.0).decisions(Z)
    assert np.array_equal(np.sign(F), np.sign(expected))
    np.testing.assert_allclose(F, expected, atol=1e-12)
