"""Checkpoints of fits: ended after any epoch and resumed, a perceptron has the same bits.

A margin machine begins where its last pass led, and ends at the same certified optimum.
"""

import errno
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

import maxmargin as mm
from maxmargin import stopping
from maxmargin.core.errors import InputError
from maxmargin.saving import checkpoint as fit
from maxmargin.saving import to_dict
from maxmargin.saving.checkpoint import checkpoint
from maxmargin.saving.sealed import read_sealed, write_sealed
from maxmargin.solvers.margin import hard_margin, questions, soft_margin
from maxmargin.solvers.perceptron import online
from thorough import THOROUGH

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
}
N = np.random.default_rng(1).standard_normal((900, 4))
WIDE = np.random.default_rng(2).standard_normal((300, 220))
MARGINS = {
    "hard": lambda: (mm.HardMarginSVC(), N[abs(N.sum(1)) > 0.05], (N.sum(1) > 0)[abs(N.sum(1)) > 0.05]),
    "hard, wide": lambda: (mm.HardMarginSVC(), WIDE, WIDE[:, 0] > 0),
    "soft, by a sample": lambda: (mm.SoftMarginSVC(C=3.0), N, N[:, 0] + 0.5 * N[:, 1] ** 3 > 0),
    "soft, together": lambda: (mm.SoftMarginSVC(), N, np.argmax(N[:, :3] + 0.4 * N[:, 1:] ** 2, axis=1)),
    "soft, pairs": lambda: (mm.SoftMarginSVC(multi_class="ovo"), X, y),
    "soft, wide": lambda: (mm.SoftMarginSVC(C=0.05), WIDE, WIDE[:, 0] + WIDE[:, 1] ** 2 > 1),
    "soft, in n coordinates": lambda: (mm.SoftMarginSVC(C=0.05), WIDE[:60], WIDE[:60, 0] > 0),
    "hard, fewer rows than features": lambda: (mm.HardMarginSVC(), WIDE[:60], WIDE[:60, 0] > 0),
    "chosen C": lambda: (mm.SoftMarginSVCCV(Cs=[0.1, 10.0], cv=2), X, y),
}
pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.BudgetWarning")


def state(model):
    """All of a model, without the seconds that it took."""
    for log in getattr(model, "_logs", []):
        log.history._epochs = [e._replace(seconds=0.0) for e in log.history]
    return to_dict(model)


def data(name):
    return (X, y) if name in ("pairs", "split", "batch", "pocket") else (A, b)


@pytest.fixture(autouse=True)
def short_calls(monkeypatch):
    """Compiled calls of two epochs, between which perceptrons can be killed on little data."""
    monkeypatch.setattr(online, "MAX_EPOCHS_AT_ONCE", 2)


