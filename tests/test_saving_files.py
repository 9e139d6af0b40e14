"""Model files on the disk: whole or not at all, and one file, however many numbers there are."""

import errno
import itertools
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import maxmargin as mm
from maxmargin.core import atomic_write as atomic
from maxmargin.core.errors import InputError
from maxmargin.saving import LinearModel, from_dict, load, save, to_dict
from streaming import die_at
from zoo import assert_same, model

FIXTURES = Path(__file__).parent / "fixtures"
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def wide(d=110_000, share=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((30, d), density=share if share < 1 else 0.05, rng=rng, format="csr")
    y = np.repeat([0, 1], 15)
    return mm.Perceptron(average=share == 1.0, max_iter=None).fit(X, y)


def files(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("share", [1.0, 0.001])
def test_many_numbers_are_in_the_one_file(tmp_path, share):
    saved = wide(share=share)
    save(saved, tmp_path / "model.json")
    assert files(tmp_path) == ["model.json"]
    size = (tmp_path / "model.json").stat().st_size
    assert (size < 500_000) == (share < 1.0)
    assert_same(saved, load(tmp_path / "model.json"))
    assert_same(saved, from_dict(to_dict(saved)))


def test_sparse_weights_keep_minus_zero(tmp_path):
    w = np.zeros((1, 20_000))
    w[0, [0, 7, 19_999]] = -0.0, 1.5, -2.0
    save(LinearModel(w, [0.0]), tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 5_000
    assert load(tmp_path / "m").coef_.tobytes() == w.tobytes()


def of_version_1(folder):
    """A model of version 1 in two files."""
    for name in ("model-v1-wide.json", "model-v1-wide.json.71af828f46a416a2.npz"):
        (folder / name).write_bytes((FIXTURES / name).read_bytes())
    return folder / "model-v1-wide.json", folder / "model-v1-wide.json.71af828f46a416a2.npz"


def test_a_model_of_version_1_can_be_renamed_beside_its_part(tmp_path):
    path, _ = of_version_1(tmp_path)
    saved = load(path)
    path.rename(tmp_path / "other.json")
    assert load(tmp_path / "other.json").coef_.tobytes() == saved.coef_.tobytes()


def test_a_missing_or_changed_part_of_version_1_is_refused(tmp_path):
    path, part = of_version_1(tmp_path)
    data = part.read_bytes()
    for place in range(0, len(data), max(1, len(data) // 200)):
        part.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(InputError, match="checksum does not match"):
            load(path)
    part.write_bytes(data[:-1])
    with pytest.raises(InputError, match="checksum does not match"):
        load(path)
    part.unlink()
    with pytest.raises(InputError, match=r"must lie beside it.*Copy both files together"):
        load(path)


def test_a_model_that_is_saved_while_it_is_read(tmp_path):
    path = tmp_path / "model.json"
    models = [wide(60_000, seed=k) for k in range(2)]
    save(models[0], path)
    stop = threading.Event()

    def write():
        while not stop.is_set():
            for each in models:
                save(each, path)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        sums = {float(each.coef_.sum()) for each in models}
        for _ in range(20):
            assert float(load(path).coef_.sum()) in sums
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("where", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_model(tmp_path, monkeypatch, old, where):
    path = tmp_path / "model.json"
    if old:
        save(model("hard"), path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    large = wide(60_000)

    def refuse(*args):
        raise FULL

    if where == "write":
        real_open = Path.open

        class Full:
            def __init__(self, file):
                self.file = file

            def __enter__(self):
                return self

            def __exit__(self, *args):
                self.file.close()

            def write(self, content):
                self.file.write(content[:100])
                raise FULL

        monkeypatch.setattr(Path, "open", lambda p, *a, **k: Full(real_open(p, *a, **k)))
    else:
        monkeypatch.setattr(atomic.os, where, refuse)
    words = "is as it was" if old else "No file was made"
    with pytest.raises(InputError, match=rf"model.json: .*No space left on device. .*{words}"):
        save(large, path)
    monkeypatch.undo()
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    if old:
        assert_same(load(path), from_dict(to_dict(load(path))))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on file sizes is the system's")
def test_a_real_limit_of_the_system_leaves_the_old_model(tmp_path):
    path = tmp_path / "model.json"
    save(model("hard"), path)
    before = path.read_bytes()
    code = (
        "import resource, signal, sys, numpy as np\n"
        "from maxmargin.saving import LinearModel, save\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "save(LinearModel(np.ones((1, 5000)) / 3, [0.0]), sys.argv[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=False
    )
    assert "File too large. The file that was there is as it was" in done.stderr
    assert path.read_bytes() == before
    assert files(tmp_path) == ["model.json"]


def test_a_process_killed_while_it_saves_leaves_a_whole_model(tmp_path):
    path = tmp_path / "model.json"
    save(LinearModel(np.full((1, 60_000), 0.0), [0.0]), path)
    found = []
    for moment in itertools.count(1):
        child = os.fork()
        if not child:
            die_at(moment)
            save(LinearModel(np.full((1, 60_000), float(moment)), [float(moment)]), path)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        loaded = load(path)
        found.append(loaded.intercept_[0])
        assert np.all(loaded.coef_ == found[-1])
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert moment > 4  # before and after the file is on the disk, and before and after it has its name
    assert 0.0 in found and found[-1] == moment


def test_links_and_permissions_stay(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    save(model("hard"), real)
    real.chmod(0o640)
    link.symlink_to(real)
    save(model("perceptron"), link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert isinstance(load(real), mm.Perceptron)


def test_a_device_is_written_to_and_not_replaced():
    save(model("hard"), "/dev/null")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("bad", ["", "nowhere/model.json", "folder", "\0"])
def test_places_that_cannot_be_written_or_read(tmp_path, bad, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"could not be written|must be the name"):
        save(model("hard"), bad)
    with pytest.raises(InputError, match="cannot be read"):
        load(bad)
    assert files(tmp_path) == ["folder"]
