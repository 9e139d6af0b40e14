"""``support_vectors_`` and ``n_support_``: training rows, looked up when they are asked for."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import maxmargin as mm
from maxmargin.rows.survey import survey
from partitions import blocks, weighted
from simulated import Serial

X, CODES = load_iris(return_X_y=True)
Y = np.array(["setosa", "versicolor", "virginica"])[CODES]
FORMS = {
    "doubles": np.asarray,
    "floats": np.float32,
    "columns first": np.asfortranarray,
    "list": np.ndarray.tolist,
    "frame": pd.DataFrame,
    "CSR": sparse.csr_array,
    "CSC": sparse.csc_matrix,
}
MODELS = {
    "soft": mm.SoftMarginSVC(C=0.1),
    "pairs": mm.SoftMarginSVC(C=0.1, multi_class="ovo"),
    "cv": mm.SoftMarginSVCCV(Cs=[0.1, 1.0]),
}


def assert_rows(model, rows, labels):
    """The support vectors are those rows of a dense matrix, counted by label."""
    found = model.support_vectors_
    dense = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_array_equal(dense, rows[model.support_])
    mine = labels[model.support_]
    assert model.n_support_.tolist() == [np.count_nonzero(mine == label) for label in np.unique(labels)]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", MODELS)
def test_support_vectors_are_rows_of_any_matrix(kind, form, classes):
    which = np.isin(CODES, [0, 1, 2][-classes:])
    rows, labels = X[which], Y[which]
    given = FORMS[form](rows)
    model = copy.deepcopy(MODELS[kind]).fit(given, labels)
    assert 0 < len(model.support_) < len(rows)
    assert sparse.issparse(model.support_vectors_) == sparse.issparse(given)
    exact = rows.astype(np.float32) if form == "floats" else rows
    assert model.support_vectors_.dtype == exact.dtype
    assert_rows(model, exact, labels)


def test_hard_margins_have_those_of_libsvm():
    rows, labels = X[CODES < 2], Y[CODES < 2]
    model = mm.HardMarginSVC().fit(rows, labels)
    theirs = SVC(kernel="linear", C=1e6, tol=1e-10).fit(rows, labels)
    assert_rows(model, rows, labels)
    assert model.n_support_.tolist() == theirs.n_support_.tolist()
    np.testing.assert_array_equal(model.support_vectors_, rows[np.sort(theirs.support_)])


def test_rows_of_weight_zero_are_no_support():
    weight = np.where(np.arange(len(X)) % 3, 1.0, 0.0)
    model = mm.SoftMarginSVC(C=0.1).fit(X, Y, weight)
    assert not np.any(model.support_ % 3 == 0)
    assert_rows(model, X, Y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_in_partitions_are_fetched_from_there(form):
    order = np.random.default_rng(0).permutation(len(X))
    rows, labels = X[order], Y[order]
    model = mm.SoftMarginSVC(C=0.1)
    serial = Serial(blocks(form(rows), labels, [20, 21, 90]))
    model._fit_data(survey(serial))
    assert sparse.issparse(model.support_vectors_) == (form is sparse.csr_array)
    assert_rows(model, rows, labels)
    weight = np.where(np.arange(len(X)) % 3, 1.0, 0.0)
    model._fit_data(survey(weighted(form(rows), labels, weight, [20, 21, 90])))
    assert not np.any(model.support_ % 3 == 0)
    assert_rows(model, rows, labels)


def test_rows_of_a_file_are_read_again(tmp_path):
    np.save(tmp_path / "iris.npy", np.column_stack([X, CODES]))
    model = mm.SoftMarginSVC(C=0.1).fit(mm.open_rows(tmp_path / "iris.npy"))
    assert_rows(model, X, CODES)


def test_another_fit_has_others():
    model = mm.SoftMarginSVC(C=0.1).fit(X, Y)
    assert_rows(model, X, Y)
    model.fit(-X[50:], Y[50:])
    assert_rows(model, -X[50:], Y[50:])


def test_copies_keep_what_was_asked_for_and_no_other_rows():
    rows = np.random.default_rng(0).normal(size=(20_000, 5))
    rows[:, 0] += 3.0 * np.sign(rows[:, 0])
    model = mm.HardMarginSVC().fit(rows, rows[:, 0] > 0)
    written = pickle.dumps(model)
    assert len(written) < rows.nbytes / 10
    for other in (pickle.loads(written), copy.deepcopy(model)):
        with pytest.raises(AttributeError, match=r"this model has none: it was loaded, copied"):
            _ = other.support_vectors_
        with pytest.raises(AttributeError, match=r"y\[model\.support_\] are their labels"):
            _ = other.n_support_
        np.testing.assert_array_equal(rows[other.support_], model.support_vectors_)
    assert model.n_support_.sum() == len(model.support_)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.support_vectors_, model.support_vectors_)
    assert other.n_support_.tolist() == model.n_support_.tolist()


def test_saved_models_have_the_numbers_of_the_rows_alone(tmp_path):
    model = mm.SoftMarginSVC(C=0.1).fit(X, Y)
    assert model.support_vectors_.shape == (len(model.support_), 4)
    mm.save(model, tmp_path / "model.json")
    other = mm.load(tmp_path / "model.json")
    assert not hasattr(other, "support_vectors_") and not hasattr(other, "n_support_")
    assert other.support_.tolist() == model.support_.tolist()


@pytest.mark.parametrize("name", ["support_vectors_", "n_support_"])
def test_there_are_none_before_fit(name):
    with pytest.raises(AttributeError, match=f"This SoftMarginSVC has no {name} before fit"):
        getattr(mm.SoftMarginSVC(), name)
