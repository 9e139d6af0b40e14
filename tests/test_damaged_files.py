"""Data files that were forged or damaged: refused, or read as something else, but never a crash.

Each is tried in a process of its own, since what these tests look for would end it.
"""

import json
import os
import shutil
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import children
import maxmargin as mm
from maxmargin import checker
from maxmargin.core.errors import InputError
from maxmargin.files.cache import read_store, write_store
from thorough import THOROUGH

SEEDS = 2_000 if THOROUGH else 150
N, D = 30, 5
RNG = np.random.default_rng(3)
Y = np.where(np.arange(N) % 3, "yes", "no")
X = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < 0.7)
X[:, 0] += np.where(Y == "yes", 3.0, -3.0)


def refused_all(found, count):
    assert len(found) == count
    assert {case: said for case, said in found.items() if not said.startswith("refused")} == {}


def no_other_error(found, count):
    """Nothing but our own error, or none; and both occur, or the damage was none."""
    assert len(found) == count
    kinds = {said.partition(":")[0] for said in found.values()}
    strange = {k: v for k, v in found.items() if not v.startswith(("refused", "went through"))}
    assert strange == {} and "refused" in kinds


# Files of rows


def write_rows(path, form):
    rows = sparse.csr_array(X) if form == "sparse" else X
    with write_store(path, {"names": list("abcde")}) as out:
        out.add(rows, Y)
    return path


def taken_apart(path):
    """What a folder of rows says of itself, and its arrays."""
    head = json.loads((path / "about.json").read_text())
    return head, {name: np.load(path / f"{name}.npy") for name in head["arrays"]}


