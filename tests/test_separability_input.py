"""Separability asked of every kind of input, and of bad input."""

import math
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris

import maxmargin as mm
from separation import check_verdict, decide, signed, write_table
from verdicts import SHAPES, TINY, both, judge
from verdicts import path as path


@both
def test_single_precision_is_taken_as_it_is():
    X = np.array([[0.1, 0.2], [0.2, 0.4], [0.3, 0.6], [0.1, 0.7]], dtype=np.float32)
    for y in product((0, 1), repeat=4):
        if len(set(y)) == 2:
            kind = decide(signed(X, [1 if s else -1 for s in y], True)).kind
            verdict = judge(X, y, kind)
            assert verdict.proof.verify(X.astype(float), y)
    step = np.array([[1], [np.nextafter(np.float32(1), np.float32(2))]], dtype=np.float32)
    judge(step, [0, 1], "separable")
    small = np.array([[0.0], [1e-45]], dtype=np.float32)
    judge(small, [0, 1], "separable")


def test_many_rows_in_single_precision():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 20)).astype(np.float32)
    y = (X @ np.arange(20, dtype=np.float32) > 0.5).astype(int)
    judge(X, y, tight=False)
    judge(sparse.csr_array(X), y, tight=False)
    whole = rng.integers(-3, 4, (3000, 20)).astype(np.float32)
    judge(whole, np.where(whole[:, 0] == 0, y, whole[:, 0] > 0), "touching")


@both
def test_sparse_rows_with_zeros_copies_and_disorder():
    data = np.array([0.0, 1.0, 2.0, 3.0, -3.0, 1.0, 1.0])
    indices, indptr = np.array([2, 1, 0, 0, 0, 1, 2]), np.array([0, 2, 3, 5, 7, 7])
    y = np.array([0, 1, 0, 1, 0])
    for form in (sparse.csr_matrix, sparse.csr_array):
        X = form((data.copy(), indices.copy(), indptr.copy()), shape=(5, 3))
        dense = X.toarray()
        packed, plain = judge(X, y), judge(dense, y)
        assert packed.kind == plain.kind
        assert packed.proof.to_dict()["data"] == plain.proof.to_dict()["data"]
        assert packed.proof.verify(dense, y) and plain.proof.verify(X, y)
        assert np.array_equal(X.data, data) and np.array_equal(X.indices, indices)
        for other in (X.tocsc(), X.tocoo()):
            assert mm.separability(other, y).kind == plain.kind
            assert plain.proof.verify(other, y)
    empty = sparse.csr_array((4, 3))
    judge(empty, [0, 1, 0, 1], "overlapping")
    judge(empty, [0, 1, 0, 1], "overlapping", intercept=False)
    for scale in (1e300, 1e-300, TINY):
        judge(sparse.csr_array(dense * scale), y, plain.kind)


def test_a_data_frame_gives_its_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1.0, 2, 3, 3], "treated": [0, 0, 1, 1], "site": [1, 1, 1, 1]})
    verdict = mm.separability(frame, pandas.Series(["no", "no", "yes", "yes"]))
    assert verdict.features == ("age", "treated", "site")
    # Each of the two separates alone, so that the other may run either way; so may two constants.
    assert verdict.infinite == dict.fromkeys(("age", "treated", "site", "intercept"), 0)
    assert mm.separability(frame[["age"]], ["no", "no", "yes", "yes"]).infinite["age"] == 1
    assert verdict.proof.verify(frame, ["no", "no", "yes", "yes"])
    weak = mm.separability(frame[["treated"]], ["no", "yes", "yes", "yes"])
    assert weak.kind == "touching" and weak.infinite == {"treated": 1}
    assert "treated (+∞)" in " ".join(str(weak).split()) and weak.on_plane.tolist() == [0, 1]


