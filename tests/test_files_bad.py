"""A catalogue of broken files, and random ones: one line that says where and what to do, no crash."""

import gzip
import io
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.core.errors import InputError
from maxmargin.files import open_rows, read_data
from maxmargin.files import text as text_files
from thorough import THOROUGH

CSV = b"a,b,y\n1,2,x\n3,4,z\n5,6,x\n"
SVM = b"1 1:2 3:4\n-1 2:5\n1 1:0.5\n"
GARBAGE = bytes(range(256)) * 40
LONG = b"1" * 1_000_000

# name, content, what the error must say
CATALOGUE = {
    "truncated csv": ("d.csv", CSV[:-5], ":4: must have 3 fields"),
    "truncated svmlight": ("d.svm", SVM[:-4], ":3: feature 1 must not be missing"),
    "truncated index": ("d.svm", SVM[:-5], ":3: features must be index:value"),
    "truncated gz": ("d.csv.gz", gzip.compress(CSV * 50)[:-20], "broken or cut off"),
    "gz that is none": ("d.svm.gz", b"\x1f\x8bgarbage", "broken or cut off"),
    "garbage csv": ("d.csv", GARBAGE, ":1: must be text in UTF-8"),
    "garbage svmlight": ("d.svm", GARBAGE, ":1: "),
    "garbage behind rows": ("d.csv", CSV + GARBAGE, ":5"),
    "garbage behind sparse rows": ("d.svm", SVM + GARBAGE, ":4"),
    "zeros": ("d.csv", b"\0" * 5000, ":1: must be text"),
    "zeros svmlight": ("d.svm", b"\0" * 5000, ":1: must be text"),
    "utf-16": ("d.csv", CSV.decode().encode("utf-16"), "Save it as UTF-8"),
    "utf-16 svmlight": ("d.svm", SVM.decode().encode("utf-16"), "Save it as UTF-8"),
    "latin-1": ("d.csv", "a,y\n1,é\n2,z\n".encode("latin1"), ":2: .*Save the file as UTF-8"),
    "latin-1 header": ("d.csv", "é,y\n1,x\n2,z\n".encode("latin1"), ":1: .*Save the file as UTF-8"),
    "latin-1 svmlight": ("d.svm", "1 1:1\né 1:2\n".encode("latin1"), ":2: .*Save the file as UTF-8"),
    "latin-1 value": ("d.svm", "1 1:1\n1 1:é\n".encode("latin1"), ":2: .*Save the file as UTF-8"),
    "duplicate columns": ("d.csv", CSV.replace(b"a,b", b"a,a"), "different names.*\\(drop=\\[1\\]\\)"),
    "ragged": ("d.csv", CSV + b"7,8\n", ":5: must have 3 fields. Got 2 instead. Correct"),
    "too wide": ("d.csv", CSV + b"7,8,9,x\n", ":5: must have 3 fields. Got 4"),
    "nan": ("d.csv", CSV + b"nan,8,x\n", ":5: feature a must not be missing"),
    "inf": ("d.csv", CSV + b"7,-inf,x\n", ":5: feature b must be a finite number"),
    "nan svmlight": ("d.svm", SVM + b"1 1:NaN\n", ":4: feature 1 must not be missing"),
    "inf svmlight": ("d.svm", SVM + b"1 1:1 2:Infinity\n", ":4: feature 2 must be a finite"),
    "huge exponent": ("d.csv", CSV + b"1e999,8,x\n", ":5: feature a must be a finite number"),
    "huger exponent": ("d.csv", CSV + b"1e" + b"9" * 50 + b",8,x\n", ":5: feature a must be"),
    "huge exponent svmlight": ("d.svm", SVM + b"1 1:-2e400\n", ":4: feature 1 must be a finite"),
    "index 0": ("d.svm", SVM + b"1 0:2\n", r":4: indices must run from 1\. Got 0.*first_index"),
    "descending": ("d.svm", SVM + b"1 3:1 2:1\n", ":4: .*increasing indices.*Correct"),
    "twice": ("d.svm", SVM + b"1 3:1 3:1\n", ":4: .*increasing indices.*Correct"),
    "negative": ("d.svm", SVM + b"1 -3:1\n", ":4: features must be index:value"),
    "long line": ("d.svm", SVM + LONG + b":1\n", ":4: must begin with a label. Got '1111"),
    "no colon": ("d.svm", SVM + b"1 " + LONG + b"\n", ":4: features must be index:value"),
    "long value": ("d.svm", SVM + b"1 1:" + LONG + b"\n", ":4: feature 1 must be a finite number"),
    "long field": ("d.csv", CSV + LONG + b",1,x\n", ":5: field larger than field limit"),
    "long quoted field": ("d.csv", CSV + b'"' + LONG + b"\n" * 9 + b'",1,x\n', ":5: field larger"),
    "open quote": ("d.csv", CSV + b'"7,8,x\n', ":5: unexpected end of data"),
    "empty": ("d.csv", b"", "must hold rows. Got none"),
    "empty svmlight": ("d.svm", b"", "must hold rows. Got none"),
    "empty npy": ("d.npy", b"", "must hold an array"),
    "empty npz": ("d.npz", b"", "must be a whole archive"),
    "empty gz": ("d.csv.gz", gzip.compress(b""), "must hold rows. Got none"),
    "only a mark": ("d.csv", b"\xef\xbb\xbf", "must hold rows. Got none"),
    "no label": ("d.svm", SVM + b"1:2\n", ":4: must begin with a label"),
    "no label in a table": ("d.csv", CSV + b"7,8,\n", ":5: the label must not be empty"),
    "one column": ("d.csv", b"y\n1\n2\n", "at least one feature"),
    "missing": ("d.csv", CSV + b"7,,x\n", ":5: feature b must not be missing.*Fill it in"),
    "no ending": ("data", CSV, "must end in one of"),
    "compressed matrix": ("d.npy.gz", gzip.compress(b"x"), "gunzip"),
}  # fmt: skip