def put_together(path, head, arrays, say=lambda head: None):
    """Write such a folder with checksums that match; ``say`` changes what it says at the end."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)
        total = int(np.frombuffer(array.tobytes(), "<u4").sum(dtype=np.uint64))
        head["arrays"][name] = {"dtype": array.dtype.str, "shape": list(array.shape), "sum": total}
    say(head)
    head.pop("sum", None)
    text = json.dumps(head, sort_keys=True)
    (path / "about.json").write_text(json.dumps({**head, "sum": zlib.crc32(text.encode())}))


def entry(name, at, value):
    def change(head, arrays):
        arrays[name][at] = value

    return change


def instead(name, make):
    def change(head, arrays):
        arrays[name] = make(arrays[name])

    return change


def says(path, value):
    def change(head):
        place = head
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


def beyond_unicode(labels):
    words = labels.view(np.uint32).copy()
    words[4] = 0x110000
    return words.view(labels.dtype)


SPARSE = {
    "a column just beyond": entry("indices", 3, D),
    "a column far beyond": entry("indices", 3, 2**31 - 1),
    "a negative column": entry("indices", -1, -1_000_000),
    "an end beyond the entries": entry("indptr", -1, 10**9),
    "ends that fall": entry("indptr", 2, 10**6),
    "a negative end": entry("indptr", 2, -(10**6)),
    "a first end that is not 0": entry("indptr", 0, 1),
    "too few ends": instead("indptr", lambda a: a[:-4]),
    "ends of 32 bits": instead("indptr", lambda a: a.astype(np.int32)),
    "columns of 64 bits": instead("indices", lambda a: a.astype(np.int64)),
    "columns that are floats": instead("indices", lambda a: a.astype(np.float32)),
    "too few columns": instead("indices", lambda a: a[:-4]),
    "numbers that are integers": instead("data", lambda a: a.astype(np.int64)),
    "numbers that are complex": instead("data", lambda a: a.astype(np.complex64)),
    "a letter beyond Unicode": instead("labels", beyond_unicode),
    "labels that are bytes": instead("labels", lambda a: a.astype("S4")),
    "labels of no letters": instead("labels", lambda a: np.zeros(N, "<U1")[:, None]),
    "too few labels": instead("labels", lambda a: a[:-4]),
    "labels that are not there": lambda head, arrays: arrays.pop("labels") is None,
    "no ends": lambda head, arrays: arrays.pop("indptr") is None or head["arrays"].pop("indptr"),
}
DENSE = {
    "fewer rows": instead("X", lambda a: a[:-2]),
    "other columns": instead("X", lambda a: np.ascontiguousarray(a.T)),
    "halves": instead("X", lambda a: a.astype(np.float16)),
    "turned bytes": instead("X", lambda a: a.astype(">f8")),
}
SAID = {
    "no features": says(["d"], 0),
    "fewer than no features": says(["d"], -5),
    "features that are text": says(["d"], "5"),
    "too few names": says(["source", "names"], ["a"]),
    "names that are numbers": says(["source", "names"], [1, 2, 3, 4, 5]),
    "columns that are numbers": says(["source", "columns"], [1]),
    "a label that is a list": says(["source", "label"], []),
    "categories that are texts": says(["source", "encoding"], {"a": "b"}),
    "rows beyond": says(["n"], 10**15),
    "no rows": says(["n"], 0),
    "labels of a type that does not exist": says(["arrays", "labels", "dtype"], "<Q8"),
    "labels that are objects": says(["arrays", "labels", "dtype"], "|O8"),
    "labels of a billion letters": says(["arrays", "labels", "dtype"], "<U999999999"),
    "labels of a hundred million letters": says(["arrays", "labels", "dtype"], "<U99999999"),
    "no types of labels": says(["arrays", "labels", "dtype"], {}),
    "no description": says(["source"], None),
    "no arrays": says(["arrays"], {}),
    "arrays that are a list": says(["arrays"], []),
    "an array that is nothing": says(["arrays", "labels"], None),
    "an array without a sum": says(["arrays", "labels"], {"dtype": "<U3", "shape": [N]}),
    "an array that is not there": says(["arrays", "weights"], {"dtype": "<f8", "shape": [N], "sum": 0}),
    "another format": says(["format"], "maxmargin rows 1"),
    "a shape of any size": says(["arrays", "labels", "shape"], [2**62, 4]),
    "a shape below zero": says(["arrays", "labels", "shape"], [-N]),
    "a shape of fractions": says(["arrays", "labels", "shape"], [30.0]),
}


def use(path):
    """Open a file and go through all of its rows, by compiled code and by SciPy's."""
    rows = mm.open_rows(path)
    model = mm.Perceptron(max_iter=3, stop=mm.stopping.MaxUpdates(50)).fit(rows)
    model.score(rows)
    rows.times(np.ones((rows.d, 1)))
    assert rows.labels is None or len(rows.labels.tolist()) == rows.n


def forged_rows(folder):
    place = Path(folder) / "forged.rows"
    for form, changes in (("sparse", SPARSE), ("dense", DENSE)):
        good = taken_apart(write_rows(place, form))
        for name, change in changes.items():
            head, arrays = json.loads(json.dumps(good[0])), {k: a.copy() for k, a in good[1].items()}
            change(head, arrays)
            put_together(place, head, arrays)
            yield f"{form}: {name}", lambda: use(place)
        for name, say in SAID.items():
            put_together(place, json.loads(json.dumps(good[0])), dict(good[1]), say)
            yield f"{form}: {name}", lambda: use(place)


def test_a_forged_file_of_rows_is_refused(tmp_path):
    found = children.run("test_damaged_files", "forged_rows", tmp_path, memory=1 << 30)
    refused_all(found, len(SPARSE) + len(DENSE) + 2 * len(SAID))
    for name in ("a column far beyond", "ends that fall", "a letter beyond Unicode"):
        assert "not a whole folder of rows" in found[f"sparse: {name}"]


