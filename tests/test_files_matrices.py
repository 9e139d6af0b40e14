"""Parquet, Arrow, npy and npz: the same numbers, labels with their type, mistakes with their row."""

import sys

import numpy as np
import pytest
from scipy import sparse

from maxmargin.core.errors import InputError
from maxmargin.files import numpy_files, open_rows, read_data

X = np.array([[0.0, 1.5], [2.0, -3.0], [4.0, 0.0]])
Y = np.array(["a", "b", "a"])


def whole(rows):
    return rows.take(np.arange(rows.n))


@pytest.fixture
def pa():
    return pytest.importorskip("pyarrow")


def write_arrow(pa, path, columns):
    import pyarrow.feather
    import pyarrow.parquet

    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=2)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, path)
    elif path.name == "stream.arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
            out.write_table(table, max_chunksize=2)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table, max_chunksize=2)
    return str(path)


@pytest.mark.parametrize("name", ["d.parquet", "d.arrow", "stream.arrow", "d.feather"])
def test_arrow_files(tmp_path, pa, name):
    path = write_arrow(pa, tmp_path / name, {"p": X[:, 0], "q": X[:, 1].astype(np.float32), "y": Y})
    rows, data = open_rows(path), read_data(path)
    assert np.array_equal(whole(rows), X) and np.array_equal(data.X, X)
    assert rows.labels.tolist() == data.y.tolist() == Y.tolist()
    assert rows.names == data.names == ["p", "q"]
    assert open_rows(path, label="y", columns=["q"]).names == ["q"]


@pytest.mark.parametrize("name", ["d.parquet", "d.arrow"])
def test_labels_keep_their_type(tmp_path, pa, name):
    for labels in (np.array([1, 2, 1]), np.array([0.5, 1.0, 1.0]), np.array([True, False, True]), Y):
        rows = open_rows(write_arrow(pa, tmp_path / name, {"p": X[:, 0], "y": labels}))
        assert rows.labels.dtype.kind == labels.dtype.kind
        assert rows.labels.tolist() == labels.tolist()


@pytest.mark.parametrize("name", ["d.parquet", "d.arrow"])
def test_arrow_categories(tmp_path, pa, name):
    words = pa.array(["red", "blue", "red"])
    for column in (words, words.dictionary_encode(), words.cast(pa.large_string())):
        path = write_arrow(
            pa, tmp_path / name, {"c": column, "n": [1, 2, 3], "t": [True, False, True], "y": Y}
        )
        rows = open_rows(path, one_hot=True)
        assert rows.names == ["c=blue", "c=red", "n", "t"]
        assert whole(rows).tolist() == [[0, 1, 1, 1], [1, 0, 2, 0], [0, 1, 3, 1]]
        with pytest.raises(InputError, match=r"Encode it \(one_hot=True\)"):
            open_rows(path)
        with pytest.raises(InputError, match="row 1: column c must be one of red, the categories"):
            open_rows(path, encoding={"c": ["red"]})


def test_single_precision_is_kept(tmp_path, pa):
    path = write_arrow(pa, tmp_path / "d.parquet", {"p": X[:, 0].astype(np.float32), "y": Y})
    assert open_rows(path).between(0, 3).arrays.X.dtype == np.float32
    assert open_rows(path, dtype="float64").between(0, 3).arrays.X.dtype == np.float64


