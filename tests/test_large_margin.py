"""Margin machines on sparse data by every solver: the same answers, with the same promises."""

import contextlib
import math
import threading
import time
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

import exact
import maxmargin as mm
import planes
from maxmargin.core.errors import BudgetWarning, InputError
from maxmargin.estimators.progress import Watch
from maxmargin.rows import PartedRows, as_rows
from maxmargin.solvers.margin.choice import choose_solver
from maxmargin.solvers.margin.descent import Descent
from maxmargin.solvers.margin.sidebyside import THREAD
from texts import one_hot, text
from thorough import THOROUGH

SETS = {
    "separable": text(200, 600),
    "noisy": text(400, 150, 10, seed=1, flips=0.1),
    "one-hot": one_hot(300),
}
SMALL = text(120, 300, 10, seed=4, flips=0.1)
MANY = text(400, 800, 12, seed=5, flips=0.02, classes=12)
each_set = pytest.mark.parametrize("name", SETS)
each_solver = pytest.mark.parametrize("solver", ["newton", "mixed", "descent"])


def soft(C=1.0, **options):
    return mm.SoftMarginSVC(C=C, **{"solver": "descent", "max_seconds": 20.0, **options})


def hard(**options):
    return mm.HardMarginSVC(**{"solver": "descent", "max_seconds": 20.0, **options})


def only(model):
    (machine,) = model.machines_.values()
    return machine


def bits(model):
    machines = model.machines_.values()
    return [
        (m.coef_.tobytes(), m.intercept_, m.dual_.tobytes(), m.n_passes_, m.progress_, m.solver_)
        for m in machines
    ]


def assert_optimal(model, X, y, C):
    """Certified, and in plain NumPy: bounds, balance and complementarity."""
    X = X.toarray() if sparse.issparse(X) else X
    assert model.certificate_.relative_gap <= model.tol
    planes.check_kkt(only(model), X, y, C, gap=model.tol, bias=model.fit_intercept)


def assert_near(model, other, X, y, C):
    """Both values are within their gaps; the distance of the planes follows from strong convexity."""
    one, two = model.certificate_, other.certificate_
    room = one.gap + two.gap + 1e-12 * abs(two.primal)
    assert abs(one.primal - two.primal) <= room
    difference = float(np.linalg.norm(model.coef_ - other.coef_))
    assert difference <= np.sqrt(2 * max(one.gap, 0)) + np.sqrt(2 * max(two.gap, 0)) + 1e-6 * (
        1e-9 + float(np.linalg.norm(other.coef_))
    )


# --- one answer ------------------------------------------------------------------------------------


@each_set
@pytest.mark.parametrize("bias", [True, False], ids=["free bias", "through 0"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_every_solver_gives_the_same_soft_margin(name, C, bias):
    X, y = SETS[name]
    options = {"tol": 1e-9, "fit_intercept": bias}
    newton = soft(C, solver="newton", **options).fit(X, y)
    for form in (X, X.toarray()):
        model = soft(C, **options).fit(form, y)
        assert_optimal(model, X, y, C)
        assert_near(model, newton, X, y, C)
    assert_near(soft(C, solver="mixed", **options).fit(X, y), newton, X, y, C)


@each_set
@each_solver
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9])
def test_the_gap_is_as_small_as_asked_for(name, solver, tol):
    X, y = SETS[name]
    model = soft(3.0, solver=solver, tol=tol).fit(X, y)
    assert_optimal(model, X, y, 3.0)
    alpha = only(model).dual_
    assert abs(float(alpha @ y)) <= 1e-14 * float(alpha.sum())


@each_solver
def test_weights_of_rows_and_classes(solver):
    X, y = SETS["noisy"]
    weight = np.random.default_rng(0).integers(0, 4, len(y)) / 2.0
    model = soft(0.5, solver=solver, class_weight={-1: 3.0, 1: 0.5}).fit(X, y, weight)
    C = 0.5 * weight * np.where(y > 0, 0.5, 3.0)
    assert_optimal(model, X, y, C)
    used = weight > 0
    apart = soft(0.5, solver=solver, class_weight={-1: 3.0, 1: 0.5}).fit(X[used], y[used], weight[used])
    assert_near(model, apart, X, y, C)
    assert not np.any(only(model).dual_[~used])
    balanced = soft(solver=solver, class_weight="balanced").fit(X, y)
    assert_optimal(balanced, X, y, len(y) / (2 * np.where(y > 0, sum(y > 0), sum(y < 0))))


