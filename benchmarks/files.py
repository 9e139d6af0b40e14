"""Rows of files against the same rows in memory, and readers against scikit-learn's."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

import maxmargin as mm
from benchmarks.data import noisy, separable
from benchmarks.timing import Row, at_least, at_most, best_of
from maxmargin.files import read_data
from maxmargin.files.cache import read_store, write_store
from maxmargin.rows import as_rows
from maxmargin.rows.on_disk import FileRows

BLOCK = 50_000
GIB = 1 << 30
LARGE = 8 * GIB  # bytes of the data that does not fit
LIMIT = 2 * GIB  # bytes of address space that the process may use
MODELS = {"hard margin": mm.HardMarginSVC(), "soft margin": mm.SoftMarginSVC(C=0.01)}


def stored(path: Path, X: np.ndarray, y: np.ndarray) -> FileRows:
    """The same rows in a file."""
    with write_store(path) as out:
        for start in range(0, len(X), BLOCK):
            out.add(X[start : start + BLOCK], y[start : start + BLOCK])
    return read_store(path)


def rows() -> Iterator[Row]:
    """A pass, both machines, a reader, and data four times larger than memory."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _passes(Path(folder) / "rows")
        yield from _svmlight(Path(folder) / "rows.svm")
    yield from _larger_than_memory()


def _passes(path: Path) -> Iterator[Row]:
    X, y = noisy(1_000_000, 50)
    far, near = stored(path, X, y), as_rows(X)
    w = np.ones((50, 1))
    times = best_of({"file": partial(far.times, w), "memory": partial(near.times, w)}, rounds=10)
    yield at_most("a pass over 1,000,000×50 in a file", times["file"], "in memory", times["memory"], 1.3)
    soft = mm.SoftMarginSVC(C=0.01)
    times = best_of({"file": partial(soft.fit, far), "memory": partial(soft.fit, X, y)}, rounds=3)
    yield at_most("soft margin, the same file", times["file"], "in memory", times["memory"], 2.0)
    X, y = separable(1_000_000, 50, 0.05)
    far, hard = stored(path, X, y), mm.HardMarginSVC()
    times = best_of({"file": partial(hard.fit, far), "memory": partial(hard.fit, X, y)}, rounds=3)
    yield at_most(
        "hard margin, 1,000,000×50 in a file", times["file"], "in memory", times["memory"], 2.0
    )


def _svmlight(path: Path) -> Iterator[Row]:
    """50,000 rows of 75 features with all their digits."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.permuted(np.tile(np.arange(500), (50_000, 1)), axis=1)[:, :75], axis=1)
    X = sparse.csr_array(
        (rng.standard_normal(columns.size), columns.ravel(), np.arange(0, columns.size + 1, 75)),
        shape=(50_000, 500),
    )
    mm.write_svmlight(X, rng.integers(0, 2, 50_000), path)
    contestants = {"ours": partial(read_data, path), "sklearn": partial(load_svmlight_file, str(path))}
    times = best_of(contestants, rounds=3)
    size = f"{path.stat().st_size / 2**20:.0f} MiB"
    yield at_least(f"svmlight text of {size}", times["ours"], "scikit-learn", times["sklearn"], 5.0)


def _larger_than_memory() -> Iterator[Row]:
    """Both machines on a dense file four times larger than the address space, if the disk has room."""
    with tempfile.TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < 3 * LARGE:
            return
        path, d = Path(folder) / "large", 200
        rng = np.random.default_rng(0)
        w = rng.standard_normal(d) / np.sqrt(d)
        with write_store(path) as out:
            for _ in range(LARGE // (8 * d * BLOCK) + 1):
                X = rng.standard_normal((BLOCK, d))
                f = X @ w
                out.add(X + np.outer(np.sign(f), w), (f > 0).astype(np.int64))
        size, limit = f"{(path / 'X.npy').stat().st_size / GIB:.1f}", f"{LIMIT / GIB:g}"
        for model in MODELS:
            began = time.perf_counter()
            command = [sys.executable, "-m", "benchmarks.files", str(path), model, str(LIMIT)]
            done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
            seconds = time.perf_counter() - began
            work = f"{model}, {size} GiB in {limit} GiB of addresses: {seconds:.0f} s, {done.stdout}"
            yield Row(work + "exit code", 0.0, "", 0.0, done.returncode, "= 0", done.returncode == 0)


def limited(path: str, model: str, limit: str) -> int:
    """Fit within the limit, and print how much memory was used; the certificate must hold."""
    resource.setrlimit(resource.RLIMIT_AS, (int(limit),) * 2)
    fitted = MODELS[model].fit(read_store(Path(path)))
    addresses = int(Path("/proc/self/status").read_text().split("VmPeak:")[1].split()[0])
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # pages of the file among them
    print(f"{addresses * 1024 / GIB:.2f} GiB used, {resident * 1024 / GIB:.2f} at hand, ", end="")
    return int(fitted.certificate_.relative_gap > fitted.tol)


if __name__ == "__main__":
    sys.exit(limited(*sys.argv[1:]))
