"""Small files that ask for gigabytes: refused before anything of that size is made.

Each is read in a process that may take some hundred megabytes, so that a mistake here harms nobody.
"""

import io
import zipfile
from hashlib import sha256
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import children
import maxmargin as mm
from maxmargin.core.codec import decode_labels, encode_labels
from maxmargin.core.errors import InputError
from maxmargin.core.memory import GRANTED_BYTES, MAX_EXPANSION, in_proportion
from maxmargin.files.cache import read_store, write_store
from maxmargin.saving import LinearModel, from_dict, read_any, seal, to_dict
from maxmargin.stream.learner import Learner

MEMORY = 600 << 20  # bytes that each of these may take
SMALL = 100_000  # bytes of each file, at most


def write_model(folder, change, arrays=None, pack=np.savez):
    """A linear model of three weights with some entries changed, and perhaps a part."""
    content = to_dict(LinearModel([[1.0, 2.0]], [3.0], np.array(["no", "yes"])))
    path = Path(folder) / "model.json"
    if arrays is not None:
        written = io.BytesIO()
        pack(written, **arrays)
        change = {**change, **write_part(folder, written.getvalue())}
    path.write_bytes(seal({**content, **change}))
    return path


def write_part(folder, data):
    digest = sha256(data).hexdigest()
    part = Path(folder) / f"model.json.{digest[:16]}.npz"
    part.write_bytes(data)
    return {"part": {"file": part.name, "sha256": digest}}


def perceptron(change):
    """A perceptron that learned two features from a stream, with its state changed."""
    model = mm.Perceptron().learn_one({"a": 1.0}, 0).learn_one({"b": 1.0}, 1)
    content = to_dict(model)
    content["state"].update(change)
    return content


def many_classes(multi_class, count=20_000):
    content = to_dict(mm.BatchPerceptron(max_iter=None).fit([[0.0], [1.0], [2.0]], [0, 0, 1]))
    content["classes"] = {"dtype": "<i8", "values": list(range(count))}
    content["scheme"]["multi_class"] = multi_class
    return content


def npy(shape, dtype="<f8"):
    written = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(written, header)
    return written.getvalue()


def archive(members, way=zipfile.ZIP_STORED):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", way, compresslevel=9) as out:
        for name, content in members.items():
            out.writestr(f"{name}.npy", content)
    return written.getvalue()


def overlapping(times):
    """An archive in which many members are the same bytes."""
    body = io.BytesIO()
    np.save(body, np.ones(5_000))
    with zipfile.ZipFile(written := io.BytesIO(), "w") as out:
        out.writestr("a0.npy", body.getvalue())
        info = out.getinfo("a0.npy")
        for k in range(1, times):
            twin = zipfile.ZipInfo(f"a{k}.npy")
            for name in ("header_offset", "CRC", "compress_size", "file_size"):
                setattr(twin, name, getattr(info, name))
            out.filelist.append(twin)
            out.NameToInfo[twin.filename] = twin
    return written.getvalue()


def models(folder):
    some = {"a0": np.ones(3), "a0.where": np.arange(3)}
    wide = {"part": "a0", "sparse": [1, 100_000_001]}
    yield "sparse weights", write_model(folder, {"weights": wide}, some)
    wide = {"part": "a0", "sparse": [1, 2**60]}
    yield "more weights than bytes in the world", write_model(folder, {"weights": wide}, some)
    labels = {"dtype": "<U999999", "values": [f"{k:04}" for k in range(2_000)]}
    yield "labels", write_model(folder, {"classes": labels})
    labels = {"dtype": "|S999999", "values": [{"bytes": "00"}] * 2_000}
    yield "labels in bytes", write_model(folder, {"classes": labels})
    scalars = [[{"numpy": "<U999999", "value": str(k)}, 1.0] for k in range(2_000)]
    yield "values", write_model(folder, {"class_weight": {"dict": scalars}})
    data = archive({"a0": npy((1, 10**10))})
    yield "a header", write_model(folder, {"weights": {"part": "a0"}, **write_part(folder, data)})
    zeros = {"a0": np.zeros((1, 10**7))}
    packed = write_model(folder, {"weights": {"part": "a0"}}, zeros, np.savez_compressed)
    yield "packed zeros", packed
    part = write_part(folder, overlapping(500))
    yield "members on top of each other", write_model(folder, {"weights": {"part": "a0"}, **part})


