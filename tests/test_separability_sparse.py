"""Verdicts on wide sparse rows: found without dense copies, proven exactly, in moderate files."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from maxmargin.rows import CsrRows, DenseRows
from maxmargin.solvers.exact import separability, signs
from maxmargin.solvers.exact.integer_rows import ExactRows, contradictions
from maxmargin.solvers.margin.witness import _may_cancel


def text(n, d, k=40, seed=0, even=True):
    """Documents of k words, rare and frequent ones, of length one; all words alike if ``even``."""
    rng = np.random.default_rng(seed)
    words = np.minimum(d ** rng.random((n, k)), d - 1).astype(np.int64)
    values = np.ones(n * k) if even else rng.random(n * k) + 0.5
    X = sparse.csr_array((values, words.ravel(), np.arange(0, n * k + 1, k)), shape=(n, d))
    X.sum_duplicates()
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    f = X @ rng.standard_normal(d)
    return X, np.where(f > np.median(f), 1, -1)


def exact_rows(X, y, pad=1.0):
    rows = CsrRows.from_matrix(X) if sparse.issparse(X) else DenseRows(X)
    return ExactRows(rows, y.astype(float), pad, np.frexp(rows.column_reach)[1].astype(np.int64))


@pytest.mark.parametrize("intercept", [True, False])
def test_separable_text_is_proven(intercept):
    X, y = text(1_000, 20_000)
    found = mm.separability(X, y, fit_intercept=intercept)
    assert found.separable and found.proof.verify(X, y)
    low, high = found.margin
    # floating point as an independent witness: the margin that the plane attains
    attained = np.min(y * (X @ found.w + found.b)) / np.linalg.norm(found.w)
    assert low <= attained * (1 + 1e-9) and low >= attained * (1 - 1e-9) and low <= high <= 1.05 * low


@pytest.mark.parametrize("even", [True, False])
def test_contradictory_documents_touch(even, tmp_path):
    X, y = text(500, 20_000, even=even)
    some = np.random.default_rng(1).choice(500, 30, replace=False)
    X, y = sparse.csr_array(sparse.vstack([X, X[some]])), np.append(y, -y[some])
    tracemalloc.start()
    found = mm.separability(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30e6  # 530 × 20,000 doubles are 85 MB
    assert found.kind == "touching"
    assert found.on_plane.tolist() == sorted([*some.tolist(), *range(500, 530)])
    (i,), (j,) = found.witness.positive, found.witness.negative
    assert (X[[i]] != X[[j]]).nnz == 0 and y[i] != y[j]
    found.proof.save(tmp_path / "proof.json")
    assert (tmp_path / "proof.json").stat().st_size < 60 * X.shape[1]
    assert mm.Proof.load(tmp_path / "proof.json").verify(X, y)
    y[0] = -y[0]
    assert not found.proof.verify(X, y)


def test_documents_that_cancel_in_another_way():
    X, y = text(1_000, 20_000)
    X.data = np.round(X.data * 2.0**20) / 2.0**20  # so that means are exact
    i, j = np.flatnonzero(y > 0)[:2]
    middle = sparse.csr_array((X[[i]] + X[[j]]) / 2)
    Z, t = sparse.csr_array(sparse.vstack([X, middle])), np.append(y, -1)
    found = mm.separability(Z, t)
    assert found.kind == "touching" and found.proof.verify(Z, t)
    assert set(found.on_plane.tolist()) == {i, j, 1_000}
    with pytest.raises(mm.NotSeparableError) as error:
        mm.HardMarginSVC().fit(Z, t)
    assert error.value.verdict.kind == "touching"


def test_every_document_with_both_labels_overlaps():
    X, y = text(60, 5_000)
    Z, t = sparse.csr_array(sparse.vstack([X, X])), np.append(y, -y)
    found = mm.separability(Z, t)
    assert found.kind == "overlapping" and found.proof.verify(Z, t)
    assert found.rank == np.linalg.matrix_rank(np.column_stack([X.toarray(), np.ones(60)]))


def test_errors_of_contradictory_documents_are_bounded():
    X, y = text(300, 5_000)
    Z, t = sparse.csr_array(sparse.vstack([X, X[:4]])), np.append(y, -y[:4])
    found = mm.error_bounds(Z, t)
    assert (found.lower, found.upper) == (4, 4)


def test_an_empty_document_lies_on_every_plane_through_the_origin():
    X, y = text(500, 10_000)
    Z, t = sparse.csr_array(sparse.vstack([X, sparse.csr_array((1, 10_000))])), np.append(y, 1)
    found = mm.separability(Z, t, fit_intercept=False)
    assert found.kind == "touching" and found.on_plane.tolist() == [500] and found.proof.verify(Z, t)


@pytest.mark.parametrize("pad", [1.0, 0.0])
def test_equal_rows_are_found_as_by_comparing_all(pad):
    rng = np.random.default_rng(3)
    X = rng.choice([0.0, 0.0, 0.5, 1.0], size=(60, 3))
    y = rng.choice([-1, 1], size=60)
    groups = {tuple(x): np.flatnonzero((x == X).all(axis=1)) for x in X}
    expected = sorted(g.tolist() for g in groups.values() if len(set(y[g].tolist())) == 2)
    for form in (X, sparse.csr_array(X)):
        found = sorted(sorted(g.tolist()) for g in contradictions(exact_rows(form, y, pad)))
        assert found == expected


def test_rows_that_cancel_are_never_dropped():
    rng = np.random.default_rng(4)
    for _ in range(50):
        A = rng.integers(-2, 3, size=(8, 6)) * (rng.random((8, 6)) < 0.4)
        y = rng.choice([-1.0, 1.0], size=8)
        weights = rng.integers(1, 4, size=3)
        y[:2], y[2] = 1.0, -1.0
        A[2] = weights[0] * A[0] + weights[1] * A[1]  # cancels with the first two, up to the bias
        assert {0, 1, 2} <= set(_may_cancel(sparse.csr_array(A.astype(float)), y, pad=False).tolist())
    lonely = sparse.csr_array(np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 0.0]]))
    assert _may_cancel(lonely, np.array([1.0, -1.0, -1.0]), pad=True).tolist() == [0, 2]


@pytest.mark.parametrize("pad", [1.0, 0.0])
def test_bounds_in_floating_point_are_above_the_exact_ones_and_near(pad, monkeypatch):
    rng = np.random.default_rng(5)
    X = (
        rng.standard_normal((60, 80))
        * 10.0 ** rng.integers(-8, 8, (60, 80))
        * (rng.random((60, 80)) < 0.3)
    )
    y, weights = np.repeat([1, -1], 30), (rng.random(60) * 10.0 ** rng.integers(-9, 3, 60)).tolist()
    shares = [
        Fraction(w) / sum(map(Fraction, weights if not pad else weights[i // 30 * 30 :][:30]))
        for i, w in enumerate(weights)
    ]
    mean = [
        sum(s * int(t) * Fraction(x) for s, t, x in zip(shares, y, c, strict=True)) for c in X.T.tolist()
    ]
    square = sum(v * v for v in mean) / (4 if pad else 1)
    for form in (X, sparse.csr_array(X)):
        for least in (1 << 20, 8):
            monkeypatch.setattr(signs, "EXACT_DISTANCE_ENTRIES", least)
            found = signs.not_exceeded(exact_rows(form, y, pad), range(60), weights)
            assert square <= Fraction(found) ** 2 <= square * (1 + Fraction(1, 10**9))


def test_what_neither_floating_point_nor_exact_arithmetic_can_do_is_said(monkeypatch):
    X, y = text(300, 2_000)
    monkeypatch.setattr(separability, "guess_plane", lambda *_: None)
    monkeypatch.setattr(separability, "least_violations_of_wide", lambda *_: None)
    monkeypatch.setattr(separability, "MAX_UNKNOWNS", 200)
    with pytest.raises(mm.InputError, match="X must have at most 200 rows or features where"):
        mm.separability(X, y)


@pytest.mark.parametrize("shape", [(2, 14), (3, 14), (5_000, 14)])
def test_rows_without_any_entry_cancel_by_themselves(shape):
    X, y = sparse.csr_array(shape), np.arange(shape[0]) % 2
    verdict = mm.separability(X, y, fit_intercept=False)
    assert verdict.kind == "overlapping" and verdict.proof.verify(X, y)
    assert "is zero, exactly" in str(verdict) or "are equal, exactly" in str(verdict)


def test_a_class_of_empty_rows_among_others():
    X = sparse.csr_array(np.vstack([np.zeros((2, 30)), np.eye(2, 30)]))
    verdict = mm.separability(X, ["a", "b", "c", "c"], fit_intercept=False)
    assert {one.kind for one in verdict.rest.values()} == {"touching"}


def test_rows_of_zeros_are_looked_at_together():
    rng = np.random.default_rng(0)
    X = np.zeros((4_000, 15))
    X[::5] = rng.standard_normal((800, 15))
    y = (X[:, 0] > 0).astype(int)
    verdict = mm.separability(X, y, fit_intercept=False)
    assert verdict.kind == "touching" and verdict.proof.verify(X, y)
