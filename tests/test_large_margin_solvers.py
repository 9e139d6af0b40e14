"""Which solver a margin machine takes, and many machines side by side in threads."""

import math
import threading
import warnings

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from largemargins import MANY, SMALL, bits, hard, soft
from maxmargin.core.errors import BudgetWarning, InputError
from maxmargin.estimators import margin_machine
from maxmargin.estimators.progress import Watch
from maxmargin.rows import PartedRows, as_rows
from maxmargin.solvers.margin import solve
from maxmargin.solvers.margin.solve import choose_solver
from maxmargin.solvers.margin.tasks import THREAD
from texts import text

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
        (1_000, 2001, False, False, "descent"),  # fewer rows than features
        (1_000, 2001, False, True, "descent"),
        (2_000, 1_000, False, False, "newton"),  # interior points
    ],
)
def test_the_solver_is_chosen_by_shape(n, d, is_sparse, is_hard, word, monkeypatch):
    monkeypatch.setattr(solve, "mean_bound", lambda rows, C: 10.0)
    rows, C = rows_of(n, d, is_sparse), None if is_hard else np.ones(n)
    assert choose_solver(rows, C) == word
    assert choose_solver(rows, C, "descent") == "descent"


def test_small_bounds_are_for_descent(monkeypatch):
    """Unless the data is small, or a sample is quicker; a fit looks at C and at the length of rows."""
    X = np.random.default_rng(0).standard_normal((9_000, 30))
    assert solve.mean_bound(as_rows(X), np.full(9_000, 0.1)) == pytest.approx(3.0, rel=0.1)
    y = X[:, 0] + np.random.default_rng(1).standard_normal(9_000) > 0
    solvers = {scale: mm.SoftMarginSVC(C=0.01).fit(scale * X, y).solver_ for scale in (0.1, 1.0, 100.0)}
    assert solvers.pop(100.0) == "newton"
    assert set(solvers.values()) <= {"mixed", "descent"}
    monkeypatch.setattr(solve, "mean_bound", lambda rows, C: 1.0)
    shapes = {(20_000, 50): "mixed", (2_000, 1_000): "mixed", (5_000, 50): "newton"}
    for (n, d), word in {**shapes, (200_000, 50): "newton", (20_000, 200): "mixed"}.items():
        assert choose_solver(rows_of(n, d, False), np.ones(n)) == word


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
    model = soft(multi_class=multi_class, n_jobs=jobs, solver=solver, verbose=1).fit(X[:100], y[:100])
    before, steps, step, halt = bits(model), [], Watch.step, threading.Event()

    def failing(self, *args):
        steps.append(args)
        if len(steps) == 3:
            raise KeyboardInterrupt
        assert len(steps) < 3 or halt.wait(300)
        return step(self, *args)

    monkeypatch.setattr(margin_machine, "Event", lambda: halt)
    monkeypatch.setattr(Watch, "step", failing)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(steps) <= 3 + jobs  # what runs beside it ends with its next step
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