def random_rows(folder):
    """Any entry of any array, or of what is said, becomes some other value."""
    place = Path(folder) / "random.rows"
    values = [0, 1, -1, 5, 30, 31, 2**15, 2**31 - 1, -(2**31), 2**40, 2**62, "<f8", "<i8", None, [], {}]
    for form in ("sparse", "dense"):
        good = taken_apart(write_rows(place, form))
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            head, arrays = json.loads(json.dumps(good[0])), {k: a.copy() for k, a in good[1].items()}
            value = values[rng.integers(len(values))]
            array = arrays[str(rng.choice(sorted(arrays)))]
            if seed % 2 and isinstance(value, int) and abs(value) < 2**31:
                array.reshape(-1)[rng.integers(array.size)] = value  # of labels a text
                put_together(place, head, arrays)
            else:
                put_together(place, head, arrays, lambda head, rng=rng, v=value: strew(head, rng, v))
            yield f"{form} {seed}", lambda: use(place)


def strew(tree, rng, value):
    """Put a value somewhere into a tree."""
    while True:
        keys = sorted(tree) if isinstance(tree, dict) else list(range(len(tree)))
        key = keys[rng.integers(len(keys))]
        if not isinstance(tree[key], (dict, list)) or not tree[key] or rng.random() < 0.2:
            tree[key] = value
            return
        tree = tree[key]


def test_any_damage_of_a_file_of_rows(tmp_path):
    found = children.run("test_damaged_files", "random_rows", tmp_path, memory=1 << 30)
    no_other_error(found, 2 * SEEDS)


# Conversions beside their source


def conversion(folder):
    (made,) = folder.glob("*.rows")
    return made


def source_file(folder):
    path = folder / "rows.svm"
    mm.write_svmlight(sparse.csr_array(X), Y, path)
    return path


def forged_conversion(folder):
    path = source_file(Path(folder))
    mm.open_rows(path)
    head, arrays = taken_apart(conversion(Path(folder)))
    arrays["indices"][3] = 2**31 - 1
    put_together(conversion(Path(folder)), head, arrays)
    yield "a conversion", lambda: use(path)


def test_a_forged_conversion_is_made_again(tmp_path):
    found = children.run("test_damaged_files", "forged_conversion", tmp_path)
    assert found == {"a conversion": "went through"}
    rows = mm.open_rows(tmp_path / "rows.svm")
    assert np.array_equal(rows.take(np.arange(N)), X)


def forge_values(folder):
    """Write other numbers, in a form that is sound, into the conversion of a source."""
    head, arrays = taken_apart(conversion(folder))
    arrays["data"][:] = 7.0
    put_together(conversion(folder), head, arrays)


def test_a_conversion_of_somebody_else_is_not_believed(tmp_path, monkeypatch):
    path = source_file(tmp_path)
    wanted = mm.open_rows(path).take(np.arange(N))
    forge_values(tmp_path)
    assert np.all(mm.open_rows(path).take(np.arange(N))[wanted != 0] == 7.0)  # it is ours
    genuine = Path.stat

    def foreign(self, **options):
        found = genuine(self, **options)
        if self.suffix != ".rows":
            return found
        fields = list(found)
        fields[4] += 1  # st_uid
        return type(found)(fields)

    monkeypatch.setattr(Path, "stat", foreign)
    rows = mm.open_rows(path)
    assert np.array_equal(rows.take(np.arange(N)), wanted)


def test_users_have_conversions_of_their_own(tmp_path, monkeypatch):
    path = source_file(tmp_path)
    mm.open_rows(path)
    mine = conversion(tmp_path)
    monkeypatch.setattr("maxmargin.files.cache._user", lambda: 12345)
    mm.open_rows(path)
    assert len(list(tmp_path.glob("*.rows"))) == 2 and mine.exists()


