"""Many files as the partitions of one data set: read by their parts, they are the rows of one."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

import maxmargin as mm
from maxmargin.files import partitions as partitioned
from partitions import noisy

X, Y = noisy(900, 4)
NAMES = list("abcd")
FRAME = pd.DataFrame(X, columns=NAMES).assign(label=Y)
PARTS = [slice(0, 300), slice(300, 301), slice(301, 900)]
LOCAL = mm.SoftMarginSVC(1.0).fit(FRAME[NAMES], Y)


def write(folder, kind):
    """Three files of one kind."""
    for k, part in enumerate(PARTS):
        path, some = folder / f"{k}.{kind}", FRAME[part]
        if kind == "parquet":
            table = pa.Table.from_pandas(some, preserve_index=False)
            parquet.write_table(table, path, row_group_size=100)
        elif kind == "feather":
            some.reset_index(drop=True).to_feather(path)
        elif kind == "csv":
            some.to_csv(path, index=False, float_format="%.17g")
        elif kind == "svm":
            mm.write_svmlight(sparse.csr_array(X[part]), Y[part], path)
        elif kind == "npz":
            np.savez(path, X=X[part], y=Y[part])
    return folder


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv", "svm", "npz"])
def test_files_of_every_kind_are_the_rows_of_one(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(partitioned, "MIN_PARTITION_ENTRIES", 1_000)
    rows = mm.open_rows(write(tmp_path, kind), backend="dask")
    # A partition of row groups has a thousand numbers, of two hundred rows of five columns.
    assert rows.npartitions == (2 + 1 + 3 if kind == "parquet" else 3)
    assert len(rows.files) == 3 and "3 files" in repr(rows)
    model = mm.SoftMarginSVC(1.0).fit(rows)
    assert model.certificate_.primal == pytest.approx(LOCAL.certificate_.primal, rel=2e-6)
    named = kind in ("parquet", "feather", "csv")
    assert list(getattr(model, "feature_names_in_", NAMES)) == NAMES
    assert hasattr(model, "feature_names_in_") == named
    given = FRAME[NAMES] if named else X
    assert np.array_equal(model.predict(rows).compute(), model.predict(given))
    assert model.decision_function(rows).compute() == pytest.approx(model.decision_function(given))
    assert model.score(rows) == model.score(given, Y)
    verdict, local = mm.separability(rows), mm.separability(X, Y)
    assert verdict.proof.to_dict()["data"] == local.proof.to_dict()["data"]
    assert verdict.proof.verify(rows) and verdict.proof.verify(X, Y)
    assert mm.certify(model, rows).relative_gap <= 1e-6


def test_a_pattern_a_folder_and_a_list_name_the_same_files(tmp_path):
    write(tmp_path, "csv")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "notes.md").write_text("nothing")
    names = [tmp_path / f"{k}.csv" for k in range(3)]
    ways = [tmp_path, str(tmp_path / "*.csv"), str(tmp_path / "**" / "[0-2].csv"), names]
    found = [mm.open_rows(way, backend="dask").files for way in ways]
    assert all(files == names for files in found)
    mm.separability(mm.open_rows(tmp_path, backend="dask"))  # converts them, beside
    assert mm.open_rows(tmp_path, backend="dask").files == names
    assert mm.open_rows(names[::-1], backend="dask").files == names[::-1]


def test_options_reach_the_files(tmp_path):
    write(tmp_path, "csv")
    rows = mm.open_rows(tmp_path, backend="dask", label="label", columns=["c", "a"])
    assert list(mm.SoftMarginSVC().fit(rows).feature_names_in_) == ["c", "a"]
    coded = FRAME.assign(a=np.where(X[:, 0] > 0, "up", "down"))
    for k, part in enumerate(PARTS):
        coded[part].to_csv(tmp_path / f"{k}.csv", index=False)
    rows = mm.open_rows(tmp_path, backend="dask", encoding={"a": ["down", "up"]})
    assert mm.SoftMarginSVC().fit(rows).n_features_in_ == 5
    apart = tmp_path / "elsewhere"
    rows = mm.open_rows(tmp_path / "*.csv", backend="dask", drop=["a"], cache_dir=apart)
    mm.SoftMarginSVC().fit(rows)
    assert len(list(apart.glob("*.rows"))) == 3


def test_files_that_do_not_fit_together_are_refused(tmp_path):
    write(tmp_path, "csv")

    def refused(words, **options):
        with pytest.raises(mm.InputError, match=words):
            mm.SoftMarginSVC().fit(mm.open_rows(tmp_path, backend="dask", **options))

    second = tmp_path / "1.csv"
    second.write_text("a,b,x,d,label\n1,2,3,4,no\n")
    refused("the features of the first, a, b, c, d. Got a, b, x, d in .*1.csv")
    second.write_text("a,b,c,label\n1,2,3,no\n")
    refused("the same 4 features. Got 3 in .*1.csv instead. *$")
    second.write_text("a,b,c,d,label\n1,2,3,4,7\n")
    refused("numbers in some partitions and text in others")
    second.write_text("a,b,c,d,label\n1,2,3,four,no\n")
    refused("1.csv:2")
    second.unlink()
    refused("one_hot on files in partitions must come with the categories", one_hot=True)
    refused("labels must be None", labels=Y)
    refused("rows without labels need y", label=False, columns=NAMES)
    with pytest.raises(mm.InputError, match="y must be None for files in partitions"):
        mm.SoftMarginSVC().fit(mm.open_rows(tmp_path, backend="dask"), Y)
    (tmp_path / "9.svm").write_text("yes 1:1\n")
    refused("of one kind. Got csv, svmlight")


def test_sparse_files_of_different_width_need_to_be_told_how_wide(tmp_path):
    (tmp_path / "0.svm").write_text("1 1:1 3:2\n-1 2:1\n")
    (tmp_path / "1.svm").write_text("1 1:1 4:2\n-1 2:1\n")
    with pytest.raises(mm.InputError, match=r"Say how many there are in open_rows \(features=…\)"):
        mm.separability(mm.open_rows(tmp_path, backend="dask"))
    assert mm.separability(mm.open_rows(tmp_path, backend="dask", features=4)).separable


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        ("none-*.csv", {"backend": "dask"}, "no file has such a name"),
        ("nothing", {"backend": "dask"}, "No such file or folder"),
        (["a.csv", "b.csv"], {}, "path must name one file"),
        ("s3://bucket/*.parquet", {"backend": "dask"}, "all workers see. Got an address"),
        ("*.csv", {"backend": 3}, "backend must be None, 'dask' or a distributed.Client. Got 3"),
    ],
)
def test_names_that_name_no_files_are_refused(path, options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(mm.InputError, match=words):
        mm.open_rows(path, **options)