@pytest.mark.parametrize(
    "labels",
    [
        ("no", "yes"),
        (False, True),
        (0, 1),
        (-1, 1),
        (0.0, 1.0),
        (2.0, 7.0),
        (10, 9),
        ("9", "10"),
        ("", " a"),
        ("ä", "ö"),
    ],
)
def test_labels_of_every_kind(labels, tmp_path):
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    for pattern in ((0, 0, 1, 1), (0, 1, 0, 1), (1, 0, 0, 0)):
        y = np.array([labels[k] for k in pattern])
        verdict = judge(X, y, folder=tmp_path)
        assert verdict.positive == max(labels) and verdict.negative == min(labels)
        assert verdict.proof.verify(X, y.tolist())
        assert not verdict.proof.verify(X, y[::-1]) or pattern == (0, 1, 0, 1)


@pytest.mark.parametrize("labels", [("1", "1.0"), ("a", " a"), ("1e3", "1000"), ("0", "-0")])
def test_labels_that_clash_are_refused_or_told_apart(labels):
    with pytest.raises(mm.InputError, match="told apart"):
        mm.separability([[0.0], [1.0]], list(labels))


@both
@pytest.mark.parametrize("intercept", [True, False])
def test_through_the_origin(intercept):
    kinds = {
        ((1.0, 1.0), (2.0, 2.0)): "overlapping",
        ((1.0, 1.0), (-2.0, -2.0)): "separable",
        ((0.0, 0.0), (1.0, 1.0)): "touching",
        ((1.0, 0.0), (1.0, 1.0)): "separable",
    }
    for points, kind in kinds.items():
        judge(points, [0, 1], "separable" if intercept else kind, intercept)
    both = [[1.0, 0], [0, 1], [0, 0], [0, 0]]
    verdict = judge(both, [0, 1, 0, 1], "touching", intercept)
    assert verdict.on_plane.tolist() == [2, 3]
    judge([[0.0], [0.0]], [0, 1], "overlapping", intercept)


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    verdict = mm.separability(X, names)
    assert isinstance(verdict, mm.MulticlassVerdict)
    assert {k: v.kind for k, v in verdict.rest.items()} == {
        "setosa": "separable",
        "versicolor": "overlapping",
        "virginica": "overlapping",
    }
    assert [pair for pair, v in verdict.pairs.items() if not v.separable] == [
        ("versicolor", "virginica")
    ]
    assert not verdict.separable and not verdict.pairwise_separable
    for v in (*verdict.rest.values(), *verdict.pairs.values()):
        check_verdict(v, X, names)
    for label, v in verdict.rest.items():
        assert v.positive == label and v.negative is None
    for (a, b), v in verdict.pairs.items():
        assert (v.negative, v.positive) == (a, b)
        alone = mm.separability(X[(names == a) | (names == b)], names[(names == a) | (names == b)])
        assert alone.kind == v.kind
    assert "overlapping" in str(verdict)


def test_digits_are_separable_pair_by_pair():
    X, y = load_digits(return_X_y=True)
    X, y = X[y < 4][:300], y[y < 4][:300]
    verdict = mm.separability(X, y)
    assert list(verdict.rest) == [0, 1, 2, 3] and len(verdict.pairs) == 6
    assert verdict.separable and verdict.pairwise_separable
    for v in (*verdict.rest.values(), *verdict.pairs.values()):
        check_verdict(v, X, y)


@both
def test_whole_numbers_and_lists():
    X = [[0, 0], [1, 1], [0, 1], [1, 0]]
    judge(X, [0, 0, 1, 1], "overlapping")
    for kind in (np.int64, np.int8, np.uint8, np.int32, bool):
        judge(np.array(X, dtype=kind), [0, 0, 0, 1], "separable")
    judge(np.array([[2**53], [2**53 + 2]]), [0, 1], "separable")


def test_integers_that_are_no_doubles_are_not_rounded_in_silence():
    """2^53 and 2^53 + 1 are different numbers: judged as such, or refused."""
    X = np.array([[2**53], [2**53 + 1]])
    try:
        verdict = mm.separability(X, [0, 1])
    except mm.InputError:
        return
    assert verdict.kind == "separable"


