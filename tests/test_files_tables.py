"""Tables in text: the fast reader agrees with Python's csv module; text is encoded on request."""

import csv
import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.core.errors import InputError
from maxmargin.files import open_rows, read_data
from maxmargin.files import text as text_files

COLOURS = "colour,size,shape,y\nred,1,round,a\nblue,2.5,round,b\nred,-3,square,b\n"


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


cells = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-999, 999).map(str),
    st.sampled_from(["1.5", " 2 ", "+3", "1e-5", "-.5", "7."]),
)
labels = st.sampled_from(["a", "b", "a,b", 'say "x"', "two\nlines", "x\r\ny", "Ä", " c", "a long label"])


@given(
    st.lists(st.tuples(cells, cells, labels), min_size=1, max_size=8),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([5, 64, 1 << 20]),
    st.sampled_from(["csv", "tsv"]),
)
def test_the_same_as_the_csv_module(tmp_path_factory, rows, quoting, end, chunk, kind):
    out = io.StringIO()
    quoting = csv.QUOTE_ALL if end == "\r" else quoting  # the writer would not quote \n
    delimiter = "\t" if kind == "tsv" else ","
    writer = csv.writer(out, quoting=quoting, lineterminator=end, delimiter=delimiter)
    writer.writerows([("p", "q", "y"), *rows])
    path = write(tmp_path_factory.mktemp("t") / f"d.{kind}", out.getvalue())
    before, text_files.CHUNK_BYTES = text_files.CHUNK_BYTES, chunk
    try:
        data = read_data(path)
    finally:
        text_files.CHUNK_BYTES = before
    with open(path, encoding="utf-8", newline="") as file:
        expected = list(csv.reader(file, delimiter=delimiter))[1:]
    assert data.X.tolist() == [[float(row[0]), float(row[1])] for row in expected]
    assert data.y.tolist() == [row[2].strip() for row in expected]
    assert data.names == ["p", "q"]
    assert data.source == {"header": True, "label": "y", "columns": ["p", "q"]}


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\n0,0,0\n1,2.5,1\n",
        "0,0,0\n1,2.5,1\n",
        '"a","b","y"\n"0","0","0"\n"1","2.5","+1"\n',
        "a,b,y\r\n0,0,0\r\n1,2.5,1\r\n",
        "a,b,y\r0,0,0\r1,2.5,1\r",
        "\ufeffa,b,y\n0,0,0\n1,2.5,1",
        "\n a , b , y \n\n0, 0 ,0\n  \n 1 ,\t2.5 ,1.0\n\n",
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("chunk", [3, 1 << 20])
def test_ways_to_write_a_table(tmp_path, monkeypatch, text, compressed, chunk):
    monkeypatch.setattr(text_files, "CHUNK_BYTES", chunk)
    content = gzip.compress(text.encode()) if compressed else text.encode()
    data = read_data(write(tmp_path / ("d.csv.gz" if compressed else "d.csv"), content))
    assert data.X.tolist() == [[0, 0], [1, 2.5]] and data.y.tolist() == [0, 1]


def test_columns_by_name_and_number(tmp_path):
    path = write(tmp_path / "d.csv", "a,kind,b,c\n0,n,5,1\n1,y,6,0\n")
    for options, names, first in (
        ({"label": "kind"}, ["a", "b", "c"], [0, 5, 1]),
        ({"label": 1}, ["a", "b", "c"], [0, 5, 1]),
        ({"label": -3}, ["a", "b", "c"], [0, 5, 1]),
        ({"label": "kind", "columns": ["c", "a"]}, ["c", "a"], [1, 0]),
        ({"label": "kind", "columns": [3, 0]}, ["c", "a"], [1, 0]),
        ({"label": "kind", "drop": ["b"]}, ["a", "c"], [0, 1]),
        ({"label": False, "drop": [1, "b"]}, ["a", "c"], [0, 1]),
    ):
        rows = open_rows(path, **options)
        assert rows.names == names
        assert rows.take(np.array([0])).tolist() == [first]
        assert (rows.labels is None) == (options["label"] is False)
    assert open_rows(write(tmp_path / "e.csv", "1,2\n3,4\n")).names is None
    assert open_rows(write(tmp_path / "f.csv", "1\n3\n"), label=False).take(np.arange(2)).tolist() == [
        [1],
        [3],
    ]


