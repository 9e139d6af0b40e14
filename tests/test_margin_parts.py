"""The parts of the margin machines by themselves: kernels, directions, frames, rows, callbacks."""

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from bank import FORMS, as_form
from maxmargin.kernels.margin import clip_multipliers, descend, hinge_slope, slope
from maxmargin.rows import as_rows
from maxmargin.solvers.margin import augmented_lagrangian, small
from maxmargin.solvers.margin.coordinates import Frame, Products, find_scaling
from maxmargin.solvers.margin.reduced_problem import Reduced, finish
from maxmargin.solvers.margin.tasks import MarginPoint, balanced, dual_value


def data(n=40, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, y


def frame_of(X, y, pad=1.0):
    rows = as_rows(X)
    return Frame(rows, y, pad, find_scaling(rows, pad))


@pytest.mark.parametrize("form", FORMS)
def test_rows_combine_and_lengths(form):
    X, _ = data()
    X = np.where(np.abs(X) > 0.5, X, 0.0).astype(np.float32).astype(np.float64)
    rows = as_rows(as_form(X, form))
    C = np.random.default_rng(1).standard_normal((3, len(X)))
    np.testing.assert_allclose(rows.combine(C), C @ X, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rows.square_lengths(), (X**2).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pad", [1.0, 0.0])
def test_a_frame_is_signed_centred_and_scaled(form, pad):
    X, y = data()
    X = (X + (7.0 if pad else 0.0)).astype(np.float32).astype(np.float64)
    frame = frame_of(as_form(X, form), y, pad)
    A = y[:, None] * (X - frame.scaling.centre) / frame.scaling.scale
    w, b, alpha = np.arange(1.0, 7.0), 0.3, np.random.default_rng(2).random(len(X))
    np.testing.assert_allclose(frame.margins(w, b), A @ w + pad * y * b, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(frame.weighted_sum(alpha), alpha @ A, rtol=1e-10, atol=1e-10)
    some = np.array([3, 11, 30])
    np.testing.assert_allclose(frame.take(some), A[some], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(frame.weighted_sum_of(some, alpha[:3]), alpha[:3] @ A[some], atol=1e-10)
    assert frame.weighted_sum_of(some[:0], alpha[:0]).tolist() == [0.0] * 6
    part = frame.restricted(some)
    np.testing.assert_allclose(part.margins(w, b), A[some] @ w + pad * y[some] * b, atol=1e-10)
    inside = frame.scaling.inside(*frame.scaling.outside(w, b))
    np.testing.assert_allclose(np.append(*inside), np.append(w, b), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [2, 5, 30])
@pytest.mark.parametrize("pad", [1.0, 0.0])
def test_three_ways_to_the_same_direction(k, pad, monkeypatch):
    X, y = data()
    frame = frame_of(X, y, pad)
    band, rng = np.arange(k), np.random.default_rng(3)
    sigma, gw, gb = 1.0 + rng.random(k), rng.standard_normal(6), 0.7 * pad
    Z = np.column_stack([frame.take(band), frame.bias[band]])
    H = Z.T @ (sigma[:, None] * Z) + np.diag(np.append(np.ones(6), 0.0 if pad else 1.0))
    wanted = np.linalg.solve(H, -np.append(gw, gb))
    for way in (augmented_lagrangian._primal, augmented_lagrangian._gram):
        np.testing.assert_allclose(np.append(*way(frame, band, sigma, gw, gb)), wanted, rtol=1e-8)
    monkeypatch.setattr(augmented_lagrangian, "MAX_ORDER", 1)
    problem = Reduced(frame, np.ones(frame.n), np.zeros(6))
    got = np.append(*augmented_lagrangian.direction(problem, band, sigma, gw, gb))
    assert np.linalg.norm(H @ got - H @ wanted) <= 1e-2 * np.linalg.norm(np.append(gw, gb))


def test_kept_products_are_the_products():
    X, _ = data()
    kept = Products(len(X), 6)
    for band in ([1, 4, 7], [4, 7, 9, 20], [0, 1], [20, 39]):
        A = X[band]
        np.testing.assert_allclose(kept.among(np.array(band), A), A @ A.T, rtol=1e-13, atol=1e-13)


def test_clip_and_slope_by_plain_code():
    rng = np.random.default_rng(4)
    m, u, a, C = rng.standard_normal((4, 50))
    a, C, sigma = np.abs(a), np.abs(a) + np.abs(C), 1.0 + rng.random(50)
    alpha, band = np.empty(50), np.empty(50, dtype=np.int64)
    inside = clip_multipliers(m, a, C, sigma, alpha, band)
    value = a + sigma * (1 - m)
    np.testing.assert_allclose(alpha, np.clip(value, 0, C), rtol=1e-14, atol=1e-14)
    assert band[:inside].tolist() == np.flatnonzero((value > 0) & (value < C)).tolist()
    for t in (0.0, 0.4, 3.0):
        value = a + sigma * (1 - m - t * u)
        free = (value > 0) & (value < C)
        pull, curvature = slope(t, m, u, a, C, sigma)
        assert pull == pytest.approx(np.clip(value, 0, C) @ u, rel=1e-12, abs=1e-12)
        assert curvature == pytest.approx((sigma * u**2)[free].sum(), rel=1e-12)
        expected = (C * u)[m + t * u < 1].sum()
        assert hinge_slope(t, m, u, C) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_an_epoch_of_coordinate_descent_by_plain_code(form):
    X, y = data()
    X = X.astype(np.float32).astype(np.float64)
    rows, order = as_rows(as_form(X, form)), np.random.default_rng(5).permutation(40)
    q, C, rho = (X**2).sum(axis=1), np.full(40, 0.3), 0.8
    w, alpha, b, balance = np.zeros(6), np.zeros(40), 0.2, 0.0
    for i in order:
        g = y[i] * (X[i] @ w + b + rho * balance) - 1
        new = min(max(alpha[i] - g / (q[i] + rho), 0.0), C[i])
        w += (new - alpha[i]) * y[i] * X[i]
        balance += (new - alpha[i]) * y[i]
        alpha[i] = new
    got_w, got = np.zeros(6), np.zeros(40)
    state = np.array([0.0, 0.2, np.inf, -np.inf, 0.0, 0.0])
    assert descend(rows.arrays, y, order.copy(), got, C, got_w, q, rho, state) == 40
    np.testing.assert_allclose(got, alpha, atol=1e-12)
    np.testing.assert_allclose(got_w, w, atol=1e-12)
    assert state[:2] == pytest.approx([balance, b + rho * balance])


def test_rows_at_a_bound_are_set_aside():
    X, y = data()
    order = np.arange(40)
    # Every gradient is above −2, and every α is zero.
    state = np.array([0.0, 0.0, -2.0, -np.inf, 0.0, 0.0])
    args = as_rows(X).arrays, y, order, np.zeros(40), np.ones(40), np.zeros(6), np.ones(40), 1.0, state
    assert descend(*args) == 0
    assert sorted(order.tolist()) == list(range(40))


def test_balancing_stays_within_the_bounds():
    rng = np.random.default_rng(6)
    for _ in range(200):
        n = int(rng.integers(2, 12))
        y, C = rng.choice([-1.0, 1.0], n), rng.random(n) + 0.1
        alpha = C * rng.choice([0.0, 0.3, 1.0], n)
        new = balanced(alpha, y, C)
        assert np.all(new >= 0) and np.all(new <= C) and np.all(new <= alpha)
        assert abs(new @ y) <= 1e-15 * max(alpha.sum(), 1)


def test_sparse_rows_with_thousands_of_features():
    rng = np.random.default_rng(7)
    X = sparse.random(600, 5000, density=0.01, format="csr", random_state=7)
    y = np.where(X @ rng.standard_normal(5000) + 0.1 * rng.standard_normal(600) > 0, 1, -1)
    for model in (mm.SoftMarginSVC(C=10.0), mm.HardMarginSVC()):
        proof = model.fit(X, y).certificate_
        assert proof.relative_gap <= model.tol
        dense = model.fit(X.toarray(), y)
        assert dense.certificate_.primal == pytest.approx(proof.primal, rel=2 * model.tol)


def test_passes_are_few():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((60_000, 10))
    f = X @ rng.standard_normal(10)
    far = np.abs(f) > 0.1
    assert mm.HardMarginSVC().fit(X[far], f[far] > 0).n_passes_ <= 10
    assert mm.SoftMarginSVC().fit(X, f + rng.standard_normal(60_000) > 0).n_passes_ <= 36


class Watcher:
    """Counts passes, predicts with the model as it stands, and may ask for a stop."""

    def __init__(self, stop_after=None):
        self.stop_after, self.passes, self.scores = stop_after, 0, []

    def setup(self, estimator, context):
        pass

    teardown = setup

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.task_name != "pass":
            return False
        self.passes += 1
        self.scores.append(fitted_estimator.score(X, y))
        return self.passes == self.stop_after


def test_callbacks_see_every_pass_and_can_stop():
    pytest.importorskip("sklearn.callback")
    rng = np.random.default_rng(9)
    X = rng.standard_normal((20_000, 10)) + 3.0
    y = X @ rng.standard_normal(10) + rng.standard_normal(20_000) > 0
    watcher = Watcher()
    model = mm.SoftMarginSVC(tol=1e-9).set_callbacks(watcher).fit(X, y)
    assert watcher.passes >= 2 and watcher.scores[-1] == model.score(X, y)
    with pytest.warns(mm.BudgetWarning, match="at most"):
        mm.SoftMarginSVC(tol=1e-9).set_callbacks(Watcher(stop_after=1)).fit(X, y)


def test_an_interrupted_fit_changes_nothing(monkeypatch):
    X, y = data()
    model = mm.SoftMarginSVC().fit(X, y)
    before = dict(vars(model))

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(small, "many_problems", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(C=2.0).fit(X[:, :3], y)
    assert vars(model) == before | {"C": 2.0}


# --- the last digits -------------------------------------------------------------------------------


def worth_by_plain_code(problem, point):
    """Primal and dual value of a soft margin on the rows at hand."""
    A, y = problem.frame.take(np.arange(problem.frame.n)), problem.frame.bias
    slack = np.maximum(0.0, 1.0 - A @ point.w - y * point.b)
    linear = problem.v0 @ point.w + problem.s0 * point.b
    v = problem.v0 + point.alpha @ A
    primal = 0.5 * point.w @ point.w - linear + problem.C @ slack + problem.fixed
    return primal, point.alpha.sum() + problem.fixed - 0.5 * v @ v


@pytest.mark.parametrize("pad", [1.0, 0.0])
def test_a_point_is_worth_what_plain_code_says(pad):
    X, y = data()
    frame, rng = frame_of(X, y, pad), np.random.default_rng(11)
    balance = 0.2 * pad
    problem = Reduced(frame, np.full(40, 0.7), rng.standard_normal(6), balance, 3.0)
    alpha = 0.7 * rng.random(40)
    v = problem.v0 + frame.weighted_sum(alpha)
    w, b = rng.standard_normal(6), 0.1 * pad
    point = problem.worth(w, b, frame.margins(w, b), alpha.copy(), v)
    assert np.all((point.alpha >= 0.0) & (point.alpha <= alpha))
    assert abs(point.alpha @ frame.bias + balance) <= 1e-14 * point.alpha.sum()
    primal, dual = worth_by_plain_code(problem, point)
    assert point.primal == pytest.approx(primal, rel=1e-12)
    assert point.dual == pytest.approx(dual, rel=1e-12)
    np.testing.assert_allclose(point.v, problem.v0 + frame.weighted_sum(point.alpha), atol=1e-12)


@pytest.mark.parametrize("pad", [1.0, 0.0])
@pytest.mark.parametrize(("n", "d"), [(40, 6), (12, 30)])
@pytest.mark.parametrize("units", [0, 5])
def test_the_band_is_solved_to_the_last_digit(n, d, pad, units):
    """From multipliers near the optimum, in features of any units; rows left out are felt."""
    X, y = data(n, d)
    X = X * 10.0 ** np.random.default_rng(12).integers(-units, units + 1, size=d)
    frame, C = frame_of(X, y, pad), 200.0
    problem = Reduced(frame, np.full(n, C), np.zeros(d))
    near = augmented_lagrangian.minimise(
        problem, MarginPoint(np.zeros(d), 0.0, np.zeros(n), np.zeros(d), 0.25), 1e-12
    )
    band = np.flatnonzero((near.alpha > 0.0) & (near.alpha < C))
    assert len(band)
    off = near.alpha.copy()
    off[band] = np.clip(off[band] * (1.0 + 1e-6), 0.0, C)
    start = MarginPoint(near.w * (1.0 + 1e-6), near.b, off, frame.weighted_sum(off))
    point = finish(problem, band, start)
    assert point is not None
    m = frame.margins(point.w, point.b)
    np.testing.assert_allclose(m[band], 1.0, rtol=0, atol=1e-12)
    assert np.linalg.norm(point.w - frame.weighted_sum(point.alpha)) <= 1e-12 * np.linalg.norm(point.w)
    assert point.gap <= 1e-13
    primal, dual = worth_by_plain_code(problem, point)
    assert (point.primal, point.dual) == pytest.approx((primal, dual), rel=1e-12)


def test_rows_that_depend_on_others_keep_their_multipliers():
    X, y = data(20, 3)
    X, y = np.vstack([X, X]), np.append(y, y)
    frame = frame_of(X, y)
    problem = Reduced(frame, np.full(40, 2.0), np.zeros(3))
    zero = MarginPoint(np.zeros(3), 0.0, np.zeros(40), np.zeros(3), 0.25)
    near = augmented_lagrangian.minimise(problem, zero, 1e-4)
    band = np.flatnonzero((near.alpha > 0.0) & (near.alpha < 2.0))
    assert len(band) % 2 == 0
    point = finish(problem, band, near)
    assert point is not None and point.gap <= 1e-13
    assert np.count_nonzero(point.alpha[band] == near.alpha[band]) >= len(band) // 2


def test_a_band_of_rows_of_zeros_is_no_support(capfd):
    X, y = data(20, 3)
    X[:5] = 0.0
    frame = frame_of(X, y, 0.0)
    problem = Reduced(frame, np.full(20, 2.0), np.zeros(3))
    start = MarginPoint(np.zeros(3), 0.0, np.full(20, 1.0), np.zeros(3), 0.25)
    assert finish(problem, np.arange(5), start) is None
    assert capfd.readouterr() == ("", "")  # LAPACK complains of an empty matrix


def test_a_matrix_that_rounding_made_indefinite_is_solved_with_a_ridge():
    rng = np.random.default_rng(13)
    B = rng.standard_normal((30, 5)) * 10.0 ** np.arange(-2, 3)
    M = B @ B.T  # of rank 5: its smallest eigenvalues are rounding, some of them negative
    right = M @ rng.standard_normal(30)
    x = augmented_lagrangian._solve(M.copy(), right)
    assert np.linalg.norm(M @ x - right) <= 1e-5 * np.linalg.norm(right)


def test_multipliers_out_of_range_are_worth_nothing():
    assert dual_value(2.0, 1.0, 0.0) == 1.5 and dual_value(2.0, 1.0, 0.0, hard=True) == 2.0
    for total, square, excess in ((1e300, 1e-300, 0.0), (1.0, np.inf, 0.0), (1.0, 1.0, 1e-3)):
        assert dual_value(total, square, excess, hard=True) == -np.inf
    assert dual_value(np.nan, 1.0, 0.0) == dual_value(1.0, 1.0, np.nan) == -np.inf
    assert dual_value(1.0, 0.0, 0.0, hard=True) == np.inf  # these cancel
