"""One model, however the same numbers are stored; and nobody's matrix is touched."""

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from bank import BANK, as_form, problem
from maxmargin.rows import Csr, CsrRows, as_rows
from maxmargin.rows.base import rounded

P = problem("holes")  # small integers, exact in every type, with empty rows and an empty column


def unsorted(X):
    matrix = sparse.csr_matrix(X)
    for i in range(matrix.shape[0]):
        part = np.s_[matrix.indptr[i] : matrix.indptr[i + 1]]
        matrix.indices[part] = matrix.indices[part][::-1].copy()
        matrix.data[part] = matrix.data[part][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


def duplicated(X):
    one = sparse.coo_matrix(X)
    halves = np.concatenate([one.data - 0.5, np.full(len(one.data), 0.5)])
    rows, columns = np.tile(one.row, 2), np.tile(one.col, 2)
    order = np.argsort(rows, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(rows, minlength=X.shape[0])))
    return sparse.csr_matrix((halves[order], columns[order], ends), shape=X.shape)


def explicit_zeros(X):
    n, d = X.shape
    return sparse.csr_matrix((X.ravel(), np.tile(np.arange(d), n), np.arange(n + 1) * d), shape=X.shape)


def inside(X):
    larger = np.full((2 * len(X), 3 * X.shape[1]), np.nan)
    larger[::2, 1::3] = X
    return larger[::2, 1::3]


def read_only(X):
    copy = X.copy()
    copy.flags.writeable = False
    return copy


def csr_across_words(X):
    matrix = sparse.csr_array(X)
    for name in ("data", "indices", "indptr"):
        values = getattr(matrix, name)
        odd = np.ndarray(values.shape, values.dtype, bytearray(values.nbytes + 2), offset=2)
        odd[:] = values
        setattr(matrix, name, odd)
    return matrix


def across_words(X):
    rows = np.ndarray(X.shape, X.dtype, bytearray(X.nbytes + 4), offset=4)
    rows[:] = X
    assert not rows.flags.aligned
    return rows


STORED = {
    "across words": across_words,
    "csr across words": csr_across_words,
    "Fortran order": np.asfortranarray,
    "view with strides": inside,
    "negative strides": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "float32": lambda X: X.astype(np.float32),
    "integers": lambda X: X.astype(np.int64),
    "list": lambda X: X.tolist(),
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "csr int64": lambda X: as_form(X, "csr int64"),
    "unsorted": unsorted,
    "duplicates": duplicated,
    "explicit zeros": explicit_zeros,
    **{f: (lambda X, f=f: sparse.coo_array(X).asformat(f)) for f in ("csr", "csc", "coo", "lil", "dok")},
    **{f: (lambda X, f=f: sparse.coo_matrix(X).asformat(f)) for f in ("bsr", "dia")},
}

MODELS = {
    "cyclic": lambda: mm.Perceptron(max_iter=300),
    "shuffled": lambda: mm.Perceptron(order="shuffled", random_state=3, max_iter=300),
    "random": lambda: mm.Perceptron(order="random", random_state=3, max_iter=300),
    "normalised": lambda: mm.Perceptron(normalize=True, threshold=0.2, average=True, max_iter=300),
    "batch": lambda: mm.BatchPerceptron(step=0.5, max_iter=300),
    "pocket": lambda: mm.PocketPerceptron(max_updates=300, polish=False),
}


def assert_same(model, other):
    assert other.n_mistakes_ == model.n_mistakes_
    assert other.n_iter_ == model.n_iter_
    assert other.coef_.tolist() == model.coef_.tolist()
    assert other.intercept_.tolist() == model.intercept_.tolist()


@pytest.mark.parametrize("new", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_same_model_however_the_rows_are_stored(stored, new):
    model = new().fit(P.X, P.y)
    X = stored(P.X)
    other = new().fit(X, P.y)
    assert model.n_mistakes_ > 3
    assert_same(model, other)
    assert other.predict(X).tolist() == model.predict(P.X).tolist()


@pytest.mark.parametrize("new", MODELS.values(), ids=MODELS)
def test_same_model_from_a_read_only_memory_map(new, tmp_path):
    np.save(tmp_path / "X.npy", P.X)
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_same(new().fit(P.X, P.y), new().fit(X, P.y))


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
def test_dense_and_sparse_copies_make_the_same_updates(p):
    for new in (
        lambda: mm.Perceptron(order="shuffled", random_state=0),
        lambda: mm.Perceptron(normalize=True),
        lambda: mm.PocketPerceptron(max_updates=200, polish=False),
    ):
        assert_same(new().fit(p.X, p.y), new().fit(sparse.csr_array(p.X), p.y))


@pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")
@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
@pytest.mark.parametrize("step", ["exact", 0.25])
def test_dense_and_sparse_copies_descend_alike(p, step):
    dense, other = (mm.BatchPerceptron(step).fit(X, p.y) for X in (p.X, sparse.csr_array(p.X)))
    assert other.n_mistakes_ == dense.n_mistakes_
    np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-8, atol=1e-8 * abs(dense.coef_).max())


