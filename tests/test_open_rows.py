"""Rows of files: the same training as in memory; conversions that are reused, remade, never broken."""

import gc
import gzip
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.core.errors import InputError
from maxmargin.files import cache, open_rows, read_data, write_svmlight
from maxmargin.files import text as text_files
from thorough import further

CSV = "a,b,kind\n0,0,no\n1,2.5,no\n4,3,yes\n-5,9e1,yes\n"
SVM = "no 1:0\nno 1:1 2:2.5\nyes 1:4 2:3\nyes 1:-5 2:90\n"


@pytest.fixture
def separated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6))
    X[np.abs(X) < 0.5] = 0
    w = rng.normal(size=6)
    y = np.where(X @ w > 0, "up", "down")
    keep = np.abs(X @ w) > 0.1
    return X[keep], y[keep]


def write_all(folder, X, y):
    """The same data in many files; returns how to open each of them."""
    lines = [
        ",".join([*(repr(v) for v in row), label]) for row, label in zip(X.tolist(), y, strict=True)
    ]
    text = "\n".join(["f0,f1,f2,f3,f4,f5,y", *lines]) + "\n"
    (folder / "d.csv").write_text(text)
    (folder / "d.csv.gz").write_bytes(gzip.compress(text.encode()))
    write_svmlight(X, y, folder / "d.svm")
    np.save(folder / "X.npy", X)
    np.save(folder / "F.npy", np.asfortranarray(X))
    np.save(folder / "y.npy", y)
    np.savez(folder / "d.npz", X=X, y=y)
    found = {name: {} for name in ("d.csv", "d.csv.gz", "d.svm", "d.npz")}
    found |= {name: {"labels": folder / "y.npy"} for name in ("X.npy", "F.npy")}
    try:
        import pyarrow.parquet
    except ImportError:
        return found
    columns = {f"f{j}": X[:, j] for j in range(6)}
    table = pyarrow.table({**columns, "y": y})
    pyarrow.parquet.write_table(table, folder / "d.parquet", row_group_size=100)
    return found | {"d.parquet": {}}


def test_training_from_files_is_training_in_memory(tmp_path, separated):
    X, y = separated
    expected = mm.Perceptron(random_state=0).fit(X, y)
    for name, options in write_all(tmp_path, X, y).items():
        rows = open_rows(tmp_path / name, **options)
        assert rows.shape == X.shape and np.array_equal(rows.labels, y), name
        assert np.array_equal(rows.take(np.arange(rows.n)), X), name
        model = mm.Perceptron(random_state=0).fit(rows, None)
        assert model.coef_.tobytes() == expected.coef_.tobytes(), name
        assert model.intercept_.tobytes() == expected.intercept_.tobytes(), name
        assert np.array_equal(model.predict(rows), expected.predict(X)), name


def only(folder, ending=".rows"):
    found = [p for p in folder.iterdir() if p.name.endswith(ending)]
    assert len(found) == 1
    return found[0]


def test_a_conversion_is_reused_until_something_changes(tmp_path, monkeypatch):
    made = []
    write = cache.write_store
    monkeypatch.setattr(cache, "write_store", lambda *given: made.append(given[0]) or write(*given))
    path = tmp_path / "d.csv"
    path.write_text(CSV)
    first = open_rows(path)
    assert first.path == only(tmp_path) and first.path.name.startswith("d.csv.")
    again = open_rows(path)
    assert len(made) == 1 and again.labels.tolist() == ["no", "no", "yes", "yes"]
    assert open_rows(path, drop=["a"]).names == ["b"] and len(made) == 2  # other options, another file
    path.write_text(CSV.replace("9e1", "8e1"))  # the same size
    assert open_rows(path).take(np.array([3]))[0, 1] == 80 and len(made) == 3
    assert first.take(np.array([3]))[0, 1] == 90  # what is open stays as it was
    path.write_text(CSV + "1,1,no\n")
    assert open_rows(path).n == 5 and len(made) == 4
    os.utime(path, ns=(1, 1))
    assert open_rows(path).n == 5 and len(made) == 5
    assert open_rows(path).n == 5 and len(made) == 5