@pytest.fixture
def no_plug(monkeypatch):
    """Nobody pulls the plug: files need not reach the disk."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


@pytest.fixture
def many_passes(monkeypatch):
    """Let margin machines take several passes on little data, and count them."""
    made = []
    for module in (questions, soft_margin):
        measure = module.measure

        def counted(frames, planes, measure=measure):
            made.extend(planes)
            return measure(frames, planes)

        monkeypatch.setattr(module, "measure", counted)
    few = replace(hard_margin.SETTINGS, min_pool_rows=30, max_pool_rows=30)
    monkeypatch.setattr(hard_margin, "SETTINGS", few)
    few = replace(soft_margin.SETTINGS, min_working_rows=60, max_entries_at_once=0)
    monkeypatch.setattr(soft_margin, "SETTINGS", few)
    monkeypatch.setattr(os, "fsync", lambda file: None)
    return made


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
@pytest.mark.usefixtures("no_plug")
def test_a_fit_ended_again_and_again_gives_the_same_bits(name, tmp_path, monkeypatch):
    new, (rows, labels) = MODELS[name], data(name)
    if new().get_params().get("random_state", 0) is None:
        new = lambda: MODELS[name]().set_params(random_state=0)  # noqa: E731
    fitted = new().fit(rows, labels)
    getattr(fitted, "error_lower_bound_", None)  # a finished checkpoint holds the bound of a pocket
    expected = state(fitted)
    for writes in (1, 2, 5) if THOROUGH else (1, 5):
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
        assert ended > 0


def assert_same_optimum(model, expected):
    """Two planes are as near to each other as their gaps say, in what is strictly convex: w."""
    assert model.machines_.keys() == expected.machines_.keys()
    for label, machine in model.machines_.items():
        other = expected.machines_[label]
        proofs = machine.certificate_, other.certificate_
        assert max(proof.relative_gap for proof in proofs) <= model.tol
        assert proofs[0].primal == pytest.approx(proofs[1].primal, rel=2 * model.tol)
        far = sum(math.sqrt(2 * max(proof.gap, 0.0)) for proof in proofs)
        assert np.linalg.norm(machine.coef_ - other.coef_) <= far + 1e-9 * np.linalg.norm(other.coef_)


@pytest.mark.parametrize("name", MARGINS)
def test_a_margin_machine_goes_on_from_every_pass(name, many_passes, tmp_path, monkeypatch):
    model, rows, labels = MARGINS[name]()
    expected = clone(model).fit(rows, labels)
    path, write, found = tmp_path / "fit.json", fit.write_sealed, []
    with monkeypatch.context() as patch:
        patch.setattr(fit, "write_sealed", lambda *a: (write(*a), found.append(path.read_bytes())))
        checkpoint(clone(model), path, every=0.0).fit(rows, labels)
    whole, left = len(many_passes), []
    some = found if THOROUGH else found[-1 :: -1 - len(found) // 8][::-1]  # the last among them
    for content in some:  # as if it was killed then
        path.write_bytes(content)
        many_passes.clear()
        resumed = checkpoint(clone(model), path, every=1000.0).fit(rows, labels)
        assert_same_optimum(resumed, expected)
        if name == "chosen C":
            assert resumed.C_ == expected.C_
        left.append(len(many_passes))
    assert len(left) > 1
    assert left[-1] == 0 < whole  # a fit that came to its end is not repeated


@pytest.mark.parametrize("name", ["hard", "soft, by a sample"])
def test_a_margin_machine_does_not_begin_anew(name, many_passes, tmp_path, monkeypatch):
    """From the last pass before the end little is left to do, and the passes before it count."""
    model, rows, labels = MARGINS[name]()
    path, write, found = tmp_path / "fit.json", fit.write_sealed, []
    with monkeypatch.context() as patch:
        patch.setattr(fit, "write_sealed", lambda *a: (write(*a), found.append(path.read_bytes())))
        checkpoint(model, path, every=0.0).fit(rows, labels)
    whole, last = len(many_passes), [content for content in found if b'"model"' not in content][-1]
    path.write_bytes(last)
    many_passes.clear()
    resumed = checkpoint(clone(model), path, every=1000.0).fit(rows, labels)
    assert 0 < len(many_passes) < whole
    assert resumed.n_passes_ > len(many_passes) + 2


def test_folds_side_by_side_are_not_kept(many_passes, tmp_path, monkeypatch):
    model = mm.SoftMarginSVCCV(Cs=[0.1, 10.0], cv=2, n_jobs=2)
    expected = clone(model).fit(X, y)
    with monkeypatch.context() as patch:
        kill_after(patch, 2)
        with pytest.raises(Killed):
            checkpoint(model, tmp_path / "fit.json", every=0.0).fit(X, y)
    assert_same_optimum(checkpoint(model, tmp_path / "fit.json", every=0.0).fit(X, y), expected)


def test_the_time_of_all_processes_counts(many_passes, tmp_path, monkeypatch):
    _, rows, labels = MARGINS["soft, by a sample"]()
    model, path = mm.SoftMarginSVC(C=3.0, tol=1e-12, max_seconds=1000.0), tmp_path / "fit.json"
    with monkeypatch.context() as patch:
        kill_after(patch, 1)
        with pytest.raises(Killed):
            checkpoint(model, path, every=0.0).fit(rows, labels)
    content = read_sealed(path, fit.FORMAT, fit.VERSION)
    (now,) = content["states"]
    assert 900 < now["left"] < 1000
    write_sealed(path, fit.FORMAT, fit.VERSION, {**content, "states": [{**now, "left": -1.0}]})
    many_passes.clear()
    with pytest.warns(mm.BudgetWarning):
        checkpoint(model, path, every=0.0).fit(rows, labels)
    assert len(many_passes) <= 2


@pytest.mark.usefixtures("no_plug")
def test_a_resumed_fit_does_not_begin_anew(tmp_path, monkeypatch):
    model, path = MODELS["cyclic"](), tmp_path / "fit.json"
    monkeypatch.setattr(online, "MAX_EPOCHS_AT_ONCE", 1)
    with monkeypatch.context() as patch:
        kill_after(patch, 5)
        with pytest.raises(Killed):
            checkpoint(model, path, every=0.0).fit(A, b)
    visits = []
    sweep = online.sweep
    monkeypatch.setattr(online, "sweep", lambda *args: visits.append(sweep(*args)))
    checkpoint(model, path, every=0.0).fit(A, b)
    assert len(visits) == model.n_iter_ - 5


FITTING = """
import os, sys, warnings
import numpy as np
import maxmargin as mm
from maxmargin.saving.checkpoint import checkpoint
sys.path.append(sys.argv[1])
from streaming import die_at
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.standard_normal((60_000, 30)), rng.integers(0, 2, 60_000)
MODELS = {
    "perceptron": mm.Perceptron(order="shuffled", average=True, max_iter=25, random_state=0),
    "soft": mm.SoftMarginSVC(),
}
for line in sys.stdin:  # a process for each fit, without the imports
    kind, path, moment = line.split()
    child = os.fork()
    if not child:
        die_at(int(moment))
        model = checkpoint(MODELS[kind], path, every=0.0).fit(X, y)
        print(model.coef_.tobytes().hex(), model.n_iter_, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


@pytest.fixture(scope="module")
def fitting():
    """Fit in a process of its own, which is killed at some moment; return what it printed."""
    command = [sys.executable, "-c", FITTING, str(Path(__file__).parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:

        def run(kind, path, moment=0):
            parent.stdin.write(f"{kind} {path} {moment}\n")
            parent.stdin.flush()
            return list(iter(parent.stdout.readline, "ended\n"))

        yield run
        parent.stdin.close()


def killed_and_resumed(kind, fitting, tmp_path):
    """What a fit printed that was never killed, and one that was, three times."""
    expected = fitting(kind, tmp_path / "whole.json")
    path = tmp_path / "killed.json"
    for moment in (9, 4, 15):  # in its second checkpoint, in its first, in its third
        assert fitting(kind, path, moment) == []
    found = fitting(kind, path)
    assert len(found) == len(expected) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["killed.json", "whole.json"]
    return expected[0], found[0]


def test_a_perceptron_killed_by_the_system_has_the_same_bits(fitting, tmp_path):
    expected, found = killed_and_resumed("perceptron", fitting, tmp_path)
    assert found == expected


def test_a_margin_machine_killed_by_the_system_has_the_same_optimum(fitting, tmp_path):
    planes = [
        np.frombuffer(bytes.fromhex(line.split()[0]))
        for line in killed_and_resumed("soft", fitting, tmp_path)
    ]
    np.testing.assert_allclose(*planes, rtol=0, atol=1e-2)


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


TALL = np.random.default_rng(3).normal(size=(1_000, 4))


def saved_rows(folder, rows):
    """Rows of a file, with labels."""
    path = folder / f"{rows[500, 0]}.csv"
    np.savetxt(path, np.column_stack([rows, TALL[:, 0] > 0]), delimiter=",")
    return mm.open_rows(path)


FORMS = {
    "dense": lambda rows, folder: (rows, TALL[:, 0] > 0),
    "sparse": lambda rows, folder: (sparse.csr_array(rows), TALL[:, 0] > 0),
    "a data frame": lambda rows, folder: (pd.DataFrame(rows), TALL[:, 0] > 0),
    "single precision": lambda rows, folder: (rows.astype(np.float32), TALL[:, 0] > 0),
    "a file": lambda rows, folder: (saved_rows(folder, rows), None),
}


@pytest.mark.parametrize("form", FORMS)
def test_data_that_differs_in_one_number_is_another_fit(form, tmp_path):
    path, other = tmp_path / "fit.json", TALL.copy()
    other[500, 0] += 0.25  # a row in the middle, which few would look at
    checkpoint(mm.SoftMarginSVC(), path).fit(*FORMS[form](TALL, tmp_path))
    checkpoint(mm.SoftMarginSVC(), path).fit(*FORMS[form](TALL.copy(), tmp_path))
    with pytest.raises(InputError, match="the checkpoint must be of this model with these parameters"):
        checkpoint(mm.SoftMarginSVC(), path).fit(*FORMS[form](other, tmp_path))


def test_the_digest_does_not_depend_on_how_rows_are_cut(tmp_path, monkeypatch):
    rows = saved_rows(tmp_path, TALL)
    thin = sparse.csr_array(np.where(TALL > 1, TALL, 0.0))
    whole = [fit._digest(rows), fit._digest(thin)]
    monkeypatch.setattr(type(rows), "block_length", lambda self, entries: 77)
    monkeypatch.setattr("maxmargin.rows.sparse.CsrRows.block_length", lambda self, entries: 77)
    assert [fit._digest(rows), fit._digest(thin)] == whole


def test_labels_weights_names_and_validation_rows_belong_to_the_data(tmp_path):
    path, labels = tmp_path / "fit.json", TALL[:, 0] > 0
    frame = pd.DataFrame(TALL, columns=list("abcd"))
    weight = np.ones(1_000)
    checkpoint(mm.SoftMarginSVC(), path).fit(frame, labels, sample_weight=weight)
    flipped, heavier = labels.copy(), weight.copy()
    flipped[501], heavier[501] = not labels[501], 2.0
    for other in (
        (frame, flipped, weight),
        (frame, labels, heavier),
        (frame.rename(columns={"a": "z"}), labels, weight),
    ):
        with pytest.raises(InputError, match="the checkpoint must be of this model"):
            checkpoint(mm.SoftMarginSVC(), path).fit(*other[:2], sample_weight=other[2])
    path, held = tmp_path / "held.json", sparse.csr_array(TALL)
    model = mm.Perceptron(stop=stopping.ValidationErrorStalls(2), max_iter=3)
    checkpoint(model, path).fit(TALL, labels, X_val=held, y_val=labels)
    held.data[2_000] += 0.25
    with pytest.raises(InputError, match="the checkpoint must be of this model"):
        checkpoint(model, path).fit(TALL, labels, X_val=held, y_val=labels)


def test_a_checkpoint_of_an_older_version_is_refused(tmp_path):
    path = tmp_path / "fit.json"
    write_sealed(path, fit.FORMAT, 6, {"task": {}})
    with pytest.raises(InputError, match=r"version 7\. Got 6 instead\. Remove the file to begin anew"):
        checkpoint(mm.SoftMarginSVC(), path).fit(A, b)


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
