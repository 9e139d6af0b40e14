"""A small problem in one compiled call, against plain code, the general solver and LIBSVM."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

import maxmargin as mm
from maxmargin.kernels.many_problems import many_problems
from maxmargin.kernels.small_memory import DUAL, MAX_ROUNDS, PRIMAL, STEPS, memory
from maxmargin.kernels.small_problem import stages
from maxmargin.solvers.margin import small, tasks
from planes import dual_value, primal_value
from softmargins import PAIRS, TINY, assert_optimal, assert_same_plane, noisy, value
from twins import method_of_multipliers


def call(X, y, C, pad=1.0, tol=1e-6, goal=1e-13):
    """The kernel on rows as they are: w, b, α and its report."""
    n, d = X.shape
    z, alpha, report = np.zeros((1, d + 1)), np.zeros(n), np.full((1, 4), np.inf)
    bounds, no_rounds = np.broadcast_to(np.float64(C), (n,)).copy(), np.empty((0, MAX_ROUNDS, 3))
    batch = small.locked(X), np.arange(n), np.array([0, n]), y, bounds
    stop = tol, goal
    many_problems(batch, pad, stop, memory(n, d), stages(), z, alpha, report, no_rounds)
    return z[0, :-1], z[0, -1], alpha, report[0]


def designs():
    rng = np.random.default_rng(3)
    for n, d in [(4, 1), (30, 3), (60, 60), (25, 70), (120, 8)]:
        X = rng.normal(size=(n, d))
        y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
        y[:2] = -1.0, 1.0
        yield X - X.mean(axis=0), y


@pytest.mark.parametrize("pad", [1.0, 0.0])
@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
def test_the_kernel_is_the_plain_method_of_multipliers(C, pad):
    for X, y in designs():
        bounds = C * np.random.default_rng(1).uniform(0.5, 2.0, len(y))
        w, b, alpha, report = call(X, y, bounds, pad)
        plain = method_of_multipliers(X, y, bounds, pad)
        primal, dual = primal_value(X, y, bounds, w, b), dual_value(X, y, alpha)
        assert report[PRIMAL] == pytest.approx(primal, rel=1e-12)
        assert report[DUAL] == pytest.approx(dual, rel=1e-12)
        assert abs(primal - dual) <= 1e-12 * primal
        assert primal == pytest.approx(primal_value(X, y, bounds, *plain[:2]), rel=1e-9)
        np.testing.assert_allclose(w, plain[0], rtol=0, atol=1e-5 * np.linalg.norm(w))
        assert np.all(alpha >= 0.0) and np.all(alpha <= bounds)
        assert b == 0.0 if pad == 0.0 else abs(alpha @ y) <= 1e-15 * alpha.sum()


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_call_and_the_general_solver_agree(name, C):
    X, y = PAIRS[name]
    one = mm.SoftMarginSVC(C=C).fit(X, y)
    two = mm.SoftMarginSVC(C=C, solver="newton").fit(X, y)
    assert_optimal(one, X, y, C, gap=1e-9)
    assert_same_plane(one, two, X, y, C)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=0, atol=1e-8 * np.linalg.norm(two.coef_))
    assert one.solver_ == two.solver_ == "newton"


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_degenerate_problems_have_the_same_answer(name, C):
    X, y = TINY[name]
    one = mm.SoftMarginSVC(C=C).fit(X, y)
    two = mm.SoftMarginSVC(C=C, solver="newton").fit(X, y)
    assert one.certificate_.relative_gap <= 1e-6
    assert value(one, X, y, C) == pytest.approx(value(two, X, y, C), rel=1e-7, abs=1e-300)
    size = 1.0 + np.linalg.norm(two.coef_)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=0, atol=1e-4 * size)
    np.testing.assert_allclose(one.intercept_, two.intercept_, rtol=0, atol=1e-3 * size)


@pytest.mark.parametrize("C", [0.05, 5.0])
def test_libsvm_at_a_tight_tolerance_has_the_same_plane(C):
    X, y = noisy(150, 6)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    options = {"C": C, "class_weight": {-1.0: 2.0, 1.0: 0.5}}
    ours = mm.SoftMarginSVC(**options).fit(X, y, weight)
    theirs = SVC(kernel="linear", tol=1e-12, **options).fit(X, y, weight)
    # LIBSVM keeps inner products in single precision.
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-4)


@st.composite
def problems(draw):
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 5))
    numbers = st.integers(-3, 3)
    X = np.array(draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    y[:2] = -1, 1
    weight = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n))
    return X.astype(float), y, np.array(weight)


@given(problems(), st.sampled_from([1e-6, 0.1, 1.0, 1e3]), st.booleans())
def test_any_small_problem_is_certified_whatever_its_degeneracies(problem, C, bias):
    X, y, weight = problem
    model = mm.SoftMarginSVC(C=C, fit_intercept=bias).fit(X, y, weight)
    assert model.certificate_.relative_gap <= 1e-6
    other = mm.SoftMarginSVC(C=C, fit_intercept=bias, solver="newton").fit(X, y, weight)
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=3e-6)


def test_sparse_rows_and_floats_have_the_answer_of_dense_doubles():
    X, y = noisy(80, 7)
    X = np.rint(4.0 * X)
    model = mm.SoftMarginSVC().fit(X, y)
    for rows in (X.astype(np.float32), sparse.csr_array(X), np.asfortranarray(X)):
        other = mm.SoftMarginSVC().fit(rows, y)
        np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-12, atol=1e-14)


def test_no_row_between_the_bounds_leaves_the_bias_in_the_middle():
    X, y = np.array([[0.0], [1.0], [4.0], [9.0]]), np.array([-1, -1, 1, 1])
    model = mm.SoftMarginSVC(C=1e-3).fit(X, y)  # b may be anywhere near 0
    assert model.free_support_.tolist() == []
    assert model.coef_[0, 0] == pytest.approx(0.012)  # Σ C y x; then −1 ≤ b ≤ 1 − 9 w
    assert model.intercept_[0] == pytest.approx((-1.0 + 1.0 - 9 * 0.012) / 2)
    other = mm.SoftMarginSVC(C=1e-3, solver="newton").fit(X, y)
    assert model.intercept_[0] == pytest.approx(other.intercept_[0], abs=1e-12)


def test_a_degenerate_machine_does_not_chase_the_last_digit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 2, 400) * 2.0 - 1.0
    X = np.repeat(X[:40], 10, axis=0)  # equal rows of both classes: any split of α will do
    report = call(X - X.mean(axis=0), y, 0.01)[3]
    assert report[PRIMAL] - report[DUAL] <= 1e-6 * report[PRIMAL]
    assert report[STEPS] <= 200


def test_what_is_not_solved_in_the_call_is_left_to_the_general_solver(monkeypatch):
    X, y = PAIRS["iris 1-2"]
    expected = mm.SoftMarginSVC(solver="newton").fit(X, y)

    def gives_up(*arguments):
        *_, report, _ = arguments
        report[:] = np.inf
        arguments[3][0][0] = 1.0  # the scale of the rows

    monkeypatch.setattr(small, "many_problems", gives_up)
    model = mm.SoftMarginSVC().fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6
    np.testing.assert_array_equal(model.coef_, expected.coef_)


SEPARABLE = ["iris 0-1", "wine 0-1", "breast cancer 0-1", "digits 0-1", "digits 3-5"]


@pytest.mark.parametrize("name", SEPARABLE)
@pytest.mark.parametrize("bias", [True, False])
def test_a_hard_margin_is_that_of_the_general_solver(name, bias):
    X, y = PAIRS[name]
    if not bias:  # not all classes are apart from the origin
        X = X + 10.0 * y[:, None]
    one = mm.HardMarginSVC(fit_intercept=bias).fit(X, y)
    two = mm.HardMarginSVC(fit_intercept=bias, solver="newton").fit(X, y)
    assert one.certificate_.relative_gap <= 1e-9
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=0, atol=1e-8 * np.linalg.norm(two.coef_))
    (machine,) = one.machines_.values()
    v = (machine.dual_ * y) @ X
    np.testing.assert_allclose(v, one.coef_[0], rtol=0, atol=1e-9 * np.linalg.norm(v))
    assert (y * (X @ one.coef_[0] + one.intercept_[0])).min() >= 1.0 - 1e-12


def test_classes_that_no_plane_separates_are_left_to_the_general_solver():
    X, y = PAIRS["iris 1-2"]
    assert call(X, y, np.inf, tol=1e-9, goal=1e-14)[3][PRIMAL] == np.inf
    with pytest.raises(mm.NotSeparableError):
        mm.HardMarginSVC().fit(X, y)


FITS = """
import numpy as np
import maxmargin as mm

