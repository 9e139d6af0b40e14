"""The parts of coordinate descent and the active set, each against plain code; and its checkpoints."""

import math
import os
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import maxmargin as mm
from maxmargin.rows import as_rows
from maxmargin.saving import checkpoint as fit
from maxmargin.saving.checkpoint import checkpoint
from maxmargin.solvers.margin import active_set, coordinate_descent
from maxmargin.solvers.margin.coordinate_descent import Descent
from maxmargin.solvers.margin.coordinates import NotFiniteError
from maxmargin.solvers.margin.dual_problem import DualProblem, square_lengths
from maxmargin.solvers.margin.tasks import THREAD, Budget, HaltedError
from maxmargin.solvers.margin.witness import growing_rows
from texts import one_hot, text

X, Y = text(80, 150, 8, flips=0.1)
DENSE, y = X.toarray(), Y.astype(float)
MANY = text(250, 500, 12, seed=5, flips=0.05, classes=5)


def dual_problem(X=X, y=y, C=1.0, pad=1.0):
    rows = as_rows(X)
    bounds = None if C is None else np.broadcast_to(np.asarray(C, dtype=float), len(y)).copy()
    return DualProblem(rows, np.asarray(y, dtype=float), bounds, pad, square_lengths(rows))


# --- what a point is worth -------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=60)
def test_the_bias_is_the_best_of_all_candidates(data):
    n = data.draw(st.integers(2, 8))
    f = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))) / 2.0
    signs = np.array(
        [1.0, -1.0, *data.draw(st.lists(st.sampled_from([1.0, -1.0]), min_size=n - 2, max_size=n - 2))]
    )
    C = np.array(data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    for bounds in (C, np.full(n, 2.0)):
        b = dual_problem(f[:, None], signs, bounds)._bias(f)
        cost = lambda b: float(bounds @ np.maximum(0.0, 1.0 - signs * (f + b)))  # noqa: E731, B023
        assert cost(b) <= min(map(cost, signs - f)) * (1 + 1e-12)
    b = dual_problem(f[:, None], signs, None)._bias(f)
    least = lambda b: float(np.min(signs * (f + b)))  # noqa: E731
    assert all(least(b) >= least(other) - 1e-12 for other in (b - 0.25, b + 0.25, *(signs - f)))


@pytest.mark.parametrize("form", [X, DENSE], ids=["sparse", "dense"])
@pytest.mark.parametrize("pad", [1.0, 0.0])
@pytest.mark.parametrize("bounds", [2.0, np.linspace(0.5, 2.0, len(y)), None], ids=["C", "C_i", "hard"])
def test_values_are_those_of_numpy(form, pad, bounds):
    one = dual_problem(form, C=bounds, pad=pad)
    x = np.random.default_rng(0).random(len(y)) * 0.6
    w = (x * y) @ DENSE
    np.testing.assert_allclose(one.weighted_sum(x), w, atol=1e-13)
    np.testing.assert_allclose(one.q, (DENSE**2).sum(axis=1), rtol=1e-13)
    point, f = one.measure(w, x)
    np.testing.assert_allclose(f, DENSE @ w, atol=1e-12)
    m = y * (DENSE @ point.w + point.b)
    if bounds is None:
        assert point.primal == (pytest.approx(0.5 * point.w @ point.w) if m.min() > 0 else math.inf)
    else:
        slack = (
            bounds @ np.maximum(1.0 - m, 0.0)
            if np.ndim(bounds)
            else bounds * np.maximum(1.0 - m, 0.0).sum()
        )
        assert point.primal == pytest.approx(0.5 * point.w @ point.w + slack, rel=1e-12)
    alpha = point.alpha
    assert alpha.min() >= 0.0 and np.all(alpha <= (np.inf if bounds is None else bounds))
    v = (alpha * y) @ DENSE
    np.testing.assert_allclose(point.v, v, atol=1e-12)
    if pad:
        assert abs(alpha @ y) <= 1e-14 * alpha.sum()
    else:
        assert point.b == 0.0
    dual = alpha.sum() - 0.5 * v @ v if bounds is not None else 0.5 * alpha.sum() ** 2 / (v @ v)
    assert point.dual == pytest.approx(dual, rel=1e-12, abs=1e-12 * alpha.sum())


def test_rows_that_are_not_finite_are_noticed():
    bad = DENSE.copy()
    bad[3, 5] = np.nan
    with pytest.raises(NotFiniteError):
        dual_problem(bad)
    with pytest.raises(NotFiniteError):
        dual_problem().measure(np.full(X.shape[1], 1e308), np.zeros(len(y)))


# --- an epoch --------------------------------------------------------------------------------------


def plain_epoch(order, alpha, w, bounds, rho, q, balance, b, above, below):
    """Hsieh et al. 2008, algorithm 3, with b = b_k + ρ Σ α_i y_i within the epoch."""
    order = list(order)
    k, highest, lowest = 0, 0.0, 0.0
    while k < len(order):
        i = order[k]
        g = y[i] * (DENSE[i] @ w + b + rho * balance) - 1.0
        if (alpha[i] == 0.0 and g > above) or (alpha[i] == bounds[i] and g < below):
            order[k] = order[-1]  # set aside
            order.pop()
            continue
        k += 1
        projected = g
        if alpha[i] == 0.0:
            projected = min(g, 0.0)
        if alpha[i] == bounds[i]:
            projected = max(g, 0.0)
        highest, lowest = max(highest, projected), min(lowest, projected)
        if projected != 0.0:
            new = min(max(alpha[i] - g / (q[i] + rho), 0.0), bounds[i])
            w += (new - alpha[i]) * y[i] * DENSE[i]
            balance += (new - alpha[i]) * y[i]
            alpha[i] = new
    above = highest if highest > 0.0 else math.inf
    below = lowest if lowest < 0.0 else -math.inf
    return set(order), balance, b + rho * balance, above, below


@pytest.mark.parametrize("form", [X, DENSE], ids=["sparse", "dense"])
@pytest.mark.parametrize("C", [0.5, 20.0, None])
@pytest.mark.parametrize("pad", [1.0, 0.0])
def test_epochs_are_those_of_the_paper(form, C, pad, monkeypatch):
    walk = Descent(dual_problem(form, C=C, pad=pad))
    orders, inner = [], coordinate_descent.descend
    monkeypatch.setattr(
        coordinate_descent, "descend", lambda *a: (orders.append(a[2].copy()), inner(*a))[1]
    )
    bounds = np.full(len(y), math.inf if C is None else C)
    alpha, w = np.zeros(len(y)), np.zeros(X.shape[1])
    rho, q = walk._rho, walk._q
    assert rho == (pytest.approx(0.1 * (DENSE**2).sum(axis=1).mean()) if pad else 0.0)
    seen = (0.0, 0.0, math.inf, -math.inf)
    for k in range(8):
        walk.epoch()
        kept, *seen = plain_epoch(orders[k], alpha, w, bounds, rho, q, *seen)
        np.testing.assert_allclose(walk.alpha, alpha, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(walk.w, w, rtol=1e-9, atol=1e-12)
        assert walk.left == len(kept) and set(walk._order[: walk.left].tolist()) == kept
        assert walk.bias == pytest.approx(seen[1], abs=1e-12)
        np.testing.assert_array_equal(np.sort(walk._order), np.arange(len(y)))
    assert len(set(map(bytes, orders))) == 8
    assert walk.left < len(y) or C is None
    walk.wake()
    assert walk.left == len(y)


def test_epochs_in_pieces_visit_every_row_once(monkeypatch):
    walk = Descent(dual_problem(C=2.0))
    monkeypatch.setattr(walk.dual_problem.rows, "block_length", lambda entries: 1 + len(y) // 7)
    walk.epoch()
    assert walk.left == len(y)  # what one piece saw is no reason to set rows of the next aside
    for _ in range(100):
        walk.epoch()
        np.testing.assert_array_equal(np.sort(walk._order), np.arange(len(y)))
        walk.wake()
    point, _ = walk.dual_problem.measure(walk.w, walk.alpha)
    assert point.gap < 1e-2
    np.testing.assert_allclose(walk.w, walk.dual_problem.weighted_sum(walk.alpha), atol=1e-12)


def test_smaller_bounds_first_keep_the_sum():
    walk = Descent(dual_problem(C=1e4))
    walk.begin(lambda passes: False)
    assert walk.epochs > 6
    np.testing.assert_allclose(walk.w, (walk.alpha * y) @ DENSE, rtol=1e-9, atol=1e-9)
    assert walk._state[0] == pytest.approx(float(walk.alpha @ y), abs=1e-9)
    assert walk.alpha.max() <= 1e4


def test_the_estimate_is_near_the_gap_when_nothing_moves():
    walk = Descent(dual_problem(C=0.3))
    for _ in range(300):
        walk.epoch()
    walk.wake()
    walk.epoch()
    point, _ = walk.dual_problem.measure(walk.w, walk.alpha)
    assert point.gap <= max(10 * walk.estimate, 1e-9)


# --- the active set --------------------------------------------------------------------------------


def by_residuals(one, x, w, F):
    active_set._solve(one, x, w, F, 1e-6, 1e-12)


def by_factors(one, x, w, F):
    assert active_set.Factorised(one).solve(x, w, F)


@pytest.mark.parametrize("solve", [by_residuals, by_factors])
@pytest.mark.parametrize("pad", [1.0, 0.0])
def test_the_rows_on_the_margin_are_solved_for(pad, solve, monkeypatch):
    monkeypatch.setattr(
        active_set, "SETTINGS", replace(active_set.SETTINGS, residual_share=0.0)
    )  # to the end
    one = dual_problem(C=5.0, pad=pad)
    rng = np.random.default_rng(1)
    x = np.where(rng.random(len(y)) < 0.3, 5.0, 0.0)
    F = np.sort(rng.permutation(len(y))[:12])
    x[F] = rng.random(12)
    w, before = (x * y) @ DENSE, x.copy()
    solve(one, x, w, F)
    A = y[F][:, None] * DENSE[F]
    rest = np.setdiff1d(np.arange(len(y)), F)
    np.testing.assert_array_equal(x[rest], before[rest])
    held = (before[rest] * y[rest]) @ DENSE[rest]
    system, goal = A @ A.T, 1.0 - A @ held
    if pad:
        system = np.block([[system, y[F][:, None]], [y[F][None], np.zeros((1, 1))]])
        goal = np.append(goal, -float(before[rest] @ y[rest]))
    truth = np.linalg.solve(system, goal)
    np.testing.assert_allclose(x[F], truth[:12], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(w, (x * y) @ DENSE, atol=1e-9)
    b = truth[12] if pad else 0.0
    np.testing.assert_allclose(y[F] * (DENSE[F] @ w + b), 1.0, atol=1e-7)


def test_the_active_set_reaches_the_last_digits():
    one = dual_problem(C=3.0)
    walk = Descent(one)
    for _ in range(60):
        walk.epoch()
    first, _ = one.measure(walk.w, walk.alpha)
    alpha, w = walk.alpha.copy(), walk.w.copy()
    best, done = active_set.settle(one, walk.alpha, walk.w, first, 1e-12, Budget())
    assert done and best.gap <= 1e-12 < first.gap
    np.testing.assert_array_equal(walk.alpha, alpha)  # its arguments are left alone
    np.testing.assert_array_equal(walk.w, w)


def test_factors_go_on_where_conjugate_residuals_lead_nowhere(monkeypatch):
    monkeypatch.setattr(active_set, "SETTINGS", replace(active_set.SETTINGS, max_steps=0))
    one = dual_problem(C=3.0)
    walk = Descent(one)
    for _ in range(60):
        walk.epoch()
    first, _ = one.measure(walk.w, walk.alpha)
    given = one, walk.alpha, walk.w, first, 1e-12, Budget()
    stuck, done = active_set.settle(*given)
    assert not done and stuck.gap > 1e-12
    best, done = active_set.settle(*given, factorise=True)
    assert done and best.gap <= 1e-12


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_factors_of_rows_that_depend_on_each_other(form):
    """Twenty rows, each twice, in twelve dimensions: all have margin 1 if their labels are such."""
    rng = np.random.default_rng(2)
    A = np.repeat(rng.standard_normal((20, 12)), 2, axis=0)
    signs = np.where(A[:, 0] > 0, 1.0, -1.0)
    A[:, 0] = signs  # so that w = (1, 0, …) has all at the edge
    rows = as_rows(form(A))
    one = DualProblem(rows, signs, None, 1.0, square_lengths(rows))
    x, w, F = np.zeros(40), np.zeros(12), np.arange(40)
    assert active_set.Factorised(one).solve(x, w, F)
    b = float(np.mean(signs - A @ w))
    np.testing.assert_allclose(signs * (A @ w + b), 1.0, atol=1e-9)
    assert abs(float(x @ signs)) < 1e-9


def test_inner_products_are_kept_and_forgotten(monkeypatch):
    """Rows come and go; of a matrix that is full only those of the moment stay."""
    few = replace(active_set.SETTINGS, max_factorised_rows=20)
    monkeypatch.setattr(active_set, "SETTINGS", few)
    kept, rng = active_set.Factorised(dual_problem(C=5.0)), np.random.default_rng(3)
    for size in (8, 12, 20, 5, 19, 20):
        F = np.sort(rng.permutation(len(y))[:size])
        ways = []
        for system in (kept, active_set.Factorised(kept.dual_problem)):
            x, w = np.zeros(len(y)), np.zeros(DENSE.shape[1])
            assert system.solve(x, w, F)
            ways.append(x)
        np.testing.assert_allclose(*ways, rtol=1e-6, atol=1e-9)
    x, w = np.zeros(len(y)), np.zeros(DENSE.shape[1])
    assert not kept.solve(x, w, np.arange(21))
    assert not x.any() and not w.any()


def test_a_halt_ends_the_work():
    budget = Budget()
    budget.halt.set()
    with pytest.raises(HaltedError):
        coordinate_descent.large_margin(dual_problem(), 1e-6, budget)


# --- rows that cancel ------------------------------------------------------------------------------


@pytest.mark.parametrize("pad", [1.0, 0.0])
def test_growing_rows_of_a_contradictory_pair(pad):
    rows, signs = sparse.csr_array(sparse.vstack([X, X[[5]]])), np.append(y, -y[5])
    growth = np.zeros(len(signs))
    growth[[5, -1]] = 10.0
    growth[7] = 1e-3
    weights = growing_rows(dual_problem(rows, signs, None, pad), growth)
    assert np.flatnonzero(weights).tolist() == [5, len(y)]
    assert weights[5] == pytest.approx(weights[-1])
    growth[[5, 6]] = growth[[6, 5]]
    assert growing_rows(dual_problem(rows, signs, None, pad), growth) is None  # these do not cancel


# --- checkpoints -----------------------------------------------------------------------------------

FITS = {
    "soft": lambda: (mm.SoftMarginSVC(20.0, solver="descent", tol=1e-8), X, Y),
    "mixed": lambda: (mm.SoftMarginSVC(50.0, solver="mixed", tol=1e-8), *one_hot(150)),
    "hard": lambda: (mm.HardMarginSVC(solver="descent"), *text(120, 400)),
    "rest": lambda: (mm.SoftMarginSVC(5.0, solver="descent"), *MANY),
    "rest, two threads": lambda: (mm.SoftMarginSVC(5.0, solver="descent", n_jobs=2), *MANY),
    "mixed, two threads": lambda: (mm.SoftMarginSVC(5.0, solver="mixed", n_jobs=2), *MANY),
    "pairs, two threads": lambda: (
        mm.SoftMarginSVC(5.0, solver="descent", multi_class="ovo", n_jobs=2),
        *MANY,
    ),
}


class Killed(BaseException):
    pass


def assert_same_optimum(model, expected):
    for label, machine in model.machines_.items():
        proof, other = machine.certificate_, expected.machines_[label].certificate_
        assert max(proof.relative_gap, other.relative_gap) <= model.tol
        assert proof.primal == pytest.approx(other.primal, rel=2 * model.tol)


@pytest.mark.parametrize("name", FITS)
def test_a_fit_goes_on_from_every_pass(name, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)
    model, rows, labels = FITS[name]()
    expected = clone(model).fit(rows, labels)
    epochs, inner = [], Descent.epoch
    monkeypatch.setattr(Descent, "epoch", lambda *a: (epochs.append(0), inner(*a))[1])
    path, write, found = tmp_path / "fit.json", fit.write_sealed, []
    with monkeypatch.context() as patch:
        patch.setattr(fit, "write_sealed", lambda *a: (write(*a), found.append(path.read_bytes())))
        checkpoint(clone(model), path, every=0.0).fit(rows, labels)
    assert len(found) > 2
    whole, left = len(epochs), []
    for content in found[-1 :: -1 - len(found) // 12][::-1]:  # as if it was killed then
        path.write_bytes(content)
        epochs.clear()
        assert_same_optimum(checkpoint(clone(model), path, every=1000.0).fit(rows, labels), expected)
        left.append(len(epochs))
    assert left[-1] == 0 and left[-2] < whole


@pytest.mark.parametrize("name", ["soft", "rest, two threads"])
def test_an_end_in_the_middle_ends_all_threads(name, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)
    model, rows, labels = FITS[name]()
    expected = clone(model).fit(rows, labels)
    path, write, kept = tmp_path / "fit.json", fit.write_sealed, []

    def last(*args):
        write(*args)
        raise Killed

    for _ in range(50):
        with monkeypatch.context() as patch:
            patch.setattr(fit, "write_sealed", last)
            try:
                checkpoint(clone(model), path, every=0.0).fit(rows, labels)
                break
            except Killed as error:
                kept.append(error)  # and with it all frames
        assert not [thread for thread in threading.enumerate() if thread.name.startswith(THREAD)]
        if "model" in fit.read_sealed(path, fit.FORMAT, fit.VERSION):
            break
    assert len(kept) > 1
    assert_same_optimum(checkpoint(clone(model), path).fit(rows, labels), expected)


def test_a_saved_model_tells_its_solver(tmp_path):
    for name in ("soft", "mixed", "hard", "rest"):
        model, rows, labels = FITS[name]()
        mm.save(model.fit(rows, labels), tmp_path / "model.json")
        loaded = mm.load(tmp_path / "model.json")
        assert loaded.solver_ == model.solver_ and loaded.solver == model.solver
        assert [m.solver_ for m in loaded.machines_.values()] == [
            m.solver_ for m in model.machines_.values()
        ]
    content = (tmp_path / "model.json").read_text()
    assert '"solver": "descent"' in content.replace('":"', '": "')
