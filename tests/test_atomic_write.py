"""Whatever writes a file replaces it whole: links and permissions stay; if it fails, the old file."""

import errno
import os
import stat
from functools import cache
from pathlib import Path

import pytest

import maxmargin as mm
from maxmargin.core import atomic_write as atomic
from maxmargin.plots import animate, write_report

X, y = [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [3.0, 2.0]], [-1, -1, 1, 1]
FILM = {"dpi": 20, "seconds_slow": 0.02, "slow": 1, "fast": 0, "frames": 1}


@cache
def run():
    return mm.Perceptron(record=True).fit(X, y)


WRITERS = {
    "proof.json": lambda path: mm.separability(X, y).proof.save(path),
    "rows.svm": lambda path: mm.write_svmlight(X, y, path),
    "rows.svm.gz": lambda path: mm.write_svmlight(X, y, path),
    "model.json": lambda path: mm.save(run(), path),
    "trace.json": lambda path: run().trace_.to_json(path),
    "report.html": lambda path: write_report(path, run(), X, y),
    "film.html": lambda path: animate(run().trace_, X, y, path, **FILM),
    "film.gif": lambda path: animate(run().trace_, X, y, path, **FILM),
}


@pytest.fixture(params=WRITERS)
def name(request):
    return request.param


def test_links_and_permissions_stay(name, tmp_path):
    real, link = tmp_path / "real", tmp_path / name
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    WRITERS[name](link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.stat().st_size > 10
    assert sorted(os.listdir(tmp_path)) == sorted([name, "real"])


def test_a_full_disk_leaves_the_old_file(name, tmp_path, monkeypatch):
    path = tmp_path / name
    path.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(mm.InputError, match=rf"{name}.*No space left on device"):
        WRITERS[name](path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="there are no devices")
@pytest.mark.parametrize("name", [name for name in WRITERS if "film" not in name])
def test_a_device_is_written_to_and_not_replaced(name):
    WRITERS[name]("/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_name_as_long_as_the_system_allows(name, tmp_path):
    path = tmp_path / name.rjust(250, "a")
    WRITERS[name](path)
    assert os.listdir(tmp_path) == [path.name]
