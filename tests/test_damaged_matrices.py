"""Sparse matrices whose arrays point outside of them: refused at every entrance, never read."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import children
import maxmargin as mm
from maxmargin.core.errors import InputError
from maxmargin.rows.partitions import rows_of
from maxmargin.rows.sparse import check_structure, compressed_fault
from maxmargin.saving import LinearModel, audit, from_sklearn

N, D = 40, 6
Y = np.where(np.arange(N) % 2, 1, -1)


def sound(form="csr"):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.6)
    X[:, 0] += 3.0 * Y
    made = sparse.coo_array(X)
    return made.tobsr((2, 2)) if form == "bsr" else made.asformat(form)


def put(name, value, at=None):
    """Change one array of a matrix: an entry of it, or all of it."""

    def change(X):
        array = getattr(X, name).copy()
        if at is not None:
            array[at] = value
        setattr(X, name, array if at is not None else value(array))

    return change


def put_row(X):
    X.rows[3] = [1_000_000_000] * len(X.rows[3])


def put_numbers(X):
    X.data[3] = [1.0] * 1_000_000


def put_key(X):
    X._dict[(N + 7_000_000, 0)] = 1.0


COMPRESSED = {
    "an index beyond the columns": put("indices", 2**31 - 1, 5),
    "an index just beyond": put("indices", N * D, 5),
    "a negative index": put("indices", -1_000_000, -1),
    "an end beyond the entries": put("indptr", 2**31 - 1, -1),
    "ends that fall": put("indptr", 1_000_000, 2),
    "a negative end": put("indptr", -1_000_000, 2),
    "a first end that is not 0": put("indptr", 1, 0),
    "too few ends": put("indptr", lambda a: a[:-3]),
    "too many ends": put("indptr", lambda a: np.append(a, a[-1])),
    "too few indices": put("indices", lambda a: a[:-3]),
    "too few numbers": put("data", lambda a: a[:-3]),
    "indices that are fractions": put("indices", lambda a: a + 0.5),
    "indices of 16 bits": put("indices", lambda a: a.astype(np.int16)),
    "indices the other way round": put("indices", lambda a: a.astype(">i4")),
    "a matrix of indices": put("indices", lambda a: a[:, None]),
    "ends that are fractions": put("indptr", lambda a: a.astype(float)),
}
DAMAGE = {
    "csr": COMPRESSED,
    "csc": COMPRESSED,
    "bsr": COMPRESSED | {"blocks that do not fit": put("data", lambda a: np.ones((len(a), 7, 7)))},
    "coo": {
        "a row beyond the rows": put("row", 1_000_000_000, 5),
        "a negative row": put("row", -1_000_000, 5),
        "a column beyond the columns": put("col", 1_000_000_000, 5),
        "a negative column": put("col", -1_000_000, 5),
        "too few columns": put("col", lambda a: a[:-3]),
        "too few numbers": put("data", lambda a: a[:-3]),
    },
    "lil": {"an index beyond the columns": put_row, "numbers without indices": put_numbers},
    "dok": {"a key beyond the rows": put_key},
    "dia": {
        "too few offsets": put("offsets", lambda a: a[:-1]),
        "offsets that are fractions": put("offsets", lambda a: a + 0.5),
        "offsets beyond 32 bits": put("offsets", lambda a: a.astype(np.int64) + 2**40),
    },
}
CASES = [(form, name) for form, all_of_it in DAMAGE.items() for name in all_of_it]


def damaged(form, name):
    X = sound(form)
    DAMAGE[form][name](X)
    return X


def fitted(model):
    return model.fit(sound(), Y)


def sparse_weights():
    """A model as scikit-learn's ``sparsify`` leaves it, with an index that is wrong."""
    from sklearn.linear_model import Perceptron

    model = Perceptron().fit(sound(), Y).sparsify()
    model.coef_.indices = np.full_like(model.coef_.indices, 2**31 - 1)
    return model


ENTRANCES = {
    "Perceptron.fit": lambda X: mm.Perceptron(max_iter=5).fit(X, Y),
    "Perceptron.partial_fit": lambda X: mm.Perceptron().partial_fit(X, Y, [-1, 1]),
    "BatchPerceptron.fit": lambda X: mm.BatchPerceptron(max_iter=5).fit(X, Y),
    "PocketPerceptron.fit": lambda X: mm.PocketPerceptron(max_updates=50).fit(X, Y),
    "MinErrorClassifier.fit": lambda X: mm.MinErrorClassifier().fit(X, Y),
    "SoftMarginSVC.fit": lambda X: mm.SoftMarginSVC().fit(X, Y),
    "SoftMarginSVC.path": lambda X: mm.SoftMarginSVC().path(X, Y, [1.0]),
    "SoftMarginSVCCV.fit": lambda X: mm.SoftMarginSVCCV(Cs=[1.0]).fit(X, Y),
    "HardMarginSVC.fit": lambda X: mm.HardMarginSVC().fit(X, Y),
    "predict": lambda X: fitted(mm.Perceptron()).predict(X),
    "decision_function": lambda X: fitted(mm.SoftMarginSVC()).decision_function(X),
    "score": lambda X: fitted(mm.SoftMarginSVC()).score(X, Y),
    "validation rows": lambda X: mm.Perceptron().fit(sound(), Y, X_val=X, y_val=Y),
    "certify": lambda X: mm.certify(([1.0] * D, 0.0), X, Y, C=1.0),
    "audit": lambda X: audit(LinearModel([[1.0] * D], [0.0], np.array([-1, 1])), X, Y, C=1.0),
    "LinearModel.predict": lambda X: LinearModel([[1.0] * D], [0.0]).predict(X),
    "separability": lambda X: mm.separability(X, Y),
    "mistake_bound": lambda X: mm.mistake_bound(X, Y),
    "error_bounds": lambda X: mm.error_bounds(X, Y),
    "Proof.verify": lambda X: mm.separability(sound(), Y).proof.verify(X, Y),
    "write_svmlight": lambda X: mm.write_svmlight(X, Y, "never-written.svm"),
    "checkpoint": lambda X: mm.checkpoint(mm.Perceptron(), "never-written.json").fit(X, Y),
    "a partition": rows_of,
}


