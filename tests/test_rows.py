"""One model, however the same numbers are stored; and nobody's matrix is touched."""

import numpy as np
import pytest
from bank import as_form, problem
from scipy import sparse

import maxmargin as mm

P = problem("holes")
INTEGERS = P.X  # small integers: exact in every type


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


def memory_map(X, path):
    saved = path / "X.npy"
    np.save(saved, X)
    return np.load(saved, mmap_mode="r")


def inside(X):
    larger = np.full((2 * len(X), 3 * X.shape[1]), np.nan)
    larger[::2, 1::3] = X
    return larger[::2, 1::3]


def read_only(X):
    copy = X.copy()
    copy.flags.writeable = False
    return copy


STORED = {
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
    "cyclic": mm.Perceptron(max_iter=300),
    "shuffled": mm.Perceptron(order="shuffled", random_state=3, max_iter=300),
    "random": mm.Perceptron(order="random", random_state=3, max_iter=300),
    "normalised": mm.Perceptron(normalize=True, threshold=0.2, max_iter=300),
    "batch": mm.BatchPerceptron(step=0.5, max_iter=300),
    "pocket": mm.PocketPerceptron(max_updates=300, polish=False),
}


def assert_same(model, other):
    assert other.n_mistakes_ == model.n_mistakes_ > 3
    assert other.n_iter_ == model.n_iter_
    assert other.coef_.tolist() == model.coef_.tolist()
    assert other.intercept_.tolist() == model.intercept_.tolist()


def fitted(name, X, y=P.y):
    return MODELS[name].set_params().fit(X, y)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_same_model_however_the_rows_are_stored(stored, name):
    from sklearn.base import clone

    model = clone(MODELS[name]).fit(np.ascontiguousarray(INTEGERS), P.y)
    X = stored(INTEGERS)
    other = clone(MODELS[name]).fit(X, P.y)
    assert_same(model, other)
    assert other.predict(X).tolist() == model.predict(INTEGERS).tolist()