def test_two_columns_of_one_name(tmp_path):
    path = write(tmp_path / "d.csv", "x,x,y\n1,2,a\n3,5,b\n")
    for read in (open_rows, read_data):
        with pytest.raises(InputError, match=r"d.csv:1: .* different names\. Got .x. as columns 0 and"):
            read(path)
        assert read(path, drop=[1]).names == ["x"]


def test_one_hot(tmp_path):
    path = write(tmp_path / "d.csv", COLOURS)
    names = ["colour=blue", "colour=red", "size", "shape=round", "shape=square"]
    expected = [[0, 1, 1, 1, 0], [1, 0, 2.5, 1, 0], [0, 1, -3, 0, 1]]
    encoding = {"colour": ["blue", "red"], "shape": ["round", "square"]}
    data = read_data(path, one_hot=True)
    rows = open_rows(path, one_hot=True)
    assert data.X.tolist() == rows.take(np.arange(3)).tolist() == expected
    assert data.names == rows.names == names
    assert data.encoding == rows.about["encoding"] == encoding
    assert rows.labels.tolist() == ["a", "b", "b"]
    again = open_rows(path, encoding=encoding, label=False, drop=["y"])
    assert again.take(np.arange(3)).tolist() == expected
    few = write(tmp_path / "few.csv", "size,shape,colour\n1,square,blue\n")
    chosen = open_rows(few, label=False, columns=rows.about["columns"], encoding=encoding)
    assert chosen.names == names and chosen.take(np.array([0])).tolist() == [[1, 0, 1, 0, 1]]
    with pytest.raises(InputError, match=r"few.csv: must have the column 'colour'"):
        open_rows(few, label="colour", encoding=encoding)
    with pytest.raises(InputError, match=r"d.csv:2: feature colour must be .*\(one_hot=True\)"):
        open_rows(path)


def test_a_category_that_was_not_there(tmp_path):
    encoding = {"colour": ["blue", "red"]}
    for bad in ("1,green", '1,"green"', '1,"g""r"'):
        path = write(tmp_path / "d.csv", f"size,colour\n2,red\n\n{bad}\n")
        with pytest.raises(InputError, match=":4: column colour must be one of blue, red") as found:
            open_rows(path, label=False, encoding=encoding)
        assert "fit the model anew" in str(found.value)


def test_many_categories_are_sparse(tmp_path):
    lines = [f"c{k % 50},{k % 3},{'odd' if k % 2 else 'even'}" for k in range(200)]
    path = write(tmp_path / "d.csv", "\n".join(["word,n,y", *lines]))
    rows, data = open_rows(path, one_hot=True), read_data(path, one_hot=True)
    assert rows.is_sparse and rows.shape == (200, 51)
    X = rows.take(np.arange(200))
    assert np.array_equal(X, data.X.toarray())
    assert X[:, :50].sum(axis=1).tolist() == [1] * 200 and X[7, 50] == 1
    assert rows.names[int(np.argmax(X[7]))] == "word=c7"