def every_entrance():
    """Each entrance with an index beyond the columns, in two forms; and some damage of each form."""
    for entrance, use in ENTRANCES.items():
        for form in ("csr", "csc"):
            X = damaged(form, "an index beyond the columns")
            yield f"{entrance}, {form}", lambda use=use, X=X: use(X)
    for form, name in CASES:
        X = damaged(form, name)
        yield f"{form}: {name}", lambda X=X: mm.Perceptron(max_iter=5).fit(X, Y)
    model = sparse_weights()
    yield "coef_ of a model", lambda: mm.certify(model, sound(), Y, C=1.0)
    yield "coef_ of scikit-learn", lambda: from_sklearn(model)


def test_no_entrance_lets_a_damaged_matrix_in():
    found = children.run("test_damaged_matrices", "every_entrance")
    assert len(found) == 2 * len(ENTRANCES) + len(CASES) + 2
    assert {case: said for case, said in found.items() if not said.startswith("refused")} == {}


@pytest.mark.parametrize(("form", "name"), CASES)
def test_the_error_says_what_is_wrong_and_what_to_do(form, name):
    words = r"X must be a sparse matrix whose arrays fit its shape, \(40, 6\)\. Got one in which .+ Make"
    with pytest.raises(InputError, match=words):
        check_structure(damaged(form, name))


@pytest.mark.parametrize("form", DAMAGE)
def test_a_sound_matrix_of_any_form_is_taken_as_it_is(form):
    X = sound(form)
    check_structure(X)
    wanted = mm.Perceptron().fit(X.toarray(), Y).coef_
    assert np.array_equal(mm.Perceptron().fit(X, Y).coef_, wanted)
    empty = sparse.csr_array((0, D)).asformat(form) if form != "bsr" else sparse.bsr_array((0, D))
    check_structure(empty)


def scrambled(X):
    """The same matrix, its rows in falling order, and each entry in two halves."""
    X = X.copy()
    data, indices = np.repeat(X.data / 2, 2), np.repeat(X.indices, 2)
    ends = 2 * X.indptr
    for low, high in pairwise(ends.tolist()):
        data[low:high], indices[low:high] = data[low:high][::-1], indices[low:high][::-1]
    return type(X)((data, indices, ends), X.shape)


@pytest.mark.parametrize("wide", [np.int32, np.int64])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_unsorted_and_repeated_indices_work_as_before(form, wide):
    X = scrambled(sound(form))
    X.indices, X.indptr = X.indices.astype(wide), X.indptr.astype(np.int64)
    before = X.indices.copy()
    model, other = (mm.SoftMarginSVC().fit(rows, Y) for rows in (X, sound()))
    assert np.array_equal(model.coef_, other.coef_) and np.array_equal(X.indices, before)
    assert mm.separability(X, Y).kind == mm.separability(sound(), Y).kind


def test_empty_space_behind_the_last_entry_is_left_out():
    X = sound()
    X.data, X.indices = np.append(X.data, [np.nan, 7e300]), np.append(X.indices, [D, -1])
    check_structure(X)
    assert np.array_equal(mm.Perceptron().fit(X, Y).coef_, mm.Perceptron().fit(sound(), Y).coef_)


def is_sound(indptr, indices, n, d):
    """The same question in plain Python."""
    ends, columns = indptr.tolist(), indices.tolist()
    rises = len(ends) == n + 1 and ends[0] == 0 and ends == sorted(ends)
    return rises and ends[-1] <= len(columns) and all(0 <= j < d for j in columns[: ends[-1]])


def test_random_damage_is_found_if_and_only_if_there_is_some():
    rng, X, seen = np.random.default_rng(1), sound(), {True: 0, False: 0}
    values = np.array([-(2**31), -1, 0, 1, 2, D - 1, D, N, X.nnz, X.nnz + 1, 2**31 - 1])
    for _ in range(2_000):
        arrays = [X.indptr.copy(), X.indices.copy()]
        for _ in range(rng.integers(1, 4)):
            array = arrays[rng.integers(2)]
            array[rng.integers(len(array))] = rng.choice(values)
        if rng.random() < 0.1:
            arrays[0] = arrays[0][: rng.integers(1, N + 2)]
        wanted = is_sound(*arrays, N, D)
        seen[wanted] += 1
        assert (compressed_fault(*arrays, (N, D)) == "") is wanted
    assert min(seen.values()) > 100