BAD = {
    "nan": ([[0.0], [math.nan]], [0, 1], {}, "NaN in row 1, column 0"),
    "infinity": ([[0.0], [-math.inf]], [0, 1], {}, "infinity in row 1, column 0"),
    "one class": ([[0.0], [1.0]], [1, 1], {}, "at least two classes"),
    "no rows": (np.empty((0, 2)), [], {}, "0 sample"),
    "no features": (np.empty((2, 0)), [0, 1], {}, "0 feature"),
    "one row": ([[0.0]], [0], {}, "at least two classes"),
    "too few labels": ([[0.0], [1.0]], [0], {}, "one label per row"),
    "a vector": ([0.0, 1.0], [0, 1], {}, "2D array"),
    "words": ([["a"], ["b"]], [0, 1], {}, "X must hold numbers"),
    "complex": (np.array([[1j], [0]]), [0, 1], {}, "Complex data"),
    "missing label": ([[0.0], [1.0]], [0, math.nan], {}, "NaN in row 1"),
    "labels in a table": ([[0.0], [1.0]], [[0, 1], [1, 0]], {}, "1d array"),
    "tol zero": ([[0.0], [1.0]], [0, 1], {"tol": 0}, "^tol must be"),
    "tol one": ([[0.0], [1.0]], [0, 1], {"tol": 1.0}, "^tol must be"),
    "tol negative": ([[0.0], [1.0]], [0, 1], {"tol": -1e-3}, "^tol must be"),
    "tol nan": ([[0.0], [1.0]], [0, 1], {"tol": math.nan}, "^tol must be"),
    "tol a word": ([[0.0], [1.0]], [0, 1], {"tol": "small"}, "^tol must be"),
    "intercept a word": ([[0.0], [1.0]], [0, 1], {"fit_intercept": "yes"}, "^fit_intercept must be"),
    "intercept a number": ([[0.0], [1.0]], [0, 1], {"fit_intercept": 2}, "^fit_intercept must be"),
    "sparse nan": (sparse.csr_array([[0.0], [math.nan]]), [0, 1], {}, "NaN in row 1, column 0"),
    "mixed labels": ([[0.0], [1.0]], np.array(["a", 1], dtype=object), {}, "can be sorted"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_words(name):
    X, y, options, words = BAD[name]
    with pytest.raises(ValueError, match=words):  # of scikit-learn or of this package
        mm.separability(X, y, **options)


@pytest.mark.parametrize("ask", [mm.separability, mm.error_bounds, mm.mistake_bound])
def test_labels_that_are_left_out_are_asked_for(ask):
    with pytest.raises(mm.InputError, match=r"y must hold a label for every row\. Got None"):
        ask([[0.0], [1.0]], None)


@pytest.mark.parametrize("name", ["exclusive or", "a cube's face", "two points", "copied columns"])
def test_the_checker_alone_confirms_the_proof(name, tmp_path):
    X, y, _ = SHAPES[name]
    for k, scale in enumerate((1.0, 0.1, 1e-300, 1e300)):
        Z = np.asarray(X, dtype=float) * scale
        judge(Z, y).proof.save(tmp_path / f"{k}.json")
        write_table(tmp_path / f"{k}.csv", Z, y)
        write_table(tmp_path / "other.csv", np.where(Z == 0, scale, Z), y)
        command = [sys.executable, "-m", "maxmargin.checker", str(tmp_path / f"{k}.json")]
        if k != 1:
            continue
        for file, status in ((f"{k}.csv", 0), ("other.csv", int(np.any(Z == 0)))):
            done = subprocess.run(
                [*command, str(tmp_path / file)], capture_output=True, text=True, check=False
            )
            assert done.returncode == status, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["exclusive or", "a point on an edge", "two points"])
def test_a_changed_row_or_label_is_noticed(name):
    X, y, _ = SHAPES[name]
    X = np.asarray(X, dtype=float)
    proof = mm.separability(X, y).proof
    for i, j in product(range(X.shape[0]), range(X.shape[1])):
        Z = X.copy()
        Z[i, j] = np.nextafter(X[i, j], 9)
        assert not proof.verify(Z, y)
    for i in range(len(y)):
        labels = list(y)
        labels[i] = 1 - labels[i]
        assert not proof.verify(X, labels)
    assert not proof.verify(X[:-1], y[:-1])
    assert not proof.verify(X[:, :1], y)
