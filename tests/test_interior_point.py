"""Interior points for the soft margin: both matrices, rows left out, and what others stall on."""

import math
import time

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import maxmargin as mm
from maxmargin.rows import DenseRows
from maxmargin.solvers.margin.coordinates import Frame, find_scaling
from maxmargin.solvers.margin.interior_point import ATTEMPTS, interior_point
from maxmargin.solvers.margin.reduced_problem import Reduced
from planes import exact


def problem(X, y, C, pad=1.0):
    rows = DenseRows(np.ascontiguousarray(X, dtype=float))
    frame = Frame(rows, np.where(np.asarray(y) > 0, 1.0, -1.0), pad, find_scaling(rows, pad))
    frame = frame.restricted(np.arange(rows.n))
    return Reduced(frame, np.broadcast_to(C * frame.scaling.scale**2, rows.n).copy(), np.zeros(rows.d))


def value(p, point):
    """½‖w‖² − v₀·w − s₀ b + Σ C_i max(0, 1 − m_i) + what is fixed, by plain code."""
    slack = sum(
        C * max(0.0, 1.0 - float(a @ point.w) - float(y) * point.b)
        for C, a, y in zip(p.C, p.frame.take(np.arange(p.frame.n)), p.frame.bias, strict=True)
    )
    linear = float(p.v0 @ point.w) + p.s0 * point.b
    return 0.5 * float(point.w @ point.w) - linear + slack + p.fixed


def made(n, d, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + noise * rng.normal(size=n) > 0, 1, -1)


@pytest.mark.parametrize("attempt", range(ATTEMPTS))
@pytest.mark.parametrize("pad", [0.0, 1.0])
@pytest.mark.parametrize(("n", "d"), [(60, 4), (30, 30), (20, 50)])
def test_the_gap_is_that_of_plain_code(n, d, pad, attempt):
    p = problem(*made(n, d), C=2.0, pad=pad)
    point = interior_point(p, 1e-9, attempt=attempt)
    assert point.gap <= 1e-9
    assert value(p, point) == pytest.approx(point.primal, rel=1e-9)
    assert np.all((point.alpha >= 0.0) & (point.alpha <= p.C))
    assert abs(float(point.alpha @ p.frame.bias)) <= 1e-8 * float(point.alpha.sum())
    v = point.alpha @ p.frame.take(np.arange(n))
    assert float(point.alpha.sum()) - 0.5 * float(v @ v) == pytest.approx(point.dual, rel=1e-8)


def test_the_optimum_in_fractions():
    X = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [3.0, 2.0], [2.0, 3.0], [0.0, 0.0]])
    y = np.array([-1, 1, -1, 1, 1, -1])
    p = problem(X, y, C=1.0)
    point = interior_point(p, 1e-10)
    assert point.primal / p.frame.scaling.scale**2 == pytest.approx(exact(X, y, 1.0).value, rel=1e-9)


def test_rows_left_out_are_felt_through_their_sums():
    """The problem on all rows, and on some with the multipliers of the others fixed at the optimum."""
    p = problem(*made(80, 5), C=1.0)
    whole = interior_point(p, 1e-11)
    some = np.arange(50)
    others = whole.alpha.copy()
    others[some] = 0.0
    frame = p.frame
    part = Reduced(
        frame.restricted(some),
        p.C[some],
        frame.weighted_sum(others),
        float(others @ frame.bias),
        float(others.sum()),
    )
    point = interior_point(part, 1e-9)
    assert point.gap <= 1e-9
    assert point.dual == pytest.approx(whole.dual, rel=1e-6)
    assert value(part, point) == pytest.approx(point.primal, rel=1e-9)


def test_multipliers_that_tend_to_a_bound_are_brought_there():
    p = problem(*made(200, 3), C=1.0)
    point = interior_point(p, 1e-8)
    free = (point.alpha > 0.0) & (point.alpha < p.C)
    assert 0 < np.count_nonzero(free) <= 10
    assert np.any(point.alpha == 0.0) and np.any(point.alpha == p.C)