def test_a_broken_conversion_is_made_again(tmp_path):
    path = tmp_path / "d.svm"
    path.write_text(SVM)
    open_rows(path)
    store = only(tmp_path)
    good = {file.name: file.read_bytes() for file in store.iterdir()}
    for name, content in good.items():
        half = len(content) // 2
        for bad in (b"", b"garbage", content[:-7], content[:half], content[:half] + b"\1"):
            (store / name).write_bytes(bad)
            assert open_rows(path).n == 4
            assert {file.name: file.read_bytes() for file in store.iterdir()} == good
    for remove in (lambda: (store / "data.npy").unlink(), lambda: shutil.rmtree(store)):
        remove()
        assert open_rows(path).n == 4
    shutil.rmtree(store)
    store.write_bytes(b"maxmargin rows 1\n" * 500)  # as an earlier version wrote it
    assert open_rows(path).n == 4
    assert {file.name: file.read_bytes() for file in store.iterdir()} == good


def test_another_folder_for_conversions(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "d.csv").write_text(CSV if folder == "one" else CSV.replace("9e1", "7"))
    kept = tmp_path / "new" / "cache"
    for folder, value in (("one", 90), ("two", 7)):
        rows = open_rows(tmp_path / folder / "d.csv", cache_dir=kept)
        assert rows.path.parent == kept and rows.take(np.array([3]))[0, 1] == value
        assert [p.name for p in (tmp_path / folder).iterdir()] == ["d.csv"]
    assert len(list(kept.iterdir())) == 2
    with pytest.raises(InputError, match="cache_dir"):
        open_rows(tmp_path / "one" / "d.csv", cache_dir=tmp_path / "one" / "d.csv")


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    home = tmp_path / "temporary"
    home.mkdir()
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(home))
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "d.csv"
    path.write_text(CSV)
    monkeypatch.setattr(cache, "_writable", lambda target, make: target.parent != path.parent)
    rows = open_rows(path)
    assert home in rows.path.parents and rows.path.parent.stat().st_mode & 0o777 == 0o700
    assert [p.name for p in path.parent.iterdir()] == ["d.csv"]
    stamp = rows.path.stat().st_mtime_ns
    assert open_rows(path).path.stat().st_mtime_ns == stamp  # reused there, too


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path):
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "d.csv"
    path.write_text(CSV)
    path.parent.chmod(0o500)
    try:
        assert open_rows(path).path.parent != path.parent
    finally:
        path.parent.chmod(0o700)


@pytest.mark.parametrize("again", range(3))
def test_many_at_once_do_no_harm(tmp_path, again):
    path = tmp_path / "d.csv"
    path.write_text("a,y\n" + "".join(f"{k},{'x' if k % 2 else 'z'}\n" for k in range(5000)))
    found, failed = [], []

    def work():
        try:
            found.append(open_rows(path).take(np.arange(5000)).sum())
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and found == [sum(range(5000))] * 12
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "d.csv"
    path.write_text(CSV)
    write = cache.write_store

    @contextmanager
    def slow(*given):
        with write(*given) as writer:
            yield writer
        path.write_text(CSV + "1,1,no\n")

    monkeypatch.setattr(cache, "write_store", slow)
    with pytest.raises(InputError, match="changed while it was read"):
        open_rows(path)
    assert [p.name for p in tmp_path.iterdir()] == ["d.csv"]


def test_nothing_is_left_of_a_file_with_a_mistake(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text(CSV * 2)
    with pytest.raises(InputError, match=r"d.csv:6: "):
        open_rows(path)
    assert [p.name for p in tmp_path.iterdir()] == ["d.csv"]


class Pipe:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


def contents(tmp_path):
    np.save(tmp_path / "m.npy", np.array([[0, 0, 0], [1, 2.5, 0], [4, 3, 1], [-5, 90, 1]]))
    np.savez(tmp_path / "m.npz", X=np.array([[0, 0], [1, 2.5], [4, 3], [-5, 90.0]]), y=[0, 0, 1, 1])
    yield from (CSV.encode(), SVM.encode(), CSV.replace(",", "\t").encode(), gzip.compress(SVM.encode()))
    yield from ((tmp_path / "m.npy").read_bytes(), (tmp_path / "m.npz").read_bytes())


def test_standard_input(tmp_path, monkeypatch):
    home = tmp_path / "temporary"
    home.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(home))
    for content in contents(tmp_path):
        monkeypatch.setattr(sys, "stdin", Pipe(content))
        rows = open_rows("-")
        assert rows.shape == (4, 2) and rows.take(np.array([3])).tolist() == [[-5, 90]]
        assert len(rows.labels) == 4 and len(list(home.iterdir())) == 1
        del rows
        gc.collect()
        assert not list(home.iterdir())
        monkeypatch.setattr(sys, "stdin", Pipe(content))
        assert read_data("-").X.shape == (4, 2) and not list(home.iterdir())
    for content, words in (
        (b"", "^-: must hold rows"),
        (b"a,b\n1,x\ny,z\n", "^-:3: "),
    ):
        for read in (open_rows, read_data):
            monkeypatch.setattr(sys, "stdin", Pipe(content))
            with pytest.raises(InputError, match=words):
                read("-")
    assert not list(home.iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(SVM))
    writer.start()
    assert open_rows(tmp_path / "pipe").shape == (4, 2)
    writer.join()


