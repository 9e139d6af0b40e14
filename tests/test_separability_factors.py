"""Factors of many levels, as sparse dummy columns: proven verdicts, and the algebra of few entries."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import maxmargin as mm
from maxmargin.checker import dense_rank, rank_modulo
from maxmargin.core.parameters import NEVER
from maxmargin.solvers.exact import separability
from maxmargin.solvers.exact.face import Face
from maxmargin.solvers.exact.linear_algebra import basis, solve_sparse
from maxmargin.solvers.exact.sparse_rows import least_violations


def factors(levels, n, noise, seed=0):
    """Dummy columns of some factors, and labels of an additive model with logistic noise."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *levels[:-1]])
    columns = np.column_stack([rng.integers(0, k, n) + s for k, s in zip(levels, starts, strict=True)])
    where = np.arange(0, n * len(levels) + 1, len(levels))
    X = sparse.csr_array((np.ones(columns.size), columns.ravel(), where), (n, sum(levels)))
    f = X @ rng.standard_normal(sum(levels))
    return X, np.where(f + noise * rng.logistic(size=n) > 0, 1, 0)


def outside_all_faces(X, y, intercept):
    """How many rows some weakly separating plane has strictly on their side, by linear programming."""
    A = X.toarray() * np.where(y > 0, 1.0, -1.0)[:, None]
    if intercept:
        A = np.column_stack([A, np.where(y > 0, 1.0, -1.0)])
    n, d = A.shape
    cost = np.append(np.zeros(d), -np.ones(n))
    bounds = [(None, None)] * d + [(0, 1)] * n
    answer = linprog(cost, np.hstack([-A, np.eye(n)]), np.zeros(n), bounds=bounds, method="highs")
    return round(-answer.fun)


@pytest.mark.parametrize("levels", [[230], [230, 5], [210, 20, 4], [120, 110]])
@pytest.mark.parametrize(("noise", "n"), [(0.0, 500), (0.15, 700), (1.0, 900), (5.0, 3_000)])
@pytest.mark.parametrize("intercept", [True, False])
def test_verdicts_on_factors_are_proven(levels, noise, n, intercept):
    X, y = factors(levels, n, noise, seed=len(levels))
    verdict = mm.separability(X, y, fit_intercept=intercept)
    assert verdict.proof.verify(X, y)
    count = outside_all_faces(X, y, intercept)
    assert verdict.kind == {n: "separable", 0: "overlapping"}.get(count, "touching")


def test_all_rows_of_a_large_face_are_found_at_once():
    X, y = factors([800, 30], 12_000, 2.0)
    verdict = mm.separability(X, y)
    assert verdict.proof.verify(X, y)
    assert verdict.work.pivots == 0


def test_columns_of_any_numbers_beside_a_factor():
    X, y = factors([260], 1_500, 3.0)
    rng = np.random.default_rng(3)
    X = sparse.csr_array(sparse.hstack([X * 0.1, rng.standard_normal((1_500, 2))]))
    verdict = mm.separability(X, y)
    assert verdict.proof.verify(X, y)
    assert verdict.kind == "touching"


@pytest.mark.parametrize("levels", [[20, 5], [50, 10], [30, 20, 10]])
def test_factors_of_few_levels_stay_sparse(levels, monkeypatch):
    X, y = factors(levels, 400, 3.0)
    X = sparse.csr_array(X)
    monkeypatch.setattr(separability, "guess_plane", None)  # no copies with all columns
    monkeypatch.setattr(Face, "quotient", None)
    verdict = mm.separability(X, y)
    assert not verdict.separable and verdict.proof.verify(X, y)


def test_the_least_violations_cancel():
    X, y = factors([210, 8], 900, 1.0)
    A = sparse.csr_array(X.multiply(np.where(y > 0, 1.0, -1.0)[:, None]))
    found = least_violations(A, np.zeros(A.shape[1]), NEVER)
    np.testing.assert_allclose(found.r, np.maximum(1.0 - A @ found.z, 0.0), atol=1e-7)
    np.testing.assert_allclose(A.T @ found.r, 0.0, atol=1e-6)
    assert found.r.max() > 0.1


@pytest.mark.parametrize("seed", range(5))
def test_a_basis_spans_and_is_regular(seed):
    X, _ = factors([30, 12, 5], 200, 1.0, seed)
    rows, columns = basis(X, NEVER)
    D = X.toarray()
    assert len(rows) == np.linalg.matrix_rank(D)
    assert np.linalg.matrix_rank(D[np.ix_(rows, columns)]) == len(rows)


@pytest.mark.parametrize("seed", range(20))
def test_sparse_systems_are_solved_exactly(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    D = np.diag(rng.integers(1, 4, n)) + np.triu(
        rng.integers(-2, 3, (n, n)) * (rng.random((n, n)) < 0.2), 1
    )
    D += (rng.random((n, n)) < 0.03) * 5
    if np.linalg.matrix_rank(D) < n:
        pytest.skip("singular")
    D = D[rng.permutation(n)][:, rng.permutation(n)]
    rhs = [{k: int(v) for k, v in enumerate(rng.integers(-3, 4, 3)) if v} for _ in range(n)]
    M = [{j: int(v) for j, v in enumerate(row) if v} for row in D]
    x = solve_sparse(M, rhs, NEVER)
    for row, side in zip(M, rhs, strict=True):
        for k in range(3):
            total = sum(v * Fraction(x[j][0].get(k, 0), x[j][1]) for j, v in row.items())
            assert total == side.get(k, 0)


@pytest.mark.parametrize("seed", range(10))
def test_the_checker_finds_ranks(seed):
    rng = np.random.default_rng(seed)
    D = rng.integers(-2, 3, (12, 4)) @ rng.integers(-2, 3, (4, 9)) * (rng.random((12, 9)) < 0.7)
    vectors = [{j: int(v) for j, v in enumerate(row)} for row in D]
    assert rank_modulo(2**61 - 1, vectors) == np.linalg.matrix_rank(D)
    residues = [{j: v % 101 for j, v in vector.items()} for vector in vectors]
    assert dense_rank(101, residues) == rank_modulo(101, vectors)
    assert rank_modulo(2**61 - 1, [{j: 1 + j * i for j in range(60)} for i in range(90)]) == 2