def check_refused(path, words=""):
    for read in (open_rows, read_data):
        with pytest.raises(InputError, match=words) as found:
            read(path)
        text = str(found.value)
        assert text.startswith(str(path)) and len(text) < 700
        assert text.isprintable() or "\ufffd" in text
    return text


@pytest.mark.parametrize("name", CATALOGUE)
def test_broken_files(tmp_path, name):
    file, content, words = CATALOGUE[name]
    (tmp_path / file).write_bytes(content)
    check_refused(tmp_path / file, words)
    assert [p.name for p in tmp_path.iterdir()] == [file]


def test_files_that_only_look_broken(tmp_path):
    for name, content in (
        ("marked.csv", b"\xef\xbb\xbf" + CSV),
        ("windows.csv", CSV.replace(b"\n", b"\r\n")),
        ("old-mac.csv", CSV.replace(b"\n", b"\r")),
        ("marked.svm", b"\xef\xbb\xbf" + SVM),
        ("windows.svm", SVM.replace(b"\n", b"\r\n")),
        ("no-end.svm", SVM[:-1]),
        ("long.svm", SVM + b"1 " + b" ".join(b"%d:1.5" % j for j in range(1, 120_000)) + b"\n"),
        ("long-label.svm", SVM + LONG + b" 1:1\n"),
    ):
        (tmp_path / name).write_bytes(content)
        assert open_rows(tmp_path / name).n >= 3


@pytest.mark.parametrize("ending", [".csv", ".svm", ".npy", ".npz", ".rows", ".parquet"])
def test_folders_and_files_that_are_not_there(tmp_path, ending):
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    check_refused(tmp_path / f"none{ending}", "No such file")
    (tmp_path / f"folder{ending}").mkdir()
    check_refused(tmp_path / f"folder{ending}", "Is a directory|conversion|there is no about.json")
    with pytest.raises(InputError):
        open_rows("a\0b.csv")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path):
    (tmp_path / "d.csv").write_bytes(CSV)
    (tmp_path / "d.csv").chmod(0)
    check_refused(tmp_path / "d.csv", "Permission denied")


def test_no_permission_as_the_system_says_it(tmp_path, monkeypatch):
    (tmp_path / "d.csv").write_bytes(CSV)

    def refuse(*_):
        raise PermissionError(13, "Permission denied", str(tmp_path / "d.csv"))

    monkeypatch.setattr(text_files.TextSource, "__init__", refuse)
    check_refused(tmp_path / "d.csv", "Permission denied. Name a file that can be read")


