"""Checkpoints of fits: ended at any piece and resumed, a fit gives the same bits."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import maxmargin as mm
from maxmargin import stopping
from maxmargin.checkpoints import checkpoint, fit
from maxmargin.core.errors import InputError
from maxmargin.saving import to_dict
from maxmargin.solvers import running

X, y = load_iris(return_X_y=True)
A, b = X[50:], y[50:]
STALLS = stopping.TrainingErrorStalls(6) & stopping.MaxUpdates(40)
MODELS = {
    "cyclic": lambda: mm.Perceptron(max_iter=12),
    "shuffled, average": lambda: mm.Perceptron(
        order="shuffled", average=True, max_iter=8, random_state=3
    ),
    "random, recorded": lambda: mm.Perceptron(order="random", record=True, max_iter=4, random_state=3),
    "pairs": lambda: mm.Perceptron(multi_class="ovo", order="shuffled", max_iter=5, random_state=1),
    "rules": lambda: mm.Perceptron(stop=STALLS, random_state=0),
    "split": lambda: mm.Perceptron(stop=stopping.ValidationErrorStalls(3), random_state=0),
    "never": lambda: mm.Perceptron(stop=stopping.NeverStops(3) & stopping.MaxEpochs(6), max_iter=50),
    "batch": lambda: mm.BatchPerceptron(max_iter=10),
    "batch, fixed, recorded": lambda: mm.BatchPerceptron(0.01, max_iter=10, record=True),
    "pocket": lambda: mm.PocketPerceptron(60, order="shuffled", random_state=2),
    "pocket, recorded": lambda: mm.PocketPerceptron(30, record=True, random_state=2),
    "hard": lambda: mm.HardMarginSVC(multi_class="ovo"),
    "soft": lambda: mm.SoftMarginSVC(),
}
pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")


def state(model):
    """All of a model, without the seconds that it took."""
    for log in getattr(model, "_logs", []):
        log.history._epochs = [e._replace(seconds=0.0) for e in log.history]
    return to_dict(model)


def data(name):
    if name in ("hard", "pairs", "soft", "split", "batch", "pocket"):
        return (X, y) if name != "hard" else (X[:100], y[:100])
    return A, b


@pytest.fixture
def short_pieces(monkeypatch):
    """Cut epochs into pieces of a few rows."""

    def pieces(self, order):
        for start in range(0, len(order), 40):
            yield order[start : start + 40]

    monkeypatch.setattr(running.Running, "pieces", pieces)


class Killed(BaseException):
    pass


def kill_after(monkeypatch, writes):
    """Let so many states be written, and then end everything."""
    left, write = [writes], fit.write_sealed

    def last(*args):
        write(*args)
        left[0] -= 1
        if not left[0]:
            raise Killed

    monkeypatch.setattr(fit, "write_sealed", last)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.usefixtures("short_pieces")
def test_a_fit_ended_again_and_again_gives_the_same_bits(name, tmp_path, monkeypatch):
    new, (rows, labels) = MODELS[name], data(name)
    if new().get_params().get("random_state", 0) is None:
        new = lambda: MODELS[name]().set_params(random_state=0)  # noqa: E731
    expected = state(new().fit(rows, labels))
    for writes in (1, 2, 5):
        path = tmp_path / f"{writes}.json"
        ended = 0
        while True:
            model = new()
            with monkeypatch.context() as patch:
                kill_after(patch, writes)
                try:
                    checkpoint(model, path, every=0.0).fit(rows, labels)
                    break
                except Killed:
                    ended += 1
            assert ended < 1000
        model = checkpoint(new(), path, every=0.0).fit(rows, labels)  # from the file, as it is
        assert state(model) == expected
        assert ended > 0 or name in ("hard", "soft")  # these write at their end only


@pytest.mark.usefixtures("short_pieces")
def test_a_resumed_fit_does_not_begin_anew(tmp_path, monkeypatch):
    model, path = MODELS["cyclic"](), tmp_path / "fit.json"
    with monkeypatch.context() as patch:
        kill_after(patch, 20)
        with pytest.raises(Killed):
            checkpoint(model, path, every=0.0).fit(A, b)
    visits = []
    sweep = running.sweep
    monkeypatch.setattr(running, "sweep", lambda *args: visits.append(sweep(*args)))
    checkpoint(model, path, every=0.0).fit(A, b)
    pieces = 3 * model.n_iter_
    assert len(visits) == pieces - 20


FITTING = """
import sys, warnings
import numpy as np
import maxmargin as mm
from maxmargin.checkpoints import checkpoint
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.standard_normal((60_000, 30)), rng.integers(0, 2, 60_000)
model = mm.Perceptron(order="shuffled", average=True, max_iter=25, random_state=0)
print("ready", flush=True)
checkpoint(model, sys.argv[1], every=0.0).fit(X, y)
print(model.coef_.tobytes().hex(), model.n_mistakes_, flush=True)
"""


def test_a_fit_killed_by_the_system_gives_the_same_bits(tmp_path):
    chance, command = np.random.default_rng(0), [sys.executable, "-c", FITTING]

    def run(path, patience):
        with subprocess.Popen([*command, str(path)], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout.readline() == "ready\n"
            if patience is not None:
                time.sleep(patience)
                child.send_signal(signal.SIGKILL)
            return child.communicate(timeout=200)[0]

    expected = run(tmp_path / "whole.json", None)
    path = tmp_path / "killed.json"
    for _ in range(3):
        run(path, float(chance.uniform(0.1, 0.8)))
    assert run(path, None) == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == ["killed.json", "whole.json"]


def test_another_fit_is_not_resumed(tmp_path):
    path = tmp_path / "fit.json"
    checkpoint(MODELS["cyclic"](), path).fit(A, b)
    for model, rows, labels in (
        (mm.Perceptron(max_iter=13), A, b),
        (mm.Perceptron(max_iter=12), A + 1.0, b),
        (mm.Perceptron(max_iter=12), A, b[::-1]),
        (mm.SoftMarginSVC(), A, b),
    ):
        with pytest.raises(InputError, match=r"fit\.json: the checkpoint must be of this model"):
            checkpoint(model, path).fit(rows, labels)


def test_a_seed_is_drawn_once(tmp_path, monkeypatch):
    path = tmp_path / "fit.json"
    with monkeypatch.context() as patch:
        kill_after(patch, 2)
        with pytest.raises(Killed):
            checkpoint(mm.Perceptron(order="shuffled", max_iter=9), path, every=0.0).fit(A, b)
    copy = path.read_bytes()
    found = []
    for _ in range(2):
        path.write_bytes(copy)
        model = checkpoint(mm.Perceptron(order="shuffled", max_iter=9), path, every=0.0).fit(A, b)
        assert model.random_state is None
        found.append(model.coef_.tolist())
    assert found[0] == found[1]


def test_a_full_disk_does_not_end_a_fit(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "fit.json"
    with monkeypatch.context() as patch:
        kill_after(patch, 2)
        with pytest.raises(Killed):
            checkpoint(MODELS["cyclic"](), path, every=0.0).fit(A, b)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with (
            pytest.warns(UserWarning, match=r"No space left.*as it was.*The fit goes on"),
            pytest.raises(InputError, match="No space left"),
        ):
            checkpoint(MODELS["cyclic"](), path, every=0.0).fit(A, b)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["fit.json"]


def test_what_cannot_be_kept_is_refused(tmp_path):
    path = Path(tmp_path / "fit.json")
    with pytest.raises(InputError, match="model must be an estimator of maxmargin"):
        checkpoint(object(), path)
    with pytest.raises(InputError, match="every must be"):
        checkpoint(mm.Perceptron(), path, every=-1)
    with pytest.raises(InputError, match="random_state must be None or an integer"):
        checkpoint(mm.Perceptron(random_state=np.random.RandomState(0)), path).fit(A, b)