def other_models(folder):
    path = Path(folder) / "model.txt"
    head = (
        "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\nSV\n"
    )
    path.write_text(f"{head}0.5 1:1\n-0.5 {2**28}:1\n")
    yield "LIBSVM, an index", path
    names = " ".join(map(str, range(10_000)))
    counts = " ".join(["0"] * 10_000)
    path.write_text(
        "svm_type c_svc\nkernel_type linear\nnr_class 10000\ntotal_sv 0\nrho 0\n"
        f"label {names}\nnr_sv {counts}\nSV\n"
    )
    yield "LIBSVM, pairs", path
    path.write_text(
        "solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 2147483647\nbias 1\nw\n1 \n"
    )
    yield "LIBLINEAR, features", path


def data(folder):
    """Data files, each with a way to read it."""
    folder = Path(folder)
    path = folder / "wide.svm"
    path.write_text("1 1:1 2147483646:1\n-1 2:1\n")
    yield "svmlight, read", path, mm.read_data
    yield "svmlight, opened", path, mm.open_rows
    wide = sparse.csr_array((np.ones(1), ([0], [10**12])), shape=(2, 10**12 + 1))
    for form in ("csr", "coo"):
        path = folder / f"{form}.npz"
        sparse.save_npz(path, wide.asformat(form))
        yield f"{form}, columns", path, lambda path: mm.read_data(path, label=False)
    tall = sparse.coo_array((np.ones(1), ([10**12], [0])), shape=(10**12 + 1, 2))
    sparse.save_npz(folder / "tall.npz", tall)
    yield "coo, rows", folder / "tall.npz", lambda path: mm.read_data(path, label=False)
    path = folder / "row.npz"
    path.write_bytes(archive({"X": npy((1, 10**10)), "y": npy((1,)) + bytes(8)}))
    yield "a row without numbers", path, mm.read_data
    path = folder / "zeros.npz"
    zeros = npy((1, 2 * 10**7)) + bytes(16 * 10**7)
    path.write_bytes(archive({"X": zeros, "y": npy((1,)) + bytes(8)}, zipfile.ZIP_DEFLATED))
    yield "a row of packed zeros", path, mm.read_data
    path = folder / "labels.npz"
    labels = npy((2 * 10**7,)) + bytes(16 * 10**7)
    path.write_bytes(archive({"X": npy((2, 2)) + bytes(32), "y": labels}, zipfile.ZIP_DEFLATED))
    yield "packed labels", path, mm.read_data
    np.save(folder / "matrix.npy", np.ones((2, 2)))
    path = folder / "labels.npy"
    path.write_bytes(npy((10**10,)))
    yield "labels without numbers", path, lambda path: mm.open_rows(folder / "matrix.npy", labels=path)
    path = folder / "long.csv"
    path.write_text(f"1,{'x' * 50_000}\n" + "1,a\n" * 10_000)
    yield "a long label, read", path, mm.read_data
    yield "a long label, opened", path, mm.open_rows
    path = folder / "many.csv"
    path.write_text("".join(f"1,{k}\n" for k in range(7_000)) + f"1,{'x' * 30_000}\n")
    yield "many labels and a long one", path, mm.read_data


def models_of_strangers(folder):
    for case, path in chain(models(folder), other_models(folder)):
        assert sum(p.stat().st_size for p in Path(folder).iterdir()) < SMALL
        yield case, lambda path=path: read_any(path)
        for file in Path(folder).iterdir():
            file.unlink()
    changed = {"room": perceptron({"room": 10**9})}
    changed |= {f"classes, {scheme}": many_classes(scheme) for scheme in ("ovr", "ovo")}
    for case, content in changed.items():
        yield case, lambda content=content: from_dict(content)


