"""Rows in a file: made once, checked when opened, mapped, and used by every estimator as they are."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import cross_val_score

import maxmargin as mm
from maxmargin.files.cache import read_store, write_store
from maxmargin.kernels.perceptron import decide
from maxmargin.rows.on_disk import FileRows, Section

X, y = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
KINDS = [np.asarray, sparse.csr_array, lambda A: A.astype(np.float32)]


def stored(
    path: Path, A: Any, labels: Any = y, names: list[str] | None = NAMES, block: int = 40
) -> Path:
    with write_store(path, {"names": names}) as out:
        for start in range(0, A.shape[0], block):
            out.add(A[start : start + block], None if labels is None else labels[start : start + block])
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_what_is_read(tmp_path: Path, kind: Any) -> None:
    rows = read_store(stored(tmp_path / "iris", kind(X)))
    assert rows.shape == (150, 4)
    assert rows.names == NAMES
    assert np.array_equal(rows.labels, y)
    assert rows.labels.dtype == y.dtype
    assert np.array_equal(rows.take(np.arange(150)), as_doubles(kind(X)))
    assert [p.name for p in tmp_path.iterdir()] == ["iris"]  # nothing else is left behind


def as_doubles(A: Any) -> np.ndarray:
    return np.asarray(A.toarray() if sparse.issparse(A) else A, dtype=np.float64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", [mm.Perceptron(max_iter=20), mm.SoftMarginSVC()], ids=str)
def test_fit_predict_and_score_take_rows_in_place_of_X(tmp_path: Path, kind: Any, model: Any) -> None:
    rows = read_store(stored(tmp_path / "iris", kind(X)), largest=100)
    far = type(model)(**model.get_params())
    if isinstance(model, mm.Perceptron):
        with pytest.warns(mm.BudgetWarning):
            far.fit(rows)
        with pytest.warns(mm.BudgetWarning):
            near = type(model)(**model.get_params()).fit(kind(X), y)
        assert np.array_equal(far.coef_, near.coef_)
    else:
        near = type(model)(**model.get_params()).fit(kind(X), y)
        far.fit(rows)
        assert far.certificate_.relative_gap <= 1e-6
    assert far.feature_names_in_.tolist() == NAMES
    assert far.score(rows) == near.score(kind(X), y)
    assert np.array_equal(far.predict(rows), near.predict(kind(X)))


def test_everything_else_takes_them_too(tmp_path: Path) -> None:
    rows = read_store(stored(tmp_path / "iris", X, y == 0), largest=100)
    assert mm.separability(rows).proof.verify(rows)
    assert mm.separability(rows).features == tuple(NAMES)
    assert mm.HardMarginSVC().fit(rows).margin_ == pytest.approx(0.817556, abs=1e-6)
    assert (
        mm.HardMarginSVC().prove(rows).squared_margin
        == mm.HardMarginSVC().prove(X, y == 0).squared_margin
    )
    assert mm.mistake_bound(rows).bound == mm.mistake_bound(X, y == 0).bound
    assert mm.error_bounds(rows).upper == 0
    assert mm.certify(mm.SoftMarginSVC().fit(rows), rows).relative_gap < 1e-6
    assert (
        mm.SoftMarginSVCCV(Cs=[0.1, 1.0]).fit(rows).C_
        == mm.SoftMarginSVCCV(Cs=[0.1, 1.0]).fit(X, y == 0).C_
    )
    assert cross_val_score(mm.SoftMarginSVC(), rows, y == 0, cv=3).mean() == 1.0


def test_rows_without_labels_need_y_and_wrong_features_are_named(tmp_path: Path) -> None:
    rows = read_store(stored(tmp_path / "bare", X, None, None))
    assert rows.labels is None
    with pytest.raises(mm.InputError, match="need y"):
        mm.Perceptron().fit(rows)
    with pytest.raises(mm.InputError, match=r"150 in all\. Got 149"):
        mm.Perceptron().fit(rows, y[:-1])
    model = mm.SoftMarginSVC().fit(rows, y)
    with pytest.raises(mm.InputError, match="the 4 features"):
        model.predict(read_store(stored(tmp_path / "narrow", X[:, :3], None, None)))
    named = mm.SoftMarginSVC().fit(read_store(stored(tmp_path / "named", X)))
    turned = read_store(stored(tmp_path / "turned", X, names=NAMES[::-1]))
    with pytest.raises(mm.InputError, match=r"'sepal length' is feature 0\. Got 'petal width'"):
        named.predict(turned)


@pytest.mark.parametrize(
    "labels", [["a", "b", "ä"], [0.5, 1.5, -2.0], [True, False, True], [2**40, 1, 0]]
)
def test_labels_keep_their_type(tmp_path: Path, labels: list[Any]) -> None:
    given = np.array(labels)[y]
    rows = read_store(stored(tmp_path / "iris", X, given))
    assert rows.labels.dtype == given.dtype
    assert np.array_equal(rows.labels, given)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_every_changed_byte_is_noticed(tmp_path: Path, kind: Any) -> None:
    path = stored(tmp_path / "iris", kind(X[::10]), y[::10])
    for file in path.iterdir():
        good = file.read_bytes()
        for place in range(0, len(good), 7):
            bad = bytearray(good)
            bad[place] ^= 0x10
            file.write_bytes(bad)
            with pytest.raises(mm.InputError, match="not a whole folder of rows"):
                read_store(path)
        for length in (0, 5, 100, len(good) // 2, len(good) - 1):
            file.write_bytes(good[:length])
            with pytest.raises(mm.InputError, match="not a whole folder of rows"):
                read_store(path)
        file.unlink()
        with pytest.raises(mm.InputError, match=f"not a whole folder of rows: there is no {file.name}"):
            read_store(path)
        file.write_bytes(good)
    assert read_store(path).n == 15


def test_a_file_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.rows").write_bytes(b"maxmargin rows 1\n" * 500)
    with pytest.raises(mm.InputError, match=r"earlier version\. Convert its source again"):
        mm.open_rows(tmp_path / "old.rows")


def test_numpy_reads_the_arrays(tmp_path: Path) -> None:
    path = stored(tmp_path / "iris", X)
    assert np.array_equal(np.load(path / "X.npy", mmap_mode="r"), X)
    assert np.array_equal(np.load(path / "labels.npy"), y)


def test_an_error_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = stored(tmp_path / "iris", X)

    def give_up() -> None:
        with write_store(path) as out:
            out.add(X[:5], y[:5])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        give_up()
    assert read_store(path).n == 150
    assert [p.name for p in tmp_path.iterdir()] == ["iris"]


def holes(indices: Any, indptr: Any, kind: Any) -> Any:
    """Small rows with an empty row, an empty column, a zero that is stored, and columns in disorder."""
    data = np.array([3.0, 1.0, 0.0, 2.0, -1.0, 4.0])
    given = data, np.array(indices, dtype=kind), np.array(indptr, dtype=kind)
    return sparse.csr_array(given, shape=(len(indptr) - 1, 5))


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("indices", "indptr"),
    [
        ([0, 2, 3, 0, 2, 4], [0, 3, 3, 5, 6]),  # in order
        ([3, 0, 2, 4, 0, 2], [0, 3, 3, 5, 6]),  # not
        ([2, 2, 2, 0, 4, 4], [0, 0, 3, 6, 6]),  # some twice
    ],
)
def test_sparse_rows_of_any_form_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indices: Any, indptr: Any, kind: Any, windows: bool
) -> None:
    if windows:
        monkeypatch.setattr("maxmargin.rows.on_disk.addresses_left", lambda: 0)
    A = holes(indices, indptr, kind)
    before = [a.copy() for a in (A.data, A.indices, A.indptr)]
    dense = A.toarray()
    rows = read_store(stored(tmp_path / "holes", A, None, None, block=3), largest=2)
    assert all(np.array_equal(*pair) for pair in zip(before, (A.data, A.indices, A.indptr), strict=True))
    assert np.array_equal(rows.take(np.arange(4)), dense)
    assert np.array_equal(rows.times(np.eye(5)), dense)
    assert np.array_equal(rows.combine(np.eye(4)), dense)
    assert np.array_equal(rows.square_lengths(), (dense**2).sum(axis=1))
    assert np.array_equal(rows.column_reach, np.abs(dense).max(axis=0))
    assert np.array_equal(rows.select(np.array([3, 0, 3])).take(np.arange(3)), dense[[3, 0, 3]])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a file with a hole")
@pytest.mark.parametrize("windows", [False, True])
def test_rows_behind_more_than_2_to_the_31_entries_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, windows: bool
) -> None:
    """The files are holes, which take no space, with two rows at their ends."""
    if windows:
        monkeypatch.setattr("maxmargin.rows.on_disk.addresses_left", lambda: 0)
    many = 3_000_000_000
    indptr = np.array([0, many // 2, many, many + 2, many + 3])
    values, columns = np.array([1.5, -2.0, 3.0]), np.array([0, 2, 1], np.int32)
    sections = []
    for name, before, array in (
        ("data", many, values),
        ("indices", many, columns),
        ("indptr", 0, indptr),
    ):
        sections.append(Section(tmp_path / name, 0, array.dtype.str, (before + len(array),)))
        with (tmp_path / name).open("wb") as file:
            file.seek(before * array.itemsize)
            array.tofile(file)
    rows = FileRows(tmp_path, 3, sections)
    expected = np.array([[1.5, 0.0, -2.0], [0.0, 3.0, 0.0]])
    assert rows.entries == many + 3
    assert np.array_equal(rows.take(np.array([2, 3])), expected)
    assert np.array_equal(rows.select(np.array([3, 2])).times(np.eye(3)), expected[::-1])
    assert np.array_equal(rows.between(2, 4).combine(np.eye(2)), expected)
    out = np.empty((3, 2))
    for where, arrays, local, _ in rows.stretches(np.array([2, 3])):
        part = np.empty((3, len(local)))
        decide(arrays, local, np.eye(3, 4), 1.0, 1, part)
        out[:, where] = part
    assert np.array_equal(out.T, expected)


def test_columns_beyond_32_bits_are_refused(tmp_path: Path) -> None:
    A = sparse.csr_array((np.ones(1), ([0], [2**31])), shape=(1, 2**31 + 1))
    with pytest.raises(mm.InputError, match="at most 2,147,483,647 features"):
        stored(tmp_path / "wide", A, None, None)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(mm.InputError, match="No such file"):
        read_store(tmp_path / "nothing")
    with pytest.raises(mm.InputError, match="No such file"):
        FileRows(tmp_path / "nothing", 4, [Section(tmp_path / "nothing", 0, "<f8", (10, 4))])


def test_rows_can_be_sent_to_another_process(tmp_path: Path) -> None:
    rows = read_store(stored(tmp_path / "iris", X))
    again = pickle.loads(pickle.dumps(rows))
    assert np.array_equal(again.take(np.arange(150)), X)
    assert "150 rows, 4 features, dense" in repr(again)


LIMITED = """
import resource, sys, warnings
import numpy as np
import maxmargin as mm
from maxmargin.files.cache import read_store