def test_a_gap_in_a_column_of_numbers_is_no_category(tmp_path):
    path = write(tmp_path / "d.csv", "n,y\n1,a\nNA,b\n2,a\n")
    with pytest.raises(InputError, match=r":3: feature n must not be missing\. Got 'NA'"):
        open_rows(path, one_hot=True)
    text = "n,y\n" + "1,a\n" * 50 + "NA,b\nx,b\n"  # a column of words, one of which is NA
    rows = open_rows(write(tmp_path / "e.csv", text), one_hot=True)
    assert rows.about["encoding"] == {"n": ["1", "NA", "x"]}


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a,b,y\n1,2,x\n1,z\n", {}, ":3: must have 3 fields. Got 2"),
        ("a,y\n1,x,\n2,z,\n", {}, ":2: must have 2 fields. Got 3"),
        ('a,y\n1,x\n"2,z\n', {}, ":3: unexpected end of data"),
        ('a,y\n1,x\n"2"3,z\n', {}, ":3: .* expected after"),
        ("a,y\n" + "1" * 200_000 + ",x\n2,z\n", {}, ":2: field larger than field limit"),
        ('a,y\n"' + "1" * 200_000 + '\n",x\n2,z\n', {}, ":2: field larger than field limit"),
        ("a,y\n1,x\n,z\n", {}, ":3: feature a must not be missing"),
        ("a,y\n1,x\n1,  \n", {}, ":3: the label must not be empty"),
        ("a,y\n1,x\n?,z\n", {}, ":3: feature a must not be missing"),
        ("a,y\n1,x\n1_0,z\n", {}, ":3: feature a must be a finite number"),
        ("a,y\nx,1\n,2\n", {"one_hot": True}, ":3: column a must not be empty"),
        ("a,y\n1,x\n2,z\n", {"label": "w"}, "a column must be one of a, y, or a number from 0 to 1"),
        ("a,y\n1,x\n2,z\n", {"label": 2}, "a column must be one of"),
        ("a,y\n1,x\n2,z\n", {"columns": ["a", "y"]}, "must not be a feature"),
        ("a,y\n1,x\n2,z\n", {"columns": ["a", 0]}, "must name a column once"),
        ("a,y\n1,x\n2,z\n", {"drop": ["a"]}, "at least one feature"),
        ("NA,2,0\n3,4,1\n", {}, "d.csv:1: .*header=True or False"),
        ("a,y\n", {}, "must hold rows"),
        ("\n \n", {}, "must hold rows"),
        ("a,y\n1,é\n2,z\n".encode("latin1"), {}, ":2: must be text in UTF-8"),
        ("é,y\n1,x\n2,z\n".encode("latin1"), {}, ":1: must be text in UTF-8"),
        ("a,y\n1,x\n".encode("utf-16"), {}, "Got UTF-16"),
    ],
)
@pytest.mark.parametrize("chunk", [16, 1 << 20])
def test_mistakes_are_told_with_their_line(tmp_path, monkeypatch, text, options, words, chunk):
    monkeypatch.setattr(text_files, "CHUNK_BYTES", chunk)
    path = write(tmp_path / "d.csv", text)
    for read in (read_data, open_rows):
        with pytest.raises(InputError, match=words) as found:
            read(path, **options)
        assert "\n" not in str(found.value) and len(str(found.value)) < 600
    assert [p.name for p in tmp_path.iterdir()] == ["d.csv"]


def test_headers(tmp_path):
    path = write(tmp_path / "d.csv", "2020,sales,y\n3,4,1\n5,6,0\n")
    assert read_data(path, header=True).names == ["2020", "sales"]
    with pytest.raises(InputError, match=":1: feature 1 must be"):
        read_data(path, header=False)
    assert read_data(write(tmp_path / "e.csv", "0,1,y\n1,2,0\n3,5,1\n")).X.tolist() == [[1, 2], [3, 5]]


def test_single_precision(tmp_path):
    path = write(tmp_path / "d.csv", "a,y\n0.1,x\n2,z\n")
    rows = open_rows(path, dtype="float32")
    assert rows.take(np.array([0]))[0, 0] == np.float32(0.1)
    with pytest.raises(InputError, match="row 1: must hold numbers that float32 can hold"):
        open_rows(write(tmp_path / "e.csv", "a,y\n0.1,x\n1e39,z\n"), dtype=np.float32)
    with pytest.raises(InputError, match="dtype must be"):
        open_rows(path, dtype="int8")


def test_other_separators_are_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a;b;y\n1;2;no\n3;4;yes\n")
    with pytest.raises(InputError, match="There is one column: fields are separated by commas"):
        open_rows(path)