def data_of_strangers(folder):
    for case, path, read in data(folder):
        assert path.stat().st_size < 2 * SMALL
        yield case, lambda read=read, path=path: read(path)


def refused_all(found, words):
    assert found
    wrong = {case: said for case, said in found.items() if not said.startswith("refused")}
    assert wrong == {}
    assert not any("MemoryError" in said or "llocate" in said for said in found.values())
    for case, word in words.items():
        assert word in found[case], found[case]


def test_no_model_takes_memory_out_of_proportion(tmp_path):
    found = children.run("test_declared_sizes", "models_of_strangers", tmp_path, memory=MEMORY)
    words = {
        "sparse weights": "at most 128 zeros for each number there",
        "labels": "classes.values must be a list of values of type <U999999",
        "room": "state.room must be at most 8",
        "LIBSVM, an index": "two million weights, or eight for each byte of its file",
        "LIBSVM, pairs": "rho must hold 49995000 numbers",
    }
    refused_all(found, words)
    assert len(found) == 14


def test_no_data_file_takes_memory_out_of_proportion(tmp_path):
    found = children.run("test_declared_sizes", "data_of_strangers", tmp_path, memory=MEMORY)
    words = {
        "svmlight, read": "or say how many there are (features=2147483646)",
        "svmlight, opened": "rows with 3 numbers may have 2,097,152 features",
        "csr, columns": "features",
        "coo, rows": "rows and columns in proportion to its numbers",
        "packed labels": "must hold an array of 160,000,000 bytes",
        "a long label, read": "one of them with 50,000 characters",
    }
    refused_all(found, words)
    assert len(found) == 12