def size():
    text = open("/proc/self/status").read()
    return int(text.split("VmSize:")[1].split()[0]) * 1024

warnings.simplefilter("ignore")
small = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 0.5]]), [0, 1, 1, 0]
margins = mm.HardMarginSVC(), mm.SoftMarginSVC(C=0.01)
models = *margins, mm.Perceptron(max_iter=3), mm.BatchPerceptron(max_iter=3)
for model in (mm.SoftMarginSVC(solver="newton"), *models[2:]):  # as on many rows
    model.fit(*small).score(*small)
mm.Perceptron(max_iter=3).fit(*small, X_val=small[0], y_val=small[1])  # epoch by epoch, as on many rows
mm.separability(*small)
mm.HardMarginSVC(max_passes=100).fit(small[0][1:3], [0, 1])
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (size() + limit,) * 2)
rows = read_store(sys.argv[1])
assert (rows.path / "X.npy").stat().st_size > 4 * limit
assert rows._whole is None, "the file was mapped whole"
for model in models:
    model.fit(rows)
    print(type(model).__name__, model.score(rows))
    if hasattr(model, "certificate_"):
        assert model.certificate_.relative_gap <= model.tol
print(mm.separability(rows).kind)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory limits are those of Linux")
def test_data_four_times_larger_than_what_memory_is_left_is_trained_on(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal(200)
    w /= np.linalg.norm(w)
    with write_store(tmp_path / "large") as out:
        for _ in range(32):
            A = rng.standard_normal((8_000, 200))
            f = A @ w
            out.add(A + np.outer(np.sign(f), w), (f > 0).astype(int))
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "large"), str(96 << 20)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    names = ["HardMarginSVC", "SoftMarginSVC", "Perceptron", "BatchPerceptron"]
    assert done.stdout.split() == [*(word for name in names for word in (name, "1.0")), "separable"]


def test_digits_in_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Window by window, as when there is no room for the addresses of the whole file."""
    monkeypatch.setattr("maxmargin.rows.on_disk.addresses_left", lambda: 0)
    A, labels = load_digits(return_X_y=True)
    for kind in KINDS[:2]:
        rows = read_store(stored(tmp_path / "digits", kind(A), labels, None), largest=5_000)
        assert rows._whole is None
        near = mm.Perceptron(max_iter=200, order="shuffled", random_state=0).fit(
            kind(A[:300]), labels[:300]
        )
        far = mm.Perceptron(max_iter=200, order="shuffled", random_state=0).fit(rows[:300], labels[:300])
        assert np.array_equal(near.coef_, far.coef_)
        assert mm.separability(rows, labels == 3).kind == "separable"