def test_what_arrow_files_must_not_hold(tmp_path, pa):
    for columns, words in (
        ({"p": pa.array([1.0, None, 2.0]), "y": Y}, "row 1: feature p must not be missing"),
        ({"p": [1.0, np.nan, 2.0], "y": Y}, "row 1: feature p must be a finite number"),
        (
            {"p": [1, 2, 2**53 + 1], "y": Y},
            "row 2: feature p must be a finite number that a double holds",
        ),
        ({"p": [1, 2, 3], "y": pa.array([1.5, np.nan, 2.0])}, "row 1: the label must not be nan"),
        ({"p": [1, 2, 3], "y": pa.array(["a", None, "b"])}, "row 1: column y must not be missing"),
        ({"p": [[1], [2], [3]], "y": Y}, "feature p must be of numbers or strings"),
        ({"p": [1, 2, 3], "y": [[1], [2], [3]]}, "the label must be of strings or numbers"),
        ({"y": Y}, "at least one feature"),
        ({"p": pa.array([], pa.float64()), "y": pa.array([], pa.string())}, "must hold rows"),
    ):
        path = write_arrow(pa, tmp_path / "d.parquet", columns)
        with pytest.raises(InputError, match=words):
            open_rows(path)
    whole_file = (tmp_path / "d.parquet").read_bytes()
    for name in ("d.parquet", "d.arrow", "d.feather"):
        for content in (b"", b"garbage", whole_file[: len(whole_file) // 2], bytes(range(256)) * 9):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(InputError, match="cannot be read") as found:
                open_rows(tmp_path / name)
            assert "\n" not in str(found.value)


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "d.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"need pyarrow.*pip install 'maxmargin\[files\]'"):
        open_rows(tmp_path / "d.parquet")
    (tmp_path / "d.csv").write_text("a,y\n1,x\n2,z\n")
    assert open_rows(tmp_path / "d.csv").shape == (2, 1)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_matrix_is_used_as_it_is(tmp_path, dtype):
    np.save(tmp_path / "X.npy", X.astype(dtype))
    np.save(tmp_path / "y.npy", Y)
    rows = open_rows(tmp_path / "X.npy", labels=tmp_path / "y.npy")
    assert rows.path == tmp_path / "X.npy"
    assert np.array_equal(whole(rows), X) and rows.labels.tolist() == Y.tolist()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["X.npy", "y.npy"]
    assert open_rows(tmp_path / "X.npy", label=False).labels is None
    (tmp_path / "y.txt").write_text("2\n\n1.0\n2\n")
    assert open_rows(tmp_path / "X.npy", labels=tmp_path / "y.txt").labels.tolist() == [2, 1, 2]
    assert open_rows(tmp_path / "X.npy", labels=[5, 6, 5]).labels.tolist() == [5, 6, 5]
    for bad, words in (
        ([1, 2], "labels: must hold a label for each of the 3 rows. Got 2 labels"),
        ([[1, 2], [3, 4]], r"labels must be a vector .* Got shape \(2, 2\)"),
        ([1, np.nan, 2], "labels, row 1: the label must not be nan"),
        (tmp_path / "none.npy", "none.npy.*Name a file that can be read"),
        (tmp_path / "X.npy", "X.npy: labels must be a vector"),
    ):
        with pytest.raises(InputError, match=words):
            open_rows(tmp_path / "X.npy", labels=bad)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f8", "i8", "i4", "u1", "b1"])
def test_other_matrices_are_converted(tmp_path, monkeypatch, dtype, order):
    monkeypatch.setattr(numpy_files, "BLOCK_ENTRIES", 4)
    matrix = np.array([[0, 3, 0], [1, 1, 1], [1, 0, 1]]).astype(dtype, order=order)
    np.save(tmp_path / "m.npy", matrix)
    rows, data = open_rows(tmp_path / "m.npy"), read_data(tmp_path / "m.npy")
    assert np.array_equal(whole(rows), matrix[:, :2]) and np.array_equal(data.X, matrix[:, :2])
    assert rows.labels.tolist() == data.y.tolist()
    assert data.source == {"label": "2", "columns": ["0", "1"]} and data.names == ["0", "1"]
    chosen = open_rows(tmp_path / "m.npy", label=0, columns=[2, 1])
    assert np.array_equal(whole(chosen), matrix[:, [2, 1]])


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.zeros((0, 3)), "must hold rows"),
        (np.zeros((3, 0)), "at least one feature|a column must be"),
        (np.zeros(4), "must hold a matrix of numbers"),
        (np.zeros((2, 2, 2)), "must hold a matrix of numbers"),
        (np.array([["a", "b"]]), "must hold a matrix of numbers"),
        (np.array([[1j, 0], [2, 1]]), "must hold a matrix of numbers"),
        (np.array([[1, 0], [np.nan, 1]]), "row 1: feature 0 must be a finite number"),
        (np.array([[1.0, 0.0], [2.0, np.nan]]), "row 1: a label must not be missing"),
        (np.array([[2**53 + 1, 0], [2, 1]]), "row 0: feature 0 must be"),
    ],
)
def test_matrices_that_cannot_be_used(tmp_path, matrix, words):
    np.save(tmp_path / "d.npy", matrix)
    for read in (open_rows, read_data):
        with pytest.raises(InputError, match=words):
            read(tmp_path / "d.npy")


def test_broken_matrices(tmp_path):
    np.save(tmp_path / "d.npy", X)
    good = (tmp_path / "d.npy").read_bytes()
    np.save(tmp_path / "o.npy", np.array([[{}, 1]]), allow_pickle=True)
    for content in (b"", b"garbage", good[:-1], good[:40], good[:8], (tmp_path / "o.npy").read_bytes()):
        (tmp_path / "d.npy").write_bytes(content)
        for options in ({}, {"label": False}):
            with pytest.raises(InputError) as found:
                open_rows(tmp_path / "d.npy", **options)
            assert "\n" not in str(found.value)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives(tmp_path, monkeypatch, save):
    monkeypatch.setattr(numpy_files, "BLOCK_ENTRIES", 4)
    save(tmp_path / "d.npz", X=X, y=Y, z=np.array([1, 2, 3]))
    rows, data = open_rows(tmp_path / "d.npz"), read_data(tmp_path / "d.npz")
    assert np.array_equal(whole(rows), X) and np.array_equal(data.X, X)
    assert rows.labels.tolist() == data.y.tolist() == Y.tolist()
    assert open_rows(tmp_path / "d.npz", label="z").labels.tolist() == [1, 2, 3]
    with pytest.raises(InputError, match="must hold the labels as w"):
        open_rows(tmp_path / "d.npz", label="w")
    save(tmp_path / "e.npz", X=np.asfortranarray(X), y=Y)
    with pytest.raises(InputError, match="ascontiguousarray"):
        open_rows(tmp_path / "e.npz")
    save(tmp_path / "e.npz", Z=X)
    with pytest.raises(InputError, match=r"must hold X \(and y\)"):
        open_rows(tmp_path / "e.npz", label=False)