def test_a_table_of_rows_without_bytes_is_refused(tmp_path):
    """Columns of one value each are packed to almost nothing."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    zeros = pa.array(np.zeros(5_000_000, dtype=np.int8))
    parquet.write_table(pa.table({"x": zeros, "y": zeros}), tmp_path / "rows.parquet")
    assert (tmp_path / "rows.parquet").stat().st_size < SMALL
    for read in (mm.read_data, mm.open_rows):
        with pytest.raises(InputError, match="must have a row for every few bits of the file"):
            read(tmp_path / "rows.parquet")


def test_what_unpacks_to_more_than_memory_should_hold_is_not_read_into_it(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.files.open.MAX_UNPACKED_BYTES", 1_000_000)
    np.savez_compressed(tmp_path / "zeros.npz", X=np.zeros((100_000, 10)), y=np.arange(100_000) % 2)
    with pytest.raises(InputError, match=r"must unpack to at most .* maxmargin\.open_rows"):
        mm.read_data(tmp_path / "zeros.npz")
    assert mm.open_rows(tmp_path / "zeros.npz").shape == (100_000, 10)


# What must go on working


def test_a_model_of_many_features_and_few_weights_loads(tmp_path):
    """Above two million weights some of the zeros are written, so that the file is in proportion."""
    d = 5_000_000
    W = np.zeros((1, d))
    W[0, [3, 10**6, d - 1]] = [1.0, -2.0, 5e-324]
    W[0, 7] = -0.0
    model, path = LinearModel(W, [0.5]), tmp_path / "model.json"
    mm.save(model, path)
    again = mm.load(path)
    assert again.coef_.tobytes() == W.tobytes()
    size = sum(p.stat().st_size for p in tmp_path.iterdir())
    assert W.nbytes / (2 * MAX_EXPANSION) < size < W.nbytes / 10


def test_a_perceptron_of_many_hashed_features_is_saved_and_goes_on(tmp_path):
    d, path = 1 << 20, tmp_path / "model.json"
    X = sparse.csr_array((np.ones(4), ([0, 0, 1, 1], [1, d - 1, 2, 9])), shape=(2, d))
    model = mm.Perceptron(average=True).fit(X, [0, 1])
    mm.save(model, path)
    again = mm.load(path)
    assert np.array_equal(again.coef_, model.coef_)
    assert sum(p.stat().st_size for p in tmp_path.iterdir()) < 3 * model.coef_.nbytes / 10
    for one in (model, again):
        one.partial_fit(X, [1, 0])
    assert np.array_equal(again.coef_, model.coef_)


def test_many_features_can_be_announced(tmp_path):
    d, (svm, npz, rows) = 3_000_000, (tmp_path / name for name in ("d.svm", "d.npz", "d.rows"))
    svm.write_text(f"1 1:1 {d}:2\n-1 2:1\n")
    X = sparse.csr_array((np.array([1.0, 2.0, 1.0]), ([0, 0, 1], [0, d - 1, 1])), shape=(2, d))
    sparse.save_npz(npz, X)
    with write_store(rows) as out:
        out.add(X)
    for path in (svm, npz, rows):
        label = {} if path.suffix == ".svm" else {"label": False}
        with pytest.raises(InputError, match=r"may have 2,097,152 features.*\(features=3000000\)"):
            mm.open_rows(path, **label)
        assert mm.open_rows(path, features=d, **label).shape == (2, d)
        with pytest.raises(InputError):
            mm.open_rows(path, features=d - 1, **label)
    assert mm.read_data(svm, features=d).X.shape == (2, d)
    assert read_store(rows, features=d).d == d


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b"], dtype="<U256"),
        np.array(["a", "b"], dtype="<U5000"),
        np.array([b"a", b"b"], dtype="|S9000"),
        np.array([*map(str, range(10, 99)), "x" * 3_000]),
        np.array(["", "a"]),
    ],
)
def test_labels_of_any_width_are_saved(labels):
    for free in (4_096, GRANTED_BYTES):
        again = decode_labels(encode_labels(labels, free=free), free=free)
        assert again.tolist() == labels.tolist()
        if labels.nbytes <= free:
            assert again.dtype == labels.dtype


def test_wide_types_of_labels_in_files_are_as_wide_as_they_need(tmp_path):
    y = np.array(["no", "yes"], dtype="<U999")[np.arange(200) % 2]
    np.savez(tmp_path / "d.npz", X=np.eye(200), y=y)
    rows = mm.open_rows(tmp_path / "d.npz")
    assert rows.labels.dtype == "<U3" and np.array_equal(rows.labels, y)


def test_each_array_of_a_part_is_for_one_entry(tmp_path):
    model = mm.Perceptron().fit(np.eye(2_000), np.arange(2_000) % 2)
    content, path = to_dict(model), tmp_path / "model.json"
    np.savez(written := io.BytesIO(), a0=np.array(content["weights"]))
    part = write_part(tmp_path, written.getvalue())
    content["weights"] = {"part": "a0"}
    path.write_bytes(seal({**content, **part}))
    assert np.array_equal(mm.load(path).coef_, model.coef_)
    content["state"]["running"] = {"part": "a0"}
    path.write_bytes(seal({**content, **part}))
    with pytest.raises(InputError, match=r"running must be in the part of the model"):
        mm.load(path)


def test_a_stream_goes_on_with_a_model_of_its_width_alone():
    model = mm.Perceptron().learn_one([1.0, 2.0], 0).learn_one([2.0, 1.0], 1)
    for bits in (None, 4):
        with pytest.raises(InputError, match="model must be fresh, or one that learned from a stream"):
            Learner(model, bits)
    named = mm.Perceptron().learn_one({"a": 1.0}, 0).learn_one({"b": 2.0}, 1)
    Learner(named)
    with pytest.raises(InputError, match="2\\^4 hashed features"):
        Learner(named, 4)


def test_proportion():
    assert in_proportion(GRANTED_BYTES, 0) and not in_proportion(GRANTED_BYTES + 1, 0)
    assert in_proportion(MAX_EXPANSION * GRANTED_BYTES, GRANTED_BYTES) and not in_proportion(
        MAX_EXPANSION * GRANTED_BYTES + 1, GRANTED_BYTES
    )