def test_a_source_with_the_size_and_time_of_another_is_converted_again(tmp_path):
    path, other = source_file(tmp_path), tmp_path / "other"
    before = mm.open_rows(path).take(np.arange(N))
    times = path.stat()
    changed = bytearray(path.read_bytes())
    place = changed.rindex(b".") + 1  # the first decimal of the last number
    changed[place] = ord("1") if changed[place] != ord("1") else ord("2")
    other.write_bytes(changed)
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(path)
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (times.st_size, times.st_mtime_ns)
    assert not np.array_equal(mm.open_rows(path).take(np.arange(N)), before)


# Arrow and Parquet


def arrow_table():
    import pyarrow as pa

    words = pa.array(np.where(X[:, 1] > 0, "much", "little")).dictionary_encode()
    columns = {f"x{j}": X[:, j] for j in range(D)} | {"kind": words, "text": Y, "label": Y}
    return pa.table(columns)


def write_arrow(path):
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = arrow_table()
    if path.suffix == ".parquet":
        parquet.write_table(table, path, compression="none")
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path))
    else:
        opened = pa.ipc.new_stream if path.stem == "stream" else pa.ipc.new_file
        with path.open("wb") as file, opened(file, table.schema) as out:
            out.write_table(table)
    return path.read_bytes()


ARROW = ("file.arrow", "stream.arrow", "file.feather", "file.parquet")


def damaged_arrow(folder):
    for name in ARROW:
        path = Path(folder) / name
        good = write_arrow(path)
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            content = bytearray(good)
            for _ in range(rng.integers(1, 5)):
                content[rng.integers(len(content))] = rng.choice(
                    [0, 1, 127, 128, 255, rng.integers(256)]
                )
            path.write_bytes(content)
            yield f"{name} {seed}", lambda path=path: mm.read_data(path, one_hot=True)


def test_any_damage_of_an_arrow_or_parquet_file(tmp_path):
    pytest.importorskip("pyarrow")
    found = children.run("test_damaged_files", "damaged_arrow", tmp_path)
    no_other_error(found, len(ARROW) * SEEDS)


def offsets_that_fall(folder):
    """Offsets of texts, and codes of a dictionary, that point far outside: nothing seals the file."""
    path = Path(folder) / "file.arrow"
    good = write_arrow(path)
    offsets = struct.pack("<3i", *np.cumsum([0, len(Y[0]), len(Y[1])]))
    codes = np.asarray(arrow_table()["kind"].chunk(0).indices).tobytes()
    for name, old, new in (
        ("offsets", offsets, struct.pack("<3i", 0, 2**31 - 1, 5)),
        ("codes", codes, struct.pack("<i", 2**30) + codes[4:]),
    ):
        assert old in good
        path.write_bytes(good.replace(old, new))
        yield name, lambda: mm.read_data(path, one_hot=True)


def test_offsets_and_codes_that_point_outside(tmp_path):
    pytest.importorskip("pyarrow")
    refused_all(children.run("test_damaged_files", "offsets_that_fall", tmp_path), 2)


# Matrices of NumPy and SciPy


def damaged_npz(folder):
    place = Path(folder) / "matrix.npz"
    values = np.array([0, 1, -1, D, N, N + 1, X.size, 2**31 - 1, -(2**31), 2**40, 2**62])
    for form in ("csr", "csc", "coo", "bsr"):
        matrix = sparse.coo_array(X).asformat(form)
        sparse.save_npz(place, matrix)
        with np.load(place) as archive:
            good = dict(archive)
        for seed in range(SEEDS):
            rng, arrays = np.random.default_rng(seed), {k: v.copy() for k, v in good.items()}
            name = str(rng.choice([k for k in good if k not in ("data", "format", "_is_array")]))
            wide = arrays[name].astype(np.int64)
            wide[rng.integers(len(wide))] = rng.choice(values)
            arrays[name] = wide[: rng.integers(1, len(wide) + 1)] if rng.random() < 0.1 else wide
            np.savez(place, **arrays, y=Y)
            yield f"{form} {seed}", lambda: mm.read_data(place)