def fits():
    rng = np.random.default_rng(0)
    for n, d in [(20, 2), (45, 5), (95, 11), (145, 17), (195, 23), (40, 60)]:
        X = rng.normal(size=(n, d))
        y = X[:, 0] + rng.normal(size=n) > 0
        yield mm.SoftMarginSVC().fit(X, y)

def many():
    mm.fit_many([([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [4.0, 1.0]], [0, 1, 0, 1])])

print(*(value.hex() for model in fits() for value in [*model.coef_[0], *model.intercept_]))
"""


def test_the_last_bit_does_not_depend_on_what_ran_before():
    """Copies of a function in several kernels would be used in the place of each other."""
    scripts = FITS, FITS.replace("print(", "many()\nprint(")
    runs = [subprocess.run([sys.executable, "-c", s], capture_output=True, text=True) for s in scripts]
    assert [run.stderr for run in runs] == ["", ""]
    assert runs[0].stdout == runs[1].stdout != ""


def test_every_round_stands_in_the_certificate():
    X, y = noisy(300, 5)
    (machine,) = mm.SoftMarginSVC().fit(X, y).machines_.values()
    passes, primal, dual = np.array(machine.progress_).T
    gaps = (primal - dual) / primal
    assert len(passes) > 2 and np.all(np.diff(passes) > 0)
    assert np.all(np.diff(gaps) <= 1e-12) and gaps[0] > 1e-6 and gaps[-1] < 1e-9


def test_rows_on_the_edge_that_are_not_needed_have_no_multiplier():
    model = mm.HardMarginSVC().fit([[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1])
    assert model.support_.tolist() == [1, 2] and model.dual_.tolist() == [0.0, 0.5, 0.5, 0.0]


@pytest.mark.parametrize("estimator", [mm.SoftMarginSVC, mm.HardMarginSVC])
def test_few_rows_of_many_features_take_little_memory(estimator):
    X, y = np.random.default_rng(0).normal(size=(2, 65_000)), [0, 1]
    assert estimator().fit(X, y).certificate_.relative_gap < 1e-9
    assert mm.fit_many([(X, y)]).relative_gap[0] < 1e-9


def test_time_is_looked_at_between_machines(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 20)), np.arange(400) % 8
    solved = []
    solve = small.SmallRows.solve

    def counted(self, task, tol):
        solved.append(task)
        monkeypatch.setattr(tasks.Budget, "is_up", lambda *_: True)
        return solve(self, task, tol)

    monkeypatch.setattr(small.SmallRows, "solve", counted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        mm.SoftMarginSVC(max_seconds=1000.0).fit(X, y)
    assert len(solved) == 1


@pytest.mark.parametrize("seed", [165, 281])
def test_the_general_hard_margin_is_patient(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(18, 53)) + 1e3, rng.integers(0, 2, 18)
    y[:2] = 0, 1
    model = mm.HardMarginSVC(fit_intercept=False, solver="newton").fit(X, y)
    assert model.certificate_.relative_gap < 1e-9
