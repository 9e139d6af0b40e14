"""Margin machines on Dask collections: the same bits on 1, 2 and 3 workers, and what may go wrong.

Clusters are processes of this machine that listen on the loopback interface.
"""

import functools
import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import maxmargin as mm
from maxmargin.saving.checkpoint import checkpoint
from partitions import cluster
from serving import until

N, D, CHUNK = 12_000, 5, 2_500


def rows_of(first, count, d=D):
    """Rows that any worker can make again."""
    return np.random.default_rng(first).normal(size=(count, d))


def labels_of(X):
    """A noisy label for each row; the noise follows from the row."""
    return np.where(X.sum(axis=1) + 2.0 * np.sin(1e4 * X[:, 0]) > 0, "yes", "no")


def collection(make=rows_of, n=N, chunk=CHUNK):
    """Rows and labels that are made where they are used."""
    sizes = [min(chunk, n - start) for start in range(0, n, chunk)]
    parts = [
        da.from_delayed(dask.delayed(make)(k * chunk, size), (size, D), float)
        for k, size in enumerate(sizes)
    ]
    X = da.concatenate(parts)
    return X, X.map_blocks(labels_of, dtype="<U3", drop_axis=1, meta=np.empty(0, "<U3"))


def separated(X):
    """The same rows, moved away from a plane."""
    return X + 0.2 * np.sign(X.sum(axis=1, keepdims=True))


def side(X):
    return np.sign(X.sum(axis=1))


def marked(path, first, count):
    """The same rows, with a mark in a file for each time they are made."""
    with path.open("a") as marks:
        marks.write("x")
    return rows_of(first, count)


def wait_for_marks(path, number):
    assert until(lambda: path.exists() and path.stat().st_size >= number)


def fits(make=rows_of):
    """The bits of two machines, and what they cost."""
    X, y = collection(make, n=4_500, chunk=250)  # 18: sums in a tree, and on one worker two in a task
    soft = mm.SoftMarginSVC(0.5).fit(X, y)
    far = X.map_blocks(separated, dtype=float)
    hard = mm.HardMarginSVC().fit(far, far.map_blocks(side, dtype=float, drop_axis=1))
    bits = [model.coef_.tobytes() + model.intercept_.tobytes() for model in (soft, hard)]
    return bits, [(model.n_passes_, model.certificate_) for model in (soft, hard)], soft.bytes_moved_


def test_same_bits_on_1_2_and_3_workers_and_after_workers_were_killed(tmp_path):
    found = {"threads of this process": fits()}
    with cluster(1) as (local, client):
        for workers in (1, 2, 3):
            local.scale(workers)
            client.wait_for_workers(workers)
            found[f"{workers} workers"] = fits()

        def kill():
            for number, made in ((0, 4), (1, 12)):
                wait_for_marks(tmp_path / "marks", made)
                os.kill(local.workers[number].pid, signal.SIGKILL)

        X, y = (one.persist() for one in collection(n=4_500, chunk=250))
        kept = mm.SoftMarginSVC(0.5).fit(X, y)  # results that the cluster has already
        assert kept.coef_.tobytes() + kept.intercept_.tobytes() == found["3 workers"][0][0]
        killer = threading.Thread(target=kill)
        killer.start()
        found["two killed"] = fits(functools.partial(marked, tmp_path / "marks"))
        killer.join()
    assert all(one[:2] == found["1 workers"][:2] for one in found.values())
    assert found["1 workers"] == found["2 workers"] == found["3 workers"] == found["two killed"]
    (soft, hard) = found["1 workers"][1]
    assert soft[0] <= 35 and soft[1].relative_gap <= 1e-6
    assert hard[0] <= 12 and hard[1].relative_gap <= 1e-9


def test_collections_of_every_kind_give_the_local_answer():
    X, y = collection()
    here, labels = X.compute(), y.compute()
    local = mm.SoftMarginSVC(0.5).fit(here, labels)
    frame = pd.DataFrame(here, columns=list("abcde")).assign(label=labels)
    frames = dd.from_pandas(frame, npartitions=4)
    frames = frames[frames["a"] > -100]  # lengths are not known any more
    kinds = {
        "dense": (X, y),
        "rechunked": (X.rechunk((3_000, 2)), y),
        "sparse": (X.map_blocks(sparse.csr_array), y),
        "frame": (frames[list("abcde")], frames["label"]),
        "unknown": (frames[list("abcde")].to_dask_array(), frames["label"]),
    }
    for kind, (rows, given) in kinds.items():
        model = mm.SoftMarginSVC(0.5).fit(rows, given)
        there = frame[list("abcde")] if kind == "frame" else here
        assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=2e-6), kind
        assert np.array_equal(model.predict(rows).compute(), model.predict(there)), kind
        f = model.decision_function(rows)
        assert isinstance(f, da.Array), kind
        assert f.compute() == pytest.approx(model.decision_function(there), rel=1e-12, abs=1e-12), kind
        assert model.score(rows, given) == model.score(there, labels), kind
    names = mm.SoftMarginSVC(0.5).fit(*kinds["frame"]).feature_names_in_
    assert list(names) == list("abcde")