def test_a_full_disk(tmp_path, monkeypatch):
    from maxmargin.files import cache

    (tmp_path / "d.csv").write_bytes(CSV)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache._GrowingFile, "append", full)
    with pytest.raises(InputError, match=r"No space left on device.*cache_dir"):
        open_rows(tmp_path / "d.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["d.csv"]


def check_one_line(text):
    assert "\n" not in text


def survives(folder, name, content, **options):
    """Nothing but an InputError comes out, and both readers agree."""
    path = folder / name
    path.write_bytes(content)
    outcomes = []
    for read in (read_data, open_rows):
        try:
            found = read(path, **options)
        except InputError as error:
            outcomes.append(None)
            check_one_line(str(error))
        else:
            X = found.X if read is read_data else found.take(np.arange(found.n))
            outcomes.append(X.toarray() if hasattr(X, "toarray") else X)
    assert (outcomes[0] is None) == (outcomes[1] is None)
    if outcomes[0] is not None:
        assert outcomes[0].tobytes() == outcomes[1].tobytes()


pieces = st.sampled_from(
    [b"1", b"-2.5", b"3e7", b":", b" ", b",", b"\t", b"\n", b"\r", b"\r\n", b'"', b'""', b"#", b"qid:4",
     b"x", b"nan", b"0:1", b"7:", b"\xff", b"\xc3\xa9", b"\0", b"\x0c", b"_", b"1e999", b"9" * 20, b"."]
)  # fmt: skip
mixtures = st.one_of(st.binary(max_size=80), st.lists(pieces, max_size=60).map(b"".join))


@given(st.sampled_from(["d.csv", "d.tsv", "d.svm"]), mixtures, st.sampled_from([1, 9, 1 << 20]))
@settings(max_examples=3000 if THOROUGH else 100)
def test_random_text(tmp_path_factory, name, content, chunk):
    before, text_files.CHUNK_BYTES = text_files.CHUNK_BYTES, chunk
    try:
        survives(tmp_path_factory.mktemp("t"), name, content)
        survives(tmp_path_factory.mktemp("t"), name + ".gz", gzip.compress(content))
    finally:
        text_files.CHUNK_BYTES = before


tables = st.lists(st.lists(pieces, min_size=3, max_size=3).map(b",".join), min_size=1, max_size=6)


@given(tables.map(b"\n".join), st.booleans())
def test_random_tables(tmp_path_factory, content, one_hot):
    survives(tmp_path_factory.mktemp("t"), "d.csv", b"p,q,y\n" + content, header=True, one_hot=one_hot,
             drop=[0])  # fmt: skip


def archive(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def matrix(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def seeds():
    X = np.arange(12.0).reshape(4, 3)
    sparse = {"data": np.ones(3), "indices": np.array([0, 1, 2]), "indptr": np.array([0, 1, 2, 2, 3]),
              "shape": np.array([4, 3]), "format": np.array(b"csr"), "y": np.arange(4)}  # fmt: skip
    return {
        "d.npy": matrix(X),
        "d.npz": archive(X=X, y=np.arange(4)),
        "s.npz": archive(**sparse),
        "d.csv.gz": gzip.compress(CSV, mtime=0),
    }


@given(st.sampled_from(sorted(seeds())), st.data())
@settings(max_examples=3000 if THOROUGH else 100)
def test_changed_bytes(tmp_path_factory, name, data):
    content = bytearray(seeds()[name])
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))
    survives(tmp_path_factory.mktemp("t"), name, bytes(content[:cut]))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=1000 if THOROUGH else 60)
def test_changed_parquet(tmp_path_factory, seed):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    rng = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("t")
    pyarrow.parquet.write_table(pa.table({"a": [1.5, 2.5], "y": ["x", "z"]}), folder / "d.parquet")
    content = bytearray((folder / "d.parquet").read_bytes())
    content[rng.integers(len(content))] = rng.integers(256)
    survives(folder, "d.parquet", bytes(content))
