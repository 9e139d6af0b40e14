"""svmlight text: read as the plain line parser reads it, written so that it comes back to the bit."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from maxmargin.core.errors import InputError
from maxmargin.files import read_data, textsource, write_svmlight
from maxmargin.files.svmlight import parse_line

TEXT = """# made by hand
+1 qid:3 1:0.5 7:-2 # a comment
-1 2:1e-3\t3:.25

 1.0 1:12345678901234567890e-3 4:5.
# only a comment
-1 # no features
+1 qid:9 3:0.1 5:17\r
-1 7:1e22#glued
"""


def plain(text):
    """Labels and rows by the plain parser, line by line."""
    rows = [parse_line(line, "here") for line in io.StringIO(text, newline=None)]
    return [row for row in rows if row is not None]


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize("name", ["d.svm", "d.libsvm", "d.txt", "d.dat", "d.svmlight", "d.svm.gz"])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_the_same_rows_as_the_plain_parser(tmp_path, monkeypatch, name, chunk):
    monkeypatch.setattr(textsource, "CHUNK", chunk)
    content = TEXT.encode()
    data = read_data(write(tmp_path / name, gzip.compress(content) if name.endswith(".gz") else content))
    expected = plain(TEXT)
    assert data.y.tolist() == [1, -1, 1, -1, 1, -1] and data.y.dtype == np.int64
    assert data.X.shape == (6, 7) and data.source == {"first_index": 1}
    assert data.names == list("1234567")
    for i, (_, indices, values) in enumerate(expected):
        row = data.X[[i]]
        assert (row.indices + 1).tolist() == indices
        assert row.data.tolist() == values


def test_index_zero_anywhere_counts_from_zero(tmp_path, monkeypatch):
    late = "1 1:5 3:1\n" * 100 + "-1 0:2\n"
    monkeypatch.setattr(textsource, "CHUNK", 64)
    data = read_data(write(tmp_path / "a.svm", late))
    assert data.X.shape == (101, 4) and data.source == {"first_index": 0}
    assert data.X[0, 1] == 5 and data.X[100, 0] == 2
    data = read_data(write(tmp_path / "b.svm", "1 1:5 3:1\n"))
    assert data.X.shape == (1, 3) and data.X[0, 0] == 5
    data = read_data(tmp_path / "b.svm", first_index=0, features=9)
    assert data.X.shape == (1, 9) and data.X[0, 1] == 5
    with pytest.raises(InputError, match=r"a.svm, line 101: indices must run from 1\. Got 0 instead"):
        read_data(tmp_path / "a.svm", first_index=1)
    with pytest.raises(InputError, match=r"b.svm, line 1: indices must run from 1 to 2. Got 3"):
        read_data(tmp_path / "b.svm", features=2)


def test_labels_keep_their_kind(tmp_path):
    for text, labels in (
        ("1 1:1\n2 1:1\n", [1, 2]),
        ("0.5 1:1\n2 1:1\n", [0.5, 2.0]),
        ("spam 1:1\nham 1:1\n", ["spam", "ham"]),
        ("a-label-that-is-long 1:1\nÄ 1:1\n日本 1:2\na-label-that-is-long 1:1\n",
         ["a-label-that-is-long", "Ä", "日本", "a-label-that-is-long"]),
        ("1 1:1\nx 1:1\n+1.0 1:2\n", ["1", "x", "1"]),
        ("12345678901234567890 1:1\n12345678901234567891 1:1\n",
         ["12345678901234567890", "12345678901234567891"]),
    ):  # fmt: skip
        assert read_data(write(tmp_path / "d.svm", text)).y.tolist() == labels
    assert not read_data(tmp_path / "d.svm", label=False).y.size


def test_numbers_that_need_care(tmp_path):
    values = ["5e-324", "1e-310", "0.1" + "0" * 40 + "1", "9" * 25 + ".5", "1" + "0" * 22, "-0"]
    text = "".join(f"1 1:{value} 2:1\n-1 1:2\n" for value in values)
    X = read_data(write(tmp_path / "d.svm", text)).X
    assert X[::2, 0].toarray().ravel().tolist() == [float(value) for value in values]
    assert X[1::2, 0].toarray().ravel().tolist() == [2.0] * len(values)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 1:1\n1:2 2:3\n", "line 2: must begin with a label. Got '1:2'"),
        ("1 1:1\n\n1 2:1 1:1\n", "line 3: .* increasing indices from 0 or 1. Got '1:1' after index 2"),
        ("1 2:1 2:1\n", "line 1: .*Got '2:1' after index 2"),
        ("1 1\n", "line 1: features must be index:value"),
        ("1 -2:1\n", "line 1: features must be index:value"),
        ("1 99999999999:1\n", "line 1: features must be index:value"),
        ("1 2147483648:1\n", "line 1: features must be index:value"),
        ("1 1:\n", "line 1: feature 1 must not be missing"),
        ("1 1:nan\n", "line 1: feature 1 must not be missing"),
        ("# c\r\n1 1:inf\r\n", "line 2: feature 1 must be a finite number"),
        ("1 1:1e999\n", "line 1: feature 1 must be a finite number"),
        ("1 1:x\n", "line 1: feature 1 must be a finite number"),
        ("1 1:1:1\n", "line 1: feature 1 must be a finite number"),
        ("1 1:9007199254740993\n", "line 1: .*would be rounded"),
        ("1\n2\n", "at least one feature"),
        ("# nothing\n", "must hold rows"),
        ("", "must hold rows"),
    ],
)
@pytest.mark.parametrize("before", ["", "-1 1:2 2:3\n" * 3])
def test_mistakes_are_told_with_their_line(tmp_path, text, words, before):
    if before and ("line" not in words):
        return
    lines = before.count("\n")
    for k in (3, 2, 1):
        words = words.replace(f"line {k}:", f"line {k + lines}:")
    with pytest.raises(InputError, match=words) as found:
        read_data(write(tmp_path / "d.svm", before + text))
    assert "\n" not in str(found.value)


matrices = st.lists(
    st.lists(st.one_of(st.just(0.0), st.floats(allow_nan=False, allow_infinity=False)), min_size=4,
             max_size=4),
    min_size=1, max_size=6,
)  # fmt: skip


@given(matrices, st.booleans(), st.sampled_from([0, 1]), st.booleans())
def test_round_trip_to_the_bit(tmp_path_factory, rows, as_sparse, first, compressed):
    X = np.array(rows)
    y = np.arange(len(X)) % 3
    path = tmp_path_factory.mktemp("t") / ("d.svm.gz" if compressed else "d.svm")
    write_svmlight(sparse.csr_matrix(X) if as_sparse else X, y, path, first_index=first)
    data = read_data(path)
    assert data.X.shape == X.shape and data.source["first_index"] == first
    assert np.array_equal(data.X.toarray(), X) and np.array_equal(data.y, y)
    other = sparse.csr_matrix(X)
    if other.nnz and data.X.nnz == other.nnz:
        assert data.X.data.tobytes() == other.data.tobytes()
    theirs, labels = load_svmlight_file(str(path), n_features=4, zero_based=first == 0)
    assert np.array_equal(theirs.toarray(), X) and np.array_equal(labels, y)


def test_write_other_kinds_of_numbers_and_labels(tmp_path):
    path = tmp_path / "d.svm"
    for X, y in (
        (np.array([[1, 0], [2**53, -3]]), ["a", "b"]),
        (np.array([[True, False], [False, True]]), [0.5, -1.25]),
        (np.array([[0.1, 2], [3, 4]], dtype=np.float32), [1, 2]),
        (np.zeros((2, 3)), [1, 2]),
        (np.zeros((2, 1)), [1, 2]),
    ):
        for first in (0, 1):
            write_svmlight(X, y, path, first_index=first, comment="two\nlines")
            data = read_data(path)
            assert np.array_equal(data.X.toarray(), X) and data.y.tolist() == y
    assert path.read_text().startswith("# two\n# lines\n")


def test_what_cannot_be_written_is_refused(tmp_path):
    path = tmp_path / "d.svm"
    good = np.ones((2, 2))
    for X, y, where, options in (
        (np.array([[np.nan], [1]]), [1, 2], path, {}),
        (good, [1], path, {}),
        (good, ["a b", "c"], path, {}),
        (good, ["a:b", "c"], path, {}),
        (good, ["", "c"], path, {}),
        (good, [1, np.nan], path, {}),
        (good * 1j, [1, 2], path, {}),
        (good, [1, 2], path, {"first_index": 2}),
        (good, [1, 2], tmp_path / "none" / "d.svm", {}),
    ):
        with pytest.raises(InputError):
            write_svmlight(X, y, where, **options)
    assert list(tmp_path.iterdir()) == []