@pytest.mark.parametrize("p", BANK, ids=lambda p: p.name)
def test_dense_and_sparse_copies_are_polished_alike(p):
    dense, other = (
        mm.PocketPerceptron(300, random_state=1).fit(X, p.y) for X in (p.X, sparse.csr_array(p.X))
    )
    assert other.best_error_ == dense.best_error_
    np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-8, atol=1e-8 * abs(dense.coef_).max())


@pytest.mark.parametrize("order", ["cyclic", "shuffled", "random"])
def test_large_dense_and_sparse_copies_make_the_same_updates(order):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((20_000, 60)) * (rng.random((20_000, 60)) < 0.05)
    y = X @ rng.standard_normal(60) + 0.1 * rng.standard_normal(20_000) > 0
    models = []
    for form in (X, sparse.csr_array(X)):
        model = mm.Perceptron(order=order, random_state=5, max_iter=2)
        with pytest.warns(mm.BudgetWarning):
            models.append(model.fit(form, y))
    assert_same(*models)


def bits(X):
    if sparse.issparse(X) and X.format in ("csr", "csc", "bsr"):
        return [a.tobytes() for a in (X.data, X.indices, X.indptr)]
    return [sparse.coo_array(X).toarray().tobytes() if sparse.issparse(X) else np.array(X).tobytes()]


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_the_users_matrix_is_left_alone(stored):
    X = stored(P.X)
    before, writeable = bits(X), getattr(getattr(X, "flags", None), "writeable", None)
    mm.Perceptron(normalize=True, order="shuffled", random_state=0, max_iter=300).fit(X, P.y).predict(X)
    mm.BatchPerceptron(max_iter=300).fit(X, P.y)
    mm.PocketPerceptron(max_updates=50).fit(X, P.y)
    assert bits(X) == before
    assert getattr(getattr(X, "flags", None), "writeable", None) == writeable


def test_sparse_rows_in_order_are_not_copied():
    X = sparse.csr_array(P.X)
    rows = as_rows(X)
    assert all(
        np.shares_memory(*pair) for pair in zip(rows.arrays, (X.data, X.indices, X.indptr), strict=True)
    )
    assert np.shares_memory(rows.matrix.data, X.data)
    block = rows.between(2, 7)
    assert np.shares_memory(block.arrays.data, X.data)
    assert np.shares_memory(block.matrix.indices, X.indices)


def test_row_ends_of_64_bits_do_not_widen_the_columns():
    X = sparse.csr_array(P.X)
    rows = CsrRows(Csr(X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64)), X.shape)
    assert np.shares_memory(rows.matrix.indices, rows.arrays.indices)
    assert np.array_equal(rows.take(np.arange(rows.n)), P.X)
    assert np.array_equal(rows.between(1, 6).square_lengths(), (P.X[1:6] ** 2).sum(axis=1))


def test_the_numbers_that_a_double_does_not_hold_are_marked():
    odd = 2**53 + 1
    for values, wrong in (
        (np.array([[odd, 2**53], [-odd, 3]]), [[True, False], [True, False]]),
        (np.array([2**64 - 1, 2**63], dtype=np.uint64), [True, False]),
        (np.array([odd, 0.5, "text", 2**1024], dtype=object), [True, False, False, True]),
    ):
        assert rounded(values).tolist() == wrong
    for values in (np.array([2**53]), np.array([0.1]), np.array([np.nan]), np.empty((0, 2), np.int64)):
        assert rounded(values) is None


@pytest.mark.skipif(np.finfo(np.longdouble).nmant == 52, reason="long doubles are doubles here")
def test_long_doubles_that_are_no_doubles_are_marked():
    values = np.array([1, np.inf, 1 / np.longdouble(3), np.longdouble(10) ** 400])
    assert rounded(values).tolist() == [False, False, True, True]
