"""Columns that depend on others but for rounding: proven verdicts, exact changes of coordinates."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import maxmargin as mm
from maxmargin.rows import CsrRows, DenseRows
from maxmargin.solvers.exact import separability
from maxmargin.solvers.exact.conditioning import condition, nearly_dependent
from maxmargin.solvers.exact.integer_rows import ExactRows, exponents_of
from maxmargin.solvers.exact.linear_algebra import cancel
from maxmargin.solvers.exact.separability import find_verdict
from maxmargin.solvers.exact.signs import signs


def designs(n, d, seed=0):
    """Return designs with columns that are rounded combinations of others, by name."""
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(n, d))
    P = np.exp(G) / np.exp(G).sum(axis=1, keepdims=True)
    counts = rng.poisson(5.0, size=(n, d)).astype(float)
    counts[:, -1] = counts[:, :-1].sum(axis=1)
    sums = G.copy()
    for k in range(d // 3):
        sums[:, -1 - k] = sums[:, k] + 0.3 * sums[:, k + 1]
    logs = np.log(P)
    levels = np.eye(d)[np.arange(n) % d][rng.permutation(n)]
    return {
        "sum": np.column_stack([G, G[:, 0] + G[:, 1]]),
        "units": np.column_stack([G, 1.1 * G[:, 0], 1.8 * G[:, 1] + 32.0]),
        "mean": np.column_stack([G, G.mean(axis=1)]),
        "proportions": P,
        "log-ratios": logs - logs.mean(axis=1, keepdims=True),
        "counts": (counts - counts.mean(axis=0)) / counts.std(axis=0),
        "many sums": sums,
        "levels": (levels - levels.mean(axis=0)) / levels.std(axis=0),
        "scales": np.column_stack([G, G[:, 0] + G[:, 1]]) * 10.0 ** rng.integers(-90, 90, size=d + 1),
    }


NAMES = list(designs(60, 8))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("labels", ["coins", "plane", "touching"])
def test_verdicts_on_rounded_combinations_are_proven(name, fit_intercept, labels):
    X = designs(150, 20)[name]
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=len(X))
    if labels != "coins":
        y = (X[:, :3] @ [1.0, -2.0, 0.5] > 0).astype(int)
        y[:2] = 0, 1
    if labels == "touching":
        X, y = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])
    verdict = mm.separability(X, y, fit_intercept=fit_intercept)
    assert verdict.proof.verify(X, y)
    if labels == "touching":
        assert verdict.kind != "separable"


@pytest.mark.parametrize("name", ["sum", "units", "many sums", "levels"])
def test_exact_multiples_of_two_change_no_verdict(name):
    X, y = designs(120, 15)[name], np.random.default_rng(2).integers(0, 2, size=120)
    scaled = mm.separability(X * 2.0 ** np.arange(-20, X.shape[1] - 20), y)
    assert mm.separability(X, y).kind == scaled.kind


def exact_rows(X, y):
    """Return the labelled rows with a bias."""
    rows = DenseRows(np.ascontiguousarray(X))
    return ExactRows(rows, y, 1.0, exponents_of(rows.column_reach))


def values(rows, plane):
    """Return a_i·z in fractions."""
    pairs = rows.whole(range(rows.n))
    return [sum(a * Fraction(z) for a, z in zip(ints, plane, strict=True)) / 2**m for ints, m in pairs]


@pytest.mark.parametrize("name", NAMES)
def test_other_coordinates_are_exact(name):
    X = designs(60, 8)[name]
    y = np.random.default_rng(3).choice([-1.0, 1.0], size=len(X))
    rows = exact_rows(X, y)
    better = condition(rows)
    assert better is not None
    z = [Fraction(int(v), 7) for v in np.random.default_rng(4).integers(-50, 50, size=rows.D)]
    assert values(better.rows, z) == values(rows, better.plane_of_base(z))
    for i, (ints, m) in enumerate(better.rows.whole(range(rows.n))):
        rounded = better.rows.block(np.array([i]))[0].tolist()
        assert (
            max(abs(Fraction(r) - Fraction(v, 2**m)) for r, v in zip(rounded, ints, strict=True))
            < 2.0**-52
        )
    some = np.arange(1, 60, 7)
    assert better.rows.restricted(some).whole(range(len(some))) == better.rows.whole(some)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "levels"])  # these depend exactly
def test_other_coordinates_are_well_conditioned(name):
    X = designs(60, 8)[name]
    better = condition(exact_rows(X, np.where(np.arange(len(X)) % 2, 1.0, -1.0)))
    A = better.rows.block(np.arange(len(X)))
    lengths = np.linalg.norm(A, axis=0)
    assert np.linalg.cond(A[:, lengths > 0] / lengths[lengths > 0]) < 1e5


def test_data_without_such_columns_keeps_its_coordinates():
    rng = np.random.default_rng(5)
    assert condition(exact_rows(rng.normal(size=(50, 6)), np.tile([1.0, -1.0], 25))) is None
    integers = rng.integers(-5, 5, size=(50, 3)).astype(float)
    integers = np.column_stack([integers, integers.sum(axis=1)])  # depends exactly
    assert condition(exact_rows(integers, np.tile([1.0, -1.0], 25))) is None


@given(
    st.integers(0, 10**6),
    st.integers(2, 5),
    st.lists(st.sampled_from([1.0, 0.1, -1.8, 1 / 3, 32.0]), min_size=1, max_size=3),
)
def test_a_rounded_combination_is_undone(seed, d, factors):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(40, d))
    X = np.column_stack([G, *(f * G[:, k % d] + f * G[:, 0] for k, f in enumerate(factors))])
    y = rng.choice([-1.0, 1.0], size=40)
    rows = exact_rows(X, y)
    better = condition(rows)
    if better is None:  # the products were exact
        return
    z = [int(v) for v in rng.integers(-9, 9, size=rows.D)]
    assert values(better.rows, z) == values(rows, better.plane_of_base(z))
    verdict = mm.separability(X, y)
    assert verdict.proof.verify(X, y)


def test_rows_of_zeros_beside_dependent_columns_cost_no_steps_in_integers():
    rng = np.random.default_rng(60)
    X = rng.standard_normal((1_000, 60))
    X *= rng.random(X.shape) < 0.1
    X[:, 0], X[:, 3], X[:, 5] = X[:, 1] + X[:, 2], 1.1 * X[:, 4], 1.8 * X[:, 6]
    X[:, 7] = X[:, 8:].mean(axis=1)
    zero = np.flatnonzero(~X.any(axis=1))
    y = np.where(X @ np.random.default_rng(1).standard_normal(60) > 0, 1.0, -1.0)
    for form in (DenseRows(X), CsrRows.from_matrix(sparse.csr_array(X))):
        found = find_verdict(ExactRows(form, y, 0.0, exponents_of(form.column_reach)), 0.05)
        assert found.kind == "touching" and found.work.pivots == 0 and found.work.bits < 100
        assert len(zero) and set(found.on_plane.tolist()) >= set(zero.tolist()) >= set(found.witness)
    assert mm.separability(X, y, fit_intercept=False).proof.verify(X, y)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_rows_are_cancelled_in_good_coordinates_at_once(form, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 12))
    if form == "sparse":
        X *= rng.random(X.shape) < 0.1
    X = np.column_stack([X, X[:, 0] + X[:, 1], X.mean(axis=1)])
    y = rng.integers(0, 2, 300)
    rows = CsrRows.from_matrix(sparse.csr_array(X)) if form == "sparse" else DenseRows(X)
    exact = ExactRows(rows, np.where(y > 0, 1.0, -1.0), 1.0, exponents_of(rows.column_reach))
    assert nearly_dependent(exact)
    asked = []

    def counted(rows, *given):
        asked.append(rows.is_rounded)
        return cancel(rows, *given)

    monkeypatch.setattr(separability, "cancel", counted)
    found = find_verdict(exact, 0.05)
    assert found.kind == "overlapping" and asked and all(asked)
    assert mm.separability(X, y).proof.verify(X, y)


def test_columns_of_full_rank_are_not_taken_to_depend():
    rng = np.random.default_rng(0)
    for X in (rng.standard_normal((50, 9)), rng.integers(0, 2, (60, 8)).astype(float)):
        rows = DenseRows(X * 10.0 ** rng.integers(-9, 9, X.shape[1]))
        exact = ExactRows(rows, np.ones(len(X)), 1.0, exponents_of(rows.column_reach))
        assert not nearly_dependent(exact)
    rows = DenseRows(rng.standard_normal((5, 9)))
    assert not nearly_dependent(ExactRows(rows, np.ones(5), 1.0, exponents_of(rows.column_reach)))


@pytest.mark.parametrize("gap", [0.0, 0.5])
def test_signs_are_carried_back_from_other_coordinates(gap):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((200, 9))
    X[rng.random(200) < 0.5, 0] = 0.0
    y = np.where(X[:, 0] == 0, rng.choice([-1.0, 1.0], 200), np.sign(X[:, 0]))
    X[:, 0] += gap * np.sign(X[:, 0])
    X = np.column_stack([X, 1.1 * X[:, 1] + 0.3 * X[:, 2]])
    rows = DenseRows(X)
    exact = ExactRows(rows, y, 1.0, exponents_of(rows.column_reach))
    found = find_verdict(exact, 0.05)
    again = signs(exact, found.plane)
    assert found.kind == "touching"
    assert np.array_equal(found.signs.of, again.of)
    assert np.array_equal(found.signs.values, again.values) and found.signs.bound == again.bound