@each_set
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_not_above_libsvm(name, C):
    X, y = (part[::2] for part in SETS[name])
    dense = X.toarray()
    theirs = SVC(C=C, kernel="linear", tol=1e-10).fit(dense, y)
    ours = soft(C, tol=1e-9).fit(X, y)
    value = planes.primal_value(dense, y, C, theirs.coef_[0], theirs.intercept_[0])
    assert ours.certificate_.primal <= value * (1 + 1e-9)
    alpha = np.zeros(len(y))
    alpha[theirs.support_] = np.abs(theirs.dual_coef_[0])
    assert ours.certificate_.primal >= planes.dual_value(dense, y, alpha) * (1 - 1e-9)


@st.composite
def tiny(draw):
    """Up to five rows of small integers, many of them zero; both classes."""
    n, d = draw(st.integers(2, 5)), draw(st.integers(1, 3))
    entry = st.sampled_from([0, 0, 0, 1, -1, 2, 3])
    X = draw(st.lists(st.lists(entry, min_size=d, max_size=d), min_size=n, max_size=n))
    y = draw(
        st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n).filter(lambda y: len(set(y)) > 1)
    )
    return np.array(X, dtype=float), np.array(y)


@given(tiny(), st.sampled_from([0.25, 1.0, 8.0]), st.booleans())
@settings(max_examples=2000 if THOROUGH else 40)
def test_tiny_soft_margins_are_those_of_exact_arithmetic(data, C, bias):
    X, y = data
    model = soft(C, tol=1e-9, fit_intercept=bias).fit(sparse.csr_array(X), y)
    truth = planes.exact(X, y, C, bias)
    assert model.certificate_.primal == pytest.approx(truth.value, rel=2e-9, abs=1e-12)
    assert model.certificate_.dual <= truth.value * (1 + 1e-12)
    room = np.sqrt(2e-9 * truth.value) + 1e-9
    np.testing.assert_allclose(model.coef_[0], truth.w, rtol=0, atol=2 * room)
    assert_optimal(model, X, y, C)


@given(tiny(), st.booleans())
@settings(max_examples=3000 if THOROUGH else 60)
def test_tiny_hard_margins_are_those_of_exact_arithmetic(data, bias):
    X, y = data
    truth = exact.hard_margin(X.astype(int).tolist(), y.tolist(), bias)
    model = hard(fit_intercept=bias)
    if truth is None:
        with pytest.raises(mm.NotSeparableError) as caught:
            model.fit(sparse.csr_array(X), y)
        assert caught.value.verdict.proof.verify(X, y)
    else:
        model.fit(sparse.csr_array(X), y)
        assert model.margin_ == pytest.approx(truth.margin, rel=1e-9)
        assert model.certificate_.relative_gap <= 1e-9


# --- the hard margin -------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_hard_margin_is_newtons(bias, seed):
    X, y = text(200, 600, seed=seed)
    model, newton = (
        hard(fit_intercept=bias).fit(X, y),
        hard(solver="newton", fit_intercept=bias).fit(X, y),
    )
    assert (model.solver_, newton.solver_) == ("descent", "newton")
    assert model.margin_ == pytest.approx(newton.margin_, rel=1e-9)
    assert_near(model, newton, X, y, np.inf)
    m = y * (X @ model.coef_[0] + model.intercept_)
    assert m.min() >= 1.0 - 1e-12
    alpha = only(model).dual_
    assert alpha.min() >= 0.0 and float(np.max(alpha * (m - 1.0))) <= 1e-9 * model.certificate_.primal
    if bias:
        assert abs(float(alpha @ y)) <= 1e-14 * float(alpha.sum())
    dense = hard(fit_intercept=bias).fit(X.toarray(), y)
    assert dense.margin_ == pytest.approx(model.margin_, rel=1e-9)


def refused(model, X, y):
    with pytest.raises(mm.NotSeparableError) as caught:
        model.fit(X, y)
    witness = caught.value.witness
    assert caught.value.verdict.proof.verify(X, y)
    meeting = X[witness.positive].T @ witness.positive_weights.astype(float)
    meeting -= X[witness.negative].T @ witness.negative_weights.astype(float)
    np.testing.assert_allclose(meeting, 0.0, atol=1e-12)
    assert set(y[witness.positive]) == {1} and set(y[witness.negative]) == {-1}
    return witness


