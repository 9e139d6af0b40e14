"""Margin machines on sparse data by every solver: the same answers, with the same promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

import exact
import maxmargin as mm
import planes
from largemargins import SETS, assert_near, assert_optimal, each_set, each_solver, hard, only, soft
from texts import text
from thorough import THOROUGH

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