def test_a_deadline_ends_it_with_the_best_point_so_far():
    p = problem(*made(200, 20), C=1.0)
    point = interior_point(p, 1e-9, deadline=time.perf_counter() - 1.0)
    assert point.steps == 0 and math.isfinite(point.primal)


def test_the_example_that_ended_at_half():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 50)) * 1000
    y = np.arange(20) % 2 == 0
    X[y, 0] += 60_000
    model = mm.SoftMarginSVC(C=1e4).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.primal == pytest.approx(5.908e-10, rel=1e-3)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize(
    ("n", "d", "C", "optimum"), [(1000, 500, 100.0, 22171.3083217), (1200, 600, 1e4, 864.0663846)]
)
def test_random_labels_on_half_as_many_features(n, d, C, optimum):
    """The optima are those of another solver of quadratic programs (Clarabel 0.9)."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    proof = mm.SoftMarginSVC(C=C).fit(X, y).certificate_
    assert proof.relative_gap <= 1e-6
    assert proof.dual <= optimum * (1 + 1e-8)
    assert proof.primal >= optimum * (1 - 1e-8)


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
def test_without_slack_it_is_the_hard_margin(scale):
    """If no multiplier of the hard margin is larger than C, it is the soft optimum as well."""
    X, y = made(100, 5, noise=0.0)
    X = X * scale
    hard = mm.HardMarginSVC().fit(X, y)
    soft = mm.SoftMarginSVC(C=1.01 * float(hard.dual_.max()), tol=1e-9).fit(X, y)
    assert soft.certificate_.primal == pytest.approx(hard.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(soft.coef_, hard.coef_, rtol=1e-3, atol=1e-3 * np.abs(hard.coef_).max())
    assert soft.slack_.max() <= 1e-9


@pytest.mark.parametrize("factor", [1e-3, 1e3, 1e6])
def test_units_do_not_matter(factor):
    """X → sX with C → C/s² is the same problem: w → w/s."""
    X, y = made(120, 4)
    one = mm.SoftMarginSVC(C=10.0, tol=1e-9).fit(X, y)
    other = mm.SoftMarginSVC(C=10.0 / factor**2, tol=1e-9).fit(factor * X, y)
    np.testing.assert_allclose(other.coef_ * factor, one.coef_, rtol=1e-4, atol=1e-6)
    assert other.certificate_.primal * factor**2 == pytest.approx(one.certificate_.primal, rel=1e-8)


def test_the_support_is_sparse_whatever_solved_it():
    X, y = made(300, 4, noise=0.2)
    for scale, C in ((1.0, 1.0), (1e5, 1.0), (1e3, 1e4)):
        model = mm.SoftMarginSVC(C=C).fit(X * scale, y)
        assert len(model.support_) < 150
        assert len(model.free_support_) <= 20


def test_without_free_multipliers_the_bias_is_in_the_middle():
    """All multipliers at C: any b of an interval is optimal, and the middle one is that of LIBSVM."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    model = mm.SoftMarginSVC(C=1e-4).fit(X, y)
    assert len(model.free_support_) == 0 and len(model.bound_support_) == len(y)
    theirs = SVC(C=1e-4, kernel="linear", tol=1e-10).fit(X, y)
    assert model.intercept_[0] == pytest.approx(theirs.intercept_[0], rel=1e-6)


@pytest.mark.parametrize("pad", [0.0, 1.0])
@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
def test_a_large_C_takes_no_more_steps(C, pad):
    X, y = made(100, 150, seed=2)
    p = problem(X * 10.0 ** np.random.default_rng(0).integers(-6, 7, size=150), y, C, pad)
    point = interior_point(p, 1e-7)
    assert point.gap <= 1e-7 and point.steps <= 25  # from C/2 up to forty
    assert value(p, point) == pytest.approx(point.primal, rel=1e-6)