def test_contradictory_rows_are_found():
    X, y = SETS["separable"]
    X, y = sparse.csr_array(sparse.vstack([X, X[[17]]])), np.append(y, -y[17])
    witness = refused(hard(), X, y)
    assert {*witness.positive.tolist(), *witness.negative.tolist()} == {17, len(y) - 1}


@pytest.mark.parametrize("bias", [True, False])
def test_a_witness_of_as_many_rows_as_it_takes(bias):
    k = 16  # the centre of a simplex of k corners in k − 1 dimensions (after b), in other columns
    X, y = text(150, 400, seed=3)
    corners = sparse.hstack([sparse.eye_array(k), sparse.csr_array((k, X.shape[1]))])
    centre = sparse.csr_array(corners.sum(axis=0)[None] / k)
    X = sparse.csr_array(
        sparse.vstack([sparse.hstack([sparse.csr_array((150, k)), X]), corners, centre])
    )
    y = np.concatenate([y, np.ones(k, int), [-1]])
    if bias:
        witness = refused(hard(), X, y)
        assert witness.positive.tolist() == list(range(150, 150 + k))
    else:  # and through the origin
        with pytest.raises(mm.NotSeparableError) as caught:
            hard(fit_intercept=False).fit(X, y)
        assert caught.value.verdict.proof.verify(X, y)


def test_noise_in_few_columns_is_refused():
    X, y = text(200, 60, 8, flips=0.2)
    witness = refused(hard(), X, y)
    assert len(witness.positive) + len(witness.negative) <= 62


# --- which solver ----------------------------------------------------------------------------------


def rows_of(n, d, is_sparse):
    """Rows of a certain shape, without any content."""
    X = sparse.csr_array((n, d)) if is_sparse else np.broadcast_to(np.zeros(1), (n, d))
    rows = as_rows(X[:1] if not is_sparse else X)
    rows.n, rows.d = n, d
    return rows


@pytest.mark.parametrize(
    ("n", "d", "is_sparse", "is_hard", "word"),
    [
        (100, 2000, True, False, "newton"),  # few entries
        (100, 2000, True, True, "newton"),
        (10_000, 4000, True, False, "mixed"),
        (10_000, 4001, True, False, "descent"),
        (10_000, 500, True, True, "newton"),
        (10_000, 501, True, True, "descent"),
        (10_000, 150, False, False, "newton"),
        (10_000, 151, False, False, "mixed"),
        (10_000, 4001, False, False, "descent"),
        (10_000, 4001, False, True, "newton"),
        (1_000, 2001, False, False, "newton"),  # the Gram matrix
    ],
)
def test_the_solver_is_chosen_by_shape(n, d, is_sparse, is_hard, word):
    rows = rows_of(n, d, is_sparse)
    assert choose_solver(rows, is_hard) == word
    assert choose_solver(rows, is_hard, "descent") == "descent"


def test_what_was_done_is_told():
    X, y = SMALL
    assert soft(solver="auto").fit(X, y).solver_ == "newton"
    assert soft().fit(X, y).solver_ == "descent"
    wide, labels = text(300, 1500)
    assert hard(solver="auto").fit(wide, labels).solver_ == "descent"
    assert soft(solver="auto").fit(wide, labels).solver_ in ("mixed", "descent")
    with pytest.raises(AttributeError, match="before fit"):
        _ = soft().solver_
    chosen = mm.SoftMarginSVCCV(Cs=[0.1, 1.0], cv=2, solver="descent").fit(X, y)
    assert chosen.solver_ == "descent"


def test_wrong_words_are_refused(tmp_path, monkeypatch):
    X, y = SMALL
    with pytest.raises(
        InputError, match=r"solver must be one of 'auto', 'newton', 'mixed', 'descent'\."
    ):
        soft(solver="liblinear").fit(X, y)
    with pytest.raises(
        InputError, match=r"solver must be one of 'auto', 'newton', 'descent'\. Got 'mixed'"
    ):
        hard(solver="mixed").fit(X, y)
    for jobs in (0, 1.5, True, "two"):
        with pytest.raises(InputError, match="n_jobs must be an integer ≥ 1"):
            soft(n_jobs=jobs).fit(X, y)
    mm.write_svmlight(X, y, tmp_path / "a.svm")
    rows = mm.open_rows(tmp_path / "a.svm")
    assert soft().fit(rows).solver_ == "descent"  # memory holds them
    monkeypatch.setattr(PartedRows, "at_once", lambda self: None)
    with pytest.raises(InputError, match="solver must be 'auto' or 'newton' for rows in a file"):
        soft().fit(rows)
    assert soft(solver="auto").fit(rows).solver_ == "newton"