@pytest.mark.parametrize("compressed", [False, True])
def test_sparse_archives(tmp_path, monkeypatch, compressed):
    monkeypatch.setattr(numpy_files, "BLOCK_ENTRIES", 2)
    dense = np.random.default_rng(0).normal(size=(20, 7))
    dense[np.abs(dense) < 1] = 0
    dense[3] = 0
    S = sparse.csr_matrix(dense)
    sparse.save_npz(tmp_path / "d.npz", S, compressed)
    rows = open_rows(tmp_path / "d.npz", labels=np.arange(20) % 2)
    assert rows.is_sparse and rows.shape == (20, 7)
    assert np.array_equal(whole(rows), S.toarray())
    assert np.array_equal(read_data(tmp_path / "d.npz", label=False).X.toarray(), S.toarray())
    S.data[S.indptr[5]] = np.nan
    sparse.save_npz(tmp_path / "e.npz", S)
    with pytest.raises(InputError, match=f"row 5: feature {S.indices[S.indptr[5]]} must be a finite"):
        open_rows(tmp_path / "e.npz", label=False)


@pytest.mark.parametrize("form", ["csc", "coo", "bsr"])
def test_sparse_archives_of_other_forms(tmp_path, monkeypatch, form):
    monkeypatch.setattr(numpy_files, "BLOCK_ENTRIES", 5)
    dense = np.random.default_rng(0).integers(-2, 3, size=(12, 6)) * 0.5
    dense[3] = 0
    sparse.save_npz(tmp_path / "d.npz", sparse.csr_array(dense).asformat(form))
    rows = open_rows(tmp_path / "d.npz", labels=np.arange(12) % 2)
    assert rows.is_sparse and np.array_equal(whole(rows), dense)
    assert np.array_equal(read_data(tmp_path / "d.npz", label=False).X.toarray(), dense)
    dense[7, 4] = np.inf
    sparse.save_npz(tmp_path / "e.npz", sparse.csr_array(dense).asformat(form))
    with pytest.raises(InputError, match=r"e.npz, row 7: feature 4 must be a finite"):
        open_rows(tmp_path / "e.npz", label=False)
    monkeypatch.setattr(numpy_files, "allowance", lambda: 1000)
    with pytest.raises(InputError, match=rf"stored as {form} must fit into memory.*Save X.tocsr\(\)"):
        open_rows(tmp_path / "e.npz", label=False)


def test_sparse_archives_that_cannot_be_used(tmp_path):
    S = sparse.csr_array(np.eye(4))
    sparse.save_npz(tmp_path / "d.npz", S.todia())
    with pytest.raises(InputError, match=r"must be of the form csr, csc.*Got 'dia'.*Save X.tocsr"):
        open_rows(tmp_path / "d.npz", label=False)
    for form, name, wrong in (
        ("csc", "indices", np.array([0, 1, 2, 9])),
        ("csc", "indptr", np.array([0, 3, 2, 3, 4])),
        ("csc", "indices", np.array([0.5, 1, 2, 3])),
        ("coo", "row", np.array([0, 1, 2, -1])),
        ("coo", "col", np.array([0, 1, 2])),
        ("bsr", "data", np.ones(4)),
        ("coo", "shape", np.array([4])),
    ):
        sparse.save_npz(tmp_path / "d.npz", S.asformat(form))
        with np.load(tmp_path / "d.npz") as archive:
            arrays = {**archive, name: wrong}
        np.savez(tmp_path / "d.npz", **arrays)
        with pytest.raises(InputError, match=r"d.npz: must hold .*Save it again\."):
            open_rows(tmp_path / "d.npz", label=False)


def test_broken_archives(tmp_path):
    np.savez_compressed(tmp_path / "d.npz", X=np.arange(999.0).reshape(-1, 3), y=np.arange(333))
    good = (tmp_path / "d.npz").read_bytes()
    changed = bytearray(good)
    changed[len(good) // 2] ^= 0xFF
    for content in (b"", b"PK\x03\x04garbage", good[:-30], good[: len(good) // 2], bytes(changed)):
        (tmp_path / "d.npz").write_bytes(content)
        with pytest.raises(InputError) as found:
            open_rows(tmp_path / "d.npz")
        assert "\n" not in str(found.value)
