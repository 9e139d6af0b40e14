"""svmlight text: read as the plain line parser reads it, written so that it comes back to the bit."""

import gzip
import io
import mmap
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from maxmargin.core.errors import InputError
from maxmargin.files import read_data, write_svmlight
from maxmargin.files import text as text_files
from maxmargin.files.svmlight import Parsed, parse_line
from maxmargin.files.text import Scratch
from maxmargin.kernels.text import number_texts, read_svmlight

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
    monkeypatch.setattr(text_files, "CHUNK_BYTES", chunk)
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


def test_index_zero_is_refused_unless_said(tmp_path, monkeypatch):
    late = "1 1:5 3:1\n" * 100 + "-1 0:2\n"
    monkeypatch.setattr(text_files, "CHUNK_BYTES", 64)
    write(tmp_path / "a.svm", late)
    with pytest.raises(InputError, match=r"a.svm:101: indices must run from 1\. Got 0 instead"):
        read_data(tmp_path / "a.svm")
    data = read_data(tmp_path / "a.svm", first_index=0)
    assert data.X.shape == (101, 4) and data.source == {"first_index": 0}
    assert data.X[0, 1] == 5 and data.X[100, 0] == 2
    data = read_data(write(tmp_path / "b.svm", "1 1:5 3:1\n"))
    assert data.X.shape == (1, 3) and data.X[0, 0] == 5
    data = read_data(tmp_path / "b.svm", first_index=0, features=9)
    assert data.X.shape == (1, 9) and data.X[0, 1] == 5
    with pytest.raises(InputError, match=r"a.svm:101: indices must run from 1\. Got 0 instead"):
        read_data(tmp_path / "a.svm", first_index=1)
    with pytest.raises(InputError, match=r"b.svm:1: indices must run from 1 to 2. Got 3"):
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
        ("1 1:1\n1:2 2:3\n", "d.svm:2: must begin with a label. Got '1:2'"),
        ("1 1:1\n\n1 2:1 1:1\n", "d.svm:3: .* increasing indices from 0 or 1. Got '1:1' after index 2"),
        ("1 2:1 2:1\n", "d.svm:1: .*Got '2:1' after index 2"),
        ("1 1\n", "d.svm:1: features must be index:value"),
        ("1 -2:1\n", "d.svm:1: features must be index:value"),
        ("1 99999999999:1\n", "d.svm:1: features must be index:value"),
        ("1 2147483648:1\n", "d.svm:1: features must be index:value"),
        ("1 1:\n", "d.svm:1: feature 1 must not be missing"),
        ("1 1:nan\n", "d.svm:1: feature 1 must not be missing"),
        ("# c\r\n1 1:inf\r\n", "d.svm:2: feature 1 must be a finite number"),
        ("1 1:1e999\n", "d.svm:1: feature 1 must be a finite number"),
        ("1 1:x\n", "d.svm:1: feature 1 must be a finite number"),
        ("1 1:1:1\n", "d.svm:1: feature 1 must be a finite number"),
        ("1 1:9007199254740993\n", "d.svm:1: .*would be rounded"),
    ],
)
@pytest.mark.parametrize("before", ["", "-1 1:2 2:3\n" * 3])
def test_mistakes_are_told_with_their_line(tmp_path, text, words, before):
    lines = before.count("\n")
    for k in (3, 2, 1):
        words = words.replace(f"svm:{k}:", f"svm:{k + lines}:")
    with pytest.raises(InputError, match=words) as found:
        read_data(write(tmp_path / "d.svm", before + text))
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\n2\n", "d.svm: .*at least one feature"),
        ("# nothing\n", "d.svm: must hold rows"),
        ("", "d.svm: must hold rows"),
    ],
)
def test_files_without_data_are_refused(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        read_data(write(tmp_path / "d.svm", text))


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
    data = read_data(path, first_index=first)
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
            data = read_data(path, first_index=first)
            assert np.array_equal(data.X.toarray(), X) and data.y.tolist() == y
    assert path.read_text().startswith("# two\n# lines\n")


def test_what_cannot_be_written_is_refused(tmp_path):
    path = tmp_path / "d.svm"
    good = np.ones((2, 2))
    for X, y, where, options, words in (
        (np.array([[np.nan], [1]]), [1, 2], path, {}, "X must hold finite numbers"),
        (good, [1], path, {}, "y must hold 2 labels, one for each row. Got 1"),
        (good, ["a b", "c"], path, {}, "labels without spaces.*Got 'a b'"),
        (good, ["a:b", "c"], path, {}, "labels without spaces, colons.*Got 'a:b'"),
        (good, ["", "c"], path, {}, "Got '' instead"),
        (good, [1, np.nan], path, {}, "the label must not be nan"),
        (good * 1j, [1, 2], path, {}, "X must be a matrix of numbers. Got .*complex"),
        (good, [1, 2], path, {"first_index": 2}, "first_index must be 0 or 1. Got 2"),
        (good, [1, 2], tmp_path / "none" / "d.svm", {}, "Name a file that can be written"),
    ):
        with pytest.raises(InputError, match=words):
            write_svmlight(X, y, where, **options)
    assert list(tmp_path.iterdir()) == []


def test_zeros_and_empty_rows_and_columns(tmp_path):
    X = sparse.csr_array(
        (np.array([1.5, 0.0, -0.0, 4.0]), np.array([3, 1, 2, 2]), np.array([0, 0, 3, 4, 4])),
        shape=(4, 6),
    )
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    path = tmp_path / "d.svm"
    write_svmlight(X, [1, 2, 1, 2], path)
    assert path.read_text() == "1 6:0\n2 2:0 3:-0 4:1.5\n1 3:4\n2\n"
    data = read_data(path)
    assert data.X.shape == (4, 6) and data.y.tolist() == [1, 2, 1, 2]
    assert data.X.indptr.tolist() == [0, 1, 4, 5, 5]
    assert data.X.data.tobytes() == np.array([0.0, 0.0, -0.0, 1.5, 4.0]).tobytes()
    write_svmlight(X.toarray(), [1, 2, 1, 2], path)
    assert path.read_text() == "1 6:0\n2 4:1.5\n1 3:4\n2\n"


def test_more_entries_than_32_bits_can_count():
    """The kernel goes on behind 2³¹ − 2 entries; the memory for them is never touched."""
    before, text = 2**31 - 2, b"1 1:2 5:7 9:8\n0 2:3\n"
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        spaces = [mmap.mmap(-1, size * (before + 8), flags=flags) for size in (8, 4)]
    except OSError as error:
        pytest.skip(f"no room for so many addresses: {error}")
    data, indices = (np.frombuffer(m, t) for m, t in zip(spaces, (np.float64, np.int32), strict=True))
    indptr, labels = np.zeros(3, dtype=np.int64), np.empty((2, 3), dtype=np.int64)
    indptr[0] = before
    given = np.frombuffer(text, np.uint8), 0, data, indices, indptr, labels, 0, 1, False
    assert read_svmlight(*given) == (len(text), 2, 3)
    assert indptr.tolist() == [before, before + 3, before + 4]
    assert data[before : before + 4].tolist() == [2.0, 7.0, 8.0, 3.0]
    assert indices[before : before + 4].tolist() == [1, 5, 9, 2]


@pytest.mark.parametrize("bare", [False, True])
def test_the_kernel_and_the_line_parser_read_the_same(bare):
    """Lines are read by the kernel where it can; each of them is read alike by the line parser."""
    lines = [*TEXT.splitlines(), "x qid:1 7:1", "é 3:1e-320", "\t1 2:3\v"]
    lines += ["4:5 6:7 # no label", "qid:3 4:5"] if bare else []
    rows = Parsed("\n".join(lines).encode(), 1, "here", Scratch(), bare)
    assert rows.error is None and rows.next_line == len(lines) + 1
    expected = [(k, parse_line(line, "here", bare)) for k, line in enumerate(lines, 1)]
    expected = [(k, row) for k, row in expected if row is not None]
    assert rows.lines.tolist() == [k for k, _ in expected]
    assert [rows.texts[code] for code in rows.codes] == [row[0] for _, row in expected]
    assert rows.indices.tolist() == [j for _, row in expected for j in row[1]]
    assert rows.data.tolist() == [v for _, row in expected for v in row[2]]


@given(st.lists(st.text("ab1", max_size=12), max_size=40))
def test_texts_are_numbered_as_they_appear(texts):
    content = "".join(texts).encode()
    ends = np.cumsum([0, *map(len, texts)])
    places = np.column_stack([ends[:-1], ends[1:]]).astype(np.int64)
    codes, firsts = np.empty(len(texts), dtype=np.int64), np.empty(len(texts), dtype=np.int64)
    found = number_texts(np.frombuffer(content, np.uint8), places, codes, firsts)
    known = list(dict.fromkeys(texts))
    assert [known[code] for code in codes] == texts
    assert [texts[i] for i in firsts[:found]] == known


def test_the_first_line_with_a_feature_too_many_is_told(tmp_path):
    with pytest.raises(InputError, match=r"d.svm:2: indices must run from 1 to 3\. Got 4 instead"):
        read_data(write(tmp_path / "d.svm", "1 3:1\n1 4:1\n1 9:1\n"), features=3)


def test_the_thread_that_reads_ahead_passes_errors_on_and_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "CHUNK_BYTES", 64)
    content = gzip.compress("".join(f"1 {k + 1}:{k}.5\n" for k in range(2000)).encode())
    before = threading.active_count()
    path = write(tmp_path / "d.svm.gz", content[:-500])
    with pytest.raises(InputError, match=r"the compressed file is broken or cut off"):
        read_data(path)
    with text_files.TextSource(tmp_path / "d.svm.gz", "d") as source:  # given up early
        assert source.advance() and source.advance()
    assert threading.active_count() == before