def test_a_singular_face_is_not_trusted():
    """No bias and two features: more rows on the margin than the plane has freedom, and large C."""
    rng = np.random.default_rng(1425)
    for _ in range(20):
        X = rng.integers(-3, 4, (21, 2)).astype(float)
        y = rng.choice([-1, 1], 21)
        if len(set(y)) < 2:
            continue
        options = {"C": 400.0, "fit_intercept": False, "tol": 1e-5}
        model = mm.SoftMarginSVC(**options, solver="descent").fit(X, y)
        other = mm.SoftMarginSVC(**options, solver="newton").fit(X, y)
        assert model.certificate_.primal <= other.certificate_.primal * (1 + 1e-5)


def test_no_plane_and_no_time():
    with pytest.warns(BudgetWarning):
        model = mm.HardMarginSVC(solver="descent", max_passes=3).fit([[1.0], [1.0]], [1, -1])
    assert model.certificate_.primal == math.inf


def test_a_tolerance_below_rounding_ends():
    X, y = np.random.default_rng(0).standard_normal((30, 5)), np.arange(30) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)
        model = mm.SoftMarginSVC(C=1e-4, tol=1e-16, solver="descent").fit(X, y)
    assert model.certificate_.relative_gap < 1e-14


# --- side by side ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "multi_class", "numbers"),
    [
        ("descent", "ovr", (None, 1, 2, 3, -1)),
        ("descent", "ovo", (1, 2, 3)),
        ("mixed", "ovr", (1, 2)),
        ("newton", "ovr", (1, 3)),
        ("newton", "ovo", (1, 3)),
    ],
)
def test_any_number_of_threads_gives_the_same_bits(multi_class, solver, numbers):
    X, y = MANY
    if solver == "newton":
        X, y = X[:, :100], y % 4
    expected = None
    for jobs in numbers:
        model = soft(solver=solver, multi_class=multi_class, n_jobs=jobs).fit(X, y)
        expected = expected or bits(model)
        assert bits(model) == expected
    classes = len(set(y))
    assert len(expected) == (classes if multi_class == "ovr" else classes * (classes - 1) // 2)
    assert model.certificate_.relative_gap <= 1e-6
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(THREAD)]


@pytest.mark.parametrize("solver", ["descent", "mixed"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_all_threads_and_changes_nothing(multi_class, jobs, solver, monkeypatch):
    X, y = MANY
    model = soft(multi_class=multi_class, n_jobs=jobs, solver=solver).fit(X[:100], y[:100])
    before, steps, step = bits(model), [], Watch.step

    def failing(self, *args):
        steps.append(args)
        if len(steps) == 3:
            raise KeyboardInterrupt
        return step(self, *args)

    monkeypatch.setattr(Watch, "step", failing)
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.perf_counter() - began < 2.0
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(THREAD)]
    assert bits(model) == before


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_a_class_that_is_not_separable_is_named(multi_class):
    X, y = text(300, 900, seed=2, classes=5)
    twin = sparse.csr_array(sparse.vstack([X, X[[7]]]))
    labels = np.append(y, (y[7] + 1) % 5)
    for jobs in (1, 2):
        model = hard(multi_class=multi_class, n_jobs=jobs).fit(X, y)
        before = bits(model)
        with pytest.raises(mm.NotSeparableError) as caught:
            model.fit(twin, labels)
        a, b = sorted([int(y[7]), int(labels[-1])])
        assert list(caught.value.verdicts) == ([a, b] if multi_class == "ovr" else [(a, b)])
        assert bits(model) == before
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(THREAD)]


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
        with pytest.warns(mm.BudgetWarning, match=r"Raise max_passes or max_seconds"):
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
    assert len(watcher.scores) > 2 and watcher.scores[-1] == model.score(X, y)
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


def honest(model, X, y):
    """A fit ends soon, with a certificate that says the truth, or a clear error."""
    began = time.perf_counter()
    with warnings.catch_warnings(), contextlib.suppress(InputError, mm.NotSeparableError):
        warnings.simplefilter("ignore", mm.BudgetWarning)
        model.set_params(max_seconds=1.0).fit(X, y)
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
    assert time.perf_counter() - began < 6.0
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
        with pytest.raises(mm.NotSeparableError):
            new(**options).fit(nothing, y)
    else:
        model = new(**options).fit(nothing, y)
        assert model.certificate_.primal == (6.0 if bias else 10.0)
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