def ends_that_fall(folder):
    """Row or column ends that rise far beyond the entries and fall back to none at all."""
    place = Path(folder) / "matrix.npz"
    for form in ("csr", "csc", "bsr"):
        matrix = sparse.coo_array(X).asformat(form)
        matrix.indptr[-1], matrix.indptr[1:-1] = 0, 10**6
        sparse.save_npz(place, matrix)
        yield form, lambda: mm.read_data(place, label=False)


def test_ends_that_rise_and_fall(tmp_path):
    refused_all(children.run("test_damaged_files", "ends_that_fall", tmp_path), 3)


def test_any_damage_of_a_sparse_matrix_in_a_file(tmp_path):
    found = children.run("test_damaged_files", "damaged_npz", tmp_path, memory=1 << 30)
    no_other_error(found, 4 * SEEDS)


def damaged_npy(folder):
    """Any byte of the header, of a matrix that is mapped, of one that is read, and of labels."""
    folder = Path(folder)
    np.save(folder / "matrix.npy", X)
    np.save(folder / "labels.npy", Y)
    place = folder / "damaged.npy"
    for name in ("matrix.npy", "labels.npy"):
        good = (folder / name).read_bytes()
        for seed in range(SEEDS):
            rng, content = np.random.default_rng(seed), bytearray(good)
            for _ in range(rng.integers(1, 4)):
                content[rng.integers(128)] = rng.choice(list(b"0123456789,()[]'<>|fiUOb \xff"))
            place.write_bytes(content)
            if name == "labels.npy":
                yield f"{name} {seed}", lambda: mm.open_rows(folder / "matrix.npy", labels=place)
            else:
                yield f"mapped {seed}", lambda: use_npy(place, labels=list(Y))
                yield f"read {seed}", lambda: use_npy(place)


def use_npy(path, **options):
    rows = mm.open_rows(path, **options)
    rows.times(np.ones((rows.d, 1)))


def test_any_damage_of_the_header_of_a_matrix(tmp_path):
    found = children.run("test_damaged_files", "damaged_npy", tmp_path, memory=1 << 30)
    no_other_error(found, 3 * SEEDS)


def npy(header, body=b""):
    text = f"{header}\n".encode()
    return b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text + body


def huge_matrices(folder):
    """Headers that promise more than there is, as the independent checker reads them."""
    path = Path(folder) / "matrix.npy"
    for shape in ("(0, 1000000000000)", "(-1, -8)", "(True, 3)", "(3,)", "(10**9, 2)"):
        for by_columns in (True, False):
            path.write_bytes(npy(f"{{'descr': '<f8', 'fortran_order': {by_columns}, 'shape': {shape}}}"))
            yield f"{shape} {by_columns}", lambda: list(checker.read(str(path), {"features": 2}))


def test_the_checker_reads_no_more_than_a_matrix_holds(tmp_path):
    found = children.run("test_damaged_files", "huge_matrices", tmp_path, memory=1 << 30)
    assert len(found) == 10
    assert all("must hold one matrix of numbers" in said for said in found.values())


def test_an_archive_packed_in_another_way_is_refused(tmp_path):
    """What numpy never writes: a few bytes of these may unpack to any number."""
    np.savez(tmp_path / "plain.npz", X=X, y=Y)
    for way in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        place = tmp_path / "other.npz"
        with zipfile.ZipFile(tmp_path / "plain.npz") as old, zipfile.ZipFile(place, "w", way) as new:
            for name in old.namelist():
                new.writestr(name, old.read(name))
        with pytest.raises(InputError, match=r"packed in another way.*Save it again"):
            mm.read_data(place)


def test_a_sound_file_of_rows_is_read(tmp_path):
    for form in ("sparse", "dense"):
        place = tmp_path / "sound.rows"
        put_together(place, *taken_apart(write_rows(place, form)))
        rows = read_store(place)
        assert np.array_equal(rows.take(np.arange(N)), X) and np.array_equal(rows.labels, Y)
