"""Margin machines on sparse data of every form and size, within budgets and little memory."""

import contextlib
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
import planes
from clocks import HOUR, Clock
from largemargins import (
    SETS,
    SMALL,
    assert_near,
    assert_optimal,
    bits,
    each_set,
    each_solver,
    hard,
    only,
    soft,
)
from maxmargin.core.errors import InputError
from maxmargin.solvers.margin.coordinate_descent import Descent
from texts import text

# --- forms of the matrix ---------------------------------------------------------------------------


def forms(X):
    """The same numbers in every form that CSR may have, and others."""
    wide = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)
    yield "64 bit", wide
    entries = X.tocoo()
    backward = np.lexsort((-entries.col, entries.row))
    yield (
        "unsorted",
        sparse.csr_array((entries.data[backward], entries.col[backward], X.indptr), X.shape),
    )
    doubled = sparse.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    yield "duplicates", doubled
    zeros = sparse.csr_array(
        (
            np.column_stack([X.data, np.zeros_like(X.data)]).ravel(),
            np.column_stack([X.indices, (X.indices + 1) % X.shape[1]]).ravel(),
            2 * X.indptr,
        ),
        shape=X.shape,
    )
    yield "zeros", zeros
    frozen = X.copy()
    for array in (frozen.data, frozen.indices, frozen.indptr):
        array.flags.writeable = False
    yield "read only", frozen
    yield "csc", X.tocsc()
    yield "coo", X.tocoo()
    yield "matrix", sparse.csr_matrix(X)


@pytest.mark.parametrize("new", [lambda: soft(2.0), hard], ids=["soft", "hard"])
def test_forms_of_sparse_data(new):
    X, y = text(150, 400, seed=6)
    X = X.tolil()
    X[3] = 0  # an empty row
    X[:, [0, 17]] = 0  # and columns
    X = sparse.csr_array(X.tocsr())
    expected = new().fit(X, y)
    for name, form in forms(X):
        copy = form.copy()
        model = new().fit(form, y)
        assert model.solver_ == "descent"
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=0, atol=1e-3, err_msg=name)
        assert_near(model, expected, X, y, 2.0)
        if name in ("64 bit", "read only", "matrix", "unsorted"):
            np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
        assert (abs(form - copy)).nnz == 0 and form.dtype == copy.dtype
        if hasattr(form, "indptr"):
            np.testing.assert_array_equal(form.indptr, copy.indptr)
            np.testing.assert_array_equal(form.indices, copy.indices)
    assert not np.any(expected.coef_[0, [0, 17]])


def test_floats_are_used_as_doubles():
    X, y = SMALL
    short = X.astype(np.float32)
    model, twin = soft().fit(short, y), soft().fit(short.astype(np.float64), y)
    assert_optimal(model, short.astype(np.float64), y, 1.0)
    assert_near(model, twin, X, y, 1.0)


@each_solver
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_named(value, solver):
    X, y = SMALL
    bad = X.copy()
    bad.data[bad.indptr[41]] = value
    model = soft(solver=solver).fit(X, y)
    before = bits(model)
    for form in (bad, bad.toarray()):
        with pytest.raises(InputError, match="41"):
            model.fit(form, y)
    assert bits(model) == before


# --- starts, paths and budgets ---------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["mixed", "descent"])
def test_a_warm_start_ends_at_the_same_optimum_and_is_shorter(solver):
    X, y = SETS["noisy"]
    cold = soft(1.1, solver=solver).fit(X, y)
    warm = soft(1.0, solver=solver, warm_start=True).fit(X, y).set_params(C=1.1).fit(X, y)
    assert_optimal(warm, X, y, 1.1)
    assert_near(warm, cold, X, y, 1.1)
    again = soft(1.1, solver=solver, warm_start=True).fit(X, y)
    first = again.n_passes_
    assert again.fit(X, y).n_passes_ < first
    assert_optimal(again, X, y, 1.1)


def test_a_path_is_that_of_single_fits():
    X, y = SETS["one-hot"]
    Cs = [10.0, 0.01, 1.0, 0.1]
    path = soft().path(X, y, Cs)
    for C, model in zip(Cs, path, strict=True):
        assert model.C == C and model.solver_ == "descent"
        assert_optimal(model, X, y, C)
        assert_near(model, soft(C).fit(X, y), X, y, C)


@pytest.mark.parametrize("new", [lambda **k: soft(100.0, **k), hard], ids=["soft", "hard"])
def test_budgets_end_the_work_with_an_honest_certificate(new):
    X, y = SETS["separable"]
    best = new(tol=1e-9).fit(X, y)
    for budget in ({"max_passes": 8}, {"max_seconds": 1e-9}):
        with pytest.warns(mm.BudgetWarning, match=r"Raise max_passes, raise max_seconds, or"):
            model = new(tol=1e-9, **budget).fit(X, y)
        certificate = model.certificate_
        assert certificate.relative_gap > 1e-9
        assert certificate.dual <= best.certificate_.primal * (1 + 1e-9)
        assert certificate.primal >= best.certificate_.dual * (1 - 1e-9)
        assert model.n_passes_ < best.n_passes_