def test_a_file_of_rows_can_be_named_itself_and_pickled(tmp_path):
    (tmp_path / "d.csv").write_text(CSV)
    rows = open_rows(tmp_path / "d.csv")
    for again in (open_rows(rows.path), pickle.loads(pickle.dumps(rows))):
        assert again.names == ["a", "b"] and again.labels.tolist() == rows.labels.tolist()
    assert json.loads(json.dumps(rows.about))["columns"] == ["a", "b"]


def test_a_kind_that_the_name_does_not_tell(tmp_path):
    (tmp_path / "data").write_text(SVM)
    with pytest.raises(InputError, match="must end in one of"):
        open_rows(tmp_path / "data")
    assert open_rows(tmp_path / "data", kind="svmlight").shape == (4, 2)
    with pytest.raises(InputError, match="kind must be one of csv"):
        open_rows(tmp_path / "data", kind="xml")


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("d.svm", {"label": "y"}, "options must suit .*Leave out label=…"),
        ("d.svm", {"columns": ["1"]}, "options must suit .*Leave out columns=…"),
        ("d.svm", {"drop": [1]}, "options must suit .*Leave out drop=…"),
        ("d.svm", {"one_hot": True}, "options must suit .*Leave out one_hot=…"),
        ("d.svm", {"header": True}, "options must suit .*Leave out header=…"),
        ("d.svm", {"first_index": 2}, "first_index must be 0, 1 or None"),
        ("d.svm", {"features": 0}, "features must be a count"),
        ("d.csv", {"first_index": 1}, "options must suit .*Leave out first_index=…"),
        ("d.csv", {"features": 3}, "options must suit .*Leave out features=…"),
        ("d.csv", {"label": True}, "label must be a column"),
        ("d.csv", {"columns": "a"}, "columns must be a list"),
        ("d.csv", {"encoding": ["a"]}, "encoding must be a dict"),
        ("d.csv", {"encoding": {"a": "x"}}, "encoding must be a dict"),
        ("d.csv", {"labels": [1, 2]}, "must be a finite number"),
    ],
)
def test_options_that_do_not_fit(tmp_path, name, options, words):
    (tmp_path / name).write_text(SVM if name == "d.svm" else CSV)
    with pytest.raises(InputError, match=words):
        open_rows(tmp_path / name, **options)


PROGRAM = """
import resource, sys
import numpy as np
import maxmargin as mm
from maxmargin.files import open_rows
open_rows(sys.argv[2])  # compile first
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
rows = open_rows(sys.argv[1])
print(rows.n, float(sum(block.column_reach.sum() for _, block in rows.blocks())))
"""


@pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="memory can be limited on Linux alone"
)
@pytest.mark.parametrize("kind", ["csv", further("svm")])
def test_a_file_larger_than_memory_is_converted(tmp_path, kind):
    block = np.random.default_rng(0).normal(size=(2000, 20))
    if kind == "csv":
        text = "\n".join(
            ",".join([*(f"{v:.17g}" for v in row), "x" if row[0] > 0 else "z"]) for row in block
        )
    else:
        pairs = [" ".join(f"{j}:{v:.17g}" for j, v in enumerate(row, 1)) for row in block]
        text = "\n".join(
            f"{'x' if row[0] > 0 else 'z'} {line}" for row, line in zip(block, pairs, strict=True)
        )
    path, small = tmp_path / f"d.{kind}", tmp_path / f"s.{kind}"
    small.write_text(text)
    with path.open("w") as file:
        for _ in range(150):
            file.write(text + "\n")
    limit = path.stat().st_size // 2
    assert limit > 50e6 and limit * 4 > 2000 * 150 * 20 * 8
    command = [sys.executable, "-c", PROGRAM, str(path), str(small), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "300000"


def test_chunks_do_not_matter(tmp_path, monkeypatch, separated):
    X, y = separated
    write_svmlight(X, y, tmp_path / "d.svm")
    expected = read_data(tmp_path / "d.svm")
    for chunk in (1, 100, 4096):
        monkeypatch.setattr(text_files, "CHUNK_BYTES", chunk)
        found = read_data(tmp_path / "d.svm")
        assert found.X.data.tobytes() == expected.X.data.tobytes()
        assert np.array_equal(found.X.toarray(), X) and np.array_equal(found.y, y)