def test_several_classes_are_predicted_block_by_block():
    X, _ = collection()
    y = X.map_blocks(lambda B: np.argmax(B[:, :3], axis=1), dtype=int, drop_axis=1)
    model = mm.SoftMarginSVC(1.0).fit(X, y)
    here = X.compute()
    assert model.decision_function(X).shape == (N, 3)
    assert np.array_equal(model.predict(X).compute(), model.predict(here))
    assert model.score(X, y) == np.mean(model.predict(here) == y.compute()) > 0.9


def test_what_dask_collections_cannot_do_is_said(tmp_path):
    X, y = collection(n=5_000)
    elsewhere = [
        lambda: mm.Perceptron().partial_fit(X, y, classes=["no", "yes"]),
        lambda: mm.HardMarginSVC().prove(X, y),
        lambda: mm.SoftMarginSVC().path(X, y, Cs=[1.0]),
        lambda: mm.SoftMarginSVCCV().fit(X, y),
        lambda: mm.error_bounds(X, y),
        lambda: mm.mistake_bound(X, y),
        lambda: checkpoint(mm.Perceptron(), tmp_path / "run").fit(X, y),
    ]
    for call in elsewhere:
        with pytest.raises(mm.InputError, match="Dask collections can be given to fit"):
            call()
    assert not (tmp_path / "run").exists()
    with pytest.raises(mm.InputError, match="need y"):
        mm.SoftMarginSVC().fit(X)
    with pytest.raises(mm.InputError, match="Got ndarray instead"):
        mm.SoftMarginSVC().fit(X, y.compute())
    with pytest.raises(mm.InputError, match="Got 4999 instead"):
        mm.SoftMarginSVC().fit(X, y[:-1])
    with pytest.raises(mm.InputError, match="sample_weight must be a Dask array"):
        mm.SoftMarginSVC().fit(X, y, sample_weight=np.ones(5_000))
    with pytest.raises(mm.InputError, match="coordinate descent needs all rows"):
        mm.SoftMarginSVC(solver="descent").fit(X, y)
    model = mm.SoftMarginSVC().fit(X, y)
    with pytest.raises(mm.InputError, match="have the 5 features"):
        model.predict(X[:, :3])
    with pytest.raises(mm.InputError, match="NaN in row"):
        model.predict(X * np.nan).compute()


def failing(first, count):
    if first == CHUNK:
        raise OSError("the disk is gone")
    return rows_of(first, count)


def endless(path, first, count):
    """Rows that are never made, with a mark when they should be."""
    with path.open("a") as marks:
        marks.write("x")
    while True:
        time.sleep(1)


def test_a_partition_that_raises_ends_the_fit_and_leaves_the_model_as_it_was():
    X, y = collection(failing)
    model = mm.SoftMarginSVC()
    with pytest.raises(mm.ClusterError, match="OSError instead: the disk is gone"):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_a_cluster_that_fails_ends_the_fit(tmp_path):
    marks = tmp_path / "marks"

    def close(client):
        wait_for_marks(marks, 1)
        client.close()

    with cluster(1, processes=False) as (local, client):
        X, y = collection(failing)
        with pytest.raises(mm.ClusterError, match="the disk is gone"):
            mm.SoftMarginSVC().fit(X, y)
        local.scale(0)
        with (
            dask.config.set({"maxmargin.no-workers-timeout": 1}),
            pytest.raises(mm.ClusterError, match="no workers for 1 seconds"),
        ):
            mm.SoftMarginSVC().fit(*collection())
        local.scale(1)
        closing = threading.Thread(target=close, args=[client])
        closing.start()
        with pytest.raises(mm.ClusterError, match="the client was closed"):
            mm.SoftMarginSVC().fit(*collection(functools.partial(endless, marks)))
        closing.join()
