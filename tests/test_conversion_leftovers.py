"""What a killed conversion leaves beside the data is swept away at the next opening; nothing else is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import maxmargin as mm
from maxmargin.core import atomic_write
from maxmargin.core.atomic_write import sweep, temporary_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are those of POSIX")

WRITING = """
import sys, time
from pathlib import Path
import numpy as np
from maxmargin.files.cache import write_store

with write_store(Path(sys.argv[1])) as out:
    out.add(np.ones((5, 2)))
    print("writing", flush=True)
    time.sleep(600)
"""


@contextmanager
def writing(target: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of a conversion."""
    command = [sys.executable, "-c", WRITING, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "writing\n"
            yield process
        finally:
            process.kill()


def test_leftovers_of_the_dead_go_and_those_of_the_living_stay(tmp_path: Path) -> None:
    source = tmp_path / "data.csv"
    source.write_text("1,2,a\n3,4,b\n")
    with writing(tmp_path / "data.csv.0123456789ab.rows") as process:
        (folder,) = tmp_path.glob(".data.csv.*")
        assert mm.open_rows(source).n == 2
        assert list(folder.rglob("X.npy"))
        process.kill()  # -9: nothing is tidied up
        process.wait()
        assert list(folder.rglob("X.npy"))
        assert mm.open_rows(source).n == 2
    assert not folder.exists()
    assert len(list(tmp_path.iterdir())) == 2  # the source, and what it was converted to


def test_other_folders_and_other_machines_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / ".data.notes"
    own.mkdir()
    monkeypatch.setattr(atomic_write, "_runs", lambda process: False)
    with temporary_folder(tmp_path / "data.rows") as here:
        sweep(tmp_path, "data.")
        assert own.exists()
        assert not here.exists()  # a process that does not run made it
        monkeypatch.setattr(atomic_write.platform, "node", lambda: "elsewhere")
        with temporary_folder(tmp_path / "data.rows") as there:
            monkeypatch.setattr(atomic_write.platform, "node", lambda: "here")
            sweep(tmp_path, "data.")
            assert there.exists()
    assert list(tmp_path.iterdir()) == [own]


def test_names_of_any_script_leave_room_for_what_is_made_from_them(tmp_path: Path) -> None:
    source = tmp_path / ("ü" * 120 + ".csv")
    source.write_text("1,2,a\n3,4,b\n")
    assert mm.open_rows(source).n == 2