def test_a_callback_sees_the_passes_and_can_stop():
    pytest.importorskip("sklearn.callback")

    class Watcher:
        def __init__(self, last):
            self.last, self.scores = last, []

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
            if context.task_name != "pass":
                return False
            self.scores.append(fitted_estimator.score(X, y))
            return len(self.scores) == self.last

    X, y = SETS["noisy"]
    watcher = Watcher(None)
    model = soft(10.0).set_callbacks(watcher).fit(X, y)
    assert bits(model) == bits(soft(10.0).fit(X, y))
    assert len(watcher.scores) > 2
    assert watcher.scores[-1] == pytest.approx(model.score(X, y), abs=0.02)  # the last digits follow
    watcher = Watcher(2)
    with pytest.warns(mm.BudgetWarning):
        soft(10.0).set_callbacks(watcher).fit(X, y)
    assert len(watcher.scores) == 2


def test_long_fits_show_how_they_are_going(monkeypatch, capsys):
    monkeypatch.setattr("maxmargin.estimators.progress.PATIENCE", 0.0)
    X, y = SETS["noisy"]
    soft(10.0, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "SoftMarginSVC" in shown and "gap" in shown


# --- memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("flips", [0.0, 0.1])
def test_a_fit_needs_a_few_vectors(flips):
    X, y = text(3000, 20_000, 30, flips=flips)
    vectors = 8 * sum(X.shape)
    soft().fit(X[:50], y[:50])
    models = [soft(), hard()] if flips == 0.0 else [soft()]
    for model in models:
        tracemalloc.start()
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 25 * vectors, f"{peak / vectors:.1f}"
    tracemalloc.start()
    mm.certify(models[0], X, y, tol=1e-6)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25 * vectors, f"{peak / vectors:.1f}"


# --- extremes --------------------------------------------------------------------------------------


BUDGET = 1000  # hours of a clock that counts how often it is read


def honest(model, X, y):
    """A fit ends in time, with a certificate that says the truth, or a clear error."""
    clock = Clock()
    with warnings.catch_warnings(), contextlib.suppress(InputError, mm.NotSeparableError):
        warnings.simplefilter("ignore", mm.BudgetWarning)
        with clock.ticking():
            model.set_params(max_seconds=BUDGET * HOUR).fit(X, y)
        machine = only(model)
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
        w, b = machine.coef_, machine.intercept_
        if isinstance(model, mm.SoftMarginSVC):
            value = planes.primal_value(X, y, model.C, w, b)
            rounding = 1e-15 * model.C * len(y)
            assert model.certificate_.primal == pytest.approx(value, rel=1e-9, abs=rounding)
            assert machine.dual_.max() <= model.C
        assert np.all(np.isfinite(w)) and np.isfinite(b) and machine.dual_.min() >= 0.0
        assert model.certificate_.dual <= model.certificate_.primal * (1 + 1e-12)
    assert clock.hours <= BUDGET + 20
    return model


BOTH = pytest.mark.parametrize("new", [soft, hard], ids=["soft", "hard"])
LINE = np.arange(-5.0, 5.0)[:, None] + 0.5


@BOTH
@pytest.mark.parametrize("bias", [True, False])
def test_the_smallest_problems(new, bias):
    options = {"fit_intercept": bias}
    pair = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
    assert honest(new(**options), sparse.csr_array(pair), np.array([-1, 1])).certificate_.gap < 1e-6
    model = honest(new(**options), sparse.csr_array(LINE), np.where(LINE[:, 0] > 0, 1, -1))
    assert model.coef_[0, 0] == pytest.approx(2.0 if new is hard else 1.0, rel=1e-3)
    nothing, y = sparse.csr_array((10, 5)), np.where(np.arange(10) > 6, 1, -1)
    if new is hard:
        with pytest.raises(mm.NotSeparableError, match="no plane separates the two classes"):
            new(**options).fit(nothing, y)
    else:
        model = new(**options).fit(nothing, y)
        assert model.certificate_.primal == pytest.approx(6.0 if bias else 10.0, rel=1e-12)
        assert not np.any(model.coef_)


@BOTH
@pytest.mark.parametrize("power", [-150, -100, -20, -6, 6, 20, 100, 150])
def test_numbers_of_any_size(new, power):
    X, y = text(60, 100, 8, seed=1)
    scale = 10.0**power
    model = honest(new(), X * scale, y)
    if abs(power) <= 100 and new is hard:
        assert model.margin_ == pytest.approx(new().fit(X, y).margin_ * scale, rel=1e-9)
    honest(new(), (X * scale).toarray(), y)


@BOTH
def test_features_of_very_different_scale(new):
    X, y = text(100, 200, 10, seed=1)
    scale = np.where(np.random.default_rng(0).random(200) < 0.5, 1e-6, 1e6)
    honest(new(), sparse.csr_array(X.multiply(scale[None])), y)


@each_set
@pytest.mark.parametrize("C", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("bias", [True, False])
def test_slack_at_any_price(name, C, bias):
    model = honest(soft(C, fit_intercept=bias), *SETS[name])
    if C < 1.0:
        assert model.certificate_.relative_gap <= 1e-6


def test_no_rows_take_part_twice_in_an_epoch():
    X, y = SETS["one-hot"]
    seen = []
    epoch = Descent.epoch

    def noted(self, bounds=None):
        seen.append(np.sort(self._order.copy()))
        epoch(self, bounds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Descent, "epoch", noted)
        soft(10.0).fit(X, y)
    assert len(seen) > 3
    assert all(np.array_equal(order, np.arange(len(y))) for order in seen)
